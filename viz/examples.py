"""Examples: sentences with lessons, texts to classify, and prompts. `model.text.languages` names their files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from model.text.languages import LANGUAGES, record_of


@dataclass(frozen=True)
class Reason:
    """A measured edit behind an explanation. `after` differs from `before` by 0.1 or more, unless the text names it."""

    edits: str  # codes of a link, with ~ between
    token: str  # of the unedited translation, where it first stands
    before: float  # its probability without the edits, two digits
    after: float  # with them

    @classmethod
    def read(cls, text: str) -> Reason:
        """Reads `EDITS TOKEN BEFORE AFTER`. Raises ValueError for anything else."""
        edits, token, before, after = text.split()
        return cls(edits, token, float(before), float(after))


def hidden(word: int) -> str:
    """Returns the edits that hide a source token, from 1: no row of the encoder or of cross-attention sees it."""
    return f"block_enc_all-{word}~block_cross_all-{word}"


@dataclass(frozen=True)
class Example:
    """A sentence with its lesson, the token that shows it, accepted translations and measured reasons.

    The last three are empty for a prompt or a text to classify.
    """

    name: str
    sentence: str
    lesson: str
    token: str = ""
    accepted: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()


@cache
def examples(reads: str | None = None, writes: str | None = None) -> tuple[Example, ...]:
    """Returns the examples in a language, for a target language if it has its own, else for the first one."""
    known = record_of(reads).examples
    return read_examples(known.get(writes or "", next(iter(known.values())))) if known else ()


def read_examples(path: Path) -> tuple[Example, ...]:
    """Returns the examples of a file. Raises ValueError for a line that lacks something."""
    return tuple(_example(*fields) for fields in _lines(path, 5, optional=1))


def _example(name: str, sentence: str, lesson: str, token: str, accepted: str, reasons: str = "") -> Example:
    measured = [Reason.read(each) for each in reasons.split("|") if each]
    return Example(name, sentence, lesson, token, tuple(accepted.split("|")), tuple(measured))


@cache
def judged_examples(reads: str | None = None) -> tuple[Example, ...]:
    """Returns the examples of a classifier, with a question in place of the lesson."""
    return _named(record_of(reads).classifier_texts)


@cache
def prompts(reads: str | None = None) -> tuple[Example, ...]:
    """Returns the prompts. Raises as `read_examples`."""
    return _named(record_of(reads).prompts)


def _named(path: Path | None) -> tuple[Example, ...]:
    return () if path is None else tuple(Example(*fields) for fields in _lines(path, 3))


def _lines(file: Path, expected: int, optional: int = 0) -> Iterator[list[str]]:
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("\t")]
        if not expected <= len(fields) <= expected + optional or not all(fields):
            raise ValueError(
                f"{file.name}, line {number}, has {sum(map(bool, fields))} fields; expected {expected} with a tab between"
            )
        yield fields


def lesson(sentence: str) -> str | None:
    """Returns the lesson of an example, or None."""
    return next((each.lesson for name in LANGUAGES for each in examples(name) if each.sentence == sentence.strip()), None)


@cache
def token_of(sentence: str) -> str:
    """Returns the token that an example is about; empty for another sentence."""
    return next((each.token for name in LANGUAGES for each in examples(name) if each.sentence == sentence.strip()), "")


def language_of(sentence: str) -> str | None:
    """Returns the name of the language of an example; None for another sentence."""
    return next((name for name in LANGUAGES for each in examples(name) if each.sentence == sentence.strip()), None)
