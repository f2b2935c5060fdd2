"""Decoding without a causal mask, and the recorder of decoding.

Without a causal mask earlier positions depend on later ones, so every step computes the full prefix. Keys and values of
cross-attention are cached, and the last layer computes its last query alone. Weights are prepared as in `fast`, and the
pattern comes from `model.network.attention`. Tests require agreement with the explicit path within 1e-5.

A recorder stores the tensors of decoding, so that no second pass over the target is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..config import START, ModelConfig
from ..edits.apply import BatchEdits
from ..network import masks
from ..network.attention import attention
from ..network.context import Pass, shift_right, teacher_forced_states
from ..network.transformer import Transformer
from ..trace import Probe, Site, Sublayer
from . import fast
from .fast import RecordedPath
from .fast_layers import PreparedLayer, PreparedModel, add_residual, prepare
from .fast_passes import encode, sublayer_factors


class UncachedSteps:
    """The state of a batch between steps: keys and values of cross-attention."""

    def __init__(
        self, model: Transformer, memory: Tensor | None, cross_mask: Tensor | None, prepared: PreparedModel | None = None
    ) -> None:
        """memory: [N,S,D]; cross_mask: bool [N,1,1,S]; None for both without an encoder."""
        self.model, self.prepared, self.cross_mask = model, prepared or prepare(model), cross_mask
        self.heads, self.width = self.prepared.config.heads, self.prepared.config.head_dim
        self.sublayers = ("self", "ff") if memory is None else ("self", "cross", "ff")
        self.cross_key_values = (
            [] if memory is None else [self._keys_and_values(layer, memory) for layer in self.prepared.decoder]
        )

    def _keys_and_values(self, layer: PreparedLayer, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Returns keys and values of cross-attention, [N,H,S,K] each."""
        both = layer.cross_key_value(memory.flatten(0, 1))
        k, v = both.view(*memory.shape[:2], 2, self.heads, self.width).permute(2, 0, 3, 1, 4)
        return k.contiguous(), v.contiguous()

    def log_probs(self, target: Tensor, edits: BatchEdits) -> Tensor:
        """Returns the next token's log-probabilities [N,V] for decoder inputs [N,T]."""
        return self.logits(target, Pass(edits)).log_softmax(-1)

    def logits(self, target: Tensor, context: Pass) -> Tensor:
        """Returns the next token's logits [N,V]. The last layer records its last query's row alone."""
        rows, length = target.shape
        positions, position_factors = context.positions("target", target)
        x = self.model.target_embedding(target, positions, position_factors).flatten(0, 1)  # [N*T,D]
        step_masks = masks.Masks(
            decoder=masks.decoder_mask(self.prepared.config, target, context.edits.rows), cross=self.cross_mask
        )
        norm_first, last_layer = self.prepared.config.norm_first, len(self.prepared.decoder) - 1
        for number, layer in enumerate(self.prepared.decoder):
            for part, norm in zip(self.sublayers, layer.norms, strict=True):
                read = norm(x) if norm_first else x
                if part == "self":
                    if number == last_layer:
                        context = Pass(context.edits, context.probe, start=length - 1)
                        x = x.view(rows, length, -1)[:, -1]  # [N,D]
                    own = self._self_attention(
                        number, layer, read.view(rows, length, -1), positions, step_masks.decoder, context
                    )
                else:
                    own = (
                        layer.feed_forward(read)
                        if part == "ff"
                        else self._cross_attention(number, layer, read, rows, context)
                    )
                factors = sublayer_factors(context, Sublayer("decoder", number, part), x, rows)  # [N*T,1]
                x = add_residual(x, own, norm, norm_first, factors)
        return self.prepared.projection(self.prepared.decoder_norm(x).view(rows, -1, x.size(-1))[:, -1]).float()

    def _self_attention(
        self, number: int, layer: PreparedLayer, x: Tensor, positions: Tensor, mask: Tensor, context: Pass
    ) -> Tensor:
        """Returns self-attention, x [N,T,D] to [N*T,D], or to [N,D] if `context` starts at the last query."""
        qkv = layer.qkv(x.flatten(0, 1)).view(*x.shape[:2], 3, self.heads, self.width)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)  # [N,H,T,K] each
        scheme = self.prepared.scheme
        q, k = (scheme.rotate(each, positions) for each in (q, k))  # [N,H,T,K]
        q, mask = q[:, :, context.start :], mask[:, :, context.start :]
        bias = scheme.score_bias(positions[..., context.start :], positions, self.heads)  # [1|N,1|H,T,S]
        return layer.output(self._attend(Site("decoder", number), q, k, v, mask, context, bias))

    def _cross_attention(self, number: int, layer: PreparedLayer, x: Tensor, rows: int, context: Pass) -> Tensor:
        """Returns cross-attention, x [N*T,D] to [N*T,D]."""
        q = layer.cross_query(x).view(rows, -1, self.heads, self.width).transpose(1, 2)  # [N,H,T,K]
        return layer.cross_output(
            self._attend(Site("cross", number), q, *self.cross_key_values[number], self.cross_mask, context)
        )

    def _attend(
        self, site: Site, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, context: Pass, bias: Tensor | None = None
    ) -> Tensor:
        """Returns the concatenated z of all heads, [N*T,D]."""
        mask = context.site_mask(site, mask, q)
        z, pattern, scores = attention(
            q, k, v, mask, edits=context.site_edits(site), position_bias=bias
        )  # [N,H,T,K], [N,H,T,S] twice
        context.record(site, mask, scores=scores, pattern=pattern)
        return z.transpose(1, 2).reshape(-1, self.heads * self.width)

    def select(self, rows: list[int]) -> None:
        """Keeps these rows of the batch, in this order; a row may occur twice."""
        if self.cross_mask is not None:
            self.cross_key_values = [(k[rows], v[rows]) for k, v in self.cross_key_values]
            self.cross_mask = self.cross_mask[rows]


def prefix_passes(
    model: Transformer, source: Tensor | None, target: Sequence[int], edits: BatchEdits
) -> Iterator[tuple[Probe, Tensor]]:
    """Yields the decoder's records and the logits [V] of the pass over each prefix of a target; source ids [1,S].

    The last row of each map belongs to the query that chose the token.
    """
    outputs = torch.tensor([list(target)], device=next(model.parameters()).device)  # [1,T]
    inputs, steps = shift_right(outputs), None
    if fast.can_decode(model, edits):
        memory, cross, prepared = None, None, prepare(model)
        if source is not None:
            memory = encode(model, prepared, source, masks.encoder_mask(model.config, source, edits.rows), Pass(edits))
            cross = masks.cross_mask(source, edits.rows)
        steps = UncachedSteps(model, memory, cross, prepared)
    for length in range(1, len(target) + 1):
        context = Pass(edits, Probe())
        if steps is None:
            logits = model.project(teacher_forced_states(model, source, outputs[:, :length], context)).float()[:, -1]
        else:
            logits = steps.logits(inputs[:, :length], context)
        yield context.probe, logits[0]


@dataclass(frozen=True)
class Recorder:
    """Stores what decoding computes: the encoder's pass, and the ended paths of the first row, by their ids.

    It stores no paths when decoding takes the explicit path or has no causal mask.
    """

    encoder_probe: Probe = field(default_factory=Probe)
    paths: dict[tuple[int, ...], RecordedPath] = field(default_factory=dict)

    def recorded_pass(
        self, config: ModelConfig, source: Sequence[int] | None, target: tuple[int, ...]
    ) -> tuple[Probe, Tensor] | None:
        """Returns the maps of every site over a path, and its logits [1,T,V]; None for a path that is not stored."""
        path = self.paths.get(target)
        if path is None:
            return None
        device = path.hidden.device
        inputs = torch.tensor([[START, *target[:-1]]], device=device)  # [1,T]
        ids = None if source is None else torch.tensor([list(source)], device=device)
        probe = Probe()
        probe.records.update(self.encoder_probe.records)
        path.record(inputs, masks.build(config, ids, inputs, path.edits.rows), probe)
        return probe, path.logits()[None]
