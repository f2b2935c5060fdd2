"""The fast path of `search`: computes one step at a time with prepared weights, and records the maps of a path.

Queries, keys and values come from one product. Keys and values lie in arrays of their final size, position vectors come from
a table, and keys of cross-attention are computed once. Maps, and steps of sites with edits, use `model.network.attention`;
other steps have their own product and softmax (`FastSteps._attend`). Decoding without a causal mask is in `uncached`.
`fast_passes` computes the encoder and a forced prefix in one pass. Patches take the explicit path. Tests require both paths
to agree within 1e-5, for every position scheme and edit.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..edits.apply import NO_EDITS, BatchEdits
from ..network import masks
from ..network.attention import attention_scores, finish_scores, masked_softmax
from ..network.context import Pass, join_positions, select_positions
from ..network.transformer import Transformer
from ..trace import Probe, Site, Sublayer
from .fast_layers import PreparedLayer, PreparedModel, Step, add_residual, prepare


def can_decode(model: Transformer, edits: BatchEdits) -> bool:
    """True if this path or `uncached` can replace the model's own: no dropout, and no patches from another sentence."""
    return edits.donor is None and not model.training


@dataclass(frozen=True)
class RecordedPath:
    """The tensors of one path of T tokens, from which every map and probability of its full pass follows."""

    prepared: PreparedModel
    edits: BatchEdits  # of the path
    self_queries_keys: Tensor  # [2,L,H,T,K]: queries and keys of self-attention
    cross_queries: Tensor | None  # [L,H,T,K]: queries of cross-attention
    cross_keys: Tensor | None  # [L,H,K,S]: its keys
    hidden: Tensor  # [T,D]

    def record(self, inputs: Tensor, path_masks: masks.Masks, probe: Probe) -> None:
        """Records scores, pattern and mask of every decoder site in a probe, for decoder inputs [1,T] and their masks."""
        context = Pass(self.edits, probe)
        positions, _ = context.positions("target", inputs)  # [T] or [1,T]
        own_bias = self.prepared.scheme.score_bias(positions, positions, self.self_queries_keys.size(2))  # [1,1|H,T,T]
        scaled = {
            "decoder": attention_scores(self.self_queries_keys[0], self.self_queries_keys[1])
        }  # [L,H,T,T], without the bias
        if self.cross_queries is not None:
            scaled["cross"] = attention_scores(self.cross_queries, self.cross_keys.transpose(-2, -1))  # [L,H,T,S]
        for number, kind in itertools.product(range(self.self_queries_keys.size(1)), scaled):
            site, bias = Site(kind, number), own_bias if kind == "decoder" else None
            mask = context.site_mask(site, getattr(path_masks, kind), scaled[kind][number, None])  # [1,1|H,1|T,S]
            edits = context.site_edits(site)
            scores = finish_scores(scaled[kind][number, None], self.self_queries_keys.size(-1), edits, bias)  # [1,H,T,S]
            pattern = edits.overwrite(masked_softmax(scores, mask), mask)  # [1,H,T,S]
            context.record(site, mask, scores=scores, pattern=pattern)

    def logits(self) -> Tensor:
        """Returns the logits [T,V]."""
        return self.prepared.projection(self.hidden).float()


class FastSteps:
    """The state of a batch between steps.

    It has the keys and values of all layers in arrays of their final size, the position of the next token, and the tensors
    of each step for `recorded_path`.
    """

    def __init__(
        self,
        model: Transformer,
        memory: Tensor | None,
        cross_mask: Tensor | None,
        rows: int,
        limit: int,
        is_recording: bool = True,
        prepared: PreparedModel | None = None,
    ) -> None:
        """memory: [N,S,D]; cross_mask: bool [N,1,1,S]; both None without an encoder. `is_recording` stores the steps."""
        self.model, self.prepared, self.limit, self.position, self.is_recording = (
            model,
            prepared or prepare(model),
            limit,
            0,
            is_recording,
        )
        config = self.prepared.config
        self.heads, self.width, self.window = config.heads, config.head_dim, config.window
        self.score_scale, self.zero = 1 / math.sqrt(self.width), self.prepared.output_weight.new_zeros(1, 1, 1)
        sublayers = {"self": self._self_attention, "cross": self._cross_attention, "ff": self._feed_forward}
        self.sublayers = {name: part for name, part in sublayers.items() if memory is not None or name != "cross"}
        self._allocate(rows)
        self.edits, self.edited_sites, self.is_unedited, self.step_masks = NO_EDITS, frozenset(), True, masks.Masks()
        self.cross_mask, self.sentence_count = cross_mask, rows
        self.cross_key_values = (
            [] if memory is None else [self._keys_and_values(layer, memory) for layer in self.prepared.decoder]
        )
        self._select_sentences(list(range(rows)))
        self.key_positions: Tensor | None = None  # of all tokens so far, if the position scheme reads them
        self.steps: list[Step] = []
        self.parent_rows: list[int] | None = None

    def _allocate(self, rows: int) -> None:
        layers = len(self.prepared.decoder)
        self.self_key_values = self.prepared.output_weight.new_empty(
            layers, 2, rows, self.heads, self.limit, self.width
        )  # keys and values
        self.flat_key_values = [
            (k.flatten(0, 1).transpose(1, 2), v.flatten(0, 1)) for k, v in self.self_key_values
        ]  # [N*H,K,limit], [N*H,limit,K]

    def _keys_and_values(self, layer: PreparedLayer, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Returns keys [N,H,K,S] and values [N,H,S,K] of cross-attention."""
        rows, length, _ = memory.shape
        both = layer.cross_key_value(memory.flatten(0, 1)).view(rows, length, 2, self.heads, self.width)
        return both[:, :, 0].permute(0, 2, 3, 1).contiguous(), both[:, :, 1].transpose(1, 2).contiguous()

    def _select_sentences(self, sentences: list[int]) -> None:
        """Selects cross-attention's keys, values and mask for each row, by the number of its sentence."""
        self.row_sentences = sentences
        rows = slice(None) if sentences == list(range(self.sentence_count)) else sentences
        self.row_key_values = [
            tuple(each[rows].flatten(0, 1) for each in both) for both in self.cross_key_values
        ]  # [N*H,...]
        self.padding_bias = None
        if self.cross_mask is not None:
            mask = self.cross_mask[rows]  # [N,1,1,S]
            self.step_masks = masks.Masks(cross=mask)
            if not mask.all():  # bias [N*H,1,S]: 0 for visible keys, the smallest number for padding
                smallest = torch.finfo(self.prepared.output_weight.dtype).min
                bias = self.zero.new_zeros(mask.shape).masked_fill(~mask, smallest)
                self.padding_bias = bias[:, 0].repeat_interleave(self.heads, 0)

    def log_probs(self, target: Tensor, edits: BatchEdits = NO_EDITS) -> Tensor:
        """Returns the next token's log-probabilities [N,V] for decoder inputs [N,T], of which only the last are new."""
        context = self.step_context(target, edits, 1)
        x = self._embed(target[:, -1:], context)  # [N,D]
        step, norm_first = Step(self.parent_rows), self.prepared.config.norm_first
        for number, layer in enumerate(self.prepared.decoder):
            for (name, part), norm in zip(self.sublayers.items(), layer.norms, strict=True):
                factors = context and context.sublayer_factors(Sublayer("decoder", number, name), x)  # [N,1,1]
                added = part(number, layer, norm(x) if norm_first else x, context, step)
                x = add_residual(x, added, norm, norm_first, None if factors is None else factors[:, 0])
        step.hidden = self.prepared.decoder_norm(x)
        if self.is_recording:
            self.steps.append(step)
        self.parent_rows = None
        self.position += 1
        return self.prepared.projection(step.hidden).float().log_softmax(-1)

    def step_context(self, target: Tensor, edits: BatchEdits, queries: int) -> Pass | None:
        """Returns the context of the last `queries` of the decoder inputs [N,T]; None if no edit has an effect."""
        if edits is not self.edits:
            self.edits, narrow = edits, any(row.window is not None for row in edits.rows)
            self.is_unedited = not (edits.has_edits or edits.has_unscaled_rows or narrow)
            sites = [Site(kind, n) for kind in ("decoder", "cross") for n in range(len(self.prepared.decoder))]
            self.edited_sites = {site for site in sites if edits.touches(site) or (narrow and site.spec.is_self)}
        if self.is_unedited:
            return None
        own = masks.decoder_mask(self.prepared.config, target, edits.rows, queries)  # [N,1,T,S]
        self.step_masks = masks.Masks(decoder=own, cross=self.step_masks.cross)
        return Pass(edits, start=self.position)

    def _embed(self, newest: Tensor, context: Pass | None) -> Tensor:
        """Returns embeddings with positions, [N,D], of decoder inputs [N,1]; stores the positions for self-attention."""
        scheme = self.prepared.scheme
        if context is None and not (scheme.has_rotation or scheme.has_score_bias):
            return self.prepared.embed(newest[:, 0], self.position)
        self.positions, position_factors = (context or Pass(start=self.position)).positions("target", newest)  # [1] or [N,1]
        earlier = self.key_positions
        self.key_positions = self.positions if earlier is None else join_positions(earlier, self.positions)  # [S] or [N,S]
        if position_factors is None:
            return self.prepared.embed(newest[:, 0], self.position)
        return self.model.target_embedding(newest, self.positions, position_factors)[:, 0]

    def _self_attention(self, number: int, layer: PreparedLayer, x: Tensor, context: Pass | None, step: Step) -> Tensor:
        """Returns self-attention of the newest token over all tokens so far, [N,D] to [N,D]."""
        qkv, site, end = layer.qkv(x), Site("decoder", number), self.position + 1  # [N,3D]
        scheme = self.prepared.scheme
        if scheme.has_rotation:
            both = qkv[:, : 2 * x.size(1)].unflatten(1, (-1, 1, self.width))  # queries and keys: [N,2H,1,K]
            qkv = torch.cat((scheme.rotate(both, self.positions).flatten(1), qkv[:, 2 * x.size(1) :]), dim=1)  # [N,3D]
        step.self_qkv.append(qkv)
        fresh = qkv.view(-1, 3, self.heads, self.width)  # [N,3,H,K]
        self.self_key_values[number].select(3, self.position).copy_(fresh[:, 1:].transpose(0, 1))
        first = 0 if self.window is None or site in self.edited_sites else max(0, end - self.window)
        keys, values = self.flat_key_values[number]
        bias = None
        if scheme.has_score_bias:
            bias = scheme.score_bias(self.positions, self.key_positions[..., first:end], self.heads)  # [1|N,1|H,1,S]
            bias = bias.expand(len(x), self.heads, 1, -1).flatten(0, 1).to(x.dtype)  # [N*H,1,S]
        return layer.output(self._attend(site, fresh[:, 0], keys[:, :, first:end], values[:, first:end], bias, context))

    def _cross_attention(self, number: int, layer: PreparedLayer, x: Tensor, context: Pass | None, step: Step) -> Tensor:
        """Returns cross-attention of the newest token, [N,D] to [N,D]."""
        q = layer.cross_query(x)  # [N,D]
        step.cross_queries.append(q)
        return layer.cross_output(
            self._attend(Site("cross", number), q, *self.row_key_values[number], self.padding_bias, context)
        )

    def _feed_forward(self, number: int, layer: PreparedLayer, x: Tensor, context: Pass | None, step: Step) -> Tensor:
        return layer.feed_forward(x)

    def _attend(self, site: Site, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, context: Pass | None) -> Tensor:
        """Returns z [N,D] for q [N,D] or [N,H,K], k [N*H,K,S] and v [N*H,S,K]; adds `bias` [N*H,1,S] to the scores.

        Without edits a scaling product and a plain softmax replace `attention_weights`.
        """
        q = q.reshape(-1, 1, self.width)  # [N*H,1,K]
        if context is None or site not in self.edited_sites:
            beta, added = (0, self.zero) if bias is None else (1, bias)
            scores = torch.baddbmm(added, q, k, beta=beta, alpha=self.score_scale)  # [N*H,1,S]
            return torch.bmm(scores.softmax(-1), v).view(-1, self.heads * self.width)
        scores = torch.baddbmm(self.zero, q, k, beta=0, alpha=self.score_scale).unflatten(0, (-1, self.heads))  # [N,H,1,S]
        edits, mask = context.site_edits(site), context.site_mask(site, getattr(self.step_masks, site.kind), scores)
        position_bias = bias.unflatten(0, (-1, self.heads)) if site.spec.is_self and bias is not None else None  # [N,H,1,S]
        scores = finish_scores(scores, self.width, edits, position_bias)  # [N,H,1,S]
        pattern = edits.overwrite(masked_softmax(scores, mask), mask)  # [N,H,1,S]
        z = edits.ablate(torch.bmm(pattern.flatten(0, 1), v).view(-1, self.heads, 1, self.width))  # [N,H,1,K]
        return z.flatten(1)

    def select(self, rows: list[int]) -> None:
        """Keeps these rows of the batch, in this order; a row may occur twice."""
        if rows == list(range(len(self.row_sentences))):
            return
        self.parent_rows, chosen = rows, self.self_key_values[:, :, rows, :, : self.position]
        if len(rows) != len(self.row_sentences):
            self._allocate(len(rows))
        self.self_key_values[:, :, :, :, : self.position] = chosen
        if self.key_positions is not None:
            self.key_positions = select_positions(self.key_positions, rows)
        sentences = [self.row_sentences[row] for row in rows]
        if sentences != self.row_sentences:
            self._select_sentences(sentences)

    def recorded_path(self, row: int, length: int, edits: BatchEdits) -> RecordedPath:
        """Returns the tensors of the first `length` tokens of a row of the batch, under the edits of that row."""
        sentence, steps = self.row_sentences[row], []
        for step in reversed(self.steps):
            steps.append((step, row))
            row = row if step.parent_rows is None else step.parent_rows[row]
        steps = steps[::-1][:length]

        def stack(arrays: str) -> Tensor:
            layers = [
                torch.stack([getattr(step, arrays)[n][row] for step, row in steps]) for n in range(len(self.self_key_values))
            ]
            return torch.stack(layers).unflatten(-1, (-1, self.heads, self.width)).permute(2, 0, 3, 1, 4)

        hidden = torch.stack([step.hidden[row] for step, row in steps])
        cross = stack("cross_queries")[0] if self.cross_key_values else None  # [L,H,T,K]
        memory = torch.stack([k[sentence] for k, _ in self.cross_key_values]) if self.cross_key_values else None  # [L,H,K,S]
        return RecordedPath(self.prepared, edits, stack("self_qkv")[:2], cross, memory, hidden)
