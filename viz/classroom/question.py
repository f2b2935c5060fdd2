"""A question to a class, as it is sent to it."""

from __future__ import annotations

from dataclasses import dataclass


class NoQuestion(ValueError):
    """There is nothing to ask of this view; one sentence says why."""


@dataclass(frozen=True)
class Question:
    """A question with what the model makes of each answer; `gave` says what it makes of the right one, `note` how that came
    about, where that is not plain."""

    kind: str  # "next" or "head"
    asks: str  # in a few words
    before: str  # what stands before the gap that is asked about
    gap: str  # its sign; empty where there is none
    after: str
    text: str  # both in one line, for who sees nothing else
    about: str  # the sentence that is worked on, where the gap is not in it
    options: tuple[str, ...]  # in an order that tells nothing
    model: tuple[float, ...]  # probability, or weight, of each
    answer: str
    gave: str
    note: str


def rounded(share: float) -> float:
    """What is sent of a share: nothing that is not 0 becomes 0."""
    return float(f"{share:.6g}")
