"""Inside: how is one number made?"""

from __future__ import annotations

import streamlit as st

from viz.frame import show
from viz.inside import neighbours, one_head, tokens
from viz.inside.length_part import MEASURE, MEMORY, PATTERNS, SECONDS, WAYS
from viz.inside.lens_part import LENS, LENS_STEP
from viz.inside.model_map import MAP
from viz.inside.neighbours import NEIGHBOUR_NOTES, NEIGHBOURS
from viz.inside.scale_part import GRADIENT, LARGEST, LEGEND, SCALING_NUMBERS, VARIANCE
from viz.inside.sizes import SIZE
from viz.inside.stages import STAGES
from viz.inside.tokens import TOKENS
from viz.inside.writers import WRITERS
from viz.kit.panel import Layout
from viz.page_context import PageContext
from viz.state import session
from viz.state.page_fields import PARTS

TITLES = ("One head", "Why there?", "Map", "Why √dₖ?", "Length", "Logit lens", "Tokens", "Embeddings")  # of PARTS
CONTROLS = {  # above the panels of a part, also if they have no result
    "stages": one_head.draw_head_picks,
    "writers": one_head.draw_head_picks,
    "scale": one_head.draw_site_picks,
    "tokens": tokens.draw_word_box,
    "embeddings": neighbours.draw_word_box,
}


def _controls(context: PageContext) -> None:
    """Draws the choice of the part, and the controls of that part."""
    st.segmented_control(
        "Part",
        PARTS,
        required=True,
        format_func=dict(zip(PARTS, TITLES, strict=True)).__getitem__,
        label_visibility="collapsed",
        **session.bind("part", "part", context.view.part, write=lambda part: session.change(part=part, large=1)),
    )
    if draw := CONTROLS.get(context.view.part):
        draw(context)


LAYOUT = Layout(
    (
        (STAGES,),
        (WRITERS,),
        (MAP,),
        (SIZE,),
        (LEGEND,),
        (VARIANCE, LARGEST, GRADIENT),
        (SCALING_NUMBERS,),
        (MEASURE,),
        (SECONDS, MEMORY),
        (WAYS,),
        (PATTERNS,),
        (LENS,),
        (LENS_STEP,),
        (TOKENS,),
        (NEIGHBOURS,),
        (NEIGHBOUR_NOTES,),
    ),
    _controls,
)

if __name__ == "__main__":
    show.show("inside")
