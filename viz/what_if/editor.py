"""The edits of the page What if: their list with its history, and the editor in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from model.edits import forms, switches
from model.edits.kinds import KINDS, EditError, Place
from viz import state
from viz.shared import edit_list, texts
from viz.view import View
from viz.what_if.switchboard import NAMES

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis

ALL = "all"


def edit_bar(view: View, analysis: Analysis, loaded: Checkpoint, aside: Sequence[str] = ()) -> None:
    """Every edit in words with a way to take it back; undo, redo, clear; and the editor. `aside` holds the codes of those
    that cannot be made here."""
    parts = view.intervention.parts(analysis.labels)
    with st.container(key="edit_bar", horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(key="chips", horizontal=True, vertical_alignment="center", gap="small"):
            texts.write('<h2 class="lab-label">Edits</h2>', inline=True)
            if not parts and not view.pad:
                texts.label("None yet: click a cell, a token or a head below, or try a question.")
            edit_list.chips(parts, aside)
            if view.pad:
                pads = f"{view.pad} pad{'s' if view.pad > 1 else ''} after the source ×"
                st.button(pads, key="pad chip", help="Take the padding away", on_click=state.change, kwargs={"pad": 0})
        with st.popover("Add edit", key="add_edit"):
            _editor(analysis, loaded)
        for name in ("undo", "redo"):
            able = state.can_step(name)
            st.button(name.capitalize(), key=name, disabled=not able, on_click=state.step_back, args=(name,))
        st.button("Clear", key="clear", disabled=not (parts or view.pad), on_click=state.clear_edits)


# -- the editor in words ----------------------------------------------------------------------------------------------


def _editor(analysis: Analysis, loaded: Checkpoint) -> None:
    offered = {each.name: each for each in (*KINDS.values(), *switches.FORMS)}
    chosen = st.selectbox("What", list(offered), format_func=lambda name: offered[name].title, key="editor kind")
    try:
        code = _answered(offered[chosen].form(bool(loaded.means)), analysis, loaded)
    except EditError as fault:
        texts.note(str(fault), warn=True)
        return
    st.button("Add", key="editor add", type="primary", on_click=_add, args=(code,))


def _answered(form: forms.Form, analysis: Analysis, loaded: Checkpoint) -> str:
    """Draws question after question, and returns the code that the answers make."""
    try:
        question = next(form)
        while True:
            question = form.send(_asked_in_words(question, analysis, loaded))
    except StopIteration as end:
        return end.value


def _add(code: str) -> None:
    if all(code != each for each, _ in state.current().intervention.parts()):
        state.toggle_edit(code)


def _asked_in_words(question: forms.Question, analysis: Analysis, loaded: Checkpoint) -> object:
    """Draws a question, and returns what is answered now."""
    match question:
        case forms.Where():
            return _place(loaded)
        case forms.Token():
            return _token(question, analysis)
        case forms.Layer(key, kind):
            return _number("Layer", loaded.config.layers[kind], key)
        case forms.Number(key, label, low, high, value):
            return int(st.number_input(label, low, high, value, key=f"editor {key}"))
        case forms.Which(key, label, options, note):
            chosen = st.selectbox(label, list(options), format_func=options.__getitem__, key=f"editor {key}")
            if note:
                texts.note(note)
            return chosen
    raise ValueError(f"the editor was given {question!r}; expected one of the questions of model.edits.forms")


def _number(label: str, options: int, key: str, with_all: bool = False) -> int | None:
    """A choice of 1 to `options`, from 0; None for all."""
    choices = [*([ALL] if with_all else []), *range(1, options + 1)]
    chosen = st.selectbox(label, choices, key=f"editor {key}")
    return None if chosen == ALL else chosen - 1


def _place(loaded: Checkpoint) -> Place:
    config = loaded.config
    kind = st.selectbox("Attention", list(NAMES), format_func=NAMES.__getitem__, key="editor site")
    layers = config.layers[kind]
    left, right = st.columns(2)
    with left:
        layer = _number("Layer", layers, "layer", with_all=True)
    with right:
        head = _number("Head", config.heads, "head", with_all=True) if layer is not None else None
    return Place(kind, layer, head)


def _token(asked: forms.Token, analysis: Analysis) -> int | None:
    """A choice of a token by its number and text; None for what `extra` names."""
    trace = analysis.trace
    site = next(site for site in trace.patterns if site.kind == asked.kind)
    tokens = {"query": trace.queries, "key": trace.keys}[asked.axis](site)
    choices = [*([asked.extra] if asked.extra else []), *range(len(tokens))]
    names = {i: f"{i + 1} {token}" for i, token in enumerate(tokens)}
    chosen = st.selectbox(
        asked.label, choices, asked.first, format_func=lambda i: names.get(i, str(i)), key=f"editor {asked.axis}"
    )
    return None if chosen == asked.extra else chosen
