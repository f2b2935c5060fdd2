"""What Positions shows of the sentence."""

from __future__ import annotations

from viz import cache, readings, theme
from viz.positions.schemes import side_of
from viz.view import unedited


def ahead(page_data: cache.PageData, mode: theme.Mode) -> None:
    readings.sentence_positions(unedited(page_data.request), page_data.view.device, side_of(page_data.view))
