"""The list of edits, each with a button that removes it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from viz.kit import controls, site_texts
from viz.state import navigation
from viz.state.view import View

if TYPE_CHECKING:
    from model.inference.analysis import Analysis
    from viz.page_context import PageContext


def chips(parts: Sequence[tuple[str, str]], aside: Sequence[str] = ()) -> None:
    """Draws a button for each edit that removes it; `aside` holds the codes of impossible edits."""
    for code, text in parts:
        label = _plain(text + " (not possible here)" if code in aside else text)
        st.button(f"{label} ×", key=f"edit {code}", help="Remove this edit", on_click=navigation.toggle_edit, args=(code,))


def _plain(text: str) -> str:
    """Returns a text for a button's label, escaped, with a capital first."""
    return controls.plain_label(text[:1].upper() + text[1:])


def edit_bar(view: View, analysis: Analysis, masks: bool = True) -> None:
    """Draws the edits of a page without the editor; without `masks` all but the two mask switches."""
    edits = view.intervention if masks else dataclasses.replace(view.intervention, causal_mask=True, padding_mask=True)
    _draw_bar(edits.codes_and_texts(analysis.labels))


def edits_after_fault(view: View) -> None:
    """Draws the edits after a fault, since one of them may be its cause."""
    _draw_bar(view.intervention.codes_and_texts())


def _draw_bar(parts: Sequence[tuple[str, str]]) -> None:
    if not parts:
        return
    with st.container(key="edit_bar", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.write('<h2 class="lab-label">Edits</h2>', inline=True)
        chips(parts)
        st.button("Clear", key="clear", on_click=navigation.clear_edits)


def draw_notes(context: PageContext) -> None:
    """Draws faults, notes on the translation, and the edits."""
    site_texts.sentence_notes(context.analysis.notes, context.faults, context.analysis.warning_sentences)
    edit_bar(context.view, context.analysis)
