"""Translate in lecture mode: the steps, large."""

from __future__ import annotations

from viz.shared.shown import Shown
from viz.translate import fill_in, steps


def draw(shown: Shown) -> None:
    """The steps of decoding, or of filling in, over the whole page."""
    with shown.places.notes:
        shown.notes()
    with shown.places.body:
        first = steps if shown.analysis.task.writes else fill_in
        first.draw(shown.view, shown.page_data, shown.mode)
