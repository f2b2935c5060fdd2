"""Rooms in Redis, for several processes that serve one lab: each knows every room, and is told of every change."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

from viz.rooms.room import SILENCE, Room, new_code, new_secret, sealed
from viz.rooms.store import MAX_FOLLOWERS, MAX_ROOMS, Change, Full, Gone

if TYPE_CHECKING:
    from redis.asyncio import Redis

AWAY = 60  # s after which the followers of a process that has not been heard of count no more
HELD = 5  # s for which a change may hold a room


class RedisStore:
    """The same as `MemoryStore`, in keys that begin with `attention-lab:`."""

    def __init__(self, client: Redis, now: Callable[[], float] = time.time) -> None:
        self.client, self.now = client, now
        self.process = uuid.uuid4().hex
        self._here: dict[str, int] = {}  # followers at this process

    async def open(self, address: str) -> tuple[Room, str]:
        if len([key async for key in self.client.scan_iter(_key("room", "*"), count=1000)]) >= MAX_ROOMS:
            raise Full
        secret = new_secret()
        while True:
            code = new_code()
            room = Room(code, sealed(secret), "/", self.now()).shows({"address": address}, self.now())
            if await self.client.set(_key("room", code), room.packed(), ex=SILENCE, nx=True):
                return room, secret

    async def get(self, code: str) -> Room:
        text = await self.client.get(_key("room", code))
        if text is None:
            raise Gone
        room = Room.unpacked(text)
        if room.ended(self.now()):
            raise Gone
        return room

    async def change(self, code: str, change: Change) -> Room:
        async with self.client.lock(_key("lock", code), timeout=HELD, sleep=0.01):
            room = change(await self.get(code))
            await self.client.set(_key("room", code), room.packed(), ex=max(1, round(room.moved + SILENCE - self.now())))
        await self._tell(code)
        return room

    async def end(self, code: str) -> None:
        await self.client.delete(_key("room", code), _key("followers", code))
        await self._tell(code)

    @contextlib.asynccontextmanager
    async def follow(self, code: str) -> AsyncIterator[None]:
        await self.get(code)
        if await self.followers(code) >= MAX_FOLLOWERS:
            raise Full
        await self._count(code, 1)
        try:
            yield
        finally:
            await asyncio.shield(self._count(code, -1))

    async def _count(self, code: str, more: int) -> None:
        self._here[code] = self._here.get(code, 0) + more
        if not self._here[code]:
            del self._here[code]
        await self._present(code)
        await self._tell(code)

    async def _present(self, code: str) -> None:
        """Says how many follow at this process, and that it lives."""
        told = f"{self._here.get(code, 0)} {self.now()}"
        await self.client.hset(_key("followers", code), self.process, told)
        await self.client.expire(_key("followers", code), SILENCE)

    async def followers(self, code: str) -> int:
        found = await self.client.hgetall(_key("followers", code))
        told = [value.split() for value in found.values()]
        return sum(int(count) for count, when in told if self.now() - float(when) < AWAY)

    async def changes(self, code: str, every: float) -> AsyncIterator[None]:
        async with self.client.pubsub(ignore_subscribe_messages=True) as told:
            await told.subscribe(_key("told", code))
            while True:
                await self.get(code)
                yield
                if await told.get_message(timeout=every) is None:
                    await self._present(code)
                while await told.get_message(timeout=0):  # several changes at once are one
                    pass

    async def _tell(self, code: str) -> None:
        await self.client.publish(_key("told", code), "")


def _key(what: str, code: str) -> str:
    return f"attention-lab:{what}:{code}"


def connected(url: str) -> RedisStore:
    """The store in the Redis of an address; ValueError, one sentence, where it is none."""
    try:
        from redis.asyncio import Redis
    except ImportError:
        raise ValueError("REDIS_URL is set, but the package redis is not installed: install requirements.txt.") from None
    try:
        return RedisStore(Redis.from_url(url))
    except ValueError:
        raise ValueError("REDIS_URL is no address of a Redis; expected one such as redis://localhost:6379/0.") from None
