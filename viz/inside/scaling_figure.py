"""A number against d_k, with the division by sqrt(d_k) and without it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.shared.drawing import Drawing

HEIGHT = 236  # px
APART = 0.16  # in powers of two: how far a head's two values stand beside its width


def scaling_chart(
    widths: Sequence[int],
    divided: np.ndarray,
    undivided: np.ndarray,
    width: int,
    heads: tuple[np.ndarray, np.ndarray],
    chosen: int | None,
    kind: str,
    mode: theme.Mode,
    theory: Sequence[tuple[np.ndarray, str]] = (),
    logarithmic: bool = False,
    height: int = HEIGHT,
) -> go.Figure:
    """Random vectors as lines over W widths (solid: divided, dashed: not), the H heads of a checkpoint as dots beside their
    own `width` (filled: divided, hollow: not), those of the `chosen` head joined and framed.

    `theory` holds dotted lines, each with W values and what they are. Raises ValueError where the lengths differ.
    """
    lengths = {len(divided), len(undivided), *(len(values) for values, _ in theory)}
    if lengths != {len(widths)} or len(heads[0]) != len(heads[1]):
        raise ValueError(f"{len(widths)} widths with lines of {sorted(lengths)} values; expected as many values as widths")
    colours = theme.PALETTES[mode]
    x = np.log2(np.asarray(widths, dtype=float))
    drawing = Drawing()
    for values, what in theory:
        line = {"color": colours.border, "width": 1, "dash": "dot"}
        drawing.add_scatter(x=x, y=values, mode="lines", line=line, hoverinfo="text", hovertext=what, name=what)
    for values, what, dash in ((undivided, "not divided", "dash"), (divided, "divided", "solid")):
        drawing.add_scatter(
            x=x,
            y=values,
            mode="lines",
            name=f"random, {what}",
            line={"color": colours.ink2, "width": 2, "dash": dash},
            hoverinfo="text",
            hovertext=[f"random vectors, d_k {w}, {what}: {v:.4g}" for w, v in zip(widths, values, strict=True)],
        )
    at = float(np.log2(width))
    _heads(drawing, heads, chosen, width, getattr(colours, kind), colours)
    everything = np.concatenate([divided, undivided, *heads, *(values for values, _ in theory)])
    _scaling_axes(
        drawing, [min(x[0], at) - 0.3, max(x[-1], at) + 0.3], everything[np.isfinite(everything)], logarithmic, colours
    )
    drawing.update_layout(theme.chart_layout(mode, height, l=44, t=8, r=8, b=40), plot_bgcolor="rgba(0,0,0,0)")
    return drawing.figure()


def _heads(
    drawing: Drawing,
    heads: tuple[np.ndarray, np.ndarray],
    chosen: int | None,
    width: int,
    hue: str,
    colours: theme.Palette,
) -> None:
    """The heads of a checkpoint as dots, divided on the left of their width and not divided on the right."""
    at = float(np.log2(width))
    if chosen is not None:
        pair = [float(values[chosen]) for values in heads]
        line = {"color": colours.ink, "width": 1.5}
        drawing.add_scatter(x=[at - APART, at + APART], y=pair, mode="lines", line=line, hoverinfo="skip", name="chosen")
    for values, what, offset in ((heads[0], "divided", -APART), (heads[1], "not divided", APART)):
        fill = hue if offset < 0 else colours.page
        order = sorted(range(len(values)), key=lambda h: h == chosen)  # the chosen one on top
        edges = [colours.ink if h == chosen else hue for h in order]
        drawing.add_scatter(
            x=np.full(len(values), at + offset),
            y=np.asarray(values)[order],
            mode="markers",
            name=f"heads, {what}",
            marker={
                "size": [11 if h == chosen else 7 for h in order],
                "color": fill,
                "opacity": 1,
                "line": {"width": [2 if h == chosen else 1.5 for h in order], "color": edges},
            },
            hoverinfo="text",
            hovertext=[f"head {h + 1}, d_k {width}, {what}: {values[h]:.4g}" for h in order],
        )


def _scaling_axes(
    drawing: Drawing, ends: list[float], values: np.ndarray, logarithmic: bool, colours: theme.Palette
) -> None:
    font = {"size": 12, "color": colours.ink2, "family": theme.SANS}
    ticks = np.arange(int(np.floor(ends[0] + 0.3)), int(ends[1]) + 1)
    drawing.update_xaxes(
        range=ends,
        tickvals=ticks,
        ticktext=[str(2**t) for t in ticks],
        title={"text": "d_k", "font": font, "standoff": 4},
        tickfont=font,
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    drawing.update_yaxes(
        **_axis(values, logarithmic),
        tickfont=font,
        gridcolor=colours.line,
        zeroline=False,
        fixedrange=True,
    )


def _axis(values: np.ndarray, logarithmic: bool) -> dict[str, object]:
    if logarithmic:
        low, high = (float(np.log10(max(1e-6, v))) for v in (values.min(), values.max()))
        ticks = [10.0**n for n in range(-6, 7)]
        return {
            "type": "log",
            "range": [min(low, 0) - 0.15, high + 0.15],
            "tickvals": ticks,
            "ticktext": [f"{t:g}" for t in ticks],
        }
    return {"range": [-0.03 * float(values.max()), 1.06 * float(values.max())], "nticks": 6}
