"""What What if shows first."""

from __future__ import annotations

from viz import cache, computations, theme
from viz.state.view import without_edits
from viz.what_if import what_if_parts


def ahead(page_data: cache.PageData, mode: theme.Mode) -> None:
    view, trace = page_data.view, page_data.analysis.trace
    if any(view.place.covers_layer(*site) for site in trace.patterns):
        costs = computations.head_effects.known(without_edits(page_data.request), view.device, None)
        what_if_parts.board(page_data.request, view.device, view.place, mode, costs)
