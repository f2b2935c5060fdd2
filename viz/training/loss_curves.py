"""The curves of the page Training as they are drawn and told: of the log, of the validations, of the heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from model.readings.heads.head_metrics import METRICS
from model.trace import SITE_KINDS
from model.workshop.training.history import Entry, History
from viz import theme
from viz.state.result_cache import cached_figure
from viz.training import histories
from viz.training.curves_figures import HEIGHT, Line, curves, heads_chart

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from model.workshop.training.recording import HeadEmergence

PREVIOUS, DIAGONAL = "previous", "same"
# Rows that have a share, by whether it is self-attention.
SHARE_ROWS = {True: "a previous token", False: "a source token on the diagonal"}
SCORES = {"bleu": ("BLEU", 1), "chrf": ("chrF", 1)}  # what validations measure: its name, and its factor
SHARES = {"labels_right": ("labels right", 100), "blanks_right": ("blanks right", 100), "pairs_right": ("pairs right", 100)}
BITS = {"bits_per_character": ("bits a character", 1)}
CURVES = ("loss", "scores", "gradients")
NORMS = {
    "gradient_norm": ("before clipping", "ink"),
    "gradient_norm_clipped": ("after clipping", "gain_ink"),
    "gradient_norm_largest": ("largest before clipping", "ink3"),
}


@dataclass(frozen=True)
class Curve:
    """A chart of lines, with its title, its upright axis and what it says; without a line it says what is missing."""

    title: str
    axis: str
    lines: tuple[Line, ...]
    told: str
    level: float | None = None


def curve(history: History, what: str) -> Curve:
    """One of the `CURVES` of a history."""
    return {"loss": _loss, "scores": _scores, "gradients": _gradients}[what](history)


def _line(entries: Sequence[Entry], key: str, name: str, hue: str = "", factor: float = 1) -> Line | None:
    kept = [entry for entry in entries if key in entry]
    return Line(name, [e["step"] for e in kept], [factor * e[key] for e in kept], hue) if kept else None


def _loss(history: History) -> Curve:
    found = [
        _line(history.steps, "loss", "training, smoothed" if _smoothing(history) else "training", "encoder_ink"),
        _line(history.validations, "dev_loss", "dev, mean of weights", "decoder_ink"),
        _line(history.validations, "dev_loss_unaveraged", "dev, unaveraged weights", "ink3"),
    ]
    lines = tuple(line for line in found if line)
    told = [f"{_ends(line)}" for line in lines[:2]]
    if _smoothing(history) and history.steps:
        told.append(f"The training loss has label smoothing of {_smoothing(history):g} in it, the dev loss has none")
    return Curve("Loss", "nats", lines, ". ".join(told) + "." if told else "No loss is kept of it.")


def _smoothing(history: History) -> float:
    return history.config.label_smoothing if history.config else 0.0


def _ends(line: Line) -> str:
    name = line.name if line.name == "chrF" else line.name[:1].upper() + line.name[1:]
    if len(line.values) == 1:
        return f"{name}: {line.values[0]:.4g} at step {line.steps[0]:,}"
    return f"{name}: {line.values[0]:.4g} at step {line.steps[0]:,}, {line.values[-1]:.4g} at step {line.steps[-1]:,}"


def _scores(history: History) -> Curve:
    for title, axis, keys in (("Scores", "0 to 100", SCORES), ("Right", "%", SHARES), ("Bits", "bits a character", BITS)):
        hues = ("ink", "cross_ink", "ink3")
        found = [_line(history.validations, k, n, hue, f) for (k, (n, f)), hue in zip(keys.items(), hues, strict=False)]
        if lines := tuple(line for line in found if line):
            part = f"{_scored_part(history.validations)}the dev text and not on that of a test."
            told = f"{'. '.join(map(_ends, lines))}, on {part}"
            return Curve(f"{title} on the dev text", axis, lines, " ".join(filter(None, (told, _as_trained(lines)))))
    every = history.config.validate_every if history.config else 0
    when = f", every {every:,} steps and at the end" if history.is_running and every else ""
    return Curve("Scores", "", (), f"No score is kept of it yet: a validation measures one{when}.")


def _scored_part(validations: Sequence[Entry]) -> str:
    """Which part of the dev text is translated at a validation; empty where that is not kept."""
    counts = {entry["sentences"] for entry in validations if "sentences" in entry}
    return f"the first {counts.pop():,} sentences of " if len(counts) == 1 else ""


def _as_trained(lines: Sequence[Line]) -> str:
    """What blanks are at a validation, where their share is among the lines."""
    if not any(line.name == SHARES["blanks_right"][0] for line in lines):
        return ""
    from model.workshop.corpus.windows import BLANK_SHARE, RANDOM_SHARE

    return (
        f"Its blanks are those of a training: {BLANK_SHARE:.0%} of them are read as a "
        f"blank, {RANDOM_SHARE:.0%} as a random token, the "
        "rest as they are."
    )


def _gradients(history: History) -> Curve:
    lines = tuple(line for key, (name, hue) in NORMS.items() if (line := _line(history.steps, key, name, hue)))
    clip = history.config.clip if history.config else None
    cut = [entry for entry in history.steps if {"clipped", "gradient_norm", "gradient_norm_clipped"} <= set(entry)]
    if not lines:
        return Curve("Gradients", "norm", (), "The norms of its gradients were not kept: runs that are begun now keep them.")
    if not cut:
        return Curve("Gradients", "norm", lines, ". ".join(map(_ends, lines)) + ".", clip)
    share = sum(entry["clipped"] for entry in cut) / len(cut)
    before, after = (sum(entry[key] for entry in cut) for key in ("gradient_norm", "gradient_norm_clipped"))
    told = f"Clipping at {clip:g} cut {_share(share)} of the steps" if clip else f"{_share(share)} of the steps were cut"
    if clip and share:
        told += f": {_cut(share)} gradient was longer than {clip:g}, so that only its direction counted"
    told += f"; over all steps the norm was {before / len(cut):.3g} before and {after / len(cut):.3g} after it."
    return Curve("Gradients", "norm", lines, told, clip)


def _share(share: float) -> str:
    """A share in per cent; none that is not 0 or 1 is written as if it were."""
    return "over 99%" if 0.995 <= share < 1 else "under 1%" if 0 < share < 0.005 else f"{share:.0%}"


def _cut(share: float) -> str:
    """Whose gradient was cut."""
    return "every step’s" if share == 1 else "there the"


def figure(
    name: str, history: History, stamp: histories.Stamp, what: str, mode: theme.Mode, height: int = HEIGHT
) -> go.Figure:
    """The chart of one of the `CURVES`; that of a run that goes on is not kept, for the next line of its log changes it."""
    return _drawn(history, what, mode, height) if history.is_running else _figure(name, stamp, what, mode, height)


@cached_figure
def _figure(name: str, stamp: histories.Stamp, what: str, mode: theme.Mode, height: int) -> go.Figure:
    return _drawn(histories.history(name)[0], what, mode, height)


def _drawn(history: History, what: str, mode: theme.Mode, height: int) -> go.Figure:
    found = curve(history, what)
    return curves(
        found.lines, found.axis, mode, last_step(history), height=height, level=found.level, shared=marks_step(history)
    )


def marks_step(history: History) -> bool:
    """Whether the slider's step stands in the curves: there is a slider, and its steps are those of the curves."""
    return history.recording is not None and not history.is_of_another_run


def last_step(history: History) -> float:
    """Where the axis of steps ends."""
    ends = [entries[-1]["step"] for entries in (history.steps, history.validations) if entries]
    if history.recording and not history.is_of_another_run:
        ends.append(history.recording.steps[-1])
    return max(ends, default=1)


# -- heads ------------------------------------------------------------------------------------------------------------


def kinds_of(history: History, metric: str) -> tuple[str, ...]:
    """The kinds of attention of which a metric says something; on the diagonal lies cross-attention too."""
    from model.workshop.training.recording import is_applicable

    assert history.recording is not None
    return tuple(kind for kind in history.recording.kinds if is_applicable(history.recording, kind, metric))


@cached_figure
def heads_figure(
    name: str,
    stamp: histories.Stamp,
    metric: str,
    chosen: tuple[str, int, int | None],
    threshold: float,
    mode: theme.Mode,
    height: int = HEIGHT,
) -> go.Figure:
    """A metric of every head over the recorded steps; the threshold where it is a share."""
    history, _ = histories.history(name)
    assert history.recording is not None
    values = {kind: histories.scores(name, stamp, kind, metric) for kind in kinds_of(history, metric)}
    of = METRICS[metric]
    line = threshold if metric in (PREVIOUS, DIAGONAL) else None
    title = of.label + (f", {of.unit}" if of.unit else "")
    return heads_chart(values, history.recording.steps, chosen, theme.SITE_NAMES, title, mode, line, height)


class Appeared(NamedTuple):
    """A sentence on the first head of a kind that reaches the threshold, with that head and step. Where no head reaches it,
    the sentence names the head with the largest number. Layer and head from 0."""

    told: str
    kind: str
    layer: int
    head: int
    step: int


def appeared(name: str, stamp: histories.Stamp, threshold: float) -> list[Appeared]:
    """A sentence for each kind of attention: the first recorded step at which a head reaches the threshold, by its weight on
    the previous token (self-attention) or on the diagonal (cross-attention)."""
    from model.workshop.training.recording import find_emergence

    recording, all_told = histories.recording_of(name), []
    for kind in recording.kinds:
        metric = PREVIOUS if SITE_KINDS[kind].is_self else DIAGONAL
        values = np.nan_to_num(histories.scores(name, stamp, kind, metric))
        found = find_emergence(values, recording.steps, threshold)
        at = found or find_emergence(values, recording.steps, float(values.max()))
        assert at is not None
        told = _appeared(kind, found, values, recording.steps, threshold)
        all_told.append(Appeared(told, kind, at.layer, at.head, at.step))
    return all_told


def _appeared(kind: str, found: HeadEmergence | None, values, steps: tuple[int, ...], threshold: float) -> str:
    from model.workshop.training.recording import find_emergence

    mean = f"the mean over rows that have {SHARE_ROWS[SITE_KINDS[kind].is_self]}"
    name = theme.SITE_NAMES[kind]
    if found:
        head = f"layer {found.layer + 1}, head {found.head + 1}"
        return f"{name}: {head} first reaches {threshold:.2f} at recorded step {found.step:,} ({found.score:.2f}, {mean})."
    best = find_emergence(values, steps, float(values.max()))
    assert best is not None
    digits = next((n for n in range(2, 8) if round(best.score, n) != round(threshold, n)), 8)
    return (
        f"{name}: no head reaches {threshold:.2f} at a recorded step; the largest is {best.score:.{digits}f}, at step "
        f"{best.step:,} (layer {best.layer + 1}, head {best.head + 1}; {mean})."
    )
