"""What What if shows first."""

from __future__ import annotations

from viz import cache, experiments, theme
from viz.view import unedited
from viz.what_if import parts


def ahead(page_data: cache.PageData, mode: theme.Mode) -> None:
    view, trace = page_data.view, page_data.analysis.trace
    if any(view.place.covers(*site) for site in trace.patterns):
        costs = experiments.head_effects.known(unedited(page_data.request), view.device, None)
        parts.board(page_data.request, view.device, view.place, mode, costs)
