"""Stores of rooms: the interface, and the store in the memory of one process, with a file for a restart."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Protocol

from viz.classroom.rooms.room import Room, new_code, new_secret, sealed
from viz.classroom.rooms.room_file import RoomFile

MAX_ROOMS = 200
MAX_FOLLOWERS = 500  # of one room
SAVE = 1.0  # s between two writes of the file
LATER = 0.5  # s between two messages about votes or followers
IDLE = 600  # s without a move after which a room without followers can be replaced in a full lab
Change = Callable[[Room], Room]


class Gone(Exception):
    """No room has this code, or it has ended."""


class Full(Exception):
    """The limit of rooms, or of followers of a room, is reached."""


class Away(Exception):
    """The store does not answer."""


class Store(Protocol):
    """Interface of a store. All changes of a room go through `change`, in sequence. Every method can raise Away."""

    async def open(self, address: str) -> tuple[Room, str]:
        """Returns a new room and its secret, which is not stored.

        In a full lab the room that is idle longest (at least `IDLE`) and has no followers ends. Raises Full.
        """

    async def get(self, code: str) -> Room:
        """Returns the room of a code; raises Gone."""

    async def change(self, code: str, change: Change, quiet: bool = False) -> Room:
        """Returns the changed room and wakes its watchers if the version is new; after `LATER` if `quiet`.

        A private change wakes only the watchers with `counts`.
        Raises Gone and the errors of `change`.
        """

    async def end(self, code: str) -> None:
        """Ends a room and wakes its watchers."""

    def follow(self, code: str) -> contextlib.AbstractAsyncContextManager[None]:
        """Counts a follower while the context is open; raises Gone or Full."""

    async def followers(self, code: str) -> int: ...

    def flush(self) -> None:
        """Writes what is not stored yet, when the server stops."""

    def changes(self, code: str, every: float, counts: bool = False) -> AsyncIterator[Room | None]:
        """Yields the room at once and at each change; None after `every` seconds without one, or while the store is away.

        With `counts`, which only the lecturer's streams have, also yields the room at a private change, and when its number
        of followers changes, within `LATER`. Raises Gone.
        """


class MemoryStore:
    """Store in the memory of one process. With a file, the rooms are there again after a restart."""

    def __init__(self, now: Callable[[], float] = time.time, file: RoomFile | None = None) -> None:
        self.now, self.file = now, file
        self._rooms = {room.code: room for room in (file.read() if file else ()) if not room.ended(now())}
        self._saving: asyncio.Task[None] | None = None
        self._is_saved = True
        self._followers: dict[str, int] = defaultdict(int)
        self._watchers: dict[str, set[asyncio.Event]] = defaultdict(set)
        self._counters: dict[str, set[asyncio.Event]] = defaultdict(set)  # watchers that also receive counts
        self._waiting: set[tuple[str, bool]] = set()  # rooms with a pending message; True if it is only about counts

    async def open(self, address: str) -> tuple[Room, str]:
        for ended in [code for code, room in self._rooms.items() if room.ended(self.now())]:
            await self.end(ended)
        if len(self._rooms) >= MAX_ROOMS:
            await self._make_place()
        code, secret = new_code(), new_secret()
        while code in self._rooms:
            code = new_code()
        self._rooms[code] = Room(code, sealed(secret), "/", self.now()).shows({"address": address}, self.now())
        self._save()
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
            self._save()
            (self._later if quiet else self._tell)(code)
        elif room.is_private_change(before):
            self._save()
            self._tell_now(code, count=True)
        return room

    async def end(self, code: str) -> None:
        self._rooms.pop(code, None)
        self._save()
        self._tell(code)

    def flush(self) -> None:
        if self.file:
            self.file.write(list(self._rooms.values()))

    def _save(self) -> None:
        """Writes the file after `SAVE`, once for all changes until then."""
        self._is_saved = False
        if self.file and self._saving is None:
            self._saving = asyncio.create_task(self._write(self.file))

    async def _write(self, file: RoomFile) -> None:
        try:
            while not self._is_saved:
                await asyncio.sleep(SAVE)
                self._is_saved = True
                await asyncio.to_thread(file.write, list(self._rooms.values()))
        finally:
            self._saving = None

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
        watchers = [self._watchers, self._counters] if counts else [self._watchers]
        with watching(code, *watchers) as changed:
            room = await self.get(code)
            yield room
            while True:
                is_changed, before = await wait_for(every, changed), room.version
                room = await self.get(code)
                if not is_changed:
                    yield None
                elif counts or room.version != before:
                    yield room

    def _tell(self, code: str) -> None:
        for event in self._watchers.get(code, ()):
            event.set()

    def _later(self, code: str, count: bool = False) -> None:
        """Wakes watchers after `LATER`, once for all changes until then."""
        if (code, count) not in self._waiting:
            self._waiting.add((code, count))
            asyncio.get_running_loop().call_later(LATER, self._tell_now, code, count)

    def _tell_now(self, code: str, count: bool) -> None:
        self._waiting.discard((code, count))
        for event in (self._counters if count else self._watchers).get(code, ()):
            event.set()


@contextlib.contextmanager
def watching(code: str, *where: dict[str, set[asyncio.Event]]) -> Iterator[asyncio.Event]:
    """Registers an event as a watcher of a room while the context is open."""
    event = asyncio.Event()
    for each in where:
        each[code].add(event)
    try:
        yield event
    finally:
        for each in where:
            each[code].discard(event)
            if not each[code]:
                del each[code]


async def wait_for(seconds: float, event: asyncio.Event) -> bool:
    """Waits for an event and clears it; returns False after a timeout."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    event.clear()
    return True
