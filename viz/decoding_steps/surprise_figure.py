"""The surprise of the model at each token of a given target."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.kit.chart_figures import Drawing


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
