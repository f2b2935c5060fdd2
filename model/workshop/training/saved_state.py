"""Checks of a run's `state.pt` before use: the file may be damaged or come from another program."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ...config import ModelConfig
from ...io.files import opened, shown
from ...io.limits import (
    MAX_COUNT,
    is_count,
    is_number,
    is_whole,
)
from ...network.transformer import Transformer
from .recording import LOG_PROBS, ProbeSentence, array_shapes
from .snapshots import SnapshotRecorder

PARTS = ("model", "optimizer", "snapshots", "progress", "random", "probes")
OPTIONAL_PARTS = ("meter",)  # a part that older states lack
MOMENTS = ("exp_avg", "exp_avg_sq")  # the state of Adam for each parameter, besides its step
MAX_BYTES = 1 << 36  # of the file; a state holds a model about eight times
Shapes = Mapping[str, tuple[int, ...]]


def read(path: Path, device: torch.device) -> Any:
    """Returns the value in a file of `torch.save`, tensors and plain values only.

    Raises what torch, zipfile and `model.io.files.opened` raise. Refuses compressed entries, so nothing is larger than the
    file.
    """
    with opened(path, MAX_BYTES) as raw, zipfile.ZipFile(raw) as archive:
        if packed := [entry for entry in archive.infolist() if entry.file_size != entry.compress_size]:
            raise ValueError(f"{shown(packed[0].filename)} is compressed")
    return torch.load(path, map_location=device, weights_only=True)


def check(model: Transformer, recorder: SnapshotRecorder, average: int, processes: int, state: Any) -> None:
    """Compares a state with the model, recorder, number of snapshots and processes of a run. Raises ValueError."""
    if not isinstance(state, dict) or set(state) - set(OPTIONAL_PARTS) != set(PARTS):
        raise ValueError(f"it holds {shown(sorted(map(str, state)) if isinstance(state, dict) else state)}")
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
        raise ValueError(f"'progress' is {shown(progress)}")
    for name in counts:
        if not is_count(progress[name]):
            raise ValueError(f"'progress': {name!r} is {shown(progress[name])}")
    if not is_number(progress["seconds"], 0, MAX_COUNT) or not isinstance(progress["ended"], bool):
        raise ValueError(f"'progress': 'seconds' and 'ended' are {shown((progress['seconds'], progress['ended']))}")
    entries = progress["validations"]
    if not isinstance(entries, list) or not all(map(_is_validation, entries)):
        raise ValueError("'progress': 'validations' is not a list of measurements")
    if progress["best"] not in (entries or [{}]):
        raise ValueError("'progress': 'best' is not one of the validations")


def _is_sum(value: Any) -> bool:
    """Returns True for a valid sum of the meter, which adds up gradients of any size."""
    return (is_whole(value) and value >= 0) or (isinstance(value, float) and 0 <= value < float("inf"))


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
