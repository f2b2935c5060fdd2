"""Figures of Inside: predictions of every layer, a number against d_k with and without division, and cost against length."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from model.trace import Site
from viz import theme
from viz.kit.chart_figures import Drawing, heatmap

ROW, LABELS = 30, 62  # px: a layer's row, and the tokens below all of them
FRONT = 78  # px for the layers' names
SIGN = 6.6  # px: a letter of a layer's name
NARROW = 44  # px: the least width of a step
LARGE_ROWS = 200  # px: all rows in lecture mode, before they are enlarged
SHADE = {"light": 0.55, "dark": 0.45}  # of the scale: text on the darkest cell keeps a contrast of 4.5


def lens_map(
    probability: np.ndarray,
    says: Sequence[Sequence[str]],
    rank: np.ndarray,
    layers: Sequence[str],
    steps: Sequence[str],
    chosen: int,
    mode: theme.Mode,
    window: tuple[int, int] | None = None,
    ticks: Sequence[str] = (),
) -> go.Figure:
    """Draws a heatmap [L,T] for `charts.js`: the probability that each layer gives to the token that the step emits.

    Each cell has what the layer `says`, its top token, bold if it is that very token; `rank` [L,T] is read on hover. The
    `chosen` step is outlined. `ticks` are short names of the layers. A `window` limits the visible steps, from its first to
    before its last.

    Raises ValueError where the labels do not fit the values.
    """
    rows, columns = probability.shape
    if (rows, columns) != (len(layers), len(steps)) or rank.shape != probability.shape:
        raise ValueError(f"a map of {rows} x {columns} with {len(layers)} layers and {len(steps)} steps; expected as many")
    colours = theme.PALETTES[mode]
    first, end = window or (0, columns)
    seen = slice(first, end)
    hover = [
        f"{_escaped(layers[i])}, step {j + 1}<br>likeliest: <b>{_escaped(says[i][j])}</b><br>"
        f"<b>{_escaped(steps[j])}</b>: probability {probability[i, j]:.4g}, rank {rank[i, j]:,}"
        for i in range(rows)
        for j in range(first, end)
    ]
    values = probability[:, seen].astype(np.float32)
    drawing = Drawing(heatmap(z=values, x0=first, zmin=0, zmax=1, xgap=1, ygap=1, colorscale=shaded(mode), hovertext=hover))
    places = [(i, j) for i in range(rows) for j in range(first, end)]
    drawing.add_scatter(
        x=[j for _, j in places],
        y=[i for i, _ in places],
        mode="text",
        text=[_cell(says[i][j], rank[i, j] == 1) for i, j in places],
        textfont={"size": 12, "color": colours.ink, "family": theme.SANS},
        hoverinfo="skip",
    )
    drawing.add_shape(
        type="rect", x0=chosen - 0.5, x1=chosen + 0.5, y0=-0.5, y1=rows - 0.5, line={"color": colours.ink, "width": 2}
    )
    names = ticks or layers
    axis = {"showgrid": False, "zeroline": False}
    font = {"size": 12, "color": colours.ink2, "family": theme.SANS}
    drawing.update_xaxes(
        **axis,
        range=[first - 0.5, end - 0.5],
        tickvals=list(range(first, end)),
        ticktext=[f"<b>{_escaped(t)}</b>" if j == chosen else _escaped(t) for j, t in enumerate(steps)][seen],
        tickfont=font,
        tickangle=-60,  # where the longest does not fit
    )
    drawing.update_yaxes(**axis, range=[rows - 0.5, -0.5], tickvals=list(range(rows)), ticktext=list(names), tickfont=font)
    front = max(FRONT, 10 + round(SIGN * max(map(len, names))))
    height = min(ROW * rows, LARGE_ROWS) if window else ROW * rows
    drawing.update_layout(
        theme.chart_layout(mode, height + LABELS + 4, l=front, t=4, r=8, b=LABELS),
        minreducedwidth=front + 8 + NARROW * (end - first),
    )
    return drawing.figure()


def shaded(mode: theme.Mode) -> list[list[float | str]]:
    """The decoder's scale as far as text can be read on it, as a Plotly colour scale of weights from 0 to 1."""
    whole = theme.scale("decoder", mode, 101)
    last = round(100 * SHADE[mode])
    return [[i / last, colour] for i, colour in enumerate(whole[: last + 1])]


def _cell(text: str, bold: bool) -> str:
    return f"<b>{_escaped(text)}</b>" if bold else _escaped(text)


def _escaped(token: str) -> str:
    return html.escape(token, quote=False)


HEIGHT = 236  # px
APART = 0.16  # in powers of two: how far a head's two values stand beside its width


def scaling_chart(
    widths: Sequence[int],
    divided: np.ndarray,
    undivided: np.ndarray,
    width: int,
    heads: tuple[np.ndarray, np.ndarray],
    chosen: int | None,
    site: Site,
    mode: theme.Mode,
    theory: Sequence[tuple[np.ndarray, str]] = (),
    logarithmic: bool = False,
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
    _heads(drawing, heads, chosen, width, site, colours)
    everything = np.concatenate([divided, undivided, *heads, *(values for values, _ in theory)])
    _scaling_axes(
        drawing, [min(x[0], at) - 0.3, max(x[-1], at) + 0.3], everything[np.isfinite(everything)], logarithmic, colours
    )
    drawing.update_layout(theme.chart_layout(mode, HEIGHT, l=44, t=8, r=8, b=40), plot_bgcolor="rgba(0,0,0,0)")
    return drawing.figure()


def _heads(
    drawing: Drawing,
    heads: tuple[np.ndarray, np.ndarray],
    chosen: int | None,
    width: int,
    site: Site,
    colours: theme.Palette,
) -> None:
    """The heads of a checkpoint as dots, divided on the left of their width and not divided on the right."""
    at, hue = float(np.log2(width)), getattr(colours, site.kind)
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
            hovertext=[f"{site.head_name(h)}, d_k {width}, {what}: {values[h]:.4g}" for h in order],
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
        **_axis(values, logarithmic), tickfont=font, gridcolor=colours.line, zeroline=False, fixedrange=True
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


STYLES = (("solid", "circle", "●"), ("dash", "square", "■"), ("dot", "diamond", "◆"), ("dashdot", "triangle-up", "▲"))

TITLES = 106  # px beside the lines, for their titles


@dataclass(frozen=True)
class Line:
    """The values of one way, with what is read at each of them; `style` counts into `STYLES`. A faint one stands behind."""

    title: str
    style: int
    lengths: tuple[int, ...]
    values: tuple[float, ...]
    hover: tuple[str, ...]
    is_faint: bool = False


def length_chart(
    lines: Sequence[Line], lengths: Sequence[int], ticks: Mapping[float, str], mode: theme.Mode, height: int = 292
) -> go.Figure:
    """The lines over all `lengths`, each with its title at its end, unless it is faint; `ticks` are values of the upright
    axis and how they are written. Raises ValueError where a line's lengths, values and texts are not as many."""
    colours, drawing = theme.PALETTES[mode], Drawing()
    for line in sorted(lines, key=lambda line: not line.is_faint):
        if not len(line.lengths) == len(line.values) == len(line.hover):
            counts = f"{len(line.lengths)} lengths, {len(line.values)} values and {len(line.hover)} texts"
            raise ValueError(f"a line of {counts}; expected as many of each")
        dash, symbol, _ = STYLES[line.style % len(STYLES)]
        colour = colours.bar if line.is_faint else colours.ink
        drawing.add_scatter(
            x=list(line.lengths),
            y=list(line.values),
            mode="lines+markers",
            name=f"{line.title}, stored" if line.is_faint else line.title,
            line={"color": colour, "width": 1 if line.is_faint else 2, "dash": dash},
            marker={
                "size": 6 if line.is_faint else 8,
                "symbol": symbol,
                "color": colours.page if line.is_faint else colour,
                "line": {"width": 1, "color": colour},
            },
            hoverinfo="text",
            hovertext=list(line.hover),
        )
    values = [math.log10(value) for line in lines for value in line.values]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    room = 0.06 * max(high - low, 1.0)
    ends = [low - room, high + room]
    _titles(drawing, [line for line in lines if not line.is_faint and line.values], ends[1] - ends[0], height, colours)
    _length_axes(drawing, lengths, ticks, ends, colours)
    drawing.update_layout(theme.chart_layout(mode, height, l=58, t=8, r=TITLES, b=40), plot_bgcolor="rgba(0,0,0,0)")
    return drawing.figure()


def _titles(drawing: Drawing, lines: Sequence[Line], span: float, height: int, colours: theme.Palette) -> None:
    """Each line's title on the right of its last point, none over another."""
    least = span * 17 / (height - 48)  # of a line of text, in powers of ten
    taken: dict[int, float] = {}
    for line in sorted(lines, key=lambda line: line.values[-1]):
        end = line.lengths[-1]
        at = max(math.log10(line.values[-1]), taken.get(end, -math.inf) + least)
        taken[end] = at
        sign = STYLES[line.style % len(STYLES)][2]
        drawing.add_annotation(
            x=math.log10(end),
            y=at,
            text=f"{sign} {line.title}",
            showarrow=False,
            xanchor="left",
            xshift=9,
            font={"size": 12, "color": colours.ink, "family": theme.SANS},
        )


def _length_axes(
    drawing: Drawing, lengths: Sequence[int], ticks: Mapping[float, str], ends: list[float], colours: theme.Palette
) -> None:
    font = {"size": 12, "color": colours.ink2, "family": theme.SANS}
    common = {"type": "log", "tickfont": font, "zeroline": False, "fixedrange": True}
    first, last = math.log10(lengths[0]), math.log10(lengths[-1])
    drawing.update_xaxes(
        **common,
        range=[first - 0.08, last + 0.08],
        tickvals=list(lengths),
        ticktext=[str(n) if at % 2 else "" for at, n in enumerate(lengths, len(lengths) % 2)],  # a phone has room for these
        tickangle=0,
        title={"text": "tokens", "font": font, "standoff": 4},
        showgrid=False,
    )
    drawing.update_yaxes(**common, range=ends, tickvals=list(ticks), ticktext=list(ticks.values()), gridcolor=colours.line)
