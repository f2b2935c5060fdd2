"""One step of decoding with everything that can be known beforehand known: the fast path of `search`.

The same arithmetic as `model.network`, without what a step does not need: weights are laid out [in, out], queries, keys and
values of self-attention come from one product, positions from a table, keys and values lie in arrays of their final size,
those of cross-attention are computed once. It has no edits in the decoder, no probe and no other mask than the causal one, a
window, and the padding of the source; for all else `search` takes the explicit path. Both give the same log-probabilities
within 1e-5, by test, for every variant.
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

Norm = Callable[[Tensor], Tensor]


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


def _product(*layers: nn.Linear) -> _Product:
    """Linear layers that read the same, side by side."""
    weight = torch.cat([layer.weight for layer in layers]).t().contiguous()
    bias = None if layers[0].bias is None else torch.cat([layer.bias for layer in layers])
    return _Product(weight, bias)


def _norm(norm: nn.Module) -> Norm:
    if isinstance(norm, nn.LayerNorm):
        return lambda x: F.layer_norm(x, norm.normalized_shape, norm.weight, norm.bias, norm.eps)
    return norm  # RMSNorm, or nothing


@dataclass(frozen=True)
class _Layer:
    """A decoder layer, laid out for decoding; `cross_query`, `cross_output`, `cross` are None where there is no memory."""

    norms: tuple[Norm, ...]
    qkv: _Product
    output: _Product
    cross_query: _Product | None
    cross_output: _Product | None
    cross: MultiHeadAttention | None
    feed_forward: Callable[[Tensor], Tensor]


def _feed_forward(layer: FeedForward) -> Callable[[Tensor], Tensor]:
    outer, activation = _product(layer.outer), layer.activation
    if layer.gate is None:
        inner = _product(layer.inner)
        return lambda x: outer(activation(inner(x)))
    both = _product(layer.gate, layer.inner)

    def gated(x: Tensor) -> Tensor:
        gate, inner = both(x).chunk(2, dim=-1)  # [N,F] twice
        return outer(activation(gate) * inner)

    return gated


def _layer(layer: DecoderLayer | EncoderLayer) -> _Layer:
    own = layer.self_attention
    cross = layer.cross_attention if isinstance(layer, DecoderLayer) else None
    return _Layer(
        norms=tuple(_norm(residual.norm) for residual in layer.residuals),
        qkv=_product(own.query, own.key, own.value),
        output=_product(own.output),
        cross_query=cross and _product(cross.query),
        cross_output=cross and _product(cross.output),
        cross=cross,
        feed_forward=_feed_forward(layer.feed_forward),
    )


class Prepared:
    """A model's decoder with its weights laid out for decoding."""

    @torch.inference_mode()
    def __init__(self, model: Transformer) -> None:
        self.config, self.embedding = model.config, model.target_embedding
        self.layers = [_layer(layer) for layer in model.decoder]
        self.final = _norm(model.decoder_norm)
        self.projection = _product(model.projection)
        self.turns = formulas_of(model.config.positions).turn


_prepared: weakref.WeakKeyDictionary[Transformer, tuple[tuple, Prepared]] = weakref.WeakKeyDictionary()


def prepare(model: Transformer) -> Prepared:
    """The model laid out for decoding; anew where its weights have changed since."""
    stamp = tuple((id(p), p.data_ptr(), p._version) for p in model.parameters())
    known = _prepared.get(model)
    if known is None or known[0] != stamp:
        known = _prepared[model] = (stamp, Prepared(model))
    return known[1]


class FastSteps:
    """What a batch keeps from step to step: keys and values of all layers, and the position of the next token."""

    def __init__(self, model: Transformer, memory: Tensor | None, cross_mask: Tensor | None, rows: int, limit: int) -> None:
        """memory [N,S,D] with the mask of its padding, bool [N,1,1,S]; None for both where there is no encoder."""
        self.made = prepare(model)
        config = self.made.config
        self.heads, self.width, self.window = config.heads, config.head_dim, config.window
        like = model.projection.weight
        size = (len(self.made.layers), rows, self.heads, limit, self.width)
        self.keys, self.values = like.new_empty(size), like.new_empty(size)  # [L,N,H,limit,K]
        self.at = 0
        self.memories: list[tuple[Tensor, Tensor]] = []
        self.bias = None
        if memory is not None:
            self.memories = [
                (self._split(e.cross.key(memory)), self._split(e.cross.value(memory))) for e in self.made.layers
            ]
            if not cross_mask.all():  # 0 where padding may be seen, the least number where not: [N,1,1,S]
                self.bias = torch.zeros_like(cross_mask, dtype=like.dtype).masked_fill(
                    ~cross_mask, torch.finfo(like.dtype).min
                )

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2).contiguous()  # [N,S,D] to [N,H,S,K]

    def log_probs(self, newest: Tensor) -> Tensor:
        """Of what may follow, given the newest decoder inputs [N,1]: [N,V]."""
        place = torch.tensor([self.at], device=newest.device)
        x = self.made.embedding(newest, place)[:, 0]  # [N,D]
        for number, layer in enumerate(self.made.layers):
            x = self._through(layer, number, x, place)
        self.at += 1
        return self.made.projection(self.made.final(x)).float().log_softmax(-1)

    def _through(self, layer: _Layer, number: int, x: Tensor, place: Tensor) -> Tensor:
        """A layer: [N,D] to [N,D]."""
        parts = [lambda y: layer.output(self._itself(layer, number, y, place))]
        if layer.cross is not None:
            parts.append(lambda y: layer.cross_output(self._memory(layer, number, y)))
        for norm, part in zip(layer.norms, (*parts, layer.feed_forward), strict=True):
            x = x + part(norm(x)) if self.made.config.norm_first else norm(x + part(x))
        return x

    def _itself(self, layer: _Layer, number: int, x: Tensor, place: Tensor) -> Tensor:
        """Self-attention of the newest token over all so far: [N,D] to [N,D]."""
        q, k, v = layer.qkv(x).view(len(x), 3, self.heads, 1, self.width).unbind(1)  # [N,H,1,K] each
        if self.made.turns is not None:
            q, k = self.made.turns(q, place, BASE), self.made.turns(k, place, BASE)
        keys, values, at = self.keys[number], self.values[number], self.at
        keys[:, :, at : at + 1], values[:, :, at : at + 1] = k, v
        first = 0 if self.window is None else max(0, at + 1 - self.window)
        seen = slice(first, at + 1)
        return self._attend(q, keys[:, :, seen], values[:, :, seen])

    def _memory(self, layer: _Layer, number: int, x: Tensor) -> Tensor:
        """Cross-attention of the newest token: [N,D] to [N,D]."""
        q = layer.cross_query(x).view(len(x), self.heads, 1, self.width)  # [N,H,1,K]
        return self._attend(q, *self.memories[number], self.bias)

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None = None) -> Tensor:
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(self.width)  # [N,H,1,S]
        pattern = (scores if bias is None else scores + bias).softmax(-1)  # [N,H,1,S]
        return (pattern @ v).flatten(1)  # [N,D]

    def select(self, rows: Tensor) -> None:
        """Keeps some rows of the batch, in the order given; a row may come twice."""
        self.keys, self.values = self.keys[:, rows], self.values[:, rows]
        self.memories = [(k[rows], v[rows]) for k, v in self.memories]
        self.bias = None if self.bias is None else self.bias[rows]
