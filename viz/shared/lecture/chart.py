"""A chart in lecture mode: drawn as on the page, and then enlarged as a whole, with what is pointed at. (Within what the
stylesheet zooms, Plotly would look for the pointer elsewhere than it is; a transform it knows.)"""

from __future__ import annotations

from typing import Any

import streamlit as st

from viz.shared import controls

WIDTH, HEIGHT = 1240, 666  # px at 720 lines: of the page below its bar
SCALES = {1.7: "17", 1.9: "19"}  # how many times as large a chart is drawn there, and how the stylesheet calls it


def place(scale: float) -> Any:
    """The place of charts that are enlarged so many times."""
    return st.container(key=f"hall_chart_{SCALES[scale]}")


def height(left: float, scale: float) -> int:
    """How high a chart is made to be, in its own pixels, where at 720 lines so many are left for it."""
    return round(left / scale)


def width(scale: float, beside: int = 1) -> int:
    """How wide it then is on a screen as wide as most are, `beside` one another."""
    return round(WIDTH / beside / scale)


def draw_chart(title: str, key: str, figure: Any, alt: str, **more: Any) -> None:
    """The chart; `more` goes to Streamlit."""
    st.plotly_chart(figure, theme=None, key=key, config=controls.picture(title) | {"displayModeBar": False}, alt=alt, **more)
