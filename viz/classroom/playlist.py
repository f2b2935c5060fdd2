"""Playlist in *Present*: the current talk, its stops, and the talk as a link or a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from viz.classroom import talk as known
from viz.classroom import talk_navigation
from viz.classroom.talk import (
    MAX_FILE,
    MAX_STOPS,
    OWN,
    Talk,
    TalkError,
    file_of,
    read,
    too_long,
)
from viz.kit import mount
from viz.save.saved_files import (
    JSON,
    File,
    Offer,
    failed,
    made,
    stem_of,
)
from viz.state import session
from viz.state.view import View

ASKED, TOLD = "talk asked", "talk told"  # session keys for one run: the requested file, the error message
FILES = ("talk",)
EXCERPT = 60  # letters of a stop's sentence
_COMPONENT = mount.Component(__file__, '<section class="playlist"></section>')


def playlist(view: View) -> None:
    """Mounts the list, and makes a requested file."""
    talk, fault = known.found(view.talk)
    requested, message = session.kept(ASKED), session.kept(TOLD)
    session.keep(ASKED, None)
    session.keep(TOLD, None)
    data = {
        "talks": _offered(view),
        "chosen": OWN if view.talk.startswith(OWN) else view.talk,
        "title": talk.title if talk else "",
        "stops": [_listed(talk, number) for number in range(1, len(talk.stops) + 1)] if talk else [],
        "stop": view.stop,
        "told": message or fault,
        "long": too_long(view.talk),
        "link": _link(talk, view) if talk else "",
        "made": _made(talk, *requested) if talk and requested else None,
    }
    number = mount.whole(1, MAX_STOPS)
    events: dict[str, mount.Event] = {
        "choose": (mount.one_of(["", OWN, *known.READY]), talk_navigation.choose),
        "keep": (mount.text, _told(talk_navigation.keep_view)),
        "say": (mount.fields(number=number, text=mount.text), _told(talk_navigation.say)),
        "rename": (mount.text, _told(talk_navigation.rename)),
        "move": (mount.fields(number=number, to=number), talk_navigation.move),
        "remove": (number, talk_navigation.remove),
        "show": (number, talk_navigation.show),
        "make": (mount.one_of(FILES), lambda which: session.ask(ASKED, (which, uuid4().hex))),
        "open": (_file, _told(_open)),
    }
    _COMPONENT.mount("playlist", data, events)


def _offered(view: View) -> list[list[str]]:
    """Returns names and titles of the available talks; the talk last edited here comes first."""
    mine = view.talk if view.talk.startswith(OWN) else session.kept(talk_navigation.MINE)
    own = known.found(mine)[0] if mine else None
    ready = [[name, talk.title] for name, talk in known.ready().items()]
    return [[OWN, own.title], *ready] if own else ready


def _listed(talk: Talk, number: int) -> dict[str, Any]:
    stop = talk.stops[number - 1]
    text = stop.view.source
    excerpt = text if len(text) <= EXCERPT else f"{text[:EXCERPT]}…"
    return {"page": stop.place.title, "text": excerpt, "line": stop.line, "faults": list(stop.faults)}


def _link(talk: Talk, view: View) -> str:
    """Returns the relative address of the first stop in lecture mode."""
    stop = talk.at(1)
    first = {"stop": "1"} if stop else {}
    return stop.address(talk=view.talk, lecture="on", **first) if stop else ""


def _made(talk: Talk, which: str, number: str) -> dict[str, Any]:
    if not talk.stops:
        return failed("This talk has no stops yet", number)
    return made(Offer(which, lambda: File(f"{stem_of((talk.title,))}.json", JSON, file_of(talk))), number)


def _told(change: Callable[..., None]) -> Callable[..., None]:
    """Wraps a change: a TalkError becomes a message in the list, and the typed text stays."""

    def changed(*args: Any) -> None:
        try:
            change(*args)
        except TalkError as fault:
            session.ask(TOLD, str(fault))

    return changed


def _file(told: Any) -> tuple[bytes] | None:
    """Returns the bytes of an opened file, cut after the size limit."""
    return (told[: MAX_FILE + 1].encode("utf-8", "replace"),) if isinstance(told, str) else None


def _open(raw: bytes) -> None:
    """Loads the talk of a file."""
    talk_navigation.put_on(read(raw))
