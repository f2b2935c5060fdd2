"""The lecturer's room: opened in *Present*, kept by the browser, told of every move; and what its class is asked.

The browser alone knows whether a room is open, and shows it: a script that is there on every page sends the address with the
present step, what is pointed at and the blank screen. A question is made here, of the very view, once it is asked for.
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

NOT_SERVED = "Rooms need the lab’s own server: start it with make run, or python -m viz.server."
NOTHING = "There is nothing to ask on this page: ask on the first one, or on Heads."
LAST = "This is the last step: nothing comes after it. Go back, and ask there."
PRIVATE = (*(name for name in OF_A_LECTURE if name not in ("lecture", "large")), "own_text")  # what is large is shown to all
TOO_LONG = "This view is too long for a link, so those who follow stay at the last one."
_COMPONENT = mount.Component(__file__, '<div class="room"></div>', name="room")
_PANEL = mount.Component(__file__, '<div class="room-panel"></div>', name="room_panel")
_SIGN = mount.Component(__file__, '<div class="room-sign"></div>', name="room_sign")
_ASKED, _MADE = "asked of the class", "question to the class"  # session keys: what is asked, and what came of it
_STEPS = "steps of the class"  # how many steps the page has that was drawn last; 0 where it writes nothing


def panel() -> None:
    """The room's part of *Present*: everything about it, and what can be done with it."""
    _PANEL.mount("room_panel", {"served": routes.is_mounted, "notServed": NOT_SERVED, "alone": hosts.why_not_shared()})


def sign() -> None:
    """The code and how many follow, in the one line of lecture mode; nothing where no room is open."""
    _SIGN.mount(key="room_sign", data={})


def mounted() -> None:
    """Mounts what shows a room, on every page and once it is drawn."""
    view, page = session.current(), pages.find(navigation.page())
    asked = session.kept(_ASKED)
    shown = dataclasses.replace(view, guess=asked["guess"]) if asked else view
    default = View()
    query = link(dataclasses.replace(shown, step=1, **{name: getattr(default, name) for name in PRIVATE}))
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
        "question": _made(asked),
    }
    number = mount.whole(1, 2**31)
    events: dict[str, mount.Event] = {
        "ask": (mount.fields(number=number, step=mount.whole(0, 999), hidden=mount.flag), _ask),
        "close": (mount.fields(guess=mount.flag, step=mount.whole(0, 999)), _close),
    }
    _COMPONENT.mount("room", data, events)


def shown(shown: Shown) -> None:
    """Makes the question of what a page shows, where one is asked for that has not been made."""
    analysis, asked = shown.analysis, session.kept(_ASKED)
    session.keep(_STEPS, len(analysis.trace.predicted.ids) if analysis.task.writes else 0)
    if not asked or (session.kept(_MADE) or {}).get("number") == asked["number"]:
        return
    page = pages.find(navigation.page())
    view = shown.view.at_step(asked["step"]) if asked["step"] and analysis.task.writes else shown.view
    try:
        if not page.of_a_step:
            raise NoQuestion(NOTHING)
        made = dataclasses.asdict(question(view, analysis, shown.page_data.loaded, of_heads=page.name == "heads"))
    except NoQuestion as fault:
        made = {"fault": str(fault)}
    session.keep(_MADE, asked | made)


def _made(asked: dict[str, Any] | None) -> dict[str, Any] | None:
    """What came of the question that is asked; None where none is."""
    if not asked:
        return None
    made = session.kept(_MADE) or {}
    if made.get("number") == asked["number"]:
        return made
    return asked | {"fault": NOTHING}  # there is no view to ask of


def _ask(number: int, step: int, hidden: bool) -> None:
    """Asks about the first token that was not shown: the one after a step (0: where the view is), or that of the step
    where it is `hidden`; what comes is hidden until the question is closed. Heads are asked about at the step itself."""
    view, asked = session.current(), session.kept(_ASKED) or {}
    at, name, steps = step or view.step, navigation.page(), session.kept(_STEPS) or 0
    before = {"guess": asked.get("guess", view.guess), "back": asked.get("back", at)}
    wanted = at if hidden or name == "heads" or not steps else at + 1
    session.keep(_ASKED, {"number": number, "step": wanted} | before)
    if steps and wanted > steps:
        session.keep(_MADE, {"number": number, "step": at, "fault": LAST} | before)
        return
    hides = {"guess": True} if name == pages.PAGES[0].name else {}
    session.change(**hides, step=wanted)


def _close(guess: bool, step: int) -> None:
    """Ends a question; `guess` as it was before it, `step` where the page goes on (0: where it is)."""
    session.keep(_ASKED, None)
    session.keep(_MADE, None)
    session.change(guess=guess, **({"step": step} if step else {}))


def _is_whole(view: View, query: dict[str, str]) -> bool:
    """Whether the link holds what was typed."""
    changed = [name for name in ("source", "second", "target") if getattr(view, name) != getattr(View, name)]
    return all(fields(View)[name].parameter in query for name in changed)
