"""Stream of events with the state of a room, at once and at every change, and the presence of the lecturer.

The lecturer's browser holds a stream and answers its signs of life. After the page is closed, the lecturer is away after
`GRACE`; after a lost network, after `SILENCE` plus `LOOK`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from cachetools import LRUCache
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from viz.classroom.rooms.room import Room
from viz.classroom.rooms.store import MAX_ROOMS, Away, Gone, Store

ALIVE = 15.0  # s between two signs of life
PAUSE = 0.1  # s between two events to one browser
STUCK = 60.0  # s after which a browser that accepts nothing is dropped
_TEXTS: LRUCache[tuple[str, int], str] = LRUCache(MAX_ROOMS)
HEADERS = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store", "x-accel-buffering": "no"}


class Events(Response):
    """Response with the events of a room; it closes `following` in every case."""

    has_begun = False

    def __init__(
        self,
        store: Store,
        code: str,
        following: contextlib.AbstractAsyncContextManager[None],
        closing: asyncio.Event,
        private: Callable[[Room, float], dict[str, Any]] | None = None,
    ) -> None:
        """Creates the response. `following` is already entered. `private` returns the values of the lecturer's events,
        which include the number of followers and the time. `closing` ends the stream when the server stops."""
        self.store, self.code, self.following, self.closing = store, code, following, closing
        self.private = private
        super().__init__(headers=HEADERS)
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        tasks: list[asyncio.Task[bool]] = []
        try:
            tasks += [asyncio.create_task(each) for each in (self._send(send), _left(receive), self.closing.wait())]
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            is_there = all(task.result() for task in done)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.following.__aexit__(None, None, None)
        if is_there and self.has_begun:
            await send({"type": "http.response.body", "body": b""})

    async def _send(self, send: Send) -> bool:
        """Sends until the room ends; returns False if the browser accepts nothing."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        self.has_begun = True
        async with contextlib.aclosing(self._texts()) as texts:
            async for text in texts:
                try:
                    async with asyncio.timeout(STUCK):
                        await send({"type": "http.response.body", "body": text.encode(), "more_body": True})
                except TimeoutError:
                    return False
        return True

    async def _texts(self) -> AsyncIterator[str]:
        sent = ""
        try:
            async with contextlib.aclosing(self.store.changes(self.code, ALIVE, counts=self.private is not None)) as changes:
                async for room in changes:
                    if room is None:
                        yield ": alive\n\n"
                        continue
                    text = await self._private_text(room) if self.private else text_of(room)
                    if text == sent:
                        continue
                    sent = text
                    clock = f"time: {time.time():.3f}\n" if self.private else ""  # browsers ignore the field
                    yield f"id: {room.version}\n{clock}data: {text}\n\n"
                    await asyncio.sleep(PAUSE)
        except Gone:
            yield "event: ended\ndata: {}\n\n"

    async def _private_text(self, room: Room) -> str:
        """Returns the lecturer's JSON, with the number of followers."""
        followers = 0
        with contextlib.suppress(Away):
            followers = await self.store.followers(self.code)
        assert self.private is not None
        return json.dumps(self.private(room, time.time()) | {"followers": followers})


def text_of(room: Room) -> str:
    """Returns the followers' JSON, created once for all of them."""
    key = room.seal, room.version
    if (text := _TEXTS.get(key)) is None:
        text = _TEXTS[key] = json.dumps(room.describe())
    return text


async def _left(receive: Receive) -> bool:
    """Waits until the browser disconnects, then returns False."""
    while (await receive())["type"] != "http.disconnect":
        pass
    return False


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
