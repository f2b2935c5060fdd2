"""What Inside shows first of the part that is chosen."""

from __future__ import annotations

from viz import cache, theme
from viz.inside import lens_part, one_head, stages


def ahead(page_data: cache.PageData, mode: theme.Mode) -> None:
    view, request = page_data.view, page_data.request
    if view.part == "lens":
        lens_part.drawn(request, view.device, view.step - 1, mode)
    elif view.part in ("stages", "writers"):
        stages.unfolded(request, view.device, *one_head.place(page_data, view), mode)
