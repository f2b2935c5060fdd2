"""Positions: how does it know the order?"""

from __future__ import annotations

import streamlit as st

from viz import cache, state
from viz.positions import controls as position_controls
from viz.shared import controls, edit_list, texts


def main() -> None:
    view, faults = state.open_view("positions")
    controls.title_row(view, "Positions", "How does it know the order?", (300, 560, 96))
    body = st.container()
    try:
        with body, texts.waiting():
            page_data = cache.page_data(view)
    except ValueError as fault:
        with body:
            texts.sentence_notes((), faults)
            texts.fault(str(fault))
            controls.way_out(view)
            edit_list.rescue(view)
            position_controls.scheme_part(view, state.theme_mode())  # needs no sentence
        state.settle(view)
        return
    view = page_data.view.within(len(page_data.analysis.trace.outputs))
    with body:
        texts.sentence_notes(page_data.analysis.notes, (*faults, *page_data.faults))
        edit_list.other_edits(view, page_data.analysis)
        mode = state.theme_mode()
        position_controls.scheme_part(view, mode)
        position_controls.sentence_part(page_data, view, mode)
        position_controls.variants_part(page_data, view)
    state.settle(view)


main()
