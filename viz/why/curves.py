"""What becomes of a log-probability where more and more words are taken away, as one picture that fills the screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from viz.shared import mount

_COMPONENT = mount.Component(__file__, '<div class="curves"></div>', picture="Words taken away")


def spread(chance: Sequence[np.ndarray]) -> list[list[float]]:
    """The lowest, the mean and the highest of random orders at each point; nothing where there are none."""
    if not chance:
        return []
    return [[round(float(v), 4) for v in of(chance, axis=0)] for of in (np.min, np.mean, np.max)]


def curves(data: dict[str, Any], key: str = "curves large") -> None:
    """Mounts the component."""
    _COMPONENT.mount(key, data)
