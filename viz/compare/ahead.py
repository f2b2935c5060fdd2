"""What Compare shows first: the other side."""

from __future__ import annotations

from viz import cache, theme
from viz.compare import distance
from viz.compare.pair import pair


def ahead(page_data: cache.PageData, mode: theme.Mode) -> None:
    distance.grids(pair(page_data.view, page_data))
