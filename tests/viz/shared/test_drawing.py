"""A figure made of plain data is the one that Plotly's own builders make."""

import json

import numpy as np
import plotly.graph_objects as go
import plotly.io
import pytest

from viz import theme
from viz.shared.drawing import Drawing, heatmap

VALUES = np.arange(6, dtype=np.float32).reshape(2, 3)


def fill(figure: Drawing | go.Figure) -> None:
    """The same calls on either."""
    figure.add_scatter(x=np.arange(3), y=[1.0, None, 2.0], mode="lines", line={"color": "#000000", "width": 2})
    figure.add_bar(x=[1, 2], y=np.array([0.5, 0.25]), text=["a", "b"], marker={"line": {"width": 1}})
    figure.add_shape(type="rect", x0=0, x1=1, y0=0, y1=1, line={"width": 1}, opacity=0, layer="above", name="frame")
    figure.add_vrect(x0=0.5, x1=1.5, fillcolor="#ffffff", line={"width": 0}, layer="below")
    figure.add_hline(y=1.5, line={"dash": "dash"})
    figure.add_annotation(x=1, y=2, text="here", showarrow=False, font={"size": 12})
    figure.update_xaxes(range=[0, 3], tickvals=np.arange(3), ticktext=["a", "b", "c"])
    figure.update_xaxes(title={"text": "x", "standoff": 4})
    figure.update_yaxes(type="log", fixedrange=True)
    figure.update_layout(theme.chart_layout("dark", 120, l=1, t=2, r=3, b=4), plot_bgcolor="#123456")
    figure.update_layout(hovermode="closest")


def spec(figure: go.Figure) -> dict:
    return json.loads(plotly.io.to_json(figure, validate=False))


def test_the_same_calls_make_the_same_figure():
    heat = {"z": VALUES, "zmin": 0, "zmax": 1, "colorscale": [[0, "#000000"], [1, "#ffffff"]]}
    ours = Drawing(heatmap(**heat))
    theirs = go.Figure(go.Heatmap(x0=0, dx=1, y0=0, dy=1, showscale=False, **heat), {"template": "none"})
    for figure in (ours, theirs):
        fill(figure)
    assert spec(ours.figure()) == spec(theirs)


def test_unknown_plotly_properties_are_found():
    drawing = Drawing()
    drawing.update_layout(colour="red")
    with pytest.raises(ValueError, match=r"Invalid property specified for object of type .*Layout: 'colour'"):
        drawing.figure()
