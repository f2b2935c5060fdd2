"""Thumbnails of all heads of a kind of attention: their weights as bytes, which `thumbnails.js` draws."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from model.trace import Trace
from viz import theme
from viz.kit import mount, patterns

LEVELS = 255  # the level of weight 1
MANY = 300_000  # bytes; more are compressed


def stack(trace: Trace, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns the weights of all heads of a kind [N,T,S], layer by layer, and the cells that any of them allows [T,S]."""
    sites = trace.sites(kind)
    return np.concatenate([trace.patterns[site] for site in sites]), np.any([trace.masks[site] for site in sites], axis=0)


def grid(trace: Trace, kind: str, mode: theme.Mode) -> dict[str, Any]:
    """Returns all heads of a kind of attention as JSON values, see `packed_grid`, with the colours of the theme."""
    sites, (weights, allowed) = trace.sites(kind), stack(trace, kind)
    tokens = patterns.queries(trace, sites[0]), patterns.keys(trace, sites[0])
    return packed_grid(kind, len(sites), weights, allowed, *tokens) | {"scale": list(theme.scale(kind, mode))}


def packed_grid(
    kind: str, layers: int, weights: np.ndarray, allowed: np.ndarray, queries: Sequence[str], keys: Sequence[str]
) -> dict[str, Any]:
    """Returns the heads [N,T,S] of some layers as JSON values, without colours.

    `bytes` holds the weights of the cells that `allowed` (0 or 1, row by row) lets through, head by head, as uint8 in
    base64, compressed if `deflated`. `places` holds layer and head of each.
    """
    heads = len(weights) // layers
    return {
        "kind": kind,
        "name": theme.SITE_NAMES[kind],
        "layers": layers,
        "heads": heads,
        "shape": list(weights.shape[1:]),
        **_packed(_levels(weights, allowed)),
        "allowed": mount.cells(allowed),
        "places": [[layer + 1, head + 1] for layer in range(layers) for head in range(heads)],
        "queries": list(queries),
        "keys": list(keys),
    }


def _packed(raw: bytes) -> dict[str, Any]:
    """Few bytes stay as they are, which is quicker."""
    deflated = len(raw) > MANY
    return {"deflated": deflated, "bytes": base64.b64encode(zlib.compress(raw, 1) if deflated else raw).decode()}


def _levels(weights: np.ndarray, allowed: np.ndarray) -> bytes:
    """Returns the weights [N,T,S] of the allowed cells, head by head, to the nearest of `LEVELS` parts."""
    levels = (np.minimum(weights, 1) * LEVELS + np.float32(0.5)).astype(np.uint8)
    return levels.reshape(len(levels), -1).take(np.flatnonzero(allowed), axis=1).tobytes()


def read_head(trace: Trace, event: Any) -> tuple[str, int, int | None] | None:
    """Returns kind, layer and head of a clicked thumbnail; None as the head is the mean over heads."""
    sites = trace.sites(event["kind"])
    place = mount.place_from_one(len(sites), len(trace.patterns[sites[0]]))(event)
    return place and (event["kind"], *place)
