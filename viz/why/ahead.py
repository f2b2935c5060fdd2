"""What Why shows first: the difference as a sum."""

from __future__ import annotations

from viz import cache, readings, theme
from viz.why import likely


def ahead(page_data: cache.PageData, mode: theme.Mode) -> None:
    view = likely.look(page_data.view.within(len(page_data.analysis.trace.places)), page_data)
    readings.direct_logits(page_data.request, view.device, *likely.asked(view, page_data), likely.chosen(view, page_data))
