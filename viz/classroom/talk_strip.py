"""Strip of the current talk: the line of this stop, and buttons for the next and previous stop."""

from __future__ import annotations

from typing import Any

import streamlit as st

from viz.classroom import line_fields, talk_navigation
from viz.classroom.talk import Talk, find_talk, too_long
from viz.kit import mount
from viz.state import session
from viz.state.session_data import data
from viz.state.view import View

_COMPONENT = mount.Component(__file__, '<section class="talk-strip"></section>')


def talk_strip() -> None:
    """Mounts the strip at the foot of a page while a talk is selected."""
    ended, data().talk.ended = data().talk.ended, None
    view = session.current_view()
    if not view.talk:
        return
    talk, fault = find_talk(view.talk)
    events = {
        "go": (mount.one_of((1, -1)), talk_navigation.move_by),
        "leave": (mount.pressed, lambda: talk_navigation.choose("")),
    }
    with st.container(key="talk"):
        _COMPONENT.mount("talk_strip", describe_stop(talk, view) | {"ended": ended} if talk else _none(view, fault), events)


def describe_stop(talk: Talk, view: View) -> dict[str, Any]:
    """Returns the script's data for the current stop."""
    number, count = min(view.stop, len(talk.stops)), len(talk.stops)
    stop = talk.stop(number)
    empty = "" if count else "This talk has no stops yet. Add this view under Present."
    faults = stop.faults if stop else filter(None, (empty, too_long(view.talk)))
    line = line_fields.fill(stop.place, stop.view_on(view.device), stop.line) if stop else line_fields.Filled("")
    return {
        "large": view.lecture,
        "title": talk.title,
        "number": number,
        "count": count,
        "line": line.text,
        "faults": [*faults, *line.faults],
    }


def _none(view: View, fault: str) -> dict[str, Any]:
    return {"large": view.lecture, "title": "", "number": 0, "count": 0, "line": "", "faults": [fault], "ended": None}
