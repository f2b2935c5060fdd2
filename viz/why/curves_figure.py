"""What becomes of a log-probability where more and more words are taken away, from either end of an order."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.kit.chart_figures import Drawing

FIRST, LAST = ENDS = ("the most important first", "the least important first")


def curves_chart(
    grid: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    chance: Sequence[np.ndarray],
    taken: tuple[Sequence[str], Sequence[str]],
    mode: theme.Mode,
    height: int,
) -> go.Figure:
    """Two lines over how many words are away, [K] log-probabilities in nats: `first` without the most important ones, `last`
    without the least important ones; behind them, what lies between the extremes of random orders, and their mean. `taken`
    tells for each line and point which words are away, read on hover.

    Raises ValueError where the lengths differ.
    """
    lengths = {len(grid), len(first), len(last), *map(len, chance), *map(len, taken)}
    if len(lengths) != 1:
        raise ValueError(f"a chart of {len(grid)} points with lines of {sorted(lengths)}; expected as many values as points")
    colours = theme.PALETTES[mode]
    drawing = Drawing()
    none = {"width": 0}
    if chance:
        low, high = np.min(chance, axis=0), np.max(chance, axis=0)
        drawing.add_scatter(x=grid, y=low, mode="lines", line=none, hoverinfo="skip", name="lowest random")
        drawing.add_scatter(
            x=grid, y=high, mode="lines", line=none, fill="tonexty", fillcolor=colours.mute, hoverinfo="skip", name="random"
        )
        line = {"width": 1.5, "color": colours.ink3, "dash": "dot"}
        told = {"hoverinfo": "text", "hovertext": "random orders, on average"}
        drawing.add_scatter(x=grid, y=np.mean(chance, axis=0), mode="lines", line=line, name="random mean", **told)
    for values, hue, end, words in zip((first, last), (colours.loss_ink, colours.gain_ink), ENDS, taken, strict=True):
        drawing.add_scatter(
            x=grid,
            y=values,
            mode="lines+markers",
            name=end,
            line={"color": hue, "width": 2.5},
            marker={"size": 6, "color": hue, "symbol": "circle" if values is first else "square"},
            hoverinfo="text",
            hovertext=[
                f"<b>{end}</b>, {k} of {grid[-1]} away<br>{html.escape(w, quote=False)}<br>log-probability {v:.3f}"
                for k, w, v in zip(grid, words, values, strict=True)
            ],
        )
    _axes(drawing, grid, np.concatenate([first, last, *chance]), colours)
    drawing.update_layout(theme.chart_layout(mode, height, l=52, t=10, r=12, b=46), plot_bgcolor="rgba(0,0,0,0)")
    return drawing.figure()


def _axes(drawing: Drawing, grid: np.ndarray, values: np.ndarray, colours: theme.Palette) -> None:
    font = {"size": 12, "color": colours.ink2, "family": theme.SANS}
    room = 0.12 * max(float(values.max() - values.min()), 0.1)
    drawing.update_xaxes(
        range=[-0.02 * grid[-1], 1.02 * grid[-1]],
        tickvals=grid,
        ticktext=[str(k) for k in grid],
        title={"text": "words away", "font": font, "standoff": 10},
        tickfont=font,
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    drawing.update_yaxes(
        range=[float(values.min()) - room, float(values.max()) + room],
        title={"text": "log-probability, nats", "font": font, "standoff": 6},
        nticks=6,
        tickfont=font,
        gridcolor=colours.line,
        zeroline=False,
        fixedrange=True,
    )
