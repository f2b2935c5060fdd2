"""How a model learned, as it was kept: log, validations and recording of a run, or of a checkpoint. No torch here.

A run keeps `settings.json`, `log.jsonl` and `probes.npz` in its folder, and grows while it is read; a checkpoint keeps
`metrics.json` and `probes.npz`. What is missing is told, with the way to get it; what is damaged likewise.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model.config import ModelConfig, TrainConfig
from model.io.files import (
    MEGABYTE,
    FileError,
    parsed,
    read_bytes,
    read_json,
)
from model.io.limits import is_count, is_number
from model.workshop.training.recording import Recording
from model.workshop.training.tasks import TRAINING_TASKS

SETTINGS, LOG, METRICS, PROBES = "settings.json", "log.jsonl", "metrics.json", "probes.npz"
MAX_LOG = 16 * MEGABYTE  # bytes: some hundred thousand lines
QUIET = 180  # seconds without a line, after which a run counts as stopped; longer where its lines are further apart
RECENT = 12  # lines of a log from which its speed is told
Entry = Mapping[str, float]
Load = Callable[[Path], Recording]


@dataclass(frozen=True)
class Progress:
    """How far a run is; `total` and `minutes` are None where its log does not tell them yet."""

    step: int
    total: int | None
    minutes: float | None  # that are left

    def told(self) -> str:
        """The same as a sentence."""
        if self.total is None:
            return f"Step {self.step:,}; how many there will be is known once its warm-up is over."
        share = f"step {self.step:,} of {self.total:,}, {math.floor(100 * self.step / self.total)} %"
        return f"{share[:1].upper()}{share[1:]}{'' if self.minutes is None else ', ' + _left(self.minutes)}."


def _left(minutes: float) -> str:
    if minutes < 1:
        return "less than a minute to go"
    if minutes < 90:
        return f"about {round(minutes)} minute{'s' if round(minutes) != 1 else ''} to go"
    return f"about {minutes / 60:.1f} hours to go"


@dataclass(frozen=True)
class History:
    """What is known of a training: rising steps in each part. Empty parts have a sentence each in `lacks`."""

    name: str
    steps: tuple[Entry, ...]  # of the log: loss in nats, learning_rate, norms of the gradients where they are kept
    validations: tuple[Entry, ...]  # dev_loss in nats, and what else was measured
    recording: Recording | None
    config: TrainConfig | None
    width: int | None  # d_model
    going: bool = False  # somebody trains it now
    over: bool = False  # it came to its end, which may be before its last step
    lacks: tuple[str, ...] = ()

    @property
    def nbytes(self) -> int:
        return (self.recording.nbytes if self.recording else 0) + 512 * (len(self.steps) + len(self.validations))

    @property
    def total(self) -> int | None:
        """How many steps the run has in all; None where its log does not tell it (yet)."""
        return (
            next((int(entry["total"]) for entry in reversed(self.steps) if entry.get("total", 0) >= 1), None)
            or self._by_rate()
        )

    def _by_rate(self) -> int | None:
        """The same of a log that does not say it: what the cosine schedule must end at to have come so far."""
        if self.config is None or self.config.schedule != "cosine":
            return None
        peak, warmup = self.config.learning_rate, self.config.warmup
        for entry in reversed(self.steps):
            step, share = entry["step"], entry.get("learning_rate", peak) / peak
            if step > warmup and 0 < share < 1:
                return round(warmup + (step - warmup) * math.pi / math.acos(2 * share - 1))
        return None

    @property
    def progress(self) -> Progress | None:
        """How far the run is, by its own log; None where there is none."""
        if not self.steps:
            return None
        step, total = max(int(each[-1]["step"]) for each in (self.steps, self.validations) if each), self.total
        timed = [entry for entry in self.steps[-RECENT:] if "seconds" in entry]
        pace = [
            (b["seconds"] - a["seconds"]) / (b["step"] - a["step"])
            for a, b in itertools.pairwise(timed)
            if b["step"] > a["step"]
        ]
        minutes = (total - step) * statistics.median(pace) / 60 if total and pace else None
        return Progress(step, None if total is None else max(total, step), minutes)

    @property
    def apart(self) -> bool:
        """Whether the recording goes on beyond the steps that the log and the validations know: it is of another run."""
        ends = [int(entries[-1]["step"]) for entries in (self.steps, self.validations) if entries]
        return bool(self.recording and ends and not self.going and self.recording.steps[-1] > 1.5 * max(ends) + 10)

    @property
    def unlogged(self) -> int:
        """How many steps the recording goes back before the log begins: of a training that kept none; mostly 0."""
        if not self.recording or not self.steps or self.apart:
            return 0
        first, second = (int(entry["step"]) for entry in (self.steps[0], self.steps[min(1, len(self.steps) - 1)]))
        before = 2 * first - second
        return before if any(0 < step < before for step in self.recording.steps) else 0


def of_checkpoint(place: Path, name: str, load: Load = Recording.load) -> History:
    """What the folder of a checkpoint tells. Never raises for what is missing or damaged in it; `load` reads a recording."""
    lacks: list[str] = []
    metrics = _json(place / METRICS, lacks, f"{name} has no {METRICS}: python -m model train writes one.")
    settings = metrics.get("training") if isinstance(metrics.get("training"), dict) else {}
    config = _config(settings, lacks, name) if settings else None
    if metrics and not settings:
        lacks.append(f"{name} does not say how it was trained: its {METRICS} has no 'training'.")
    values = _json(place / "config.json", [], "")
    log = _log(place / LOG, lacks, name) if os.path.lexists(place / LOG) else ()
    if not log:
        lacks.append(
            f"{name} keeps no log of its steps: training loss and gradients are there for the runs of python -m model train "
            f"in the folder {RUNS!r}, and beside the weights of those that end now."
        )
    steps, validations = _parts(log)
    recording = _recording((place / PROBES,), lacks, name, load)
    found = validations or _entries(metrics.get("validations"))
    made = History(name, steps, found, recording, config, _width(values.get("model")), over=True)
    if made.unlogged:
        lacks.append(
            f"The log of {name} begins at step {made.unlogged:,}: of its training before that none was kept, and the curves "
            "begin there."
        )
    return dataclasses.replace(made, lacks=tuple(lacks))


RUNS = "runs"


def of_run(place: Path, name: str, load: Load = Recording.load) -> History:
    """What the folder of a run tells, whether it is over or goes on; otherwise as `of_checkpoint`."""
    lacks: list[str] = []
    settings = _json(place / SETTINGS, lacks, f"{name} is no folder of a run: it has no {SETTINGS}.")
    given = settings.get("training") if isinstance(settings.get("training"), dict) else None
    config = None if given is None else _config(given, lacks, name)
    log = _log(place / LOG, lacks, name)
    steps, validations = _parts(log)
    if log and steps and not any("gradient_norm" in entry for entry in steps):
        lacks.append(f"The log of {name} has no norms of gradients: runs that are begun now keep them.")
    model = settings.get("model") if isinstance(settings.get("model"), dict) else {}
    task = TRAINING_TASKS.get(str(settings.get("task", "translate")))
    width = _width({"d_model": ModelConfig.d_model} | (dict(task.model) if task else {}) | model)
    if settings.get("init"):  # its model is that of the checkpoint it began with
        width = _width(_json(place / "checkpoint" / "config.json", [], "").get("model"))
    recording = _recording((place / PROBES, place / "checkpoint" / PROBES), lacks, name, load)
    history = History(name, steps, validations, recording, config, width, lacks=tuple(lacks))
    over = (place / "checkpoint" / "means.safetensors").exists()  # the last thing that a run writes beside its weights
    history = dataclasses.replace(history, over=over)
    return dataclasses.replace(history, going=is_going(place, history))


def is_going(place: Path, history: History) -> bool:
    """Whether the log was written a moment ago, and is not at its end; before its first line, the settings. (To ask for the
    lock would keep the run out.)"""
    progress = history.progress
    if history.over or (progress is not None and progress.step == progress.total):
        return False
    last = [entry["seconds"] for entry in history.steps[-2:] if "seconds" in entry]
    apart = last[1] - last[0] if len(last) == 2 else 0
    try:
        newest = os.stat(place / (SETTINGS if progress is None else LOG)).st_mtime
        return time.time() - newest < max(QUIET, 3 * apart)
    except OSError:
        return False


def _json(path: Path, lacks: list[str], missing: str) -> dict[str, Any]:
    """An object of a JSON file; what is wrong with it is told."""
    try:
        found = read_json(path, 4 * MEGABYTE)
    except FileNotFoundError:
        lacks.append(missing)
        return {}
    except FileError:
        lacks.append(f"{path.name} cannot be read: it is damaged, or still being copied.")
        return {}
    if not isinstance(found, dict):
        lacks.append(f"{path.name} is no object of names and values.")
        return {}
    return found


def _config(given: Mapping[str, Any], lacks: list[str], name: str) -> TrainConfig | None:
    known = {field.name for field in dataclasses.fields(TrainConfig)}
    try:
        return TrainConfig(**{key: value for key, value in given.items() if key in known})
    except (ValueError, TypeError):
        lacks.append(f"The settings of {name} are of another schema: its schedule is not drawn.")
        return None


def _width(model: Any) -> int | None:
    value = model.get("d_model") if isinstance(model, dict) else None
    return value if is_count(value) and value > 0 else None


def _log(path: Path, lacks: list[str], name: str) -> tuple[Entry, ...]:
    """The lines of a log; one that is half written, or none of ours, is left out. Where a run was killed and goes on, the
    later of two lines of a step counts."""
    try:
        lines = read_bytes(path, MAX_LOG).decode("utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        lacks.append(f"{name} has no {LOG} yet: its first line comes after the first {TrainConfig.log_every} steps.")
        return ()
    except FileError:
        lacks.append(f"The log of {name} cannot be read, or has over {MAX_LOG // MEGABYTE} MB: its curves are left out.")
        return ()
    values = []
    for line in lines:
        try:
            values.append(parsed(line.encode()))
        except ValueError:  # half written
            continue
    if not (found := _entries(values)):
        lacks.append(f"The log of {name} has no line yet: the first comes after the first steps.")
    return found


def _parts(log: Sequence[Entry]) -> tuple[tuple[Entry, ...], tuple[Entry, ...]]:
    """Of a log the steps, and the validations."""
    return tuple(entry for entry in log if "loss" in entry), tuple(entry for entry in log if "dev_loss" in entry)


def _entries(values: Any) -> tuple[Entry, ...]:
    """Records with a step and numbers, by rising steps; what is none is left out."""
    found: dict[tuple[int, bool], Entry] = {}
    for value in values if isinstance(values, list) else ():
        if isinstance(value, dict) and is_count(value.get("step")):
            entry = {key: number for key, number in value.items() if is_number(number, -1e30, 1e30)}
            found[value["step"], "dev_loss" in entry] = entry
    return tuple(found[key] for key in sorted(found))


def _recording(places: Sequence[Path], lacks: list[str], name: str, load: Load) -> Recording | None:
    """The first of some recordings that is there."""
    for path in places:
        if not os.path.lexists(path):
            continue
        try:
            found = load(path)
        except (ValueError, OSError) as fault:
            lacks.append(str(fault).replace(str(path), f"{path.name} of {name}"))
            return None
        if not any(map(any, found.written)):
            lacks.append(f"What {name} made of the sentences at each step was not kept: runs that are begun now keep it.")
        return found
    lacks.append(
        f"{name} has no {PROBES}, which holds the maps of some sentences along the way: python -m model train writes it "
        "for the runs that are begun now."
    )
    return None
