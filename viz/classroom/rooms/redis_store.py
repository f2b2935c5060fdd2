"""Rooms in Redis, for several processes that serve one lab: each knows every room, and is told of every change.

What counts or compares is done in Redis itself, by a script, so that no two processes come between each other. Each process
has one connection by which it is told, however many follow there.

What Redis itself does with rooms, as one step that no other process comes between."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import time
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import wraps
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from viz.classroom.rooms.room import (
    SILENCE,
    Room,
    new_code,
    new_secret,
    sealed,
)
from viz.classroom.rooms.store import (
    IDLE,
    LATER,
    MAX_FOLLOWERS,
    MAX_ROOMS,
    Away,
    Change,
    Full,
    Gone,
    watching,
    within,
)

if TYPE_CHECKING:
    from redis.asyncio import Redis

# KEYS: room, rooms. ARGV: text, s to live, code, when moved, which have ended by now, most rooms,
# which are idle by now, since when others live, where all keys begin, told.
OPEN = """
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', ARGV[5])
if redis.call('EXISTS', KEYS[1]) == 1 then return 'taken' end
if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[6]) then
    local left = nil
    for _, code in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', ARGV[7])) do
        local count = 0
        for _, told in ipairs(redis.call('HVALS', ARGV[9] .. 'followers:' .. code)) do
            local here, when = string.match(told, '(%d+) (%S+)')
            if tonumber(when) >= tonumber(ARGV[8]) then count = count + tonumber(here) end
        end
        if count == 0 then left = code break end
    end
    if not left then return 'full' end
    redis.call('DEL', ARGV[9] .. 'room:' .. left, ARGV[9] .. 'followers:' .. left)
    redis.call('ZREM', KEYS[2], left)
    redis.call('PUBLISH', ARGV[10], left)
end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
redis.call('ZADD', KEYS[2], ARGV[4], ARGV[3])
return 'done'
"""
# KEYS: room, rooms. ARGV: text before, text, s to live, code, when moved, where to tell or nothing.
CHANGE = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
redis.call('ZADD', KEYS[2], ARGV[5], ARGV[4])
if ARGV[6] ~= '' then redis.call('PUBLISH', ARGV[6], ARGV[4]) end
return 1
"""
# KEYS: followers. ARGV: process, how many there, now, since when others live, most or nothing, s to keep.
COUNT = """
local others = 0
local found = redis.call('HGETALL', KEYS[1])
for n = 1, #found, 2 do
    local count, when = string.match(found[n + 1], '(%d+) (%S+)')
    if found[n] ~= ARGV[1] and tonumber(when) >= tonumber(ARGV[4]) then others = others + tonumber(count) end
end
if ARGV[5] ~= '' and others + tonumber(ARGV[2]) > tonumber(ARGV[5]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ' ' .. ARGV[3])
redis.call('EXPIRE', KEYS[1], ARGV[6])
return 1
"""


HERE = "attention-lab:"  # all keys begin with it
TOLD = f"{HERE}told"  # where a change is told, by the room's code
COUNTED = "count of "  # before the code of a room that has more or fewer followers
LIVES = 60  # s after which the followers of a process that has not been heard of count no more
PATIENCE = 3.0  # s for an answer of Redis
CONNECTIONS = 32  # of one process, at most
AGAIN = 0.5  # s until one that does not answer is asked again
RETRY = 2.0  # s until the room that a watcher has to be shown is asked for again
TRIES = 100  # of a change that another one came before


def _asked(method: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
    """A method that raises Away where Redis does not answer."""

    @wraps(method)
    async def answered(*args: Any, **named: Any) -> Any:
        from redis.exceptions import RedisError

        try:
            return await method(*args, **named)
        except (RedisError, OSError) as fault:
            raise Away from fault

    return answered


class RedisStore:
    """The same as `MemoryStore`, in keys that begin with `attention-lab:`."""

    def __init__(self, client: Redis, now: Callable[[], float] = time.time) -> None:
        self.client, self.now = client, now
        self.process = uuid.uuid4().hex
        self._here: dict[str, int] = {}  # followers at this process
        self._watchers: dict[str, set[asyncio.Event]] = defaultdict(set)
        self._counters: dict[str, set[asyncio.Event]] = defaultdict(set)  # of them those who hear of counts
        self._fetched: dict[str, asyncio.Task[Room]] = {}  # what all who watch a room here are shown
        self._changing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._waiting: set[str] = set()  # what is told later
        self._listening: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    @_asked
    async def open(self, address: str) -> tuple[Room, str]:
        secret, now = new_secret(), self.now()
        while True:
            code = new_code()
            room = Room(code, sealed(secret), "/", now).shows({"address": address}, now)
            values = (room.packed(), SILENCE, code, now, now - SILENCE, MAX_ROOMS, now - IDLE, now - LIVES, HERE, TOLD)
            match await self.client.eval(OPEN, 2, _key("room", code), _key("rooms"), *values):
                case b"full":
                    raise Full
                case b"done":
                    return room, secret

    async def get(self, code: str) -> Room:
        return (await self._read(code))[0]

    @_asked
    async def _read(self, code: str) -> tuple[Room, bytes]:
        text = await self.client.get(_key("room", code))
        if text is None:
            raise Gone
        try:
            room = Room.unpacked(text)
        except ValueError:  # of a lab that was before, or comes
            raise Gone from None
        if room.ended(self.now()):
            raise Gone
        return room, text

    @_asked
    async def change(self, code: str, change: Change, quiet: bool = False) -> Room:
        lock = self._changing.setdefault(code, asyncio.Lock())
        async with lock:  # only another process comes between
            for _ in range(TRIES):
                before, text = await self._read(code)
                room = change(before)
                if room == before:
                    return room
                is_new = room.version != before.version
                left = max(1, round(room.moved + SILENCE - self.now()))
                values = (text, room.packed(), left, code, room.moved, TOLD if is_new and not quiet else "")
                if await self.client.eval(CHANGE, 2, _key("room", code), _key("rooms"), *values):
                    if is_new and quiet:
                        self._later(code)
                    return room
        raise Away  # a room that changes that often is not to be had

    @_asked
    async def end(self, code: str) -> None:
        async with self.client.pipeline() as all_:
            all_.delete(_key("room", code), _key("followers", code))
            all_.zrem(_key("rooms"), code)
            all_.publish(TOLD, code)
            await all_.execute()

    @contextlib.asynccontextmanager
    async def follow(self, code: str) -> AsyncIterator[None]:
        await self.get(code)
        self._here[code] = self._here.get(code, 0) + 1
        try:
            if not await self._count(code, MAX_FOLLOWERS):
                raise Full
            self._later(COUNTED + code)
            yield
        finally:
            self._here[code] -= 1
            if not self._here[code]:
                del self._here[code]
            with contextlib.suppress(Away):  # then it is said with the next sign of life
                await asyncio.shield(self._beside(self._count(code)))
            self._later(COUNTED + code)

    @_asked
    async def _count(self, code: str, most: int | str = "") -> bool:
        """Says how many follow at this process, and that it lives; False where there would be more than `most` in all."""
        values = (self.process, self._here.get(code, 0), self.now(), self.now() - LIVES, most, SILENCE)
        return bool(await self.client.eval(COUNT, 1, _key("followers", code), *values))

    @_asked
    async def followers(self, code: str) -> int:
        found = await self.client.hgetall(_key("followers", code))
        told = [value.split() for value in found.values()]
        return sum(int(count) for count, when in told if self.now() - float(when) < LIVES)

    async def changes(self, code: str, every: float, counts: bool = False) -> AsyncIterator[Room | None]:
        if self._listening is None or self._listening.done():
            self._listening = asyncio.create_task(self._listen())
        with watching(code, self._watchers, *[self._counters] * counts) as told:
            shown, owed = -1, True  # the version that was yielded, and whether there is a room to be yielded
            told.set()
            try:
                while True:
                    is_told = await within(min(every, RETRY) if owed else every, told)
                    try:
                        room = await (self._shared(code) if is_told or owed else self.get(code))
                    except Away:
                        owed = owed or is_told
                        yield None
                        continue
                    if room.version != shown or (counts and is_told):
                        shown = room.version
                        yield room
                    elif not is_told:
                        yield None
                    owed = False
            finally:
                if self._watchers[code] == {told}:
                    self._fetched.pop(code, None)

    async def _shared(self, code: str) -> Room:
        """What all who watch a room here are shown; where it could not be fetched, it is asked for again, once for all."""
        fetched = self._fetched.get(code)
        if fetched is None or (fetched.done() and (fetched.cancelled() or fetched.exception())):
            fetched = self._fetched[code] = self._beside(self.get(code))
        return await asyncio.shield(fetched)

    # -- what this process is told ------------------------------------------------------------------------------------

    async def _listen(self) -> None:
        """Wakes who watches a room that changed, wherever it did; once Redis is back after it was away, all of them."""
        from redis.exceptions import RedisError

        while True:
            try:
                async with self.client.pubsub(ignore_subscribe_messages=True) as told:
                    await told.subscribe(TOLD)
                    for code in list(self._watchers):
                        self._wake(code)
                    await self._hear(told)
            except (RedisError, OSError, Away):
                pass
            except Exception as fault:  # whoever follows here hears nothing without it
                logging.getLogger(__name__).error("What Redis tells could not be read", exc_info=fault)
            await asyncio.sleep(AGAIN)

    async def _hear(self, told: Any) -> None:
        lived = self.now()
        while True:
            message = await told.get_message(timeout=LIVES / 4)
            if message is not None:
                self._wake(message["data"].decode())
            if self.now() - lived > LIVES / 4:
                lived = self.now()
                for code in list(self._here):
                    await self._count(code)

    def _wake(self, news: str) -> None:
        """All who watch a room here are shown what is fetched once; of a count those alone who hear of counts."""
        code = news.removeprefix(COUNTED)
        if code != news:
            for told in self._counters.get(code, ()):
                told.set()
            return
        if code not in self._watchers:
            return
        self._fetched[code] = self._beside(self.get(code))
        for told in self._watchers[code]:
            told.set()

    def _later(self, news: str) -> None:
        """Tells of all that changes meanwhile at once."""
        if news not in self._waiting:
            self._waiting.add(news)
            self._beside(self._tell(news))

    async def _tell(self, news: str) -> None:
        await asyncio.sleep(LATER)
        self._waiting.discard(news)
        await self.client.publish(TOLD, news)

    def _beside(self, made: Any) -> asyncio.Task[Any]:
        """A task that is kept until it is done, and whose fault is told to who asks for it alone."""
        self._tasks.add(task := asyncio.ensure_future(made))
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task


def _key(what: str, code: str = "") -> str:
    return f"{HERE}{what}:{code}" if code else f"{HERE}{what}"


def connected(url: str) -> RedisStore:
    """The store in the Redis of an address; says on stderr where it does not answer yet: it is asked again with each room.

    Raises ValueError, one sentence, where the address is none.
    """
    try:
        import redis
        import redis.asyncio
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
    except ImportError:
        raise ValueError("REDIS_URL is set, but the package redis is not installed: install requirements.txt.") from None
    waits = {"socket_connect_timeout": PATIENCE, "socket_timeout": PATIENCE}
    more = {"max_connections": CONNECTIONS, "timeout": PATIENCE, "retry": Retry(NoBackoff(), 1)}
    try:
        pool = redis.asyncio.BlockingConnectionPool.from_url(url, **waits, **more)
        with redis.Redis.from_url(url, **waits) as probe:
            probe.ping()
    except (ValueError, TypeError):
        raise ValueError("REDIS_URL is no address of a Redis; expected one such as redis://localhost:6379/0.") from None
    except redis.exceptions.AuthenticationError:
        raise ValueError("REDIS_URL: the Redis there does not take this name and password.") from None
    except (redis.exceptions.RedisError, OSError) as fault:
        where = pool.connection_kwargs
        at = where.get("path") or f"{where.get('host', 'localhost')}:{where.get('port', 6379)}"
        print(f"No Redis answers at {at} ({type(fault).__name__}): rooms can be opened once one does.", file=sys.stderr)
    return RedisStore(redis.asyncio.Redis(connection_pool=pool))
