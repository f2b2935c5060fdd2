"""Presence of the lecturer: followers see when the lecturer is away.

The lecturer's browser holds a stream and answers its signs of life. After the page is closed, the lecturer is away after
`GRACE`; after a lost network, after `SILENCE` plus `LOOK`.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from viz.classroom.rooms.store import Away, Gone, Store

GRACE = 10.0  # s after the lecturer's last stream; a reloaded page is back by then
SILENCE = 40.0  # s without a sign of the lecturer's browser, which sends one every 25 s
LOOK = 10.0  # s between two checks of a room


class Presence:
    """Tracks the lecturers of all rooms with a stream in this process."""

    def __init__(self, store: Store, now: Callable[[], float] = time.time) -> None:
        self.store, self.now = store, now
        self._streams: Counter[str] = Counter()
        self._lecturers: Counter[str] = Counter()
        self._looking: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def mark_lecturer_seen(self, code: str) -> None:
        """Records a sign of the lecturer's browser; raises Gone or Away."""
        await self.store.change(code, lambda room: room.hears(self.now()))

    @contextlib.asynccontextmanager
    async def streaming(self, code: str, is_lecturer: bool = False) -> AsyncIterator[None]:
        """Counts a stream while the context is open; raises Gone or Away."""
        await (self.mark_lecturer_seen(code) if is_lecturer else self._look(code))
        self._streams[code] += 1
        self._lecturers[code] += is_lecturer
        if code not in self._looking:
            self._looking[code] = self._start_task(self._look_again(code))
        try:
            yield
        finally:
            self._lecturers[code] -= is_lecturer
            self._streams[code] -= 1
            if not self._streams[code]:
                del self._streams[code]
                self._looking.pop(code).cancel()
            if not self._lecturers[code]:
                del self._lecturers[code]
                if is_lecturer:
                    self._start_task(self._leave(code, self.now()))

    async def _leave(self, code: str, since: float) -> None:
        """Marks the lecturer as away, unless a sign came after the last stream ended."""
        await asyncio.sleep(GRACE)
        if not self._lecturers[code]:
            with contextlib.suppress(Gone, Away):
                await self.store.change(code, lambda room: room.misses(since))

    async def _look(self, code: str) -> None:
        if (await self.store.get(code)).is_silent(self.now() - SILENCE):
            await self.store.change(code, lambda room: room.misses(self.now() - SILENCE))

    async def _look_again(self, code: str) -> None:
        with contextlib.suppress(Gone):
            while True:
                await asyncio.sleep(LOOK)
                with contextlib.suppress(Away):
                    await self._look(code)

    def _start_task(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        self._tasks.add(task := asyncio.create_task(coroutine))
        task.add_done_callback(self._tasks.discard)
        return task
