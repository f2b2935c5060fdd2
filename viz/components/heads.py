"""All heads as thumbnails, and one of them large: lines from token to token, its map, its numbers beside all others.

Hovering previews a head and sends nothing; a click chooses it.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from model.head_numbers import NUMBERS, head_numbers, order
from model.measures import agreement, detail, measured
from model.trace import KINDS, Site, Trace
from viz import state, theme

if TYPE_CHECKING:
    from viz.view import View

_HERE = Path(__file__).parent
LEVELS = 255


def grids(trace: Trace, by: str, mode: theme.Mode) -> list[dict[str, Any]]:
    """For each kind of site all its heads. `bytes`: of each head, in the order asked for, the weights of the cells that
    `allowed` (0 or 1, row by row) lets through, uint8, as base64; `places`: layer and head of each; their numbers, in the
    order of `NUMBERS`."""
    made = []
    for kind in KINDS:
        sites = sorted(site for site in trace.patterns if site.kind == kind)
        if not sites:
            continue
        patterns = np.concatenate([trace.patterns[site] for site in sites])  # [N,T,S]
        heads = len(trace.patterns[sites[0]])
        ranked = order(patterns, by)
        real = [t for t, label in enumerate(_rows(trace, kind)) if label != "<pad>"]
        allowed = np.any([trace.masks[site] for site in sites], axis=0)  # [T,S]
        numbers = head_numbers(patterns, trace.keys(sites[0]), real)
        made.append(
            {
                "kind": kind,
                "name": theme.SITE_NAMES[kind],
                "layers": len(sites),
                "heads": heads,
                "shape": list(patterns.shape[1:]),
                "bytes": base64.b64encode(_levels(patterns[ranked][:, allowed])).decode(),
                "allowed": "".join("01"[cell] for cell in allowed.ravel().astype(int)),
                "places": [[sites[n // heads].layer + 1, n % heads + 1] for n in ranked],
                "numbers": [np.round(numbers[name][ranked], 5).tolist() for name in NUMBERS],
                "queries": list(trace.queries(sites[0])),
                "keys": list(trace.keys(sites[0])),
                "scale": list(theme.scale(kind, mode)),
            }
        )
    return made


def _levels(weights: np.ndarray) -> bytes:
    return (weights * LEVELS).round().astype(np.uint8).tobytes()


def _rows(trace: Trace, kind: str) -> tuple[str, ...]:
    return trace.source.labels if kind == "encoder" else trace.inputs.labels


def chosen(trace: Trace, norms: Mapping[Site, np.ndarray], view: View) -> dict[str, Any]:
    """The head that is chosen, as it is to be drawn; values to five decimals."""
    layer = min(view.layer, max(site.layer for site in trace.patterns if site.kind == view.kind) + 1)
    site, head = Site(view.kind, layer - 1), None if view.head is None else view.head - 1  # type: ignore[arg-type]
    values = measured(trace, norms, site, head, view.measure)
    drawn = detail(trace, site, head, values, view.merge, view.hide, view.mass / 100)
    agreed = agreement(trace, norms, site, head)
    return {
        "kind": view.kind,
        "layer": layer,
        "head": view.head,
        "measure": view.measure,
        "values": np.round(drawn.values.astype(float), 5).tolist(),
        "allowed": drawn.allowed.astype(int).tolist(),
        "kept": drawn.kept.astype(int).tolist(),
        "queries": list(drawn.queries),
        "keys": list(drawn.keys),
        "row": None if view.kind == "encoder" else drawn.rows[min(view.step, len(drawn.rows)) - 1],
        "agreement": {name: None if np.isnan(value) else round(value, 3) for name, value in agreed.items()},
        "mass": view.mass,
        "merge": view.merge,
        "hide": view.hide,
    }


def payload(trace: Trace, norms: Mapping[Site, np.ndarray], view: View, mode: theme.Mode) -> dict[str, Any]:
    """All that the browser needs, as JSON values."""
    return {
        "grids": grids(trace, view.order, mode),
        "order": view.order,
        "chosen": chosen(trace, norms, view),
        "style": theme.PALETTES[mode].css_variables(),
    }


def _within(number: Any, last: int) -> bool:
    return isinstance(number, int | float) and 1 <= number <= last


_mount = st.components.v2.component(
    "attention_lab.heads",
    html='<div class="all-heads"></div>',
    css=(_HERE / "heads.css").read_text(encoding="utf-8"),
    js="".join((_HERE / name).read_text(encoding="utf-8") for name in ("dom.js", "heads_parts.js", "heads.js")),
)
_FIELDS = {"merge": bool, "hide": bool, "mass": int}


def heads(
    data: dict[str, Any],
    on_choose: Callable[[str, int, int | None], None],
    on_set: Callable[[str, int], None],
    key: str = "heads",
) -> None:
    """Mounts the component. Before the next run `on_choose` is called with kind, layer and head (from 1; None for the mean
    over heads) of the thumbnail that was clicked, `on_set` with `merge`, `hide` or `mass` and its new value."""
    shapes = {grid["kind"]: (grid["layers"], grid["heads"]) for grid in data["grids"]}

    def clicked() -> None:
        told = state.component_value(key, "choose")
        if not isinstance(told, dict) or told.get("kind") not in shapes:
            return
        layers, count = shapes[told["kind"]]
        layer, head = told.get("layer"), told.get("head")
        if _within(layer, layers) and (head is None or _within(head, count)):
            on_choose(told["kind"], int(layer), None if head is None else int(head))

    def switched() -> None:
        told = state.component_value(key, "set")
        if isinstance(told, dict):
            for name, kind in _FIELDS.items():
                if isinstance(told.get(name), bool | int | float) and 0 <= told[name] <= 100:
                    on_set(name, kind(told[name]))

    _mount(key=key, data=data, on_choose_change=clicked, on_set_change=switched)
