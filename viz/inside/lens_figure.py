"""What every decoder layer would say at every step."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.shared.drawing import Drawing, heatmap

ROW, LABELS = 30, 62  # px: a layer's row, and the tokens below all of them
WIDTH = 1024  # px of the page that the cells' text is fitted to
FRONT = 78  # px for the layers' names
SIGN = 6.6  # px: a letter in a cell
SMALLEST = 26  # px: below this a cell is read on hover
SHADE = {"light": 0.55, "dark": 0.45}  # of the scale: text on the darkest cell keeps a contrast of 4.5


def lens_map(
    probability: np.ndarray,
    says: Sequence[Sequence[str]],
    rank: np.ndarray,
    layers: Sequence[str],
    steps: Sequence[str],
    chosen: int,
    mode: theme.Mode,
    width: int = WIDTH,
    row: int = ROW,
    window: tuple[int, int] | None = None,
) -> go.Figure:
    """A heatmap [L,T]: the probability that each layer gives to the token that the step emits. In each cell stands what the
    layer `says`, its likeliest token, bold where it is that very token; `rank` [L,T] is read on hover. The `chosen` step is
    outlined. The cells' text is fitted to `width`, a layer's row is as high as `row`; where there is a `window`, only its
    steps are in sight, from its first to before its last. The last trace holds one invisible point a cell, for clicks: its
    x is the step, its y the layer, from 0.

    Raises ValueError where the labels do not fit the values.
    """
    rows, columns = probability.shape
    if (rows, columns) != (len(layers), len(steps)) or rank.shape != probability.shape:
        raise ValueError(f"a map of {rows} x {columns} with {len(layers)} layers and {len(steps)} steps; expected as many")
    colours = theme.PALETTES[mode]
    drawing = Drawing(
        heatmap(z=probability.astype(np.float32), zmin=0, zmax=1, xgap=1, ygap=1, colorscale=shaded(mode), hoverinfo="skip")
    )
    first, end = window or (0, columns)
    cell = (width - FRONT - 8) / (end - first)
    _written(drawing, cell, says, rank, colours)
    drawing.add_shape(
        type="rect", x0=chosen - 0.5, x1=chosen + 0.5, y0=-0.5, y1=rows - 0.5, line={"color": colours.ink, "width": 2}
    )
    hover = [
        f"{_escaped(layers[i])}, step {j + 1}<br>likeliest: <b>{_escaped(says[i][j])}</b><br>"
        f"<b>{_escaped(steps[j])}</b>: probability {probability[i, j]:.5f}, rank {rank[i, j]:,}"
        for i, j in np.ndindex(rows, columns)
    ]
    x, y = _places(rows, columns)
    unseen = {"marker": {"opacity": 0}}
    marker = {"size": 24, "symbol": "square", "opacity": 0}
    drawing.add_scatter(
        x=x, y=y, mode="markers", marker=marker, selected=unseen, unselected=unseen, hoverinfo="text", hovertext=hover
    )
    flat = cell >= SIGN * max(map(len, steps[first:end]))
    _axes(drawing, layers, steps, chosen, 0 if flat else -60, cell >= 8, colours)
    if window:
        seen = slice(first, end)
        kept = {name: drawing.layout["xaxis"][name][seen] for name in ("tickvals", "ticktext")}
        drawing.update_xaxes(range=[first - 0.5, end - 0.5], **kept)
    below = 24 if flat else LABELS
    drawing.update_layout(
        theme.chart_layout(mode, row * rows + below + 4, l=FRONT, t=4, r=8, b=below),
        hovermode="closest",
        hoverdistance=40,
    )
    return drawing.figure()


def _places(rows: int, columns: int) -> tuple[list[int], list[int]]:
    """Column and row of every cell, row by row."""
    places = list(np.ndindex(rows, columns))
    return [j for _, j in places], [i for i, _ in places]


def _written(drawing: Drawing, cell: float, says: Sequence[Sequence[str]], rank: np.ndarray, colours: theme.Palette) -> None:
    """The likeliest token in every cell, where cells are wide enough to read."""
    if cell < SMALLEST:
        return
    letters = int((cell - 2) / SIGN)
    shown = [_cell(says[i][j], rank[i, j] == 1, letters) for i, j in np.ndindex(*rank.shape)]
    font = {"size": 12, "color": colours.ink, "family": theme.SANS}
    x, y = _places(*rank.shape)
    drawing.add_scatter(x=x, y=y, mode="text", text=shown, textfont=font, hoverinfo="skip")


def _axes(
    drawing: Drawing,
    layers: Sequence[str],
    steps: Sequence[str],
    chosen: int,
    angle: int,
    labelled: bool,
    colours: theme.Palette,
) -> None:
    rows, columns = len(layers), len(steps)
    axis = {"showgrid": False, "zeroline": False, "ticks": "", "fixedrange": True}
    font = {"size": 12, "color": colours.ink2, "family": theme.SANS}
    drawing.update_xaxes(
        **axis,
        range=[-0.5, columns - 0.5],
        tickvals=list(range(columns)),
        ticktext=[f"<b>{_escaped(t)}</b>" if j == chosen else _escaped(t) for j, t in enumerate(steps)],
        tickfont=font,
        tickangle=angle,
        showticklabels=labelled,
    )
    drawing.update_yaxes(**axis, range=[rows - 0.5, -0.5], tickvals=list(range(rows)), ticktext=list(layers), tickfont=font)


def shaded(mode: theme.Mode) -> list[list[float | str]]:
    """The decoder's scale as far as text can be read on it, as a Plotly colour scale of weights from 0 to 1."""
    whole = theme.scale("decoder", mode, 101)
    last = round(100 * SHADE[mode])
    return [[i / last, colour] for i, colour in enumerate(whole[: last + 1])]


def _cell(text: str, bold: bool, letters: int) -> str:
    short = _escaped(text if len(text) <= letters else text[: max(1, letters - 2)] + "…")
    return f"<b>{short}</b>" if bold else short


def _escaped(token: str) -> str:
    return html.escape(token, quote=False)
