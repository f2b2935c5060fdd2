"""Stream of events with the state of a room, at once and at every change."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

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
        is_lecturer: bool = False,
    ) -> None:
        """Creates the response. `following` is already entered. The lecturer's events include the number of followers.
        `closing` ends the stream when the server stops."""
        self.store, self.code, self.following, self.closing = store, code, following, closing
        self.is_lecturer = is_lecturer
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
            async with contextlib.aclosing(self.store.changes(self.code, ALIVE, counts=self.is_lecturer)) as changes:
                async for room in changes:
                    if room is None:
                        yield ": alive\n\n"
                        continue
                    text = await self._counted(room) if self.is_lecturer else text_of(room)
                    if text == sent:
                        continue
                    sent = text
                    yield f"id: {room.version}\ndata: {text}\n\n"
                    await asyncio.sleep(PAUSE)
        except Gone:
            yield "event: ended\ndata: {}\n\n"

    async def _counted(self, room: Room) -> str:
        """Returns the lecturer's JSON, with the number of followers."""
        followers = 0
        with contextlib.suppress(Away):
            followers = await self.store.followers(self.code)
        return json.dumps(room.describe() | {"followers": followers})


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
