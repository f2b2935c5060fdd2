"""Learning history of a run or a checkpoint: log, validations and recording. Imports no torch.

A run has `settings.json`, `log.jsonl` and `probes.npz` in its folder, and these grow while it is read. A checkpoint has
`metrics.json` and `probes.npz`. A notice names each file that is missing or damaged, and says how to get it.
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

from ...config import ModelConfig, TrainConfig
from ...io.files import MEGABYTE, FileError, is_count, is_number, parse_json, read_bytes, read_json
from ...io.package_names import COMMAND
from .recording import Recording
from .tasks import TRAINING_TASKS

SETTINGS, LOG, METRICS, PROBES = "settings.json", "log.jsonl", "metrics.json", "probes.npz"
MAX_LOG = 16 * MEGABYTE  # bytes: some hundred thousand lines
STALE_SECONDS = 180  # seconds without a line until a run counts as stopped; longer if its lines are rarer
RECENT_LINES = 12  # log lines that give the speed
Entry = Mapping[str, float]
LoadRecording = Callable[[Path], Recording]


@dataclass(frozen=True)
class Progress:
    """Position of a run. `total` and `minutes` are None while its log does not determine them."""

    step: int
    total: int | None
    minutes: float | None  # until the end

    def describe(self) -> str:
        """Returns the progress as a sentence."""
        if self.total is None:
            return f"Step {self.step:,}. The total is known after the warm-up."
        text = f"Step {self.step:,} of {self.total:,}, {math.floor(100 * self.step / self.total)} %"
        return f"{text}." if self.minutes is None else f"{text}, {_time_left(self.minutes)}."


def _time_left(minutes: float) -> str:
    if minutes < 1:
        return "less than a minute to go"
    if minutes < 90:
        return f"about {round(minutes)} minute{'s' if round(minutes) != 1 else ''} to go"
    return f"about {minutes / 60:.1f} hours to go"


@dataclass(frozen=True)
class History:
    """The known history of a training, steps rising in each part. `notices` has a sentence for each empty part."""

    name: str
    steps: tuple[Entry, ...]  # of the log: loss in nats, learning_rate, norms of the gradients if they are logged
    validations: tuple[Entry, ...]  # dev_loss in nats, and other measurements
    recording: Recording | None
    config: TrainConfig | None
    d_model: int | None  # d_model
    is_running: bool = False  # in progress
    is_over: bool = False  # finished, possibly before its last step
    notices: tuple[str, ...] = ()

    @property
    def nbytes(self) -> int:
        return (self.recording.nbytes if self.recording else 0) + 512 * (len(self.steps) + len(self.validations))

    @property
    def total(self) -> int | None:
        """The number of steps of the run, or None while its log does not determine it."""
        return (
            next((int(entry["total"]) for entry in reversed(self.steps) if entry.get("total", 0) >= 1), None)
            or self._total_from_schedule()
        )

    def _total_from_schedule(self) -> int | None:
        """Returns the step at which the cosine schedule ends, computed from the logged rates of an older run."""
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
        """The position of the run by its own log, or None without a log."""
        if not self.steps:
            return None
        step, total = max(int(each[-1]["step"]) for each in (self.steps, self.validations) if each), self.total
        timed = [entry for entry in self.steps[-RECENT_LINES:] if "seconds" in entry]
        pace = [
            (b["seconds"] - a["seconds"]) / (b["step"] - a["step"])
            for a, b in itertools.pairwise(timed)
            if b["step"] > a["step"]
        ]
        minutes = (total - step) * statistics.median(pace) / 60 if total and pace else None
        return Progress(step, None if total is None else max(total, step), minutes)

    @property
    def is_of_another_run(self) -> bool:
        """True if the recording has steps beyond those of the log and the validations: it belongs to another run."""
        ends = [int(entries[-1]["step"]) for entries in (self.steps, self.validations) if entries]
        return bool(self.recording and ends and not self.is_running and self.recording.steps[-1] > 1.5 * max(ends) + 10)

    @property
    def unlogged_steps(self) -> int:
        """The number of steps before the log begins that the recording covers; 0 for most runs."""
        if not self.recording or not self.steps or self.is_of_another_run:
            return 0
        first, second = (int(entry["step"]) for entry in (self.steps[0], self.steps[min(1, len(self.steps) - 1)]))
        before = 2 * first - second
        return before if any(0 < step < before for step in self.recording.steps) else 0


def load_checkpoint_history(folder: Path, name: str, load: LoadRecording = Recording.load) -> History:
    """Returns the history in the folder of a checkpoint. Never raises for missing or damaged files; `load` reads a
    recording."""
    notices: list[str] = []
    metrics = _read_object(folder / METRICS, notices, f"{name} has no {METRICS}. {COMMAND} train writes one.")
    settings = metrics.get("training") if isinstance(metrics.get("training"), dict) else {}
    config = _read_config(settings, notices, name) if settings else None
    if metrics and not settings:
        notices.append(f"The {METRICS} of {name} has no training settings ('training').")
    values = _read_object(folder / "config.json", [], "")
    log = _read_log(folder / LOG, notices, name) if os.path.lexists(folder / LOG) else ()
    if not log:
        notices.append(
            f"{name} has no log of its steps, so training loss and gradients are missing. {COMMAND} train writes "
            f"the log in the folder {RUNS!r} and next to the weights."
        )
    steps, validations = _split_log(log)
    recording = _load_recording((folder / PROBES,), notices, name, load)
    logged = validations or _valid_entries(metrics.get("validations"))
    history = History(name, steps, logged, recording, config, _d_model(values.get("model")), is_over=True)
    if history.unlogged_steps:
        notices.append(
            f"The log of {name} begins at step {history.unlogged_steps:,}, so the curves begin there. "
            "The steps before it were not logged."
        )
    return dataclasses.replace(history, notices=tuple(notices))


RUNS = "runs"


def load_run_history(folder: Path, name: str, load: LoadRecording = Recording.load) -> History:
    """Returns the history in the folder of a run, finished or running. See `load_checkpoint_history`."""
    notices: list[str] = []
    settings = _read_object(folder / SETTINGS, notices, f"{name} is no folder of a run. It has no {SETTINGS}.")
    training = settings.get("training") if isinstance(settings.get("training"), dict) else None
    config = None if training is None else _read_config(training, notices, name)
    log = _read_log(folder / LOG, notices, name)
    steps, validations = _split_log(log)
    if log and steps and not any("gradient_norm" in entry for entry in steps):
        notices.append(f"The log of {name} has no gradient norms. New runs log them.")
    model = settings.get("model") if isinstance(settings.get("model"), dict) else {}
    task = TRAINING_TASKS.get(str(settings.get("task", "translate")))
    width = _d_model({"d_model": ModelConfig.d_model} | (dict(task.model) if task else {}) | model)
    if settings.get("init"):  # the model of the initial checkpoint
        width = _d_model(_read_object(folder / "checkpoint" / "config.json", [], "").get("model"))
    recording = _load_recording((folder / PROBES, folder / "checkpoint" / PROBES), notices, name, load)
    history = History(name, steps, validations, recording, config, width, notices=tuple(notices))
    over = (folder / "checkpoint" / "means.safetensors").exists()  # a run writes it last
    history = dataclasses.replace(history, is_over=over)
    return dataclasses.replace(history, is_running=is_running(folder, history))


def is_running(folder: Path, history: History) -> bool:
    """Returns True if the log is recent and not at its last step. Before the first line, the settings count instead.

    Trying the lock of the run would keep the run itself out.
    """
    progress = history.progress
    if history.is_over or (progress is not None and progress.step == progress.total):
        return False
    last = [entry["seconds"] for entry in history.steps[-2:] if "seconds" in entry]
    apart = last[1] - last[0] if len(last) == 2 else 0
    try:
        newest = os.stat(folder / (SETTINGS if progress is None else LOG)).st_mtime
        return time.time() - newest < max(STALE_SECONDS, 3 * apart)
    except OSError:
        return False


def _read_object(path: Path, notices: list[str], missing_notice: str) -> dict[str, Any]:
    """Returns the object in a JSON file, or an empty one and a notice."""
    try:
        value = read_json(path, 4 * MEGABYTE)
    except FileNotFoundError:
        notices.append(missing_notice)
        return {}
    except FileError:
        notices.append(f"{path.name} cannot be read. It is damaged or still being copied.")
        return {}
    if not isinstance(value, dict):
        notices.append(f"{path.name} is not a JSON object.")
        return {}
    return value


def _read_config(settings: Mapping[str, Any], notices: list[str], name: str) -> TrainConfig | None:
    known = {field.name for field in dataclasses.fields(TrainConfig)}
    try:
        return TrainConfig(**{key: value for key, value in settings.items() if key in known})
    except (ValueError, TypeError):
        notices.append(f"The settings of {name} have another schema, so its schedule is missing.")
        return None


def _d_model(model: Any) -> int | None:
    value = model.get("d_model") if isinstance(model, dict) else None
    return value if is_count(value) and value > 0 else None


def _read_log(path: Path, notices: list[str], name: str) -> tuple[Entry, ...]:
    """Returns the valid lines of a log. After a killed run resumes, the later of two lines of a step counts."""
    try:
        lines = read_bytes(path, MAX_LOG).decode("utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        notices.append(f"{name} has no {LOG} yet. Its first line comes after {TrainConfig.log_every} steps.")
        return ()
    except FileError:
        notices.append(f"The log of {name} is unreadable or over {MAX_LOG // MEGABYTE} MB, so its curves are missing.")
        return ()
    values = []
    for line in lines:
        try:
            values.append(parse_json(line.encode()))
        except ValueError:  # half written
            continue
    if not (entries := _valid_entries(values)):
        notices.append(f"The log of {name} has no line yet. The first comes after some steps.")
    return entries


def _split_log(log: Sequence[Entry]) -> tuple[tuple[Entry, ...], tuple[Entry, ...]]:
    """Splits a log into its steps and its validations."""
    return tuple(entry for entry in log if "loss" in entry), tuple(entry for entry in log if "dev_loss" in entry)


def _valid_entries(values: Any) -> tuple[Entry, ...]:
    """Returns the records that have a step and numbers, by rising step."""
    entries: dict[tuple[int, bool], Entry] = {}
    for value in values if isinstance(values, list) else ():
        if isinstance(value, dict) and is_count(value.get("step")):
            entry = {key: number for key, number in value.items() if is_number(number, -1e30, 1e30)}
            entries[value["step"], "dev_loss" in entry] = entry
    return tuple(entries[key] for key in sorted(entries))


def _load_recording(paths: Sequence[Path], notices: list[str], name: str, load: LoadRecording) -> Recording | None:
    """Returns the first recording that exists, or None and a notice."""
    for path in paths:
        if not os.path.lexists(path):
            continue
        try:
            recording = load(path)
        except (ValueError, OSError) as fault:
            notices.append(str(fault).replace(str(path), f"{path.name} of {name}"))
            return None
        if not any(map(any, recording.outputs)):
            notices.append(f"{name} has no outputs for the sentences at each step. New runs record them.")
        return recording
    notices.append(
        f"{name} has no {PROBES} with the maps of some sentences during training. New runs of {COMMAND} train write it."
    )
    return None
