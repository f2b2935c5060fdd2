"""Tables of numbers, and their CSV files.

CSV as in RFC 4180 (commas, CRLF, quotes where needed), in UTF-8 with a byte order mark: without it Excel assumes the code
page of the machine. Numbers are written in full. A text that a spreadsheet would take for a formula gets an apostrophe
before it, because typed text may be anything.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..trace import SITE_KINDS, MapView, Site, Trace

FORMULA = tuple("=+-@\t\r\n＝＋－＠")  # first characters of a formula; wide ones in Japanese
Cell = str | int | float | bool | None


@dataclass(frozen=True)
class Table:
    """Named columns, and rows of texts, numbers and None (left blank). `name` is the file name without its suffix.

    Raises ValueError for a row with another number of cells.
    """

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows, 1):
            if len(row) != len(self.columns):
                raise ValueError(f"row {number} of {self.name} has {len(row)} cells; expected {len(self.columns)}")

    def csv(self) -> bytes:
        """Returns the content of the CSV file."""
        written = io.StringIO(newline="")
        writer = csv.writer(written, lineterminator="\r\n")
        writer.writerow(map(_cell, self.columns))
        writer.writerows([_cell(cell) for cell in row] for row in self.rows)
        return b"\xef\xbb\xbf" + written.getvalue().encode("utf-8")


def _cell(value: Any) -> str:
    """Returns the text of a cell: the shortest exact number; blank for None and numbers that are not finite."""
    if value is None or (isinstance(value, float | np.floating) and not math.isfinite(value)):
        return ""
    if isinstance(value, bool | np.bool_):
        return "TRUE" if value else "FALSE"
    if isinstance(value, np.generic):
        return str(value)
    if isinstance(value, int | float):
        return repr(value)
    return f"'{value}" if value.startswith(FORMULA) else value


def numbered(labels: Iterable[str]) -> tuple[str, ...]:
    """Returns labels with their positions before them, from 1: a word may occur twice."""
    return tuple(f"{number} {label}" for number, label in enumerate(labels, 1))


def map_table(name: str, view: MapView, values: np.ndarray | None = None) -> Table:
    """Returns one map: a row for each query, a column for each key, blank where masked. `values` replace its own."""
    weights = view.values if values is None else values
    keys = numbered(view.keys)
    rows = (
        (query, *(cell if allowed else None for cell, allowed in zip(row, seen, strict=True)))
        for query, row, seen in zip(numbered(view.queries), weights, view.allowed, strict=True)
    )
    return Table(name, ("query", *keys), tuple(rows))


def grid_table(name: str, corner: str, rows: Iterable[str], columns: Iterable[str], values: np.ndarray) -> Table:
    """Returns numbers [R,C] with row and column names."""
    body = tuple((row, *cells) for row, cells in zip(rows, values, strict=True))
    return Table(name, (corner, *columns), body)


def site_code(site: Site, head: int | None = None) -> str:
    """Returns a site, and a head or the mean, as part of a file name: `cross-3-2`, counted from 1."""
    return f"{site.spec.code}-{site.layer + 1}-{'mean' if head is None else head + 1}"


CELLS = ("attention", "layer", "head", "query_position", "query", "key_position", "key", "allowed", "score", "weight")


def cells_table(trace: Trace, sites: Mapping[Site, Iterable[int]]) -> Table:
    """Returns every cell of the given heads, one a row, counted from 1. `score` is before the mask."""
    return Table(
        "maps", CELLS, tuple(row for site, heads in sites.items() for head in heads for row in _rows(trace, site, head))
    )


def _rows(trace: Trace, site: Site, head: int) -> Iterator[tuple[Cell, ...]]:
    view, scores = trace.view(site, head), trace.scores[site][head]
    for i, query in enumerate(view.queries):
        for j, key in enumerate(view.keys):
            cell = (bool(view.allowed[i, j]), scores[i, j], view.values[i, j])
            yield site.kind, site.layer + 1, head + 1, i + 1, query, j + 1, key, *cell


def steps_table(
    predicted: Iterable[str], log_probs: np.ndarray, candidates: Iterable[Iterable[str]], their_log_probs: np.ndarray
) -> Table:
    """Returns the token of each step with its probability, and the top tokens of the step with theirs, one a row."""
    rows: list[tuple[Cell, ...]] = []
    for t, (token, own, labels, logs) in enumerate(zip(predicted, log_probs, candidates, their_log_probs, strict=True), 1):
        rows += [
            (t, token, float(np.exp(own)), float(own), place, label, float(np.exp(log)), float(log))
            for place, (label, log) in enumerate(zip(labels, logs, strict=True), 1)
        ]
    columns = ("step", "token", "probability", "log_probability", "place", "candidate")
    return Table("steps", (*columns, "candidate_probability", "candidate_log_probability"), tuple(rows))


KINDS = {kind.code: name for name, kind in SITE_KINDS.items()} | {name: name for name in SITE_KINDS}  # as typed
