"""What Why shows first: the difference as a sum."""

from __future__ import annotations

from viz import cache, theme
from viz.why import likely


def ahead(page_data: cache.PageData, mode: theme.Mode) -> None:
    view, trace = page_data.view, page_data.analysis.trace
    if trace.outputs is not None:
        step = view.step - 1
        cache.direct_logits(page_data.request, view.device, step, trace.outputs.ids[step], likely.chosen(view, trace))
