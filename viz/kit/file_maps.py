"""Maps of one head and the change of probabilities, for HTML files and lecture mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from model.trace import MapView
from viz import theme
from viz.kit import mount, patterns
from viz.kit.offline_parts import Part

if TYPE_CHECKING:
    from model.inference.analysis import Analysis

ROUNDED = frozenset({"values"})

COMPONENT = mount.Component(__file__, '<div class="maps"></div>', picture="Maps of one head")


def map_data(maps: Sequence[dict[str, Any]], step: int, mode: theme.Mode, alike: bool = False) -> dict[str, Any]:
    """Returns the data of maps from `patterns`, with the row of the step outlined.

    `alike` gives all cells one size, and as many maps as fit stand in a row. Without it, three do. Only the scales depend on
    the theme.
    """
    options = {"alike": alike, "large": False, "trace": None}
    return {"maps": list(maps), "scales": patterns.scales(mode), "step": step + 1, **options}


def mount_maps(payload: Mapping[str, Any], step: int, key: str) -> None:
    """Mounts the maps on a page, with the row of the step outlined."""
    COMPONENT.mount(key, payload, overrides={"step": step + 1})


def map_part(maps: Sequence[dict[str, Any]], step: int, mode: theme.Mode, alike: bool = False) -> Part:
    """Returns the maps for a file."""
    return COMPONENT.part(map_data(maps, step, mode, alike))


def mount_in_lecture(payload: Mapping[str, Any], key: str, step: int | None = None, trace: str | None = None) -> None:
    """Mounts the maps in lecture mode; `trace` names the trace of the timeline that publishes the step."""
    steps = {} if step is None else {"step": step + 1}
    COMPONENT.mount(key, payload, overrides={"large": True, "trace": trace, **steps})


def one(title: str, seen: MapView, kind: str, masked: bool = False) -> dict[str, Any]:
    """Returns a map of a head's weights from 0 to 1, or of the cells that its mask allows."""
    return patterns.pattern(seen, kind, title, masked=masked)


def change(title: str, difference: MapView, kind: str) -> dict[str, Any]:
    """Returns a map of a difference, coloured symmetrically about 0."""
    return patterns.difference(difference, kind, title)


CHANGE_COMPONENT = mount.Component(
    __file__, '<div class="change"></div>', picture="Probability of each token", name="file_change"
)


def change_data(analysis: Analysis, step: int) -> dict[str, Any]:
    """Returns the probabilities before and after the edits; `step` is the chosen one.

    A classifier has labels in place of tokens, and its unedited label is the chosen one.
    """
    change, base, judges = analysis.probability_change, analysis.baseline or analysis, analysis.task.is_classifier
    before, after = (np.round(each.astype(float), 5).tolist() for each in (change.before, change.after))
    return {
        "labels": list(change.labels),
        "before": before,
        "after": after,
        "step": (base.trace.predicted_axis.ids[0] if judges else step) + 1,
        "edited": analysis.baseline is not None,
        "what": "label" if judges else "token",
        "large": False,
    }


def change_part(analysis: Analysis, step: int) -> Part:
    """Returns the list of probabilities for a file."""
    return CHANGE_COMPONENT.part(change_data(analysis, step))


def mount_change_in_lecture(payload: dict[str, Any], key: str) -> None:
    """Mounts the list of probabilities in lecture mode."""
    CHANGE_COMPONENT.mount(key, payload, overrides={"large": True})
