"""The lecturer's room and its questions to the class.

Only the browser knows whether a room is open. A script on every page sends the address with the current step, the pointer
and the blank screen. The server makes a question from the current view on request.
"""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from model.io.package_names import module_name
from viz import pages
from viz.classroom.own_questions import check_own, own_question
from viz.classroom.questions import NoQuestion, question
from viz.classroom.rooms import room_server
from viz.classroom.rooms.room import MAX_ADDRESS
from viz.kit import mount
from viz.state import hosts, navigation, session
from viz.state.fields import fields
from viz.state.links import link
from viz.state.session_data import data
from viz.state.view import OF_A_LECTURE, View

if TYPE_CHECKING:
    from viz.page_context import PageContext

NOT_SERVED = f"Rooms need the lab’s own server. Start it with python -m {module_name('viz.server')}."
NOTHING = "This page has no question. Ask on the first page, or on Heads."
LAST = "This is the last step. Go back one step to ask."
PRIVATE = (*(name for name in OF_A_LECTURE if name not in ("lecture", "large")), "own_text")  # followers see `large`
TOO_LONG = "This view is too long for a link. Followers still see the last one."
_PANEL = mount.Component(__file__, '<div class="room-panel"></div>', name="room_panel")
_SIGN = mount.Component(__file__, '<div class="room-sign"></div>', name="room_sign")


def panel() -> None:
    """Mounts the room's part of *Present*."""
    _PANEL.mount("room_panel", {"served": room_server.is_mounted, "notServed": NOT_SERVED, "alone": hosts.sharing_help()})


def sign() -> None:
    """Mounts the code and the number of followers in the bar of lecture mode."""
    _SIGN.mount(key="room_sign", data={})


def describe_room() -> tuple[dict[str, Any], dict[str, mount.Event]]:
    """Returns data and events of the room's script, after the page is drawn."""
    view, page = session.current_view(), pages.find(navigation.current_page())
    request = data().room.question
    public = dataclasses.replace(view, guess=request["guess"]) if request and "guess" in request else view
    query = _public_query(public)
    values = {
        "served": room_server.is_mounted,
        "notServed": NOT_SERVED,
        "alone": hosts.sharing_help(),
        "page": "" if page == pages.PAGES[0] else page.name,
        "query": query,
        "pageStep": (view.step or 0) + 1 if page.has_step else 0,
        "tooLong": TOO_LONG,
        "whole": _is_complete(view, query),
        "longest": MAX_ADDRESS,
        "exploring": bool(view.room),
        "question": _question_result(request),
    }
    number = mount.integer(1, 2**31)
    events: dict[str, mount.Event] = {
        "ask": (mount.fields(number=number, step=mount.integer(0, 999), hidden=mount.flag), _ask),
        "askOwn": (mount.fields(number=number, own=check_own), _ask_own),
        "close": (mount.fields(guess=mount.flag, step=mount.integer(0, 999)), _close),
    }
    return values, events


@lru_cache(64)
def _public_query(view: View) -> dict[str, str]:
    """Returns the link of a view without its step and without fields that followers must not get."""
    return link(dataclasses.replace(view, step=View.step, **{name: getattr(View(), name) for name in PRIVATE}))


def make_question(context: PageContext) -> None:
    """Makes the requested question from the page's view, once."""
    analysis, room = context.analysis, data().room
    room.steps, request = len(analysis.trace.predicted_axis.ids) if analysis.task.has_decoder else 0, room.question
    if not request or (room.answer or {}).get("number") == request["number"]:
        return
    if "own" in request:
        room.answer = _own_result(request, context)
        return
    page = pages.find(navigation.current_page())
    view = context.view.at_step(request["step"] - 1) if request["step"] and analysis.task.has_decoder else context.view
    try:
        if not page.has_step:
            raise NoQuestion(NOTHING)
        result = dataclasses.asdict(question(view, analysis, context.loaded, of_heads=page.name == "heads"))
    except NoQuestion as fault:
        result = {"fault": str(fault)}
    room.answer = request | result


def _question_result(request: dict[str, Any] | None) -> dict[str, Any] | None:
    """Returns the requested question or its fault; None without a request."""
    if not request:
        return None
    result = data().room.answer or {}
    if result.get("number") == request["number"]:
        return result
    return _own_result(request, None) if "own" in request else request | {"fault": NOTHING}  # the page has no view


def _own_result(request: dict[str, Any], context: PageContext | None) -> dict[str, Any]:
    """Returns a question of the lecturer, or its fault."""
    try:
        return {"number": request["number"]} | own_question(
            request["own"], context, pages.find(navigation.current_page()).has_kind
        )
    except NoQuestion as fault:
        return {"number": request["number"], "fault": str(fault)}


def _ask(number: int, step: int, hidden: bool) -> None:
    """Requests a question about the first token that is not visible yet.

    That is the token after `step` (from 1; 0: the view's step), or the token of the step if it is `hidden`. Later tokens
    stay hidden until the question is closed. A question about heads is about the step itself.
    """
    view, room = session.current_view(), data().room
    request, current, name, steps = room.question or {}, step or (view.step or 0) + 1, navigation.current_page(), room.steps
    before = {"guess": request.get("guess", view.guess), "back": request.get("back", current)}
    wanted = current if hidden or name == "heads" or not steps else current + 1
    room.question = {"number": number, "step": wanted} | before
    if steps and wanted > steps:
        room.answer = {"number": number, "step": current, "fault": LAST} | before
        return
    hides = {"guess": True} if name == pages.PAGES[0].name else {}
    session.change(**hides, step=wanted - 1)


def _ask_own(number: int, own: dict[str, Any]) -> None:
    """Requests a question of the lecturer about the current view; nothing is hidden."""
    data().room.question = {"number": number, "own": own}


def _close(guess: bool, step: int) -> None:
    """Ends a question and restores `guess`; goes to `step` (from 1; 0: stays)."""
    room = data().room
    room.question = room.answer = None
    session.change(guess=guess, **({"step": step - 1} if step else {}))


def _is_complete(view: View, query: dict[str, str]) -> bool:
    """Returns True if the link holds all typed text."""
    changed = [name for name in ("source", "second", "target") if getattr(view, name) != getattr(View, name)]
    return all(fields(View)[name].parameter in query for name in changed)
