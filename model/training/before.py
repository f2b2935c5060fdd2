"""What was kept of the training of weights that a run begins with: its own history goes on from there."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from model.config import ModelConfig
from model.files import FileError, parsed, read_bytes
from model.limits import is_count
from model.training.recording import Recording

KEPT = 1000  # lines of steps in the log that a checkpoint keeps; of more every second, third and so on
MAX_LOG = 256 << 20  # bytes
Line = dict[str, Any]


@dataclass(frozen=True)
class Before:
    """The recording and the log of a checkpoint, and how many steps its training took; empty where it keeps none."""

    recording: Recording | None = None
    lines: tuple[Line, ...] = ()

    @classmethod
    def of(cls, folder: Path, old: ModelConfig, new: ModelConfig) -> Before:
        """What lies beside the weights that a run begins with. Of a model of another form there is nothing to go on from; a
        file that is missing or damaged counts as none."""
        if dataclasses.replace(old, dropout=new.dropout, attention_dropout=new.attention_dropout) != new:
            return cls()
        try:
            recording = Recording.load(folder / "probes.npz")
        except (ValueError, OSError):
            recording = None
        return cls(recording, tuple(lines(folder / "log.jsonl")))

    @property
    def last(self) -> int:
        """The step that the weights are of."""
        ends = [line["step"] for line in self.lines[-1:]] + list(self.recording.steps[-1:] if self.recording else ())
        return max(ends, default=0)

    def with_recording(self, own: Recording) -> Recording:
        """A run's recording after this one; by itself where other sentences were watched. Its step 0 is this one's last."""
        old = self.recording
        if old is None or old.sentences != own.sentences:
            return own
        later = [number for number, step in enumerate(own.steps) if step]
        arrays = {key: np.concatenate((old.arrays[key], own.arrays[key][later])) for key in own.arrays}
        silent = ("",) * len(old.sentences)
        written = (old.written or (silent,) * len(old.steps)) + tuple(own.written[number] for number in later)
        return Recording(
            old.sentences, old.steps + tuple(self.last + own.steps[number] for number in later), arrays, written
        )

    def with_lines(self, own: Sequence[Line]) -> list[Line]:
        """A run's log after this one, steps and seconds counted on; of very many lines some."""
        more = {"step": self.last, "total": self.last}
        more["seconds"] = next((line["seconds"] for line in reversed(self.lines) if "seconds" in line), 0)
        later = [line | {key: line[key] + more[key] for key in more if key in line} for line in own]
        return _thinned([*self.lines, *later])


def lines(path: Path) -> list[Line]:
    """The lines of a log by rising steps; what is none is left out, and a file that cannot be read has none."""
    try:
        found = read_bytes(path, MAX_LOG).decode("utf-8", errors="replace").splitlines()
    except (FileNotFoundError, FileError):
        return []
    made = []
    for line in found:
        try:
            entry = parsed(line.encode())
        except ValueError:
            continue
        if isinstance(entry, dict) and is_count(entry.get("step")) and (not made or entry["step"] >= made[-1]["step"]):
            made.append(entry)
    return made


def _thinned(found: Sequence[Line]) -> list[Line]:
    """All validations, and at most `KEPT` of the others, evenly spaced."""
    steps = [number for number, line in enumerate(found) if "dev_loss" not in line]
    every = max(1, -(-len(steps) // KEPT))
    dropped = {number for n, number in enumerate(reversed(steps)) if n % every}  # the last one stays
    return [line for number, line in enumerate(found) if number not in dropped]
