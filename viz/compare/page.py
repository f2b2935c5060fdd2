"""Compare: what is different, and where does it travel?

The parts of the page Compare: what differs, and the two sides as maps or by patching."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from viz.compare import choices, in_lecture, patching_part, side_by_side, tables
from viz.compare.pair import NotChosenError, Pair, pair
from viz.frame import show
from viz.kit import controls, edit_list, site_texts
from viz.page_context import PageContext
from viz.state import session
from viz.state.page_fields import COMPARED

# A part of the page: how it is called, and what draws it.
PARTS: dict[str, tuple[str, Callable[[PageContext, Pair], None]]] = {
    "maps": ("Side by side", side_by_side.draw),
    "patching": ("Patching", patching_part.draw),
}


def draw(context: PageContext) -> None:
    """What differs and which part; the second side's choice; that part, or why there is no second side."""
    view = context.view
    with context.places.body:
        with st.container(key="compare_row", horizontal=True, vertical_alignment="center", gap="small"):
            site_texts.label("What differs")
            choices.differs_pick(context)
            st.space("stretch")
            st.segmented_control(
                "Part",
                [name for name in PARTS if name in (COMPARED[0], view.compared) or not context.analysis.task.is_classifier],
                required=True,
                format_func=lambda name: PARTS[name][0],
                label_visibility="collapsed",
                **session.bind("compare part", "compared", view.compared),
            )
        choices.CHOICES[view.differs](context)
        edit_list.draw_notes(context)
        controls.target_note(view)
        try:
            found = pair(view, context)
        except NotChosenError as missing:
            site_texts.note(str(missing))
            choices.way_out(context)
            return
        except ValueError as fault:
            site_texts.fault(str(fault))
            return
        site_texts.sentence_notes((), found.faults)
        PARTS[view.compared][1](context, found)


show.show(
    "compare",
    draw,
    head=partial(show.title_row, widths=(480, 440, 96)),
    tables=tables.tables,
    python=tables.python,
    in_lecture=in_lecture.draw,
)
