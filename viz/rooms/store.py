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
LATER = 0.5  # s: a class that votes tells everybody twice a second how many have
Change = Callable[[Room], Room]


class Gone(Exception):
    """No room has this code, or it has ended."""


class Full(Exception):
    """There are as many rooms, or followers of one, as there may be."""


class Away(Exception):
    """The place where rooms are kept does not answer."""


class Store(Protocol):
    """What a place for rooms can do. All that changes a room goes through `change`, one after the other. Where it does not
    answer, each of them raises Away."""

    async def open(self, address: str) -> tuple[Room, str]:
        """A new room at an address, and its secret, which is kept nowhere; Full."""

    async def get(self, code: str) -> Room:
        """Raises Gone."""

    async def change(self, code: str, change: Change, quiet: bool = False) -> Room:
        """The room after a change, which every watcher is told of, within `LATER` of it where it is `quiet`; Gone, and what
        `change` raises."""

    async def end(self, code: str) -> None:
        """Its watchers are told, too."""

    def follow(self, code: str) -> contextlib.AbstractAsyncContextManager[None]:
        """Counts a follower as long as it is entered; Gone, Full."""

    async def followers(self, code: str) -> int: ...

    def changes(self, code: str, every: float) -> AsyncIterator[Room | None]:
        """The room at once, and at each change (several at once are one); None after so many seconds without, or while it
        cannot be asked for. Gone."""


class MemoryStore:
    """Rooms of one process; they end with it."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self.now = now
        self._rooms: dict[str, Room] = {}
        self._followers: dict[str, int] = defaultdict(int)
        self._watchers: dict[str, set[asyncio.Event]] = defaultdict(set)
        self._waiting: set[str] = set()  # rooms whose watchers are told later

    async def open(self, address: str) -> tuple[Room, str]:
        for ended in [code for code, room in self._rooms.items() if room.ended(self.now())]:
            await self.end(ended)
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

    async def change(self, code: str, change: Change, quiet: bool = False) -> Room:
        self._rooms[code] = change(await self.get(code))
        (self._later if quiet else self._tell)(code)
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

    async def changes(self, code: str, every: float) -> AsyncIterator[Room | None]:
        told = asyncio.Event()
        self._watchers[code].add(told)
        try:
            yield await self.get(code)
            while True:
                is_told = await within(every, told)
                room = await self.get(code)
                yield room if is_told else None
        finally:
            self._watchers[code].discard(told)
            if not self._watchers[code]:
                del self._watchers[code]

    def _tell(self, code: str) -> None:
        for told in self._watchers.get(code, ()):
            told.set()

    def _later(self, code: str) -> None:
        """Tells the watchers once of all that changes meanwhile."""
        if code not in self._waiting:
            self._waiting.add(code)
            asyncio.get_running_loop().call_later(LATER, self._tell_now, code)

    def _tell_now(self, code: str) -> None:
        self._waiting.discard(code)
        self._tell(code)


async def within(seconds: float, told: asyncio.Event) -> bool:
    """True once it is told, and takes that back; False where it was not in so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            await told.wait()
    except TimeoutError:
        return False
    told.clear()
    return True
