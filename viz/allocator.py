"""Settings of the C library that give memory back: few arenas, and blocks of their own for arrays.

By default glibc makes eight arenas a core and raises the size from which a block is mapped on its own. An array that is
freed then leaves a hole that stays with the process.
"""

from __future__ import annotations

import contextlib
import ctypes

ARENAS = 2
OWN_BLOCK = 256 * 1024  # bytes: the maps of a long text, and nothing that a run allocates often
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8  # of malloc.h


def give_back() -> bool:
    """Sets this for the process, before its threads begin. False where the C library is not glibc."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        set_option = ctypes.CDLL(None).mallopt
        return bool(set_option(_ARENA_MAX, ARENAS)) and bool(set_option(_MMAP_THRESHOLD, OWN_BLOCK))
    return False
