"""Warm start: the history of the initial checkpoint, which the history of the new run continues."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...config import ModelConfig
from ...io.files import FileError, parsed, read_bytes
from ...io.limits import is_count
from .recording import LOG_PROBS, ProbeSentence, Recording

MAX_STEP_LINES = 1000  # step lines in the log of a checkpoint; longer logs are thinned out
SKIPPED_SHARE = 1 / 10  # of the steps of a resumed run
MAX_LOG = 256 << 20  # bytes
LogLine = dict[str, Any]


@dataclass(frozen=True)
class WarmStart:
    """The recording and the log of a checkpoint. Both are empty if the checkpoint has none."""

    recording: Recording | None = None
    lines: tuple[LogLine, ...] = ()

    @classmethod
    def load(cls, folder: Path, old: ModelConfig, new: ModelConfig) -> WarmStart:
        """Reads the history next to the initial weights. Missing or damaged files count as none.

        Returns an empty history if the model has another form.
        """
        if dataclasses.replace(old, dropout=new.dropout, attention_dropout=new.attention_dropout) != new:
            return cls()
        try:
            recording = Recording.load(folder / "probes.npz")
        except (ValueError, OSError):
            recording = None
        return cls(recording, tuple(read_log(folder / "log.jsonl")))

    @property
    def last_step(self) -> int:
        """The last step of the history."""
        ends = [line["step"] for line in self.lines[-1:]] + list(self.recording.steps[-1:] if self.recording else ())
        return max(ends, default=0)

    def with_recording(self, recording: Recording) -> Recording:
        """Returns the history's recording continued by the run's, for sentences that both have.

        Returns the run's own recording if there is none to continue. Step 0 of the run is the last step of the history.
        Omits the run's first steps, a share of `SKIPPED_SHARE`, because trained weights hardly change there.
        """
        former = {_content(each): number for number, each in enumerate(self.recording.sentences)} if self.recording else {}
        both = [
            (former[_content(each)], number) for number, each in enumerate(recording.sentences) if _content(each) in former
        ]
        if self.recording is None or not both:
            return recording
        old, begin = self.recording, max(1, SKIPPED_SHARE * recording.steps[-1])
        later = [number for number, step in enumerate(recording.steps) if step >= begin]
        arrays = {}
        for kind in (LOG_PROBS, *recording.kinds):
            for place, (before, after) in enumerate(both):
                pieces = old.arrays[f"{kind}/{before}"], recording.arrays[f"{kind}/{after}"][later]
                arrays[f"{kind}/{place}"] = np.concatenate(pieces)
        silent = ("",) * len(old.sentences)
        written = [tuple(texts[n] for n, _ in both) for texts in old.outputs or (silent,) * len(old.steps)]
        written += [tuple(recording.outputs[step][n] for _, n in both) for step in later]
        steps = old.steps + tuple(self.last_step + recording.steps[number] for number in later)
        return Recording(tuple(recording.sentences[n] for _, n in both), steps, arrays, tuple(written))

    def with_lines(self, lines: Sequence[LogLine]) -> list[LogLine]:
        """Returns the history's log continued by the run's, with steps and seconds added up. Thins out long logs."""
        more = {"step": self.last_step, "total": self.last_step}
        more["seconds"] = next((line["seconds"] for line in reversed(self.lines) if "seconds" in line), 0)
        later = [line | {key: line[key] + more[key] for key in more if key in line} for line in lines]
        return _thin([*self.lines, *later])


def _content(sentence: ProbeSentence) -> tuple[object, ...]:
    """Returns the fields of a sentence that determine its arrays. The other fields are for display."""
    return sentence.source, sentence.target, sentence.labels


def read_log(path: Path) -> list[LogLine]:
    """Returns the valid lines of a log by rising step; none if the file cannot be read."""
    try:
        texts = read_bytes(path, MAX_LOG).decode("utf-8", errors="replace").splitlines()
    except (FileNotFoundError, FileError):
        return []
    entries = []
    for line in texts:
        try:
            entry = parsed(line.encode())
        except ValueError:
            continue
        if isinstance(entry, dict) and is_count(entry.get("step")) and (not entries or entry["step"] >= entries[-1]["step"]):
            entries.append(entry)
    return entries


def _thin(log: Sequence[LogLine]) -> list[LogLine]:
    """Returns all validations, and at most `MAX_STEP_LINES` other lines, evenly spaced."""
    steps = [number for number, line in enumerate(log) if "dev_loss" not in line]
    every = max(1, -(-len(steps) // MAX_STEP_LINES))
    dropped = {number for n, number in enumerate(reversed(steps)) if n % every}  # keeps the last one
    return [line for number, line in enumerate(log) if number not in dropped]
