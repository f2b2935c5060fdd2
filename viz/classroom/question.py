"""Question to a class, as the browser receives it."""

from __future__ import annotations

from dataclasses import dataclass


class NoQuestion(ValueError):
    """This view allows no question; the message says why."""


@dataclass(frozen=True)
class QuestionDraft:
    """A question with the model's probability (or weight) of each option.

    `gave` describes the value of the right answer. `note` explains that answer if it is not simply the top one.
    """

    kind: str  # "next" or "head"
    asks: str  # short form of the question
    before: str  # text before the gap
    gap: str  # sign of the gap; may be empty
    after: str
    text: str  # question and gap in one line
    about: str  # the source sentence, if the gap is not in it
    options: tuple[str, ...]  # in an order that does not reveal the answer
    model: tuple[float, ...]  # probability, or weight, of each
    answer: str
    gave: str
    note: str


def round_share(share: float) -> float:
    """Rounds a share to 6 significant digits, so that only 0 becomes 0."""
    return float(f"{share:.6g}")
