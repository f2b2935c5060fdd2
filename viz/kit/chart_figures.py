"""Plotly figures as plain data, and the chart of probabilities before and after an edit.

Plotly's builders check every property, 24 ms for a map. The tests check every figure instead.
"""

from __future__ import annotations

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
