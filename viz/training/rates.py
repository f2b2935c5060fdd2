"""The schedule and the smoothed target, computed by the functions that training itself uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from model.config import TrainConfig
from model.training.history import History
from viz import theme
from viz.keep import cached_figure, kept
from viz.training import histories
from viz.training.curves import marks_step
from viz.training.curves_figures import HEIGHT, Line, curves

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from model.inference.analysis import Analysis

POINTS = 240  # of a curve
TOTAL = 10_000  # steps that are drawn where a run does not tell how many it has


@dataclass(frozen=True)
class Schedule:
    """What the schedules are drawn of: 2017's d_model, warm-up and factor, and how many steps."""

    width: int
    warmup: int
    factor: float
    total: int


def total_of(history: History) -> int:
    """How many steps a history's schedule is drawn for."""
    ends = [int(entries[-1]["step"]) for entries in (history.steps, history.validations) if entries]
    return history.total or max(ends, default=TOTAL)


@kept(256)
def peak(schedule: Schedule) -> float:
    """The rate at the end of the warm-up, of the schedule of 2017."""
    from model.training.loss import noam_peak

    return noam_peak(schedule.width, schedule.warmup, schedule.factor)


@kept(256)
def rates(name: str, schedule: Schedule) -> tuple[np.ndarray, np.ndarray]:
    """Some steps, and the rate at each by a named schedule of that peak and warm-up; see `model.training.loss`."""
    from model.training.loss import learning_rate

    config = TrainConfig(schedule=name, learning_rate=peak(schedule), warmup=schedule.warmup)  # type: ignore[arg-type]
    return _rates(learning_rate, config, schedule.total)


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
    from model.training.loss import learning_rate

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
    from model.training.loss import learning_rate

    return (*_rates(learning_rate, history.config, total_of(history)), False)


def planned(history: History) -> tuple[np.ndarray, np.ndarray] | None:
    """The steps that a run which goes on has yet to take, and its rate at each; None where that is not known."""
    config, total = history.config, history.total
    if not (history.going and config and total and history.steps):
        return None
    from model.training.loss import learning_rate

    steps = np.unique(np.linspace(history.steps[-1]["step"], total, POINTS).round().astype(int))
    return steps, np.array([learning_rate(config, int(step), total) for step in steps])


def lines(history: History, schedule: Schedule) -> list[Line]:
    """Both schedules, the run's own rate, and of a run that goes on what it has before it."""
    found = [
        Line("Noam (2017)", *rates("noam", schedule), "decoder_ink"),
        Line("linear warm-up, cosine", *rates("cosine", schedule), "encoder_ink"),
    ]
    if taken := own(history):
        found.append(Line("this run’s own rate", taken[0], taken[1]))
    if ahead := planned(history):
        found.append(Line("the rest of its schedule", *ahead, "ink3"))
    return found


def schedule_figure(
    name: str,
    history: History,
    stamp: histories.Stamp,
    schedule: Schedule,
    mode: theme.Mode,
    height: int = HEIGHT,
    marked: bool = True,
) -> go.Figure:
    """Both schedules, and the run's own rate over them, with the line of the slider's step where it is `marked`; not kept
    of a run that goes on, as in `curves.figure`."""
    if history.going:
        return _drawn(history, schedule, mode, height, marked)
    return _figure(name, stamp, schedule, mode, height, marked)


@cached_figure
def _figure(name: str, stamp: histories.Stamp, schedule: Schedule, mode: theme.Mode, height: int, marked: bool) -> go.Figure:
    return _drawn(histories.history(name)[0], schedule, mode, height, marked)


def _drawn(history: History, schedule: Schedule, mode: theme.Mode, height: int, marked: bool) -> go.Figure:
    shared = marked and marks_step(history)
    return curves(lines(history, schedule), "learning rate", mode, schedule.total, height=height, shared=shared)


@dataclass(frozen=True)
class Smoothed:
    """A real row of probabilities against both smoothed targets: the tokens that are shown, what the model and the targets
    give to each, and all that the formula needs."""

    tokens: tuple[str, ...]
    model: tuple[float, ...]
    even: tuple[float, ...]
    others: tuple[float, ...]
    right: str
    is_taken: bool  # a blank: nobody says what stands there
    probability: float
    vocabulary: int
    mean_nats: float  # of -ln p over the whole vocabulary
    hard: float  # the loss without smoothing, in nats
    even_loss: float
    others_loss: float


def smoothed(
    analysis: Analysis, right: int, pieces, step: int, eps: float, count: int = 8, is_taken: bool = False
) -> Smoothed:
    """The row of a step (from 0) with the id of its right token, which may be `is_taken` for it; `pieces` names ids. The
    losses are those of `model.training.loss`."""
    import torch

    from model.training.loss import others_loss, smoothed_loss, smoothed_targets

    row = np.array(analysis.trace.log_probs[step])
    logits, target = torch.from_numpy(row)[None], torch.tensor([right])
    shown = [right, *(int(n) for n in np.argsort(-row)[:count] if n != right)][:count]
    targets = smoothed_targets(eps, len(row))
    both = [tuple(given if n == right else other for n in shown) for given, other in targets.values()]
    return Smoothed(
        tuple(pieces(shown)),
        tuple(float(np.exp(row[n])) for n in shown),
        *both,
        right=pieces([right])[0],
        is_taken=is_taken,
        probability=float(np.exp(row[right])),
        vocabulary=len(row),
        mean_nats=float(-row.mean()),
        hard=float(smoothed_loss(logits, target, 0.0)),
        even_loss=float(smoothed_loss(logits, target, eps)),
        others_loss=float(others_loss(logits, target, eps)),
    )
