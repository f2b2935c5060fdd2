"""On the map: how large this model is, how large known ones are, and what any other size would cost."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from model.readings.sizes import LARGEST, PRESETS, Architecture, of_config
from viz import state
from viz.inside import sizes_texts
from viz.page_fields import SIZES
from viz.shared import texts
from viz.view import View

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint

# What can be changed: the label, the field of the view, how `Architecture.resized` calls it.
NUMBERS = (
    ("Layers a stack", "size_layers", "layers"),
    ("d_model", "size_width", "d_model"),
    ("Heads", "size_heads", "heads"),
    ("d_ff", "size_ff", "d_ff"),
    ("Vocabulary", "size_vocab", "vocabulary"),
)
ONE_STACK = {"layers": "Layers"}  # labels where there is one


def draw(view: View, loaded: Checkpoint) -> None:
    """Whose size, its numbers to change, and what follows from them."""
    texts.write('<h2 class="lab-label lab-rule">How large is it, and how large would another be?</h2>')
    given = given_by(view, loaded)
    _form(view, given)
    try:
        of = architecture(view, loaded)
    except ValueError as fault:
        texts.fault(f"{fault}.")
        return
    headline = sizes_texts.headline(of, view.size, of != given, loaded.model.parameter_count)
    texts.write(f'<div class="lab-answer">{html.escape(headline)}</div>')
    left, right = st.columns([440, 560], gap="medium")
    with left:
        texts.write(sizes_texts.parts_table(of))
    with right:
        texts.write(sizes_texts.facts_table(sizes_texts.facts(of, view.size_length)))
        texts.note(sizes_texts.share_of_length(of, view.size_length))


def given_by(view: View, loaded: Checkpoint) -> Architecture:
    """What the numbers begin with."""
    return PRESETS[view.size].architecture if view.size in PRESETS else of_config(loaded.config)


def architecture(view: View, loaded: Checkpoint) -> Architecture:
    """What is counted; ValueError for sizes that do not go together."""
    return given_by(view, loaded).resized(**asked(view))


def asked(view: View) -> dict[str, int]:
    """The sizes that the view changes, as `Architecture.resized` calls them."""
    return {name: getattr(view, field) for _, field, name in NUMBERS if getattr(view, field)}


def _form(view: View, given: Architecture) -> None:
    begun = {
        "layers": max(_stacks(given)),
        **{name: getattr(given, name) for _, _, name in NUMBERS[1:]},
    }
    with st.container(key="size_row", horizontal=True, vertical_alignment="bottom", gap="small"):
        st.selectbox("Model", SIZES, format_func=_title, **state.bind("size", "size", view.size))
        for label, field, name in NUMBERS:
            label = ONE_STACK.get(name, label) if len(given.attentions) == 1 else label
            value = getattr(view, field) or begun[name]
            known = begun[name] if name != "layers" or len(set(_stacks(given))) == 1 else None
            bound = state.bind(field, field, value, read=_unless(known))
            st.number_input(label, 1, max(LARGEST[name], value), step=1, **bound)
        bound = state.bind("size_length", "size_length", view.size_length)
        st.number_input("Tokens L", 1, LARGEST["length"], step=1, **bound)


def _stacks(given: Architecture) -> list[int]:
    """Layers of each stack that there is."""
    return [getattr(given, f"{stack}_layers") for stack in ("encoder", "decoder") if stack in given.attentions]


def _title(name: str) -> str:
    return PRESETS[name].title if name in PRESETS else "This checkpoint"


def _unless(begun: int | None) -> Callable[[int], int]:
    """Reads a number; the one that the model has anyway, where it is one, is not stated."""
    return lambda value: 0 if value == begun else value
