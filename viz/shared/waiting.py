"""What a visitor reads while others are served first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from viz import turns
from viz.shared import texts


@contextmanager
def queue() -> Iterator[None]:
    """Says how many stand before, where something waits for its turn; a run whose visitor has left ends at that moment."""
    with st.container(key="queue"):
        place = st.empty()

    def told(before: int) -> None:
        with place:
            if before:
                texts.write(f'<p class="lab-note">Many are at work here: waiting, {before} before you.</p>')
            else:
                place.empty()

    with turns.hearing(told):
        yield
