"""Writers of the residual stream: a reading at one position as an exact sum over everything written there.

The sum is exact because nonlinear steps are linearized: a norm has constant statistics (mean and standard deviation, or root
mean square; Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"), an elementwise function f a constant
factor f(u) / u. In post-norm (Vaswani et al. 2017) a writer passes the norms of all later sub-layers, in pre-norm only the
reader's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from ...config import ModelConfig
from ...edits.kinds import Edit
from ...network.attention import MultiHeadAttention
from ...network.context import Pass
from ...network.layers import DecoderLayer, EncoderLayer, OutputTransform, Residual
from ...network.transformer import Embedding, Transformer, segment_ids
from ...trace import Site, Stack, Streams, Sublayer

TINY = 1e-12  # below this |u|, f(u) / u is its limit
AT_ZERO = 0.5  # the limit for GELU and SiLU; for ReLU any factor gives 0 at 0


def linearized_norms(config: ModelConfig, transformed: bool = False) -> str:
    """Returns the name of the linearized norms between the residual stream and the logits, empty without any.

    `transformed`: an output layer with a norm follows the stack.
    """
    if not config.norm_first or config.embedding_norm or (transformed and config.final_norm):
        return "the scales of the norms"
    if transformed:
        return "the scale of the norm"
    return "the scale of the final norm" if config.final_norm else ""


def before_norm(norm: nn.Module, x: Tensor, directions: Tensor) -> tuple[Tensor, Tensor]:
    """Maps directions [R,D] of a norm's output to directions of its input x [D], float64, and returns its bias part [R]."""
    zeros = directions.new_zeros(len(directions))  # [R]
    if isinstance(norm, nn.Identity):
        return directions, zeros
    x = x.double()
    if isinstance(norm, nn.LayerNorm):
        scaled = directions * norm.weight.double() / (x.var(unbiased=False) + norm.eps).sqrt()  # [R,D]
        return scaled - scaled.mean(-1, keepdim=True), directions @ norm.bias.double()
    return directions * norm.weight.double() / (x.square().mean() + norm.eps).sqrt(), zeros


def factor(function: Callable[[Tensor], Tensor], inner: Tensor, at_zero: float) -> Tensor:
    """Returns f(u) / u of each unit, its limit where u is 0."""
    near = inner.abs() < TINY
    safe = inner.masked_fill(near, 1.0)
    return (function(safe) / safe).masked_fill(near, at_zero)


def before_transform(transform: OutputTransform, hidden: Tensor, toward: Tensor) -> tuple[Tensor, float]:
    """Maps a direction [D] of an output transform's output to one of its input hidden [D], float64.

    The second result is the part of its biases.
    """
    weight, bias = transform.dense.weight.double(), transform.dense.bias.double()
    inner = weight @ hidden.double() + bias  # u: [D]
    directions, added = before_norm(transform.norm, transform.activation(inner), toward[None])
    gated = directions[0] * factor(transform.activation, inner, AT_ZERO)
    return gated @ weight, float(added[0] + gated @ bias)


def before_tanh(dense: nn.Linear, pooled: Tensor, toward: Tensor) -> tuple[Tensor, float]:
    """Maps a direction [D] of tanh(W x) to a direction of x, pooled [D], float64, and returns the bias part."""
    weight, bias = dense.weight.double(), dense.bias.double()
    scaled = toward * factor(torch.tanh, weight @ pooled.double() + bias, 1.0)
    return scaled @ weight, float(scaled @ bias)


Kind = Literal["token", "position", "segment", "head", "feed-forward", "bias", "own", "patch"]


class Writer(NamedTuple):
    """A writer of the residual stream.

    Writers are the token's embedding, its position, its segment (first or second sentence), a head (of a site, from 0), a
    feed-forward network (of a layer, from 0), all biases together (of attention outputs, norms and the projection), and an
    edit that patches the stream after a layer. `own` is the reading head's own bias.
    """

    kind: Kind
    site: Site | None = None
    head: int | None = None
    layer: int | None = None

    @property
    def place_name(self) -> str:
        """The place of a patch in words. Layer -1 is the embedding."""
        return "in the embedding’s place" if self.layer == -1 else f"after layer {(self.layer or 0) + 1}"


class RecordedPass(Protocol):
    """A fully recorded pass with a batch of one."""

    records: dict[Site, dict[str, Tensor]]
    streams: dict[Sublayer, Streams]


@dataclass(frozen=True)
class Stream:
    """The residual stream of a stack at one position (from 0) with its token, as a pass with `context` recorded it."""

    model: Transformer
    recorded: RecordedPass
    context: Pass
    stack: Stack
    token: int
    position: int
    ids: tuple[int, ...] = ()  # of all positions; needed for an embedding with a norm or segments

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
        """Splits the products of `directions` [R,D] with a sub-layer's input here, float64.

        Without a `reader` they are products with the stack's output.
        """
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
    """The part of each writer in each direction.

    `values` is [N,R]. `tokens` has each head's part by attended token, [R,H,S] a site, zeros for a head whose output an edit
    replaces.
    """

    writers: tuple[Writer, ...]
    values: Tensor = field(repr=False)
    tokens: dict[Site, Tensor] = field(repr=False)


class _Back:
    """Walks back to the embeddings. `directions` [R,D] give the effect of a vector added at the current place."""

    def __init__(self, stream: Stream, directions: Tensor) -> None:
        self._stream, self._directions = stream, directions
        self._parts: dict[Writer, Tensor] = {}  # [R] each
        self._tokens: dict[Site, Tensor] = {}
        self._bias = directions.new_zeros(len(directions))  # [R]

    def parts(self) -> Parts:
        parts = dict(reversed(self._parts.items())) | {Writer("bias"): self._bias}
        return Parts(tuple(parts), torch.stack(list(parts.values())), dict(reversed(self._tokens.items())))

    def through(self, norm: nn.Module, x: Tensor) -> None:
        """Goes back through a norm with input x [D] and constant statistics. Its bias is a separate part."""
        self._directions, added = before_norm(norm, x, self._directions)
        self._bias = self._bias + added

    def sublayer(self, layer: EncoderLayer | DecoderLayer, residual: Residual) -> None:
        """Goes back over a sub-layer, in post-norm with the norm after it."""
        stream, place = self._stream, residual.place
        before = stream.recorded.streams[place].before[:, stream.position : stream.position + 1]  # [1,1,D]
        scale = stream.context.sublayer_factors(place, before)
        factor = 1.0 if scale is None else float(scale.flatten()[0])
        if place.part == "ff":
            written = layer.feed_forward(residual.norm(before) if residual.norm_first else before)[0, 0] * factor  # [D]
        else:
            module = layer.cross_attention if place.part == "cross" else layer.self_attention
            z = stream.recorded.records[module.site]["z"][:, :, stream.position]  # [1,H,K]
            written = module.output(z.flatten(1))[0] * factor  # [D]
        total = before[0, 0] + written
        if any("patch_stream" in edit.hooks and edit.acts_at(place.stack, place.layer + 1) for edit in self._edits(place)):
            unpatched = total if residual.norm_first else residual.norm(total)
            put_in = stream.recorded.streams[place].after[0, stream.position] - unpatched
            self._parts[Writer("patch", layer=place.layer)] = self._directions @ put_in.double()
        if not residual.norm_first:
            self.through(residual.norm, total)
        if place.part == "ff":
            self._parts[Writer("feed-forward", layer=place.layer)] = self._directions @ written.double()
        else:
            self._attention(module, factor)

    def _edits(self, place: Sublayer) -> list[Edit]:
        """Returns the edits that may act on the stream after a sub-layer: after the last one of a layer."""
        return [edit for row in self._stream.context.edits.rows for edit in row.edits] if place.part == "ff" else []

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
        unedited = (pattern[..., None, :] @ v).squeeze(-2)  # [H,K], the head's output without an edit
        moved[:, ~torch.isclose(unedited, z, rtol=1e-4, atol=1e-5).all(-1)] = 0
        self._tokens[module.site] = moved

    def embedding(self, x: Tensor) -> None:
        """Splits the stack's input x [D] into token, position, segment and patch."""
        embedding = self._stream.embedding
        token, x = (embedding.table.weight[self._stream.token] * embedding.scale).double(), x.double()  # [D]
        edits = [edit for row in self._stream.context.edits.rows for edit in row.edits]
        put_in = any("patch_stream" in edit.hooks and edit.acts_at(self._stream.stack, 0) for edit in edits)
        if embedding.has_norm or embedding.segments is not None:
            ids = torch.tensor([self._stream.ids], device=x.device)
            added = embedding.embedding_sum(ids, *self._stream.context.positions("source", ids))[
                0, self._stream.position
            ]  # [D]
            norm = embedding.norm if embedding.has_norm else nn.Identity()
            if put_in:
                self._parts[Writer("patch", layer=-1)] = self._directions @ (x - norm(added).double())
            self.through(norm, added)
            x = added.double()
            if embedding.segments is not None:
                segment = embedding.segments(segment_ids(ids))[0, self._stream.position].double()  # [D]
                self._parts[Writer("segment")] = self._directions @ segment
                x = x - segment
        elif put_in:
            ids, position = (torch.tensor([n], device=x.device) for n in (self._stream.token, self._stream.position))
            plain = embedding(ids[None], position)[0, 0].double()
            self._parts[Writer("patch", layer=-1)] = self._directions @ (x - plain)
            x = plain
        self._parts[Writer("position")] = self._directions @ (x - token)
        self._parts[Writer("token")] = self._directions @ token
