"""Edits without a place: masks and scaling that are off, the window, and the sentence that patches take from.

Each is a field of `Intervention`, and is declared once, here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from ..config import MAX_CHARACTERS, MAX_TOKENS
from .edit import Form, NameQuestion, NumberQuestion, TextQuestion
from .place import EditError


@dataclass(frozen=True)
class Switch:
    """A part of the mechanism that is on or off: True or False in its field."""

    field: str  # of Intervention
    code: str
    text: str
    title: str  # in the editor

    default: ClassVar[bool] = True

    def read(self, code: str) -> bool | None:
        """Returns the field's value for a code, or None for another's code."""
        return False if code == self.code else None

    def code_and_text(self, value: bool) -> tuple[str, str] | None:
        """Returns code and text, or None for a field at its default."""
        return None if value else (self.code, self.text)


@dataclass(frozen=True)
class WidthSwitch:
    """A number in its field, or None; {} is its placeholder in code and text."""

    field: str
    code: str
    text: str
    title: str

    default: ClassVar[None] = None

    def read(self, code: str) -> int | None:
        match = re.fullmatch(self.code.format(r"(\d{1,3})"), code)
        return int(match[1]) if match else None

    def code_and_text(self, value: int | None) -> tuple[str, str] | None:
        return None if value is None else (self.code.format(value), self.text.format(value))

    def check(self, value: int | None) -> None:
        if value is not None and not 1 <= value <= MAX_TOKENS:
            raise EditError(f"The window's width is {value}; expected 1 to {MAX_TOKENS}, for a token sees itself.")


@dataclass(frozen=True)
class SentenceSwitch:
    """A text in its field, or an empty one; {} is its placeholder in code and text. The code escapes % and ~."""

    field: str
    code: str
    text: str
    title: str

    default: ClassVar[str] = ""

    def read(self, code: str) -> str | None:
        match = re.fullmatch(self.code.format("(.+)"), code, re.DOTALL)
        return match[1].replace("%7E", "~").replace("%25", "%") if match else None

    def code_and_text(self, value: str) -> tuple[str, str] | None:
        escaped = value.replace("%", "%25").replace("~", "%7E")
        return (self.code.format(escaped), self.text.format(value)) if value else None

    def check(self, value: str) -> None:
        if value and not value.strip():
            raise EditError("The other sentence is empty: type one.")
        if len(value) > MAX_CHARACTERS:
            size = f"{len(value):,} characters; expected at most {MAX_CHARACTERS:,}"
            raise EditError(f"The other sentence has {size}. Shorten it.")
        if any("\ud800" <= char <= "\udfff" for char in value):
            raise EditError("The other sentence has an invalid character; expected valid Unicode.")


WINDOW = WidthSwitch(
    "window",
    "window-{}",
    "self-attention sees only tokens less than {} away",
    "A token sees only those less than this far away",
)
DONOR = SentenceSwitch("donor", "donor_{}", "patches come from “{}”", "The other sentence")
AnySwitch = Switch | WidthSwitch | SentenceSwitch
SWITCHES: dict[str, AnySwitch] = {  # by code, in the order of the list
    each.code: each
    for each in (
        Switch("causal_mask", "causal-off", "causal mask off", "causal mask"),
        Switch("padding_mask", "padding-off", "padding mask off", "padding mask"),
        Switch("scaling", "scaling-off", "scaling by √d_k off", "scaling by √d_k"),
        WINDOW,
        DONOR,
    )
}


def switch_of(code: str) -> AnySwitch | None:
    """Returns the switch of a code, or None."""
    return next((each for each in SWITCHES.values() if each.read(code) is not None), None)


class WindowForm:
    """The question of the editor for the window."""

    name = "window"
    title = "Narrow the self-attention"

    @staticmethod
    def form(has_means: bool) -> Form:
        width = yield NumberQuestion("window", WINDOW.title, 1, MAX_TOKENS, 3)
        return WINDOW.code.format(width)


class SwitchForm:
    """The question of the editor for the part to switch off."""

    name = "switch"
    title = "Switch off a mask or the scaling"

    @staticmethod
    def form(has_means: bool) -> Form:
        return (yield NameQuestion("switch", "Off", {s.code: s.title for s in SWITCHES.values() if isinstance(s, Switch)}))


class DonorForm:
    """The question of the editor for the sentence that patches take from."""

    name = "donor"
    title = "Name the other sentence, for patches"

    @staticmethod
    def form(has_means: bool) -> Form:
        sentence = yield TextQuestion("donor", DONOR.title, "The animal didn't cross the street because it was too wide.")
        DONOR.check(sentence or " ")
        return DONOR.code_and_text(sentence)[0]


FORMS = (WindowForm, SwitchForm, DonorForm)
