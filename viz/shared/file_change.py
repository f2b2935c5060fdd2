"""The probability of each token before and after the edits: on a page of the lab it is a chart, in a file it is a list."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from viz.offline.parts import Drawn, Part
from viz.scripts import in_a_file, joined

HERE = Path(__file__)


@cache
def _drawn() -> Drawn:
    style = HERE.with_suffix(".css").read_text(encoding="utf-8")
    return Drawn("file_change", '<div class="change"></div>', style, in_a_file(joined(HERE.with_suffix(".js"))))


def part(labels: Sequence[str], before: np.ndarray, after: np.ndarray, step: int, edited: bool) -> Part:
    """`labels` and `before` cover all T steps of the baseline, `after` as many of them as may be compared; both are
    probabilities. `step` (from 1) is the one that is looked at. Without edits there is no after."""
    shown = np.round(before.astype(float), 5).tolist(), np.round(after.astype(float), 5).tolist()
    return Part(_drawn(), {"labels": list(labels), "before": shown[0], "after": shown[1], "step": step, "edited": edited})
