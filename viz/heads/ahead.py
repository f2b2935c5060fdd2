"""What Heads shows first."""

from __future__ import annotations

from viz import cache, theme
from viz.heads import picture


def ahead(page_data: cache.PageData, mode: theme.Mode) -> None:
    view, request = page_data.view, page_data.request
    picture.thumbnails(request, view.device, mode)
    picture.payload(request, view.device, view.within(len(page_data.analysis.trace.step_axis)), mode)
