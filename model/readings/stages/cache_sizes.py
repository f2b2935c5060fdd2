"""The key-value cache of decoding: what each layer holds after every step, in bytes, and what a step costs with it and
without.

Of every target token that was read a layer keeps the key and the value of each head; the next token asks all of them and
adds its own. Without the cache the whole text so far goes through all layers again at each step.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from model.checkpoint import Checkpoint
from model.inference.analysis import Analysis
from model.network import masks
from model.network.context import Cache, Pass, shifted
from model.readings.stages.model_sizes import Architecture, of_config
from model.trace import Site


@dataclass(frozen=True)
class Held:
    """What one site holds in the end: keys and values, [H,N,K] each, of numbers of so many bytes."""

    site: Site
    heads: int
    width: int  # K
    tokens: int  # N: T in self-attention, S in cross-attention
    number: int  # bytes of one number
    nbytes: int  # of both tensors

    @property
    def each(self) -> int:
        """Bytes of one token: a key and a value of all heads."""
        return 2 * self.heads * self.width * self.number


@dataclass(frozen=True)
class KeyValues:
    """The cache over one path of T tokens, and multiplications of every step, [T] each: with it, and without."""

    own: tuple[Held, ...]  # decoder self-attention, layer by layer: grows by a token a step
    source: tuple[Held, ...]  # cross-attention: all there before the first step; none without an encoder
    cached: tuple[int, ...]
    whole: tuple[int, ...]

    def nbytes(self, step: int) -> int:
        """Bytes that all layers hold after a step (from 1)."""
        return sum(held.each * step for held in self.own) + sum(held.nbytes for held in self.source)


def keeps(checkpoint: Checkpoint, analysis: Analysis) -> bool:
    """True where something can be kept: without a causal mask each token changes what was computed of those before it."""
    edit = analysis.request.intervention
    return checkpoint.config.causal and (edit.causal_mask or analysis.request.mode == "given")


@torch.inference_mode()
def key_values(checkpoint: Checkpoint, analysis: Analysis) -> KeyValues:
    """The cache of the path that an analysis shows, filled by the model itself, without edits.

    Raises ValueError for a model that decodes nothing, and for one without a causal mask, which can keep nothing.
    """
    if analysis.trace.outputs is None or not checkpoint.config.causal:
        raise ValueError(f"the checkpoint {checkpoint.name} keeps no keys and values; expected a decoder with a causal mask")
    model, device = checkpoint.model, checkpoint.device
    inputs = shifted(torch.tensor([list(analysis.trace.outputs.ids)], device=device))  # [1,T]
    memory = cross = None
    if analysis.trace.source is not None:
        source = torch.tensor([list(analysis.trace.source.ids)], device=device)  # [1,S]
        memory, cross = model.encode(source, masks.encoder_mask(model.config, source)), masks.cross_mask(source)
    cache = Cache()
    model.decode(inputs, memory, masks.decoder_mask(model.config, inputs), cross, Pass(cache=cache))
    held = [_held(site, cache[site].key, cache[site].value) for site in analysis.trace.patterns if site.kind != "encoder"]
    length, read = inputs.size(1), 0 if memory is None else memory.size(1)
    of = of_config(checkpoint.config)
    return KeyValues(
        tuple(each for each in held if each.site.kind == "decoder"),
        tuple(each for each in held if each.site.kind == "cross"),
        tuple(multiplications(of, t, 1, read) for t in range(1, length + 1)),
        tuple(multiplications(of, t, t, read) for t in range(1, length + 1)),
    )


def _held(site: Site, key: Tensor, value: Tensor) -> Held:
    _, heads, tokens, width = key.shape  # [1,H,N,K]
    return Held(site, heads, width, tokens, key.element_size(), key.nbytes + value.nbytes)


def multiplications(of: Architecture, length: int, fresh: int, source: int) -> int:
    """Of numbers, in one step that `fresh` tokens of `length` go through the decoder: all matrices of its layers, the scores
    and the mix of each token with all, and the output of the last. What cross-attention makes of `source` tokens was made
    before the first step, in either way."""
    square, forward = of.d_model**2, (3 if of.gated else 2) * of.d_model * of.d_ff
    layers, cross = of.attentions["decoder"], of.attentions.get("cross", 0)
    one = layers * (4 * square + forward + 2 * length * of.d_model) + cross * (2 * square + 2 * source * of.d_model)
    return fresh * one + of.vocabulary * of.d_model + of.transforms * square
