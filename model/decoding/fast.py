"""Decoding with everything that can be known beforehand known: the fast path of `search`, and what it records as it goes.

The same arithmetic as `model.network`, without what a step does not need: weights are laid out [in, out], queries, keys and
values of self-attention come from one product and lie in arrays of their final size, positions come from a table, keys and
values of cross-attention are computed once. It has no edits in the decoder and no other mask than the causal one, a window,
and the padding of the source; for all else `search` takes the explicit path. Both give the same log-probabilities and the
same maps within 1e-5, by test, for every variant.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from model.edits.apply import Edits
from model.network.attention import MultiHeadAttention
from model.network.layers import DecoderLayer, EncoderLayer, FeedForward
from model.network.positions import BASE, formulas_of
from model.network.transformer import Transformer
from model.trace import Site

Function = Callable[[Tensor], Tensor]


def can(model: Transformer, edits: Edits) -> bool:
    """True where this path computes what the model under these edits would."""
    plain = not edits.located and not edits.unscaled and all(row.window is None for row in edits.rows)
    return plain and edits.causal and model.config.causal and not model.training


@dataclass(frozen=True)
class _Product:
    """x W + b with W laid out [in, out]."""

    weight: Tensor
    bias: Tensor | None

    def __call__(self, x: Tensor) -> Tensor:
        """[N,in] to [N,out]."""
        return x @ self.weight if self.bias is None else torch.addmm(self.bias, x, self.weight)


def _product(*layers: nn.Linear, scales: tuple[float, ...] = ()) -> _Product:
    """Linear layers that read the same, side by side, each times its scale."""
    factors = scales or (1.0,) * len(layers)
    each = zip(layers, factors, strict=True)
    weight = torch.cat([layer.weight * scale for layer, scale in each]).t().contiguous()
    each = zip(layers, factors, strict=True)
    bias = None if layers[0].bias is None else torch.cat([layer.bias * scale for layer, scale in each])
    return _Product(weight, bias)


def _norm(norm: nn.Module) -> Function:
    if isinstance(norm, nn.LayerNorm):
        return lambda x: F.layer_norm(x, norm.normalized_shape, norm.weight, norm.bias, norm.eps)
    return norm  # RMSNorm, or nothing


def _feed_forward(layer: FeedForward) -> Function:
    outer, activation = _product(layer.outer), layer.activation
    if layer.gate is None:
        inner = _product(layer.inner)
        return lambda x: outer(activation(inner(x)))
    both = _product(layer.gate, layer.inner)

    def gated(x: Tensor) -> Tensor:
        gate, inner = both(x).chunk(2, dim=-1)  # [N,F] twice
        return outer(activation(gate) * inner)

    return gated


@dataclass(frozen=True)
class _Layer:
    """A decoder layer, laid out for decoding; queries come divided by sqrt(d_k). The last three are None where there is no
    memory."""

    norms: tuple[Function, ...]
    qkv: _Product
    output: _Product
    feed_forward: Function
    cross_query: _Product | None
    cross_output: _Product | None
    cross: MultiHeadAttention | None


def _layer(layer: DecoderLayer | EncoderLayer, width: int) -> _Layer:
    own, divided = layer.self_attention, 1 / math.sqrt(width)
    cross = layer.cross_attention if isinstance(layer, DecoderLayer) else None
    return _Layer(
        norms=tuple(_norm(residual.norm) for residual in layer.residuals),
        qkv=_product(own.query, own.key, own.value, scales=(divided, 1, 1)),
        output=_product(own.output),
        feed_forward=_feed_forward(layer.feed_forward),
        cross_query=cross and _product(cross.query, scales=(divided,)),
        cross_output=cross and _product(cross.output),
        cross=cross,
    )


class Prepared:
    """A model's decoder with its weights laid out for decoding."""

    @torch.inference_mode()
    def __init__(self, model: Transformer) -> None:
        self.config, self.embedding = model.config, model.target_embedding
        self.layers = [_layer(layer, model.config.head_dim) for layer in model.decoder]
        self.final = _norm(model.decoder_norm)
        self.projection = _product(model.projection)
        self.turn = formulas_of(model.config.positions).turn
        self.parameters = list(model.parameters())
        self.stamp = _stamp(self.parameters)
        positions = self.embedding.positional
        rows = positions.table.num_embeddings if self.config.scheme.trained else self.config.max_positions
        nothing = self.parameters[0].new_zeros(1, rows, self.config.d_model)
        self.positions = positions(nothing, torch.arange(rows, device=nothing.device))[0]  # [R,D]

    def embed(self, newest: Tensor, at: int) -> Tensor:
        """Decoder inputs [N] that stand at a position, with what positions add: [N,D].

        Raises ValueError for a position that a learned table does not have.
        """
        if at >= len(self.positions):
            return self.embedding(newest[:, None], torch.tensor([at], device=newest.device))[:, 0]
        return torch.add(self.positions[at], F.embedding(newest, self.embedding.table.weight), alpha=self.embedding.scale)


def _stamp(parameters: list[nn.Parameter]) -> list[tuple[int, int]]:
    """What changes when weights do: where they lie, and how often they were written."""
    return [(p.data_ptr(), p._version) for p in parameters]


_prepared: weakref.WeakKeyDictionary[Transformer, Prepared] = weakref.WeakKeyDictionary()


def prepare(model: Transformer) -> Prepared:
    """The model laid out for decoding; anew where its weights have changed since."""
    known = _prepared.get(model)
    if known is None or known.stamp != _stamp(known.parameters):
        known = _prepared[model] = Prepared(model)
    return known


@dataclass(frozen=True)
class Recorded:
    """What one path of T tokens left behind: enough for every map and probability of the pass over the whole of it."""

    made: Prepared
    own: Tensor  # [2,L,T,H,K]: queries, over sqrt(d_k), and keys of self-attention
    cross: Tensor | None  # [L,T,H,K]: queries of cross-attention, over sqrt(d_k)
    memory: list[Tensor]  # its keys in each layer, [H,S,K]
    hidden: Tensor  # [T,D]

    def maps(self, mask: Tensor, memory_mask: Tensor | None) -> dict[Site, tuple[Tensor, Tensor]]:
        """Scores before the mask and pattern, [H,T,S] each, of every layer in turn; masks bool [T,T] and [1|T,S]."""
        queries, keys = self.own.transpose(2, 3)  # [L,H,T,K] each
        kinds = {"decoder": _both(queries, keys, mask)}
        if self.cross is not None:
            kinds["cross"] = _both(self.cross.transpose(1, 2), torch.stack(self.memory), memory_mask)
        return {Site(kind, n): pairs[n] for n in range(len(queries)) for kind, pairs in kinds.items()}

    def logits(self) -> Tensor:
        """[T,V]."""
        return self.made.projection(self.hidden).float()


def _both(queries: Tensor, keys: Tensor, mask: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Of each layer the scores, and their softmax over what the mask lets through, zeros where that is nothing."""
    scores = queries @ keys.transpose(-2, -1)  # [L,H,T,S]
    masked = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return list(zip(scores, masked.softmax(dim=-1).masked_fill(~mask, 0.0), strict=True))


class FastSteps:
    """What a batch keeps from step to step: queries, keys and values of all layers, and the position of the next token."""

    def __init__(self, model: Transformer, memory: Tensor | None, cross_mask: Tensor | None, rows: int, limit: int) -> None:
        """memory [N,S,D] with the mask of its padding, bool [N,1,1,S]; None for both where there is no encoder."""
        self.made, self.limit, self.at = prepare(model), limit, 0
        config, self.like = self.made.config, model.projection.weight
        self.first, self.heads, self.width, self.window = config.norm_first, config.heads, config.head_dim, config.window
        self.parts = (self._itself, self._feed) if memory is None else (self._itself, self._memory, self._feed)
        self._make_room(rows)
        self.memories: list[tuple[Tensor, Tensor]] = []
        self.bias = None
        if memory is not None:
            crosses = [layer.cross for layer in self.made.layers]
            self.memories = [(self._split(each.key(memory)), self._split(each.value(memory))) for each in crosses]
            if not cross_mask.all():  # 0 where padding may be seen, the least number where not: [N,1,1,S]
                least = torch.finfo(self.like.dtype).min
                self.bias = torch.zeros_like(cross_mask, dtype=self.like.dtype).masked_fill(~cross_mask, least)

    def _make_room(self, rows: int) -> None:
        layers, width = len(self.made.layers), (rows, self.heads, self.width)
        self.own = self.like.new_empty(3, layers, self.limit, *width)  # q, k and v: [3,L,limit,N,H,K]
        self.asked = self.like.new_empty(layers, self.limit, *width)  # queries of cross-attention: [L,limit,N,H,K]
        self.hidden = self.like.new_empty(self.limit, rows, self.like.size(1))  # [limit,N,D]

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2).contiguous()  # [N,S,D] to [N,H,S,K]

    def log_probs(self, newest: Tensor) -> Tensor:
        """Of what may follow, given the newest decoder inputs [N]: [N,V]."""
        x = self.made.embed(newest, self.at)  # [N,D]
        for number, layer in enumerate(self.made.layers):
            for part, norm in zip(self.parts, layer.norms, strict=True):
                x = x + part(number, layer, norm(x)) if self.first else norm(x + part(number, layer, x))
        hidden = self.hidden[self.at] = self.made.final(x)  # [N,D]
        self.at += 1
        return self.made.projection(hidden).float().log_softmax(-1)

    def _itself(self, number: int, layer: _Layer, x: Tensor) -> Tensor:
        """Self-attention of the newest token over all so far: [N,D] to [N,D]."""
        at, own = self.at, self.own[:, number]
        fresh = layer.qkv(x).view(-1, 3, self.heads, self.width).transpose(0, 1)  # [3,N,H,K]
        if self.made.turn is not None:
            place = torch.tensor([at], device=x.device)
            turned = self.made.turn(fresh[:2].flatten(0, 1)[:, :, None], place, BASE)  # [2N,H,1,K]
            fresh = torch.cat((turned[:, :, 0].unflatten(0, (2, -1)), fresh[2:]))
        own[:, at] = fresh
        first = 0 if self.window is None else max(0, at + 1 - self.window)
        keys, values = own[1:, first : at + 1].permute(0, 2, 3, 1, 4)  # [N,H,S,K] each
        return layer.output(self._attend(fresh[0, :, :, None], keys, values))

    def _memory(self, number: int, layer: _Layer, x: Tensor) -> Tensor:
        """Cross-attention of the newest token: [N,D] to [N,D]."""
        q = self.asked[number, self.at] = layer.cross_query(x).view(-1, self.heads, self.width)  # [N,H,K]
        return layer.cross_output(self._attend(q[:, :, None], *self.memories[number], self.bias))

    def _feed(self, number: int, layer: _Layer, x: Tensor) -> Tensor:
        return layer.feed_forward(x)

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None = None) -> Tensor:
        scores = q @ k.transpose(-2, -1)  # [N,H,1,S]
        pattern = (scores if bias is None else scores + bias).softmax(-1)  # [N,H,1,S]
        return (pattern @ v).flatten(1)  # [N,D]

    def select(self, rows: Tensor) -> None:
        """Keeps some rows of the batch, in the order given; a row may come twice."""
        at, own, asked, hidden = self.at, self.own, self.asked, self.hidden
        if len(rows) != own.size(3):
            self._make_room(len(rows))
        self.own[:, :, :at], self.asked[:, :at] = own[:, :, :at, rows], asked[:, :at, rows]
        self.hidden[:at] = hidden[:at, rows]
        self.memories = [(k[rows], v[rows]) for k, v in self.memories]
        self.bias = None if self.bias is None else self.bias[rows]

    def recorded(self, row: int, length: int) -> Recorded:
        """What the first tokens of a row of the batch left behind."""
        own, hidden = self.own[:2, :, :length, row].clone(), self.hidden[:length, row].clone()
        cross = self.asked[:, :length, row].clone() if self.memories else None
        return Recorded(self.made, own, cross, [k[row] for k, _ in self.memories], hidden)
