"""Inside: how is one number made?"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from viz import cache, state, theme
from viz.inside import embeddings_part, lens_part, map_part, scale_part, stages_part
from viz.shared import controls, edit_list, texts
from viz.view import View

# A part of the page: how it is called, and what draws it.
PARTS: dict[str, tuple[str, Callable[[cache.PageData, View, theme.Mode], None]]] = {
    "stages": ("One head", stages_part.draw),
    "map": ("Map", map_part.draw),
    "scale": ("Why √dₖ?", scale_part.draw),
    "lens": ("Logit lens", lens_part.draw),
    "embeddings": ("Embeddings", embeddings_part.draw),
}


def main() -> None:
    state.leave()
    view, faults = state.open_view("inside")
    controls.title_row(view, "Inside", "How is one number made?", (300, 560, 96))
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
        state.settle(view)
        return
    view = page_data.view.within(len(page_data.analysis.trace.outputs))
    with body:
        st.segmented_control(
            "Part",
            list(PARTS),
            required=True,
            format_func=lambda name: PARTS[name][0],
            label_visibility="collapsed",
            **state.bind("part", "part", view.part),
        )
        texts.sentence_notes(page_data.analysis.notes, (*faults, *page_data.faults))
        edit_list.other_edits(view, page_data.analysis)
        PARTS[view.part][1](page_data, view, state.theme_mode())
    state.settle(view)


main()
