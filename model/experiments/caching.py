"""What the key-value cache saves on this machine: the same text written token by token with it and without, in turn.

Both ways are those of decoding itself: `FastSteps` keeps keys and values; `WholeSteps`, which decoding takes without a
causal mask, computes the whole text so far at every step, but for the last layer, where it needs the last token alone.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from model.checkpoint import Checkpoint
from model.config import END, MAX_TOKENS, START
from model.decoding.fast import FastSteps, can, encode
from model.decoding.sampling import NEVER_CHOSEN
from model.decoding.uncached import WholeSteps
from model.edits.apply import NO_EDITS
from model.network import masks
from model.network.context import Pass

ROUNDS, SECONDS = 3, 20.0


@dataclass(frozen=True)
class Caching:
    """A run, or as much of it as is done: seconds of every step, the fastest of the rounds."""

    limit: int  # tokens that were to be written
    cached: tuple[float, ...] = ()
    whole: tuple[float, ...] = ()
    ids: tuple[int, ...] = ()  # that were written, those of the text among them
    parted: int | None = None  # the first step, from 1, at which the two would have chosen another token; None: at none
    off: float = 0.0  # the most by which a probability differs between the two
    done: int = 0  # steps of all rounds

    @property
    def ratio(self) -> float:
        """How many times as long the whole text takes without the cache."""
        return sum(self.whole) / sum(self.cached)


def longest(checkpoint: Checkpoint) -> int:
    """How many tokens a run writes: as many as the text limit and learned positions leave."""
    return checkpoint.config.longest(MAX_TOKENS)


@torch.inference_mode()
def measure(
    checkpoint: Checkpoint,
    source: Sequence[int] | None,
    begun: Sequence[int] = (),
    limit: int = MAX_TOKENS,
    seconds: float = SECONDS,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[Caching]:
    """Writes `limit` tokens, the first of them given, the others the likeliest that go on: `</s>` ends nothing here. Says
    after each step what is known; ends after three rounds, or after so many seconds.

    Raises ValueError for a model without a causal decoder, which has no cache, and for one in training mode, whose dropout
    the two ways leave out.
    """
    config = checkpoint.config
    if not config.causal or "decoder" not in config.kinds:
        raise ValueError(f"the checkpoint {checkpoint.name} keeps no keys and values; expected a decoder with a causal mask")
    if not can(checkpoint.model, NO_EDITS):
        raise ValueError(f"the model {checkpoint.name} is in training mode; call `checkpoint.model.eval()` first")
    ends, run = clock() + seconds, Caching(limit)
    memory, cross = _memory(checkpoint, source)
    for number in range(ROUNDS):
        ways = (FastSteps(checkpoint.model, memory, cross, 1, limit, False), WholeSteps(checkpoint.model, memory, cross))
        target = torch.tensor([[START]], device=checkpoint.device)  # [1,T]
        for step in range(limit):
            if clock() > ends:
                return
            found = {}
            for way in ways if (step + number) % 2 else ways[::-1]:  # each is first in turn
                found[way] = _timed(lambda way=way, target=target: way.log_probs(target, NO_EDITS), clock)
            (took, chosen, p), (took_whole, chosen_whole, p_whole) = (found[way] for way in ways)
            token = begun[step] if step < len(begun) else chosen
            target = torch.cat((target, target.new_tensor([[token]])), dim=1)
            parts = step >= len(begun) and chosen != chosen_whole and run.parted is None
            run = dataclasses.replace(
                run,
                cached=_fastest(run.cached, step, took),
                whole=_fastest(run.whole, step, took_whole),
                ids=tuple(target[0, 1:].tolist()) if number == 0 else run.ids,
                parted=step + 1 if parts else run.parted,
                off=max(run.off, float((p - p_whole).abs().max())),
                done=run.done + 1,
            )
            yield run


def _memory(checkpoint: Checkpoint, source: Sequence[int] | None) -> tuple[Tensor | None, Tensor | None]:
    """What cross-attention reads, with its mask; the same in both ways."""
    if source is None:
        return None, None
    ids = torch.tensor([list(source)], device=checkpoint.device)  # [1,S]
    seen = masks.encoder_mask(checkpoint.config, ids)
    return encode(checkpoint.model, ids, seen, Pass()), masks.cross_mask(ids).expand(1, 1, 1, -1)


def _timed(step: Callable[[], Tensor], clock: Callable[[], float]) -> tuple[float, int, Tensor]:
    """Seconds until a step has chosen, the likeliest token that goes on, and the probabilities [V]."""
    began = clock()
    found = step()
    left_out = torch.tensor((*NEVER_CHOSEN, END), device=found.device)
    token = int(found.index_fill(-1, left_out, -torch.inf).argmax())  # waits for the device
    return clock() - began, token, found[0].exp()


def _fastest(known: tuple[float, ...], step: int, took: float) -> tuple[float, ...]:
    if step == len(known):
        return (*known, took)
    return (*known[:step], min(known[step], took), *known[step + 1 :])
