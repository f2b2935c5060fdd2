"""Thumbnails, metrics, orders and roles of all heads of a `GivenAttention`, computed layer by layer."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from model.export.given_attention import GivenAttention
from model.export.token_labels import END, PAD, START, lab_names, labels
from model.readings.heads.head_metrics import METRICS, Rows, applicable_metrics, metrics_of, order, ordered, orders
from model.readings.heads.head_roles import match_roles
from model.trace import site_kind
from viz.heads import all_heads
from viz.kit import thumbnails

CELLS_AT_ONCE = 2_000_000  # weights of the heads that are measured together
THUMBNAIL = 64  # cells of a side of a thumbnail of long sequences
CHANGE = "change"
METRIC_FIELDS = ("name", "label", "unit", "meaning", "digits", "order")
CHANGE_METRIC = {
    "name": CHANGE,
    "label": "Change between the files",
    "unit": "",
    "meaning": "Total variation distance between the rows of this head in both files, mean over rows: 0 for equal rows, 1 "
    "for rows without a common key",
    "digits": 2,
    "order": "most",
}


@dataclasses.dataclass(frozen=True)
class HeadSummary:
    """All heads of a kind of attention: the payload of their thumbnails, and the cells [T,S] with a weight in any head."""

    grid: dict[str, Any]
    allowed: np.ndarray
    pool: int  # cells of a side of a block in the thumbnails; 1 for all cells


def summarize(attention: GivenAttention, kind: str, is_pooled: bool, other: GivenAttention | None = None) -> HeadSummary:
    """Returns thumbnails, metrics, orders and roles of all heads of a kind.

    Args:
        is_pooled: True for thumbnails of blocks, with the largest weight of each.
        other: attention on the same tokens; the heads get their change between both.
    """
    count, heads, rows, columns = attention.shape(kind)
    allowed = np.zeros((rows, columns), dtype=bool)
    for mask in attention.masks(kind):
        allowed |= mask
    pool = math.ceil(max(rows, columns) / THUMBNAIL) if is_pooled else 1
    plain, named = lab_names(attention.keys(kind)), _with_start(lab_names(attention.keys(kind)))
    counted = [t for t, token in enumerate(lab_names(attention.queries(kind))) if token != PAD]
    chosen = None if len(counted) == rows else counted
    is_self = site_kind(kind).is_self
    names = applicable_metrics(allowed, named, is_self, chosen)
    if "induction" in applicable_metrics(allowed, plain, is_self, chosen):
        names = tuple(name for name in METRICS if name in (*names, "induction"))
    values: dict[str, list[np.ndarray]] = {name: [] for name in names}
    roles: list[list[list[str]]] = []
    tiles = np.empty((count * heads, -(-rows // pool), -(-columns // pool)), np.float32)
    first = labels(attention.keys(kind))[named.index(START)] if START in named else START
    spelled = {START: first, END: end_label(attention)}
    for n, part in _parts(count, heads, rows * columns):
        weights = attention.layer(kind, n, part)  # [some heads,T,S]
        tiles[n * heads + part.start : n * heads + part.stop] = pooled(weights, pool)
        measured = Rows.of(weights, named, chosen, allowed)
        numbers = metrics_of(measured, [name for name in names if name != "induction"])
        if "induction" in names:  # the first token may occur again
            numbers |= metrics_of(dataclasses.replace(measured, keys=plain), ["induction"])
        if other is not None:
            numbers[CHANGE] = change(weights, other.layer(kind, n, part))
        for name, each in numbers.items():
            values.setdefault(name, []).append(each)
        matches = match_roles(measured) if is_self else [[] for _ in weights]
        roles += [[[_spell(role.name, spelled), _spell(role.sentence, spelled)] for role in head] for head in matches]
    joined = {name: np.concatenate(each) for name, each in values.items()}
    tokens = [blocks(labels(side), pool) for side in (attention.queries(kind), attention.keys(kind))]
    grid = thumbnails.packed_grid(kind, count, tiles, pooled(allowed[None], pool)[0] > 0, *tokens)
    grid |= {"title": all_heads.TITLES[kind], "numbers": {name: _numbers(each) for name, each in joined.items()}}
    return HeadSummary(grid | {"orders": _orders(joined, tiles), "roles": roles}, allowed, pool)


def _parts(layers: int, heads: int, cells: int) -> Iterator[tuple[int, slice]]:
    """Yields the layer and some of its heads, at most `CELLS_AT_ONCE` weights or one head, which need little memory."""
    step = max(1, CELLS_AT_ONCE // cells)
    for layer in range(layers):
        for start in range(0, heads, step):
            yield layer, slice(start, min(heads, start + step))


def metrics(attention: GivenAttention, has_change: bool) -> list[dict[str, Any]]:
    """Returns name, label, meaning and format of each metric; control tokens have the names of this tokenizer."""
    changes = {
        "start": {
            "label": "On first token",
            "meaning": "Share of a row’s weight on the first token, where attention sinks are (Xiao et al. 2023)",
        },
        "end": {"label": f"On {end_label(attention)}", "meaning": METRICS["end"].meaning.replace(END, end_label(attention))},
    }
    every = [{name: getattr(metric, name) for name in METRIC_FIELDS} for metric in METRICS.values() if not metric.of_two]
    return [each | changes.get(each["name"], {}) for each in every] + ([CHANGE_METRIC] if has_change else [])


def answer(summaries: Sequence[HeadSummary], attention: GivenAttention) -> dict[str, str]:
    """Returns one sentence about all heads, and how its numbers are computed."""
    names = all_heads.PLACES | {"start": "the first token", "end": end_label(attention)}
    return all_heads.answer([each.grid for each in summaries], names)


def order_names(every: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Returns name and label of each order of the heads, for the metrics of `metrics`."""
    by_metric = [[each["name"], f"{each['label']}, {each['order']} first"] for each in every if each["order"]]
    return [["position", "Layer and head"], *by_metric, ["similarity", "Similarity"]]


def end_label(attention: GivenAttention) -> str:
    """Returns the token that ends a sentence, as this tokenizer spells it."""
    tokens = (*attention.source_tokens, *attention.tokens)
    return next((token for token, name in zip(tokens, lab_names(tokens), strict=True) if name == END), END)


def change(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Returns the total variation distance of the rows of two patterns [H,T,S], mean over rows, [H]."""
    return 0.5 * np.abs(one - other).sum(-1, dtype=np.float64).mean(-1)


def pooled(weights: np.ndarray, pool: int) -> np.ndarray:
    """Returns the largest value of each block of `pool` by `pool` cells, [N,T,S] to [N,T/pool,S/pool] rounded up."""
    if pool == 1:
        return weights
    count, rows, columns = weights.shape
    if rows % pool or columns % pool:
        weights = np.pad(weights, ((0, 0), (0, -rows % pool), (0, -columns % pool)))
    blocked = weights.reshape(count, -(-rows // pool), pool, -(-columns // pool), pool)
    return blocked.max(axis=(2, 4))


def blocks(tokens: Sequence[str], pool: int) -> list[str]:
    """Returns a label for each block of tokens: its first and its last token."""
    if pool == 1:
        return list(tokens)
    parts = [tokens[start : start + pool] for start in range(0, len(tokens), pool)]
    return [f"{part[0]} … {part[-1]}" if len(part) > 1 else part[0] for part in parts]


def _with_start(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the keys with the first token, after padding, as the start token."""
    place = next((n for n, key in enumerate(keys) if key != PAD), 0)
    return keys if START in keys else (*keys[:place], START, *keys[place + 1 :])


def _orders(numbers: Mapping[str, np.ndarray], tiles: np.ndarray) -> dict[str, list[int]]:
    found = {by: order(tiles, by) for by in ("position", "similarity")}
    found |= {by: ordered(METRICS[by], numbers[by]) for by in orders(two=False) if by in METRICS and by in numbers}
    if CHANGE in numbers:
        found[CHANGE] = np.argsort(-numbers[CHANGE], kind="stable").tolist()
    return found


def _numbers(values: np.ndarray) -> list[float | None]:
    return [None if math.isnan(value) else round(float(value), 5) for value in values]


def _spell(text: str, names: Mapping[str, str]) -> str:
    for name, label in names.items():
        text = text.replace(name, label)
    return text
