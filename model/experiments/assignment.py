"""The cheapest way to pair the members of two groups of equal size, exactly."""

from __future__ import annotations

import numpy as np


def assignment(costs: np.ndarray) -> list[int]:
    """The column for each row of [N,N], every column once, whose sum is the least.

    The Hungarian method (Kuhn 1955) with potentials and shortest augmenting paths (Jonker and Volgenant 1987): N^3 steps at
    most. Raises ValueError for costs that are not square, or not finite.
    """
    if costs.ndim != 2 or costs.shape[0] != costs.shape[1]:
        raise ValueError(f"the costs have the shape {costs.shape}; expected as many rows as columns")
    if not np.isfinite(costs).all():
        raise ValueError("a cost is no finite number")
    size = len(costs)
    of_rows, of_columns = np.zeros(size + 1), np.zeros(size + 1)  # potentials; row and column 0 are where a path begins
    taken_by = np.zeros(size + 1, dtype=int)  # the row, from 1, that has each column; 0: none
    for row in range(1, size + 1):
        taken_by[0], column = row, 0
        least, came_from = np.full(size + 1, np.inf), np.zeros(size + 1, dtype=int)
        seen = np.zeros(size + 1, dtype=bool)
        while taken_by[column]:
            seen[column] = True
            at = taken_by[column]
            reduced = np.append(np.inf, costs[at - 1] - of_rows[at] - of_columns[1:])
            nearer = ~seen & (reduced < least)
            least[nearer], came_from[nearer] = reduced[nearer], column
            column = int(np.where(seen, np.inf, least).argmin())
            step = least[column]
            of_rows[taken_by[seen]] += step
            of_columns[seen] -= step
            least[~seen] -= step
        while column:
            taken_by[column], column = taken_by[came_from[column]], int(came_from[column])
    found = np.empty(size, dtype=int)
    found[taken_by[1:] - 1] = np.arange(size)
    return found.tolist()
