"""What Positions shows of the sentence."""

from __future__ import annotations

from viz import computations, theme
from viz.page_context import PageContext
from viz.positions.schemes import side_of
from viz.state.view import without_edits


def ahead(context: PageContext, mode: theme.Mode) -> None:
    computations.sentence_positions(without_edits(context.request), context.view.device, side_of(context.view))
