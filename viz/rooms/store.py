"""Where rooms are kept: in this process, or in a Redis that several share."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from typing import Protocol

from viz.rooms.room import Room, new_code, new_secret, sealed

MAX_ROOMS = 200
MAX_FOLLOWERS = 500  # of one room
Change = Callable[[Room], Room]


class Gone(Exception):
    """No room has this code, or it has ended."""


class Full(Exception):
    """There are as many rooms, or followers of one, as there may be."""


class Store(Protocol):
    """What a place for rooms can do. All that changes a room goes through `change`, one after the other."""

    async def open(self, address: str) -> tuple[Room, str]:
        """A new room at an address, and its secret, which is kept nowhere; Full."""

    async def get(self, code: str) -> Room:
        """Raises Gone."""

    async def change(self, code: str, change: Change) -> Room:
        """The room after a change, which every watcher is told of; Gone, and what `change` raises."""

    async def end(self, code: str) -> None:
        """Its watchers are told, too."""

    def follow(self, code: str) -> contextlib.AbstractAsyncContextManager[None]:
        """Counts a follower as long as it is entered; Gone, Full."""

    async def followers(self, code: str) -> int: ...

    def changes(self, code: str, every: float) -> AsyncIterator[None]:
        """A turn at once, one at each change (several at once are one), one after so many seconds without; Gone."""


class MemoryStore:
    """Rooms of one process; they end with it."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self.now = now
        self._rooms: dict[str, Room] = {}
        self._followers: dict[str, int] = defaultdict(int)
        self._watchers: dict[str, set[asyncio.Event]] = defaultdict(set)

    async def open(self, address: str) -> tuple[Room, str]:
        for code in [code for code, room in self._rooms.items() if room.ended(self.now())]:
            await self.end(code)
        if len(self._rooms) >= MAX_ROOMS:
            raise Full
        code, secret = new_code(), new_secret()
        while code in self._rooms:
            code = new_code()
        self._rooms[code] = Room(code, sealed(secret), "/", self.now()).shows({"address": address}, self.now())
        return self._rooms[code], secret

    async def get(self, code: str) -> Room:
        room = self._rooms.get(code)
        if room is None:
            raise Gone
        if room.ended(self.now()):
            await self.end(code)
            raise Gone
        return room

    async def change(self, code: str, change: Change) -> Room:
        self._rooms[code] = change(await self.get(code))
        self._tell(code)
        return self._rooms[code]

    async def end(self, code: str) -> None:
        self._rooms.pop(code, None)
        self._tell(code)

    @contextlib.asynccontextmanager
    async def follow(self, code: str) -> AsyncIterator[None]:
        await self.get(code)
        if self._followers[code] >= MAX_FOLLOWERS:
            raise Full
        self._followers[code] += 1
        self._tell(code)
        try:
            yield
        finally:
            self._followers[code] -= 1
            if not self._followers[code]:
                del self._followers[code]
            self._tell(code)

    async def followers(self, code: str) -> int:
        return self._followers.get(code, 0)

    async def changes(self, code: str, every: float) -> AsyncIterator[None]:
        told = asyncio.Event()
        self._watchers[code].add(told)
        try:
            while True:
                await self.get(code)
                yield
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(told.wait(), every)
                told.clear()
        finally:
            self._watchers[code].discard(told)
            if not self._watchers[code]:
                del self._watchers[code]

    def _tell(self, code: str) -> None:
        for told in self._watchers.get(code, ()):
            told.set()
