"""Reconnects an open page to a restarted server. Without this fragment the first click after a restart is lost."""

from __future__ import annotations

import streamlit as st

DAY = 86_400  # s


@st.fragment(run_every=DAY)
def reconnect() -> None:
    """Draws nothing. A page with a timed fragment requests a run of a new server, which then knows its widgets."""
