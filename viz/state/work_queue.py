"""Queues of computations: short work has a slot for each processor core, long work has one slot.

A visitor who waits for more than a second learns how many requests are ahead. A visitor who has left gets no computation.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator

PATIENCE = 1.0  # seconds between two reports to a waiting thread


class WorkQueue:
    """Slots for one kind of work, given in the order of the requests."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._queue: deque[object] = deque()
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def slot(self, on_wait: Callable[[int], None]) -> Iterator[None]:
        """Holds a slot.

        While it waits, `on_wait` gets the number of requests ahead each second, and 0 at the end. An exception of `on_wait`
        ends the wait.
        """
        has_reported = self._wait(on_wait)
        try:
            if has_reported:
                on_wait(0)
            yield
        finally:
            with self._changed:
                self._free += 1
                self._changed.notify_all()

    def _wait(self, on_wait: Callable[[int], None]) -> bool:
        """Waits for a slot; True if `on_wait` was called."""
        me, has_reported = object(), False
        with self._changed:
            self._queue.append(me)
        try:
            while True:
                with self._changed:
                    if self._changed.wait_for(lambda: self._free and self._queue[0] is me, PATIENCE):
                        self._free -= 1
                        return has_reported
                    before = self._queue.index(me) + 1  # the waiting ones and the one at work
                on_wait(before)
                has_reported = True
        finally:
            with self._changed:
                self._queue.remove(me)
                self._changed.notify_all()


SHORT, LONG = WorkQueue(os.cpu_count() or 1), WorkQueue(1)
MEASURING = WorkQueue(1)  # timings, which would disturb each other
_mine = threading.local()


@contextlib.contextmanager
def report_waiting(on_wait: Callable[[int], None]) -> Iterator[None]:
    """Reports the waits of this thread to `on_wait`; see `WorkQueue.slot`."""
    before, _mine.on_wait = getattr(_mine, "on_wait", None), on_wait
    try:
        yield
    finally:
        _mine.on_wait = before


@contextlib.contextmanager
def report_start(on_start: Callable[[], None]) -> Iterator[None]:
    """Calls `on_start` once if this thread computes something that is not cached."""
    _mine.on_start = on_start
    try:
        yield
    finally:
        _mine.on_start = None


@contextlib.contextmanager
def work_slot(is_long: bool) -> Iterator[None]:
    """Holds a slot for a computation of this thread. A nested computation uses the slot of the outer one."""
    if getattr(_mine, "has_slot", False):
        yield
        return
    if on_start := getattr(_mine, "on_start", None):
        _mine.on_start = None
        on_start()
    with (LONG if is_long else SHORT).slot(getattr(_mine, "on_wait", None) or (lambda before: None)):
        _mine.has_slot = True
        try:
            yield
        finally:
            _mine.has_slot = False
