"""Size of the key-value cache after every step of decoding, and the cost of a step with and without it.

Each layer caches the key and the value of each head for every target token. The next query attends to them all. Without the
cache the full prefix goes through all layers at each step.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ...checkpoint import Checkpoint
from ...inference.analysis import Analysis
from ...network import masks
from ...network.context import Cache, Pass, shifted
from ...trace import Site
from .model_sizes import Architecture, of_config


@dataclass(frozen=True)
class SiteCache:
    """Keys and values of one site after the last step, [H,N,K] each."""

    site: Site
    heads: int
    width: int  # K
    tokens: int  # N: T in self-attention, S in cross-attention
    bytes_per_number: int  # bytes of one number
    nbytes: int  # of both tensors

    @property
    def bytes_per_token(self) -> int:
        """Bytes of one token: a key and a value of each head."""
        return 2 * self.heads * self.width * self.bytes_per_number


@dataclass(frozen=True)
class CacheSizes:
    """The cache over one path of T tokens, and the multiplications of every step with and without it, [T] each."""

    own: tuple[SiteCache, ...]  # decoder self-attention, layer by layer; grows by one token a step
    source: tuple[SiteCache, ...]  # cross-attention, complete before the first step; empty without an encoder
    cached: tuple[int, ...]
    uncached: tuple[int, ...]

    def nbytes(self, step: int) -> int:
        """Returns the bytes of all layers after a step (from 1)."""
        return sum(site.bytes_per_token * step for site in self.own) + sum(site.nbytes for site in self.source)


def can_cache(checkpoint: Checkpoint, analysis: Analysis) -> bool:
    """Returns True where a cache is possible. Without a causal mask each token changes the states before it."""
    edit = analysis.request.intervention
    return checkpoint.config.causal and (edit.causal_mask or analysis.request.mode == "given")


@torch.inference_mode()
def cache_sizes(checkpoint: Checkpoint, analysis: Analysis) -> CacheSizes:
    """Returns the cache sizes of an analysis' path, from the model's own cache without edits.

    Raises:
        ValueError: The model has no decoder, or no causal mask.
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
    sites = [
        _site_cache(site, cache[site].key, cache[site].value) for site in analysis.trace.patterns if site.kind != "encoder"
    ]
    length, read = inputs.size(1), 0 if memory is None else memory.size(1)
    of = of_config(checkpoint.config)
    return CacheSizes(
        tuple(each for each in sites if each.site.kind == "decoder"),
        tuple(each for each in sites if each.site.kind == "cross"),
        tuple(multiplications(of, t, 1, read) for t in range(1, length + 1)),
        tuple(multiplications(of, t, t, read) for t in range(1, length + 1)),
    )


def _site_cache(site: Site, key: Tensor, value: Tensor) -> SiteCache:
    _, heads, tokens, width = key.shape  # [1,H,N,K]
    return SiteCache(site, heads, width, tokens, key.element_size(), key.nbytes + value.nbytes)


def multiplications(of: Architecture, length: int, fresh: int, source: int) -> int:
    """Returns the multiplications of one step in which `fresh` of `length` tokens go through the decoder.

    They cover all matrices of the layers, scores and weighted sums, and the output of the last token. Cross-attention's keys
    and values of the `source` tokens exist before the first step, with and without a cache.
    """
    square, forward = of.d_model**2, (3 if of.gated else 2) * of.d_model * of.d_ff
    layers, cross = of.attentions["decoder"], of.attentions.get("cross", 0)
    one = layers * (4 * square + forward + 2 * length * of.d_model) + cross * (2 * square + 2 * source * of.d_model)
    return fresh * one + of.vocabulary * of.d_model + of.transforms * square
