"""A stream of events: what a room shows, at once and at every change."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from viz.rooms.store import Away, Gone, Store

ALIVE = 15.0  # s between two signs of life
PAUSE = 0.1  # s between two events to one browser: what changed in between comes with the next
STUCK = 60.0  # s after which one who takes nothing is given up: its network is gone, and nobody said so
HEADERS = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store", "x-accel-buffering": "no"}


class Events(Response):
    """The events of a room; `following` is left when they end, however they do."""

    def __init__(self, store: Store, code: str, following: contextlib.AbstractAsyncContextManager[None] | None) -> None:
        """`following` has been entered; None for the lecturer, who is no follower and hears how many there are."""
        self.store, self.code, self.following = store, code, following
        super().__init__(headers=HEADERS)
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.create_task(self._send(send))
        leaving = asyncio.create_task(_left(receive))
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        finally:
            for task in (sending, leaving):
                task.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)
            if self.following:
                await self.following.__aexit__(None, None, None)

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async with contextlib.aclosing(self._texts()) as texts:
            async for text in texts:
                try:
                    async with asyncio.timeout(STUCK):
                        await send({"type": "http.response.body", "body": text.encode(), "more_body": True})
                except TimeoutError:
                    return
        await send({"type": "http.response.body", "body": b""})

    async def _texts(self) -> AsyncIterator[str]:
        sent = None
        try:
            async with contextlib.aclosing(self.store.changes(self.code, ALIVE)) as changes:
                async for room in changes:
                    told = room and room.told()
                    if told and not self.following:
                        told["followers"] = await self._followers()
                    if told is None or told == sent:
                        yield ": alive\n\n"
                        continue
                    sent = told
                    yield f"id: {told['version']}\ndata: {json.dumps(told)}\n\n"
                    await asyncio.sleep(PAUSE)
        except Gone:
            yield "event: ended\ndata: {}\n\n"

    async def _followers(self) -> int:
        with contextlib.suppress(Away):
            return await self.store.followers(self.code)
        return 0


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
