"""Metrics of every head at every recorded step, and the first step at which a head reaches a threshold. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...readings.heads.head_metrics import METRICS, Rows, applicable_metrics
from ...trace import site_kind
from .recording import LEVELS, Recording

MAX_BATCH_WEIGHTS = 1 << 22  # weights that are measured together
DIAGONAL_METRIC = "same"  # metric: weight on the diagonal of cross-attention, where row t predicts token t


@dataclass(frozen=True)
class HeadEmergence:
    """The first recorded step at which a head reaches a threshold. Layer and head count from 0."""

    step: int
    layer: int
    head: int
    score: float


def head_scores(recording: Recording, kind: str, name: str) -> np.ndarray:
    """Returns a metric of every head at every step, shape [N,L,H]: the mean over all rows that have a value, else nan.

    Raises KeyError for an unknown metric and ValueError for a kind of attention that is not recorded.
    """
    if kind not in recording.kinds:
        raise ValueError(f"{kind} attention is not recorded; expected one of {', '.join(recording.kinds)}")
    measure = METRICS[name].measure
    shape = recording.arrays[f"{kind}/0"].shape[:3]  # [N,L,H]
    total, counted = np.zeros(shape), np.zeros(shape)
    for number in range(len(recording.sentences)):
        levels, keys = recording.arrays[f"{kind}/{number}"], key_tokens(recording, number, kind)  # [N,L,H,T,S]
        each, mask = max(1, MAX_BATCH_WEIGHTS // levels[0].size), _mask(levels)
        for first in range(0, len(levels), each):  # in parts, because a large file as float32 would fill the memory
            part = levels[first : first + each].astype(np.float32) / LEVELS
            (sums,), (counts,) = Rows.of(part.reshape(-1, *levels.shape[3:]), keys, mask=mask).sums([measure])
            there = slice(first, first + each)
            total[there] += sums.reshape(part.shape[:3])
            counted[there] += np.broadcast_to(counts, sums.shape).reshape(part.shape[:3])
    return np.where(counted > 0, total / np.maximum(1, counted), np.nan)


def is_applicable(recording: Recording, kind: str, name: str) -> bool:
    """Returns True if the mask of a recorded map lets the metric vary, and for the diagonal of cross-attention."""
    is_self = site_kind(kind).is_self
    if name == DIAGONAL_METRIC and not is_self:
        return True
    for number in range(len(recording.sentences)):
        mask = _mask(recording.arrays[f"{kind}/{number}"])
        if name in applicable_metrics(mask, key_tokens(recording, number, kind), is_self):
            return True
    return False


def count_rows(recording: Recording, kind: str, name: str) -> tuple[int, int]:
    """Returns the number of rows that have a value of the metric, and the number of all rows."""
    counted = total = 0
    for number in range(len(recording.sentences)):
        queries, keys = recording.arrays[f"{kind}/{number}"].shape[3:]  # of [N,L,H,T,S]
        even = np.full((1, queries, keys), 1 / keys, dtype=np.float32)
        _, ((count,),) = Rows.of(even, key_tokens(recording, number, kind)).means([METRICS[name].measure])
        counted, total = counted + int(count), total + queries
    return counted, total


def _mask(levels: np.ndarray) -> np.ndarray:
    """Returns the mask [T,S] of recorded maps [N,L,H,T,S]. A cell that is 0 at every step and head counts as masked."""
    return levels.max(axis=(0, 1, 2)) > 0


def key_tokens(recording: Recording, number: int, kind: str) -> tuple[str, ...]:
    """Returns the token of each column of a map. Older files lack the tokens; these are empty strings."""
    sentence, side = recording.sentences[number], site_kind(kind).keys
    tokens = sentence.source_tokens if side == "source" else sentence.target_tokens
    count = len(sentence.source if side == "source" else sentence.target)
    return (tokens if side == "source" else ("<s>", *tokens[:-1])) if tokens else ("",) * count


def find_emergence(values: np.ndarray, steps: tuple[int, ...], threshold: float) -> HeadEmergence | None:
    """Returns the first step at which a head's metric [N,L,H] is at least the threshold, with the highest head there.
    Returns None if no head reaches it."""
    largest = values.reshape(len(values), -1).max(axis=1)
    reached = np.flatnonzero(largest >= threshold)
    if not len(reached):
        return None
    index = int(reached[0])
    layer, head = np.unravel_index(int(values[index].argmax()), values.shape[1:])
    return HeadEmergence(steps[index], int(layer), int(head), float(values[index].max()))
