"""Positions: how does it know the order?

The parts of the page Positions, one below the other."""

from __future__ import annotations

from viz.frame import show
from viz.kit import edit_list
from viz.page_context import PageContext, Places
from viz.positions import in_lecture, schemes, sentence_part, tables
from viz.state import session
from viz.state.view import View


def draw(context: PageContext) -> None:
    """A scheme by itself; what it does to this sentence; what would come of another."""
    with context.places.body:
        edit_list.draw_notes(context)
        schemes.scheme_part(context.view, context.mode)
        sentence_part.sentence_part(context, context.view, context.mode)
        sentence_part.variants_part(context, context.view)


def without_sentence(view: View, places: Places) -> None:
    """A scheme by itself needs no sentence."""
    if view.lecture:
        in_lecture.without_sentence(view, places, session.theme_mode())
        return
    with places.body:
        schemes.scheme_part(view, session.theme_mode())


show.show(
    "positions", draw, draw_without=without_sentence, tables=tables.tables, python=tables.python, in_lecture=in_lecture.draw
)
