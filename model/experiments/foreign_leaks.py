"""The leak test of a model of any framework, through functions that it calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..trace import Site
from .leak_report import BATCH_PADS, LeakReport, check_noise, relative_shift

PADS = 4  # tokens of padding after the source
REPEATS = 2  # more calls with the unchanged input, which measure the noise


@dataclass(frozen=True)
class ModelOutputs:
    """Outputs of a model of another framework: numpy arrays, or anything that numpy can convert.

    `streams` holds the residual stream after each decoder layer, [T,D]. `patterns` holds the attention weights of each
    decoder layer over its own inputs, [H,T,T]. With streams the report names the layer of a leak, with patterns the head.
    """

    logits: Any  # [T,V]
    streams: Sequence[Any] = ()
    patterns: Sequence[Any] = ()


def leak_test_callable(
    model: Callable[[np.ndarray, np.ndarray], Any],
    source: Sequence[int],
    inputs: Sequence[int],
    vocabulary: int,
    pad: int | None = None,
    batched: Callable[[np.ndarray, np.ndarray], Any] | None = None,
    cached: Callable[[np.ndarray, np.ndarray], Any] | None = None,
) -> LeakReport:
    """Changes each decoder input except the first in turn, and measures the shift of earlier positions.

    It also compares the logits of `batched` and `cached`, if given, with those of `model` on the unchanged input.

    >>> import torch
        >>> net = torch.nn.Transformer(8, 2, 1, 1, 16, batch_first=True).eval()
        >>> table, out = torch.nn.Embedding(9, 8), torch.nn.Linear(8, 9)
        >>> def without_a_mask(source, inputs):
        ...     with torch.no_grad():
        ...         x, y = (table(torch.tensor(ids))[None] for ids in (source, inputs))
        ...         return out(net(x, y))[0]
        >>> report = leak_test_callable(without_a_mask, [3, 4, 5], [1, 6, 7], vocabulary=9)
        >>> [(changed, moved) for layer, changed, moved in report.leaks]
        [(1, 0), (2, 0), (2, 1)]

    The model runs three times on the unchanged input. A leak is larger than the noise between these results, which some GPU
    kernels have.

    Args:
        model: a function of ids [S] and [T], int64, that returns logits [T,V] or `ModelOutputs`. The logits are the last
            layer of the report.
        source: ids of the source, [S].
        inputs: ids of the decoder inputs, [T]; the first is the start token.
        vocabulary: number of ids; all are below it.
        pad: the id of padding. If given, the shift by padding after the source is measured too.
        batched: a function of ids [B,S] and [B,T] that returns logits [B,T,V]. The sentence is in one batch with longer
            ones, and `pad` follows its source and its inputs.
        cached: a function of ids [S] and [T] that returns logits [T,V], computed token by token with the key-value cache.

    Raises ValueError for outputs of another shape, for numbers that are not finite, for `batched` without `pad`, and for a
    model that is not deterministic, such as one in training mode with dropout.
    """
    if batched is not None and pad is None:
        raise ValueError("a batched model is given without pad; expected the id of padding")
    if len(inputs) < 2 or vocabulary < 3:
        raise ValueError(f"there are {len(inputs)} inputs and {vocabulary} tokens; expected at least 2 inputs and 3 tokens")
    plain = _outputs_of(model, source, inputs)
    noise = max(check_noise(_layer_shifts(plain[0], _outputs_of(model, source, inputs)[0])) for _ in range(REPEATS))
    later = np.zeros((len(plain[0]), len(inputs), len(inputs)), np.float32)
    for j in range(1, len(inputs)):
        changed = [*inputs[:j], _other_id(inputs[j], vocabulary, pad), *inputs[j + 1 :]]
        later[:, j] = _layer_shifts(plain[0], _outputs_of(model, source, changed)[0])
    padding = np.zeros((len(plain[0]), len(inputs)), np.float32)
    if pad is not None:
        padding = _layer_shifts(plain[0], _outputs_of(model, [*source, *[pad] * PADS], inputs)[0])
    is_later = np.arange(len(inputs)) > np.arange(len(inputs))[:, None]  # [T,T]
    looks = {Site("decoder", n): (each * is_later).max(axis=(1, 2)) for n, each in enumerate(plain[1])}
    labels, read = (tuple(map(str, ids)) for ids in (inputs, source))
    none = np.zeros((0, len(source)), np.float32)
    logits, batch, cache, rounding = plain[0][-1], {}, {}, 0.0
    if batched is not None and pad is not None:
        shift, rounding = _shift_by_batch(batched, source, inputs, logits, vocabulary, pad)
        batch = {"logits": shift}
    if cached is not None:
        answer = cached(np.array(source, np.int64), np.array(inputs, np.int64))
        rounding = max(rounding, _precision(answer))
        cache = {"steps": _layer_shifts([logits], [_array(answer, logits.shape, "the array of logits of the cache")])[0]}
    return LeakReport(
        labels,
        read,
        later,
        none,
        padding,
        0 if pad is None else PADS,
        max_forbidden_weight=looks,
        noise=noise,
        shift_by_batch=batch,
        batch_pads=(BATCH_PADS if len(source) else 0, BATCH_PADS) if batch else (0, 0),
        shift_by_cache=cache,
        rounding=rounding,
    )


def _shift_by_batch(
    batched: Callable[[np.ndarray, np.ndarray], Any],
    source: Sequence[int],
    inputs: Sequence[int],
    logits: np.ndarray,
    vocabulary: int,
    pad: int,
) -> tuple[np.ndarray, float]:
    """Returns the shift of the logits [T,V] of a sentence by a batch of three, [1,T], and the rounding of two results.

    The sentence is the middle row, between longer ones.
    """

    def run(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> tuple[np.ndarray, float]:
        answer = batched(np.array(sources, np.int64), np.array(targets, np.int64))
        shape = (len(targets), len(targets[0]), logits.shape[1])
        return _array(answer, shape, "the array of logits of the batch"), _precision(answer)

    def rows(ids: Sequence[int], pads: int) -> list[Sequence[int]]:
        longer = [*ids, *(_other_id(n, vocabulary, pad) for n in ([*ids] * pads)[:pads])]
        return [longer, [*ids, *[pad] * pads], longer]

    alone, precision = run([source], [inputs])
    twice, _ = run([source] * 2, [inputs] * 2)
    rounding = check_noise(_layer_shifts([alone[0]], [twice[1]]))
    batch, _ = run(rows(source, BATCH_PADS if len(source) else 0), rows(inputs, BATCH_PADS))
    return _layer_shifts([logits], [batch[1, : len(inputs)]]), max(rounding, precision)


def _precision(value: Any) -> float:
    """Returns the difference of 1 and the next number in the type of an array or tensor; 0 for other objects."""
    kind = str(getattr(value, "dtype", "")).rpartition(".")[2]
    return {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23}.get(kind, 0.0)


def _outputs_of(
    model: Callable[[np.ndarray, np.ndarray], Any], source: Sequence[int], inputs: Sequence[int]
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Returns the streams [T,D], the logits [T,V] last, and the patterns [H,T,T] of each layer."""
    answer = model(np.array(source, np.int64), np.array(inputs, np.int64))
    outputs = answer if isinstance(answer, ModelOutputs) else ModelOutputs(answer)
    length = len(inputs)
    streams = [_array(each, (length, None), "a stream") for each in outputs.streams]
    logits = _array(outputs.logits, (length, None), "the array of logits")
    patterns = [_array(each, (None, length, length), "a pattern") for each in outputs.patterns]
    return [*streams, logits], patterns


def _array(value: Any, shape: tuple[int | None, ...], what: str) -> np.ndarray:
    if hasattr(value, "detach"):  # numpy does not read torch tensors with gradients
        value = value.detach().cpu().double()  # numpy has no bfloat16
    array = np.asarray(value, np.float64)
    fits = array.ndim == len(shape) and all(want in (None, size) for want, size in zip(shape, array.shape, strict=True))
    if not fits:
        expected = ", ".join("any" if size is None else str(size) for size in shape)
        raise ValueError(f"{what} of the model has the shape {array.shape}; expected ({expected})")
    if not np.isfinite(array).all():
        raise ValueError(f"{what} of the model holds numbers that are NaN or infinite; expected finite ones")
    return array


def _layer_shifts(plain: list[np.ndarray], other: list[np.ndarray]) -> np.ndarray:
    """Returns the largest differences of streams [T,D] of any widths, as shares of the largest entry: [layers,T]."""
    both = zip(plain, other, strict=True)
    return np.stack([relative_shift(np.stack(pair)[None])[0, 0] for pair in both]).astype(np.float32)


def _other_id(token: int, vocabulary: int, pad: int | None) -> int:
    """Returns another token that is no padding."""
    candidates = ((token + n) % vocabulary for n in range(1, 3))
    return next(other for other in candidates if other != pad)
