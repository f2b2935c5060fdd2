"""Lecture mode: the keys, the notes above the picture, the picture buttons and enlarged charts.

Each key has one meaning on every page. A page adds its keys with `add_key`. Charts are enlarged by a CSS transform, because
Plotly misplaces the pointer under CSS zoom.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from viz import pages
from viz.classroom import line_fields, talk_navigation, talk_time
from viz.classroom.talk import MAX_STOPS, Talk, TalkError
from viz.kit import button_groups, controls, mount, site_texts
from viz.page_context import PageContext
from viz.state import navigation, session
from viz.state.session_data import data, store_from_event
from viz.state.view import View


@dataclass(frozen=True)
class Letter:
    """A key by its browser name, with its meaning on every page."""

    key: str
    means: str


PICTURE = Letter("v", "the next picture of the page")
INNER = Letter("y", "another part of this picture")
NEXT = Letter("n", "the next item")
PREVIOUS = Letter("p", "the previous item")
KIND = Letter("k", "the next kind, of attention or of positions")
CAUSAL = Letter("m", "the causal mask")
PADDING = Letter("M", "the padding mask")
PREDICT = Letter("g", "predict first")
MODE = Letter("d", "given target or decode again")
CHOSEN_BY = Letter("c", "decoding strategy")
AGAIN = Letter("C", "sample again")
ROWS = Letter("r", "arrangement of the rows")
SENTENCE = Letter("s", "the next sentence")
SHOWS = Letter("t", "weights or masks")
WORDS = Letter("w", "tokens or words")
ORDER = Letter("o", "order of the heads")
EXPERIMENT = Letter("e", "the next experiment")
EARLIER = Letter("E", "the previous experiment")
ANSWER = Letter("a", "the answer or its counterpart")
REACH = Letter("z", "scope of a click")
DIFFERS = Letter("x", "what differs")
FURTHEST = Letter("h", "the head that differs most")
PAIR = Letter("i", "the next pair of dimensions")
MORE = Letter("+", "shift by one more")
LESS = Letter("-", "shift by one less")
RIGHT = Letter("ArrowRight", "next")
LEFT = Letter("ArrowLeft", "previous")
CLEAR_SEARCH = Letter("Backspace", "clear the search")
HEAD_OFF = Letter("O", "the shown head off and on")
TREE = Letter("T", "the tree of paths")
CHECKPOINT = Letter("K", "the next checkpoint")

ALL_KEYS = tuple(value for value in list(globals().values()) if isinstance(value, Letter))
WALK = f"{NEXT.key}, {PREVIOUS.key}"  # both keys, for a component that handles them


CHANGED = "the last change"  # the object of "undo" in every text
Key = tuple[str, str, Callable[[], str | None], bool]


def reset_keys() -> None:
    """Clears the keys and values of the previous run."""
    lecture = data().lecture
    lecture.facts, lecture.new_keys, lecture.note_lines = {}, [], 0


def add_key(letter: Letter, does: str, call: Callable[[], str | None], quiet: bool = False) -> None:
    """Adds a key of this page in lecture mode; `does` describes it in the list of keys.

    `call` is a session callback, and returns a message about what it did, if any. A `quiet` key shows no text at once.
    """
    _add((letter.key, does, call, quiet))


def has_key(letter: Letter) -> bool:
    """Returns True if this run has added the key."""
    return any(name == letter.key for name, *_ in data().lecture.new_keys)


def with_effect(text: str) -> str:
    """Marks the message of a key: the next run adds the effect of the edits with `add_effect`."""
    data().lecture.needs_effect = True
    return text


def add_effect(effect: str) -> None:
    """Adds the measured effect of the edits to a message that waits for it."""
    lecture = data().lecture
    if lecture.needs_effect and effect:
        lecture.message = f"{lecture.message} {effect}."
    lecture.needs_effect = False


def add_walk_keys(after: str, before: str, call: Callable[[int], None]) -> None:
    """Adds the next and previous keys; `call` gets 1 or -1."""
    add_key(NEXT, after, lambda: call(1), quiet=True)
    add_key(PREVIOUS, before, lambda: call(-1), quiet=True)


def list_component_keys(keys: str, does: str) -> None:
    """Lists keys that a component of this page handles; they replace their general meaning in the list."""
    _add((keys, does, lambda: None, True))


def picture(view: View, count: int) -> int:
    """Returns the number of the large picture, from 1; the first if the link names one that does not exist."""
    return view.large if view.large <= count else 1


def match_part(view: View, field: str, parts: Sequence[str]) -> View:
    """Returns the view whose part of the page and large picture agree; the parts have the first pictures, in this order.

    The first picture is the default of every link, so there the part decides. Outside lecture mode `large` has no meaning.
    """
    if not view.lecture:
        return view.with_fields(large=View.large)
    if view.large == View.large:
        return view.with_fields(large=parts.index(getattr(view, field)) + 1)
    return view.with_fields(**{field: parts[view.large - 1]}) if view.large <= len(parts) else view


def set_facts(context: PageContext, steps: int) -> None:
    """Stores the steps, layers and heads that keys can choose on this page."""
    view, page, config = context.view, pages.find(navigation.current_page()), context.loaded.config
    facts: dict[str, Any] = {"step": view.step + 1, "steps": steps if page.has_step else 0}
    data().lecture.facts = facts
    if page.has_head:
        set_head_facts(context, [view.kind] if page.has_kind else list(config.kinds))


def set_head_facts(context: PageContext, kinds: list[str]) -> None:
    """Stores the layers and heads that keys can choose; `kinds` are named in the message."""
    view = context.view
    head = None if view.head is None else view.head + 1
    facts = {"layers": context.layers, "heads": context.loaded.config.heads, "layer": view.layer + 1, "head": head}
    data().lecture.facts |= {**facts, "kinds": kinds}


def limit_steps(steps: Sequence[int], what: str) -> None:
    """Limits the arrow keys to some steps; `what` names them in messages."""
    data().lecture.facts |= {"only": [step + 1 for step in steps], "what": what}


def describe_keys() -> tuple[dict[str, Any], dict[str, mount.Event]]:
    """Returns data and events of the key handler, after the page is drawn. One key starts a lecture on any page."""
    view, lecture = session.current_view(), data().lecture
    lecture.keys = lecture.new_keys  # those of the last complete run, which the browser still sends
    talk = talk_navigation.talk_of(view)
    stops = len(talk.stops) if talk else 0
    values = {
        "lecture": view.lecture,
        "talk": bool(view.talk),
        "stop": min(view.stop, stops),
        "stops": stops,
        "undo": _is_changed(view),
        "step": 1,
        "steps": 0,
    }
    values |= {
        "only": [],
        "what": "step",
        "layers": 0,
        "heads": 0,
        "layer": 1,
        "head": None,
        "kinds": [],
        "of": navigation.current_page(),
    }
    values["keys"] = [[name, does, quiet] for name, does, _, quiet in _page_keys()]
    values["presented"] = _presented(talk) if data().talk.is_presented else None
    values["said"] = [lecture.message_number, lecture.message]
    one_key = mount.one_of([name for name, *_ in _page_keys()])
    events: dict[str, mount.Event] = {
        "lecture": (mount.flag, lambda on: session.change(lecture=on)),
        "step": (mount.from_one(999), lambda step: session.change(step=step)),
        "choose": (mount.place_from_one(999, 999), _choose_head),
        "page": (mount.one_of((1, -1)), _turn_page),
        "go": (mount.integer(0, MAX_STOPS + 1), talk_navigation.go_to_stop),
        "undo": (mount.pressed, _undo),
        "presenter": (mount.pressed, lambda: store_from_event(data().talk, is_presented=True)),
        "notes": (mount.fields(number=mount.integer(1, MAX_STOPS), text=mount.text), _set_notes),
        "key": (one_key, _call),
        "key_at": (mount.fields(name=one_key, layer=mount.integer(1, 999), head=mount.integer(0, 999)), _call_at),
    }
    return values | lecture.facts, events


def _presented(talk: Talk | None) -> dict[str, Any]:
    """Returns the stops with the lecturer's notes, for the presenter view in another window of this browser."""
    fault, data().talk.notes_fault = data().talk.notes_fault, ""
    view = session.current_view()
    stops: list[dict[str, Any]] = []
    ends = talk_time.planned_ends(talk) if talk else []
    for number, stop in enumerate(talk.stops if talk else (), 1):
        is_shown = number == view.stop  # the next stop may not be computed yet
        line = (
            line_fields.fill(stop.place, stop.view_on(view.device), stop.line).text
            if is_shown
            else line_fields.blank(stop.line)
        )
        planned = {"end": ends[number - 1]} if ends else {}
        stops.append({"page": stop.place.title, "line": line, "notes": stop.notes, **planned})
    return {"title": talk.title if talk else "", "stops": stops, "fault": fault}


def _set_notes(number: int, text: str) -> None:
    try:
        talk_navigation.set_notes(number, text)
    except TalkError as fault:
        store_from_event(data().talk, notes_fault=str(fault))


def _choose_head(layer: int, head: int | None) -> None:
    both = head is None and session.current_view().head is None  # another layer of a maximum over heads
    session.change(layer=layer, head=head, average="none", **({} if both else {"combine": View.combine}))


def _page_keys() -> list[Key]:
    return data().lecture.keys


def _add(entry: Key) -> None:
    data().lecture.new_keys.append(entry)


def _call(name: str) -> None:
    """Calls the callback of a key and stores its message; ignores a key that the page no longer has."""
    if (call := next((call for own, _, call, _ in _page_keys() if own == name), None)) and (message := call()):
        store_from_event(data().lecture, message=message, message_number=data().lecture.message_number + 1)


def _call_at(name: str, layer: int, head: int) -> None:
    """Chooses a layer and head, from 1 (0: the mean), then calls a key: both were pressed before an answer."""
    _choose_head(layer - 1, head - 1 if head else None)
    _call(name)


def _turn_page(by: int) -> None:
    """Goes to the next or previous page in the order of the navigation."""
    names = [page.name for page in pages.PAGES]
    navigation.go_to(names[(names.index(navigation.current_page()) + by) % len(names)])


def _is_changed(view: View) -> bool:
    """Returns True if the view has a change that can be undone."""
    return bool(view.intervention or view.pad or view.branches)


def _undo() -> None:
    """Undoes the last change; clears all edits and branches if there is no history (a link with edits)."""
    if session.peek_history("undo"):
        session.undo_or_redo("undo")
    else:
        navigation.clear_edits()
        session.change(branches=())


def draw(context: PageContext) -> None:
    """Draws the faults, notes about the translation, and the edits."""
    analysis, edits = context.analysis, context.analysis.request.intervention
    with context.places.notes:
        notes = [note for note in analysis.notes if note not in analysis.warning_sentences]
        site_texts.sentence_notes(notes, context.faults)
        changes = [edits.describe(analysis.labels)] if edits else []
        if context.view.pad:
            changes.append(button_groups.describe_padding(context.view.pad))
        data().lecture.note_lines = bool(notes or context.faults) + bool(changes)
        if changes:
            effect = f" {site_texts.verdict_text(analysis)}." if pages.find(navigation.current_page()).has_kind else ""
            site_texts.note(f"Edited: {'; '.join(changes)}.{effect} Esc or u: undo {CHANGED}.")


FOOT, FOOT_LINE, FOOT_LETTERS = 50, 30, 90  # px of the strip of a talk, and of each further line; letters of a line
NOTED = (0, 34, 64)  # px of no note, one, and several, as the stylesheet has it
WIDTH = 1240  # px of the page below its bar, on a screen of 720 lines


def chart_container() -> Any:
    """Returns a container whose charts the stylesheet enlarges."""
    return st.container(key="hall_chart_19")


def chart_height(left: float, scale: float, view: View | None = None) -> int:
    """Returns the height of a chart in px before enlargement; `left` is the free height on 720 lines.

    The line of a talk at the foot of the view, and the notes above the stage, take their heights from it.
    """
    taken = 0
    if view is not None and view.talk:
        talk = talk_navigation.talk_of(view)
        stop = talk.stop(view.stop) if talk else None
        taken = FOOT + FOOT_LINE * (len(stop.line if stop else "") // FOOT_LETTERS)
    return round((left - taken - NOTED[data().lecture.note_lines]) / scale)


def chart_width(scale: float) -> int:
    """Returns the width of a chart in px before enlargement."""
    return round(WIDTH / scale)


def draw_chart(title: str, key: str, figure: Any, alt: str) -> None:
    """Draws the chart."""
    config = controls.chart_config(title) | {"displayModeBar": False}
    st.plotly_chart(figure, theme=None, key=key, config=config, alt=alt)
