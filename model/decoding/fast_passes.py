"""Passes over many tokens with prepared weights: the encoder, and the forced prefix of decoding."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..edits.apply import BatchEdits
from ..network import masks
from ..network.attention import finish_scores, masked_softmax
from ..network.context import EMPTY_PASS, Pass
from ..network.transformer import EncoderMixin, Transformer
from ..trace import Site, Sublayer
from .fast_layers import PreparedLayer, PreparedModel, Step, add_residual

if TYPE_CHECKING:
    from .fast import FastSteps


def encode(model: Transformer, prepared: PreparedModel, source: Tensor, mask: Tensor, context: Pass) -> Tensor:
    """Returns the encoder's output [N,S,D] for source ids [N,S]; records all that `EncoderMixin.encode` does but streams."""
    rows, length = source.shape
    assert isinstance(model, EncoderMixin), "the model needs an encoder"
    heads, norm_first = prepared.config.heads, prepared.config.norm_first
    positions, position_factors = context.positions("source", source)
    bias = prepared.scheme.score_bias(positions, positions, heads)  # [1|N,1|H,S,S]
    x = model.source_embedding(source, positions, position_factors).flatten(0, 1)  # [N*S,D]
    for number, layer in enumerate(prepared.encoder):
        for name, norm in zip(("self", "ff"), layer.norms, strict=True):
            factors = sublayer_factors(context, Sublayer("encoder", number, name), x, rows)  # [N*S,1]
            read = norm(x) if norm_first else x
            if name == "self":
                q, k, v = _queries_keys_values(prepared, layer, read, rows, positions)  # [N,H,S,K] each
                added = layer.output(_attend(context, Site("encoder", number), q, k, v, mask, bias))
            else:
                added = layer.feed_forward(read)
            x = add_residual(x, added, norm, norm_first, factors)
    memory = prepared.encoder_norm(x).view(rows, length, -1)
    context.record_memory(memory)
    return memory


def prefill(steps: FastSteps, inputs: Tensor, edits: BatchEdits) -> Tensor:
    """Computes the first decoder inputs [N,T] in one pass and returns their final states [N,T,D].

    Stores in `steps` what T single steps would: keys and values, positions, and the tensors of each step.
    """
    prepared, (rows, length) = steps.prepared, inputs.shape
    heads, norm_first = prepared.config.heads, prepared.config.norm_first
    context = steps.step_context(inputs, edits, length) or EMPTY_PASS
    mask = masks.decoder_mask(prepared.config, inputs, edits.rows)  # [1|N,1,T,T]
    positions, position_factors = context.positions("target", inputs)
    bias = prepared.scheme.score_bias(positions, positions, heads)  # [1|N,1|H,T,T]
    records = [Step(None) for _ in range(length)]
    x = steps.model.target_embedding(inputs, positions, position_factors).flatten(0, 1)  # [N*T,D]
    for number, layer in enumerate(prepared.decoder):
        for name, norm in zip(steps.sublayers, layer.norms, strict=True):
            factors = sublayer_factors(context, Sublayer("decoder", number, name), x, rows)  # [N*T,1]
            read = norm(x) if norm_first else x
            if name == "self":
                qkv = _queries_keys_values(prepared, layer, read, rows, positions)  # [N,H,T,K] three times
                steps.self_key_values[number][:, :, :, :length] = torch.stack(qkv[1:])
                merged = torch.cat([each.transpose(1, 2).flatten(2) for each in qkv], dim=-1)  # [N,T,3D]
                added = layer.output(_attend(context, Site("decoder", number), *qkv, mask, bias))
                for step, own in zip(records, merged.unbind(1), strict=True):
                    step.self_qkv.append(own)
            elif name == "cross":
                queries = layer.cross_query(read).view(rows, length, -1)  # [N,T,D]
                q = queries.unflatten(-1, (heads, -1)).transpose(1, 2)  # [N,H,T,K]
                k, v = (each.unflatten(0, (rows, heads)) for each in steps.row_key_values[number])  # [N,H,K,S], [N,H,S,K]
                z = _attend(context, Site("cross", number), q, k.transpose(-2, -1), v, steps.step_masks.cross, None)
                added = layer.cross_output(z)
                for step, own in zip(records, queries.unbind(1), strict=True):
                    step.cross_queries.append(own)
            else:
                added = layer.feed_forward(read)
            x = add_residual(x, added, norm, norm_first, factors)
    hidden = prepared.decoder_norm(x).view(rows, length, -1)
    for step, own in zip(records, hidden.unbind(1), strict=True):
        step.hidden = own
    steps.position, steps.key_positions = length, positions
    if steps.is_recording:
        steps.steps += records
    return hidden


def _queries_keys_values(
    prepared: PreparedModel, layer: PreparedLayer, x: Tensor, rows: int, positions: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns queries, keys and values of self-attention with their positions, [N*T,D] to [N,H,T,K] three times."""
    config = prepared.config
    q, k, v = layer.qkv(x).view(rows, -1, 3, config.heads, config.head_dim).permute(2, 0, 3, 1, 4)  # [N,H,T,K] each
    return prepared.scheme.rotate(q, positions), prepared.scheme.rotate(k, positions), v


def _attend(context: Pass, site: Site, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, bias: Tensor | None) -> Tensor:
    """Returns z [N*T,D] of all heads for q [N,H,T,K], and k and v [N,H,S,K]; records the site."""
    edits, site_mask = context.site_edits(site), context.site_mask(site, mask, q)
    scores = finish_scores((q @ k.transpose(-2, -1)) / math.sqrt(q.size(-1)), q.size(-1), edits, bias)  # [N,H,T,S]
    pattern = edits.overwrite(masked_softmax(scores, site_mask), site_mask)  # [N,H,T,S]
    z = edits.ablate(pattern @ v)  # [N,H,T,K]
    context.record(site, site_mask, bias, scores=scores, pattern=pattern, q=q, k=k, v=v, z=z)
    return z.transpose(1, 2).flatten(2).flatten(0, 1)


def sublayer_factors(context: Pass, place: Sublayer, x: Tensor, rows: int) -> Tensor | None:
    """Returns factors [N*T,1] of a sub-layer for x [N*T,D], 0 for rows that skip it; None if no row does."""
    factors = context.sublayer_factors(place, x.view(rows, -1, x.size(-1)))  # [N,1,1]
    return None if factors is None else factors.expand(-1, len(x) // rows, 1).reshape(-1, 1)
