"""What Compare shows first: the other side."""

from __future__ import annotations

from viz import theme
from viz.compare import distance
from viz.compare.pair import pair
from viz.page_context import PageContext


def ahead(context: PageContext, mode: theme.Mode) -> None:
    distance.grids(pair(context.view, context))
