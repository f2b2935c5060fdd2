"""The curves of the log and of the validations: loss, scores and gradients, with their notes."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from model.io.numbers import three_digits
from model.workshop.training.history import Entry, History
from viz import theme
from viz.kit import charts, site_texts
from viz.kit.panel import FileOptions, Panel, Picture
from viz.page_context import PageContext
from viz.state.result_cache import cached_figure
from viz.training import histories
from viz.training.curves_figures import Line, curves
from viz.training.histories import OpenHistory
from viz.training.player import PLAYER, list_keys
from viz.training.run_panel import ended

SCORES = {"bleu": ("BLEU", 1), "chrf": ("chrF", 1)}  # what validations measure: its name, and its factor
SHARES = {"labels_right": ("labels right", 100), "blanks_right": ("blanks right", 100), "pairs_right": ("pairs right", 100)}
BITS = {"bits_per_character": ("bits a character", 1)}
CHARTS = ("loss", "scores", "gradients")
CONTRAST = "contrast"  # begins the keys of the shares that a validation may log
CHANCE = 50  # % of contrasts
NORMS = {
    "gradient_norm": ("before clipping", "ink"),
    "gradient_norm_clipped": ("after clipping", "gain_ink"),
    "gradient_norm_largest": ("largest before clipping", "ink3"),
}


@dataclass(frozen=True)
class Curve:
    """A chart of lines, with its title, its vertical axis and a note; without lines, the note says what is missing."""

    title: str
    axis: str
    lines: tuple[Line, ...]
    note: str
    level: float | None = None


def curve(history: History, what: str) -> Curve:
    """Returns one of the `CHARTS` of a history."""
    return {"loss": _loss, "scores": _scores, "gradients": _gradients}[what](history)


def _line(entries: Sequence[Entry], key: str, name: str, hue: str = "", factor: float = 1) -> Line | None:
    logged = [entry for entry in entries if key in entry]
    return Line(name, [e["step"] for e in logged], [factor * e[key] for e in logged], hue) if logged else None


def _loss(history: History) -> Curve:
    every = [
        _line(history.steps, "loss", "training, smoothed" if _smoothing(history) else "training", "encoder_ink"),
        _line(history.validations, "dev_loss", "dev, mean of weights", "decoder_ink"),
        _line(history.validations, "dev_loss_unaveraged", "dev, unaveraged weights", "ink3"),
    ]
    lines = tuple(line for line in every if line)
    text = [f"{_ends(line)}" for line in lines[:2]]
    if _smoothing(history) and history.steps:
        text.append(f"The training loss has label smoothing of {_smoothing(history):g} in it, the dev loss has none")
    return Curve("Loss", "nats", lines, ". ".join(text) + "." if text else "No loss was logged.")


def _smoothing(history: History) -> float:
    return history.config.label_smoothing if history.config else 0.0


def _ends(line: Line) -> str:
    name = line.name if line.name == "chrF" else line.name[:1].upper() + line.name[1:]
    ends = range(len(line.values))[:: max(1, len(line.values) - 1)]
    return f"{name}: {', '.join(f'{three_digits(line.values[n])} at training step {line.steps[n]:,}' for n in ends)}"


def _scores(history: History) -> Curve:
    for title, axis, keys in (("Scores", "0 to 100", SCORES), ("Right", "%", SHARES), ("Bits", "bits a character", BITS)):
        hues = ("ink", "cross_ink", "ink3")
        every = [_line(history.validations, k, n, hue, f) for (k, (n, f)), hue in zip(keys.items(), hues, strict=False)]
        if lines := tuple(line for line in every if line):
            part = f"{_scored_part(history.validations)}the dev text and not on that of a test."
            text = f"{'. '.join(map(_ends, lines))}, on {part}"
            return Curve(f"{title} on the dev text", axis, lines, " ".join(filter(None, (text, _as_trained(lines)))))
    every = history.config.validate_every if history.config else 0
    when = f", every {every:,} training steps and at the end" if history.is_running and every else ""
    return Curve("Scores", "", (), f"No score was logged yet. A validation measures one{when}.")


def _scored_part(validations: Sequence[Entry]) -> str:
    """Returns the part of the dev text that a validation translates; empty if that is not logged."""
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


def _contrasts(history: History) -> list[Curve]:
    """Returns the chart of contrasts, if the validations measured any."""
    keys = dict.fromkeys(key for entry in history.validations for key in entry if key.startswith(CONTRAST))
    hues = itertools.cycle(("ink", "encoder_ink", "decoder_ink", "cross_ink"))
    names = {key: key.removeprefix(CONTRAST).strip("_").replace("_", " ") or "all" for key in keys}
    lines = [_line(history.validations, key, names[key], hue, 100) for key, hue in zip(keys, hues, strict=False)]
    note = f"Share of contrasts where the right translation is likelier than the wrong one. Chance is {CHANCE}%."
    return [Curve("Contrasts", "%", tuple(filter(None, lines)), note, CHANCE)] if keys else []


def _gradients(history: History) -> Curve:
    lines = tuple(line for key, (name, hue) in NORMS.items() if (line := _line(history.steps, key, name, hue)))
    clip = history.config.clip if history.config else None
    cut = [entry for entry in history.steps if {"clipped", "gradient_norm", "gradient_norm_clipped"} <= set(entry)]
    if not lines:
        return Curve("Gradients", "norm", (), "No gradient norms were logged. New runs log them.")
    if not cut:
        return Curve("Gradients", "norm", lines, ". ".join(map(_ends, lines)) + ".", clip)
    share = sum(entry["clipped"] for entry in cut) / len(cut)
    before, after = (sum(entry[key] for entry in cut) for key in ("gradient_norm", "gradient_norm_clipped"))
    steps = f"{_share(share)} of the training steps"
    text = f"Clipping at {clip:g} cut {steps}" if clip else f"{steps} were cut"
    if clip and share:
        text += f": {_cut(share)} gradient was longer than {clip:g}, so that only its direction counted"
    text += f"; over all of them the norm was {before / len(cut):.3g} before and {after / len(cut):.3g} after it."
    return Curve("Gradients", "norm", lines, text, clip)


def _share(share: float) -> str:
    """A share in per cent; none that is not 0 or 1 is written as if it were."""
    return "over 99%" if 0.995 <= share < 1 else "under 1%" if 0 < share < 0.005 else f"{share:.0%}"


def _cut(share: float) -> str:
    """Whose gradient was cut."""
    return "every step’s" if share == 1 else "there the"


def marks_step(history: History) -> bool:
    """Whether the slider's step stands in the curves: there is a slider, and its steps are those of the curves."""
    return history.recording is not None and not history.is_of_another_run


def last_step(history: History) -> float:
    """Where the axis of steps ends."""
    ends = [entries[-1]["step"] for entries in (history.steps, history.validations) if entries]
    if history.recording and not history.is_of_another_run:
        ends.append(history.recording.steps[-1])
    return max(ends, default=1)


@partial(cached_figure, ignore=("history",))
def _chart_data(key: tuple[Hashable, ...], mode: theme.Mode, history: History) -> dict[str, Any]:
    every = [*(curve(history, what) for what in CHARTS), *_contrasts(history)]
    last, has_step = last_step(history), marks_step(history)
    figures = [
        curves(each.lines, each.axis, mode, last, level=each.level, has_step=has_step) if each.lines else None
        for each in every
    ]
    listed = [charts.Chart(each.title, each.note, figure) for each, figure in zip(every, figures, strict=True)]
    return charts.payload(listed, columns=2 if len(listed) == 4 else 3)


def _text(context: PageContext, opened: OpenHistory) -> str:
    """Returns why the training step of the player is not in the curves."""
    history = opened.history
    if not history.is_of_another_run:
        return ""
    last = max(int(entries[-1]["step"]) for entries in (history.steps, history.validations) if entries)
    return site_texts.note_markup(
        f"The sentences were recorded up to training step {opened.recording.steps[-1]:,}. The curves are of another "
        f"training, with training steps from 0 to {last:,}: the player’s training step is not marked in them."
    )


CURVES = Panel(
    "training.curves",
    "Loss, scores and gradients",
    charts.COMPONENT,
    lambda context, opened: _chart_data(opened.key, context.mode, opened.history),
    compute=histories.open_history,
    text=_text,
    is_visible=lambda context: histories.find_history(context) is not None,
    pictures=(Picture("Loss", ".chart", lambda context, opened: {"large": 0}, (PLAYER.name,), text=_text, number=3),),
    keys=lambda context, opened: list_keys(),
    file=FileOptions(text=lambda context, opened: site_texts.note_markup(ended(opened.history)) + _text(context, opened)),
    is_independent=True,
    is_cached=False,  # the files of a run change; `_chart_data` caches by their times
    seen_key=lambda context: (),
)
