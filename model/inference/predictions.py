"""Predictions: candidates, divergences and differences, near-ties, and the tokens that edits change. With numpy only."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..decoding.sampling import top_ids
from ..edits.place import nth
from ..io.numbers import probability

if TYPE_CHECKING:
    from ..trace import Trace
    from .analysis import Analysis

LEAST_LOOP = 6  # tokens in all


@dataclass(frozen=True)
class Candidate:
    """One possible next token with its probability."""

    id: int
    probability: float


def candidates(log_probs: np.ndarray, count: int = 5) -> tuple[tuple[Candidate, ...], ...]:
    """Returns the top `count` next tokens of every step, sorted; log_probs [T,V] in nats."""
    top = (top_ids(row, count) for row in log_probs)
    return tuple(
        tuple(Candidate(int(i), float(np.exp(row[i]))) for i in order) for order, row in zip(top, log_probs, strict=True)
    )


def better_candidates(log_probs: np.ndarray, ids: Sequence[int]) -> tuple[Candidate | None, ...]:
    """Returns the top token of each step where it differs from `ids`, else None; log_probs [T,V] in nats."""
    first = (row[0] for row in candidates(log_probs, 1))
    return tuple(None if best.id == token else best for best, token in zip(first, ids, strict=True))


def repeated_tail(ids: Sequence[int]) -> tuple[int, int] | None:
    """Returns length and count of the shortest sequence that a text repeats at its end; None if there is none.

    A loop is repeated at least three times and has at least `LEAST_LOOP` tokens in all: "..." is none.
    """
    for size in range(1, len(ids) // 3 + 1):
        count = 1
        while len(ids) >= (count + 1) * size and ids[-size:] == ids[len(ids) - (count + 1) * size : len(ids) - count * size]:
            count += 1
        if count >= 3 and count * size >= LEAST_LOOP:
            return size, count
    return None


def kl_divergence(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Returns KL(before || after) of each step in nats, [T]; log-probabilities [T,V]."""
    if before.shape != after.shape:
        raise ValueError(f"the shapes are {before.shape} and {after.shape}; expected equal ones")
    before, after = before.astype(np.float64), after.astype(np.float64)
    return np.maximum(0.0, (np.exp(before) * (before - after)).sum(axis=-1))


@dataclass(frozen=True)
class ProbabilityShift:
    """The probability of a candidate before and after."""

    id: int
    before: float
    after: float


def largest_shifts(
    before: np.ndarray, after: np.ndarray, count: int = 3
) -> tuple[tuple[ProbabilityShift, ...], tuple[ProbabilityShift, ...]]:
    """Returns the tokens that gain and lose the most probability at a step, sorted; log-probabilities [V]."""
    p, q = np.exp(before.astype(np.float64)), np.exp(after.astype(np.float64))
    order = np.argsort(q - p, kind="stable")
    gains = [ProbabilityShift(int(i), float(p[i]), float(q[i])) for i in order[::-1][:count] if q[i] > p[i]]
    losses = [ProbabilityShift(int(i), float(p[i]), float(q[i])) for i in order[:count] if q[i] < p[i]]
    return tuple(gains), tuple(losses)


SMALL_CHANGE = 0.05  # probability
SMALL_SUM = 0.5  # nats of the summed log-probability


@dataclass(frozen=True)
class LargestChange:
    """The baseline token, or the label, whose probability an edit changes most."""

    step: int  # from 0
    label: str
    before: float
    after: float

    @property
    def is_small(self) -> bool:
        return abs(self.after - self.before) < SMALL_CHANGE


def largest_change(
    labels: Sequence[str], before: np.ndarray, after: np.ndarray, rows: Sequence[int] | None = None
) -> LargestChange | None:
    """Returns the largest change of the probabilities [T] to [t], where t <= T; of equal ones the first.

    None where no row is compared. `rows` are the compared ones, default all. A repeated label gets its count.
    """
    compared = [row for row in (range(len(after)) if rows is None else rows) if row < len(after)]
    if not compared:
        return None
    step = max(compared, key=lambda row: abs(float(after[row]) - float(before[row])))
    return LargestChange(step, nth(labels, step), float(before[step]), float(after[step]))


def largest_edited_change(analysis: Analysis) -> LargestChange | None:
    """Returns the largest change of a baseline token, up to where the translations differ; None without edits."""
    if analysis.baseline is None:
        return None
    change, base = analysis.probability_change, analysis.baseline
    rows = (
        None if analysis.task.is_classifier else [row for row in base.trace.scorable_rows if row >= analysis.prompt_length]
    )
    return largest_change(change.labels, change.before, change.after, rows)


def hardly_changes(change: LargestChange | None, total: float) -> bool:
    """True where no token changes much, and the summed log-probability, by `total` nats, does not either."""
    return (change is None or change.is_small) and abs(total) < SMALL_SUM


def changed_words(words: Sequence[str], other_words: Sequence[str]) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
    """Returns, for each of two word lists, True for words outside a longest common subsequence."""
    n, m = len(words), len(other_words)
    length = np.zeros((n + 1, m + 1), dtype=int)
    for i in range(n - 1, -1, -1):
        for j in range(m - 1, -1, -1):
            same = words[i] == other_words[j]
            length[i, j] = 1 + length[i + 1, j + 1] if same else max(length[i + 1, j], length[i, j + 1])
    first, second = [True] * n, [True] * m
    i = j = 0
    while i < n and j < m:
        if words[i] == other_words[j]:
            first[i] = second[j] = False
            i, j = i + 1, j + 1
        elif length[i + 1, j] >= length[i, j + 1]:
            i += 1
        else:
            j += 1
    return tuple(first), tuple(second)


NEAR_TIE_RATIO = 1.2
NEAR_TIE_TEXT = f"a near-tie: the likelier of two tokens is less than {NEAR_TIE_RATIO:g} times as likely as the other"
LabelToken = Callable[[int], str]  # returns the label of a token


def is_near_tie(first: float, second: float) -> bool:
    """True where two probabilities differ by less than the factor `NEAR_TIE_RATIO`, 0.18 nats."""
    low, high = sorted((first, second))
    return high < NEAR_TIE_RATIO * low


def near_ties(log_probs: np.ndarray) -> tuple[tuple[Candidate, Candidate] | None, ...]:
    """Returns the top two tokens of each step where they are a near-tie, else None; log_probs [T,V] in nats."""
    rows, others = np.arange(len(log_probs)), log_probs.copy()
    first = log_probs.argmax(axis=1)
    others[rows, first] = -np.inf
    second = others.argmax(axis=1)
    pairs = [
        (Candidate(int(a), float(np.exp(row[a]))), Candidate(int(b), float(np.exp(row[b]))))
        for a, b, row in zip(first, second, log_probs, strict=True)
    ]
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
        """Returns the change in words: `il → elle, which was a near-tie: 0.45 against 0.45; now 0.42 against 0.44`."""
        old_label, new_label = (label_token(token).removeprefix("·") or "·" for token in (self.old_token, self.new_token))
        pairs = (self.old_probabilities, self.new_probabilities)
        before, after = (" against ".join(map(probability, pair)) for pair in pairs)
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
