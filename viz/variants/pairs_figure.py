"""Variants: heads that are paired from seed to seed."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from viz import theme
from viz.shared.drawing import Drawing
from viz.variants import figures


class Link(NamedTuple):
    """Two heads that are paired, from a column to the next, in a layer: how far apart they are, and any two."""

    column: int
    layer: int
    head: int
    partner: int
    distance: float
    random: float


def matching_chart(
    seeds: Sequence[str], layers: int, heads: int, links: Sequence[Link], kind: str, mode: theme.Mode, height: int = 0
) -> go.Figure:
    """A column for each seed, in it every head, layer under layer; a line between two that are paired, the thicker the
    nearer they are, dotted where they are no nearer than any two, with their distance beside the first."""
    colours, hue, drawing = theme.PALETTES[mode], theme.HUES[kind], Drawing()
    y_of = lambda layer, head: layer * (heads + 0.8) + head  # noqa: E731
    for link in links:
        ends = y_of(link.layer, link.head), y_of(link.layer, link.partner)
        share = max(0.0, 1 - link.distance / link.random) if link.random else 0.0
        line = {"color": hue, "width": 1 + 6 * share, "dash": "solid" if share > 0 else "dot"}
        drawing.add_scatter(x=[link.column, link.column + 1], y=list(ends), mode="lines", line=line, hoverinfo="skip")
        of = [html.escape(seeds[column], quote=False) for column in (link.column, link.column + 1)]
        told = (
            f"layer {link.layer + 1}: head {link.head + 1} of {of[0]}, head {link.partner + 1} of {of[1]}"
            f"<br>distance {link.distance:.3f}; any two {link.random:.3f}"
        )
        middle = {"x": [link.column + 0.5], "y": [sum(ends) / 2]}
        drawing.add_scatter(
            **middle,
            mode="markers",
            marker={"size": 12, "opacity": 0},
            hoverinfo="text",
            hovertext=told,
        )
        at = link.column + 0.1, ends[0] + 0.1 * (ends[1] - ends[0])
        figures.label(drawing, *at, f"{link.distance:.2f}", colours.ink, bgcolor=colours.page, size=12)
    places = [(layer, head) for layer in range(layers) for head in range(heads)]
    for column in range(len(seeds)):
        drawing.add_scatter(
            x=[column] * len(places),
            y=[y_of(*place) for place in places],
            mode="markers+text",
            text=[str(head + 1) for _, head in places],
            textfont={"size": 12, "color": colours.ink},
            marker={"size": 18, "color": colours.page, "line": {"color": colours.border, "width": 1.2}},
            hoverinfo="skip",
        )
    middles = [y_of(layer, (heads - 1) / 2) for layer in range(layers)]
    names = [f"layer {layer + 1}" for layer in range(layers)]
    drawing.update_yaxes(
        **figures.axis(mode, tickvals=middles, ticktext=names, range=[y_of(layers - 1, heads - 1) + 0.7, -0.7])
    )
    ticks = {"tickvals": list(range(len(seeds))), "ticktext": [html.escape(seed, quote=False) for seed in seeds]}
    drawing.update_xaxes(**figures.axis(mode, **ticks, side="top", range=[-0.25, len(seeds) - 0.75]))
    drawing.update_layout(figures.layout(mode, height or 24 * round(y_of(layers, 0)) + 40, l=64, t=30, r=12, b=4))
    return drawing.figure()
