"""How an edit is asked for in words: a form yields question after question, is sent each answer, and returns a code.

What may be asked can depend on what was answered before. `viz/what_if/editor.py` draws the questions.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from model.edits.place import Kind


@dataclass(frozen=True)
class Which:
    """One of some names, each with its text; answered by the name. A note stands below."""

    key: str
    label: str
    options: Mapping[str, str]
    note: str | None = None


@dataclass(frozen=True)
class Where:
    """Heads; answered by a Place."""


@dataclass(frozen=True)
class Token:
    """A query or a key of a kind of attention; answered by its position, or by None where `extra` is chosen."""

    axis: Literal["query", "key"]
    kind: Kind
    label: str
    extra: str | None = None
    first: int = 0  # which choice stands there at first


@dataclass(frozen=True)
class Layer:
    """A layer of a kind of attention, or of a stack; answered from 0."""

    key: str
    kind: Kind


@dataclass(frozen=True)
class Number:
    """A whole number."""

    key: str
    label: str
    low: int
    high: int
    value: int


@dataclass(frozen=True)
class Text:
    """A sentence, as it is typed."""

    key: str
    label: str
    value: str


Question = Which | Where | Token | Layer | Number | Text
Form = Generator[Question, Any, str]
