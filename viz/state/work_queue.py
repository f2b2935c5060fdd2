"""How much is computed at once, and who waits.

Short work has a place for each processor core, long work one of its own: whoever asks for much waits for others who did, and
nobody else does. Who waits more than a second hears how many stand before; who has left is not computed for.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator

PATIENCE = 1.0  # seconds until one who waits is told, and between two looks whether somebody is still there


class Turns:
    """Places for one kind of work, taken in the order of asking."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._queue: deque[object] = deque()
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def turn(self, told: Callable[[int], None]) -> Iterator[None]:
        """Holds a place. `told` hears every second how many are before, and 0 when that is over; what it raises ends it."""
        has_told = self._wait(told)
        try:
            if has_told:
                told(0)
            yield
        finally:
            with self._changed:
                self._free += 1
                self._changed.notify_all()

    def _wait(self, told: Callable[[int], None]) -> bool:
        """Waits for a place; True where anything was told."""
        me, has_told = object(), False
        with self._changed:
            self._queue.append(me)
        try:
            while True:
                with self._changed:
                    if self._changed.wait_for(lambda: self._free and self._queue[0] is me, PATIENCE):
                        self._free -= 1
                        return has_told
                    before = self._queue.index(me) + 1  # those who wait, and who is at work
                told(before)
                has_told = True
        finally:
            with self._changed:
                self._queue.remove(me)
                self._changed.notify_all()


SHORT, LONG = Turns(os.cpu_count() or 1), Turns(1)
MEASURING = Turns(1)  # what times the machine itself: two at once would disturb each other
_mine = threading.local()


@contextlib.contextmanager
def hearing(told: Callable[[int], None]) -> Iterator[None]:
    """What this thread waits for meanwhile is told to `told`; see `Turns.turn`."""
    before, _mine.told = getattr(_mine, "told", None), told
    try:
        yield
    finally:
        _mine.told = before


@contextlib.contextmanager
def beginning(begun: Callable[[], None]) -> Iterator[None]:
    """Calls `begun` once, where this thread has something to compute meanwhile: what is kept already takes no time."""
    _mine.begun = begun
    try:
        yield
    finally:
        _mine.begun = None


@contextlib.contextmanager
def turn(long: bool) -> Iterator[None]:
    """A place for what this thread computes; a part of what holds one already needs none."""
    if getattr(_mine, "held", False):
        yield
        return
    if begun := getattr(_mine, "begun", None):
        _mine.begun = None
        begun()
    with (LONG if long else SHORT).turn(getattr(_mine, "told", None) or (lambda before: None)):
        _mine.held = True
        try:
            yield
        finally:
            _mine.held = False
