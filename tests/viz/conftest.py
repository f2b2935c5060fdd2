import cachetools
import plotly.graph_objects as go
import pytest

from viz import cache
from viz.kit.chart_figures import Drawing
from viz.state import hosts


@pytest.fixture(autouse=True)
def every_figure_is_one_that_plotly_knows(monkeypatch):
    """Pages do not check their figures: each that a test draws is checked here, property by property."""
    draw = Drawing.figure

    def checked(drawing: Drawing) -> go.Figure:
        figure = draw(drawing)
        go.Figure(figure.to_dict())
        return figure

    monkeypatch.setattr(Drawing, "figure", checked)


@pytest.fixture(autouse=True)
def no_address_is_shared(monkeypatch):
    """A server that another test started says nothing about the address of this one."""
    monkeypatch.setattr(hosts, "_is_open", False)
    monkeypatch.setattr(hosts, "_shared", None)


@pytest.fixture(autouse=True)
def folders_are_read_at_once(monkeypatch):
    """A test changes a folder and looks at it in the same second."""
    monkeypatch.setattr(cache, "_recent", cachetools.TTLCache(1, 0))
