"""The probability of each token before and after the edits: a chart on a page of the lab, a list in a file and in lecture
mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from viz.offline.parts import Part
from viz.shared import mount

if TYPE_CHECKING:
    from model.inference.analysis import Analysis

CHANGE = mount.Component(__file__, '<div class="change"></div>', picture="Probability of each token")


def of(analysis: Analysis, step: int) -> dict[str, Any]:
    """What the component needs of an analysis; `step` (from 1) is the one that is looked at. Of a classifier every label,
    and the one that it has without edits is looked at. Without edits there is no after."""
    found, base, judges = analysis.change, analysis.baseline or analysis, analysis.task.judges
    before, after = (np.round(each.astype(float), 5).tolist() for each in (found.before, found.after))
    return {
        "labels": list(found.labels),
        "before": before,
        "after": after,
        "step": base.trace.predicted.ids[0] + 1 if judges else step,
        "edited": analysis.baseline is not None,
        "what": "label" if judges else "token",
        "large": False,
    }


def change_part(analysis: Analysis, step: int) -> Part:
    """The same for a file."""
    return CHANGE.part(of(analysis, step))


def large_change(shown: dict[str, Any], key: str) -> None:
    """The list over the place that lecture mode has for it."""
    CHANGE.mount(key, shown, beside={"large": True})
