"""The server's event loop: it is woken once for many messages of a run, not for each.

A run hands the loop some hundred messages one by one. To wake it, asyncio writes a byte into a socket, which gives up the
interpreter's lock: every time another thread goes on, and the run waits until it is let in again. Here the loop rests for a
moment after it was woken; what comes meanwhile needs no byte.
"""

from __future__ import annotations

import asyncio
import time

REST = 0.002  # seconds


class Loop(asyncio.SelectorEventLoop):
    """asyncio's own, but for how other threads wake it."""

    _is_awake = False  # from the first byte until the rest is over

    def _write_to_self(self) -> None:
        if not self._is_awake:
            self._is_awake = True
            super()._write_to_self()

    def _run_once(self) -> None:
        super()._run_once()
        if self._is_awake:
            time.sleep(REST)
            self._is_awake = False  # before the next look at what is there: nothing is overlooked


def new() -> asyncio.AbstractEventLoop:
    """A loop of the kind that suits the system: Windows wakes its own in another way."""
    default = asyncio.new_event_loop()
    if not isinstance(default, asyncio.SelectorEventLoop):
        return default
    default.close()
    return Loop()
