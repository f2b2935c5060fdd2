"""What What if shows first."""

from __future__ import annotations

from viz import computations, theme
from viz.page_context import PageContext
from viz.state.view import without_edits
from viz.what_if import what_if_parts


def ahead(context: PageContext, mode: theme.Mode) -> None:
    view, trace = context.view, context.analysis.trace
    if any(view.place.covers_layer(*site) for site in trace.patterns):
        costs = computations.head_effects.known(without_edits(context.request), view.device, None)
        what_if_parts.board(context.request, view.device, view.place, mode, costs)
