"""The tokens nearest to one, as bars."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from model import format
from viz import theme
from viz.shared.drawing import Drawing

NEIGHBOUR_ROW = 26  # px


def neighbours_chart(
    labels: Sequence[str],
    cosines: np.ndarray,
    notes: Sequence[str],
    hue: str,
    mode: theme.Mode,
    letters: int = 0,
    hollow: Sequence[bool] = (),
) -> go.Figure:
    """A bar for each of N tokens on a scale from 0 to 1 (from the least cosine, where that is below 0), the first on top;
    `notes` are read on hover. The cosine stands at the end of the bar. A click on a bar tells its number, from 0, as y.
    `letters`: room for labels of so many, where charts beside one another shall have one scale. `hollow`: bars that are
    drawn by their outline alone.

    Raises ValueError where the lengths differ.
    """
    if not len(labels) == len(cosines) == len(notes):
        raise ValueError(f"{len(labels)} labels, {len(cosines)} cosines and {len(notes)} notes; expected as many")
    colours = theme.PALETTES[mode]
    shown = [html.escape(label, quote=False) for label in labels]
    rows = list(range(len(labels)))
    filled, drawing = theme.scale(hue, mode)[14], Drawing()
    drawing.add_bar(
        x=cosines,
        y=rows,
        orientation="h",
        width=0.56,
        marker={
            "color": [colours.page if off else filled for off in hollow] or filled,
            "line": {"width": 1, "color": getattr(colours, hue)},
        },
        text=[format.decimal(value) for value in cosines],
        textposition="outside",
        constraintext="none",
        textfont={"size": 12, "color": colours.ink, "family": theme.SANS},
        cliponaxis=False,
        hoverinfo="text",
        hovertext=[f"<b>{shown[i]}</b><br>cosine {cosines[i]:.5f}<br>{html.escape(notes[i], quote=False)}" for i in rows],
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
    )
    longest = max([letters, *map(len, labels)])
    font = {"size": 13, "color": colours.ink, "family": theme.MONO}
    low = min(0.0, float(np.min(cosines, initial=0.0)))
    drawing.update_xaxes(
        range=[low * 1.1, 1.0],
        tickvals=[0, 0.25, 0.5, 0.75, 1],
        tickfont={"size": 12, "color": colours.ink2, "family": theme.SANS},
        gridcolor=colours.line,
        zeroline=False,
        fixedrange=True,
    )
    drawing.update_yaxes(
        range=[len(labels) - 0.5, -0.5],
        tickvals=rows,
        ticktext=shown,
        tickfont=font,
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    left = 14 + round(7.9 * min(20, longest))
    drawing.update_layout(theme.chart_layout(mode, NEIGHBOUR_ROW * max(1, len(labels)) + 32, l=left, t=4, r=36, b=28))
    return drawing.figure()
