"""Heads: what does every head do on this sentence?"""

from __future__ import annotations

import dataclasses

import streamlit as st

from model.readings.heads.head_maps import MAP_READINGS
from model.readings.heads.head_metrics import order_label, orders
from viz.frame import show
from viz.heads.grid_panel import GRID
from viz.kit import site_texts
from viz.kit.panel import Layout
from viz.kit.patterns import linking_head
from viz.page_context import PageContext
from viz.state import session
from viz.state.view import View


def _controls(context: PageContext) -> None:
    """Draws the translation, and the choice of order and reading."""
    view = context.view
    with st.container(key="head_row", horizontal=True, vertical_alignment="center", gap="small"):
        if context.analysis.task.has_decoder:  # else the sentence in the box is the only text
            text = context.analysis.translation or "(empty: it ends at once)"
            site_texts.label(f"{context.loaded.languages[1]}: {text}")
        st.space("stretch")
        is_found = view.find is not None and linking_head(context.request, view, view.find)
        site_texts.label("Order the others by" if is_found else "Order by")
        st.selectbox(
            "Order by",
            dict.fromkeys((*orders(context.analysis.trace.has_two_sentences), view.order)),
            format_func=order_label,
            label_visibility="collapsed",
            **session.bind("order", "order", view.order),
        )
        st.segmented_control(
            "Measure",
            MAP_READINGS,
            required=True,
            format_func=str.capitalize,
            label_visibility="collapsed",
            **session.bind("measure", "measure", view.measure),
        )


def _at_best_head(view: View, context: PageContext) -> View:
    """Returns the view at the head that links two tokens best, if its link names two tokens and no head."""
    if view.find is None or session.is_in_link("layer", "head"):
        return view
    return dataclasses.replace(view, **linking_head(context.request, view, view.find))


LAYOUT = Layout(((GRID,),), _controls, choose_view=_at_best_head)

if __name__ == "__main__":
    show.show("heads")
