"""Plotly maps for the notebook and for Inside: queries are rows, keys are columns."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.kit.chart_figures import Drawing, heatmap

LABEL_CELL = 8  # px: below this a cell's label is left out, and read on hover


def attention_map(
    values: np.ndarray,
    allowed: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    kind: str,
    mode: theme.Mode,
    width: int = 248,
    height: int = 256,
) -> go.Figure:
    """Returns a heatmap of one pattern [T,S] on a scale from 0 to 1. Masked cells are blank, and a line encloses the others.

    The labels fit `width` and `height`; `chart_labels.js` fits them to the real size of the map. Axes are numeric with the
    tokens as tick labels, since categories would merge repeated words. Raises ValueError where the labels do not fit.
    """
    rows, columns = allowed.shape
    if (rows, columns) != (len(queries), len(keys)):
        raise ValueError(
            f"a map of {rows} x {columns} with {len(queries)} and {len(keys)} labels; expected one for each row and column"
        )
    values = np.where(allowed, values, np.nan).astype(np.float32)
    hover = "<b>%{y}</b> looks at <b>%{x}</b><br>weight %{z:.6f}<extra></extra>"
    heat = heatmap(z=values, zmin=0, zmax=1, colorscale=theme.plotly_scale(kind, mode), hovertemplate=hover)
    colours = theme.PALETTES[mode]
    left = 14 + round(5.4 * min(18, max(map(len, queries))))
    top = 10 + round(4.6 * min(10, max(map(len, keys))))
    drawing = Drawing(heat | {"xgap": 0.5, "ygap": 0.5, "hoverongaps": False})
    axis = {"showgrid": False, "zeroline": False, "ticks": "", "fixedrange": True}
    font = {"size": 10.5, "color": colours.ink2, "family": theme.SANS}
    across = (width - left - 24) / columns >= LABEL_CELL
    down = (height - top - 6) / rows >= LABEL_CELL
    drawing.update_xaxes(
        **axis,
        range=[-0.5, columns - 0.5],
        side="top",
        tickangle=-60,
        tickfont=font,
        tickvals=list(range(columns)),
        ticktext=[_label(k) for k in keys],
        showticklabels=across,
    )
    drawing.update_yaxes(
        **axis,
        range=[rows - 0.5, -0.5],
        tickfont=font,
        tickvals=list(range(rows)),
        ticktext=[_label(q) for q in queries],
        showticklabels=down,
    )
    drawing.add_scatter(**_outline(allowed), mode="lines", line={"color": colours.border, "width": 1}, hoverinfo="skip")
    drawing.update_layout(
        theme.chart_layout(mode, height, l=left if down else 12, t=top if across else 12, r=24, b=6),
        modebar={"bgcolor": colours.page, "color": colours.ink3, "activecolor": colours.ink, "orientation": "h"},
        meta={"height": height},
    )
    return drawing.figure()


def _label(token: str) -> str:
    """Returns a token for an axis, escaped since `<s>` would vanish as markup."""
    return html.escape(token, quote=False)


def _outline(allowed: np.ndarray) -> dict[str, list[float | None]]:
    """Returns the border between allowed and forbidden cells as one broken line."""
    framed = np.pad(allowed, 1)
    x: list[float | None] = []
    y: list[float | None] = []
    for i, j in np.argwhere(framed[:, 1:] != framed[:, :-1]):  # vertical edges, left of column j
        x += [j - 0.5, j - 0.5, None]
        y += [i - 1.5, i - 0.5, None]
    for i, j in np.argwhere(framed[1:] != framed[:-1]):  # horizontal edges, above row i
        x += [j - 1.5, j - 0.5, None]
        y += [i - 0.5, i - 0.5, None]
    return {"x": x, "y": y}
