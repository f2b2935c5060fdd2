"""Numbers in units of a hundred-thousandth, as byte planes that compress well. `file_parts.js` reads them."""

from __future__ import annotations

import numpy as np

STEPS = 1e5  # integer units of a number with five decimals


def planes(numbers: np.ndarray) -> bytes:
    """Returns numbers rounded to five decimals as int32 in four byte planes."""
    return byte_planes(np.rint(numbers.astype(np.float64) * STEPS).astype("<i4").tobytes())


def byte_planes(raw: bytes) -> bytes:
    """Returns int32 bytes with all lowest bytes first, then the next."""
    return np.frombuffer(raw, np.uint8).reshape(-1, 4).T.tobytes()
