"""The probability of each token before and after the edits: a chart on a page of the lab, a list in a file and in lecture
mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from viz.offline.parts import Part
from viz.shared import mount

COMPONENT = mount.Component(__file__, '<div class="change"></div>', picture="Probability of each token")


def data(labels: Sequence[str], before: np.ndarray, after: np.ndarray, step: int, edited: bool) -> dict[str, Any]:
    """`labels` and `before` cover all T steps of the baseline, `after` as many of them as may be compared; both are
    probabilities. `step` (from 1) is the one that is looked at. Without edits there is no after."""
    shown = np.round(before.astype(float), 5).tolist(), np.round(after.astype(float), 5).tolist()
    return {"labels": list(labels), "before": shown[0], "after": shown[1], "step": step, "edited": edited, "large": False}


def part(labels: Sequence[str], before: np.ndarray, after: np.ndarray, step: int, edited: bool) -> Part:
    """The same for a file."""
    return COMPONENT.part(data(labels, before, after, step, edited))


def large(shown: dict[str, Any], key: str) -> None:
    """The list over the place that lecture mode has for it."""
    COMPONENT.mount(key, shown, beside={"large": True})
