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

NEAR_TIE_RATIO = 1.2
NEAR_TIE_TEXT = f"a near-tie: the likelier of two tokens is less than {NEAR_TIE_RATIO:g} times as likely as the other"
LabelToken = Callable[[int], str]  # returns the label of a token


def is_near_tie(first: float, second: float) -> bool:
    """True where two probabilities differ by less than the factor `NEAR_TIE_RATIO`, 0.18 nats."""
    low, high = sorted((first, second))
    return high < NEAR_TIE_RATIO * low


def near_ties(log_probs: np.ndarray) -> tuple[tuple[Candidate, Candidate] | None, ...]:
    """Returns the top two tokens of each step where they are a near-tie, else None; log_probs [T,V] in nats."""
    pairs = ((row[0], row[1]) for row in candidates(log_probs, 2))
    return tuple((a, b) if is_near_tie(a.probability, b.probability) else None for a, b in pairs)


@dataclass(frozen=True)
class TokenChange:
    """A step with another token after the edits. The pairs are the probabilities of the old and the new token."""

    step: int  # from 0
    old_token: int
    new_token: int
    old_probabilities: tuple[float, float]
    new_probabilities: tuple[float, float]

    @property
    def is_tie(self) -> bool:
        """True where the two tokens were a near-tie before the edits."""
        return is_near_tie(*self.old_probabilities)

    def describe(self, label_token: LabelToken) -> str:
        """Returns the change in words: `il → elle, which was a near-tie: 0.451 against 0.445; now 0.420 against 0.440`."""
        old_label, new_label = (label_token(token).removeprefix("·") or "·" for token in (self.old_token, self.new_token))
        before, after = (f"{a:.3f} against {b:.3f}" for a, b in (self.old_probabilities, self.new_probabilities))
        what = ", which was a near-tie" if self.is_tie else ""
        return f"{old_label} → {new_label}{what}: {before}; now {after}"


def token_change(step: int, old_token: int, new_token: int, before: np.ndarray, after: np.ndarray) -> TokenChange:
    """Returns the change of the token at a step; log-probabilities [V] before and after, in nats."""
    odds = [(math.exp(row[old_token]), math.exp(row[new_token])) for row in (before, after)]
    return TokenChange(step, int(old_token), int(new_token), *odds)


def top_token_changes(before: np.ndarray, after: np.ndarray) -> tuple[TokenChange, ...]:
    """Returns the steps at which another token becomes the top one; log-probabilities [T,V] in nats."""
    likeliest = before.argmax(axis=1), after.argmax(axis=1)
    steps = np.flatnonzero(likeliest[0] != likeliest[1]).tolist()
    return tuple(token_change(t, likeliest[0][t], likeliest[1][t], before[t], after[t]) for t in steps)


def top_tokens(trace: Trace) -> tuple[int, ...]:
    """Returns the top tokens or the top label, at the `scorable_rows` rows of a trace."""
    return tuple(trace.log_probs[list(trace.scorable_rows)].argmax(-1).tolist())


def token_changes(analysis: Analysis) -> tuple[TokenChange, ...]:
    """Returns the decisions that the edits change; empty without edits.

    Over a given target these are all changed top tokens. After decoding again it is the first different token, or none where
    one translation is a prefix of the other. Control tokens of a masked language model are left out.
    """
    if analysis.baseline is None:
        return ()
    before, after, final_step = analysis.baseline.trace, analysis.trace, analysis.comparable_steps - 1
    if analysis.request.mode == "given" or after.outputs is None:
        return tuple(
            each for each in top_token_changes(before.log_probs, after.log_probs) if each.step in before.scorable_rows
        )
    old_token, new_token = before.outputs.ids[final_step], after.outputs.ids[final_step]
    return (
        (token_change(final_step, old_token, new_token, before.log_probs[final_step], after.log_probs[final_step]),)
        if old_token != new_token
        else ()
    )
