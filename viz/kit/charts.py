"""Charts in one component: titles, sentences and figures that travel once and are drawn in the browser."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from viz.kit import mount

if TYPE_CHECKING:
    import plotly.graph_objects as go

COMPONENT = mount.Component(__file__, '<div class="charts"></div>')
ALL = "all"  # charts are enlarged in lecture mode
DIGITS = 7  # of a number, as many as float32 has
DRAWN = ("scatter", "heatmap", "bar")  # traces that `chart_canvas.js` draws; bars stand upright


class Chart(NamedTuple):
    """A chart with its title and one sentence; without a figure the sentence says why."""

    title: str
    note: str
    figure: go.Figure | None


def payload(charts: Sequence[Chart], columns: int = 3, alt: str = "", has_columns: bool = False) -> dict[str, Any]:
    """Returns the data of charts, so many in a row. In lecture mode `large` is the number of one chart, from 0, or ALL.

    `alt` describes a chart without a title. With `has_columns`, a click on a map is the event `column`, counted from 0.

    Raises ValueError for a figure that the component cannot draw.
    """
    listed = [
        {"title": each.title, "note": each.note, "figure": None if each.figure is None else _values(each.figure)}
        for each in charts
    ]
    return {"charts": listed, "columns": columns, "large": None, "alt": alt, "has_columns": has_columns}


def _values(figure: go.Figure) -> dict[str, Any]:
    """Returns traces and layout as they were built; `to_dict` would encode the arrays in Plotly's way."""
    _check(figure._data, figure._layout)
    return {"data": _plain(figure._data), "layout": _plain(figure._layout)}


def _check(traces: Sequence[Mapping[str, Any]], layout: Mapping[str, Any]) -> None:
    """Raises ValueError with one sentence for a figure that `chart_canvas.js` cannot draw."""
    for trace in traces:
        kind = trace.get("type", "scatter")
        if kind not in DRAWN or trace.get("orientation", "v") != "v":
            turned = ", lying" if kind in DRAWN else ""
            raise ValueError(f"A chart has a trace of type {kind!r}{turned}; expected one of {', '.join(DRAWN)}, upright.")
        if any(isinstance(value, str) for name in ("x", "y") for value in trace.get(name, ())):
            raise ValueError("A chart has texts on an axis; expected numbers, with the texts in `ticktext`.")
    missing = [name for name in ("height", "margin", "font") if name not in layout]
    missing += [f"{name}.tickfont" for name in ("xaxis", "yaxis") if "tickfont" not in layout.get(name, {})]
    if missing:
        raise ValueError(f"The layout of a chart lacks {', '.join(missing)}; see `theme.chart_layout`.")


def _plain(value: Any) -> Any:
    """Returns a figure as JSON values: matrices are packed, numbers are rounded, and a missing one is null."""
    if isinstance(value, np.ndarray):
        if value.ndim == 2:
            return {"shape": list(value.shape), "values": mount.floats(value)}
        return [_plain(each) for each in value.tolist()]
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items() if name not in ("template", "modebar", "meta")}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return value
