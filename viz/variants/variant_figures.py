"""Charts of the variants: scores, scores over speed or parameters, dev losses, and heads paired from seed to seed."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from model.trace import Site
from viz import theme
from viz.kit.chart_figures import Drawing

DASHES = ("solid", "dash", "dot", "dashdot", "longdash")  # of the seeds, in their order
ROW = 34  # px
HEIGHT = 320  # px of scores over speed or parameters
LABEL = 13  # px of type
MARK = 0.3  # half the height of the mark at a mean, in rows
FEW = 3  # points of a curve, for which the steps before the first would be most of a panel
COLUMNS = 4  # charts of losses next to each other


class Row(NamedTuple):
    """A design with the score of each of its seeds; without any, `note` says why."""

    title: str
    seeds: tuple[int, ...]
    values: tuple[float, ...]
    is_base: bool = False
    is_clear: bool = False
    note: str = ""

    @property
    def mean(self) -> float:
        return sum(self.values) / len(self.values)


class Point(NamedTuple):
    """A design at a place along the axis."""

    row: Row
    at: float


class Curve(NamedTuple):
    """The dev loss of one run: steps and losses."""

    seed: int
    steps: tuple[int, ...]
    losses: tuple[float, ...]


def score_chart(rows: Sequence[Row], name: str, digits: int, mode: theme.Mode) -> go.Figure:
    """A row for each design, in their order: a dot for each seed, a line from the smallest to the largest, an upright mark
    at the mean with its number; a dashed line at the base's mean. ValueError without any row."""
    if not rows:
        raise ValueError("there is no row; expected at least one")
    colours, drawing = theme.PALETTES[mode], Drawing()
    low, high = _range([value for row in rows for value in row.values])
    for row in rows:
        if row.is_base and row.values:
            line = {"color": colours.border, "width": 1.2, "dash": "dash"}
            drawing.add_shape(type="line", x0=row.mean, x1=row.mean, y0=-0.5, y1=len(rows) - 0.5, line=line, layer="below")
    titles = [html.escape(row.title, quote=False) for row in rows]
    for y, (row, title) in enumerate(zip(rows, titles, strict=True)):
        if not row.values:
            at = {"xanchor": "left", "xshift": 6, "bgcolor": colours.page}
            label(drawing, low, y, html.escape(row.note, quote=False), colours.ink3, **at)
            continue
        ends = {"x": [min(row.values), max(row.values)], "y": [y, y]}
        drawing.add_scatter(**ends, mode="lines", line={"color": colours.bar, "width": 2}, hoverinfo="skip")
        drawing.add_scatter(
            x=list(row.values),
            y=[y] * len(row.values),
            mode="markers",
            marker=_dot(row, mode),
            hoverinfo="text",
            hovertext=[f"{title}, seed {s}<br>{v:.{digits}f}" for s, v in zip(row.seeds, row.values, strict=True)],
        )
        drawing.add_scatter(
            x=[row.mean] * 2,
            y=[y - MARK, y + MARK],
            mode="lines",
            line={"color": colours.ink, "width": 2.4},
            hoverinfo="text",
            hovertext=f"{title}: mean {row.mean:.{digits}f}",
        )
        label(drawing, 1, y, f"<b>{row.mean:.{digits}f}</b>", colours.ink, xref="paper", xanchor="left", xshift=8)
    drawing.update_yaxes(**axis(mode, tickvals=list(range(len(rows))), ticktext=titles, range=[len(rows) - 0.4, -0.6]))
    drawing.update_yaxes(tickfont={"size": LABEL, "color": colours.ink, "family": theme.SANS})
    drawing.update_xaxes(**axis(mode, range=[low, high], showgrid=True, gridcolor=colours.line, nticks=8))
    _titled(drawing, name, None, mode)
    drawing.update_layout(layout(mode, ROW * len(rows) + 48, l=156, t=4, r=60, b=40))
    return drawing.figure()


def over_chart(points: Sequence[Point], across: str, name: str, digits: int, mode: theme.Mode) -> go.Figure:
    """The mean score of each design over its speed or its parameters, with a line from its smallest to its largest; each is
    named at the right, with a line to its mark. ValueError without any point."""
    if not points:
        raise ValueError("there is no point; expected at least one")
    colours, drawing = theme.PALETTES[mode], Drawing()
    low, high = _range([value for point in points for value in point.row.values])
    start, end = _range([point.at for point in points])
    ordered = sorted(points, key=lambda point: point.row.mean)
    step = (high - low) * 18 / (HEIGHT - 60)
    for point, y in zip(ordered, spaced([each.row.mean for each in ordered], step), strict=True):
        row, told = point.row, f"{point.row.title}: {point.row.mean:.{digits}f}, {point.at:,.0f} {across}"
        ends = {"x": [point.at] * 2, "y": [min(row.values), max(row.values)]}
        drawing.add_scatter(**ends, mode="lines", line={"color": colours.bar, "width": 2}, hoverinfo="skip")
        lead = {"x": [point.at, end], "y": [row.mean, y]}
        drawing.add_scatter(**lead, mode="lines", line={"color": colours.line, "width": 1}, hoverinfo="skip")
        drawing.add_scatter(
            x=[point.at],
            y=[row.mean],
            mode="markers",
            marker=_dot(row, mode) | {"size": 11},
            hoverinfo="text",
            hovertext=html.escape(told, quote=False),
        )
        label(drawing, 1, y, html.escape(row.title, quote=False), colours.ink, xref="paper", xanchor="left", xshift=6)
    drawing.update_xaxes(**axis(mode, range=[start, end], showgrid=True, gridcolor=colours.line, nticks=7))
    drawing.update_yaxes(**axis(mode, range=[low, high], showgrid=True, gridcolor=colours.line, nticks=6))
    _titled(drawing, across, name, mode)
    drawing.update_layout(layout(mode, HEIGHT, l=60, t=8, r=136, b=44))
    return drawing.figure()


def spaced(values: Sequence[float], least: float) -> list[float]:
    """Places for labels of ascending values, at least so far apart, each as near to its own as that leaves."""
    places: list[float] = []
    for value in values:
        places.append(max(value, places[-1] + least) if places else value)
    over = max((place - value for place, value in zip(places, values, strict=True)), default=0.0) / 2
    return [place - over for place in places]


def loss_charts(designs: Sequence[tuple[str, Sequence[Curve]]], mode: theme.Mode) -> list[tuple[str, go.Figure]]:
    """Returns titles and charts of the dev loss over the steps, one per design, all of one scale.

    Its own runs are in ink, with a dash for each seed; those of all other designs are faint behind them. Raises ValueError
    without a design.
    """
    if not designs:
        raise ValueError("there is no design; expected at least one")
    colours, charts = theme.PALETTES[mode], []
    every = [curve for _, curves in designs for curve in curves]
    low, high = _range([loss for curve in every for loss in curve.losses])
    grid = {"showgrid": True, "gridcolor": colours.line, "nticks": 4}
    for title, curves in designs:
        drawing = Drawing()
        others = [curve for curve in every if curve not in curves]
        if others:
            xs, ys = (_broken([getattr(curve, part) for curve in others]) for part in ("steps", "losses"))
            drawing.add_scatter(x=xs, y=ys, mode="lines", line={"color": colours.bar, "width": 1}, hoverinfo="skip")
        for n, curve in enumerate(curves):
            drawing.add_scatter(
                x=list(curve.steps),
                y=list(curve.losses),
                mode="lines" if len(curve.steps) > 1 else "markers",
                line={"color": colours.gain_ink, "width": 1.8, "dash": DASHES[n % len(DASHES)]},
                marker={"size": 7, "color": colours.gain_ink},
                hoverinfo="text",
                hovertext=[
                    f"{html.escape(title, quote=False)}, seed {curve.seed}<br>training step {s:,}: {v:.4f}"
                    for s, v in zip(curve.steps, curve.losses, strict=True)
                ],
            )
        drawing.update_xaxes(**axis(mode, range=_steps_range(every), nticks=4))
        drawing.update_yaxes(**axis(mode, range=[low, high], **grid))
        drawing.update_layout(layout(mode, 172, l=36, t=4, r=8, b=24))
        charts.append((title if curves else f"{title}: not scored yet", drawing.figure()))
    return charts


def _dot(row: Row, mode: theme.Mode) -> dict[str, Any]:
    """Filled for the base and for what differs clearly from it, else a ring."""
    colours = theme.PALETTES[mode]
    hue = colours.ink if row.is_base else colours.gain_ink
    fill = hue if row.is_base or row.is_clear else colours.page
    return {"size": 9, "color": fill, "line": {"color": hue, "width": 1.8}}


def _range(values: Sequence[float]) -> tuple[float, float]:
    """From a little below the least to a little above the largest."""
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    room = 0.08 * (high - low) or max(1e-6, 0.02 * abs(high))
    return low - room, high + room


def _steps_range(curves: Sequence[Curve]) -> list[float]:
    """From step 0 to a little behind the last; from just before the first that was measured where each has few points."""
    steps = [step for curve in curves for step in curve.steps]
    last = max(steps, default=1)
    if not steps or max(len(curve.steps) for curve in curves) > FEW:
        return [0, last * 1.03]
    room = 0.06 * (last - min(steps)) or 0.03 * max(1, last)
    return [min(steps) - room, last + room]


def _broken(parts: Sequence[Sequence[float]]) -> list[float | None]:
    """Several lines as one, with a gap between."""
    return [value for part in parts for value in (*part, None)]


def label(drawing: Drawing, x: float, y: float, text: str, colour: str, size: int = LABEL, **more: Any) -> None:
    drawing.add_annotation(x=x, y=y, text=text, showarrow=False, font={"size": size, "color": colour}, **more)


def axis(mode: theme.Mode, **more: Any) -> dict[str, Any]:
    colours = theme.PALETTES[mode]
    font = {"size": 12, "color": colours.ink2, "family": theme.SANS}
    return {"showgrid": False, "zeroline": False, "ticks": "", "fixedrange": True, "tickfont": font} | more


def _titled(drawing: Drawing, across: str, down: str | None, mode: theme.Mode) -> None:
    font = {"size": 12, "color": theme.PALETTES[mode].ink2}
    drawing.update_xaxes(title={"text": across, "font": font, "standoff": 6})
    if down:
        drawing.update_yaxes(title={"text": down, "font": font, "standoff": 6})


def layout(mode: theme.Mode, height: int, **margin: int) -> dict[str, Any]:
    colours = theme.PALETTES[mode]
    bar = {"bgcolor": colours.page, "color": colours.ink3, "activecolor": colours.ink, "orientation": "h"}
    return theme.chart_layout(mode, height, **margin) | {"modebar": bar}


BESIDE = 12  # px from the centre of a head to the distance beside it


class Link(NamedTuple):
    """Two heads that are paired, from a column to the next, in a layer: how far apart they are, and any two."""

    column: int
    layer: int
    head: int
    partner: int
    distance: float
    random: float


def matching_chart(
    seeds: Sequence[str], layers: int, heads: int, links: Sequence[Link], kind: str, mode: theme.Mode
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
        site = Site(kind, link.layer)
        told = (
            f"{site.head_name(link.head)} of {of[0]}, {site.head_name(link.partner)} of {of[1]}"
            f"<br>distance {link.distance:.3f}; any two {link.random:.3f}"
        )
        middle = {"x": [link.column + 0.5], "y": [sum(ends) / 2]}
        drawing.add_scatter(**middle, mode="lines", line=line, hoverinfo="text", hovertext=told)
        at = link.column, ends[0] + 0.1 * (ends[1] - ends[0])
        beside = {"xanchor": "left", "xshift": BESIDE, "bgcolor": colours.page}
        label(drawing, *at, f"{link.distance:.2f}", colours.ink, size=12, **beside)
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
    drawing.update_yaxes(**axis(mode, tickvals=middles, ticktext=names, range=[y_of(layers - 1, heads - 1) + 0.7, -0.7]))
    ticks = {"tickvals": list(range(len(seeds))), "ticktext": [html.escape(seed, quote=False) for seed in seeds]}
    drawing.update_xaxes(**axis(mode, **ticks, range=[-0.25, len(seeds) - 0.75]))
    drawing.update_layout(layout(mode, 24 * round(y_of(layers, 0)) + 40, l=64, t=4, r=12, b=28))
    return drawing.figure()
