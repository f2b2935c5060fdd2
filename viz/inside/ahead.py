"""What Inside shows first of the part that is chosen."""

from __future__ import annotations

from viz import theme
from viz.inside import lens_part, one_head, stages
from viz.page_context import PageContext


def ahead(context: PageContext, mode: theme.Mode) -> None:
    view, request = context.view, context.request
    if view.part == "lens":
        lens_part.drawn(request, view.device, view.step, mode)
    elif view.part in ("stages", "writers"):
        stages.unfolded(request, view.device, *one_head.place(context, view), mode)
