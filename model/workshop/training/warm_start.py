"""What was kept of the training of weights that a run begins with: its own history goes on from there."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from model.config import ModelConfig
from model.io.files import FileError, parsed, read_bytes
from model.io.limits import is_count
from model.workshop.training.recording import LOG_PROBS, Recording, Sentence

KEPT = 1000  # lines of steps in the log that a checkpoint keeps; of more every second, third and so on
EARLY = 1 / 10  # of the steps of a run that goes on
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
        """A run's recording after this one, of the sentences that both have watched; by itself where there is none. Its step
        0 is this one's last; of its first steps, in which trained weights hardly change, those before `EARLY` of it are left
        out."""
        former = {_read(each): number for number, each in enumerate(self.recording.sentences)} if self.recording else {}
        both = [(former[_read(each)], number) for number, each in enumerate(own.sentences) if _read(each) in former]
        if self.recording is None or not both:
            return own
        old, begin = self.recording, max(1, EARLY * own.steps[-1])
        later = [number for number, step in enumerate(own.steps) if step >= begin]
        arrays = {}
        for kind in (LOG_PROBS, *own.kinds):
            for place, (before, after) in enumerate(both):
                pieces = old.arrays[f"{kind}/{before}"], own.arrays[f"{kind}/{after}"][later]
                arrays[f"{kind}/{place}"] = np.concatenate(pieces)
        silent = ("",) * len(old.sentences)
        written = [tuple(texts[n] for n, _ in both) for texts in old.written or (silent,) * len(old.steps)]
        written += [tuple(own.written[step][n] for _, n in both) for step in later]
        steps = old.steps + tuple(self.last + own.steps[number] for number in later)
        return Recording(tuple(own.sentences[n] for _, n in both), steps, arrays, tuple(written))

    def with_lines(self, own: Sequence[Line]) -> list[Line]:
        """A run's log after this one, steps and seconds counted on; of very many lines some."""
        more = {"step": self.last, "total": self.last}
        more["seconds"] = next((line["seconds"] for line in reversed(self.lines) if "seconds" in line), 0)
        later = [line | {key: line[key] + more[key] for key in more if key in line} for line in own]
        return _thinned([*self.lines, *later])


def _read(sentence: Sentence) -> tuple[object, ...]:
    """What of a sentence its arrays hang on; the rest is how it is shown."""
    return sentence.source, sentence.target, sentence.labels


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
