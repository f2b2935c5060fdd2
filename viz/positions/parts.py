"""The parts of the page Positions, one below the other."""

from __future__ import annotations

from viz import state
from viz.positions import in_lecture, scheme_part, sentence_part
from viz.shared.shown import Places, Shown
from viz.view import View


def draw(shown: Shown) -> None:
    """A scheme by itself; what it does to this sentence; what would come of another."""
    with shown.places.body:
        shown.notes()
        scheme_part.scheme_part(shown.view, shown.mode)
        sentence_part.sentence_part(shown.page_data, shown.view, shown.mode)
        sentence_part.variants_part(shown.page_data, shown.view)


def without_sentence(view: View, places: Places) -> None:
    """A scheme by itself needs no sentence."""
    if view.lecture:
        in_lecture.without_sentence(view, places, state.theme_mode())
        return
    with places.body:
        scheme_part.scheme_part(view, state.theme_mode())
