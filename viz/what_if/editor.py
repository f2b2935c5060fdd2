"""The edits of the page What if: their list with its history, and the editor in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from model.edits import forms, switches
from model.edits.kinds import KINDS, EditError, Place
from viz import editing, state
from viz.shared import controls, edit_list, texts, wanted
from viz.view import View
from viz.what_if import texts as what_if_texts
from viz.what_if.switchboard import NAMES

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis

ALL = "all"


def edit_bar(view: View, analysis: Analysis, loaded: Checkpoint, aside: Sequence[str] = ()) -> None:
    """Every edit in words with a way to take it back; undo, redo, clear; and the editor. `aside` holds the codes of those
    that cannot be made here."""
    parts = view.intervention.parts(analysis.labels)
    base = analysis.baseline or analysis
    branched = what_if_texts.branched(base, loaded.target_tokenizer)
    with st.container(key="edit_bar", horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(key="chips", horizontal=True, vertical_alignment="center", gap="small"):
            texts.write('<h2 class="lab-label">Edits</h2>', inline=True)
            if not parts and not view.pad and not branched:
                texts.label("None yet: click a cell, a token or a head below, or try a question.")
            if branched:
                rest = {"branches": tuple(each for each in view.branches if each != base.branch), "path": ()}
                label = controls.plain_label(f"{branched[:1].upper()}{branched[1:]} ×")
                st.button(label, key="branch chip", help="Take this branch back", on_click=state.change, kwargs=rest)
            edit_list.chips(parts, aside)
            if view.pad:
                pads = f"{view.pad} pad{'s' if view.pad > 1 else ''} after the source ×"
                st.button(pads, key="pad chip", help="Take the padding away", on_click=state.change, kwargs={"pad": 0})
        with wanted.popover("Add edit", "add_edit") as is_open:
            if is_open:
                _editor(analysis, loaded)
        for name in ("undo", "redo"):
            then = state.next_step(name)
            what, told = what_if_texts.stepped(view, then) if then else ("", None)
            label = f"{name.capitalize()}: {what}" if what else name.capitalize()
            st.button(label, key=name, help=told, disabled=then is None, on_click=state.step_back, args=(name,))
        st.button("Clear", key="clear", disabled=not (parts or view.pad), on_click=editing.clear_edits)


# -- the editor in words ----------------------------------------------------------------------------------------------


def _editor(analysis: Analysis, loaded: Checkpoint) -> None:
    offered = {each.name: each for each in (*KINDS.values(), *switches.FORMS)}
    chosen = _chosen("What", list(offered), "kind", lambda name: offered[name].title)
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
        editing.toggle_edit(code)


def _asked_in_words(question: forms.Question, analysis: Analysis, loaded: Checkpoint) -> object:
    """Draws a question, and returns what is answered now."""
    match question:
        case forms.Where():
            return _place(loaded)
        case forms.Token():
            return _token(question, analysis)
        case forms.Layer(key, kind):
            return _number("Layer", loaded.config.layers[_there(kind, loaded.config.kinds)], key)
        case forms.Text(key, label, value):
            return st.text_input(label, value, key=f"editor {key}", on_change=state.hear)
        case forms.Number(key, label, low, high, value):
            return int(st.number_input(label, low, high, value, key=f"editor {key}", on_change=state.hear))
        case forms.Which(key, label, options, note):
            chosen = _chosen(label, list(options), key, options.__getitem__)
            if note:
                texts.note(note)
            return chosen
    raise ValueError(f"the editor was given {question!r}; expected one of the questions of model.edits.forms")


def _chosen(label: str, options: list, key: str, shown: Callable[[Any], str] = str, first: int = 0) -> Any:
    """What is chosen of some options; where a browser sends what none of them is, the first."""
    chosen = st.selectbox(label, options, first, format_func=shown, key=f"editor {key}", on_change=state.hear)
    return chosen if chosen in options else options[first]


def _number(label: str, options: int, key: str, with_all: bool = False) -> int | None:
    """A choice of 1 to `options`, from 0; None for all."""
    choices = [*([ALL] if with_all else []), *range(1, options + 1)]
    chosen = _chosen(label, choices, key)
    return None if chosen == ALL else chosen - 1


def _place(loaded: Checkpoint) -> Place:
    config = loaded.config
    kind = _chosen("Attention", list(config.kinds), "site", NAMES.__getitem__)
    layers = config.layers[kind]
    left, right = st.columns(2)
    with left:
        layer = _number("Layer", layers, "layer", with_all=True)
    with right:
        head = _number("Head", config.heads, "head", with_all=True) if layer is not None else None
    return Place(kind, layer, head)


def _there(kind: str, kinds: Sequence[str]) -> str:
    """The kind of attention; EditError where the checkpoint does not have it."""
    if kind not in kinds:
        raise EditError(f"This checkpoint has no {NAMES[kind].lower()}: choose another.")
    return kind


def _token(asked: forms.Token, analysis: Analysis) -> int | None:
    """A choice of a token by its number and text; None for what `extra` names."""
    trace = analysis.trace
    _there(asked.kind, trace.kinds)
    site = next(site for site in trace.patterns if site.kind == asked.kind)
    tokens = {"query": trace.queries, "key": trace.keys}[asked.axis](site)
    choices = [*([asked.extra] if asked.extra else []), *range(len(tokens))]
    names = {i: f"{i + 1} {token}" for i, token in enumerate(tokens)}
    chosen = _chosen(asked.label, choices, asked.axis, lambda i: names.get(i, str(i)), asked.first)
    return None if chosen == asked.extra else chosen
