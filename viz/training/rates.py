"""The learning rate of a run: as it was logged, else as its settings say, by the function that training calls."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any

import numpy as np

from model.config import TrainConfig
from model.export.csv_tables import Table
from model.io import numbers
from model.workshop.training.history import History
from viz import theme
from viz.kit import charts
from viz.kit.panel import Panel, Picture
from viz.state.result_cache import cached_figure
from viz.training import histories
from viz.training.curves_figures import Line, curves
from viz.training.histories import OpenHistory
from viz.training.loss_curves import marks_step
from viz.training.player import PLAYER, list_keys

TITLE = "The learning rate"
POINTS = 240  # of a curve
TOTAL = 10_000  # steps that are drawn where a run does not tell how many it has
UNKNOWN = "The run does not say which rate it took."


def source(history: History) -> str:
    """Says where the rate of a run comes from."""
    return "logged" if any("learning_rate" in entry for entry in history.steps) else "computed from its settings"


def total_of(history: History) -> int:
    """How many steps a history's schedule is drawn for."""
    ends = [int(entries[-1]["step"]) for entries in (history.steps, history.validations) if entries]
    return history.total or max(ends, default=TOTAL)


def _rates(learning_rate, config: TrainConfig, total: int) -> tuple[np.ndarray, np.ndarray]:
    last = max(2, total)
    turn = min(max(1, round(config.warmup)), last)  # where the warm-up ends: the peak is drawn
    steps = np.union1d(np.linspace(1, last, POINTS).round().astype(int), [turn])
    return steps, np.array([learning_rate(config, int(step), total) for step in steps])


def most(history: History) -> tuple[float, int] | None:
    """The run's highest rate and its step. Of a log, which leaves steps out, that of its settings where both agree."""
    own_rates = own(history)
    if own_rates is None:
        return None
    steps, rates, logged = own_rates
    highest = float(rates.max()), int(steps[rates.argmax()])
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
    every = []
    if own_rates := own(history):
        every.append(Line("this run’s own rate", own_rates[0], own_rates[1]))
    if ahead := planned(history):
        every.append(Line("the rest of its schedule", *ahead, "ink3"))
    return every


def _table(history: History) -> tuple[Table, ...]:
    """Returns the rate of the run at each step that is drawn."""
    rates = own(history)
    rows = () if rates is None else tuple((int(s), float(r)) for s, r in zip(*rates[:2], strict=True))
    return (Table("learning-rate", ("step", "learning_rate"), rows),) if rows else ()


@partial(cached_figure, ignore=("opened",))
def _chart_data(key: tuple[Hashable, ...], mode: theme.Mode, opened: OpenHistory) -> dict[str, Any]:
    history, every, highest = opened.history, lines(opened.history), most(opened.history)
    if highest is None:
        return charts.payload([charts.Chart(TITLE, UNKNOWN, None)])
    note = f"Highest rate: {numbers.scientific(highest[0], 3)}, at training step {highest[1]:,} ({source(history)})."
    figure = curves(every, "learning rate", mode, total_of(history), has_step=marks_step(history))
    return charts.payload([charts.Chart(TITLE, note, figure)], columns=1)


RATE = Panel(
    "training.rate",
    TITLE,
    charts.COMPONENT,
    lambda context, opened: _chart_data(opened.key, context.mode, opened),
    compute=histories.open_history,
    tables=lambda context, opened: _table(opened.history),
    is_visible=lambda context: histories.find_history(context) is not None,
    pictures=(Picture("Rate", ".chart", lambda context, opened: {"large": 0}, (PLAYER.name,), number=5),),
    keys=lambda context, opened: list_keys(),
    is_independent=True,
    is_cached=False,  # the files of a run change; `_chart_data` caches by their times
)
