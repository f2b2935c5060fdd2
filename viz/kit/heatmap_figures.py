"""Attention maps and masks: queries are rows, keys are columns."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.kit.chart_figures import Drawing, heatmap

STEP_ROW = "step row"  # the name of the frame that `step_rows` moves
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
    former: np.ndarray | None = None,
    labelled: bool = True,
    step_row: bool = False,
) -> go.Figure:
    """A heatmap of one pattern [T,S] on a scale from 0 to 1; forbidden cells are blank and the rest is outlined.

    `former` is the mask before an edit, where there was one: its border is drawn as a dashed line. Without `labelled` the
    tokens are read on hover alone, or over the full screen. The labels fit `width` and `height`; `chart_labels.js` fits them
    to the size that the map really has. With `step_row` there is a frame around the first row, not to be seen: the browser
    moves it to the step, where it is shown, so the spec is the same at every step.
    Axes are numeric with the tokens as tick labels, for categories would merge repeated words.
    Raises ValueError where the labels do not fit the values.
    """
    values = np.where(allowed, values, np.nan).astype(np.float32)
    hover = "<b>%{y}</b> looks at <b>%{x}</b><br>weight %{z:.6f}<extra></extra>"
    heat = heatmap(z=values, zmin=0, zmax=1, colorscale=theme.plotly_scale(kind, mode), hovertemplate=hover)
    return _map(heat, allowed, queries, keys, mode, width, height, former, labelled, step_row)


def difference_map(
    values: np.ndarray,
    allowed: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    mode: theme.Mode,
    width: int = 248,
    height: int = 256,
    labelled: bool = True,
    step_row: bool = False,
) -> go.Figure:
    """Returns a map of after minus before [T,S], coloured symmetrically about 0; cells that both masks forbid are blank."""
    values = np.where(allowed, values, np.nan).astype(np.float32)
    limit = max(0.01, float(np.nanmax(np.abs(values)))) if allowed.any() else 1.0
    hover = "<b>%{y}</b> looks at <b>%{x}</b><br>change %{z:.6f}<extra></extra>"
    scale = theme.plotly_scale("difference", mode)
    heat = heatmap(z=values, zmin=-limit, zmax=limit, colorscale=scale, hovertemplate=hover)
    return _map(heat, allowed, queries, keys, mode, width, height, None, labelled, step_row)


def mask_map(
    allowed: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    mode: theme.Mode,
    width: int = 248,
    height: int = 256,
    former: np.ndarray | None = None,
    step_row: bool = False,
) -> go.Figure:
    """Returns a map of a mask [T,S]: allowed cells filled, forbidden ones blank; other arguments as `attention_map`."""
    values = np.where(allowed, 1.0, np.nan).astype(np.float32)
    colour = theme.PALETTES[mode].bar
    hover = "<b>%{y}</b> may look at <b>%{x}</b><extra></extra>"
    heat = heatmap(z=values, zmin=0, zmax=1, colorscale=[[0, colour], [1, colour]], hovertemplate=hover)
    return _map(heat, allowed, queries, keys, mode, width, height, former, True, step_row)


def _map(
    heat: dict[str, Any],
    allowed: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    mode: theme.Mode,
    width: int,
    height: int,
    former: np.ndarray | None,
    labelled: bool,
    step_row: bool,
) -> go.Figure:
    rows, columns = allowed.shape
    if (rows, columns) != (len(queries), len(keys)):
        raise ValueError(
            f"a map of {rows} x {columns} with {len(queries)} and {len(keys)} labels; expected one for each row and column"
        )
    colours = theme.PALETTES[mode]
    longest_query = max(map(len, queries))
    left = 14 + round(5.4 * min(18, longest_query))
    top = 10 + round(4.6 * min(10, max(map(len, keys))))
    drawing = Drawing(heat | {"xgap": 0.5, "ygap": 0.5, "hoverongaps": False})
    axis = {"showgrid": False, "zeroline": False, "ticks": "", "fixedrange": True}
    font = {"size": 10.5, "color": colours.ink2, "family": theme.SANS}
    across = labelled and (width - left - 24) / columns >= LABEL_CELL
    down = labelled and (height - top - 6) / rows >= LABEL_CELL
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
    if former is not None and not np.array_equal(former, allowed):
        line = {"color": colours.ink, "width": 1.2, "dash": "dot"}
        drawing.add_scatter(**_outline(former), mode="lines", line=line, hoverinfo="skip")
    drawing.update_layout(
        theme.chart_layout(mode, height, l=left if down else 12, t=top if across else 12, r=24, b=6),
        modebar={"bgcolor": colours.page, "color": colours.ink3, "activecolor": colours.ink, "orientation": "h"},
        meta={"height": height, "isUnlabelled": not labelled},
    )
    if step_row:
        edges = {"x0": -0.5, "x1": columns - 0.5, "y0": -0.5, "y1": 0.5}
        line = {"color": colours.ink, "width": 1.5}
        drawing.add_shape(type="rect", name=STEP_ROW, **edges, line=line, opacity=0, layer="above")
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
