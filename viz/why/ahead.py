"""What Why shows first: the difference as a sum."""

from __future__ import annotations

from viz import cache, readings, theme
from viz.why import likely


def ahead(page_data: cache.PageData, mode: theme.Mode) -> None:
    view, trace = page_data.view, page_data.analysis.trace
    if likely.is_made(trace):
        readings.direct_logits(page_data.request, view.device, *likely.asked(view, trace), likely.chosen(view, trace))
