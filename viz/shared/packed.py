"""Arrays as a browser is sent them: the numbers as they are, in few bytes, quickly written. `packed.js` reads them."""

from __future__ import annotations

import base64

import numpy as np


def floats(values: np.ndarray) -> str:
    """Numbers, row by row, as float32 in base64."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode()


def cells(chosen: np.ndarray) -> str:
    """Which cells are chosen, row by row, 0 or 1."""
    return (chosen.ravel() + np.uint8(ord("0"))).tobytes().decode()
