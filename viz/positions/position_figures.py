"""Positions: the table, curves along the positions, how alike two positions are, and what a shift does."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.io import numbers
from viz import theme
from viz.kit.chart_figures import Drawing, heatmap

HEIGHT, LARGE_HEIGHT = 320, 196  # px on the page, and before the enlargement of lecture mode
STRIP = 3.4  # from curve to curve, where a curve is 2 high
UNSEEN = "longer than all counted"
LIMIT = "over the text limit"  # where it is not known how long the training sentences were
FLOOR = 1e-9  # residuals below are drawn here: a logarithm has no zero


def dimensions(pair: int, width: int, halves: bool = False) -> list[int]:
    """The dimensions of a pair: two neighbours, or one of each half; a last one may stand alone."""
    return [pair, width // 2 + pair] if halves else [d for d in (2 * pair, 2 * pair + 1) if d < width]


def table_map(
    values: np.ndarray,
    pair: int,
    mode: theme.Mode,
    seen: int | None = None,
    beyond: str = UNSEEN,
    halves: bool = False,
    height: int = HEIGHT,
) -> go.Figure:
    """Positions [N,D], a row each, coloured symmetrically about 0; the pair of dimensions that is followed is framed in ink.
    A dashed line stands where training ends, after `seen` rows, and names what lies `beyond`.

    Raises ValueError for a pair that is not there.
    """
    count, width = values.shape
    if not 0 <= pair < (width + 1) // 2:
        raise ValueError(f"pair {pair} is asked for; there are {(width + 1) // 2}, from 0")
    hover = "position %{y}, dimension %{x}<br>%{z:.6f}<extra></extra>"
    drawing = _heat(values, hover, mode, height)
    frame = {"color": theme.PALETTES[mode].ink, "width": 1.4}
    framed = [(d, 1) for d in dimensions(pair, width, True)] if halves else [(2 * pair, 2)]  # first column, how many
    for first, columns in framed:
        drawing.add_shape(type="rect", x0=first - 0.5, x1=first + columns - 0.5, y0=-0.5, y1=count - 0.5, line=frame)
    _ends(drawing, seen, beyond, count, mode)
    _titles(drawing, "dimension", "position", mode)
    return drawing.figure()


def similarity_map(
    values: np.ndarray, mode: theme.Mode, seen: int | None = None, beyond: str = UNSEEN, height: int = HEIGHT
) -> go.Figure:
    """How alike positions are, [N,N], coloured from the least to the most; `seen` and `beyond` as in `table_map`."""
    least, most = float(values.min()), float(values.max())
    scale = {"zmin": least, "zmax": max(most, least + 1e-9), "colorscale": theme.plotly_scale("encoder", mode)}
    drawing = _heat(values, "positions %{y} and %{x}<br>%{z:.5f}<extra></extra>", mode, height, **scale)
    _ends(drawing, seen, beyond, len(values), mode)
    _titles(drawing, "position", "position", mode)
    return drawing.figure()


def _heat(values: np.ndarray, hover: str, mode: theme.Mode, height: int, **more: Any) -> Drawing:
    """A matrix whose first row is above, between minus and plus its largest entry unless `more` says otherwise."""
    rows, columns = values.shape
    most = max(1e-12, float(np.abs(values).max(initial=0.0)))
    scale = theme.plotly_scale("difference", mode)
    colours = {"zmin": -most, "zmax": most, "colorscale": scale} | more
    drawing = Drawing(heatmap(z=values.astype(np.float32), hovertemplate=hover, **colours))
    drawing.update_xaxes(range=[-0.5, columns - 0.5], **_axis(mode))
    drawing.update_yaxes(range=[rows - 0.5, -0.5], **_axis(mode))
    drawing.update_layout(theme.chart_layout(mode, height, l=42, t=4, r=6, b=34), modebar=_modebar(mode))
    return drawing


def curves(
    values: np.ndarray,
    pairs: Sequence[int],
    chosen: int,
    names: Sequence[str],
    mode: theme.Mode,
    halves: bool = False,
    height: int = HEIGHT,
) -> go.Figure:
    """A strip for each of some pairs of dimensions of the table [N,D]: the first as a line, the second dotted, along the
    positions; the chosen pair in ink. `names` stand above the strips. ValueError where the lengths differ."""
    if len(pairs) != len(names):
        raise ValueError(f"{len(pairs)} pairs with {len(names)} names; expected one each")
    colours = theme.PALETTES[mode]
    drawing, positions = Drawing(), np.arange(len(values))
    for strip, (pair, name) in enumerate(zip(pairs, names, strict=True)):
        own = dimensions(pair, values.shape[1], halves)
        two = values[:, own]
        middle = -STRIP * strip
        most = max(1e-12, float(np.abs(two).max(initial=0.0)))
        ink = colours.ink if pair == chosen else colours.bar
        for column, dash in zip(range(two.shape[1]), ("solid", "dot"), strict=False):
            line = {"color": ink, "width": 1.8 if pair == chosen else 1.4, "dash": dash}
            hover = f"position %{{x}}, dimension {own[column]}<br>%{{customdata:.6f}}<extra></extra>"
            height_of = middle + two[:, column] / most
            drawing.add_scatter(
                x=positions, y=height_of, customdata=two[:, column], mode="lines", line=line, hovertemplate=hover
            )
        text = html.escape(name, quote=False)
        drawing.add_annotation(
            x=0,
            xref="paper",
            xanchor="left",
            y=middle + 1.7,
            text=f"<b>{text}</b>" if pair == chosen else text,
            showarrow=False,
            font={"size": 11.5, "color": colours.ink if pair == chosen else colours.ink2},
        )
    drawing.update_xaxes(range=[0, max(1, len(values) - 1)], **_axis(mode))
    drawing.update_yaxes(**_axis(mode, showticklabels=False), range=[-STRIP * (len(pairs) - 1) - 1.15, 2.2])
    drawing.update_layout(theme.chart_layout(mode, height, l=8, t=4, r=10, b=34), modebar=_modebar(mode))
    _titles(drawing, "position", None, mode)
    return drawing.figure()


def distance_chart(
    mean: np.ndarray,
    least: np.ndarray,
    most: np.ndarray,
    shift: int,
    mode: theme.Mode,
    other: np.ndarray | None = None,
    height: int = HEIGHT,
) -> go.Figure:
    """Similarity by distance: the mean over all pairs that lie so far apart as a line, and a band from the least to the
    largest of them; a ring at the shift. `other` is a second line, dotted. ValueError where the lengths differ."""
    if not len(mean) == len(least) == len(most):
        raise ValueError(f"{len(mean)} means, {len(least)} least and {len(most)} largest; expected as many")
    colours = theme.PALETTES[mode]
    away = np.arange(len(mean))
    hover = [
        f"distance {d}<br>mean {mean[d]:.5f}<br>from {least[d]:.5f} to {most[d]:.5f}"
        + ("" if other is None else f"<br>random vectors {other[d]:.5f}")
        for d in away
    ]
    drawing = Drawing()
    band = {"x": np.concatenate((away, away[::-1])), "y": np.concatenate((most, least[::-1]))}
    drawing.add_scatter(**band, mode="none", fill="toself", fillcolor=colours.line, hoverinfo="skip")
    if other is not None:
        line = {"color": colours.ink3, "width": 1.4, "dash": "dot"}
        drawing.add_scatter(x=away, y=other, mode="lines", line=line, hoverinfo="skip")
    drawing.add_scatter(
        x=away, y=mean, mode="lines", line={"color": colours.gain, "width": 2}, hoverinfo="text", hovertext=hover
    )
    if shift < len(mean):
        ring = {"size": 9, "color": colours.page, "line": {"color": colours.ink, "width": 1.6}}
        drawing.add_scatter(
            x=[shift], y=[mean[shift]], mode="markers", marker=ring, hoverinfo="text", hovertext=hover[shift]
        )
    drawing.update_xaxes(range=[-0.02 * len(mean), max(1, len(mean) - 1)], **_axis(mode))
    drawing.update_yaxes(**_axis(mode, showgrid=True, gridcolor=colours.line, nticks=5))
    drawing.update_layout(theme.chart_layout(mode, height, l=42, t=8, r=10, b=34), modebar=_modebar(mode))
    _titles(drawing, "distance", None, mode)
    return drawing.figure()


def shift_chart(
    values: np.ndarray,
    rotated: np.ndarray,
    reached: np.ndarray,
    pair: int,
    shift: int,
    mode: theme.Mode,
    halves: bool = False,
    height: int = HEIGHT,
) -> go.Figure:
    """One pair of dimensions as a plane: dots where positions p + k are, rings where the map takes position p, a line where
    the two differ; the hands of position 0 and of position k in ink. `values` [N,D], the others [M,D], M may be 0."""
    colours = theme.PALETTES[mode]
    two = dimensions(pair, values.shape[1], halves)
    dots, rings = reached[:, two].astype(float), rotated[:, two].astype(float)
    drawing = Drawing()
    if len(dots):
        lines = np.stack((rings, dots, np.full_like(dots, np.nan)), axis=1).reshape(-1, 2)
        drawing.add_scatter(
            x=lines[:, 0], y=lines[:, 1], mode="lines", line={"color": colours.loss, "width": 1.4}, hoverinfo="skip"
        )
        text = [
            f"position {p} to {p + shift}<br>it is at ({d[0]:.5f}, {d[1]:.5f})<br>the map says ({r[0]:.5f}, {r[1]:.5f})"
            for p, (d, r) in enumerate(zip(dots, rings, strict=True))
        ]
        ring = {"size": 9, "color": "rgba(0,0,0,0)", "line": {"color": colours.ink2, "width": 1.1}}
        drawing.add_scatter(x=rings[:, 0], y=rings[:, 1], mode="markers", marker=ring, hoverinfo="text", hovertext=text)
        dot = {"size": 4, "color": colours.gain}
        drawing.add_scatter(x=dots[:, 0], y=dots[:, 1], mode="markers", marker=dot, hoverinfo="text", hovertext=text)
        hands = [(0, values[0, two]), *([(shift, reached[0, two])] if shift else [])]
        for name, end in hands:
            line = {"color": colours.ink, "width": 1.8}
            drawing.add_scatter(x=[0, float(end[0])], y=[0, float(end[1])], mode="lines", line=line, hoverinfo="skip")
            drawing.add_annotation(
                x=1.18 * float(end[0]),
                y=1.18 * float(end[1]),
                text=f"<b>{name}</b>",
                showarrow=False,
                font={"size": 12, "color": colours.ink},
            )
    every = np.concatenate((dots, rings, values[:, two])) if len(dots) else values[:, two]
    most = 1.32 * max(1e-9, float(np.abs(every).max(initial=0.0)))
    zero = {"zeroline": True, "zerolinecolor": colours.line, "nticks": 5}
    drawing.update_xaxes(range=[-most, most], **_axis(mode, **zero))
    drawing.update_yaxes(range=[-most, most], **_axis(mode, **zero), scaleanchor="x")
    drawing.update_layout(theme.chart_layout(mode, height, l=42, t=8, r=10, b=34), modebar=_modebar(mode))
    _titles(drawing, *(f"dimension {d}" for d in two), mode)
    return drawing.figure()


def residual_chart(residual: np.ndarray, mode: theme.Mode, height: int = HEIGHT) -> go.Figure:
    """The largest fault of the map at each of M positions, on a logarithmic scale from 1e-9 to 10; zeros lie at its foot."""
    colours = theme.PALETTES[mode]
    positions = np.arange(len(residual))
    text = [f"position {p}<br>{numbers.scientific(float(r), 3)}" for p, r in enumerate(residual)]
    drawn = np.maximum(residual, FLOOR)
    drawing = Drawing()
    drawing.add_scatter(
        x=positions,
        y=drawn,
        mode="lines+markers",
        line={"color": colours.gain, "width": 1.4},
        marker={"size": 4, "color": colours.gain},
        hoverinfo="text",
        hovertext=text,
    )
    ticks = [1e-8, 1e-6, 1e-4, 1e-2, 1]
    names = ["10⁻⁸", "10⁻⁶", "10⁻⁴", "0.01", "1"]
    drawing.update_xaxes(range=[-0.5, max(1, len(residual)) - 0.5], **_axis(mode))
    drawing.update_yaxes(
        **_axis(mode, showgrid=True, gridcolor=colours.line), type="log", range=[-9, 1], tickvals=ticks, ticktext=names
    )
    drawing.update_layout(theme.chart_layout(mode, height, l=42, t=8, r=10, b=34), modebar=_modebar(mode))
    _titles(drawing, "position", None, mode)
    return drawing.figure()


def _ends(drawing: Drawing, seen: int | None, beyond: str, count: int, mode: theme.Mode) -> None:
    """A dashed line across where training ends, where that is inside the picture."""
    if seen is None or seen >= count:
        return
    ink = theme.PALETTES[mode].ink
    drawing.add_hline(y=seen - 0.5, line={"color": ink, "width": 1.4, "dash": "dash"})
    drawing.add_annotation(
        x=1,
        xref="paper",
        xanchor="right",
        y=seen - 0.5,
        yanchor="top",
        text=html.escape(beyond, quote=False),
        showarrow=False,
        font={"size": 11.5, "color": ink},
        bgcolor=theme.PALETTES[mode].page,
    )


def _axis(mode: theme.Mode, **more: object) -> dict:
    font = {"size": 11, "color": theme.PALETTES[mode].ink2, "family": theme.SANS}
    return {"zeroline": False, "ticks": "", "fixedrange": True, "tickfont": font, "showgrid": False} | more


def _titles(drawing: Drawing, x: str | None, y: str | None, mode: theme.Mode) -> None:
    font = {"size": 11.5, "color": theme.PALETTES[mode].ink2}
    if x:
        drawing.update_xaxes(title={"text": x, "font": font, "standoff": 4})
    if y:
        drawing.update_yaxes(title={"text": y, "font": font, "standoff": 4})


def _modebar(mode: theme.Mode) -> dict[str, str]:
    colours = theme.PALETTES[mode]
    return {"bgcolor": colours.page, "color": colours.ink3, "activecolor": colours.ink, "orientation": "h"}
