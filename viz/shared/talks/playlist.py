"""The playlist in *Present*: which talk is on, its stops, what is kept of the page; as a link or a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from viz import state
from viz.shared import mount
from viz.shared.save.files import JSON, stem_of
from viz.shared.save.offers import File, Offer, failed, made
from viz.shared.talks import going
from viz.talks import known
from viz.talks.talk import MAX_STOPS, Talk, TalkError
from viz.talks.written import MAX_FILE, OWN, file_of, read, too_long
from viz.view import View

ASKED, TOLD = "talk asked", "talk told"  # session keys: which file was asked for; what could not be done, for one run
FILES = ("talk",)
EXCERPT = 60  # letters of a stop's sentence
_COMPONENT = mount.Component(__file__, '<section class="playlist"></section>')


def playlist(view: View) -> None:
    """Mounts the list; what was asked for of its files is made now."""
    talk, fault = known.found(view.talk)
    asked, told = state.kept(ASKED), state.kept(TOLD)
    state.keep(ASKED, None)
    state.keep(TOLD, None)
    data = {
        "talks": _offered(view),
        "chosen": OWN if view.talk.startswith(OWN) else view.talk,
        "title": talk.title if talk else "",
        "stops": [_listed(talk, number) for number in range(1, len(talk.stops) + 1)] if talk else [],
        "stop": view.stop,
        "told": told or fault,
        "long": too_long(view.talk),
        "link": _link(talk, view) if talk else "",
        "made": _made(talk, *asked) if talk and asked else None,
    }
    number = mount.whole(1, MAX_STOPS)
    events: dict[str, mount.Event] = {
        "choose": (mount.one_of(["", OWN, *known.READY]), going.choose),
        "keep": (mount.text, _told(going.keep_view)),
        "say": (mount.fields(number=number, text=mount.text), _told(going.say)),
        "rename": (mount.text, _told(going.rename)),
        "move": (mount.fields(number=number, to=number), going.move),
        "remove": (number, going.remove),
        "show": (number, going.show),
        "make": (mount.one_of(FILES), lambda which: state.ask(ASKED, (which, uuid4().hex))),
        "open": (_file, _told(_open)),
    }
    _COMPONENT.mount("playlist", data, events)


def _offered(view: View) -> list[list[str]]:
    """Names and titles of the talks that can be put on; the one that was last changed here is the first."""
    mine = view.talk if view.talk.startswith(OWN) else state.kept(going.MINE)
    own = known.found(mine)[0] if mine else None
    ready = [[name, talk.title] for name, talk in known.ready().items()]
    return [[OWN, own.title], *ready] if own else ready


def _listed(talk: Talk, number: int) -> dict[str, Any]:
    stop = talk.stops[number - 1]
    text = stop.view.source
    shown = text if len(text) <= EXCERPT else f"{text[:EXCERPT]}…"
    return {"page": stop.place.title, "text": shown, "line": stop.line, "faults": list(stop.faults)}


def _link(talk: Talk, view: View) -> str:
    """The address at which the talk begins, in lecture mode, whose keys go on from there; the browser completes it."""
    stop = talk.at(1)
    first = {"stop": "1"} if stop else {}
    return stop.address(talk=view.talk, lecture="on", **first) if stop else ""


def _made(talk: Talk, which: str, number: str) -> dict[str, Any]:
    if not talk.stops:
        return failed("This talk has no stops yet", number)
    return made(Offer(which, lambda: File(f"{stem_of((talk.title,))}.json", JSON, file_of(talk))), number)


def _told(change: Callable[..., None]) -> Callable[..., None]:
    """The same; what it refuses is told in the list, and what was typed stays there."""

    def changed(*args: Any) -> None:
        try:
            change(*args)
        except TalkError as fault:
            state.ask(TOLD, str(fault))

    return changed


def _file(told: Any) -> tuple[bytes] | None:
    """The text of a file that was opened: of one that is too large, its beginning."""
    return (told[: MAX_FILE + 1].encode("utf-8", "replace"),) if isinstance(told, str) else None


def _open(raw: bytes) -> None:
    """Puts on the talk of a file."""
    going.put_on(read(raw))
