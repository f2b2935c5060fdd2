"""The numbers of both sides of Compare as CSV tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from model.export.csv_tables import Cell, Table, map_table, site_code
from model.readings.heads.trace_comparison import common_difference
from viz.compare import distance

if TYPE_CHECKING:
    from viz.compare.distance import Grid
    from viz.compare.pair import Pair


def tables_of(both: Pair, grids: Sequence[Grid]) -> tuple[Table, ...]:
    """Returns the tokens, both maps, their difference where the tokens are equal, and the distances of all heads."""
    first, second = distance.views(both)
    names = [site_code(each.site, each.head) for each in (both.first, both.second)]
    tables = [map_table(f"first-{names[0]}", first), map_table(f"second-{names[1]}", second)]
    if (change := common_difference(first, second)) is not None:
        tables.append(map_table(f"difference-{names[0]}", change))
    rows: list[tuple[Cell, ...]] = [
        (grid.kind, layer + 1, head + 1, None if math.isnan(value) else float(value))
        for grid in grids
        for (layer, head), value in np.ndenumerate(grid.values)
    ]
    return (*_token_tables(both), *tables, Table("distances", ("attention", "layer", "head", "distance"), tuple(rows)))


def _token_tables(both: Pair) -> tuple[Table, ...]:
    """Returns the tokens of both sides with their probabilities; none without a decoder."""
    rows: list[tuple[Cell, ...]] = []
    for name, side in (("first", both.first), ("second", both.second)):
        trace = side.analysis.trace
        if trace.outputs is None:
            return ()
        steps = enumerate(zip(trace.predicted_axis.labels, trace.probabilities, strict=True), 1)
        rows += [(name, step, token, probability) for step, (token, probability) in steps]
    return (Table("tokens", ("side", "step", "token", "probability"), tuple(rows)),)
