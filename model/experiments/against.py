"""A model and a baseline on the same examples: what is right and what it costs, with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from model.evaluation.single_blanks import Told
from model.experiments.sweep import RESAMPLES, SEED, intervals


def told_of(log_probs: np.ndarray, labels: np.ndarray) -> Told:
    """What log-probabilities [N,C] are worth for labels [N]."""
    return Told(log_probs[np.arange(len(labels)), labels], log_probs.argmax(-1) == labels)


def scores(told: Told, own: Sequence[int] | None = None) -> dict[str, Any]:
    """Accuracy and log-loss in nats, with intervals over the sentences, `own` of each example, or over the examples; None
    in place of an interval where there is one alone."""
    return _both(told.right.astype(float), -told.log_probs, own)


def gain(told: Told, rival: Told, own: Sequence[int] | None = None) -> dict[str, Any]:
    """What the model is better by, in the same samples."""
    return _both(told.right.astype(float) - rival.right, told.log_probs - rival.log_probs, own)


def _both(right: np.ndarray, loss: np.ndarray, own: Sequence[int] | None) -> dict[str, Any]:
    number = np.arange(len(right)) if own is None else np.unique(own, return_inverse=True)[1]
    counts, made = np.bincount(number), {}
    for name, values in (("accuracy", right), ("log_loss", loss)):
        mean, low, high = (round(float(each), 4) for each in intervals(np.bincount(number, values), counts))
        made |= {name: mean, f"{name}_interval": [low, high] if len(counts) > 1 else None}
    return made | {"resamples": RESAMPLES, "seed": SEED}
