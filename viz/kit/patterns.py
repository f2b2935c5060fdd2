"""Patterns, such as attention weights: their payloads for the heatmaps and thumbnails of the pages, and maps of one head.

A payload holds the tokens of both axes, the values, the mask and the marks of one pattern. docs/patterns.md documents the
fields, and `patterns.js` checks and reads them. Axis labels of models that read two sentences begin with the sentence of
each token, as in `A:dog`, `B:it`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from model.export.token_labels import label_sentences
from model.inference.request import Request
from model.readings.heads.head_maps import Pair, strongest_head
from model.trace import ATTENTION_KINDS, SITE_KINDS, MapView, Site, Trace
from viz import cache, theme
from viz.kit import mount
from viz.state.view import View


def queries(trace: Trace, site: Site) -> list[str]:
    """Returns the labels of a site's rows."""
    return label_sentences(trace.queries(site), trace.source if site.spec.query_side == "source" else None)


def keys(trace: Trace, site: Site) -> list[str]:
    """Returns the labels of a site's columns."""
    return label_sentences(trace.keys(site), trace.source if site.spec.key_side == "source" else None)


def label_map(view: MapView, trace: Trace, site: Site) -> MapView:
    """Returns a map of a site with these labels."""
    return dataclasses.replace(view, queries=tuple(queries(trace, site)), keys=tuple(keys(trace, site)))


MASK, DIFFERENCE = "mask", "change"  # scales besides those of the kinds of attention
CANDIDATES = 3  # in the card of a row
MIN_LIMIT = 0.01  # smallest limit of a scale of differences

Candidates = Sequence[Sequence[tuple[str, float]]]


def pattern(
    view: MapView,
    kind: str | None = None,
    title: str = "",
    *,
    masked: bool = False,
    former: np.ndarray | None = None,
    candidates: Candidates | None = None,
) -> dict[str, Any]:
    """Returns the payload of a pattern [T,S] with weights from 0 to 1.

    Args:
        kind: the kind of attention: its hue, and whether a row belongs to each step. None: neither.
        masked: shows the allowed cells instead of the weights.
        former: the mask [T,S] before an edit; its border is dashed.
        candidates: for each row, predicted tokens with their probabilities.
    """
    payload = _payload(view, kind, title, view.allowed if masked else view.values, MASK if masked else kind, None)
    if former is not None and not np.array_equal(former, view.allowed):
        _check_shape("former mask", former.shape, view)
        payload["former"] = mount.cells(former)
    if candidates is not None:
        _check_shape("candidates", (len(candidates), len(view.keys)), view)
        payload["candidates"] = [[[token, round(float(p), 7)] for token, p in row] for row in candidates]
    return payload


def difference(view: MapView, kind: str | None = None, title: str = "") -> dict[str, Any]:
    """Returns the payload of a difference [T,S] of two patterns, coloured symmetrically about 0."""
    limit = max(MIN_LIMIT, round(float(np.abs(view.values).max(initial=0)), 5))
    return _payload(view, kind, title, view.values, DIFFERENCE, limit)


def top_candidates(log_probs: np.ndarray, piece: Callable[[int], str], rows: int) -> list[list[tuple[str, float]]]:
    """Returns the most probable tokens of each row of log-probabilities [T,V], for `rows` rows; the rest are empty."""
    found = [
        [(piece(int(token)).removeprefix("·") or "·", float(np.exp(row[token]))) for token in _largest(row, CANDIDATES)]
        for row in log_probs[:rows]
    ]
    return [*found, *([] for _ in range(rows - len(found)))]


def _largest(row: np.ndarray, count: int) -> np.ndarray:
    """Returns the places of the largest values in descending order, equal ones by place; a sort of the row takes longer."""
    if count >= len(row):
        return np.argsort(-row, kind="stable")
    places = np.flatnonzero(row >= np.partition(row, -count)[-count])
    return places[np.argsort(-row[places], kind="stable")][:count]


def scales(mode: theme.Mode) -> dict[str, list[str]]:
    """Returns the colours of each scale, from the lowest value to the highest."""
    bar = theme.PALETTES[mode].bar
    kinds = {kind: list(theme.scale(kind, mode)) for kind in ATTENTION_KINDS}
    return kinds | {MASK: [bar, bar], DIFFERENCE: list(theme.diverging(mode))}


def _payload(
    view: MapView, kind: str | None, title: str, values: np.ndarray, scale: str | None, limit: float | None
) -> dict[str, Any]:
    _check_shape("values", values.shape, view)
    _check_shape("mask", view.allowed.shape, view)
    return {
        "title": title,
        "kind": kind,
        "queries": list(view.queries),
        "keys": list(view.keys),
        "shape": list(values.shape),
        "values": mount.floats(values),
        "allowed": mount.cells(view.allowed),
        "scale": scale,
        "most": limit,
        "follows": kind is not None and SITE_KINDS[kind].query_side == "target",
    }


def _check_shape(name: str, shape: tuple[int, ...], view: MapView) -> None:
    expected = len(view.queries), len(view.keys)
    if shape != expected:
        raise ValueError(f"the {name} has shape {list(shape)}; expected {list(expected)}, one label for each row and column")


ROUNDED = frozenset({"values"})
COMPONENT = mount.Component(__file__, '<div class="maps"></div>', picture="Maps of one head", name="file_maps")


def map_data(maps: Sequence[dict[str, Any]], step: int, mode: theme.Mode, alike: bool = False) -> dict[str, Any]:
    """Returns the data of maps, with the row of the step (from 1) outlined.

    `alike` gives all cells one size, and as many maps as fit stand in a row. Without it, three do. Only the scales depend on
    the theme.
    """
    options = {"alike": alike, "large": False, "trace": None}
    return {"maps": list(maps), "scales": scales(mode), "step": step, **options}


def linking_head(request: Request, view: View, find: tuple[str, int, int]) -> dict[str, Any]:
    """Returns the fields that show the head with the strongest link between two tokens; none for missing tokens."""
    try:
        layer, head = strongest_head(cache.analyse(request, view.device).trace, Pair(*find), view.merge)
    except ValueError:
        return {}
    return {"kind": find[0], "layer": layer, "head": head, "average": "none", "combine": View.combine, "together": False}
