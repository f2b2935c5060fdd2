"""What a training run keeps on the disk: `settings.json`, `log.jsonl` and `state.pt`; `checkpoint/` lies beside them."""

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

from model import checkpoint as checkpoints
from model.checkpoint import Checkpoint
from model.config import ModelConfig, TrainConfig
from model.io.files import (
    MEGABYTE,
    FileError,
    parsed,
    read_bytes,
    read_json,
    shown,
)
from model.io.limits import is_count
from model.workshop.corpus.corpus import file_hash
from model.workshop.training import saved_state
from model.workshop.training.recording import Recording
from model.workshop.training.warm_start import Before, lines

RETIRED = {"training": {"r_drop": 0.0}}  # settings of older runs that no longer exist, with the value that changes nothing
MAX_TOLD = 4  # settings that differ
FORMER = {"task": "translate"}  # what settings were that are not in the files of older runs
MAX_SETTINGS, MAX_LOG = MEGABYTE, 256 * MEGABYTE  # bytes
DEFAULTS = {
    part: {f.name: f.default for f in dataclasses.fields(record) if f.default is not dataclasses.MISSING}
    for part, record in (("model", ModelConfig), ("training", TrainConfig))
}


class TrainingError(ValueError):
    """A run that cannot start or go on; the text says why and what to do."""


@dataclass(frozen=True)
class Files:
    """What a run reads: files to learn from, files to choose by, and sentences to watch, if any."""

    train: tuple[Path, ...]
    dev: tuple[Path, ...]
    probes: Path | None = None

    @classmethod
    def single(cls, train: Path, dev: Path, probes: Path | None = None) -> Files:
        return cls((train,), (dev,), probes)

    def hashes(self) -> dict[str, str]:
        """SHA-256 of each file, by `train`, `dev` and `probes`, of several `train 2` and so on; DataError for one that
        cannot be read."""
        named = {_numbered(name, n): path for name in ("train", "dev") for n, path in enumerate(getattr(self, name), 1)}
        named |= {"probes": self.probes} if self.probes else {}
        return {name: file_hash(path) for name, path in named.items()}


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name} {number}"


@dataclass
class Progress:
    """Where a run is: everything beside weights, optimiser and random state that resuming needs."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # batches of this epoch that are done
    seconds: float = 0.0
    validations: list[dict[str, Any]] = field(default_factory=list)
    best: dict[str, Any] = field(default_factory=dict)  # the validation whose weights are kept
    ended: bool = False  # by early stopping

    @property
    def took(self) -> dict[str, int]:
        """Steps and minutes so far."""
        return {"steps": self.step, "minutes": round(self.seconds / 60)}


class RunFolder:
    """The folder of one run. Every file is complete or as it was before, whenever the run is killed."""

    def __init__(self, path: Path) -> None:
        """Makes the folder where there is none; TrainingError where a file stands in its place."""
        if path.exists() and not path.is_dir():
            raise TrainingError(f"{path} is a file; expected a folder for the run: give another --out.")
        path.mkdir(parents=True, exist_ok=True)
        self.path = path

    @contextmanager
    def alone(self, first: bool = True) -> Iterator[None]:
        """Keeps other runs out while this one writes; TrainingError where another is at it. The lock ends with the process,
        however it ends; of the processes of one run the first holds it for all."""
        if not first:
            yield
            return
        lock = FileLock(self.path / "lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise TrainingError(f"another run is writing to {self.path}; wait for it, or give another --out.") from None
        try:
            yield
        finally:
            lock.release()

    def check(self, settings: dict[str, Any]) -> None:
        """Raises TrainingError where the folder holds a run with other settings, or with data that have changed since."""
        old = self._settings()
        if old is None:
            return
        for part, value in settings.items():
            found = old.get(part, FORMER.get(part))
            if part == "data":
                self._check_data(found, value)
            elif differing := _difference(_current(part, found), value, DEFAULTS.get(part, {})):
                raise TrainingError(
                    f"{self.path} holds a run with other settings ({part}: {differing}); "
                    "give the same ones to go on, or another --out to begin anew."
                )

    def _settings(self) -> dict[str, Any] | None:
        """What the folder's run was made with; None where there is none."""
        path = self.path / "settings.json"
        try:
            found = read_json(path, MAX_SETTINGS)
        except FileNotFoundError:
            return None
        except FileError as fault:
            raise TrainingError(f"{fault}: it is damaged; begin in another folder.") from None
        hashes = found.get("data") if isinstance(found, dict) else None
        parts = isinstance(hashes, dict) and all(isinstance(found.get(part), dict) for part in ("model", "training"))
        if not parts or not all(isinstance(value, str) for value in hashes.values()):
            raise TrainingError(f"{path} is damaged: it has no 'model', 'training' and 'data'; begin in another folder.")
        return found

    def _check_data(self, old: dict[str, str], new: dict[str, str]) -> None:
        """Compares the SHA-256 of the files."""
        for name in {**old, **new}:
            if name not in new:
                raise TrainingError(
                    f"the run in {self.path} began with a {_shown(name)} file, and none is given; give it again."
                )
            if name not in old:
                raise TrainingError(f"the run in {self.path} began without a {name} file; leave it out.")
            if old[name] != new[name]:
                raise TrainingError(
                    f"the {name} file is not the one that the run in {self.path} began with (its SHA-256 was "
                    f"{_shown(old[name][:12])}…, now {new[name][:12]}…); put the former file back, or give "
                    "another --out to begin anew."
                )

    def total(self, watched: str) -> int | None:
        """How many steps the folder's run has, as it counted them when it began; None where it does not tell. TrainingError
        where it began with other sentences to watch, by their SHA-256; older runs do not say theirs."""
        old = self._settings() or {}
        if old.get("watched", watched) != watched:
            raise TrainingError(
                f"the sentences that are watched are not those that the run in {self.path} began with; give it the former "
                "ones as --probes, or another --out to begin anew."
            )

        found = old.get("total")
        return found if is_count(found) and found > 0 else None

    def tell(self, kept: Checkpoint, progress: Progress, card: Callable[[Checkpoint], str] | None) -> None:
        """Writes what the whole run took and measured into the metrics of the checkpoint, which may be of an early step, and
        the card."""
        kept.metrics["training"] |= progress.took
        kept.metrics["validations"] = progress.validations
        checkpoints.write_json(self.path / "checkpoint" / "metrics.json", kept.metrics)
        if card:
            (self.path / "checkpoint" / "README.md").write_text(card(kept), encoding="utf-8")

    def write_settings(self, settings: dict[str, Any]) -> None:
        checkpoints.write_json(self.path / "settings.json", settings)

    def save_state(self, state: dict[str, Any], step: int) -> None:
        """Writes the state whole, by way of a temporary file; TrainingError where the disk is full."""
        temporary = self.path / "state.pt.new"
        try:
            with temporary.open("wb") as raw:
                torch.save(state, raw)
                raw.flush()
                os.fsync(raw.fileno())
            os.replace(temporary, self.path / "state.pt")
        except (OSError, RuntimeError) as fault:  # torch's writer has no kind of its own
            temporary.unlink(missing_ok=True)
            raise self.not_saved(fault, step) from None

    def save_probes(self, recording: Recording, folder: Path, step: int) -> None:
        """Writes what is recorded so far into a folder of the run; TrainingError where the disk is full."""
        try:
            recording.save(folder / "probes.npz")
        except OSError as fault:
            raise self.not_saved(fault, step) from None

    def keep_history(self, before: Before, own: Recording | None) -> None:
        """Writes recording and log beside the best weights, after those of the training that the run began with; OSError
        where the disk is full."""
        folder = self.path / "checkpoint"
        if own:
            before.with_recording(own).save(folder / "probes.npz")
        temporary = folder / "log.jsonl.new"
        kept = before.with_lines(lines(self.path / "log.jsonl"))
        temporary.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")
        os.replace(temporary, folder / "log.jsonl")

    def not_saved(self, fault: Exception, step: int) -> TrainingError:
        """What to say where something could not be written."""
        reason = getattr(fault, "strerror", None) or str(fault).splitlines()[0]
        return TrainingError(
            f"step {step} could not be saved in {self.path} ({reason}); make room and give the same command: "
            "what was saved before is as it was."
        )

    def load_state(self, device: torch.device, check: Callable[[Any], None]) -> dict[str, Any] | None:
        """What was saved last, or None; TrainingError where it cannot be read, or is not what `check` lets through."""
        path = self.path / "state.pt"
        if not os.path.lexists(path):
            return None
        try:
            found = saved_state.read(path, device)
        except FileError as fault:
            raise TrainingError(f"{fault}; remove it, or begin in another folder.") from None
        except Exception as fault:  # torch raises many kinds for a damaged file
            raise TrainingError(
                f"{path} is damaged ({type(fault).__name__}); remove it, or begin in another folder."
            ) from None

        try:
            check(found)
        except ValueError as fault:
            raise TrainingError(f"{path} is not of this run: {fault}; remove it, or begin in another folder.") from None
        return found

    def log(self, **entry: Any) -> None:
        """Adds a line to `log.jsonl`."""
        with (self.path / "log.jsonl").open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(entry) + "\n")

    def cut_log(self, step: int) -> None:
        """Drops what was logged after a step: a run that was killed does these steps again."""
        path = self.path / "log.jsonl"
        try:
            lines = read_bytes(path, MAX_LOG).decode("utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return
        except FileError as fault:
            raise TrainingError(f"{fault}; remove it.") from None
        kept = [line for line in lines if _step_of(line) <= step]
        temporary = path.with_name(path.name + ".new")
        temporary.write_text("".join(line + "\n" for line in kept), encoding="utf-8")
        os.replace(temporary, path)


def _step_of(line: str) -> float:
    """The step of a line of the log; a line that was cut off while it was written belongs nowhere."""
    try:
        found = parsed(line.encode())["step"]
    except (ValueError, KeyError, TypeError):
        return float("inf")
    return found if is_count(found) else float("inf")


def _current(part: str, settings: Any) -> Any:
    """Settings of an older run without retired ones that changed nothing."""
    retired = RETIRED.get(part, {})
    if not isinstance(settings, dict) or not retired:
        return settings
    return {name: value for name, value in settings.items() if name not in retired or value != retired[name]}


def _difference(old: Any, new: Any, defaults: dict[str, Any]) -> str:
    """What differs between two settings, in words; what is not given has its default. Empty where nothing does."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return "" if old == new else f"was {_shown(old)}, now {_shown(new)}"
    differing = [n for n in {**old, **new} if old.get(n, defaults.get(n)) != new.get(n, defaults.get(n))]
    told = [f"{_shown(n)} was {_found(n, old, defaults)}, now {_found(n, new, defaults)}" for n in differing[:MAX_TOLD]]
    return ", ".join(told) + (f" and {len(differing) - MAX_TOLD} more" if len(differing) > MAX_TOLD else "")


def _found(name: str, settings: dict[str, Any], defaults: dict[str, Any]) -> str:
    if name in settings:
        return _shown(settings[name])
    return f"not given (default {_shown(defaults[name])})" if name in defaults else "not given"


def _shown(value: Any) -> str:
    plain = isinstance(value, str) and value.isprintable() and len(value) < 60
    return "none" if value is None else value if plain else shown(value)
