"""Payloads of patterns, such as attention weights, for the heatmaps and thumbnails of the pages.

A payload holds the tokens of both axes, the values, the mask and the marks of one pattern. docs/patterns.md documents the
fields, and `patterns.js` checks and reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from model.trace import ATTENTION_KINDS, SITE_KINDS, MapView
from viz import theme
from viz.kit import mount

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
        payload["candidates"] = [[[token, round(float(p), 5)] for token, p in row] for row in candidates]
    return payload


def difference(view: MapView, kind: str | None = None, title: str = "") -> dict[str, Any]:
    """Returns the payload of a difference [T,S] of two patterns, coloured symmetrically about 0."""
    limit = max(MIN_LIMIT, round(float(np.abs(view.values).max(initial=0)), 5))
    return _payload(view, kind, title, view.values, DIFFERENCE, limit)


def top_candidates(log_probs: np.ndarray, piece: Callable[[int], str], rows: int) -> list[list[tuple[str, float]]]:
    """Returns the most probable tokens of each row of log-probabilities [T,V], for `rows` rows; the rest are empty."""
    ids = np.argsort(-log_probs[:rows], axis=1, kind="stable")[:, :CANDIDATES]
    found = [
        [(piece(int(token)).removeprefix("·") or "·", float(np.exp(row[token]))) for token in top]
        for row, top in zip(log_probs, ids, strict=False)
    ]
    return [*found, *([] for _ in range(rows - len(found)))]


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
