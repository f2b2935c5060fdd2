"""Helpers for tests of edits: codes of every kind, an invented kind, and answers to the editor's questions."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from model.edits import edit
from model.edits.intervention import DONOR, FORMS, SWITCHES
from model.edits.kinds import KINDS, Edit, EditError, HeadsEdit, Place, TokenLabels, register_kind
from model.edits.place import PLACE
from tests.support import tiny

SWITCHED = tuple(each.code.format(2) for each in SWITCHES.values() if each is not DONOR)  # causal-off ... window-2
EXAMPLES = (*itertools.chain(*(each.EXAMPLES for each in KINDS.values())), *SWITCHED)
NAMED = DONOR.code.format(tiny.OTHER)
ONE_EACH = (*(each.EXAMPLES[0] for each in KINDS.values()), *SWITCHED)
_PLACES = [
    Place(k, *where) for k in ("encoder", "decoder", "cross") for where in ((), *itertools.product((0, 1), (None, 0, 1)))
]


@dataclass(frozen=True)
class Noise(HeadsEdit):
    """An invented kind of edit: heads output half as much."""

    place: Place

    name = "noise"
    title = "Halve what heads put out"
    pattern = rf"noise_{PLACE}"
    EXAMPLES = ("noise_enc.1.2", "noise_cross")

    @classmethod
    def read(cls, match: re.Match[str]) -> Noise:
        return cls(Place.read(match))

    @property
    def code(self) -> str:
        return f"noise_{self.place.code}"

    def text(self, labels: TokenLabels) -> str:
        return f"{self.place.text}: halved"

    @classmethod
    def form(cls, has_means: bool) -> edit.Form:
        return cls((yield edit.HeadsQuestion())).code

    def change_z(self, z: Tensor, means: Tensor | None) -> None:
        z[:, self.place.heads] *= 0.5


@contextlib.contextmanager
def declared(cls: type[Edit] = Noise) -> Iterator[type[Edit]]:
    """Registers a kind of edit within the block."""
    register_kind(cls)
    try:
        yield cls
    finally:
        del KINDS[cls.name]


def forms_by_code() -> dict[str, Callable[[bool], edit.Form]]:
    """Returns the form of each example."""
    switched = {code: FORMS["window" not in code].form for code in SWITCHED} | {NAMED: FORMS[2].form}
    return {code: each.form for each in KINDS.values() for code in each.EXAMPLES} | switched


def answers(form: Callable[[bool], edit.Form], code: str, previous: tuple = ()) -> list[tuple[edit.Question, Any]] | None:
    """Returns questions and answers that lead to a code, or None."""
    questions, question = form(True), None
    try:
        question = next(questions)
        for _, answer in previous:
            question = questions.send(answer)
    except StopIteration as end:
        return list(previous) if end.value == code else None
    except EditError:
        return None
    for answer in _choices(question):
        if path := answers(form, code, (*previous, (question, answer))):
            return path
    return None


def _choices(question: edit.Question) -> list[Any]:
    match question:
        case edit.HeadsQuestion():
            return _PLACES
        case edit.TokenQuestion():
            return [*([None] if question.extra else []), *range(5)]
        case edit.LayerQuestion():
            return [0, 1]
        case edit.NumberQuestion():
            return [question.value, *range(question.low, min(question.high, 9) + 1), *range(25, question.high + 1, 25)]
        case edit.TextQuestion():
            return [tiny.OTHER]
        case edit.NameQuestion():
            return list(question.options)
    raise AssertionError(question)
