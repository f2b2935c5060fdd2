"""The leak test for a model of any framework: a function that is called, and whose answers are compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from model.experiments.leaks import LeakReport, check_noise, moved
from model.trace import Site

PADS = 4  # tokens of padding that are put behind the source
REPEATS = 2  # further calls with the unchanged input, which measure the noise


@dataclass(frozen=True)
class Outside:
    """What a model of another framework may answer beside logits: arrays of numpy, or anything that becomes one.

    `streams` holds the residual stream after each decoder layer, [T,D]; `patterns` the attention weights of each decoder
    layer over its own inputs, [H,T,T]. With streams the layer of a leak is known, with patterns the head.
    """

    logits: Any  # [T,V]
    streams: Sequence[Any] = ()
    patterns: Sequence[Any] = ()


def leak_test_of(
    model: Callable[[np.ndarray, np.ndarray], Any],
    source: Sequence[int],
    inputs: Sequence[int],
    vocabulary: int,
    pad: int | None = None,
) -> LeakReport:
    """Changes each decoder input but the first in turn and tells what moves before it; with `pad`, the id of padding, also
    what some padding behind the source moves.

    `model(source, inputs)` takes ids [S] and [T] as int64 and answers logits [T,V], or `Outside`. The last layer
    of the report is the logits'. The inputs begin with what starts a sentence; other ids are below `vocabulary`.

        >>> import torch
        >>> net = torch.nn.Transformer(8, 2, 1, 1, 16, batch_first=True).eval()
        >>> table, out = torch.nn.Embedding(9, 8), torch.nn.Linear(8, 9)
        >>> def without_a_mask(source, inputs):
        ...     with torch.no_grad():
        ...         x, y = (table(torch.tensor(ids))[None] for ids in (source, inputs))
        ...         return out(net(x, y))[0]
        >>> report = leak_test_of(without_a_mask, [3, 4, 5], [1, 6, 7], vocabulary=9)
        >>> [(changed, moved) for layer, changed, moved in report.leaks]
        [(1, 0), (2, 0), (2, 1)]

    The unchanged input is answered three times. What counts as a leak lies above the noise between these answers, as some
    GPU kernels have it.

    Raises ValueError for answers of another shape, for numbers that are not finite, and for a model that is not
    deterministic, as one in training mode with dropout.
    """
    if len(inputs) < 2 or vocabulary < 3:
        raise ValueError(f"there are {len(inputs)} inputs of {vocabulary} tokens; expected at least 2, and of 3")
    plain = _answer(model, source, inputs)
    noise = max(check_noise(_apart(plain[0], _answer(model, source, inputs)[0])) for _ in range(REPEATS))
    later = np.zeros((len(plain[0]), len(inputs), len(inputs)), np.float32)
    for j in range(1, len(inputs)):
        changed = [*inputs[:j], _changed_batch(inputs[j], vocabulary, pad), *inputs[j + 1 :]]
        later[:, j] = _apart(plain[0], _answer(model, source, changed)[0])
    padding = np.zeros((len(plain[0]), len(inputs)), np.float32)
    if pad is not None:
        padding = _apart(plain[0], _answer(model, [*source, *[pad] * PADS], inputs)[0])
    ahead = np.arange(len(inputs)) > np.arange(len(inputs))[:, None]  # [T,T]
    looks = {Site("decoder", n): (each * ahead).max(axis=(1, 2)) for n, each in enumerate(plain[1])}
    labels, read = (tuple(map(str, ids)) for ids in (inputs, source))
    none = np.zeros((0, len(source)), np.float32)
    return LeakReport(labels, read, later, none, padding, 0 if pad is None else PADS, looks=looks, noise=noise)


def _answer(
    model: Callable[[np.ndarray, np.ndarray], Any], source: Sequence[int], inputs: Sequence[int]
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The streams [T,D] and behind them the logits [T,V]; and the patterns [H,T,T] of each layer."""
    said = model(np.array(source, np.int64), np.array(inputs, np.int64))
    found = said if isinstance(said, Outside) else Outside(said)
    length = len(inputs)
    streams = [_array(each, (length, None), "a stream") for each in found.streams]
    logits = _array(found.logits, (length, None), "the array of logits")
    patterns = [_array(each, (None, length, length), "a pattern") for each in found.patterns]
    return [*streams, logits], patterns


def _array(value: Any, shape: tuple[int | None, ...], what: str) -> np.ndarray:
    if hasattr(value, "detach"):  # torch, which numpy does not read where gradients are kept
        value = value.detach().cpu().double()  # numpy has no bfloat16
    array = np.asarray(value, np.float64)
    fits = array.ndim == len(shape) and all(want in (None, size) for want, size in zip(shape, array.shape, strict=True))
    if not fits:
        expected = ", ".join("any" if size is None else str(size) for size in shape)
        raise ValueError(f"{what} of the model has the shape {array.shape}; expected ({expected})")
    if not np.isfinite(array).all():
        raise ValueError(f"{what} of the model holds numbers that are NaN or infinite; expected finite ones")
    return array


def _apart(plain: list[np.ndarray], other: list[np.ndarray]) -> np.ndarray:
    """How far streams [T,D], of any widths, are apart, as shares of the largest entry: [layers,T]."""
    both = zip(plain, other, strict=True)
    return np.stack([moved(np.stack(pair)[None])[0, 0] for pair in both]).astype(np.float32)


def _changed_batch(token: int, vocabulary: int, pad: int | None) -> int:
    """Another token that is no padding."""
    candidates = ((token + n) % vocabulary for n in range(1, 3))
    return next(other for other in candidates if other != pad)
