"""Decisions at steps: near-ties, and the steps where edits change the chosen token."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .predictions import Candidate, candidates

if TYPE_CHECKING:
    from ..trace import Trace
    from .analysis import Analysis

NEAR = 1.2
NEAR_TIE = f"a near-tie: the likelier of two tokens is less than {NEAR:g} times as likely as the other"
Piece = Callable[[int], str]  # returns the label of a token


def is_near(one: float, other: float) -> bool:
    """True where two probabilities differ by less than the factor `NEAR`, 0.18 nats."""
    low, high = sorted((one, other))
    return high < NEAR * low


def near_ties(log_probs: np.ndarray) -> tuple[tuple[Candidate, Candidate] | None, ...]:
    """Returns the top two tokens of each step where they are a near-tie, else None; log_probs [T,V] in nats."""
    pairs = ((row[0], row[1]) for row in candidates(log_probs, 2))
    return tuple((a, b) if is_near(a.probability, b.probability) else None for a, b in pairs)


@dataclass(frozen=True)
class Turn:
    """A step with another token after the edits. The pairs are the probabilities of the old and the new token."""

    step: int  # from 0
    was: int
    now: int
    before: tuple[float, float]
    after: tuple[float, float]

    @property
    def is_tie(self) -> bool:
        """True where the two tokens were a near-tie before the edits."""
        return is_near(*self.before)

    def told(self, piece: Piece) -> str:
        """Returns the change in words: `il → elle, which was a near-tie: 0.451 against 0.445; now 0.420 against 0.440`."""
        was, now = (piece(token).removeprefix("·") or "·" for token in (self.was, self.now))
        before, after = (f"{a:.3f} against {b:.3f}" for a, b in (self.before, self.after))
        what = ", which was a near-tie" if self.is_tie else ""
        return f"{was} → {now}{what}: {before}; now {after}"


def turn(step: int, was: int, now: int, before: np.ndarray, after: np.ndarray) -> Turn:
    """Returns the change of the token at a step; log-probabilities [V] before and after, in nats."""
    odds = [(math.exp(row[was]), math.exp(row[now])) for row in (before, after)]
    return Turn(step, int(was), int(now), *odds)


def turned(before: np.ndarray, after: np.ndarray) -> tuple[Turn, ...]:
    """Returns the steps at which another token becomes the top one; log-probabilities [T,V] in nats."""
    likeliest = before.argmax(axis=1), after.argmax(axis=1)
    steps = np.flatnonzero(likeliest[0] != likeliest[1]).tolist()
    return tuple(turn(t, likeliest[0][t], likeliest[1][t], before[t], after[t]) for t in steps)


def answered(trace: Trace) -> tuple[int, ...]:
    """Returns the top tokens or the top label, at the `inner` rows of a trace."""
    return tuple(trace.log_probs[list(trace.inner)].argmax(-1).tolist())


def turns(analysis: Analysis) -> tuple[Turn, ...]:
    """Returns the decisions that the edits change; empty without edits.

    Over a given target these are all changed top tokens. After decoding again it is the first different token, or none where
    one translation is a prefix of the other. Control tokens of a masked language model are left out.
    """
    if analysis.baseline is None:
        return ()
    before, after, last = analysis.baseline.trace, analysis.trace, analysis.comparable - 1
    if analysis.request.mode == "given" or after.outputs is None:
        return tuple(each for each in turned(before.log_probs, after.log_probs) if each.step in before.inner)
    was, now = before.outputs.ids[last], after.outputs.ids[last]
    return (turn(last, was, now, before.log_probs[last], after.log_probs[last]),) if was != now else ()
