"""Talk: an ordered list of stops, each with a page, a view and a line for the lecturer.

A talk is text: compressed in a link, or a readable JSON file. Both are checked on reading.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from viz import pages
from viz.kit import packed_text
from viz.kit.packed_text import OWN
from viz.state.fields import fields
from viz.state.links import link, parse
from viz.state.values import MAX_LINK_TEXT
from viz.state.view import OF_A_LECTURE, View

MAX_STOPS = 60
MAX_TITLE, MAX_LINE, MAX_NOTES = 80, 400, 2000  # characters
MAX_VIEW = 20_000  # characters of a stop's query: longer than any link of the lab
# Fields of the visit, which no stop stores.
AROUND = (*(name for name in OF_A_LECTURE if name != "large"), "device", "lesson", "of_lessons", "own_text")
UNTITLED = "My lecture"


class TalkError(ValueError):
    """Error in a talk; the message is one sentence."""


@dataclass(frozen=True)
class Stop:
    """A stored view. `query` is the query of its link; the stop lists its faults, and the rest applies."""

    page: str
    query: str
    line: str = ""
    notes: str = ""  # for the lecturer alone: the public screen and followers never get them

    @property
    def place(self) -> pages.Page:
        """The page; the first page if no page has this name."""
        return next((page for page in pages.PAGES if page.name == self.page), pages.PAGES[0])

    @property
    def view(self) -> View:
        return _read(self.query)[0]

    def view_on(self, device: str) -> View:
        """Returns the view on a device, which no stop stores."""
        return dataclasses.replace(self.view, device=device)

    @property
    def faults(self) -> tuple[str, ...]:
        """One sentence for each part of the stop that could not be read."""
        wrong = () if self.place.name == self.page else (pages.unknown_address(_short(self.page)),)
        return (*wrong, *_read(self.query)[1])

    def address(self, **more: str) -> str:
        """Returns the link relative to the lab's address, with more parameters."""
        query = urlencode(link(self.view) | more)
        name = "" if self.place == pages.PAGES[0] else self.place.name
        return name + (f"?{query}" if query else "")


@dataclass(frozen=True)
class Talk:
    """A title and stops, which count from 1."""

    title: str = UNTITLED
    stops: tuple[Stop, ...] = ()

    def __post_init__(self) -> None:
        """Raises TalkError for too many stops."""
        if len(self.stops) > MAX_STOPS:
            raise TalkError(f"A talk has at most {MAX_STOPS} stops; this one would have {len(self.stops)}.")

    def stop(self, number: int) -> Stop | None:
        """Returns the stop of a number, or None."""
        return self.stops[number - 1] if 1 <= number <= len(self.stops) else None

    def titled(self, title: str) -> Talk:
        return dataclasses.replace(self, title=plain(title, MAX_TITLE, "The title") or UNTITLED)

    def with_stop(self, stop: Stop, after: int | None = None) -> Talk:
        """Returns the talk with one more stop: after a number, or at the end."""
        index = len(self.stops) if after is None else min(after, len(self.stops))
        return dataclasses.replace(self, stops=(*self.stops[:index], stop, *self.stops[index:]))

    def with_line(self, number: int, line: str) -> Talk:
        """Returns the talk with another line at a stop; an unknown stop changes nothing, here and below."""
        if (stop := self.stop(number)) is None:
            return self
        changed = dataclasses.replace(stop, line=plain(line, MAX_LINE, f"The line of stop {number}"))
        return dataclasses.replace(self, stops=(*self.stops[: number - 1], changed, *self.stops[number:]))

    def with_view(self, number: int, page: str, view: View) -> Talk:
        """Returns the talk with another page and view at a stop; the line stays. Raises TalkError as `make_stop` does."""
        if (stop := self.stop(number)) is None:
            return self
        changed = dataclasses.replace(stop, **{n: getattr(make_stop(page, view, ""), n) for n in ("page", "query")})
        return dataclasses.replace(self, stops=(*self.stops[: number - 1], changed, *self.stops[number:]))

    def with_notes(self, number: int, notes: str) -> Talk:
        """Returns the talk with other notes at a stop; raises TalkError if they are too long."""
        if (stop := self.stop(number)) is None:
            return self
        changed = dataclasses.replace(stop, notes=plain_lines(notes, MAX_NOTES, f"The notes of stop {number}"))
        return dataclasses.replace(self, stops=(*self.stops[: number - 1], changed, *self.stops[number:]))

    def moved(self, number: int, to: int) -> Talk:
        """Returns the talk with a stop at another position."""
        if (stop := self.stop(number)) is None or self.stop(to) is None:
            return self
        return self.without(number).with_stop(stop, after=to - 1)

    def without(self, number: int) -> Talk:
        if self.stop(number) is None:
            return self
        return dataclasses.replace(self, stops=(*self.stops[: number - 1], *self.stops[number:]))


def make_stop(page: str, view: View, line: str) -> Stop:
    """Returns a stop with this page and view. Raises TalkError if the line or the view is too long."""
    declared = fields(View)
    bare = dataclasses.replace(view, **{name: getattr(View, name) for name in AROUND if name in declared})
    query = urlencode(link(bare))
    if len(query) > MAX_VIEW or _read(query) != (bare, ()):
        raise TalkError("This view is too long for a stop. Shorten its text.")
    return Stop(pages.find(page).name, query, plain(line, MAX_LINE, "The line"))


def plain(text: str, max_length: int, name: str) -> str:
    """Returns the text on one line; raises TalkError if it is too long."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    if len(line) > max_length:
        raise TalkError(f"{name} has {len(line):,} characters; expected at most {max_length}.")
    return line


def plain_lines(text: str, max_length: int, name: str) -> str:
    """Returns the text with its line breaks; raises TalkError if it is too long."""
    lines = "\n".join(plain(line, len(text), name) for line in text.splitlines()).strip()
    if len(lines) > max_length:
        raise TalkError(f"{name} have {len(lines):,} characters; expected at most {max_length:,}.")
    return lines


@lru_cache(512)
def _read(query: str) -> tuple[View, tuple[str, ...]]:
    """Returns the view of a query without fields of the visit, and the faults."""
    around = {fields(View)[name].parameter for name in AROUND if name in fields(View)}
    params = dict(parse_qsl(query, keep_blank_values=True))
    return parse({name: text for name, text in params.items() if name not in around})


def _short(name: str) -> str:
    return name if len(name) <= 40 else f"{name[:40]}…"


SCHEMA = 1
MAX_FILE = 256 * 1024  # bytes, packed or not


def pack(talk: Talk) -> str:
    """Returns the talk as text for a link, of any length; see `too_long`. Notes of the lab's own talks go as their names."""
    names = _note_names()
    named = [dataclasses.replace(stop, notes=names.get(stop.notes, stop.notes)) for stop in talk.stops]
    return packed_text.pack(_values(dataclasses.replace(talk, stops=tuple(named))))


def too_long(text: str) -> str:
    """Returns a message if a packed talk is too long for a link, else an empty text."""
    if len(text) <= MAX_LINK_TEXT:
        return ""
    return f"Too long for a link: {len(text):,} characters (limit {MAX_LINK_TEXT:,}). Save the talk as a file instead."


def unpack(text: str) -> Talk:
    """Returns the talk of a link's text; raises TalkError for invalid text."""
    try:
        raw = packed_text.unpack(text, MAX_FILE)
    except ValueError:
        raise TalkError("The talk in this link is damaged. Copy the complete link again.") from None
    talk, texts = read(raw, "The link's talk"), {name: notes for notes, name in _note_names().items()}
    return dataclasses.replace(
        talk, stops=tuple(dataclasses.replace(stop, notes=texts.get(stop.notes, stop.notes)) for stop in talk.stops)
    )


def file_of(talk: Talk) -> bytes:
    """Returns the talk as indented JSON."""
    return f"{json.dumps(_values(talk), ensure_ascii=False, indent=2)}\n".encode()


def read(raw: bytes, name: str = "This file") -> Talk:
    """Returns the talk of a file; raises TalkError for an invalid file. Faults of a view are listed at its stop."""
    if len(raw) > MAX_FILE:
        raise TalkError(f"{name} has {len(raw):,} bytes; expected at most {MAX_FILE:,}.")
    try:
        values = json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise TalkError(f"{name} is not a talk: expected JSON.") from None
    if not isinstance(values, dict) or "talk" not in values:
        raise TalkError(f"{name} is not a talk: the key “talk” (schema version) is missing.")
    if type(values["talk"]) is not int or values["talk"] != SCHEMA:  # True is no number
        raise TalkError(f"{name} has version {ascii(values['talk'])[:20]}; expected version {SCHEMA}.")
    stops = values.get("stops", [])
    if not isinstance(stops, list) or len(stops) > MAX_STOPS:
        raise TalkError(f"{name}: “stops” is not a list of at most {MAX_STOPS} stops.")
    title = _text(values.get("title", ""), MAX_TITLE, f"{name}: the title")
    return Talk(title, tuple(read_stop(stop, f"{name}: stop {n}") for n, stop in enumerate(stops, 1))).titled(title)


def _values(talk: Talk) -> dict[str, Any]:
    stops = [{"line": stop.line} | stop_values(stop) | ({"notes": stop.notes} if stop.notes else {}) for stop in talk.stops]
    return {"talk": SCHEMA, "title": talk.title, "stops": stops}


def stop_values(stop: Stop) -> dict[str, Any]:
    """Returns page and view of a stop as JSON values."""
    return {"page": stop.page, "view": dict(parse_qsl(stop.query, keep_blank_values=True))}


def read_stop(values: Any, name: str) -> Stop:
    """Returns the stop of JSON values; raises TalkError for invalid ones."""
    if not isinstance(values, dict):
        raise TalkError(f"{name} is not an object with line, page and view.")
    view = values.get("view", {})
    if not isinstance(view, dict) or not all(_is_plain(text) for text in view.values()):
        raise TalkError(f"{name}: its view is not an object of link parameters.")
    page = _text(values.get("page", ""), MAX_TITLE, f"{name}: its page")
    try:
        query = urlencode({key: str(text) for key, text in view.items()})
    except UnicodeEncodeError:
        raise TalkError(f"{name}: its view is not valid text.") from None
    if len(query) > MAX_VIEW:
        raise TalkError(f"{name}: its view has {len(query):,} characters; expected at most {MAX_VIEW:,}.")
    notes = values.get("notes", "")
    if not isinstance(notes, str):
        raise TalkError(f"{name}: its notes are not text.")
    line = _text(values.get("line", ""), MAX_LINE, f"{name}: its line")
    return Stop(page, query, line, plain_lines(notes, MAX_NOTES, f"{name}: its notes"))


def _text(value: Any, max_length: int, name: str) -> str:
    if not isinstance(value, str):
        raise TalkError(f"{name} is not text.")
    return plain(value, max_length, name)


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


HOME = Path(__file__).with_name("ready")
_FILES = ("20-minutes", "masks", "tokens-to-translation", "tasks")
# Longer talks are stops of the files: title, and name and numbers of the stops.
_COMPOSED: dict[str, tuple[str, tuple[tuple[str, tuple[int, ...]], ...]]] = {
    "45-minutes": (
        "A translation in 45 minutes",
        (
            ("tokens-to-translation", (*range(1, 5), *range(6, 12))),
            ("20-minutes", tuple(range(1, 13))),
            ("masks", (2, 3, 5, 6, 11)),
        ),
    ),
    "90-minutes": (
        "Lab class of 90 minutes",
        (
            *(
                ("tokens-to-translation", tuple(range(1, 5))),
                ("tasks", (1,)),
                ("tokens-to-translation", tuple(range(6, 12))),
            ),
            *(
                ("20-minutes", (1, 2, 3, 4)),
                ("tasks", (2,)),
                ("20-minutes", (5, 6, 7)),
                ("tasks", (3,)),
                ("20-minutes", (8, 9, 10)),
            ),
            *(("tasks", (4,)), ("masks", (2, 3, 5, 6, 7, 8)), ("tasks", (5,)), ("20-minutes", (12,)), ("masks", (11,))),
        ),
    ),
}
READY = (
    "20-minutes",
    "45-minutes",
    "90-minutes",
    "masks",
    "tokens-to-translation",
)  # in the order in which they are offered


@cache
def _files() -> dict[str, Talk]:
    return {name: read((HOME / f"{name}.json").read_bytes(), name) for name in _FILES}


@cache
def _note_names() -> dict[str, str]:
    """Returns the name of each note of the files, by its text: the notes of a talk are longer than a link."""
    return {stop.notes: f"={name} {n}" for name, talk in _files().items() for n, stop in enumerate(talk.stops, 1)}


@cache
def ready_talks() -> dict[str, Talk]:
    """Returns the talks shipped with the lab, by name."""
    files = dict(_files())
    for name, (title, parts) in _COMPOSED.items():
        files[name] = Talk(title, tuple(files[part].stops[number - 1] for part, numbers in parts for number in numbers))
    return {name: files[name] for name in READY}


@lru_cache(64)
def find_talk(text: str) -> tuple[Talk | None, str]:
    """Returns the talk of a view's `talk`, or None and a message."""
    if not text:
        return None, ""
    if not text.startswith(OWN):
        if talk := ready_talks().get(text):
            return talk, ""
        return None, f"There is no talk “{text[:40]}”; expected {', '.join(READY)} or a link with a talk."
    try:
        return unpack(text), ""
    except TalkError as fault:
        return None, str(fault)
