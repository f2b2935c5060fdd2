"""The parts of the page Compare: what differs, and the two sides as maps or by patching."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from viz import state
from viz.compare import choices, maps_part, patching
from viz.compare.pair import NotChosenError, Pair, pair
from viz.page_fields import COMPARED
from viz.shared import controls, texts
from viz.shared.shown import Shown

# A part of the page: how it is called, and what draws it.
PARTS: dict[str, tuple[str, Callable[[Shown, Pair], None]]] = {
    "maps": ("Side by side", maps_part.draw),
    "patching": ("Patching", patching.draw),
}


def draw(shown: Shown) -> None:
    """What differs and which part; the second side's choice; that part, or why there is no second side."""
    view = shown.view
    with shown.places.body:
        with st.container(key="compare_row", horizontal=True, vertical_alignment="center", gap="small"):
            texts.label("What differs")
            choices.differs_pick(shown)
            st.space("stretch")
            st.segmented_control(
                "Part",
                [name for name in PARTS if name in (COMPARED[0], view.compared) or not shown.analysis.task.judges],
                required=True,
                format_func=lambda name: PARTS[name][0],
                label_visibility="collapsed",
                **state.bind("compare part", "compared", view.compared),
            )
        choices.CHOICES[view.differs](shown)
        shown.notes()
        controls.given_target(view)
        try:
            found = pair(view, shown.page_data)
        except NotChosenError as missing:
            texts.note(str(missing))
            choices.way_out(shown)
            return
        except ValueError as fault:
            texts.fault(str(fault))
            return
        texts.sentence_notes((), found.faults)
        PARTS[view.compared][1](shown, found)
