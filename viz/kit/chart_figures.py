"""Plotly figures as plain data: probabilities before and after an edit, maps, and the surprise at each token."""

from __future__ import annotations

import contextlib
import html
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz import theme


class Figure(go.Figure):
    """A finished figure. Streamlit reads its values at every run, so they are copied once."""

    def to_dict(self) -> dict[str, Any]:
        return self._values

    @cached_property
    def _values(self) -> dict[str, Any]:
        return super().to_dict()


class Drawing:
    """Collects traces and layout, with the methods of a Plotly figure."""

    def __init__(self, *traces: dict[str, Any]) -> None:
        self.data = list(traces)
        self.layout: dict[str, Any] = {}

    def add_scatter(self, **properties: Any) -> None:
        self.data.append({"type": "scatter"} | properties)

    def add_bar(self, **properties: Any) -> None:
        self.data.append({"type": "bar"} | properties)

    def add_shape(self, **properties: Any) -> None:
        self.layout.setdefault("shapes", []).append(properties)

    def add_vrect(self, x0: float, x1: float, **properties: Any) -> None:
        """A rectangle from the bottom of the chart to its top."""
        self.add_shape(type="rect", x0=x0, x1=x1, y0=0, y1=1, xref="x", yref="y domain", **properties)

    def add_hline(self, y: float, **properties: Any) -> None:
        """A line from one side of the chart to the other."""
        self.add_shape(type="line", x0=0, x1=1, y0=y, y1=y, xref="x domain", yref="y", **properties)

    def add_annotation(self, **properties: Any) -> None:
        self.layout.setdefault("annotations", []).append(properties)

    def update_xaxes(self, **properties: Any) -> None:
        self.layout.setdefault("xaxis", {}).update(properties)

    def update_yaxes(self, **properties: Any) -> None:
        self.layout.setdefault("yaxis", {}).update(properties)

    def update_layout(self, properties: dict[str, Any] | None = None, **more: Any) -> None:
        self.layout |= (properties or {}) | more

    def figure(self) -> Figure:
        """Returns the finished figure.

        Plotly looks at pandas if any thread has begun to import it, as Streamlit does at its first component; the import
        here waits until that is done.
        """
        with contextlib.suppress(ImportError):
            import pandas  # noqa: F401
        return Figure({"data": self.data, "layout": self.layout}, _validate=False)


def heatmap(**properties: Any) -> dict[str, Any]:
    """Returns a heatmap trace with cells counted from 0 and without a colour bar."""
    return {"type": "heatmap", "x0": 0, "dx": 1, "y0": 0, "dy": 1, "showscale": False} | properties


def change_chart(
    labels: Sequence[str],
    before: np.ndarray,
    after: np.ndarray,
    comparable: int,
    mode: theme.Mode,
    height: int = 220,
    chosen: int | None = None,
) -> go.Figure:
    """Returns a chart of probabilities before (hollow) and after (filled), joined by a stem in the hue of loss or gain.

    Args:
        labels, before: all T steps of the baseline.
        after: at least the first `comparable` steps; later steps are greyed out.
        chosen: the chosen step.

    Raises ValueError if `after` is too short.
    """
    if len(after) < comparable or len(labels) != len(before):
        raise ValueError(f"{len(labels)} labels, {len(before)} and {len(after)} values for {comparable} comparable steps")
    colours = theme.PALETTES[mode]
    steps = np.arange(len(labels))
    labels = [html.escape(label, quote=False) for label in labels]
    seen = steps[:comparable]
    after = after[:comparable]
    drawing = Drawing()
    for sign, hue in ((-1, colours.loss), (1, colours.gain)):
        moved = [i for i in seen if sign * (after[i] - before[i]) > 0]
        x = [v for i in moved for v in (i, i, None)]
        y = [v for i in moved for v in (float(before[i]), float(after[i]), None)]
        drawing.add_scatter(x=x, y=y, mode="lines", line={"color": hue, "width": 4}, hoverinfo="skip")
    inks = [colours.loss_ink if a < b else colours.gain_ink for a, b in zip(after, before[:comparable], strict=True)]
    text = [f"<b>{labels[i]}</b><br>before {before[i]:.6f}<br>after {after[i]:.6f}" for i in seen]
    dot = {"size": 9, "line": {"width": 1.5, "color": colours.ink}, "color": colours.page}
    drawing.add_scatter(x=seen, y=before[:comparable], mode="markers", marker=dot, hoverinfo="text", hovertext=text)
    drawing.add_scatter(x=seen, y=after, mode="markers", marker={"size": 8, "color": inks}, hoverinfo="text", hovertext=text)
    if comparable < len(labels):
        _grey_out(drawing, comparable, len(labels), colours)
    if chosen is not None and chosen < len(labels):
        labels = [f"<b>{label}</b>" if i == chosen else label for i, label in enumerate(labels)]
        line = {"color": colours.ink, "width": 1}
        drawing.add_vrect(x0=chosen - 0.5, x1=chosen + 0.5, fillcolor="rgba(0,0,0,0)", line=line, layer="below")
    _axes(drawing, labels, steps, colours)
    drawing.update_layout(theme.chart_layout(mode, height, l=28, t=8, r=8, b=62), plot_bgcolor="rgba(0,0,0,0)")
    return drawing.figure()


def _grey_out(drawing: Drawing, comparable: int, count: int, colours: theme.Palette) -> None:
    """Greys out the steps without a comparison and says why."""
    drawing.add_vrect(x0=comparable - 0.5, x1=count - 0.5, fillcolor=colours.mute, line={"width": 0}, layer="below")
    narrow = (count - comparable) / count < 0.3
    drawing.add_annotation(
        x=(comparable + count) / 2 - 0.5,
        y=0.5,
        text="no comparison" if narrow else "different prefixes:<br>no comparison",
        textangle=-90 if narrow else 0,
        showarrow=False,
        font={"color": colours.ink2, "size": 12},
    )


def _axes(drawing: Drawing, labels: Sequence[str], steps: np.ndarray, colours: theme.Palette) -> None:
    font = {"size": 11, "color": colours.ink2, "family": theme.SANS}
    drawing.update_xaxes(
        range=[-0.6, len(labels) - 0.4],
        tickvals=steps,
        ticktext=labels,
        tickangle=-60,
        tickfont=font,
        showgrid=False,
        zeroline=False,
        fixedrange=True,
        showticklabels=len(labels) <= 60,
    )
    drawing.update_yaxes(
        range=[-0.03, 1.03], tickvals=[0, 0.5, 1], tickfont=font, gridcolor=colours.line, zeroline=False, fixedrange=True
    )


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


def surprise_chart(
    labels: Sequence[str],
    bits: np.ndarray,
    expected: Sequence[tuple[str, float] | None],
    mode: theme.Mode,
    height: int = 230,
) -> go.Figure:
    """A bar for each of T tokens: its surprise, -log2 of its probability. `expected` holds, for each, the token that the
    model would have said and its probability, or None where that is the same: it is written above the bar.

    Raises ValueError where the lengths differ.
    """
    if not len(labels) == len(bits) == len(expected):
        raise ValueError(f"{len(labels)} labels, {len(bits)} values and {len(expected)} expected tokens; expected as many")
    colours = theme.PALETTES[mode]
    shown = [html.escape(label, quote=False) for label in labels]
    rather = [html.escape(each[0], quote=False) if each else "" for each in expected]
    hover = [
        f"<b>{shown[i]}</b><br>{bits[i]:.3f} bits, probability {2.0 ** -bits[i]:.5f}"
        + (f"<br>expected: {rather[i]} ({each[1]:.3f})" if each else "<br>the likeliest")
        for i, each in enumerate(expected)
    ]
    top = max(1.0, float(bits.max(initial=0.0)))
    drawing = Drawing()
    drawing.add_bar(
        x=np.arange(len(shown)),
        y=bits,
        marker={"color": [colours.ink if each else colours.bar for each in expected]},
        width=0.62,
        text=rather if len(shown) <= 40 else None,
        textposition="outside",
        cliponaxis=False,
        textfont={"color": colours.ink, "size": 12, "family": theme.MONO},
        hoverinfo="text",
        hovertext=hover,
    )
    font = {"size": 12, "color": colours.ink2, "family": theme.SANS}
    drawing.update_xaxes(
        range=[-0.6, len(shown) - 0.4],
        tickvals=np.arange(len(shown)),
        ticktext=shown,
        tickangle=-60 if len(shown) > 12 else 0,
        tickfont=font,
        showgrid=False,
        zeroline=False,
        fixedrange=True,
        showticklabels=len(shown) <= 60,
    )
    drawing.update_yaxes(
        range=[0, top * 1.18],
        title={"text": "bits", "font": font},
        tickfont=font,
        nticks=5,
        gridcolor=colours.line,
        zeroline=False,
        fixedrange=True,
    )
    drawing.update_layout(theme.chart_layout(mode, height, l=44, t=20, r=8, b=62), plot_bgcolor="rgba(0,0,0,0)")
    return drawing.figure()
