"""The lecturer's room and its questions to the class.

Only the browser knows whether a room is open. A script on every page sends the address with the current step, the pointer
and the blank screen. The server makes a question from the current view on request.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from viz import pages
from viz.classroom.question import NoQuestion
from viz.classroom.questions import question
from viz.classroom.rooms import routes
from viz.classroom.rooms.room import MAX_ADDRESS
from viz.kit import mount
from viz.state import hosts, navigation, session
from viz.state.fields import fields
from viz.state.links import link
from viz.state.view import OF_A_LECTURE, View

if TYPE_CHECKING:
    from viz.kit.page_context import Shown

NOT_SERVED = "Rooms need the lab’s own server. Start it with make run, or python -m viz.server."
NOTHING = "This page has no question. Ask on the first page, or on Heads."
LAST = "This is the last step. Go back one step to ask."
PRIVATE = (*(name for name in OF_A_LECTURE if name not in ("lecture", "large")), "own_text")  # followers see `large`
TOO_LONG = "This view is too long for a link. Followers still see the last one."
_COMPONENT = mount.Component(__file__, '<div class="room"></div>', name="room")
_PANEL = mount.Component(__file__, '<div class="room-panel"></div>', name="room_panel")
_SIGN = mount.Component(__file__, '<div class="room-sign"></div>', name="room_sign")
_ASKED, _MADE = "asked of the class", "question to the class"  # session keys
_STEPS = "steps of the class"  # session key: steps of the last page; 0 if it has none


def panel() -> None:
    """Mounts the room's part of *Present*."""
    _PANEL.mount("room_panel", {"served": routes.is_mounted, "notServed": NOT_SERVED, "alone": hosts.why_not_shared()})


def sign() -> None:
    """Mounts the code and the number of followers in the bar of lecture mode."""
    _SIGN.mount(key="room_sign", data={})


def mounted() -> None:
    """Mounts the room's script on every page, after the page is drawn."""
    view, page = session.current(), pages.find(navigation.page())
    request = session.kept(_ASKED)
    public = dataclasses.replace(view, guess=request["guess"]) if request else view
    default = View()
    query = link(dataclasses.replace(public, step=1, **{name: getattr(default, name) for name in PRIVATE}))
    data = {
        "served": routes.is_mounted,
        "notServed": NOT_SERVED,
        "alone": hosts.why_not_shared(),
        "page": "" if page == pages.PAGES[0] else page.name,
        "query": query,
        "step": view.step if page.of_a_step else 0,
        "tooLong": TOO_LONG,
        "whole": _is_whole(view, query),
        "longest": MAX_ADDRESS,
        "lecture": view.lecture,
        "exploring": bool(view.room),
        "question": _made(request),
    }
    number = mount.whole(1, 2**31)
    events: dict[str, mount.Event] = {
        "ask": (mount.fields(number=number, step=mount.whole(0, 999), hidden=mount.flag), _ask),
        "close": (mount.fields(guess=mount.flag, step=mount.whole(0, 999)), _close),
    }
    _COMPONENT.mount("room", data, events)


def shown(shown: Shown) -> None:
    """Makes the requested question from the page's view, once."""
    analysis, request = shown.analysis, session.kept(_ASKED)
    session.keep(_STEPS, len(analysis.trace.predicted.ids) if analysis.task.writes else 0)
    if not request or (session.kept(_MADE) or {}).get("number") == request["number"]:
        return
    page = pages.find(navigation.page())
    view = shown.view.at_step(request["step"]) if request["step"] and analysis.task.writes else shown.view
    try:
        if not page.of_a_step:
            raise NoQuestion(NOTHING)
        result = dataclasses.asdict(question(view, analysis, shown.page_data.loaded, of_heads=page.name == "heads"))
    except NoQuestion as fault:
        result = {"fault": str(fault)}
    session.keep(_MADE, request | result)


def _made(asked: dict[str, Any] | None) -> dict[str, Any] | None:
    """Returns the requested question or its fault; None without a request."""
    if not asked:
        return None
    result = session.kept(_MADE) or {}
    if result.get("number") == asked["number"]:
        return result
    return asked | {"fault": NOTHING}  # the page has no view


def _ask(number: int, step: int, hidden: bool) -> None:
    """Requests a question about the first token that is not visible yet.

    That is the token after `step` (0: the view's step), or the token of the step if it is `hidden`. Later tokens stay hidden
    until the question is closed. A question about heads is about the step itself.
    """
    view, request = session.current(), session.kept(_ASKED) or {}
    current, name, steps = step or view.step, navigation.page(), session.kept(_STEPS) or 0
    before = {"guess": request.get("guess", view.guess), "back": request.get("back", current)}
    wanted = current if hidden or name == "heads" or not steps else current + 1
    session.keep(_ASKED, {"number": number, "step": wanted} | before)
    if steps and wanted > steps:
        session.keep(_MADE, {"number": number, "step": current, "fault": LAST} | before)
        return
    hides = {"guess": True} if name == pages.PAGES[0].name else {}
    session.change(**hides, step=wanted)


def _close(guess: bool, step: int) -> None:
    """Ends a question and restores `guess`; goes to `step` (0: stays)."""
    session.keep(_ASKED, None)
    session.keep(_MADE, None)
    session.change(guess=guess, **({"step": step} if step else {}))


def _is_whole(view: View, query: dict[str, str]) -> bool:
    """Returns True if the link holds all typed text."""
    changed = [name for name in ("source", "second", "target") if getattr(view, name) != getattr(View, name)]
    return all(fields(View)[name].parameter in query for name in changed)
