"""A Plotly figure as plain data: its own builders check every property, which takes 24 ms a map; here nothing is checked but
in the tests, where every figure is."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import plotly.graph_objects as go


class Figure(go.Figure):
    """A finished figure. Streamlit asks for its values at every run: they are copied out once."""

    def to_dict(self) -> dict[str, Any]:
        return self._values

    @cached_property
    def _values(self) -> dict[str, Any]:
        return super().to_dict()


class Drawing:
    """Collects traces and layout; the methods are those of a Plotly figure, without underscores in names."""

    def __init__(self, *traces: dict[str, Any]) -> None:
        self.data = list(traces)
        self.layout: dict[str, Any] = {}

    def add_scatter(self, **properties: Any) -> None:
        self.data.append({"type": "scatter"} | properties)

    def add_bar(self, **properties: Any) -> None:
        self.data.append({"type": "bar"} | properties)

    def add_shape(self, **properties: Any) -> None:
        self.layout.setdefault("shapes", []).append(properties)

    def add_vrect(self, x0: float, x1: float, **properties: Any) -> None:
        """A rectangle from the bottom of the chart to its top."""
        self.add_shape(type="rect", x0=x0, x1=x1, y0=0, y1=1, xref="x", yref="y domain", **properties)

    def add_hline(self, y: float, **properties: Any) -> None:
        """A line from one side of the chart to the other."""
        self.add_shape(type="line", x0=0, x1=1, y0=y, y1=y, xref="x domain", yref="y", **properties)

    def add_annotation(self, **properties: Any) -> None:
        self.layout.setdefault("annotations", []).append(properties)

    def update_xaxes(self, **properties: Any) -> None:
        self.layout.setdefault("xaxis", {}).update(properties)

    def update_yaxes(self, **properties: Any) -> None:
        self.layout.setdefault("yaxis", {}).update(properties)

    def update_layout(self, properties: dict[str, Any] | None = None, **more: Any) -> None:
        self.layout |= (properties or {}) | more

    def figure(self) -> Figure:
        return Figure({"data": self.data, "layout": self.layout}, _validate=False)


def heatmap(**properties: Any) -> dict[str, Any]:
    """A heatmap whose cells are counted from 0, without a bar that explains its colours."""
    return {"type": "heatmap", "x0": 0, "dx": 1, "y0": 0, "dy": 1, "showscale": False} | properties
