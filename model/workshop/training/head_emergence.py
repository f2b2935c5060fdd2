"""Numbers of every head at every recorded step, and the first recorded step at which a head reaches a threshold. No torch
here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from model.readings.heads.head_metrics import METRICS, Rows, telling
from model.trace import site_kind
from model.workshop.training.recording import LEVELS, Recording

TOGETHER = 1 << 22  # weights that are measured at once
DIAGONAL = "same"  # the metric that says how far a map of cross-attention lies on its diagonal: row t predicts token t


@dataclass(frozen=True)
class Reached:
    """The first recorded step at which a head reaches a threshold; layer and head count from 0."""

    step: int
    layer: int
    head: int
    score: float


def scores(recording: Recording, kind: str, name: str) -> np.ndarray:
    """A metric of every head at every step: [N,L,H], the mean over all rows of all sentences that have such a number, nan
    where none has.

    Raises KeyError for a metric that there is not, ValueError for a kind of attention that is not recorded.
    """
    if kind not in recording.kinds:
        raise ValueError(f"{kind} attention is not recorded; expected one of {', '.join(recording.kinds)}")
    measure = METRICS[name].measure
    shape = recording.arrays[f"{kind}/0"].shape[:3]  # [N,L,H]
    total, counted = np.zeros(shape), np.zeros(shape)
    for number in range(len(recording.sentences)):
        levels, keys = recording.arrays[f"{kind}/{number}"], keys_of(recording, number, kind)  # [N,L,H,T,S]
        each, mask = max(1, TOGETHER // levels[0].size), _mask(levels)
        for first in range(0, len(levels), each):  # some steps at once: as float32 a large file would fill the memory
            part = levels[first : first + each].astype(np.float32) / LEVELS
            (sums,), (counts,) = Rows.of(part.reshape(-1, *levels.shape[3:]), keys, mask=mask).sums([measure])
            there = slice(first, first + each)
            total[there] += sums.reshape(part.shape[:3])
            counted[there] += np.broadcast_to(counts, sums.shape).reshape(part.shape[:3])
    return np.where(counted > 0, total / np.maximum(1, counted), np.nan)


def applies(recording: Recording, kind: str, name: str) -> bool:
    """Returns True where the mask of some recorded map of a kind of attention lets the metric vary.

    The diagonal of cross-attention is measured as well.
    """
    is_self = site_kind(kind).is_self
    if name == DIAGONAL and not is_self:
        return True
    for number in range(len(recording.sentences)):
        mask = _mask(recording.arrays[f"{kind}/{number}"])
        if name in telling(mask, keys_of(recording, number, kind), is_self):
            return True
    return False


def count_rows(recording: Recording, kind: str, name: str) -> tuple[int, int]:
    """Returns how many rows of all sentences a metric has a number for, and how many rows there are."""
    counted = total = 0
    for number in range(len(recording.sentences)):
        queries, keys = recording.arrays[f"{kind}/{number}"].shape[3:]  # of [N,L,H,T,S]
        even = np.full((1, queries, keys), 1 / keys, dtype=np.float32)
        _, ((count,),) = Rows.of(even, keys_of(recording, number, kind)).means([METRICS[name].measure])
        counted, total = counted + int(count), total + queries
    return counted, total


def _mask(levels: np.ndarray) -> np.ndarray:
    """Returns the mask [T,S] of recorded maps [N,L,H,T,S]; a cell that is 0 at every step and head counts as masked."""
    return levels.max(axis=(0, 1, 2)) > 0


def keys_of(recording: Recording, number: int, kind: str) -> tuple[str, ...]:
    """The tokens that a map's columns stand for, as far as they are told: what older files do not tell is blank."""
    sentence, side = recording.sentences[number], site_kind(kind).keys
    tokens = sentence.source_tokens if side == "source" else sentence.target_tokens
    count = len(sentence.source if side == "source" else sentence.target)
    return (tokens if side == "source" else ("<s>", *tokens[:-1])) if tokens else ("",) * count


def first_reached(values: np.ndarray, steps: tuple[int, ...], threshold: float) -> Reached | None:
    """The first of the steps at which a head's number [N,L,H] is at least the threshold, and the head whose is the largest
    there; None where no head reaches it."""
    largest = values.reshape(len(values), -1).max(axis=1)
    there = np.flatnonzero(largest >= threshold)
    if not len(there):
        return None
    at = int(there[0])
    layer, head = np.unravel_index(int(values[at].argmax()), values.shape[1:])
    return Reached(steps[at], int(layer), int(head), float(values[at].max()))
