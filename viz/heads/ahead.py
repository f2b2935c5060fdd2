"""What Heads shows first."""

from __future__ import annotations

from viz import theme
from viz.heads import picture
from viz.page_context import PageContext


def ahead(context: PageContext, mode: theme.Mode) -> None:
    view, request = context.view, context.request
    picture.thumbnails(request, view.device, mode)
    picture.payload(request, view.device, view.within(len(context.analysis.trace.step_axis)), mode)
