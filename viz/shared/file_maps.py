"""Maps of one head beside each other: on a page of the lab they are charts, in a file they are drawn on a canvas."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from model.trace import SITE_KINDS
from model.trace import View as Map
from viz import theme
from viz.offline.parts import Drawn, Part
from viz.scripts import in_a_file, joined
from viz.shared import packed

ROUNDED = frozenset({"values"})
HERE = Path(__file__)


@cache
def _drawn() -> Drawn:
    style = HERE.with_suffix(".css").read_text(encoding="utf-8")
    return Drawn("file_maps", '<div class="maps"></div>', style, in_a_file(joined(HERE.with_suffix(".js"))))


def part(maps: Sequence[dict[str, Any]], step: int, alike: bool = False) -> Part:
    """Maps as `one` and `change` make them, three in a row, with the row of the step (from 1) outlined; `alike`: their cells
    are of one size."""
    return Part(_drawn(), {"maps": list(maps), "step": step, "alike": alike})


def one(title: str, seen: Map, kind: str, mode: theme.Mode, masked: bool = False) -> dict[str, Any]:
    """The weights of a head on a scale from 0 to 1, or the cells that its mask allows."""
    bar = theme.PALETTES[mode].bar
    values = seen.allowed if masked else seen.values
    return _map(title, seen, kind, values, [bar, bar] if masked else theme.scale(kind, mode), None)


def change(title: str, difference: Map, kind: str, mode: theme.Mode) -> dict[str, Any]:
    """A difference of two maps, coloured symmetrically about 0 up to the largest."""
    most = max(0.01, round(float(np.abs(difference.values).max(initial=0)), 5))
    return _map(title, difference, kind, difference.values, theme.diverging(mode), most)


def _map(title: str, seen: Map, kind: str, values: np.ndarray, scale: Sequence[str], most: float | None) -> dict[str, Any]:
    return {
        "title": title,
        "kind": kind,
        "queries": list(seen.queries),
        "keys": list(seen.keys),
        "shape": list(values.shape),
        "values": packed.floats(values),
        "allowed": packed.cells(seen.allowed),
        "scale": list(scale),
        "most": most,
        "follows": SITE_KINDS[kind].queries == "target",
    }
