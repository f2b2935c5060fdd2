"""Who wrote into the residual stream: what is read off it at one position, as an exact sum over all that wrote there.

The statistics of every norm on the way (mean and standard deviation, or root mean square) are held as they were in this
pass: then all that follows a writer is linear (Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"). In
post-norm (Vaswani et al. 2017) a writer passes the norms of all later sub-layers, in pre-norm that of the reader alone.

What is not linear on the way from the residual stream to a logit, held as it was in this pass: then the rest is a sum.

Of a norm the statistics are held (Elhage et al. 2021); of a function f that acts on each unit alone its factor f(u) / u.
A direction of what comes out is so made a direction of what went in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from model.config import ModelConfig
from model.edits.kinds import Edit
from model.network.attention import MultiHeadAttention
from model.network.context import Pass
from model.network.layers import DecoderLayer, EncoderLayer, OutputTransform, Residual
from model.network.transformer import Embedding, Transformer, segments
from model.trace import Site, Stack, Streams, Sublayer

TINY = 1e-12  # below it f(u) / u is its limit
AT_ZERO = 0.5  # the limit of GELU and SiLU; that of ReLU, 0 or 1, hangs on the side: at 0 any factor gives 0


def held_norms(config: ModelConfig, transformed: bool = False) -> str:
    """Names the norms between the residual stream and the logits, whose scales a sum holds; empty where there is none.

    `transformed`: an output layer with a norm of its own follows the stack.
    """
    if not config.norm_first or config.embedding_norm or (transformed and config.final_norm):
        return "the scales of the norms"
    if transformed:
        return "the scale of the norm"
    return "the scale of the final norm" if config.final_norm else ""


def before_norm(norm: nn.Module, x: Tensor, directions: Tensor) -> tuple[Tensor, Tensor]:
    """Directions [R,D] of what a norm gives, float64, as directions of what it reads, x [D]; and what its bias adds, [R]."""
    nothing = directions.new_zeros(len(directions))  # [R]
    if isinstance(norm, nn.Identity):
        return directions, nothing
    x = x.double()
    if isinstance(norm, nn.LayerNorm):
        scaled = directions * norm.weight.double() / (x.var(unbiased=False) + norm.eps).sqrt()  # [R,D]
        return scaled - scaled.mean(-1, keepdim=True), directions @ norm.bias.double()
    return directions * norm.weight.double() / (x.square().mean() + norm.eps).sqrt(), nothing


def factor(function: Callable[[Tensor], Tensor], inner: Tensor, at_zero: float) -> Tensor:
    """f(u) / u of each unit; where u is 0, its limit there."""
    near = inner.abs() < TINY
    safe = inner.masked_fill(near, 1.0)
    return (function(safe) / safe).masked_fill(near, at_zero)


def before_transform(transform: OutputTransform, hidden: Tensor, toward: Tensor) -> tuple[Tensor, float]:
    """A direction [D] of what an output transform gives, float64, as a direction of what it reads, hidden [D]; and what its
    biases add."""
    weight, bias = transform.dense.weight.double(), transform.dense.bias.double()
    inner = weight @ hidden.double() + bias  # u: [D]
    directions, added = before_norm(transform.norm, transform.activation(inner), toward[None])
    gated = directions[0] * factor(transform.activation, inner, AT_ZERO)
    return gated @ weight, float(added[0] + gated @ bias)


def before_tanh(dense: nn.Linear, pooled: Tensor, toward: Tensor) -> tuple[Tensor, float]:
    """A direction [D] of what tanh(W x) gives, float64, as a direction of x, pooled [D]; and what the bias adds."""
    weight, bias = dense.weight.double(), dense.bias.double()
    held = toward * factor(torch.tanh, weight @ pooled.double() + bias, 1.0)
    return held @ weight, float(held @ bias)


Kind = Literal["token", "position", "segment", "head", "feed-forward", "bias", "own", "patch"]


class Writer(NamedTuple):
    """What wrote into the residual stream: the token's embedding, its position, its segment (which of two sentences it
    belongs to), a head (of a site, from 0), a feed-forward network (of a layer, from 0), all biases together (of attention
    outputs, norms and the projection), or what an edit has put into the stream after a layer in the place of what stood
    there. `own` wrote nothing: it is what a head that reads adds by itself."""

    kind: Kind
    site: Site | None = None
    head: int | None = None
    layer: int | None = None

    @property
    def placed(self) -> str:
        """After which layer an edit has put this in, in words; layer -1 is the embedding."""
        return "in the embedding’s place" if self.layer == -1 else f"after layer {(self.layer or 0) + 1}"


class Recorded(Protocol):
    """A pass that was recorded in full, the batch one."""

    records: dict[Site, dict[str, Tensor]]
    streams: dict[Sublayer, Streams]


@dataclass(frozen=True)
class Stream:
    """The residual stream of a stack at one position (from 0), as a pass with `at` recorded it; `token` stands there."""

    model: Transformer
    recorded: Recorded
    at: Pass
    stack: Stack
    token: int
    position: int
    ids: tuple[int, ...] = ()  # of all positions, where the embedding has a norm or segments

    @property
    def layers(self) -> list[EncoderLayer | DecoderLayer]:
        return list(getattr(self.model, self.stack))

    @property
    def embedding(self) -> Embedding:
        return self.model.source_embedding if self.stack == "encoder" else self.model.target_embedding

    @property
    def final_norm(self) -> nn.Module:
        return getattr(self.model, f"{self.stack}_norm")

    def split(self, directions: Tensor, reader: Sublayer | None = None) -> Parts:
        """What `directions` [R,D] make of what a sub-layer reads here, without one of what the stack hands on; float64."""
        back = _Back(self, directions.double())
        places = [(layer, residual) for layer in self.layers for residual in layer.residuals]
        if reader is None:
            back.through(self.final_norm, self._here(self.recorded.streams[places[-1][1].place].after))
        else:
            index = next(n for n, (_, residual) in enumerate(places) if residual.place == reader)
            if (residual := places[index][1]).norm_first:
                back.through(residual.norm, self._here(self.recorded.streams[reader].before))
            places = places[:index]
        for layer, residual in reversed(places):
            back.sublayer(layer, residual)
        first = self.layers[0].residuals[0].place
        back.embedding(self._here(self.recorded.streams[first].before))
        return back.parts()

    def _here(self, stream: Tensor) -> Tensor:
        return stream[0, self.position]  # [D]


@dataclass(frozen=True)
class Parts:
    """What each writer gives to each direction: `values` [N,R]; `tokens`: each head's part over the tokens that it looks at,
    [R,H,S] a site, zeros for a head that was made to give something else."""

    writers: tuple[Writer, ...]
    values: Tensor = field(repr=False)
    tokens: dict[Site, Tensor] = field(repr=False)


class _Back:
    """Walks back to the embeddings; `directions` [R,D] are what a vector that is added there would do."""

    def __init__(self, stream: Stream, directions: Tensor) -> None:
        self._stream, self._directions = stream, directions
        self._parts: dict[Writer, Tensor] = {}  # [R] each
        self._tokens: dict[Site, Tensor] = {}
        self._bias = directions.new_zeros(len(directions))  # [R]

    def parts(self) -> Parts:
        parts = dict(reversed(self._parts.items())) | {Writer("bias"): self._bias}
        return Parts(tuple(parts), torch.stack(list(parts.values())), dict(reversed(self._tokens.items())))

    def through(self, norm: nn.Module, x: Tensor) -> None:
        """Back through a norm at what it read, x [D], its statistics held: its bias is a part of its own."""
        self._directions, added = before_norm(norm, x, self._directions)
        self._bias = self._bias + added

    def sublayer(self, layer: EncoderLayer | DecoderLayer, residual: Residual) -> None:
        """Back over a sub-layer: what it wrote, and in post-norm the norm after it."""
        stream, place = self._stream, residual.place
        before = stream.recorded.streams[place].before[:, stream.position : stream.position + 1]  # [1,1,D]
        kept = stream.at.kept(place, before)
        factor = 1.0 if kept is None else float(kept.flatten()[0])
        if place.part == "ff":
            written = layer.feed_forward(residual.norm(before) if residual.norm_first else before)[0, 0] * factor  # [D]
        else:
            module = layer.cross_attention if place.part == "cross" else layer.self_attention
            z = stream.recorded.records[module.site]["z"][:, :, stream.position]  # [1,H,K]
            written = module.output(z.flatten(1))[0] * factor  # [D]
        total = before[0, 0] + written
        if any("patch_stream" in edit.hooks and edit.acts_at(place.stack, place.layer + 1) for edit in self._edits(place)):
            made = total if residual.norm_first else residual.norm(total)
            put_in = stream.recorded.streams[place].after[0, stream.position] - made
            self._parts[Writer("patch", layer=place.layer)] = self._directions @ put_in.double()
        if not residual.norm_first:
            self.through(residual.norm, total)
        if place.part == "ff":
            self._parts[Writer("feed-forward", layer=place.layer)] = self._directions @ written.double()
        else:
            self._attention(module, factor)

    def _edits(self, place: Sublayer) -> list[Edit]:
        """The edits that may act on the stream behind a sub-layer: after a layer's last."""
        return [edit for row in self._stream.at.edits.rows for edit in row.edits] if place.part == "ff" else []

    def _attention(self, module: MultiHeadAttention, factor: float) -> None:
        record, position = self._stream.recorded.records[module.site], self._stream.position
        z, pattern = (record[name][0, :, position].double() for name in ("z", "pattern"))  # [H,K], [H,S]
        v = record["v"][0].double()  # [H,S,K]
        toward = (self._directions @ module.output.weight.double() * factor).unflatten(1, z.shape)  # [R,H,K]
        self._bias = self._bias + factor * (self._directions @ module.output.bias.double())
        heads = (z * toward).sum(-1)  # [R,H]
        for head in reversed(range(len(z))):
            self._parts[Writer("head", module.site, head)] = heads[:, head]
        moved = pattern * (v @ toward[..., None]).squeeze(-1)  # [R,H,S]
        given = (pattern[..., None, :] @ v).squeeze(-2)  # [H,K]: what the head gives unless it is switched off
        moved[:, ~torch.isclose(given, z, rtol=1e-4, atol=1e-5).all(-1)] = 0
        self._tokens[module.site] = moved

    def embedding(self, x: Tensor) -> None:
        """The end of the way: x [D] is the embedding with its position."""
        embedding = self._stream.embedding
        token, x = (embedding.table.weight[self._stream.token] * embedding.scale).double(), x.double()  # [D]
        edits = [edit for row in self._stream.at.edits.rows for edit in row.edits]
        put_in = any("patch_stream" in edit.hooks and edit.acts_at(self._stream.stack, 0) for edit in edits)
        if embedding.has_norm or embedding.segments is not None:
            ids = torch.tensor([self._stream.ids], device=x.device)
            added = embedding.added(ids, *self._stream.at.positions("source", ids))[0, self._stream.position]  # [D]
            norm = embedding.norm if embedding.has_norm else nn.Identity()
            if put_in:
                self._parts[Writer("patch", layer=-1)] = self._directions @ (x - norm(added).double())
            self.through(norm, added)
            x = added.double()
            if embedding.segments is not None:
                segment = embedding.segments(segments(ids))[0, self._stream.position].double()  # [D]
                self._parts[Writer("segment")] = self._directions @ segment
                x = x - segment
        elif put_in:
            ids, at = (torch.tensor([n], device=x.device) for n in (self._stream.token, self._stream.position))
            plain = embedding(ids[None], at)[0, 0].double()
            self._parts[Writer("patch", layer=-1)] = self._directions @ (x - plain)
            x = plain
        self._parts[Writer("position")] = self._directions @ (x - token)
        self._parts[Writer("token")] = self._directions @ token
