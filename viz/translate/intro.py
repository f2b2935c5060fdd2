"""What this is, in one line for who has just come; and the ways in: the tour, once, and the lessons."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import streamlit as st

from viz import pages
from viz.shared import texts, tour

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from model.checkpoint import Checkpoint


def head(page: pages.Page) -> DeltaGenerator:
    """The title, the line in place of a question, and the offer of the tour; returns the place of the line, which says more
    once the model is known."""
    with st.container(key="welcome", horizontal=True, vertical_alignment="center", gap="small"):
        texts.write(f'<header class="lab-head"><h1>{page.title}</h1></header>', inline=True)
        place = st.empty()
        tour.invitation()
    line(place, None)
    return place


def line(place: DeltaGenerator, loaded: Checkpoint | None) -> None:
    """Writes the line into its place."""
    with place:
        texts.write(f'<p class="lab-intro">{html.escape(what_it_is(loaded))}</p>', inline=True)


def what_it_is(loaded: Checkpoint | None) -> str:
    """What this is, in a sentence with the numbers of a checkpoint; without one, what holds of all of them."""
    if loaded is None:
        return "A small, real Transformer that you can watch at work: press → and follow it."
    count = loaded.model.parameter_count
    size = f"{count / 1e6:.1f}-million" if count >= 1e5 else f"{count:,}"
    if "cross" not in loaded.config.kinds:
        return f"A real {size}-parameter Transformer, trained from scratch: press → and follow it."
    source, target = loaded.languages
    return f"A real {size}-parameter translator from {source} to {target}, trained from scratch: press → and watch it write."
