"""The fast path of `search`: the arithmetic of `model.network` without what a step does not need, and its recorded maps.

Weights are laid out for it (`prepared`), queries, keys and values come from one product, keys and values lie in arrays of
their final size, encodings of positions come from a table, keys of cross-attention are computed once. Its maps come from
`model.network.attention`, and so does each step of a site with edits. A step of a site without edits has its own product
and softmax (`FastSteps._attend`). Decoding without a causal mask is in `whole`. `search` leaves patches to the explicit
path. Both paths give the same log-probabilities and maps within 1e-5, by test, for every scheme of positions and edit.
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
from .fast_layers import (
    Function,
    Layer,
    Prepared,
    prepare,
)


def can(model: Transformer, edits: Edits) -> bool:
    """True where this path, or `whole`, computes what the model would: without dropout, and nothing of another sentence."""
    return edits.donor is None and not model.training


def added_to(x: Tensor, added: Tensor, norm: Function, first: bool, kept: Tensor | None) -> Tensor:
    """The residual stream [N,D] after a sub-layer, its norm first or last; `kept` [N,1]: 0 where it adds nothing."""
    total = x + (added if kept is None else added * kept)
    return total if first else norm(total)


def encode(model: Transformer, source: Tensor, mask: Tensor, at: Pass) -> Tensor:
    """As `Encodes.encode`, all but its streams: source ids [N,S] to what cross-attention reads, [N,S,D]."""
    made, (rows, length) = prepare(model), source.shape
    assert isinstance(model, Encodes), "there is an encoder"
    heads, width, divided = made.config.heads, made.config.head_dim, 1 / math.sqrt(made.config.head_dim)
    first = made.config.norm_first
    positions, present = at.positions("source", source)
    bias = made.scheme.score_bias(positions, positions, heads)  # [1|N,1|H,S,S]

    def attend(site: Site, layer: Layer, x: Tensor) -> Tensor:
        q, k, v = layer.qkv(x).view(rows, length, 3, heads, width).permute(2, 0, 3, 1, 4)  # [N,H,S,K] each
        q, k = (made.scheme.rotate(each, positions) for each in (q, k))  # [N,H,S,K]
        own, seen = at.at(site), at.mask(site, mask, q)
        scores = finish_scores((q @ k.transpose(-2, -1)) * divided, width, own, bias)  # [N,H,S,S]
        pattern = own.overwrite(masked_softmax(scores, seen), seen)  # [N,H,S,S]
        z = own.ablate(pattern @ v)  # [N,H,S,K]
        at.record(site, seen, bias, scores=scores, pattern=pattern, q=q, k=k, v=v, z=z)
        return layer.output(z.transpose(1, 2).reshape(rows * length, -1))

    x = model.source_embedding(source, positions, present).flatten(0, 1)  # [N*S,D]
    for number, layer in enumerate(made.encoder):
        for name, norm in zip(("self", "ff"), layer.norms, strict=True):
            kept = at.kept(Sublayer("encoder", number, name), x.view(rows, length, -1))  # [N,1,1]
            kept = None if kept is None else kept.expand(-1, length, 1).reshape(-1, 1)  # [N*S,1]
            read = norm(x) if first else x
            added = attend(Site("encoder", number), layer, read) if name == "self" else layer.feed_forward(read)
            x = added_to(x, added, norm, first, kept)
    memory = made.encoder_final(x).view(rows, length, -1)
    at.record_memory(memory)
    return memory


@dataclass(frozen=True)
class Recorded:
    """What one path of T tokens left behind: enough for every map and probability of the pass over the whole of it."""

    made: Prepared
    edits: Edits  # of the path
    own: Tensor  # [2,L,H,T,K]: queries and keys of self-attention
    cross: Tensor | None  # [L,H,T,K]: queries of cross-attention
    memory: Tensor | None  # [L,H,K,S]: its keys
    hidden: Tensor  # [T,D]

    def record(self, inputs: Tensor, seen: masks.Masks, probe: Probe) -> None:
        """Hands scores, pattern and mask of every site of the decoder to a probe, layer by layer: decoder inputs [1,T], and
        masks under the edits."""
        at = Pass(self.edits, probe)
        positions, _ = at.positions("target", inputs)  # [T] or [1,T]
        own_bias = self.made.scheme.score_bias(positions, positions, self.own.size(2))  # [1,1|H,T,T]
        scaled = {"decoder": attention_scores(self.own[0], self.own[1])}  # [L,H,T,T], without what positions add
        if self.cross is not None:
            scaled["cross"] = attention_scores(self.cross, self.memory.transpose(-2, -1))  # [L,H,T,S]
        for number, kind in itertools.product(range(self.own.size(1)), scaled):
            site, bias = Site(kind, number), own_bias if kind == "decoder" else None
            mask, own = at.mask(site, getattr(seen, kind), scaled[kind][number, None]), at.at(site)  # [1,1|H,1|T,S]
            scores = finish_scores(scaled[kind][number, None], self.own.size(-1), own, bias)  # [1,H,T,S]
            pattern = own.overwrite(masked_softmax(scores, mask), mask)  # [1,H,T,S]
            at.record(site, mask, scores=scores, pattern=pattern)

    def logits(self) -> Tensor:
        """[T,V]."""
        return self.made.projection(self.hidden).float()


class FastSteps:
    """What a batch keeps from step to step: keys and values of all layers in arrays of their final size, the position of
    the next token, and what each step has computed, for `recorded`."""

    def __init__(
        self,
        model: Transformer,
        memory: Tensor | None,
        cross_mask: Tensor | None,
        rows: int,
        limit: int,
        keep: bool = True,
    ) -> None:
        """memory [N,S,D] with the mask of its padding, bool [N,1,1,S]; None for both where there is no encoder. What steps
        have computed is kept where `keep` says so."""
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
        self.key_positions: Tensor | None = None  # of all tokens so far, where the scheme of positions reads them
        self.steps: list[_Step] = []
        self.origins: list[int] | None = None

    def _make_room(self, rows: int) -> None:
        layers = len(self.made.decoder)
        self.own = self.made.like.new_empty(layers, 2, rows, self.heads, self.limit, self.width)  # keys and values
        self.flat = [(k.flatten(0, 1).transpose(1, 2), v.flatten(0, 1)) for k, v in self.own]  # [N*H,K,limit], [N*H,limit,K]

    def _keys_and_values(self, layer: Layer, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Those of cross-attention: [N,H,K,S] and [N,H,S,K]."""
        rows, length, _ = memory.shape
        both = layer.cross_key_value(memory.flatten(0, 1)).view(rows, length, 2, self.heads, self.width)
        return both[:, :, 0].permute(0, 2, 3, 1).contiguous(), both[:, :, 1].transpose(1, 2).contiguous()

    def _read(self, sentences: list[int]) -> None:
        """Lays out what each row's cross-attention reads, by the number of its sentence."""
        self.sentences = sentences
        rows = slice(None) if sentences == list(range(self.known)) else sentences
        self.crossed = [tuple(each[rows].flatten(0, 1) for each in both) for both in self.memories]  # [N*H,...]
        self.bias = None
        if self.cross_mask is not None:
            mask = self.cross_mask[rows]  # [N,1,1,S]
            self.seen = masks.Masks(cross=mask)
            if not mask.all():  # 0 where padding may be seen, the least number where not: [N*H,1,S]
                least = torch.finfo(self.made.like.dtype).min
                added = self.nothing.new_zeros(mask.shape).masked_fill(~mask, least)
                self.bias = added[:, 0].repeat_interleave(self.heads, 0)

    def log_probs(self, target: Tensor, edits: Edits = NO_EDITS) -> Tensor:
        """Of what may follow decoder inputs [N,T], of which the last are new: [N,V]."""
        at = self._pass(target, edits)
        x = self._embed(target[:, -1:], at)  # [N,D]
        step, first = _Step(self.origins), self.made.config.norm_first
        for number, layer in enumerate(self.made.decoder):
            for (name, part), norm in zip(self.parts.items(), layer.norms, strict=True):
                kept = at and at.kept(Sublayer("decoder", number, name), x)  # [N,1,1]
                added = part(number, layer, norm(x) if first else x, at, step)
                x = added_to(x, added, norm, first, None if kept is None else kept[:, 0])
        step.hidden = self.made.final(x)
        if self.keep:
            self.steps.append(step)
        self.origins = None
        self.at += 1
        return self.made.projection(step.hidden).float().log_softmax(-1)

    def _pass(self, target: Tensor, edits: Edits) -> Pass | None:
        """What a step carries; None where no edit has anything to do."""
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
        """Decoder inputs [N,1], with what positions add: [N,D]; keeps the positions for self-attention."""
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
        """Self-attention of the newest token over all so far: [N,D] to [N,D]."""
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
        """Cross-attention of the newest token: [N,D] to [N,D]."""
        q = layer.cross_query(x)  # [N,D]
        step.cross.append(q)
        return layer.cross_output(self._attend(Site("cross", number), q, *self.crossed[number], self.bias, at))

    def _feed(self, number: int, layer: Layer, x: Tensor, at: Pass | None, step: _Step) -> Tensor:
        return layer.feed_forward(x)

    def _attend(self, site: Site, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, at: Pass | None) -> Tensor:
        """q [N,D] or [N,H,K], k [N*H,K,S] and v [N*H,S,K] to z, [N,D]; `bias` [N*H,1,S] is added to the scores.

        Without edits a product that scales and a plain softmax take the place of `attention_weights`.
        """
        q = q.reshape(-1, 1, self.width)  # [N*H,1,K]
        if at is None or site not in self.touched:
            beta, added = (0, self.nothing) if bias is None else (1, bias)
            scores = torch.baddbmm(added, q, k, beta=beta, alpha=self.divided)  # [N*H,1,S]
            return torch.bmm(scores.softmax(-1), v).view(-1, self.heads * self.width)
        scores = torch.baddbmm(self.nothing, q, k, beta=0, alpha=self.divided).unflatten(0, (-1, self.heads))  # [N,H,1,S]
        edits, mask = at.at(site), at.mask(site, getattr(self.seen, site.kind), scores)
        of_positions = bias.unflatten(0, (-1, self.heads)) if site.of.is_self and bias is not None else None  # [N,H,1,S]
        scores = finish_scores(scores, self.width, edits, of_positions)  # [N,H,1,S]
        pattern = edits.overwrite(masked_softmax(scores, mask), mask)  # [N,H,1,S]
        z = edits.ablate(torch.bmm(pattern.flatten(0, 1), v).view(-1, self.heads, 1, self.width))  # [N,H,1,K]
        return z.flatten(1)

    def select(self, rows: list[int]) -> None:
        """Keeps some rows of the batch, in the order given; a row may come twice."""
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
        """What the first tokens of a row of the batch left behind, under the edits of that row."""
        sentence, kept = self.sentences[row], []
        for step in reversed(self.steps):
            kept.append((step, row))
            row = row if step.origins is None else step.origins[row]
        kept = kept[::-1][:length]

        def together(arrays: str) -> Tensor:
            layers = [torch.stack([getattr(step, arrays)[n][row] for step, row in kept]) for n in range(len(self.own))]
            return torch.stack(layers).unflatten(-1, (-1, self.heads, self.width)).permute(2, 0, 3, 1, 4)

        hidden = torch.stack([step.hidden[row] for step, row in kept])
        cross = together("cross")[0] if self.memories else None  # [L,H,T,K]
        memory = torch.stack([k[sentence] for k, _ in self.memories]) if self.memories else None  # [L,H,K,S]
        return Recorded(self.made, edits, together("own")[:2], cross, memory, hidden)


@dataclass
class _Step:
    """What a step has computed: in each layer queries, keys and values of self-attention [N,3D] and queries of
    cross-attention [N,D]; the states that predict [N,D]."""

    origins: list[int] | None  # of the rows, among those of the step before; None: the same
    own: list[Tensor] = field(default_factory=list)
    cross: list[Tensor] = field(default_factory=list)
    hidden: Tensor | None = None
