"""Measures on this machine how much time the key-value cache saves when a text is written token by token.

Both ways are those of decoding: `FastSteps` caches keys and values. `WholeSteps`, which decoding uses without a causal mask,
recomputes the full text at every step. Its last layer computes the last token only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..checkpoint import Checkpoint
from ..config import END, MAX_TOKENS, START
from ..decoding.fast import FastSteps, can, encode
from ..decoding.sampling import NEVER_CHOSEN
from ..decoding.uncached import WholeSteps
from ..edits.apply import NO_EDITS
from ..network import masks
from ..network.context import Pass

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
    return checkpoint.config.longest(MAX_TOKENS)


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
    if not can(checkpoint.model, NO_EDITS):
        raise ValueError(f"the model {checkpoint.name} is in training mode; call `checkpoint.model.eval()` first")
    ends, run = clock() + seconds, Caching(limit)
    memory, cross = _encode_source(checkpoint, source)
    for number in range(ROUNDS):
        ways = (FastSteps(checkpoint.model, memory, cross, 1, limit, False), WholeSteps(checkpoint.model, memory, cross))
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
    return encode(checkpoint.model, ids, seen, Pass()), masks.cross_mask(ids).expand(1, 1, 1, -1)


def _time_step(step: Callable[[], Tensor], clock: Callable[[], float]) -> tuple[float, int, Tensor]:
    """Returns the seconds until a step has chosen, the top token except `</s>`, and the probabilities [V]."""
    began = clock()
    log_probs = step()
    left_out = torch.tensor((*NEVER_CHOSEN, END), device=log_probs.device)
    token = int(log_probs.index_fill(-1, left_out, -torch.inf).argmax())  # waits for the device
    return clock() - began, token, log_probs[0].exp()


def _fastest(known: tuple[float, ...], step: int, took: float) -> tuple[float, ...]:
    if step == len(known):
        return (*known, took)
    return (*known[:step], min(known[step], took), *known[step + 1 :])
