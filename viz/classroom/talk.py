"""A lecture as one frozen value: its stops in their order, each a page, the view that is shown there, and a line to say.

A talk as text: in a link, packed, and as a readable file. What comes back is checked like any other outside input.

Which talk a view names: a ready one, or one's own."""

from __future__ import annotations

import base64
import dataclasses
import json
import re
import zlib
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from viz import pages
from viz.state.fields import fields
from viz.state.links import link, parse
from viz.state.values import MAX_LINK_TEXT
from viz.state.view import OF_A_LECTURE, View

MAX_STOPS = 60
MAX_TITLE, MAX_LINE = 80, 400  # characters
MAX_VIEW = 20_000  # characters of a stop's query: more than any link of the lab
# What is of the visit: no stop brings it along, least of all what somebody has typed.
AROUND = (*(name for name in OF_A_LECTURE if name != "large"), "device", "lesson", "own_text")
UNTITLED = "My lecture"


class TalkError(ValueError):
    """One sentence that says what is wrong with a talk."""


@dataclass(frozen=True)
class Stop:
    """A kept view. `query` is that of its link; what is wrong with it is told at the stop, and the rest of it holds."""

    page: str
    query: str
    line: str = ""

    @property
    def place(self) -> pages.Page:
        """The page that is shown: the first one where there is none of its name."""
        return next((page for page in pages.PAGES if page.name == self.page), pages.PAGES[0])

    @property
    def view(self) -> View:
        return _read(self.query)[0]

    @property
    def faults(self) -> tuple[str, ...]:
        """What could not be read of it, a sentence each."""
        wrong = () if self.place.name == self.page else (pages.unknown_address(_short(self.page)),)
        return (*wrong, *_read(self.query)[1])

    def address(self, **more: str) -> str:
        """Its link from the lab's own address, with more parameters."""
        query = urlencode(link(self.view) | more)
        name = "" if self.place == pages.PAGES[0] else self.place.name
        return name + (f"?{query}" if query else "")


@dataclass(frozen=True)
class Talk:
    """A title, and stops that count from 1."""

    title: str = UNTITLED
    stops: tuple[Stop, ...] = ()

    def __post_init__(self) -> None:
        """Raises TalkError for more than a talk may hold."""
        if len(self.stops) > MAX_STOPS:
            raise TalkError(f"A talk has at most {MAX_STOPS} stops; this one would have {len(self.stops)}.")

    def at(self, number: int) -> Stop | None:
        """The stop of a number, or None."""
        return self.stops[number - 1] if 1 <= number <= len(self.stops) else None

    def titled(self, title: str) -> Talk:
        return dataclasses.replace(self, title=plain(title, MAX_TITLE, "The title") or UNTITLED)

    def with_stop(self, stop: Stop, after: int | None = None) -> Talk:
        """With one more: behind that of a number, or at the end."""
        at = len(self.stops) if after is None else min(after, len(self.stops))
        return dataclasses.replace(self, stops=(*self.stops[:at], stop, *self.stops[at:]))

    def with_line(self, number: int, line: str) -> Talk:
        """With another line at a stop; the same talk where there is no such stop, here and below."""
        if (stop := self.at(number)) is None:
            return self
        said = dataclasses.replace(stop, line=plain(line, MAX_LINE, f"The line of stop {number}"))
        return dataclasses.replace(self, stops=(*self.stops[: number - 1], said, *self.stops[number:]))

    def moved(self, number: int, to: int) -> Talk:
        """With a stop at another place."""
        if (stop := self.at(number)) is None or self.at(to) is None:
            return self
        return self.without(number).with_stop(stop, after=to - 1)

    def without(self, number: int) -> Talk:
        if self.at(number) is None:
            return self
        return dataclasses.replace(self, stops=(*self.stops[: number - 1], *self.stops[number:]))


def keep(page: str, view: View, line: str) -> Stop:
    """The stop that shows a view on a page. TalkError for a line that is too long, or a view that no link holds."""
    declared = fields(View)
    bare = dataclasses.replace(view, **{name: getattr(View, name) for name in AROUND if name in declared})
    query = urlencode(link(bare))
    if len(query) > MAX_VIEW or _read(query) != (bare, ()):
        raise TalkError("This view is too long to be kept: its text does not fit into a link.")
    return Stop(pages.find(page).name, query, plain(line, MAX_LINE, "The line"))


def plain(text: str, most: int, name: str) -> str:
    """A text on one line; TalkError where it is too long, or no text."""
    found = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    if len(found) > most:
        raise TalkError(f"{name} has {len(found):,} characters; expected at most {most}.")
    return found


@lru_cache(512)
def _read(query: str) -> tuple[View, tuple[str, ...]]:
    """The view of a query, without what belongs to the visit, and what could not be read."""
    around = {fields(View)[name].parameter for name in AROUND if name in fields(View)}
    params = dict(parse_qsl(query, keep_blank_values=True))
    return parse({name: text for name, text in params.items() if name not in around})


def _short(name: str) -> str:
    return name if len(name) <= 40 else f"{name[:40]}…"


OWN = "~"  # begins a talk of one's own; a ready one is told by its name
SCHEMA = 1
MAX_FILE = 256 * 1024  # bytes, packed or not
_PACKED = re.compile(r"~[A-Za-z0-9_-]*")


def packed(talk: Talk) -> str:
    """The talk as text for a link, however long that is; see `too_long`."""
    text = json.dumps(_values(talk), ensure_ascii=False, separators=(",", ":")).encode()
    deflater = zlib.compressobj(9, wbits=-15)
    return OWN + base64.urlsafe_b64encode(deflater.compress(text) + deflater.flush()).decode().rstrip("=")


def too_long(text: str) -> str:
    """One sentence for a packed talk that no link holds; empty for one that a link does."""
    if len(text) <= MAX_LINK_TEXT:
        return ""
    return (
        f"This talk is too long for a link ({len(text):,} characters; at most {MAX_LINK_TEXT:,}): save it as a file, "
        "and open that file where it is to be shown."
    )


def unpacked(text: str) -> Talk:
    """The talk of a link's text; TalkError where it is none."""
    if not _PACKED.fullmatch(text) or len(text) > 2 * MAX_FILE:
        raise TalkError("The link's talk cannot be read: it has been cut off or changed on the way.")
    inflater = zlib.decompressobj(wbits=-15)
    try:
        raw = inflater.decompress(base64.urlsafe_b64decode(text[1:] + "=" * (-(len(text) - 1) % 4)), MAX_FILE + 1)
    except (ValueError, zlib.error):
        raw = b""
    if not inflater.eof or len(raw) > MAX_FILE:
        raise TalkError("The link's talk cannot be read: it has been cut off or changed on the way.")
    return read(raw, "The link's talk")


def file_of(talk: Talk) -> bytes:
    """The talk as a file that can be read and written by hand."""
    return f"{json.dumps(_values(talk), ensure_ascii=False, indent=2)}\n".encode()


def read(raw: bytes, name: str = "This file") -> Talk:
    """The talk of a file; TalkError, one sentence, where it is none. What is wrong with a view is told at its stop."""
    if len(raw) > MAX_FILE:
        raise TalkError(f"{name} has {len(raw):,} bytes; a talk has at most {MAX_FILE:,}.")
    try:
        found = json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise TalkError(f"{name} is no talk: it is not JSON.") from None
    if not isinstance(found, dict) or "talk" not in found:
        raise TalkError(f"{name} is no talk: it lacks “talk”, the version of its form.")
    if type(found["talk"]) is not int or found["talk"] != SCHEMA:  # true is no number
        raise TalkError(f"{name} is a talk of version {ascii(found['talk'])[:20]}; this lab reads version {SCHEMA}.")
    stops = found.get("stops", [])
    if not isinstance(stops, list) or len(stops) > MAX_STOPS:
        raise TalkError(f"{name} has no list of at most {MAX_STOPS} stops.")
    title = _text(found.get("title", ""), MAX_TITLE, f"{name}: the title")
    return Talk(title, tuple(_stop(stop, f"{name}: stop {n}") for n, stop in enumerate(stops, 1))).titled(title)


def _values(talk: Talk) -> dict[str, Any]:
    stops = [{"line": stop.line, "page": stop.page, "view": dict(_params(stop))} for stop in talk.stops]
    return {"talk": SCHEMA, "title": talk.title, "stops": stops}


def _params(stop: Stop) -> list[tuple[str, str]]:
    return parse_qsl(stop.query, keep_blank_values=True)


def _stop(found: Any, name: str) -> Stop:
    if not isinstance(found, dict):
        raise TalkError(f"{name} is no record with line, page and view.")
    view = found.get("view", {})
    if not isinstance(view, dict) or not all(_is_plain(text) for text in view.values()):
        raise TalkError(f"{name}: its view is no record of parameters of a link.")
    page = _text(found.get("page", ""), MAX_TITLE, f"{name}: its page")
    try:
        query = urlencode({key: str(text) for key, text in view.items()})
    except UnicodeEncodeError:
        raise TalkError(f"{name}: its view is no valid text.") from None
    if len(query) > MAX_VIEW:
        raise TalkError(f"{name}: its view has {len(query):,} characters; expected at most {MAX_VIEW:,}.")
    return Stop(page, query, _text(found.get("line", ""), MAX_LINE, f"{name}: its line"))


def _text(found: Any, most: int, name: str) -> str:
    if not isinstance(found, str):
        raise TalkError(f"{name} is no text.")
    return plain(found, most, name)


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


READY = ("20-minutes", "masks", "tokens-to-translation")  # in the order in which they are offered; each a file in ready/
HOME = Path(__file__).with_name("ready")


@cache
def ready() -> dict[str, Talk]:
    """The talks that the lab brings along, by their names."""
    return {name: read((HOME / f"{name}.json").read_bytes(), name) for name in READY}


@lru_cache(64)
def found(text: str) -> tuple[Talk | None, str]:
    """The talk of a view's `talk`, or None, and one sentence where it cannot be had."""
    if not text:
        return None, ""
    if not text.startswith(OWN):
        if talk := ready().get(text):
            return talk, ""
        return None, f"There is no talk “{text[:40]}”; expected one of {', '.join(READY)}, or a link that holds one."
    try:
        return unpacked(text), ""
    except TalkError as fault:
        return None, str(fault)
