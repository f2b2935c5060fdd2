"""The parts of the page Inside."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from viz import theme
from viz.inside import embeddings_part, length_part, lens_part, model_map, scale_part, stages, tokens, writers
from viz.kit import edit_list
from viz.page_context import PageContext
from viz.state import session
from viz.state.view import View

# A part of the page: how it is called, and what draws it.
PARTS: dict[str, tuple[str, Callable[[PageContext, View, theme.Mode], None]]] = {
    "stages": ("One head", stages.draw),
    "writers": ("Why there?", writers.draw),
    "map": ("Map", model_map.draw),
    "scale": ("Why √dₖ?", scale_part.draw),
    "length": ("Length", length_part.draw),
    "lens": ("Logit lens", lens_part.draw),
    "tokens": ("Tokens", tokens.draw),
    "embeddings": ("Embeddings", embeddings_part.draw),
}


def draw(context: PageContext) -> None:
    """Which part, and that part."""
    with context.places.body:
        st.segmented_control(
            "Part",
            list(PARTS),
            required=True,
            format_func=lambda name: PARTS[name][0],
            label_visibility="collapsed",
            **session.bind("part", "part", context.view.part),
        )
        edit_list.draw_notes(context)
        PARTS[context.view.part][1](context, context.view, context.mode)
