"""Seconds to write a text with the key-value cache and without, against its length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.kit.chart_figures import Drawing

WITH, WITHOUT = "with the cache", "without"


def cache_chart(cached: Sequence[float], whole: Sequence[float], mode: theme.Mode, height: int = 220) -> go.Figure:
    """Two lines over the tokens written so far, from the seconds of each step. Raises ValueError where they are not as
    many."""
    if len(cached) != len(whole):
        raise ValueError(f"{len(cached)} steps with the cache and {len(whole)} without; expected as many")
    colours, drawing = theme.PALETTES[mode], Drawing()
    counts = np.arange(1, len(cached) + 1)
    factor, unit = (1, "s") if sum((*cached, *whole)) > 2 else (1000, "ms")
    hue = theme.HUES["decoder"]
    for name, seconds, colour, dash in ((WITH, cached, hue, "solid"), (WITHOUT, whole, colours.ink, "dash")):
        totals = factor * np.cumsum(seconds)
        drawing.add_scatter(
            x=counts,
            y=totals,
            mode="lines",
            line={"color": colour, "width": 2, "dash": dash},
            hoverinfo="text",
            hovertext=[
                f"<b>{n} tokens {name}</b><br>{total:.3g} {unit}, the last token {1000 * last:.2f} ms"
                for n, total, last in zip(counts, totals, seconds, strict=True)
            ],
        )
        drawing.add_annotation(
            x=int(counts[-1]),
            y=float(totals[-1]),
            text=name,
            showarrow=False,
            xanchor="left",
            xshift=6,
            font={"size": 12, "color": colours.ink, "family": theme.SANS},
        )
    font = {"size": 12, "color": colours.ink2, "family": theme.SANS}
    common = {"tickfont": font, "zeroline": False, "fixedrange": True}
    ends = [0, 1.24 * len(cached)]  # room for the names
    places = sorted({round(n * len(cached) / 4) for n in range(5)})
    title = {"text": "tokens", "font": font, "standoff": 4}
    drawing.update_xaxes(**common, range=ends, tickvals=places, showgrid=False, title=title)
    title = {"text": unit, "font": font}
    drawing.update_yaxes(**common, rangemode="tozero", nticks=6, gridcolor=colours.line, title=title)
    drawing.update_layout(theme.chart_layout(mode, height, l=58, t=8, r=8, b=40), plot_bgcolor="rgba(0,0,0,0)")
    return drawing.figure()
