"""Plotly figures of an analysis, with the tokens of both axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import plotly.graph_objects as go

from model.trace import Site
from viz import theme
from viz.kit import chart_figures

if TYPE_CHECKING:
    from model.inference.analysis import Analysis

CELL = 24  # px
ROOM = 150  # px for labels and title
MIN_SIZE, MAX_SIZE = 320, 900


def attention_map(
    analysis: Analysis, site: Site, head: int | None = None, mode: theme.Mode = "light", cell: int = CELL
) -> go.Figure:
    """Returns the attention map of a head on a scale from 0 to 1; rows are queries, columns are keys.

    Layer and head count from 0; None is the mean over heads. Masked cells are blank. `cell` is the cell width in px, within
    the limits of the figure size. Raises ValueError for a site or head that does not exist.
    """
    trace = analysis.trace
    if site not in trace.patterns:
        raise ValueError(
            f"There is no {site.spec.name} in layer {site.layer}; it has {len(trace.sites(site.kind))} layers, from 0."
        )
    count = len(trace.patterns[site])
    if head is not None and not 0 <= head < count:
        raise ValueError(f"There is no head {head}; expected one of 0 to {count - 1}, or None for their mean.")
    seen = trace.view(site, head)
    width, height = (min(MAX_SIZE, max(MIN_SIZE, ROOM + cell * len(side))) for side in (seen.keys, seen.queries))
    sizes = {"width": width, "height": height, "mode": mode}
    figure = chart_figures.attention_map(seen.values, seen.allowed, seen.queries, seen.keys, site.kind, **sizes)
    figure = go.Figure(figure)
    title = site.head_name(head)
    top = (figure.layout.margin.t or 0) + 40
    return figure.update_layout(width=width, height=height, margin_t=top, title={"text": title, "x": 0.02, "font_size": 15})
