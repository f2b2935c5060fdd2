"""All terms and their meanings, in a popover."""

from __future__ import annotations

import streamlit as st

from viz.shared import terms, texts


def terms_list() -> None:
    """Mounts the button that opens them."""
    with st.popover("Terms", width="stretch"):
        texts.write(terms.listed())
