"""*Present* panel with its playlist, the header of a page in lecture mode, and the link back to a lecture.

The panel is in the sidebar, and at the end of the header in lecture mode. The playlist shows the current talk and its stops,
and the talk as a link or a file.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import streamlit as st

from viz import pages
from viz.classroom import room_panel, talk_navigation
from viz.classroom.rooms import room_server
from viz.classroom.rooms.room import code_of
from viz.classroom.talk import (
    MAX_FILE,
    MAX_STOPS,
    OWN,
    READY,
    Talk,
    TalkError,
    file_of,
    find_talk,
    read,
    ready_talks,
    too_long,
)
from viz.classroom.talk_page import page_of_talk
from viz.kit import controls, lazy, mount, site_texts
from viz.page_context import LecturePlaces
from viz.save.saved_files import HTML, JSON, File, Offer, fault_answer, make_file, stem_of
from viz.state import session
from viz.state.session_data import data, store_from_event
from viz.state.view import View

KEYS = "Keys: arrows step, 1 to 9 choose a layer, Shift 1 to 9 a head, ? lists them all."


def panel(view: View) -> None:
    """Draws the button and its popover."""
    if view.lecture:
        room_panel.sign()
    with lazy.popover("Present", talk_navigation.panel_key(), width="content" if view.lecture else "stretch") as is_open:
        if not is_open:
            return
        with st.container(key="present"):
            _lecture(view)
            room_panel.panel()
            _playlist(view)


def _lecture(view: View) -> None:
    """Draws the switch of lecture mode."""
    st.toggle("Lecture mode (key l)", **session.bind("lecture mode", "lecture", view.lecture, write=_switch))
    site_texts.note(KEYS)


def _switch(on: bool) -> None:
    session.change(lecture=on)
    talk_navigation.close_panel()


def head(view: View, page: pages.Page, of_sentence: bool = True) -> LecturePlaces:
    """Draws the title, the sentence (if the page has one), a container for controls, and *Present*."""
    with st.container(key="lecture_bar", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.write(f'<header class="lab-hall-title"><h1>{html.escape(page.title)}</h1></header>', inline=True)
        if of_sentence:
            controls.plain_box(view)
        bar = st.container(key="lecture_controls", horizontal=True, vertical_alignment="center", gap="small")
        panel(view)
    notes = st.container(key="lecture_notes", gap=None)
    return LecturePlaces(notes, st.container(key="lecture_stage"), bar)


def bar() -> None:
    """Draws a line above the page for a visitor who came from a room."""
    try:
        code = html.escape(code_of(session.current_view().room))
    except ValueError:
        return
    st.html(
        '<p class="lab-left"><span>You left the lecture.</span> <span class="more">Explore freely.</span> '
        f'<a href="/follow/{code}" target="_self">Back to the lecture</a></p>'
    )


FILES = ("talk", "page")  # kinds of files that the playlist makes
EXCERPT = 60  # letters of a stop's sentence
_COMPONENT = mount.Component(__file__, '<section class="playlist"></section>', name="playlist")


def _playlist(view: View) -> None:
    """Mounts the list, and makes a requested file."""
    talk, fault = find_talk(view.talk)
    state = data().talk
    requested, message, state.requested_file, state.message = state.requested_file, state.message, None, None
    values = {
        "talks": _choices(view),
        "chosen": OWN if view.talk.startswith(OWN) else view.talk,
        "title": talk.title if talk else "",
        "stops": [_stop_entry(talk, number) for number in range(1, len(talk.stops) + 1)] if talk else [],
        "stop": view.stop,
        "told": message or fault,
        "long": too_long(view.talk),
        "served": room_server.is_mounted,
        "notServed": room_panel.NOT_SERVED,
        "link": _link(talk, view) if talk else "",
        "made": _make_file(talk, view.device, *requested) if talk and requested else None,
    }
    number = mount.integer(1, MAX_STOPS)
    events: dict[str, mount.Event] = {
        "choose": (mount.one_of(["", OWN, *READY]), talk_navigation.choose),
        "keep": (mount.text, _show_errors(talk_navigation.keep_view)),
        "say": (mount.fields(number=number, text=mount.text), _show_errors(talk_navigation.set_line)),
        "take": (number, _show_errors(talk_navigation.take_view)),
        "duplicate": (mount.pressed, talk_navigation.duplicate),
        "rename": (mount.text, _show_errors(talk_navigation.rename)),
        "move": (mount.fields(number=number, to=number), talk_navigation.move),
        "remove": (number, talk_navigation.remove),
        "show": (number, talk_navigation.show),
        "make": (mount.one_of(FILES), lambda which: store_from_event(state, requested_file=(which, uuid4().hex))),
        "open": (_file, _show_errors(_open)),
    }
    _COMPONENT.mount("playlist", values, events)


def _choices(view: View) -> list[list[str]]:
    """Returns names and titles of the available talks; the talk last edited here comes first."""
    mine = view.talk if view.talk.startswith(OWN) else data().talk.own
    own = find_talk(mine)[0] if mine else None
    ready = [[name, talk.title] for name, talk in ready_talks().items()]
    return [[OWN, own.title], *ready] if own else ready


def _stop_entry(talk: Talk, number: int) -> dict[str, Any]:
    stop = talk.stops[number - 1]
    text = stop.view.source
    excerpt = text if len(text) <= EXCERPT else f"{text[:EXCERPT]}…"
    return {"page": stop.place.title, "text": excerpt, "line": stop.line, "faults": list(stop.faults)}


def _link(talk: Talk, view: View) -> str:
    """Returns the relative address of the first stop in lecture mode."""
    stop = talk.stop(1)
    first = {"stop": "1"} if stop else {}
    return stop.address(talk=view.talk, lecture="on", **first) if stop else ""


def _make_file(talk: Talk, device: str, which: str, number: str) -> dict[str, Any]:
    if not talk.stops:
        return fault_answer("This talk has no stops yet", number)
    stem = stem_of((talk.title,))
    if which == "page":
        return make_file(Offer(which, lambda: File(f"{stem}.html", HTML, page_of_talk(talk, device))), number)
    return make_file(Offer(which, lambda: File(f"{stem}.json", JSON, file_of(talk))), number)


def _show_errors(change: Callable[..., None]) -> Callable[..., None]:
    """Wraps a change: a TalkError becomes a message in the list, and the typed text stays."""

    def changed(*args: Any) -> None:
        try:
            change(*args)
        except TalkError as fault:
            store_from_event(data().talk, message=str(fault))

    return changed


def _file(payload: Any) -> tuple[bytes] | None:
    """Returns the bytes of an opened file, cut after the size limit."""
    return (payload[: MAX_FILE + 1].encode("utf-8", "replace"),) if isinstance(payload, str) else None


def _open(raw: bytes) -> None:
    """Loads the talk of a file."""
    talk_navigation.put_on(read(raw))
