"""A server that was started anew hears of a page that is still open before the visitor does anything there.

Measured with a server that restarts under an open page: without this fragment the first click there is lost.
"""

from __future__ import annotations

import streamlit as st

DAY = 86_400  # s


@st.fragment(run_every=DAY)
def reconnect() -> None:
    """Draws nothing. A page on which something runs from time to time asks for a run as soon as it reaches the server again:
    else a new server would know none of its widgets, and the first thing that is done there would be lost."""
