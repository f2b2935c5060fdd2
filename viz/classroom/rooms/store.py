"""Where rooms are kept: in this process, or in a Redis that several share."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Protocol

from viz.classroom.rooms.room import (
    Room,
    new_code,
    new_secret,
    sealed,
)

MAX_ROOMS = 200
MAX_FOLLOWERS = 500  # of one room
LATER = 0.5  # s: a class that votes tells everybody twice a second how many have, and one that comes its lecturer
IDLE = 600  # s after which a room that nobody follows gives way to a new one, where the lab is full
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
        """A new room at an address, and its secret, which is kept nowhere. Where there are as many as may be, the one that
        nobody has moved for the longest gives way, if that is `IDLE` and nobody follows it; Full."""

    async def get(self, code: str) -> Room:
        """Raises Gone."""

    async def change(self, code: str, change: Change, quiet: bool = False) -> Room:
        """The room after a change, which every watcher is told of, within `LATER` of it where it is `quiet`, and not at all
        where the version stays; Gone, and what `change` raises."""

    async def end(self, code: str) -> None:
        """Its watchers are told, too."""

    def follow(self, code: str) -> contextlib.AbstractAsyncContextManager[None]:
        """Counts a follower as long as it is entered; Gone, Full."""

    async def followers(self, code: str) -> int: ...

    def changes(self, code: str, every: float, counts: bool = False) -> AsyncIterator[Room | None]:
        """The room at once, and at each change (several at once are one); None after so many seconds without, or while it
        cannot be asked for. With `counts` the same room again, within `LATER`, where there are more or fewer followers:
        a hall that comes wakes nobody but its lecturer. Gone."""


class MemoryStore:
    """Rooms of one process; they end with it."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self.now = now
        self._rooms: dict[str, Room] = {}
        self._followers: dict[str, int] = defaultdict(int)
        self._watchers: dict[str, set[asyncio.Event]] = defaultdict(set)
        self._counters: dict[str, set[asyncio.Event]] = defaultdict(set)  # of them those who hear of counts
        self._waiting: set[tuple[str, bool]] = set()  # rooms of which is told later: whether it is their count alone

    async def open(self, address: str) -> tuple[Room, str]:
        for ended in [code for code, room in self._rooms.items() if room.ended(self.now())]:
            await self.end(ended)
        if len(self._rooms) >= MAX_ROOMS:
            await self._make_place()
        code, secret = new_code(), new_secret()
        while code in self._rooms:
            code = new_code()
        self._rooms[code] = Room(code, sealed(secret), "/", self.now()).shows({"address": address}, self.now())
        return self._rooms[code], secret

    async def _make_place(self) -> None:
        left = [room for code, room in self._rooms.items() if not self._followers.get(code)]
        longest = min(left, key=lambda room: room.moved, default=None)
        if longest is None or self.now() - longest.moved < IDLE:
            raise Full
        await self.end(longest.code)

    async def get(self, code: str) -> Room:
        room = self._rooms.get(code)
        if room is None:
            raise Gone
        if room.ended(self.now()):
            await self.end(code)
            raise Gone
        return room

    async def change(self, code: str, change: Change, quiet: bool = False) -> Room:
        before = await self.get(code)
        self._rooms[code] = room = change(before)
        if room.version != before.version:
            (self._later if quiet else self._tell)(code)
        return room

    async def end(self, code: str) -> None:
        self._rooms.pop(code, None)
        self._tell(code)

    @contextlib.asynccontextmanager
    async def follow(self, code: str) -> AsyncIterator[None]:
        await self.get(code)
        if self._followers[code] >= MAX_FOLLOWERS:
            raise Full
        self._followers[code] += 1
        self._later(code, count=True)
        try:
            yield
        finally:
            self._followers[code] -= 1
            if not self._followers[code]:
                del self._followers[code]
            self._later(code, count=True)

    async def followers(self, code: str) -> int:
        return self._followers.get(code, 0)

    async def changes(self, code: str, every: float, counts: bool = False) -> AsyncIterator[Room | None]:
        with watching(code, self._watchers, *[self._counters] * counts) as told:
            room = await self.get(code)
            yield room
            while True:
                is_told, before = await within(every, told), room.version
                room = await self.get(code)
                if not is_told:
                    yield None
                elif counts or room.version != before:
                    yield room

    def _tell(self, code: str) -> None:
        for told in self._watchers.get(code, ()):
            told.set()

    def _later(self, code: str, count: bool = False) -> None:
        """Tells once of all that changes meanwhile: the watchers, or those who hear of counts."""
        if (code, count) not in self._waiting:
            self._waiting.add((code, count))
            asyncio.get_running_loop().call_later(LATER, self._tell_now, code, count)

    def _tell_now(self, code: str, count: bool) -> None:
        self._waiting.discard((code, count))
        for told in (self._counters if count else self._watchers).get(code, ()):
            told.set()


@contextlib.contextmanager
def watching(code: str, *where: dict[str, set[asyncio.Event]]) -> Iterator[asyncio.Event]:
    """What is set as long as it is entered wherever a room's watchers are told."""
    told = asyncio.Event()
    for each in where:
        each[code].add(told)
    try:
        yield told
    finally:
        for each in where:
            each[code].discard(told)
            if not each[code]:
                del each[code]


async def within(seconds: float, told: asyncio.Event) -> bool:
    """True once it is told, and takes that back; False where it was not in so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            await told.wait()
    except TimeoutError:
        return False
    told.clear()
    return True
