"""Which of a page's large pictures is shown: its buttons in the bar, and the way to the next one."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from viz import state
from viz.shared.lecture import lecture


def pick(names: Sequence[str], large: int) -> None:
    """The buttons; pictures count from 1."""
    st.segmented_control(
        "Picture",
        range(1, len(names) + 1),
        required=True,
        format_func=lambda n: names[n - 1],
        label_visibility="collapsed",
        **state.bind("large", "large", large),
    )


def turn(count: int) -> None:
    """To the next of so many pictures, after the last to the first; called from callbacks."""
    state.change(large=lecture.picture(state.current(), count) % count + 1)
