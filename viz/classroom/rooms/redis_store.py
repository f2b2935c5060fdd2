"""Store of rooms in Redis, shared by several processes.

Counting and comparing happen in Redis scripts, which are atomic. Each process has one subscription for changes.
"""

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

from viz.classroom.rooms.room import SILENCE, Room, new_code, new_secret, sealed
from viz.classroom.rooms.store import IDLE, LATER, MAX_FOLLOWERS, MAX_ROOMS, Away, Change, Full, Gone, wait_for, watching

if TYPE_CHECKING:
    from redis.asyncio import Redis

# KEYS: room, rooms. ARGV: text, s to live, code, time of the last move, ended before, maximum of rooms,
# idle before, other processes alive since, prefix of keys, channel.
OPEN = """
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', ARGV[5])
if redis.call('EXISTS', KEYS[1]) == 1 then return 'taken' end
if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[6]) then
    local left = nil
    for _, code in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', ARGV[7])) do
        local count = 0
        for _, entry in ipairs(redis.call('HVALS', ARGV[9] .. 'followers:' .. code)) do
            local here, when = string.match(entry, '(%d+) (%S+)')
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
# KEYS: room, rooms. ARGV: old text, new text, s to live, code, time of the last move, channel or nothing, message.
CHANGE = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
redis.call('ZADD', KEYS[2], ARGV[5], ARGV[4])
if ARGV[6] ~= '' then redis.call('PUBLISH', ARGV[6], ARGV[7]) end
return 1
"""
# KEYS: followers. ARGV: process, its followers, now, other processes alive since, limit or nothing, s to keep.
COUNT = """
local others = 0
local entries = redis.call('HGETALL', KEYS[1])
for n = 1, #entries, 2 do
    local count, when = string.match(entries[n + 1], '(%d+) (%S+)')
    if entries[n] ~= ARGV[1] and tonumber(when) >= tonumber(ARGV[4]) then others = others + tonumber(count) end
end
if ARGV[5] ~= '' and others + tonumber(ARGV[2]) > tonumber(ARGV[5]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ' ' .. ARGV[3])
redis.call('EXPIRE', KEYS[1], ARGV[6])
return 1
"""


HERE = "attention-lab:"  # prefix of all keys
CHANNEL = f"{HERE}told"  # channel of changes; a message is a room's code
COUNTED = "count of "  # prefix of a message for the lecturer's streams only: the number of followers, or a private change
LIVES = 60  # s without a sign after which a process and its followers no longer count
PATIENCE = 3.0  # s for an answer of Redis
CONNECTIONS = 32  # maximum of one process
AGAIN = 0.5  # s before a new subscription after a failure
RETRY = 2.0  # s before a failed read of a room is repeated
TRIES = 100  # attempts at a change while other processes change the room


def _raises_away(method: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
    """Wraps a method: it raises Away if Redis does not answer."""

    @wraps(method)
    async def answered(*args: Any, **named: Any) -> Any:
        from redis.exceptions import RedisError

        try:
            return await method(*args, **named)
        except (RedisError, OSError) as fault:
            raise Away from fault

    return answered


class RedisStore:
    """Store with the interface of `MemoryStore`, in keys that begin with `attention-lab:`."""

    def __init__(self, client: Redis, now: Callable[[], float] = time.time) -> None:
        self.client, self.now = client, now
        self.process = uuid.uuid4().hex
        self._here: dict[str, int] = {}  # followers in this process
        self._watchers: dict[str, set[asyncio.Event]] = defaultdict(set)
        self._counters: dict[str, set[asyncio.Event]] = defaultdict(set)  # watchers that also receive counts
        self._fetched: dict[str, asyncio.Task[Room]] = {}  # current room, read once for all watchers in this process
        self._changing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._waiting: set[str] = set()  # messages to publish later
        self._listening: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    @_raises_away
    async def open(self, address: str) -> tuple[Room, str]:
        secret, now = new_secret(), self.now()
        while True:
            code = new_code()
            room = Room(code, sealed(secret), "/", now).shows({"address": address}, now)
            values = (room.packed(), SILENCE, code, now, now - SILENCE, MAX_ROOMS, now - IDLE, now - LIVES, HERE, CHANNEL)
            match await self.client.eval(OPEN, 2, _key("room", code), _key("rooms"), *values):
                case b"full":
                    raise Full
                case b"done":
                    return room, secret

    async def get(self, code: str) -> Room:
        return (await self._read(code))[0]

    @_raises_away
    async def _read(self, code: str) -> tuple[Room, bytes]:
        text = await self.client.get(_key("room", code))
        if text is None:
            raise Gone
        try:
            room = Room.unpacked(text)
        except ValueError:  # written by another version of the lab
            raise Gone from None
        if room.ended(self.now()):
            raise Gone
        return room, text

    @_raises_away
    async def change(self, code: str, change: Change, quiet: bool = False) -> Room:
        lock = self._changing.setdefault(code, asyncio.Lock())
        async with lock:  # only other processes can interfere
            for _ in range(TRIES):
                before, text = await self._read(code)
                room = change(before)
                if room == before:
                    return room
                is_new, is_private = room.version != before.version, room.is_private_change(before)
                left = max(1, round(room.moved + SILENCE - self.now()))
                channel = CHANNEL if (is_new and not quiet) or is_private else ""
                values = (text, room.packed(), left, code, room.moved, channel, COUNTED + code if is_private else code)
                if await self.client.eval(CHANGE, 2, _key("room", code), _key("rooms"), *values):
                    if is_new and quiet:
                        self._later(code)
                    return room
        raise Away  # the room changes too often

    @_raises_away
    async def end(self, code: str) -> None:
        async with self.client.pipeline() as commands:
            commands.delete(_key("room", code), _key("followers", code))
            commands.zrem(_key("rooms"), code)
            commands.publish(CHANNEL, code)
            await commands.execute()

    def flush(self) -> None:
        """Does nothing: each change is in Redis."""

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
            with contextlib.suppress(Away):  # the next sign of life repeats it
                await asyncio.shield(self._start_task(self._count(code)))
            self._later(COUNTED + code)

    @_raises_away
    async def _count(self, code: str, limit: int | str = "") -> bool:
        """Stores the number of followers in this process; returns False if the total would exceed `limit`."""
        values = (self.process, self._here.get(code, 0), self.now(), self.now() - LIVES, limit, SILENCE)
        return bool(await self.client.eval(COUNT, 1, _key("followers", code), *values))

    @_raises_away
    async def followers(self, code: str) -> int:
        values = await self.client.hgetall(_key("followers", code))
        entries = [value.split() for value in values.values()]
        return sum(int(count) for count, when in entries if self.now() - float(when) < LIVES)

    async def changes(self, code: str, every: float, counts: bool = False) -> AsyncIterator[Room | None]:
        if self._listening is None or self._listening.done():
            self._listening = asyncio.create_task(self._listen())
        watchers = [self._watchers, self._counters] if counts else [self._watchers]
        with watching(code, *watchers) as changed:
            version, pending = -1, True  # the version last yielded; True if a new room is to be yielded
            changed.set()
            try:
                while True:
                    is_changed = await wait_for(min(every, RETRY) if pending else every, changed)
                    try:
                        room = await (self._shared(code) if is_changed or pending else self.get(code))
                    except Away:
                        pending = pending or is_changed
                        yield None
                        continue
                    if room.version != version or (counts and is_changed):
                        version = room.version
                        yield room
                    elif not is_changed:
                        yield None
                    pending = False
            finally:
                if self._watchers[code] == {changed}:
                    self._fetched.pop(code, None)

    async def _shared(self, code: str) -> Room:
        """Returns the room, read once for all watchers in this process; repeats a failed read."""
        fetched = self._fetched.get(code)
        if fetched is None or (fetched.done() and (fetched.cancelled() or fetched.exception())):
            fetched = self._fetched[code] = self._start_task(self.get(code))
        return await asyncio.shield(fetched)

    # -- messages from other processes --------------------------------------------------------------------------------

    async def _listen(self) -> None:
        """Wakes the watchers of each changed room; all watchers after Redis was unavailable."""
        from redis.exceptions import RedisError

        while True:
            try:
                async with self.client.pubsub(ignore_subscribe_messages=True) as subscription:
                    await subscription.subscribe(CHANNEL)
                    for code in list(self._watchers):
                        self._wake(code)
                    await self._read_messages(subscription)
            except (RedisError, OSError, Away):
                pass
            except Exception as fault:  # the subscription must continue
                logging.getLogger(__name__).error("A message of Redis could not be read", exc_info=fault)
            await asyncio.sleep(AGAIN)

    async def _read_messages(self, subscription: Any) -> None:
        lived = self.now()
        while True:
            message = await subscription.get_message(timeout=LIVES / 4)
            if message is not None:
                self._wake(message["data"].decode())
            if self.now() - lived > LIVES / 4:
                lived = self.now()
                for code in list(self._here):
                    await self._count(code)

    def _wake(self, news: str) -> None:
        """Wakes the watchers of a room, which is read once; a message about counts wakes only those that receive counts."""
        code = news.removeprefix(COUNTED)
        watchers = self._watchers if code == news else self._counters
        if code not in watchers:
            return
        self._fetched[code] = self._start_task(self.get(code))
        for event in watchers[code]:
            event.set()

    def _later(self, news: str) -> None:
        """Publishes a message after `LATER`, once for all changes until then."""
        if news not in self._waiting:
            self._waiting.add(news)
            self._start_task(self._publish(news))

    async def _publish(self, news: str) -> None:
        await asyncio.sleep(LATER)
        self._waiting.discard(news)
        await self.client.publish(CHANNEL, news)

    def _start_task(self, awaitable: Any) -> asyncio.Task[Any]:
        """Starts a task and references it until it is done; only an awaiting caller sees its error."""
        self._tasks.add(task := asyncio.ensure_future(awaitable))
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task


def _key(what: str, code: str = "") -> str:
    return f"{HERE}{what}:{code}" if code else f"{HERE}{what}"


def connected(url: str) -> RedisStore:
    """Returns the store in the Redis at a URL; prints a warning to stderr if Redis does not answer yet.

    Raises ValueError for an invalid URL.
    """
    try:
        import redis
        import redis.asyncio
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
    except ImportError:
        raise ValueError("REDIS_URL needs the package redis. Install requirements.txt.") from None
    waits = {"socket_connect_timeout": PATIENCE, "socket_timeout": PATIENCE}
    more = {"max_connections": CONNECTIONS, "timeout": PATIENCE, "retry": Retry(NoBackoff(), 1)}
    try:
        pool = redis.asyncio.BlockingConnectionPool.from_url(url, **waits, **more)
        with redis.Redis.from_url(url, **waits) as probe:
            probe.ping()
    except (ValueError, TypeError):
        raise ValueError("REDIS_URL is not a Redis URL; expected a form like redis://localhost:6379/0.") from None
    except redis.exceptions.AuthenticationError:
        raise ValueError("REDIS_URL: Redis refuses this name and password.") from None
    except (redis.exceptions.RedisError, OSError) as fault:
        options = pool.connection_kwargs
        place = options.get("path") or f"{options.get('host', 'localhost')}:{options.get('port', 6379)}"
        print(f"No Redis answers at {place} ({type(fault).__name__}). Rooms need it.", file=sys.stderr)
    return RedisStore(redis.asyncio.Redis(connection_pool=pool))
