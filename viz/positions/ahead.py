"""What Positions shows of the sentence."""

from __future__ import annotations

from viz import cache, computations, theme
from viz.positions.schemes import side_of
from viz.state.view import without_edits


def ahead(page_data: cache.PageData, mode: theme.Mode) -> None:
    computations.sentence_positions(without_edits(page_data.request), page_data.view.device, side_of(page_data.view))
