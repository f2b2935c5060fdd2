"""Arrays in files that come from outside: what one holds is asked of its first bytes, before anything is unpacked."""

from __future__ import annotations

from typing import IO

import numpy as np

from model.limits import is_count


def form(raw: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and kind of number of a .npy array, from the first bytes of its file; ValueError."""
    version = np.lib.format.read_magic(raw)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, kind = read(raw)
    if fortran or not all(map(is_count, shape)):
        raise ValueError(f"an array has another order, or the shape {str(shape)[:60]}")
    return shape, kind
