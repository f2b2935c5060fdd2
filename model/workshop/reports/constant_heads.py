"""Heads whose pattern does not depend on the content: how much weight moves when the tokens of a sentence swap places."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...checkpoint import Checkpoint
from ...config import END, PAD, START
from ...edits.intervention import BASELINE
from ...experiments.sweep import heads_of
from ...inference.passes import teacher_force
from ...trace import Trace

CONSTANT = 0.01  # share of a row's weight: a head is constant if the interval of its content change lies below this bound

Ids = Sequence[int] | None


def rotated(ids: Ids) -> Ids:
    """Returns the ids with all tokens but control tokens moved on by half their number; None stays None.

    The length, the padding and the places of `<s>` and `</s>` stay, so a pattern of positions alone stays too.
    """
    if ids is None:
        return None
    moved = list(ids)
    places = [n for n, each in enumerate(moved) if each not in (PAD, START, END)]
    half = len(places) // 2
    for place, origin in zip(places, places[half:] + places[:half], strict=True):
        moved[place] = ids[origin]
    return moved


def content_change(lab: Checkpoint, source: Ids, target: Ids, trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """Returns for each head the sum over rows of the weight that moves with rotated tokens, and the row count: [E] each.

    The weight that moves is half the L1 distance of both rows (total variation), from 0 to 1. Rows with one allowed key do
    not count, and neither do heads whose keys stay the same.
    """
    others = rotated(source), rotated(target)
    (other,) = teacher_force(lab, *others, [BASELINE])
    sums, counts = [], []
    for site in dict.fromkeys(site for site, _ in heads_of(lab)):
        pattern = trace.patterns[site]
        read = (target, others[1]) if site.kind == "decoder" else (source, others[0])
        is_changed = list(read[0] or ()) != list(read[1] or ())
        moved = np.abs(pattern.astype(np.float64) - other.patterns[site]).sum(-1) / 2  # [H,T]
        is_counted = is_changed & (np.broadcast_to(trace.masks[site], pattern.shape).sum(-1) > 1)  # [H,T]
        sums.append((moved * is_counted).sum(-1))
        counts.append(is_counted.sum(-1))
    return np.concatenate(sums), np.concatenate(counts)


def is_constant(high: float) -> int | None:
    """Returns 1 if the upper end of the interval of the content change lies below the bound, else 0; None without one."""
    return None if np.isnan(high) else int(high < CONSTANT)
