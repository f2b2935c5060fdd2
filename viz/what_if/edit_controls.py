"""The choices of the page What if, its list of edits with the history, and the editor in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from model.edits import edit, switches
from model.edits.kinds import KINDS, EditError, Place
from viz.kit import button_groups, edit_list, site_texts
from viz.kit.button_groups import Button, ButtonGroup
from viz.page_context import PageContext
from viz.state import navigation, session
from viz.state.session_data import data, store_from_event
from viz.state.view import View
from viz.what_if import what_if_texts
from viz.what_if.switchboard import NAMES

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis

ALL = "all"


def mode_choice(view: View) -> ButtonGroup:
    """Returns the choice of the mode: given target or decode again."""
    return button_groups.choice("Mode", "mode", {"given": "Given target", "again": "Decode again"}, view.mode)


def scope_of(view: View) -> str:
    """Returns the scope of a click on the mask; without a head it is at least the layer."""
    return "layer" if view.scope == "head" and view.head is None else view.scope


def choices(context: PageContext) -> list[ButtonGroup]:
    """Returns the choices of mode, kind of attention, layer, head and scope of a click."""
    view, kinds, config = context.view, context.analysis.trace.kinds, context.loaded.config
    scopes = {name: text for name, text in what_if_texts.scopes(view).items() if name != "head" or view.head is not None}
    names = {kind: kind.capitalize() for kind in kinds}
    heads = {None: "mean", **{head: str(head + 1) for head in range(config.heads)}}
    layers = {layer: str(layer + 1) for layer in range(context.layers)}
    return [
        *([mode_choice(view)] if context.analysis.task.has_decoder else []),
        *([button_groups.choice("Attention", "kind", names, view.kind)] if len(kinds) > 1 else []),
        button_groups.choice("Layer", "layer", layers, view.layer, is_label_hidden=False),
        button_groups.choice("Head", "head", heads, view.head, is_label_hidden=False),
        button_groups.choice("Click blocks", "scope", scopes, scope_of(view), "list", is_label_hidden=False),
    ]


def edits(context: PageContext) -> list[ButtonGroup]:
    """Returns a button for each edit that removes it; the editor, undo, redo and clear."""
    view, analysis = context.view, context.analysis
    aside = [code for code, _ in context.skipped_edits]
    buttons = edit_list.buttons(view.intervention.codes_and_texts(analysis.labels), aside)
    base = analysis.baseline or analysis
    if branched := what_if_texts.branched(base, context.loaded.target_tokenizer):
        rest = {"branches": tuple(each for each in view.branches if each != base.branch), "path": ()}
        buttons = {"branch chip": edit_list.remove_button(branched, partial(session.change, **rest)), **buttons}
    if view.pad:
        buttons["pad chip"] = edit_list.remove_button(edit_list.describe_padding(view.pad), partial(session.change, pad=0))
    note = "" if buttons else "None yet. Click a cell, a token or a head, or try a question."
    is_open, history = data().is_edit_list_open, {}
    for name in ("undo", "redo"):
        then = session.peek_history(name)
        what, title = what_if_texts.stepped(view, then) if then else ("", "")
        label = f"{name.capitalize()}: {what}" if what else name.capitalize()
        history[name] = Button(label, partial(session.undo_or_redo, name), title, is_disabled=then is None)
    toggle = Button("Add edit", partial(store_from_event, data(), is_edit_list_open=not is_open), is_on=is_open)
    clear = edit_list.clear_button(is_disabled=not (view.intervention or view.pad))
    tools = {"add_edit": toggle, **history, **clear}
    return [
        ButtonGroup("Edits", buttons, note=note),
        ButtonGroup("Change the edits", tools, is_label_hidden=True, follows=True),
    ]


# -- the editor in words ----------------------------------------------------------------------------------------------


def draw_editor(analysis: Analysis, loaded: Checkpoint) -> None:
    """Draws the questions about a new edit in a row, if the editor is open."""
    if data().is_edit_list_open:
        with st.container(key="editor", horizontal=True, vertical_alignment="bottom", gap="small", border=True):
            _editor(analysis, loaded)


def _editor(analysis: Analysis, loaded: Checkpoint) -> None:
    offered = {each.name: each for each in (*KINDS.values(), *switches.FORMS)}
    chosen = _chosen("What", list(offered), "kind", lambda name: offered[name].title)
    try:
        code = _read_answers(offered[chosen].form(bool(loaded.mean_z)), analysis, loaded)
    except EditError as fault:
        site_texts.note(str(fault), warn=True)
        return
    st.button("Add", key="editor add", type="primary", on_click=_add, args=(code,))


def _read_answers(form: edit.Form, analysis: Analysis, loaded: Checkpoint) -> str:
    """Draws question after question, and returns the code that the answers make."""
    try:
        question = next(form)
        while True:
            question = form.send(_ask(question, analysis, loaded))
    except StopIteration as end:
        return end.value


def _add(code: str) -> None:
    if all(code != each for each, _ in session.current_view().intervention.codes_and_texts()):
        navigation.toggle_edit(code)


def _ask(question: edit.Question, analysis: Analysis, loaded: Checkpoint) -> object:
    """Draws a question, and returns what is answered now."""
    match question:
        case edit.HeadsQuestion():
            return _place(loaded)
        case edit.TokenQuestion():
            return _token(question, analysis)
        case edit.LayerQuestion(key, kind):
            return _number("Layer", loaded.config.layers[_there(kind, loaded.config.kinds)], key)
        case edit.TextQuestion(key, label, value):
            return st.text_input(label, value, key=f"editor {key}", on_change=session.mark_user_event)
        case edit.NumberQuestion(key, label, low, high, value):
            return int(st.number_input(label, low, high, value, key=f"editor {key}", on_change=session.mark_user_event))
        case edit.NameQuestion(key, label, options, note):
            chosen = _chosen(label, list(options), key, options.__getitem__)
            if note:
                site_texts.note(note)
            return chosen
    raise ValueError(f"the editor was given {question!r}; expected one of the questions of model.edits.edit")


def _chosen(label: str, options: list, key: str, shown: Callable[[Any], str] = str, first: int = 0) -> Any:
    """What is chosen of some options; where a browser sends what none of them is, the first."""
    chosen = st.selectbox(label, options, first, format_func=shown, key=f"editor {key}", on_change=session.mark_user_event)
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
    layer = _number("Layer", layers, "layer", with_all=True)
    head = _number("Head", config.heads, "head", with_all=True) if layer is not None else None
    return Place(kind, layer, head)


def _there(kind: str, kinds: Sequence[str]) -> str:
    """The kind of attention; EditError where the checkpoint does not have it."""
    if kind not in kinds:
        raise EditError(f"This checkpoint has no {NAMES[kind].lower()}: choose another.")
    return kind


def _token(question: edit.TokenQuestion, analysis: Analysis) -> int | None:
    """A choice of a token by its number and text; None for what `extra` names."""
    trace = analysis.trace
    _there(question.kind, trace.kinds)
    site = next(site for site in trace.patterns if site.kind == question.kind)
    tokens = {"query": trace.queries, "key": trace.keys}[question.axis](site)
    choices = [*([question.extra] if question.extra else []), *range(len(tokens))]
    names = {i: f"{i + 1} {token}" for i, token in enumerate(tokens)}
    chosen = _chosen(question.label, choices, question.axis, lambda i: names.get(i, str(i)), question.default_index)
    return None if chosen == question.extra else chosen
