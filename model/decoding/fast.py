"""The fast path of `search`: computes one step at a time with prepared weights, and records the maps of a path.

Queries, keys and values come from one product. Keys and values lie in arrays of their final size, position vectors come from
a table, and keys of cross-attention are computed once. Maps, and steps of sites with edits, use `model.network.attention`;
other steps have their own product and softmax (`FastSteps._attend`). Decoding without a causal mask is in `uncached`.
Patches take the explicit path. Tests require both paths to agree within 1e-5, for every position scheme and edit.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..edits.apply import NO_EDITS, Edits
from ..network import masks
from ..network.attention import attention_scores, finish_scores, masked_softmax
from ..network.context import Pass, join_positions, select_positions
from ..network.transformer import Encodes, Transformer
from ..trace import Probe, Site, Sublayer
from .fast_layers import Function, Layer, Prepared, prepare


def can(model: Transformer, edits: Edits) -> bool:
    """True if this path or `uncached` can replace the model's own: no dropout, and no patches from another sentence."""
    return edits.donor is None and not model.training


def added_to(x: Tensor, added: Tensor, norm: Function, first: bool, kept: Tensor | None) -> Tensor:
    """Returns the residual stream [N,D] after a sub-layer, pre-norm if `first`; `factors` [N,1] are 0 for skipped rows."""
    total = x + (added if kept is None else added * kept)
    return total if first else norm(total)


def encode(model: Transformer, source: Tensor, mask: Tensor, at: Pass) -> Tensor:
    """Returns the encoder's output [N,S,D] for source ids [N,S]; records all that `EncoderMixin.encode` does but streams."""
    prepared, (rows, length) = prepare(model), source.shape
    assert isinstance(model, Encodes), "the model needs an encoder"
    heads, width, scale = prepared.config.heads, prepared.config.head_dim, 1 / math.sqrt(prepared.config.head_dim)
    first = prepared.config.norm_first
    positions, present = at.positions("source", source)
    bias = prepared.scheme.score_bias(positions, positions, heads)  # [1|N,1|H,S,S]

    def attend(site: Site, layer: Layer, x: Tensor) -> Tensor:
        q, k, v = layer.qkv(x).view(rows, length, 3, heads, width).permute(2, 0, 3, 1, 4)  # [N,H,S,K] each
        q, k = (prepared.scheme.rotate(each, positions) for each in (q, k))  # [N,H,S,K]
        edits, seen = at.at(site), at.mask(site, mask, q)
        scores = finish_scores((q @ k.transpose(-2, -1)) * scale, width, edits, bias)  # [N,H,S,S]
        pattern = edits.overwrite(masked_softmax(scores, seen), seen)  # [N,H,S,S]
        z = edits.ablate(pattern @ v)  # [N,H,S,K]
        at.record(site, seen, bias, scores=scores, pattern=pattern, q=q, k=k, v=v, z=z)
        return layer.output(z.transpose(1, 2).reshape(rows * length, -1))

    x = model.source_embedding(source, positions, present).flatten(0, 1)  # [N*S,D]
    for number, layer in enumerate(prepared.encoder):
        for name, norm in zip(("self", "ff"), layer.norms, strict=True):
            factors = at.kept(Sublayer("encoder", number, name), x.view(rows, length, -1))  # [N,1,1]
            factors = None if factors is None else factors.expand(-1, length, 1).reshape(-1, 1)  # [N*S,1]
            read = norm(x) if first else x
            added = attend(Site("encoder", number), layer, read) if name == "self" else layer.feed_forward(read)
            x = added_to(x, added, norm, first, factors)
    memory = prepared.encoder_final(x).view(rows, length, -1)
    at.record_memory(memory)
    return memory


@dataclass(frozen=True)
class Recorded:
    """The tensors of one path of T tokens, from which every map and probability of its full pass follows."""

    made: Prepared
    edits: Edits  # of the path
    own: Tensor  # [2,L,H,T,K]: queries and keys of self-attention
    cross: Tensor | None  # [L,H,T,K]: queries of cross-attention
    memory: Tensor | None  # [L,H,K,S]: its keys
    hidden: Tensor  # [T,D]

    def record(self, inputs: Tensor, seen: masks.Masks, probe: Probe) -> None:
        """Records scores, pattern and mask of every decoder site in a probe, for decoder inputs [1,T] and their masks."""
        context = Pass(self.edits, probe)
        positions, _ = context.positions("target", inputs)  # [T] or [1,T]
        own_bias = self.made.scheme.score_bias(positions, positions, self.own.size(2))  # [1,1|H,T,T]
        scaled = {"decoder": attention_scores(self.own[0], self.own[1])}  # [L,H,T,T], without the bias
        if self.cross is not None:
            scaled["cross"] = attention_scores(self.cross, self.memory.transpose(-2, -1))  # [L,H,T,S]
        for number, kind in itertools.product(range(self.own.size(1)), scaled):
            site, bias = Site(kind, number), own_bias if kind == "decoder" else None
            mask = context.mask(site, getattr(seen, kind), scaled[kind][number, None])  # [1,1|H,1|T,S]
            edits = context.at(site)
            scores = finish_scores(scaled[kind][number, None], self.own.size(-1), edits, bias)  # [1,H,T,S]
            pattern = edits.overwrite(masked_softmax(scores, mask), mask)  # [1,H,T,S]
            context.record(site, mask, scores=scores, pattern=pattern)

    def logits(self) -> Tensor:
        """Returns the logits [T,V]."""
        return self.made.projection(self.hidden).float()


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
        keep: bool = True,
    ) -> None:
        """memory: [N,S,D]; cross_mask: bool [N,1,1,S]; both None without an encoder. `keep` stores each step's tensors."""
        self.model, self.made, self.limit, self.at, self.keep = model, prepare(model), limit, 0, keep
        config = self.made.config
        self.heads, self.width, self.window = config.heads, config.head_dim, config.window
        self.divided, self.nothing = 1 / math.sqrt(self.width), self.made.like.new_zeros(1, 1, 1)
        parts = {"self": self._itself, "cross": self._memory, "ff": self._feed}
        self.parts = {name: part for name, part in parts.items() if memory is not None or name != "cross"}
        self._make_room(rows)
        self.edits, self.touched, self.plain, self.seen = NO_EDITS, frozenset(), True, masks.Masks()
        self.cross_mask, self.known = cross_mask, rows
        self.memories = [] if memory is None else [self._keys_and_values(layer, memory) for layer in self.made.decoder]
        self._read(list(range(rows)))
        self.key_positions: Tensor | None = None  # of all tokens so far, if the position scheme reads them
        self.steps: list[_Step] = []
        self.origins: list[int] | None = None

    def _make_room(self, rows: int) -> None:
        layers = len(self.made.decoder)
        self.own = self.made.like.new_empty(layers, 2, rows, self.heads, self.limit, self.width)  # keys and values
        self.flat = [(k.flatten(0, 1).transpose(1, 2), v.flatten(0, 1)) for k, v in self.own]  # [N*H,K,limit], [N*H,limit,K]

    def _keys_and_values(self, layer: Layer, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Returns keys [N,H,K,S] and values [N,H,S,K] of cross-attention."""
        rows, length, _ = memory.shape
        both = layer.cross_key_value(memory.flatten(0, 1)).view(rows, length, 2, self.heads, self.width)
        return both[:, :, 0].permute(0, 2, 3, 1).contiguous(), both[:, :, 1].transpose(1, 2).contiguous()

    def _read(self, sentences: list[int]) -> None:
        """Selects cross-attention's keys, values and mask for each row, by the number of its sentence."""
        self.sentences = sentences
        rows = slice(None) if sentences == list(range(self.known)) else sentences
        self.crossed = [tuple(each[rows].flatten(0, 1) for each in both) for both in self.memories]  # [N*H,...]
        self.bias = None
        if self.cross_mask is not None:
            mask = self.cross_mask[rows]  # [N,1,1,S]
            self.seen = masks.Masks(cross=mask)
            if not mask.all():  # bias [N*H,1,S]: 0 for visible keys, the smallest number for padding
                smallest = torch.finfo(self.made.like.dtype).min
                bias = self.nothing.new_zeros(mask.shape).masked_fill(~mask, smallest)
                self.bias = bias[:, 0].repeat_interleave(self.heads, 0)

    def log_probs(self, target: Tensor, edits: Edits = NO_EDITS) -> Tensor:
        """Returns the next token's log-probabilities [N,V] for decoder inputs [N,T], of which only the last are new."""
        context = self._pass(target, edits)
        x = self._embed(target[:, -1:], context)  # [N,D]
        step, first = _Step(self.origins), self.made.config.norm_first
        for number, layer in enumerate(self.made.decoder):
            for (name, part), norm in zip(self.parts.items(), layer.norms, strict=True):
                factors = context and context.kept(Sublayer("decoder", number, name), x)  # [N,1,1]
                added = part(number, layer, norm(x) if first else x, context, step)
                x = added_to(x, added, norm, first, None if factors is None else factors[:, 0])
        step.hidden = self.made.final(x)
        if self.keep:
            self.steps.append(step)
        self.origins = None
        self.at += 1
        return self.made.projection(step.hidden).float().log_softmax(-1)

    def _pass(self, target: Tensor, edits: Edits) -> Pass | None:
        """Returns the context of a step; None if no edit has an effect."""
        if edits is not self.edits:
            self.edits, narrow = edits, any(row.window is not None for row in edits.rows)
            self.plain = not (edits.located or edits.unscaled or narrow)
            sites = [Site(kind, n) for kind in ("decoder", "cross") for n in range(len(self.made.decoder))]
            self.touched = {site for site in sites if edits.touches(site) or (narrow and site.of.is_self)}
        if self.plain:
            return None
        own = masks.decoder_mask(self.made.config, target, edits.rows, 1)  # [N,1,1,T]
        self.seen = masks.Masks(decoder=own, cross=self.seen.cross)
        return Pass(edits, start=self.at)

    def _embed(self, newest: Tensor, at: Pass | None) -> Tensor:
        """Returns embeddings with positions, [N,D], of decoder inputs [N,1]; stores the positions for self-attention."""
        scheme = self.made.scheme
        if at is None and not (scheme.has_rotation or scheme.has_score_bias):
            return self.made.embed(newest[:, 0], self.at)
        self.positions, present = (at or Pass(start=self.at)).positions("target", newest)  # [1] or [N,1]
        earlier = self.key_positions
        self.key_positions = self.positions if earlier is None else join_positions(earlier, self.positions)  # [S] or [N,S]
        if present is None:
            return self.made.embed(newest[:, 0], self.at)
        return self.model.target_embedding(newest, self.positions, present)[:, 0]

    def _itself(self, number: int, layer: Layer, x: Tensor, at: Pass | None, step: _Step) -> Tensor:
        """Returns self-attention of the newest token over all tokens so far, [N,D] to [N,D]."""
        own, site, end = layer.qkv(x), Site("decoder", number), self.at + 1  # [N,3D]
        scheme = self.made.scheme
        if scheme.has_rotation:
            both = own[:, : 2 * x.size(1)].unflatten(1, (-1, 1, self.width))  # queries and keys: [N,2H,1,K]
            own = torch.cat((scheme.rotate(both, self.positions).flatten(1), own[:, 2 * x.size(1) :]), dim=1)  # [N,3D]
        step.own.append(own)
        fresh = own.view(-1, 3, self.heads, self.width)  # [N,3,H,K]
        self.own[number].select(3, self.at).copy_(fresh[:, 1:].transpose(0, 1))
        first = 0 if self.window is None or site in self.touched else max(0, end - self.window)
        keys, values = self.flat[number]
        bias = None
        if scheme.has_score_bias:
            bias = scheme.score_bias(self.positions, self.key_positions[..., first:end], self.heads)  # [1|N,1|H,1,S]
            bias = bias.expand(len(x), self.heads, 1, -1).flatten(0, 1).to(x.dtype)  # [N*H,1,S]
        return layer.output(self._attend(site, fresh[:, 0], keys[:, :, first:end], values[:, first:end], bias, at))

    def _memory(self, number: int, layer: Layer, x: Tensor, at: Pass | None, step: _Step) -> Tensor:
        """Returns cross-attention of the newest token, [N,D] to [N,D]."""
        q = layer.cross_query(x)  # [N,D]
        step.cross.append(q)
        return layer.cross_output(self._attend(Site("cross", number), q, *self.crossed[number], self.bias, at))

    def _feed(self, number: int, layer: Layer, x: Tensor, at: Pass | None, step: _Step) -> Tensor:
        return layer.feed_forward(x)

    def _attend(self, site: Site, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, at: Pass | None) -> Tensor:
        """Returns z [N,D] for q [N,D] or [N,H,K], k [N*H,K,S] and v [N*H,S,K]; adds `bias` [N*H,1,S] to the scores.

        Without edits a scaling product and a plain softmax replace `attention_weights`.
        """
        q = q.reshape(-1, 1, self.width)  # [N*H,1,K]
        if at is None or site not in self.touched:
            beta, added = (0, self.nothing) if bias is None else (1, bias)
            scores = torch.baddbmm(added, q, k, beta=beta, alpha=self.divided)  # [N*H,1,S]
            return torch.bmm(scores.softmax(-1), v).view(-1, self.heads * self.width)
        scores = torch.baddbmm(self.nothing, q, k, beta=0, alpha=self.divided).unflatten(0, (-1, self.heads))  # [N,H,1,S]
        edits, mask = at.at(site), at.mask(site, getattr(self.seen, site.kind), scores)
        position_bias = bias.unflatten(0, (-1, self.heads)) if site.of.is_self and bias is not None else None  # [N,H,1,S]
        scores = finish_scores(scores, self.width, edits, position_bias)  # [N,H,1,S]
        pattern = edits.overwrite(masked_softmax(scores, mask), mask)  # [N,H,1,S]
        z = edits.ablate(torch.bmm(pattern.flatten(0, 1), v).view(-1, self.heads, 1, self.width))  # [N,H,1,K]
        return z.flatten(1)

    def select(self, rows: list[int]) -> None:
        """Keeps these rows of the batch, in this order; a row may occur twice."""
        if rows == list(range(len(self.sentences))):
            return
        self.origins, chosen = rows, self.own[:, :, rows, :, : self.at]
        if len(rows) != len(self.sentences):
            self._make_room(len(rows))
        self.own[:, :, :, :, : self.at] = chosen
        if self.key_positions is not None:
            self.key_positions = select_positions(self.key_positions, rows)
        sentences = [self.sentences[row] for row in rows]
        if sentences != self.sentences:
            self._read(sentences)

    def recorded(self, row: int, length: int, edits: Edits) -> Recorded:
        """Returns the tensors of the first `length` tokens of a row of the batch, under the edits of that row."""
        sentence, steps = self.sentences[row], []
        for step in reversed(self.steps):
            steps.append((step, row))
            row = row if step.origins is None else step.origins[row]
        steps = steps[::-1][:length]

        def stack(arrays: str) -> Tensor:
            layers = [torch.stack([getattr(step, arrays)[n][row] for step, row in steps]) for n in range(len(self.own))]
            return torch.stack(layers).unflatten(-1, (-1, self.heads, self.width)).permute(2, 0, 3, 1, 4)

        hidden = torch.stack([step.hidden[row] for step, row in steps])
        cross = stack("cross")[0] if self.memories else None  # [L,H,T,K]
        memory = torch.stack([k[sentence] for k, _ in self.memories]) if self.memories else None  # [L,H,K,S]
        return Recorded(self.made, edits, stack("own")[:2], cross, memory, hidden)


@dataclass
class _Step:
    """The tensors of one step.

    own: queries, keys and values of self-attention in each layer [N,3D]; cross: queries of cross-attention in each layer
    [N,D]; hidden: final states [N,D].
    """

    origins: list[int] | None  # each row's row in the previous step; None: the same rows
    own: list[Tensor] = field(default_factory=list)
    cross: list[Tensor] = field(default_factory=list)
    hidden: Tensor | None = None
