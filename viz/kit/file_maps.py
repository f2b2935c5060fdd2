"""Maps of one head beside each other: charts on a page of the lab, on a canvas in a file and in lecture mode.

The probability of each token before and after the edits: a chart on a page of the lab, a list in a file and in lecture
mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from model.trace import KINDS, SITE_KINDS
from model.trace import View as Map
from viz import theme
from viz.kit import mount
from viz.kit import mount as packed
from viz.kit.offline_parts import Part

if TYPE_CHECKING:
    from model.inference.analysis import Analysis

ROUNDED = frozenset({"values"})
MASK, CHANGE = "mask", "change"  # scales beside those of the kinds

COMPONENT = mount.Component(__file__, '<div class="maps"></div>', picture="Maps of one head")


def data(maps: Sequence[dict[str, Any]], step: int, mode: theme.Mode, alike: bool = False) -> dict[str, Any]:
    """Maps as `one` and `change` make them, three in a row, with the row of the step (from 1) outlined; `alike`: their cells
    are of one size. The theme decides over the scales alone, which stand beside the maps: there may be more or fewer of
    these at another layer."""
    return {"maps": list(maps), "scales": _scales(mode), "step": step, "alike": alike, "large": False}


def part(maps: Sequence[dict[str, Any]], step: int, mode: theme.Mode, alike: bool = False) -> Part:
    """The same for a file."""
    return COMPONENT.part(data(maps, step, mode, alike))


def large(shown: dict[str, Any], key: str) -> None:
    """The maps over the place that lecture mode has for them."""
    COMPONENT.mount(key, shown, beside={"large": True})


def _scales(mode: theme.Mode) -> dict[str, list[str]]:
    """By the name of a scale, its colours from the lowest value to the highest."""
    bar = theme.PALETTES[mode].bar
    kinds = {kind: list(theme.scale(kind, mode)) for kind in KINDS}
    return kinds | {MASK: [bar, bar], CHANGE: list(theme.diverging(mode))}


def one(title: str, seen: Map, kind: str, masked: bool = False) -> dict[str, Any]:
    """The weights of a head on a scale from 0 to 1, or the cells that its mask allows."""
    return _map(title, seen, kind, seen.allowed if masked else seen.values, MASK if masked else kind, None)


def change(title: str, difference: Map, kind: str) -> dict[str, Any]:
    """A difference of two maps, coloured symmetrically about 0 up to the largest."""
    most = max(0.01, round(float(np.abs(difference.values).max(initial=0)), 5))
    return _map(title, difference, kind, difference.values, CHANGE, most)


def _map(title: str, seen: Map, kind: str, values: np.ndarray, scale: str, most: float | None) -> dict[str, Any]:
    return {
        "title": title,
        "kind": kind,
        "queries": list(seen.queries),
        "keys": list(seen.keys),
        "shape": list(values.shape),
        "values": packed.floats(values),
        "allowed": packed.cells(seen.allowed),
        "scale": scale,
        "most": most,
        "follows": SITE_KINDS[kind].queries == "target",
    }


CHANGE_COMPONENT = mount.Component(
    __file__, '<div class="change"></div>', picture="Probability of each token", name="file_change"
)


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
    return CHANGE_COMPONENT.part(of(analysis, step))


def large_change(shown: dict[str, Any], key: str) -> None:
    """The list over the place that lecture mode has for it."""
    CHANGE_COMPONENT.mount(key, shown, beside={"large": True})
