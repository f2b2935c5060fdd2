"""The view <-> the session <-> the link. Nothing else touches session state and the query string, but
`navigation` for the current page.

The view is kept as one frozen value, apart from the widgets: a widget that is not drawn in a run loses its value, the view
does not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Literal

import streamlit as st

from viz import pages
from viz.state.fields import fields, named
from viz.state.links import link, parse
from viz.state.view import View, can_hold

UNDO, REDO = "undone edits", "redone edits"  # session keys of the history; the buttons have keys of their own
OWN_TEXT = "own text"  # session key
HISTORY = {"undo": UNDO, "redo": REDO}
SHOWN_PAGE = "shown page"  # session key: the page whose widgets the browser has; None while that is not certain
_NEVER_FITTED = ("source", "checkpoint")  # the text that the lab opens with goes with the checkpoint by itself


def begin_run() -> None:
    """Called before a run draws anything. Its page may be another one: the browser then drops the widgets of the last page,
    even where the next run interrupts this one before its page is known."""
    session = st.session_state
    try:
        session["shown before"] = session.get(SHOWN_PAGE)
    finally:  # a run that is interrupted ends at its first look into the session
        session[SHOWN_PAGE] = None


def end_run() -> None:
    """Called after a run has drawn its whole page: the browser has the widgets with their values."""
    st.session_state[SHOWN_PAGE] = st.session_state.get("page")


def open_view(page: str = pages.PAGES[0].name) -> tuple[View, tuple[str, ...]]:
    """The view of this run, and what was wrong with its link. Where the link differs from what was last written it wins,
    unless this run was started by a widget: then the browser had not yet heard of the last link; or by the way from one
    page to another, whose link is empty: then the view goes with the visitor."""
    session = st.session_state
    incoming = {name: st.query_params[name] for name in st.query_params}
    session["moved"] = session.get("page", page) != page
    shown = session.pop("shown before", None if session["moved"] else page)
    session["redrawn"] = session["moved"] or ("view" in session and shown != page)  # the browser makes all widgets anew
    session[SHOWN_PAGE] = None if session["redrawn"] else page
    called = session.pop("touched", False)
    touched = called or (not incoming and session["redrawn"])
    session["page"] = page
    session["young"] = "view" not in session
    if session["moved"] or "overruled" not in session or _is_heard():
        session["overruled"] = {}  # what widgets held before the server set them, until the browser has heard of it
    if session["moved"] and not incoming:  # the way from page to page leaves an address without a link in the history
        session["bare"] = session.get("bare", {}) | {page: session.get("view", View())}
    if session["moved"] and "view" in session and not called and (not incoming or incoming == session["link"]):
        # by the navigation; pictures are numbered anew on every page
        session["view"] = dataclasses.replace(session["view"], large=View.large)
    if "view" not in session or (incoming != session["link"] and not touched):
        back = not incoming and page in session.get("bare", {})
        session["view"], session["faults"] = (session["bare"][page], ()) if back else parse(incoming)
        session["faults"] = (*session.pop("lost", ()), *session["faults"])
        session["kept bare"] = back
        if not back:
            session[OWN_TEXT] = fields(View)["source"].parameter not in incoming
        session["complaints"], session["fitted"] = {}, {}
        session["link"] = incoming
    return session["view"], session["faults"]


def arriving() -> str:
    """The checkpoint of this run, before its view is opened: the link's where the link is new, else the session's."""
    session, incoming = st.session_state, st.query_params.to_dict()
    if "view" in session and (session.get("touched") or not incoming or incoming == session.get("link")):
        return session["view"].checkpoint
    return incoming.get(fields(View)["checkpoint"].parameter, View.checkpoint)


def current() -> View:
    """The view as it is now, without reading the link."""
    return st.session_state.get("view", View())


def _is_heard() -> bool:
    """Whether the browser had heard of the view when it started this run: its address is the view's link."""
    return "view" in st.session_state and link(st.session_state["view"]) == st.query_params.to_dict()


def change(**wanted: Any) -> None:
    """Replaces fields of the view; called from callbacks, before a run. What follows from it for other fields is declared
    with the fields: a new sentence begins at its first step.

    Raises ValueError for a field that there is not.
    """
    session = st.session_state
    old = current()
    wanted = _returned(old, _completed(old, wanted))
    new = dataclasses.replace(old, **wanted)
    undone = any(getattr(new, name) != getattr(old, name) for name in named(type(old), undo="step"))
    if undone and not session.get("stepping"):
        session[UNDO], session[REDO] = [*_history("undo"), old], []
    settled = {*wanted, *(control for name in wanted for control in fields(type(old))[name].settles)}
    session["complaints"] = {name: said for name, said in _complaints().items() if name not in settled}
    session[OWN_TEXT] = is_own_text() and (new.source == old.source or session.get("stepping", False))
    session["view"] = new
    session["faults"] = ()
    session["touched"] = True


def hear() -> None:
    """Says that an event of the page starts the run, whatever becomes of it: the browser may not have heard of the last link
    when it was sent, and an older one would take back what was done since. Called from callbacks."""
    st.session_state["touched"] = True


def open_anew(**wanted: Any) -> None:
    """Replaces fields of the view as a link does: neither this nor what was before can be undone; called from callbacks."""
    session = st.session_state
    session["stepping"] = True
    change(**wanted)
    session["stepping"] = False
    session[UNDO], session[REDO] = [], []
    session[OWN_TEXT] = False


def _completed(old: View, wanted: dict[str, Any]) -> dict[str, Any]:
    """The fields that are wanted, and with them those that follow."""
    known = fields(type(old))
    if unknown := sorted(set(wanted) - set(known)):
        raise ValueError(f"the view has no field {unknown[0]!r}; expected one of {', '.join(known)}")
    spared = st.session_state.get("spared", ())
    renewed = {
        other
        for name in wanted
        if wanted[name] != getattr(old, name)
        for other in known[name].renews
        if (name, other) not in spared
    }
    dropped = {other for name in (*wanted, *renewed) for other in known[name].drops}
    follow = {name: getattr(type(old), name) for name in (*renewed, *dropped)}  # a class holds the defaults of its fields
    return follow | wanted


def fitted(view: View) -> None:
    """Remembers for the next checkpoint what was asked for and gives way to what this one has: `view`."""
    session, asked = st.session_state, current()
    both = {name: (getattr(asked, name), getattr(view, name)) for name in fields(View) if name not in _NEVER_FITTED}
    session["fitted"] = session.get("fitted", {}) | {name: pair for name, pair in both.items() if pair[0] != pair[1]}


def _returned(old: View, wanted: dict[str, Any]) -> dict[str, Any]:
    """What is wanted; with another checkpoint also what was asked for before, and gave way to what the old one has; where
    the text becomes another with it, nothing that was asked of a text."""
    session = st.session_state
    session["fitted"] = {name: both for name, both in session.get("fitted", {}).items() if name not in wanted}
    if wanted.get("checkpoint", old.checkpoint) == old.checkpoint:
        return wanted
    of_a_text = fields(type(old))["source"].renews if is_own_text() else ()
    found = {name: asked for name, (asked, given) in session["fitted"].items() if getattr(old, name) == given}
    return {name: asked for name, asked in found.items() if name not in of_a_text} | wanted


def spare(*pairs: tuple[str, str]) -> None:
    """Of each pair of fields the second stays, until this is called anew, when the first becomes another, whatever is
    declared: of a text that gets one label the rival is one of the labels at every step."""
    st.session_state["spared"] = pairs


def _history(name: str) -> list[View]:
    return st.session_state.get(HISTORY[name], [])


def next_step(name: str) -> View | None:
    """The view that undo, or redo, would set back; None where there is none."""
    return history[-1] if (history := _history(name)) else None


def complain(control: str, typed: str, sentence: str) -> None:
    """Keeps what was typed into a control and why it cannot be used, until the control is used again; from callbacks."""
    change()
    st.session_state["complaints"] = _complaints() | {control: (typed, sentence)}


def complaint(control: str) -> tuple[str, str] | None:
    """What was last typed into a control and the sentence that says why it cannot be used, or None."""
    return _complaints().get(control)


def _complaints() -> dict[str, tuple[str, str]]:
    return st.session_state.get("complaints", {})


def step_back(name: str) -> None:
    """Undoes or redoes the last change of edits, sentence, padding or checkpoint; called from callbacks."""
    other = {"undo": "redo", "redo": "undo"}[name]
    session, history = st.session_state, _history(name)
    if history:
        now, then = current(), history[-1]
        session["stepping"] = True
        change(**restored(then))
        session["stepping"] = False
        session[HISTORY[name]], session[HISTORY[other]] = history[:-1], [*_history(other), now]


def restored(then: View) -> dict[str, Any]:
    """The fields that make the view what it was: those that can be undone, and what is set back along with them."""
    now = current()
    names = [*named(type(now), undo="step"), *named(type(now), undo="along")]
    if then.checkpoint != now.checkpoint:
        names += named(type(now), undo="with the checkpoint")
    return {name: getattr(then, name) for name in names}


def tell(sentence: str) -> None:
    """Shows a sentence at the next run, and changes nothing; called from callbacks."""
    change()
    st.session_state["faults"] = (sentence,)


def settle(view: View) -> None:
    """Keeps the view as it was fitted to the checkpoint, and writes the link where it has changed."""
    session = st.session_state
    session["view"] = view
    wanted = link(view)
    if session.pop("kept bare", False):  # writing the link now would end the way back
        return
    if session.get("redrawn") or wanted != {name: st.query_params[name] for name in st.query_params}:
        st.query_params.from_dict(wanted)  # where a change of page was interrupted, the address has lost its link
    session["link"] = wanted


def is_stated(*names: str) -> bool:
    """Whether the link that the view came with, or was last written to, names one of some fields."""
    known = fields(type(current()))
    return bool(st.session_state.get("kept bare")) or any(
        known[name].parameter in st.session_state["link"] for name in names
    )


def is_new_text() -> bool:
    """Whether a visitor has given another text than that of the link which the view came with, or was last written to."""
    known, came, now = fields(View), st.session_state["link"], current()
    return known["source"].parameter in came and any(
        came.get(known[name].parameter, "") != getattr(now, name) for name in ("source", "second")
    )


def is_own_text() -> bool:
    """Whether the text is still the one that the lab opens with: no link has stated one, and no visitor."""
    return st.session_state.get(OWN_TEXT, False)


def theme_mode() -> Literal["light", "dark"]:
    """Light or dark: what the browser has last told, at first what it said when it connected."""
    mode = st.session_state.get("theme") or st.context.theme.type
    return "dark" if mode == "dark" else "light"


def set_theme(mode: str) -> None:
    """Keeps the theme that the browser shows; called from a callback. The link has no part in it."""
    st.session_state["theme"] = mode
    st.session_state["touched"] = True


def component_value(key: str, name: str) -> Any:
    """What a component has last reported under a name, or None."""
    return st.session_state[key].get(name)


def keep(name: str, value: Any) -> None:
    """Puts something aside for this session, apart from the view."""
    st.session_state[name] = value


def ask(name: str, value: Any) -> None:
    """The same for what the page asks for by itself, while the view stays as it is; called from callbacks."""
    st.session_state[name] = value
    st.session_state["touched"] = True


def kept(name: str) -> Any:
    """What was put aside under a name, or None."""
    return st.session_state.get(name)


def bind(
    key: str,
    field: str,
    value: Any,
    read: Callable[[Any], Any] = lambda v: v,
    write: Callable[[Any], None] | None = None,
    text: str = "",
) -> dict[str, Any]:
    """Arguments that tie a widget to a field of the view: the widget shows `value`, a change of it changes the view.

    `read` makes the field's value of what the widget holds; where it raises ValueError its sentence is kept, with what was
    typed, as the field's complaint. `write` takes the value instead of the view. `text` is what the widget calls the value,
    where the same value may be called otherwise in the next run: the browser knows options by their texts alone.
    """
    session = st.session_state
    renamed = session.get(f"text {key}", text) != text
    session[f"text {key}"] = text
    if key in session and session[key] != value and not session.get("redrawn"):
        session["overruled"][key] = [*session["overruled"].get(key, ()), session[key]]
    if (
        session.get("redrawn") or session.pop(f"set {key}", False) or renamed or session.get(key) != value
    ):  # setting it unchanged would take away what is being typed
        session[key] = value  # widgets that are made anew know no value

    def store() -> None:
        if session[key] in session["overruled"].get(key, ()) and not _is_heard():
            change()  # sent along with another event, before the browser heard that the server had set the widget
            return
        session[f"set {key}"] = session["young"]  # an open page may have been told otherwise by its new server
        try:
            value = read(st.session_state[key])
        except ValueError as fault:
            complain(field, st.session_state[key], str(fault))
        except (TypeError, LookupError, AttributeError):  # no page of ours sends this
            change()
        else:
            if not can_hold(field, value):
                change()  # nor this
            elif write is not None:
                write(value)
            else:
                change(**{field: value})

    return {"key": key, "on_change": store}
