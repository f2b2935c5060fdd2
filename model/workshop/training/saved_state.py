"""The start of a run from saved files: checks of `state.pt` to resume, and the history of the initial checkpoint.

The file `state.pt` may be damaged or come from another program. The history of a new run continues that of the checkpoint
that it starts from, the warm start.
"""

from __future__ import annotations

import dataclasses
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...config import ModelConfig
from ...io.files import (
    MAX_COUNT,
    FileError,
    is_count,
    is_number,
    is_whole_number,
    open_file,
    parse_json,
    read_bytes,
    short_repr,
)
from ...network.transformer import Transformer
from .recording import LOG_PROBS, ProbeSentence, Recording, array_shapes
from .snapshots import SnapshotRecorder

PARTS = ("model", "optimizer", "snapshots", "progress", "random", "probes")
OPTIONAL_PARTS = ("meter",)  # a part that older states lack
MOMENTS = ("exp_avg", "exp_avg_sq")  # the state of Adam for each parameter, besides its step
MAX_BYTES = 1 << 36  # of the file; a state holds a model about eight times
Shapes = Mapping[str, tuple[int, ...]]


def read(path: Path, device: torch.device) -> Any:
    """Returns the value in a file of `torch.save`, tensors and plain values only.

    Raises what torch, zipfile and `model.io.files.open_file` raise.
    Refuses compressed entries, so nothing is larger than the file.
    """
    with open_file(path, MAX_BYTES) as raw, zipfile.ZipFile(raw) as archive:
        if packed := [entry for entry in archive.infolist() if entry.file_size != entry.compress_size]:
            raise ValueError(f"{short_repr(packed[0].filename)} is compressed")
    return torch.load(path, map_location=device, weights_only=True)


def check(model: Transformer, recorder: SnapshotRecorder, average: int, processes: int, state: Any) -> None:
    """Compares a state with the model, recorder, number of snapshots and processes of a run. Raises ValueError."""
    if not isinstance(state, dict) or set(state) - set(OPTIONAL_PARTS) != set(PARTS):
        raise ValueError(f"it holds {short_repr(sorted(map(str, state)) if isinstance(state, dict) else state)}")
    expected = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    _check_weights("model", state["model"], expected)
    if not isinstance(state["snapshots"], list) or len(state["snapshots"]) > average:
        raise ValueError(f"'snapshots' is not a list of at most {average}")
    for snapshot in state["snapshots"]:
        _check_weights("snapshots", snapshot, expected)
    _check_moments(state["optimizer"], [tuple(parameter.shape) for parameter in model.parameters()])
    _check_progress(state["progress"])
    _check_random(state["random"], processes)
    _check_probes(state["probes"], recorder.sentences, model.config)
    if not isinstance(state.get("meter", {}), dict) or not all(map(_is_sum, state.get("meter", {}).values())):
        raise ValueError("'meter' has no sums")


def _check_weights(part: str, weights: Any, shapes: Shapes) -> None:
    if not isinstance(weights, Mapping) or set(weights) != set(shapes):
        raise ValueError(f"{part!r} has other parameters")
    for name, shape in shapes.items():
        _check_tensor(f"{part!r}, {name!r}", weights[name], shape)


def _check_tensor(name: str, tensor: Any, shape: tuple[int, ...], minimum: float = -float("inf")) -> None:
    if not isinstance(tensor, Tensor) or tuple(tensor.shape) != shape or not tensor.is_floating_point():
        raise ValueError(f"{name} is not a float tensor of the shape {shape}")
    if not (tensor.isfinite() & (tensor >= minimum)).all():
        raise ValueError(f"{name} has a number that is nan, infinite or too small")


def _check_moments(optimizer: Any, shapes: list[tuple[int, ...]]) -> None:
    moments = optimizer.get("state") if isinstance(optimizer, dict) else None
    if not isinstance(moments, dict) or set(moments) not in (set(), set(range(len(shapes)))):
        raise ValueError("'optimizer' has other parameters")
    for number, entry in moments.items():
        if not isinstance(entry, dict) or set(entry) != {"step", *MOMENTS}:
            raise ValueError(f"'optimizer' has other entries for parameter {number}")
        _check_tensor(f"'optimizer', step {number}", entry["step"], (), minimum=0)
        for name in MOMENTS:
            _check_tensor(f"'optimizer', {name} {number}", entry[name], shapes[number], minimum=0 if "sq" in name else -3e38)


def _check_progress(progress: Any) -> None:
    counts, lists = ("step", "epoch", "batch"), {"validations", "best", "ended", "seconds"}
    if not isinstance(progress, dict) or set(progress) != {*counts, *lists}:
        raise ValueError(f"'progress' is {short_repr(progress)}")
    for name in counts:
        if not is_count(progress[name]):
            raise ValueError(f"'progress': {name!r} is {short_repr(progress[name])}")
    if not is_number(progress["seconds"], 0, MAX_COUNT) or not isinstance(progress["ended"], bool):
        raise ValueError(f"'progress': 'seconds' and 'ended' are {short_repr((progress['seconds'], progress['ended']))}")
    entries = progress["validations"]
    if not isinstance(entries, list) or not all(map(_is_validation, entries)):
        raise ValueError("'progress': 'validations' is not a list of measurements")
    if progress["best"] not in (entries or [{}]):
        raise ValueError("'progress': 'best' is not one of the validations")


def _is_sum(value: Any) -> bool:
    """Returns True for a valid sum of the meter, which adds up gradients of any size."""
    return (is_whole_number(value) and value >= 0) or (isinstance(value, float) and 0 <= value < float("inf"))


def _is_validation(entry: Any) -> bool:
    needed = {"step", "dev_loss"}
    return isinstance(entry, dict) and needed <= set(entry) and all(is_number(each, 0, MAX_COUNT) for each in entry.values())


def _check_random(states: Any, processes: int) -> None:
    if not isinstance(states, list) or len(states) != processes:
        raise ValueError(f"'random' does not have {processes} processes")
    here = torch.get_rng_state()
    for one in states:
        tensors = list(one.values()) if isinstance(one, dict) and "cpu" in one else [None]
        if not all(isinstance(tensor, Tensor) and tensor.dtype == here.dtype for tensor in tensors):
            raise ValueError("'random' is not a random state")
        try:
            torch.Generator().set_state(one["cpu"])
        except RuntimeError:
            raise ValueError("'random' is not a random state") from None


def _check_probes(probes: Any, sentences: Sequence[ProbeSentence], config: ModelConfig) -> None:
    steps, arrays = (probes.get(name) for name in ("steps", "arrays")) if isinstance(probes, dict) else (None, None)
    if not isinstance(steps, list) or not all(map(is_count, steps)) or not isinstance(arrays, dict):
        raise ValueError("'probes' is not a recording")
    if "written" in probes:  # older states lack it
        _check_outputs(probes["written"], len(steps), len(sentences))
    sizes = {kind: (layers, config.heads) for kind, layers in config.layers.items()}
    expected = array_shapes(sentences, sizes, len(steps)) if steps and sentences else {}
    if set(arrays) != set(expected):
        raise ValueError("'probes' has other sentences")
    for name, shape in expected.items():
        kind = torch.float32 if name.startswith(LOG_PROBS) else torch.uint8
        if not isinstance(arrays[name], Tensor) or arrays[name].dtype != kind or tuple(arrays[name].shape) != shape:
            raise ValueError(f"'probes': {name!r} does not have the shape {shape}")


def _check_outputs(outputs: Any, steps: int, sentences: int) -> None:
    """Checks for one text for each sentence at each step."""
    rows = outputs if isinstance(outputs, list) and all(isinstance(texts, list) for texts in outputs) else [None]
    if [texts is not None and len(texts) for texts in rows] != [sentences] * steps:
        raise ValueError("'probes': the outputs do not match its steps")
    if not all(isinstance(text, str) for texts in rows for text in texts):
        raise ValueError("'probes': an output is not text")


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
            entry = parse_json(line.encode())
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
