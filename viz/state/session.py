"""The view, the session and the link. Only this module and `navigation` use session state and the query string.

The view is one frozen value, apart from the widgets: a widget that a run does not draw loses its value, the view does not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal

import streamlit as st

from viz import pages
from viz.state.fields import fields, names_where
from viz.state.links import link, parse
from viz.state.view import View, can_hold

UNDO, REDO = "undone edits", "redone edits"  # session keys of the history; the buttons have keys of their own
DEFAULT_TEXT = "own text"  # session key
HISTORY = {"undo": UNDO, "redo": REDO}
DISPLAYED_PAGE = "shown page"  # session key: the page whose widgets the browser has, or None
_NEVER_CLAMPED = ("source", "checkpoint")  # the opening text follows the checkpoint
_DEFAULT = View()
MODE = "mode of this run"  # session key


def begin_run() -> None:
    """Starts a run, before it draws anything.

    After a change of page the browser drops the widgets of the last page, even if another run interrupts this one.
    """
    session = st.session_state
    session[MODE] = _browser_mode()
    try:
        session["previous_page"] = session.get(DISPLAYED_PAGE)
    finally:  # a run that is interrupted ends at its first look into the session
        session[DISPLAYED_PAGE] = None


def end_run() -> None:
    """Ends a run: the browser now has the widgets of the page with their values."""
    st.session_state[DISPLAYED_PAGE] = st.session_state.get("page")


def open_view(page: str = pages.PAGES[0].name) -> tuple[View, tuple[str, ...]]:
    """Returns the view of this run, and the faults of its link.

    A link that differs from the last one written wins, with two exceptions. After an event of a widget the browser may not
    know the last link yet. After the navigation the link is empty and the view stays.
    """
    session = st.session_state
    incoming = st.query_params.to_dict()
    page_changed, old, widgets = session.get("page", page) != page, session.get("view"), _widgets()
    displayed = session.pop("previous_page", None if page_changed else page)
    widgets.are_new = page_changed or (old is not None and displayed != page)
    widgets.of_new_session = old is None
    session[DISPLAYED_PAGE] = None if widgets.are_new else page
    has_event = session.pop("user_event", False)
    has_event_or_navigation = has_event or (not incoming and widgets.are_new)
    session["page"] = page
    if page_changed or (widgets.pending and _is_link_current()):
        widgets.pending = {}
    if page_changed and not incoming:  # the navigation leaves an address without a link in the history
        session["view_per_page"] = session.get("view_per_page", {}) | {page: session.get("view", _DEFAULT)}
    if page_changed and old is not None and not has_event and (not incoming or incoming == session["link"]):
        # by the navigation: each page numbers its own pictures
        session["view"] = dataclasses.replace(session["view"], large=View.large)
    if old is None or (not has_event_or_navigation and incoming != session["link"]):
        back = not incoming and page in session.get("view_per_page", {})
        session["view"], session["faults"] = (session["view_per_page"][page], ()) if back else parse(incoming)
        session["faults"] = (*session.pop("lost", ()), *session["faults"])
        session["keep_empty_link"] = back
        if not back:
            session[DEFAULT_TEXT] = fields(View)["source"].parameter not in incoming
        session["complaints"], session["fitted"] = {}, {}
        session["link"] = incoming
    return session["view"], session["faults"]


@dataclasses.dataclass
class _Widgets:
    """State of the widgets that `bind` makes, between the runs of a session."""

    are_new: bool = False  # the browser has none of them
    of_new_session: bool = False
    pending: dict[str, list[Any]] = dataclasses.field(default_factory=dict)
    # pending: earlier values of widgets that the server set, until the browser knows it
    texts: dict[str, str] = dataclasses.field(default_factory=dict)
    to_set: set[str] = dataclasses.field(default_factory=set)  # widgets that get their value even if it is unchanged


def _widgets() -> _Widgets:
    if "widgets" not in st.session_state:
        st.session_state["widgets"] = _Widgets()
    return st.session_state["widgets"]


def incoming_checkpoint() -> str:
    """Returns the checkpoint of this run before its view is opened: of a new link, else of the session."""
    session, incoming = st.session_state, st.query_params.to_dict()
    if "view" in session and (session.get("user_event") or not incoming or incoming == session.get("link")):
        return session["view"].checkpoint
    return incoming.get(fields(View)["checkpoint"].parameter, View.checkpoint)


def current_view() -> View:
    """Returns the view without reading the link."""
    return st.session_state.get("view", _DEFAULT)


def _is_link_current() -> bool:
    """True if the browser's address is the view's link: the browser knew the view when it started this run."""
    return "view" in st.session_state and link(st.session_state["view"]) == st.query_params.to_dict()


def change(**changes: Any) -> None:
    """Replaces fields of the view, from a callback. Fields that depend on them are reset as their declarations say.

    Raises ValueError for an unknown field.
    """
    session = st.session_state
    old = current_view()
    changes = _with_remembered(old, _with_dependents(old, changes))
    new = dataclasses.replace(old, **changes)
    undone = any(getattr(new, name) != getattr(old, name) for name in names_where(type(old), undo="step"))
    if undone and not session.get("stepping"):
        session[UNDO], session[REDO] = [*_history("undo"), old], []
    settled = {*changes, *(control for name in changes for control in fields(type(old))[name].settles)}
    session["complaints"] = {name: each for name, each in _complaints().items() if name not in settled}
    session[DEFAULT_TEXT] = is_default_text() and (new.source == old.source or session.get("stepping", False))
    session["view"] = new
    session["faults"] = ()
    session["user_event"] = True


def mark_user_event() -> None:
    """Marks the next run as started by an event of the page; called from callbacks.

    The browser may not know the last link yet. Without this mark its older link would undo later changes.
    """
    st.session_state["user_event"] = True


def load_view(**changes: Any) -> None:
    """Replaces fields of the view as a link does, without undo; called from callbacks."""
    session = st.session_state
    session["stepping"] = True
    change(**changes)
    session["stepping"] = False
    session[UNDO], session[REDO] = [], []
    session[DEFAULT_TEXT] = False


def _with_dependents(old: View, changes: dict[str, Any]) -> dict[str, Any]:
    """Returns the changes with those of the fields that depend on them. Raises ValueError for an unknown field."""
    known = fields(type(old))
    if unknown := sorted(set(changes) - set(known)):
        raise ValueError(f"the view has no field {unknown[0]!r}; expected one of {', '.join(known)}")
    spared = st.session_state.get("spared", ())
    renewed = {
        other
        for name in changes
        if changes[name] != getattr(old, name)
        for other in known[name].renews
        if (name, other) not in spared
    }
    dropped = {other for name in (*changes, *renewed) for other in known[name].drops}
    follow = {name: getattr(type(old), name) for name in (*renewed, *dropped)}  # a class holds the defaults of its fields
    return follow | changes


def remember_clamped(view: View) -> None:
    """Remembers the values that this checkpoint clamped, for the next checkpoint. `view` holds the clamped values."""
    if clamped := _clamped(current_view(), view):
        st.session_state["fitted"] = st.session_state.get("fitted", {}) | clamped


@lru_cache(64)
def _clamped(wanted: View, fitting: View) -> dict[str, tuple[Any, Any]]:
    """Returns both values of each field that a checkpoint clamped."""
    both = {name: (getattr(wanted, name), getattr(fitting, name)) for name in fields(View) if name not in _NEVER_CLAMPED}
    return {name: pair for name, pair in both.items() if pair[0] != pair[1]}


def _with_remembered(old: View, changes: dict[str, Any]) -> dict[str, Any]:
    """Returns the changes; for another checkpoint also the values that the old one clamped.

    If the opening text changes with the checkpoint, values of fields that depend on the text are left out.
    """
    session = st.session_state
    session["fitted"] = {name: both for name, both in session.get("fitted", {}).items() if name not in changes}
    if changes.get("checkpoint", old.checkpoint) == old.checkpoint:
        return changes
    of_a_text = fields(type(old))["source"].renews if is_default_text() else ()
    clamped = {name: value for name, (value, limit) in session["fitted"].items() if getattr(old, name) == limit}
    return {name: value for name, value in clamped.items() if name not in of_a_text} | changes


def exempt(*pairs: tuple[str, str]) -> None:
    """Keeps the second field of each pair when the first changes, until the next call.

    A classified text has one label, so its rival stays the same at every step.
    """
    st.session_state["spared"] = pairs


def _history(name: str) -> list[View]:
    return st.session_state.get(HISTORY[name], [])


def peek_history(name: str) -> View | None:
    """Returns the view that undo or redo would restore, or None."""
    return history[-1] if (history := _history(name)) else None


def set_complaint(control: str, typed: str, sentence: str) -> None:
    """Stores an unusable input of a control with its error message, until the next use; called from callbacks."""
    change()
    st.session_state["complaints"] = _complaints() | {control: (typed, sentence)}


def complaint(control: str) -> tuple[str, str] | None:
    """Returns the last unusable input of a control and its error message, or None."""
    return _complaints().get(control)


def _complaints() -> dict[str, tuple[str, str]]:
    return st.session_state.get("complaints", {})


def undo_or_redo(name: str) -> None:
    """Undoes or redoes the last change of edits, sentence, padding or checkpoint; called from callbacks."""
    other = {"undo": "redo", "redo": "undo"}[name]
    session, history = st.session_state, _history(name)
    if history:
        now, then = current_view(), history[-1]
        session["stepping"] = True
        change(**fields_to_restore(then))
        session["stepping"] = False
        session[HISTORY[name]], session[HISTORY[other]] = history[:-1], [*_history(other), now]


def fields_to_restore(then: View) -> dict[str, Any]:
    """Returns the fields that undo or redo sets, with the values of `then`."""
    now = current_view()
    names = [*names_where(type(now), undo="step"), *names_where(type(now), undo="along")]
    if then.checkpoint != now.checkpoint:
        names += names_where(type(now), undo="with the checkpoint")
    return {name: getattr(then, name) for name in names}


def show_message(sentence: str) -> None:
    """Shows a sentence at the next run and changes nothing; called from callbacks."""
    change()
    st.session_state["faults"] = (sentence,)


def write_link(view: View) -> None:
    """Stores the view as clamped to its checkpoint, and writes the link if it has changed."""
    session = st.session_state
    session["view"] = view
    wanted = link(view)
    if session.pop("keep_empty_link", False):  # writing the link now would end the way back
        return
    if _widgets().are_new or wanted != st.query_params.to_dict():
        st.query_params.from_dict(wanted)  # an interrupted change of page loses the link
    session["link"] = wanted


def is_in_link(*names: str) -> bool:
    """True if the last link, read or written, names one of these fields."""
    known = fields(type(current_view()))
    return bool(st.session_state.get("keep_empty_link")) or any(
        known[name].parameter in st.session_state["link"] for name in names
    )


def is_new_text() -> bool:
    """True if the visitor changed the text since the last link, read or written."""
    known, came, now = fields(View), st.session_state["link"], current_view()
    return known["source"].parameter in came and any(
        came.get(known[name].parameter, "") != getattr(now, name) for name in ("source", "second")
    )


def is_default_text() -> bool:
    """True if the text is the opening text: neither a link nor the visitor set another."""
    return st.session_state.get(DEFAULT_TEXT, False)


def theme_mode() -> Literal["light", "dark"]:
    """Returns the theme that the browser had when this run began."""
    return st.session_state.get(MODE) or _browser_mode()


def _browser_mode() -> Literal["light", "dark"]:
    """Returns the theme that the browser reported last."""
    mode = st.session_state.get("theme") or st.context.theme.type
    return "dark" if mode == "dark" else "light"


def set_theme(mode: str) -> None:
    """Stores the theme that the browser shows; called from a callback. It is not part of the link."""
    st.session_state["theme"] = mode
    st.session_state["user_event"] = True


def component_value(key: str, name: str) -> Any:
    """Returns the last value that a component reported under a name, or None."""
    return st.session_state[key].get(name)


def put(name: str, value: Any) -> None:
    """Stores a value in the session, apart from the view."""
    st.session_state[name] = value


def put_from_event(name: str, value: Any) -> None:
    """Stores a value in the session from an event of the page; called from callbacks."""
    st.session_state[name] = value
    st.session_state["user_event"] = True


def get(name: str) -> Any:
    """Returns a stored value, or None."""
    return st.session_state.get(name)


def bind(
    key: str,
    field: str,
    value: Any,
    read: Callable[[Any], Any] = lambda v: v,
    write: Callable[[Any], None] | None = None,
    text: str = "",
) -> dict[str, Any]:
    """Returns the arguments that bind a widget to a field of the view. The widget shows `value`.

    `read` converts the widget's value to the field's value; a ValueError becomes the field's complaint. `write` receives the
    value instead of the view. `text` is the option's text if it can differ in the next run, since the browser knows options
    by their texts.
    """
    session = st.session_state
    widgets = _widgets()
    renamed = widgets.texts.get(key, text) != text
    widgets.texts[key] = text
    is_known = key in session
    current = session[key] if is_known else None  # a new widget has no value
    if is_known and current != value and not widgets.are_new:
        widgets.pending[key] = [*widgets.pending.get(key, ()), current]
    if widgets.are_new or key in widgets.to_set or renamed or current != value:  # set unchanged, it would overwrite typing
        session[key] = value
    widgets.to_set.discard(key)

    def store() -> None:
        widgets = _widgets()
        if session[key] in widgets.pending.get(key, ()) and not _is_link_current():
            change()  # sent before the browser knew the value that the server set
            return
        if widgets.of_new_session:  # an open page may hold another value of its former server
            widgets.to_set.add(key)
        try:
            value = read(st.session_state[key])
        except ValueError as fault:
            set_complaint(field, st.session_state[key], str(fault))
        except (TypeError, LookupError, AttributeError):  # only a forged event
            change()
        else:
            if not can_hold(field, value):
                change()  # forged too
            elif write is not None:
                write(value)
            else:
                change(**{field: value})

    return {"key": key, "on_change": store}
