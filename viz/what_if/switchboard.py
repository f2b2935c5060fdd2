"""The switchboard: the mask as a clickable matrix beside all heads as clickable grids; a click toggles an edit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from model.edits.intervention import Intervention
from model.edits.kinds import Ablate, BlockCells, Place
from model.edits.place import format_number
from model.task import task_of_kinds
from model.trace import SITE_KINDS, Trace
from viz import theme
from viz.kit import mount, sides

if TYPE_CHECKING:
    from model.experiments.effects import HeadEffect

WIDTH = 294  # px that the matrix may take
NAMES = {kind: of.name[:1].upper() + of.name[1:] for kind, of in SITE_KINDS.items()}


def payload(
    trace: Trace, effects: Sequence[HeadEffect] | None, place: Place, intervention: Intervention, mode: theme.Mode
) -> dict[str, Any]:
    """Returns the pattern of a place, the mean over its layers and heads, its blocked cells, and the effect of each head.

    `effects` is None before they are measured.
    """
    sites = [site for site in trace.patterns if place.covers_layer(*site)]
    values = np.mean([trace.patterns[site][place.heads].mean(axis=0) for site in sites], axis=0)  # [T,S]
    return {
        "queries": sides.queries(trace, sites[0]),
        "keys": sides.keys(trace, sites[0]),
        "values": np.round(values.astype(float), 4).tolist(),
        "allowed": np.any([trace.mask(site, place.head) for site in sites], axis=0).astype(int).tolist(),
        "blocked": blocked(values.shape, place, intervention).astype(int).tolist(),
        "block": {"code": BlockCells.code_pattern(place), "every": format_number(None)},
        "scale": list(theme.scale(place.kind, mode)),
        "width": WIDTH,
        "scored": task_of_kinds(trace.kinds, trace.classes).score_label(bool(trace.blank_positions)),
        "grids": grids(unmeasured(trace) if effects is None else effects, intervention),
        "diverging": list(theme.diverging(mode)),
        "large": False,
        "title": f"{NAMES[place.kind]}, {place_text(place)}: who may see whom",
        "hue": place.kind,
    }


def place_text(place: Place) -> str:
    """Returns the layers and heads of a place in words."""
    if place.layer is None:
        return "all layers"
    head = "" if place.head is None else f", head {place.head + 1}"
    return f"layer {place.layer + 1}{head}"


def blocked(shape: tuple[int, ...], place: Place, intervention: Intervention) -> np.ndarray:
    """Returns the cells that an edit blocks at some head of the place: bool [T,S]."""
    cells = np.zeros(shape, dtype=bool)
    for edit in intervention.edits:
        if isinstance(edit, BlockCells) and edit.place.overlaps(place):
            rows, columns = (slice(None) if n is None else slice(n, n + 1) for n in (edit.query, edit.key))
            cells[rows, columns] = True
    return cells


def unmeasured(trace: Trace) -> list[HeadEffect]:
    """Returns every head of a trace without a measured effect."""
    from model.experiments.effects import HeadEffect

    sites = [site for kind in trace.kinds for site in trace.sites(kind)]
    return [HeadEffect(site, head, math.nan) for site in sites for head in range(len(trace.patterns[site]))]


def grids(effects: Sequence[HeadEffect], intervention: Intervention) -> list[dict[str, Any]]:
    """Returns for each kind of site the effects of its heads, [layers][heads], None before they are measured.

    `off` is True for heads that are off, or their mean, now.
    """
    ablated = [edit.place for edit in intervention.edits if isinstance(edit, Ablate)]
    result = []
    for kind, name in NAMES.items():
        own = [e for e in effects if e.site.kind == kind]
        if not own:
            continue
        rows: dict[int, list[HeadEffect]] = {}
        for effect in own:
            rows.setdefault(effect.site.layer, []).append(effect)
        places = [[Place(kind, layer, e.head) for e in row] for layer, row in rows.items()]
        result.append(
            {
                "name": name,
                "codes": [[e.edit.code for e in row] for row in rows.values()],
                "changes": [[_rounded(e.change) for e in row] for row in rows.values()],
                "off": [[any(place.overlaps(a) for a in ablated) for place in row] for row in places],
            }
        )
    return result


def _rounded(change: float) -> float | None:
    return None if math.isnan(change) else round(change, 4)


COMPONENT = mount.Component(__file__, '<div class="switchboard"></div>', picture="Mask and heads")
