"""Seconds or bytes against the length of the text, both on logarithmic scales: a line for each way to compute attention."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from viz import theme
from viz.kit.chart_figures import Drawing

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
    _axes(drawing, lengths, ticks, ends, colours)
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


def _axes(
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
