"""The edits of the page What if: their list with its history, the editor in words, and the ready experiments."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from model.edits.kinds import MAX_SEED, MAX_SHIFT, Ablate, Block, EditError, PatchRow, Place, Positions, Skip
from model.inference.request import Request
from viz import cache, state
from viz.shared import controls, edit_list, texts
from viz.view import View, unedited
from viz.what_if import texts as what_if_texts
from viz.what_if.switchboard import NAMES

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis

KINDS = ("block", "row", "head", "layer", "positions", "window", "switch")
KIND_NAMES = {
    "block": "Keep a token from seeing another",
    "row": "Write a row over",
    "head": "Switch heads off",
    "layer": "Skip a sub-layer",
    "positions": "Change positions",
    "window": "Narrow the self-attention",
    "switch": "Switch off a mask or the scaling",
}
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


def questions(view: View) -> None:
    """The ready experiments, one click each."""
    from model.experiments.ready import EXPERIMENTS

    with st.container(key="questions", horizontal=True, vertical_alignment="center", gap="small"):
        texts.write('<b class="lab-label">Try</b>', inline=True)
        for known in EXPERIMENTS:
            st.button(known.question, key=f"try {known.name}", type="tertiary", on_click=_run, args=(known.name, view))


def _run(name: str, view: View) -> None:
    """Asks an experiment's question of the sentence, and shows its request; what cannot be asked is told."""
    try:
        answer = cache.experiment(name, _asked(view), view.device)
    except ValueError as fault:
        state.tell(str(fault))
        return
    state.show_request(answer.request, name)


def _asked(view: View) -> Request:
    """What an experiment is asked of: the sentence, with the model's own translation."""
    return dataclasses.replace(unedited(view.request()), target=None)


def answer(view: View) -> None:
    """The question that was asked last and its measured answer."""
    from model.experiments.ready import EXPERIMENTS

    if view.experiment is None:
        return
    found = cache.experiment(view.experiment, _asked(view), view.device)
    question = next(known.question for known in EXPERIMENTS if known.name == view.experiment)
    what_if_texts.measured(question, found.text)
    if found.also is not None and found.also.source != view.source:
        label = controls.plain_label(f"The same for “{found.also.source}”")
        st.button(label, key="also", type="tertiary", on_click=state.show_request, args=(found.also, view.experiment))
    elif found.also is not None:
        label = controls.plain_label(f"Back to “{found.request.source}”")
        st.button(label, key="also", type="tertiary", on_click=state.show_request, args=(found.request, view.experiment))


# -- the editor in words ----------------------------------------------------------------------------------------------


def _editor(analysis: Analysis, loaded: Checkpoint) -> None:
    kind = st.selectbox("What", KINDS, format_func=KIND_NAMES.__getitem__, key="editor kind")
    build = {
        "block": _block,
        "row": _row,
        "head": _head,
        "layer": _layer,
        "positions": _positions,
        "window": _window,
        "switch": _switch,
    }[kind]
    try:
        code = build(analysis, loaded)
    except EditError as fault:
        texts.note(str(fault), warn=True)
        return
    st.button("Add", key="editor add", type="primary", on_click=_add, args=(code,))


def _add(code: str) -> None:
    if all(code != each for each, _ in state.current().intervention.parts()):
        state.toggle_edit(code)


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


def _token(label: str, tokens: Sequence[str], key: str, extra: str | None = None, first: int = 0) -> int | None:
    """A choice of a token by its number and text; None for what `extra` names. `first` is the choice at first."""
    choices = [*([extra] if extra else []), *range(len(tokens))]
    names = {i: f"{i + 1} {token}" for i, token in enumerate(tokens)}
    chosen = st.selectbox(label, choices, first, format_func=lambda i: names.get(i, str(i)), key=f"editor {key}")
    return None if chosen == extra else chosen


def _axes(analysis: Analysis, kind: str) -> tuple[Sequence[str], Sequence[str]]:
    trace = analysis.trace
    site = next(site for site in trace.patterns if site.kind == kind)
    return trace.queries(site), trace.keys(site)


def _block(analysis: Analysis, loaded: Checkpoint) -> str:
    place = _place(loaded)
    queries, keys = _axes(analysis, place.kind)
    query = _token("Who may not see", queries, "query", "every row", first=1)
    key = _token("whom", keys, "key", "every column")
    return Block(place, query, key).code


def _row(analysis: Analysis, loaded: Checkpoint) -> str:
    place = _place(loaded)
    queries, keys = _axes(analysis, place.kind)
    query = _token("Whose row", queries, "query")
    key = _token("looks at", keys, "key", "all that it may see, evenly")
    return PatchRow(place, query, key).code


def _head(analysis: Analysis, loaded: Checkpoint) -> str:
    place = _place(loaded)
    has_means = bool(loaded.means)
    what = ["zero", "mean"] if has_means else ["zero"]
    names = {"zero": "zeros", "mean": "their mean over dev sentences"}
    how = st.selectbox("Their output becomes", what, format_func=names.__getitem__, key="editor how")
    if not has_means:
        texts.note("Means are not stored with this checkpoint.")
    return Ablate(place, how).code


def _layer(analysis: Analysis, loaded: Checkpoint) -> str:
    stack = st.selectbox("Stack", ["encoder", "decoder"], key="editor stack")
    parts = {"self": "self-attention", "cross": "cross-attention", "ff": "feed-forward"}
    if stack == "encoder":
        del parts["cross"]
    layer = _number("Layer", loaded.config.layers[stack], "skipped")
    part = st.selectbox("Sub-layer", list(parts), format_func=parts.__getitem__, key="editor part")
    return Skip(stack, layer, part).code


def _positions(analysis: Analysis, loaded: Checkpoint) -> str:
    side = st.selectbox("Side", ["source", "target"], key="editor side")
    how = st.selectbox("Positions are", ["off", "shuffled", "shifted"], key="editor positions")
    if how == "off":
        return Positions(side, "off").code
    label, most = ("Seed", MAX_SEED) if how == "shuffled" else ("Shifted by", MAX_SHIFT)
    return Positions(side, how, int(st.number_input(label, 1, most, 1, key=f"editor {how}"))).code


def _window(analysis: Analysis, loaded: Checkpoint) -> str:
    width = st.number_input("A token sees those less than this far away", 1, 128, 3, key="editor window")
    return f"window-{int(width)}"


def _switch(analysis: Analysis, loaded: Checkpoint) -> str:
    names = {"causal-off": "causal mask", "padding-off": "source padding mask", "scaling-off": "scaling by √d_k"}
    return st.selectbox("Off", list(names), format_func=names.__getitem__, key="editor switch")
