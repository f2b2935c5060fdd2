"""Charts in one component: titles, sentences and figures that travel once and are drawn in the browser."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from viz.kit import mount

if TYPE_CHECKING:
    import plotly.graph_objects as go

COMPONENT = mount.Component(__file__, '<div class="charts"></div>')
ALL = "all"  # charts are enlarged in lecture mode
DIGITS = 7  # of a number, as many as float32 has


class Chart(NamedTuple):
    """A chart with its title and one sentence; without a figure the sentence says why."""

    title: str
    note: str
    figure: go.Figure | None


def payload(charts: Sequence[Chart], columns: int = 3) -> dict[str, Any]:
    """Returns the data of charts, so many in a row. In lecture mode `large` is the number of one chart, from 0, or ALL."""
    listed = [
        {"title": each.title, "note": each.note, "figure": None if each.figure is None else _values(each.figure)}
        for each in charts
    ]
    return {"charts": listed, "columns": columns, "large": None}


def _values(figure: go.Figure) -> dict[str, Any]:
    """Returns traces and layout as they were built; `to_dict` would encode the arrays in Plotly's way."""
    return {"data": _plain(figure._data), "layout": _plain(figure._layout)}


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
