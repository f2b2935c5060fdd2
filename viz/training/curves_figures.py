"""Curves over the steps of a training: loss, scores, norms of the gradients, numbers of the heads, the learning rate.
The browser moves the line of the step."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.trace import Site
from viz import theme
from viz.kit.chart_figures import Drawing

HEIGHT = 232  # px
LINE = "training"  # the name under which `player.js` publishes its step
FEW = 12  # points, each of which is drawn as one
DASHES = ("solid", "dot", "dash", "dashdot")


@dataclass(frozen=True)
class Line:
    """Values over steps; dashes and the legend distinguish the lines."""

    name: str
    steps: Sequence[float]
    values: Sequence[float]
    hue: str = ""  # of the palette; empty: ink


def curves(
    lines: Sequence[Line],
    title: str,
    mode: theme.Mode,
    last: float,
    log_steps: bool = False,
    level: float | None = None,
    has_step: bool = True,
) -> go.Figure:
    """Lines over the steps from 0 to `last`, or on a logarithmic scale from 1; `title` names the upright axis. `level` is a
    dashed line across; `has_step` adds the line of the step. ValueError where a line's lengths differ."""
    colours, drawing = theme.PALETTES[mode], Drawing()
    for number, line in enumerate(lines):
        if len(line.steps) != len(line.values):
            raise ValueError(f"{line.name} has {len(line.steps)} steps and {len(line.values)} values; expected as many")
        drawing.add_scatter(
            x=_places(line.steps, log_steps),
            y=np.asarray(line.values, dtype=float),
            mode="lines" if len(line.steps) > FEW else "lines+markers",
            marker={"size": 6, "color": _hue(colours, line.hue)},
            cliponaxis=False,
            name=line.name,
            line={"width": 2, "color": _hue(colours, line.hue), "dash": DASHES[number % len(DASHES)]},
            hovertemplate=f"{html.escape(line.name)}<br>training step %{{customdata:,}}: %{{y:.4g}}<extra></extra>",
            customdata=np.asarray(line.steps),
        )
    if level is not None:
        drawing.add_hline(level, line={"color": colours.ink2, "width": 1, "dash": "dash"})
    if has_step:
        _step_line(drawing, colours)
    _axes(drawing, title, last, log_steps, colours)
    drawing.update_layout(theme.chart_layout(mode, HEIGHT, l=58, t=8, r=24, b=38), showlegend=True)
    return drawing.figure()


def heads_chart(
    values: Mapping[str, np.ndarray],
    steps: Sequence[int],
    chosen: tuple[str, int, int | None],
    names: Mapping[str, str],
    title: str,
    mode: theme.Mode,
    threshold: float | None,
) -> go.Figure:
    """A number [N,L,H] of every head of each kind of attention, a thin line each in its kind's hue and dashes; the chosen
    one (kind, layer from 0, head from 0 or None for the mean over its layer) in ink; the threshold as a dashed line."""
    colours, drawing = theme.PALETTES[mode], Drawing()
    x = _places(steps, True)
    for (kind, points), dash in zip(values.items(), DASHES, strict=False):
        for layer in range(points.shape[1]):
            for head in range(points.shape[2]):
                name = Site(kind, layer).head_name(head)
                drawing.add_scatter(
                    x=x,
                    y=points[:, layer, head],
                    mode="lines",
                    line={"width": 1, "color": getattr(colours, f"{kind}_ink"), "dash": dash},
                    opacity=0.6,
                    name=names[kind],
                    showlegend=not (layer or head),
                    customdata=list(steps),
                    hovertemplate=f"{name}<br>training step %{{customdata:,}}: %{{y:.3f}}<extra></extra>",
                )
    kind, layer, head = chosen
    if kind in values:
        of_layer = values[kind][:, min(layer, values[kind].shape[1] - 1)]
        own = of_layer.mean(axis=1) if head is None else of_layer[:, min(head, of_layer.shape[1] - 1)]
        drawing.add_scatter(
            x=x,
            y=own,
            mode="lines+markers",
            name="the chosen head",
            line={"width": 3, "color": colours.ink},
            marker={"size": 5, "color": colours.ink},
            customdata=list(steps),
            hovertemplate="the chosen head<br>training step %{customdata:,}: %{y:.3f}<extra></extra>",
        )
    if threshold is not None:
        drawing.add_hline(threshold, line={"color": colours.ink, "width": 1.2, "dash": "dash"})
    _step_line(drawing, colours)
    _axes(drawing, title, max(steps), True, colours)
    drawing.update_layout(theme.chart_layout(mode, HEIGHT, l=58, t=8, r=24, b=38), showlegend=True)
    return drawing.figure()


def _hue(colours: theme.Palette, name: str) -> str:
    return getattr(colours, name or "ink")


def _places(steps: Sequence[float], log_steps: bool) -> np.ndarray:
    """Steps on an axis; a logarithmic one has no 0: step 0 stands at its end."""
    points = np.asarray(steps, dtype=float)
    return np.maximum(points, 0.7) if log_steps else points


def _step_line(drawing: Drawing, colours: theme.Palette) -> None:
    line = {"color": colours.loss_ink, "width": 1.5}
    drawing.add_shape(type="line", name=LINE, x0=0, x1=0, xref="paper", y0=0, y1=1, yref="paper", line=line, opacity=1)


def _ticks(last: float, log_steps: bool) -> list[int]:
    """The steps that stand below a chart, 0 aside: round ones, and the last, which has no other near it."""
    last = max(1, round(last))
    if log_steps:
        return [*(10**n for n in range(len(str(last))) if 10**n < 0.4 * last), last]
    ten = 10 ** (len(str(last)) - 1)
    apart = next(each for each in (ten // 5, ten // 2, ten, 2 * ten) if (each and last <= 5 * each) or each == 2 * ten)
    return [*range(apart, math.ceil(last - 0.6 * apart), apart), last]


def _axes(drawing: Drawing, title: str, last: float, log_steps: bool, colours: theme.Palette) -> None:
    font: dict[str, Any] = {"size": 12, "color": colours.ink2, "family": theme.SANS}
    more: dict[str, Any] = {"range": [0, max(1, last)]}
    if log_steps:
        more = {"type": "log", "range": [math.log10(0.7), math.log10(max(2, last))]}
    ticks = _ticks(last, log_steps)
    more |= {"tickvals": [0.7 if log_steps else 0, *ticks], "ticktext": ["0", *(f"{tick:,}" for tick in ticks)]}
    axis = {"tickfont": font, "fixedrange": True, "zeroline": False}
    drawing.update_xaxes(title={"text": "training step", "font": font, "standoff": 4}, showgrid=False, **axis, **more)
    drawing.update_yaxes(
        title={"text": title, "font": font, "standoff": 4}, gridcolor=colours.line, showgrid=True, nticks=6, **axis
    )
