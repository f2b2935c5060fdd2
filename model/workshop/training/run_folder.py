"""Files of a training run: `settings.json`, `log.jsonl`, `state.pt` and the folder `checkpoint/`."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from ... import checkpoint as checkpoints
from ...checkpoint import Checkpoint
from ...config import ModelConfig, TrainConfig
from ...io.files import MEGABYTE, FileError, is_count, parse_json, read_bytes, read_json, short_repr
from ..corpus.corpus import file_hash
from . import saved_state
from .recording import Recording
from .saved_state import WarmStart, read_log

RETIRED = {"training": {"r_drop": 0.0}}  # removed settings, with the value that had no effect
MAX_DIFFERENCES = 4  # settings in a message
OLD_DEFAULTS = {"task": "translate", "teachers": []}  # values of settings that older files lack
MAX_SETTINGS, MAX_LOG = MEGABYTE, 256 * MEGABYTE  # bytes
DEFAULTS = {
    part: {f.name: f.default for f in dataclasses.fields(record) if f.default is not dataclasses.MISSING}
    for part, record in (("model", ModelConfig), ("training", TrainConfig))
}


class TrainingError(ValueError):
    """A run that cannot start or resume. The message gives the reason and the remedy."""


@dataclass(frozen=True)
class RunFiles:
    """The input files of a run: training, dev, and if any, sentences to record, and contrasts to measure."""

    train: tuple[Path, ...]
    dev: tuple[Path, ...]
    probes: Path | None = None
    contrast: Path | None = None

    @classmethod
    def single(cls, train: Path, dev: Path, probes: Path | None = None, contrast: Path | None = None) -> RunFiles:
        return cls((train,), (dev,), probes, contrast)

    def hashes(self) -> dict[str, str]:
        """Returns the SHA-256 of each file by `train`, `dev`, `probes` and `contrast`; further ones by `train 2` and so on.

        Raises DataError for an unreadable file.
        """
        named = {_numbered_name(name, n): path for name in ("train", "dev") for n, path in enumerate(getattr(self, name), 1)}
        named |= {name: path for name in ("probes", "contrast") if (path := getattr(self, name))}
        return {name: file_hash(path) for name, path in named.items()}


def _numbered_name(name: str, number: int) -> str:
    return name if number == 1 else f"{name} {number}"


@dataclass
class RunProgress:
    """The position of a run: all state except weights, optimizer and random state."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # finished batches of this epoch
    seconds: float = 0.0
    validations: list[dict[str, Any]] = field(default_factory=list)
    best: dict[str, Any] = field(default_factory=dict)  # the validation with the saved weights
    ended: bool = False  # by early stopping

    @property
    def duration(self) -> dict[str, int]:
        """Steps and minutes so far."""
        return {"steps": self.step, "minutes": round(self.seconds / 60)}


class RunFolder:
    """The folder of one run. Every write replaces a file at once, so a killed run leaves complete files."""

    def __init__(self, path: Path) -> None:
        """Creates the folder if it is missing. Raises TrainingError if the path is a file."""
        if path.exists() and not path.is_dir():
            raise TrainingError(f"{path} is a file; expected a folder for the run. Choose another --out.")
        path.mkdir(parents=True, exist_ok=True)
        self.path = path

    @contextmanager
    def locked(self, is_first: bool = True) -> Iterator[None]:
        """Locks the folder against other runs. Raises TrainingError if another run holds the lock.

        The lock ends with the process. The first process of a run holds it for all.
        """
        if not is_first:
            yield
            return
        lock = FileLock(self.path / "lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise TrainingError(f"another run is writing to {self.path}; wait for it or choose another --out.") from None
        try:
            yield
        finally:
            lock.release()

    def check(self, settings: dict[str, Any]) -> None:
        """Raises TrainingError if the folder holds a run with other settings, or if the data changed since."""
        old = self._read_settings()
        if old is None:
            return
        for part, value in settings.items():
            old_value = old.get(part, OLD_DEFAULTS.get(part))
            if part == "data":
                self._check_data(old_value, value)
            elif differing := _describe_difference(_without_retired(part, old_value), value, DEFAULTS.get(part, {})):
                raise TrainingError(
                    f"{self.path} holds a run with other settings ({part}: {differing}); "
                    "use the same settings to resume, or another --out for a new run."
                )

    def _read_settings(self) -> dict[str, Any] | None:
        """Returns the settings of the run in the folder, or None without a run."""
        path = self.path / "settings.json"
        try:
            settings = read_json(path, MAX_SETTINGS)
        except FileNotFoundError:
            return None
        except FileError as fault:
            raise TrainingError(f"{fault}: it is damaged; choose another folder.") from None
        hashes = settings.get("data") if isinstance(settings, dict) else None
        parts = isinstance(hashes, dict) and all(isinstance(settings.get(part), dict) for part in ("model", "training"))
        if not parts or not all(isinstance(value, str) for value in hashes.values()):
            raise TrainingError(f"{path} is damaged: it has no 'model', 'training' and 'data'; choose another folder.")
        return settings

    def _check_data(self, old: dict[str, str], new: dict[str, str]) -> None:
        """Compares the SHA-256 of the files."""
        for name in {**old, **new}:
            if name not in new:
                raise TrainingError(f"the run in {self.path} started with a {_describe_value(name)} file; pass it again.")
            if name not in old:
                raise TrainingError(f"the run in {self.path} started without a {name} file; remove it.")
            if old[name] != new[name]:
                raise TrainingError(
                    f"the {name} file changed since the run in {self.path} started (its SHA-256 was "
                    f"{_describe_value(old[name][:12])}…, now {new[name][:12]}…); restore the file, or choose "
                    "another --out for a new run."
                )

    def total_steps(self, watched: str) -> int | None:
        """Returns the number of steps that the run counted at its start, or None if it is unknown.

        Raises TrainingError if the run started with other probes, by their SHA-256. Older runs do not record theirs.
        """
        old = self._read_settings() or {}
        if old.get("watched", watched) != watched:
            raise TrainingError(
                f"the probes changed since the run in {self.path} started; pass the former --probes, or choose "
                "another --out for a new run."
            )

        total = old.get("total")
        return total if is_count(total) and total > 0 else None

    def write_metrics(self, checkpoint: Checkpoint, progress: RunProgress, card: Callable[[Checkpoint], str] | None) -> None:
        """Writes the final metrics of the run, and the model card, into the checkpoint. The checkpoint may be of an earlier
        step."""
        checkpoint.metrics["training"] |= progress.duration
        checkpoint.metrics["validations"] = progress.validations
        checkpoints.write_json(self.path / "checkpoint" / "metrics.json", checkpoint.metrics)
        if card:
            (self.path / "checkpoint" / "README.md").write_text(card(checkpoint), encoding="utf-8")

    def write_settings(self, settings: dict[str, Any]) -> None:
        checkpoints.write_json(self.path / "settings.json", settings)

    def save_state(self, state: dict[str, Any], step: int) -> None:
        """Writes the state at once, through a temporary file. Raises TrainingError if the disk is full."""
        temporary = self.path / "state.pt.new"
        try:
            with temporary.open("wb") as raw:
                torch.save(state, raw)
                raw.flush()
                os.fsync(raw.fileno())
            os.replace(temporary, self.path / "state.pt")
        except (OSError, RuntimeError) as fault:  # torch raises no class of its own
            temporary.unlink(missing_ok=True)
            raise self.save_error(fault, step) from None

    def save_probes(self, recording: Recording, folder: Path, step: int) -> None:
        """Writes the recording so far into a folder of the run. Raises TrainingError if the disk is full."""
        try:
            recording.save(folder / "probes.npz")
        except OSError as fault:
            raise self.save_error(fault, step) from None

    def save_history(self, warm_start: WarmStart, recording: Recording | None) -> None:
        """Writes recording and log next to the best weights, after the history of the initial checkpoint.

        Raises OSError if the disk is full.
        """
        folder = self.path / "checkpoint"
        if recording:
            warm_start.with_recording(recording).save(folder / "probes.npz")
        temporary = folder / "log.jsonl.new"
        log = warm_start.with_lines(read_log(self.path / "log.jsonl"))
        temporary.write_text("".join(json.dumps(line) + "\n" for line in log), encoding="utf-8")
        os.replace(temporary, folder / "log.jsonl")

    def save_error(self, fault: Exception, step: int) -> TrainingError:
        """Returns the error for a failed write."""
        reason = getattr(fault, "strerror", None) or str(fault).splitlines()[0]
        return TrainingError(
            f"step {step} could not be saved in {self.path} ({reason}); free some space and repeat the command. "
            "Earlier saves are intact."
        )

    def load_state(self, device: torch.device, check: Callable[[Any], None]) -> dict[str, Any] | None:
        """Returns the last saved state, or None. Raises TrainingError if it is unreadable or `check` refuses it."""
        path = self.path / "state.pt"
        if not os.path.lexists(path):
            return None
        try:
            state = saved_state.read(path, device)
        except FileError as fault:
            raise TrainingError(f"{fault}; remove it or choose another folder.") from None
        except Exception as fault:  # torch raises many classes for a damaged file
            raise TrainingError(f"{path} is damaged ({type(fault).__name__}); remove it or choose another folder.") from None

        try:
            check(state)
        except ValueError as fault:
            raise TrainingError(f"{path} is of another run: {fault}; remove it or choose another folder.") from None
        return state

    def log(self, **entry: Any) -> None:
        """Adds a line to `log.jsonl`."""
        with (self.path / "log.jsonl").open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(entry) + "\n")

    def cut_log(self, step: int) -> None:
        """Removes log lines after a step, because a killed run repeats these steps."""
        path = self.path / "log.jsonl"
        try:
            lines = read_bytes(path, MAX_LOG).decode("utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return
        except FileError as fault:
            raise TrainingError(f"{fault}; remove it.") from None
        remaining = [line for line in lines if _step_of(line) <= step]
        temporary = path.with_name(path.name + ".new")
        temporary.write_text("".join(line + "\n" for line in remaining), encoding="utf-8")
        os.replace(temporary, path)


def _step_of(line: str) -> float:
    """Returns the step of a log line, or infinity for a line that was cut off while it was written."""
    try:
        step = parse_json(line.encode())["step"]
    except (ValueError, KeyError, TypeError):
        return float("inf")
    return step if is_count(step) else float("inf")


def _without_retired(part: str, settings: Any) -> Any:
    """Returns the settings of an older run without retired settings that changed nothing."""
    retired = RETIRED.get(part, {})
    if not isinstance(settings, dict) or not retired:
        return settings
    return {name: value for name, value in settings.items() if name not in retired or value != retired[name]}


def _describe_difference(old: Any, new: Any, defaults: dict[str, Any]) -> str:
    """Describes the difference of two settings, missing ones by their default. Returns "" if they are equal."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return "" if old == new else f"was {_describe_value(old)}, now {_describe_value(new)}"
    differing = [n for n in {**old, **new} if old.get(n, defaults.get(n)) != new.get(n, defaults.get(n))]
    changes = [
        f"{_describe_value(n)} was {_describe_setting(n, old, defaults)}, now {_describe_setting(n, new, defaults)}"
        for n in differing[:MAX_DIFFERENCES]
    ]
    return ", ".join(changes) + (f" and {len(differing) - MAX_DIFFERENCES} more" if len(differing) > MAX_DIFFERENCES else "")


def _describe_setting(name: str, settings: dict[str, Any], defaults: dict[str, Any]) -> str:
    if name in settings:
        return _describe_value(settings[name])
    return f"not given (default {_describe_value(defaults[name])})" if name in defaults else "not given"


def _describe_value(value: Any) -> str:
    plain = isinstance(value, str) and value.isprintable() and len(value) < 60
    return "none" if value is None else value if plain else short_repr(value)
