"""The key-value cache: its size after every step of decoding, the cost of a step with and without it, and the time it saves.

Each layer caches the key and the value of each head for every target token. The next query attends to them all. Without the
cache the full prefix goes through all layers at each step.

The time is measured on this machine. Both ways are those of decoding: `FastSteps` caches keys and values. `UncachedSteps`,
which decoding uses without a causal mask, recomputes the full text at every step. Its last layer computes the last token
only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..checkpoint import Checkpoint
from ..config import END, MAX_TOKENS, START
from ..decoding.fast import FastSteps, can_decode
from ..decoding.fast_layers import prepare
from ..decoding.fast_passes import encode
from ..decoding.sampling import EXCLUDED_IDS
from ..decoding.uncached import UncachedSteps
from ..edits.apply import NO_EDITS
from ..inference.analysis import Analysis
from ..network import masks
from ..network.context import Cache, Pass, shift_right
from ..readings.stages.model_sizes import Architecture, of_config
from ..trace import Site


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
    inputs = shift_right(torch.tensor([list(analysis.trace.outputs.ids)], device=device))  # [1,T]
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


ROUNDS, SECONDS = 3, 20.0


@dataclass(frozen=True)
class Caching:
    """Results so far of a run. Seconds of a step are the fastest of the rounds."""

    limit: int  # tokens to write
    cached: tuple[float, ...] = ()
    uncached: tuple[float, ...] = ()
    ids: tuple[int, ...] = ()  # written tokens, the forced prefix included
    first_divergence: int | None = None  # first step, from 1, at which the two choose different tokens; None: no step
    max_difference: float = 0.0  # largest difference of a probability between the two
    done: int = 0  # steps of all rounds

    @property
    def ratio(self) -> float:
        """Returns the time without the cache divided by the time with it."""
        return sum(self.uncached) / sum(self.cached)


def run_length(checkpoint: Checkpoint) -> int:
    """Returns the number of tokens that a run writes: the text limit, or fewer where learned positions end earlier."""
    return checkpoint.config.clamp_length(MAX_TOKENS)


@torch.inference_mode()
def measure(
    checkpoint: Checkpoint,
    source: Sequence[int] | None,
    forced_prefix: Sequence[int] = (),
    limit: int = MAX_TOKENS,
    seconds: float = SECONDS,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[Caching]:
    """Writes `limit` tokens: first the forced prefix, then the top next tokens. `</s>` does not end the text.

    Yields the results after each step. Ends after three rounds, or after the given seconds.

    Raises ValueError for a model without a causal decoder, which has no cache, and for one in training mode: both ways
    ignore dropout.
    """
    config = checkpoint.config
    if not config.causal or "decoder" not in config.kinds:
        raise ValueError(f"the checkpoint {checkpoint.name} has no key-value cache; expected a decoder with a causal mask")
    if not can_decode(checkpoint.model, NO_EDITS):
        raise ValueError(f"the model {checkpoint.name} is in training mode; call `checkpoint.model.eval()` first")
    ends, run = clock() + seconds, Caching(limit)
    memory, cross = _encode_source(checkpoint, source)
    for number in range(ROUNDS):
        ways = (FastSteps(checkpoint.model, memory, cross, 1, limit, False), UncachedSteps(checkpoint.model, memory, cross))
        target = torch.tensor([[START]], device=checkpoint.device)  # [1,T]
        for step in range(limit):
            if clock() > ends:
                return
            results = {}
            for way in ways if (step + number) % 2 else ways[::-1]:  # each is first in turn
                results[way] = _time_step(lambda way=way, target=target: way.log_probs(target, NO_EDITS), clock)
            (took, chosen, p), (uncached_seconds, uncached_token, uncached_p) = (results[way] for way in ways)
            token = forced_prefix[step] if step < len(forced_prefix) else chosen
            target = torch.cat((target, target.new_tensor([[token]])), dim=1)
            parts = step >= len(forced_prefix) and chosen != uncached_token and run.first_divergence is None
            run = Caching(
                limit,
                cached=_fastest(run.cached, step, took),
                uncached=_fastest(run.uncached, step, uncached_seconds),
                ids=tuple(target[0, 1:].tolist()) if number == 0 else run.ids,
                first_divergence=step + 1 if parts else run.first_divergence,
                max_difference=max(run.max_difference, float((p - uncached_p).abs().max())),
                done=run.done + 1,
            )
            yield run


def _encode_source(checkpoint: Checkpoint, source: Sequence[int] | None) -> tuple[Tensor | None, Tensor | None]:
    """Returns the hidden states that cross-attention reads, and their mask."""
    if source is None:
        return None, None
    ids = torch.tensor([list(source)], device=checkpoint.device)  # [1,S]
    seen = masks.encoder_mask(checkpoint.config, ids)
    return encode(checkpoint.model, prepare(checkpoint.model), ids, seen, Pass()), masks.cross_mask(ids).expand(1, 1, 1, -1)


def _time_step(step: Callable[[], Tensor], clock: Callable[[], float]) -> tuple[float, int, Tensor]:
    """Returns the seconds until a step has chosen, the top token except `</s>`, and the probabilities [V]."""
    began = clock()
    log_probs = step()
    left_out = torch.tensor((*EXCLUDED_IDS, END), device=log_probs.device)
    token = int(log_probs.index_fill(-1, left_out, -torch.inf).argmax())  # waits for the device
    return clock() - began, token, log_probs[0].exp()


def _fastest(known: tuple[float, ...], step: int, took: float) -> tuple[float, ...]:
    if step == len(known):
        return (*known, took)
    return (*known[:step], min(known[step], took), *known[step + 1 :])
