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
            look = cache.look(view)
    except ValueError as fault:
        with body:
            texts.sentence_notes((), faults)
            texts.fault(str(fault))
            controls.way_out(view)
            edit_list.rescue(view)
            position_controls.scheme_part(view, state.theme_mode())  # needs no sentence
        state.settle(view)
        return
    view = look.view.within(len(look.analysis.trace.outputs))
    with body:
        texts.sentence_notes(look.analysis.notes, (*faults, *look.faults))
        edit_list.other_edits(view, look.analysis)
        mode = state.theme_mode()
        position_controls.scheme_part(view, mode)
        position_controls.sentence_part(look, view, mode)
        position_controls.variants_part(look, view)
    state.settle(view)


main()
