"""The learning rate of a run: as it was logged, else as its settings say, by the function that training calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from model.config import TrainConfig
from model.export.csv_tables import Table
from model.io import numbers
from model.workshop.training.history import History
from viz import theme
from viz.kit import controls, site_texts
from viz.state.result_cache import cached_figure
from viz.training import histories
from viz.training.curves_figures import HEIGHT, Line, curves
from viz.training.curves_part import legend
from viz.training.loss_curves import marks_step

if TYPE_CHECKING:
    import plotly.graph_objects as go

POINTS = 240  # of a curve
TOTAL = 10_000  # steps that are drawn where a run does not tell how many it has
UNKNOWN = "The run does not say which rate it took."


def schedule(name: str, mode: theme.Mode, history: History, stamp: histories.Stamp, height: int = 300) -> None:
    """Draws the learning rate of the run."""
    site_texts.write('<h2 class="lab-label lab-rule">The learning rate</h2>')
    if (highest := most(history)) is None:
        site_texts.note(UNKNOWN)
        return
    site_texts.write(legend(lines(history)))
    figure = schedule_figure(name, history, stamp, mode, height)
    alt = f"Learning rate over {total_of(history):,} steps"
    st.plotly_chart(figure, theme=None, key="training rates", config=controls.chart_config("Learning rate"), alt=alt)
    site_texts.note(f"Highest rate: {numbers.scientific(highest[0], 3)}, at step {highest[1]:,} ({source(history)}).")


def source(history: History) -> str:
    """Says where the rate of a run comes from."""
    return "logged" if any("learning_rate" in entry for entry in history.steps) else "computed from its settings"


def total_of(history: History) -> int:
    """How many steps a history's schedule is drawn for."""
    ends = [int(entries[-1]["step"]) for entries in (history.steps, history.validations) if entries]
    return history.total or max(ends, default=TOTAL)


def _rates(learning_rate, config: TrainConfig, total: int) -> tuple[np.ndarray, np.ndarray]:
    last = max(2, total)
    turn = min(max(1, round(config.warmup)), last)  # where the warm-up ends: the peak is drawn, and found
    steps = np.union1d(np.linspace(1, last, POINTS).round().astype(int), [turn])
    return steps, np.array([learning_rate(config, int(step), total) for step in steps])


def most(history: History) -> tuple[float, int] | None:
    """The run's highest rate and its step. Of a log, which leaves steps out, that of its settings where both agree."""
    taken = own(history)
    if taken is None:
        return None
    steps, found, logged = taken
    highest = float(found.max()), int(steps[found.argmax()])
    if not logged or history.config is None:
        return highest
    from model.workshop.training.loss_and_validation import learning_rate

    total = total_of(history)
    agrees = np.isclose(learning_rate(history.config, highest[1], total), highest[0], rtol=1e-3)
    turn = max(1, round(history.config.warmup))
    at_turn = learning_rate(history.config, turn, total)
    return (at_turn, turn) if agrees and at_turn >= highest[0] and turn <= steps.max() else highest


def own(history: History) -> tuple[np.ndarray, np.ndarray, bool] | None:
    """The run's own rate: as it was logged, else as its settings say; whether it was logged. None where neither is known."""
    logged = [entry for entry in history.steps if "learning_rate" in entry]
    if logged:
        return np.array([e["step"] for e in logged]), np.array([e["learning_rate"] for e in logged]), True
    if history.config is None:
        return None
    from model.workshop.training.loss_and_validation import learning_rate

    return (*_rates(learning_rate, history.config, total_of(history)), False)


def planned(history: History) -> tuple[np.ndarray, np.ndarray] | None:
    """The steps that a run which goes on has yet to take, and its rate at each; None where that is not known."""
    config, total = history.config, history.total
    if not (history.is_running and config and total and history.steps):
        return None
    from model.workshop.training.loss_and_validation import learning_rate

    steps = np.unique(np.linspace(history.steps[-1]["step"], total, POINTS).round().astype(int))
    return steps, np.array([learning_rate(config, int(step), total) for step in steps])


def lines(history: History) -> list[Line]:
    """The run's own rate, and the rest of its schedule while it goes on; empty where neither is known."""
    found = []
    if taken := own(history):
        found.append(Line("this run’s own rate", taken[0], taken[1]))
    if ahead := planned(history):
        found.append(Line("the rest of its schedule", *ahead, "ink3"))
    return found


def table(history: History) -> Table:
    """The rate of the run at each step that is drawn."""
    taken = own(history)
    rows = () if taken is None else tuple((int(s), float(r)) for s, r in zip(*taken[:2], strict=True))
    return Table("learning-rate", ("step", "learning_rate"), rows)


def schedule_figure(
    name: str, history: History, stamp: histories.Stamp, mode: theme.Mode, height: int = HEIGHT, marked: bool = True
) -> go.Figure:
    """The run's own rate, with the line of the slider's step where it is `marked`; not kept of a run that goes on, as in
    `curves.figure`."""
    if history.is_running:
        return _drawn(history, mode, height, marked)
    return _figure(name, stamp, mode, height, marked)


@cached_figure
def _figure(name: str, stamp: histories.Stamp, mode: theme.Mode, height: int, marked: bool) -> go.Figure:
    return _drawn(histories.history(name)[0], mode, height, marked)


def _drawn(history: History, mode: theme.Mode, height: int, marked: bool) -> go.Figure:
    shared = marked and marks_step(history)
    return curves(lines(history), "learning rate", mode, total_of(history), height=height, shared=shared)
