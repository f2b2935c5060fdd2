"""The view, the session and the link. Only `viz.state` uses session state and the query string.

The view is one frozen value, apart from the widgets: a widget that a run does not draw loses its value, the view does not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal

import streamlit as st

from viz import pages, theme
from viz.state.fields import fields, names_where
from viz.state.links import link, parse
from viz.state.session_data import Direction, data, store_from_event
from viz.state.view import View, can_hold

_NEVER_CLAMPED = ("source", "checkpoint")  # the opening text follows the checkpoint
_DEFAULT = View()


def begin_run() -> None:
    """Starts a run, before it draws anything.

    After a change of page the browser drops the widgets of the last page, even if another run interrupts this one.
    """
    try:
        session = data()
    except BaseException:  # a run that is interrupted ends at its first look into the session
        data().displayed_page = None
        raise
    session.mode = _browser_mode()
    session.previous_page, session.displayed_page = session.displayed_page, None


def end_run() -> None:
    """Ends a run: the browser now has the widgets of the page with their values."""
    session = data()
    session.displayed_page = session.page
    session.has_page_config, session.colours = True, session.mode


def needs_page_config() -> bool:
    """True until a run has ended: the browser keeps title and layout of a session, and an interrupted run may lose them."""
    return not data().has_page_config


def has_colours(mode: Literal["light", "dark"]) -> bool:
    """True if the browser has the colours of a theme: the script of the frame keeps those of the last run."""
    return theme.has_first_page and data().colours == mode


def open_view(page: str = pages.PAGES[0].name) -> tuple[View, tuple[str, ...]]:
    """Returns the view of this run, and the faults of its link.

    A link that differs from the last one written wins, with two exceptions. After an event of a widget the browser may not
    know the last link yet. After the navigation the link is empty and the view stays.
    """
    session, incoming = data(), st.query_params.to_dict()
    page_changed, old, widgets = session.page not in (None, page), session.view, session.widgets
    displayed, session.previous_page = session.previous_page, ""
    if displayed == "":
        displayed = None if page_changed else page
    widgets.are_new = page_changed or (old is not None and displayed != page)
    widgets.of_new_session = old is None
    session.displayed_page = None if widgets.are_new else page
    has_event, session.has_user_event = session.has_user_event, False
    has_event_or_navigation = has_event or (not incoming and widgets.are_new)
    session.page, session.opened_link = page, None
    if page_changed or (widgets.pending and _is_link_current()):
        widgets.pending = {}
    if page_changed and not incoming:  # the navigation leaves an address without a link in the history
        session.view_per_page[page] = old or _DEFAULT
    if page_changed and old is not None and not has_event and (not incoming or incoming == session.link):
        # by the navigation: each page numbers its own pictures
        session.view = old.with_fields(large=View.large)
    if old is None or (not has_event_or_navigation and incoming != session.link):
        back = not incoming and page in session.view_per_page
        session.view, faults = (session.view_per_page[page], ()) if back else parse(incoming)
        session.faults, session.lost = (*(session.lost or ()), *faults), None
        session.keep_empty_link, session.has_opening_step = back, session.view.step is None
        if not back:
            session.is_default_text = fields(View)["source"].parameter not in incoming
        session.complaints, session.fitted = {}, {}
        session.link = incoming
        session.opened_link = None if back else incoming
    return session.view or _DEFAULT, session.faults


def incoming_checkpoint() -> str:
    """Returns the checkpoint of this run before its view is opened: of a new link, else of the session."""
    session, incoming = data(), st.query_params.to_dict()
    if session.view and (session.has_user_event or not incoming or incoming == session.link):
        return session.view.checkpoint
    return incoming.get(fields(View)["checkpoint"].parameter, View.checkpoint)


def current_view() -> View:
    """Returns the view without reading the link."""
    return data().view or _DEFAULT


def _is_link_current() -> bool:
    """True if the browser's address is the view's link: the browser knew the view when it started this run."""
    view = data().view
    return view is not None and _short_link(view) == st.query_params.to_dict()


def _short_link(view: View) -> dict[str, str]:
    """Returns the link of a view, without a step that nobody has chosen."""
    return link(view.at_step(None) if data().has_opening_step else view)


def change(**changes: Any) -> None:
    """Replaces fields of the view, from a callback. Fields that depend on them are reset as their declarations say.

    Raises ValueError for an unknown field.
    """
    session, old = data(), current_view()
    changes = _with_remembered(old, _with_dependents(old, changes))
    new = old.with_fields(**changes)
    if new.step != old.step:
        session.has_opening_step = new.step is None
    undone = any(getattr(new, name) != getattr(old, name) for name in names_where(type(old), undo="step"))
    if undone and not session.is_stepping:
        session.history = {"undo": [*session.history["undo"], old], "redo": []}
    settled = {*changes, *(control for name in changes for control in fields(type(old))[name].settles)}
    session.complaints = {name: each for name, each in session.complaints.items() if name not in settled}
    session.is_default_text = session.is_default_text and (new.source == old.source or session.is_stepping)
    session.view, session.faults, session.has_user_event = new, (), True


def mark_user_event() -> None:
    """Marks the next run as started by an event of the page; called from callbacks.

    The browser may not know the last link yet. Without this mark its older link would undo later changes.
    """
    data().has_user_event = True


def load_view(**changes: Any) -> None:
    """Replaces fields of the view as a link does, without undo; called from callbacks."""
    session = data()
    session.is_stepping = True
    change(**changes)
    session.is_stepping = session.is_default_text = False
    session.history = {"undo": [], "redo": []}


def _with_dependents(old: View, changes: dict[str, Any]) -> dict[str, Any]:
    """Returns the changes with those of the fields that depend on them. Raises ValueError for an unknown field."""
    wanted, known, exempt = old.with_fields(**changes), fields(type(old)), data().exempt
    renewed = {
        other
        for name in changes
        if getattr(wanted, name) != getattr(old, name)
        for other in known[name].renews
        if (name, other) not in exempt
    }
    dropped = {other for name in (*changes, *renewed) for other in known[name].drops}
    follow = {name: getattr(type(old), name) for name in (*renewed, *dropped)}  # a class holds the defaults of its fields
    return follow | changes


def remember_clamped(view: View) -> None:
    """Remembers the values that this checkpoint clamped, for the next checkpoint. `view` holds the clamped values."""
    if clamped := _clamped(current_view(), view):
        data().fitted |= clamped


@lru_cache(64)
def _clamped(wanted: View, fitting: View) -> dict[str, tuple[Any, Any]]:
    """Returns both values of each field that a checkpoint clamped."""
    never = (*_NEVER_CLAMPED, *(("step",) if wanted.step is None else ()))
    both = {name: (getattr(wanted, name), getattr(fitting, name)) for name in fields(View) if name not in never}
    return {name: pair for name, pair in both.items() if pair[0] != pair[1]}


def _with_remembered(old: View, changes: dict[str, Any]) -> dict[str, Any]:
    """Returns the changes; for another checkpoint also the values that the old one clamped.

    If the opening text changes with the checkpoint, values of fields that depend on the text are left out.
    """
    session = data()
    session.fitted = {name: both for name, both in session.fitted.items() if name not in changes}
    if changes.get("checkpoint", old.checkpoint) == old.checkpoint:
        return changes
    of_a_text = fields(type(old))["source"].renews if is_default_text() else ()
    clamped = {name: value for name, (value, limit) in session.fitted.items() if getattr(old, name) == limit}
    return {name: value for name, value in clamped.items() if name not in of_a_text} | changes


def exempt(*pairs: tuple[str, str]) -> None:
    """Keeps the second field of each pair when the first changes, until the next call.

    A classified text has one label, so its rival stays the same at every step.
    """
    data().exempt = pairs


def peek_history(name: Direction) -> View | None:
    """Returns the view that undo or redo would restore, or None."""
    return history[-1] if (history := data().history[name]) else None


def set_complaint(control: str, typed: str, sentence: str) -> None:
    """Stores an unusable input of a control with its error message, until the next use; called from callbacks."""
    change()
    data().complaints[control] = (typed, sentence)


def complaint(control: str) -> tuple[str, str] | None:
    """Returns the last unusable input of a control and its error message, or None."""
    return data().complaints.get(control)


def undo_or_redo(name: Direction) -> None:
    """Undoes or redoes the last change of edits, sentence, padding or checkpoint; called from callbacks."""
    other: Direction = "redo" if name == "undo" else "undo"
    session, now = data(), current_view()
    history = session.history
    if history[name]:
        session.is_stepping = True
        change(**fields_to_restore(history[name][-1]))
        session.is_stepping = False
        session.history = {name: history[name][:-1], other: [*history[other], now]}


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
    data().faults = (sentence,)


def write_link(view: View, opening_step: int | None = None) -> None:
    """Stores the view as clamped to its checkpoint, and writes the link if it has changed.

    The link names the step, unless nobody has chosen one and the text opens at it.
    """
    session = data()
    session.view = view
    session.has_opening_step = session.has_opening_step and view.step == opening_step
    wanted = _short_link(view)
    if session.keep_empty_link:  # writing the link now would end the way back
        session.keep_empty_link = False
        return
    if session.widgets.are_new or wanted != st.query_params.to_dict():
        st.query_params.from_dict(wanted)  # an interrupted change of page loses the link
    session.link = wanted


def is_in_link(*names: str) -> bool:
    """True if the last link, read or written, names one of these fields."""
    known = fields(type(current_view()))
    session = data()
    return session.keep_empty_link or any(known[name].parameter in session.link for name in names)


def is_default_text() -> bool:
    """True if the text is the opening text: neither a link nor the visitor set another."""
    return data().is_default_text


def theme_mode() -> Literal["light", "dark"]:
    """Returns the theme that the browser had when this run began."""
    return data().mode or _browser_mode()


def _browser_mode() -> Literal["light", "dark"]:
    """Returns the theme that the browser reported last."""
    mode = data().theme or st.context.theme.type
    return "dark" if mode == "dark" else "light"


def set_theme(mode: str) -> None:
    """Stores the theme that the browser shows; called from a callback. It is not part of the link."""
    store_from_event(data(), theme=mode)


def component_value(key: str, name: str) -> Any:
    """Returns the value that a component reports under a name: of this run's event, else of its state. None without one."""
    events_key = data().events_keys.get(key)  # None: Streamlit's own function has mounted it
    for event in reversed((events_key and st.session_state.get(events_key)) or ()):
        if isinstance(event, dict) and event.get("event") == name:
            return event.get("value")
    return st.session_state[key].get(name) if key in st.session_state else None


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
    session, widgets = st.session_state, data().widgets
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
        widgets = data().widgets
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
