"""Prefix matching: how much a head looks at what came after an earlier token like its own (Olsson et al. 2022).

With numpy alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

CONTROL = ("<s>", "</s>", "<pad>")


def followers(places: np.ndarray, keys: Sequence[str]) -> np.ndarray:
    """Returns True for each key that once followed a token which reads as the row's own: [R,S] for rows at some places [R].
    Control tokens have none like them."""
    tokens, count = np.array(keys, dtype=object), len(keys)
    own = [tokens[place] if place < count and tokens[place] not in CONTROL else None for place in places]
    followed = np.zeros((len(places), count), dtype=bool)  # [R,S]
    followed[:, 1:] = np.array(own, dtype=object)[:, None] == tokens[None, :-1]
    return followed & (np.arange(count) < places[:, None])


def came_after(weights: np.ndarray, places: np.ndarray, keys: Sequence[str]) -> np.ndarray:
    """Returns the weight [H,R] of rows [H,R,S] on their `followers`, nan where a row has none."""
    followed = followers(places, keys)
    found = np.einsum("hrs,rs->hr", weights, followed.astype(weights.dtype))
    return np.where(followed.any(-1), found, np.nan)
