"""A lecture as one frozen value: its stops in their order, each a page, the view that is shown there, and a line to say."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import parse_qsl, urlencode

from viz import pages
from viz.fields import fields
from viz.links import link, parse
from viz.view import OF_A_LECTURE, View

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
