"""Inside: how is one number made?"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from viz import (
    cache,
    controls,
    decoding_controls,
    edit_controls,
    inside_embeddings,
    inside_lens,
    inside_map,
    inside_scale,
    inside_stages,
    state,
    texts,
    theme,
)
from viz.view import View

# A part of the page: how it is called, and what draws it.
PARTS: dict[str, tuple[str, Callable[[cache.Look, View, theme.Mode], None]]] = {
    "stages": ("One head", inside_stages.draw),
    "map": ("Map", inside_map.draw),
    "scale": ("Why √dₖ?", inside_scale.draw),
    "lens": ("Logit lens", inside_lens.draw),
    "embeddings": ("Embeddings", inside_embeddings.draw),
}


def main() -> None:
    state.leave()
    view, faults = state.open_view("inside")
    controls.title_row(view, "Inside", "How is one number made?", (300, 560, 96))
    body = st.container()
    try:
        with body, texts.waiting():
            look = cache.look(view)
    except ValueError as fault:
        with body:
            texts.sentence_notes((), faults)
            texts.fault(str(fault))
            decoding_controls.way_out(view)
            edit_controls.rescue(view)
        state.settle(view)
        return
    view = look.view.within(len(look.analysis.trace.outputs))
    with body:
        st.segmented_control(
            "Part",
            list(PARTS),
            required=True,
            format_func=lambda name: PARTS[name][0],
            label_visibility="collapsed",
            **state.bind("part", "part", view.part),
        )
        texts.sentence_notes(look.analysis.notes, (*faults, *look.faults))
        edit_controls.other_edits(view, look.analysis)
        PARTS[view.part][1](look, view, state.theme_mode())
    state.settle(view)


main()
