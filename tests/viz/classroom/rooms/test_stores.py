"""Both places where rooms are kept do the same; a real Redis is started where there is one, and is away for a while."""

import asyncio
import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes import GUARDED
from tests.support.room_helpers import until
from viz.classroom.rooms import redis_store, store
from viz.classroom.rooms.room import SILENCE
from viz.classroom.rooms.store import Away, Full, Gone, MemoryStore

REDIS = shutil.which("redis-server")
QUESTION = ("next", "What comes next?", ["il", "elle"], [0.5, 0.4], 1.0)


class Redis:
    """A server of its own on a socket in a folder; what it was told is there again when it comes back."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.socket = folder, folder / "redis.sock"
        self.url = f"unix://{self.socket}"
        self.start()

    def start(self) -> None:
        command = [REDIS, "--port", "0", "--unixsocket", str(self.socket), "--dir", str(self.folder)]
        command += ["--appendonly", "yes", "--save", "", "--logfile", "told"]
        self.process = subprocess.Popen([*GUARDED, *command], stdin=subprocess.PIPE)
        import redis

        with redis.Redis(unix_socket_path=str(self.socket)) as probe:
            while True:
                with contextlib.suppress(redis.exceptions.ConnectionError):
                    probe.ping()
                    return
                assert self.process.poll() is None

    def stop(self) -> None:
        self.process.stdin.close()
        self.process.wait(60)


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Redis]:
    made = Redis(tmp_path_factory.mktemp("redis"))
    yield made
    made.stop()


@pytest.fixture(params=["memory", pytest.param("redis", marks=pytest.mark.skipif(not REDIS, reason="no redis-server"))])
def stores(request):
    """Opens two stores, as two processes of one lab have them, and a clock that a test may set."""

    @contextlib.asynccontextmanager
    async def opened():
        clock = [1000.0]
        if request.param == "memory":
            one = MemoryStore(lambda: clock[0])
            yield one, one, clock
            return
        url = request.getfixturevalue("server").url
        async with contextlib.AsyncExitStack() as ends:
            both = [redis_store.connected(url) for _ in range(2)]
            for each in both:
                each.now = lambda: clock[0]
                ends.push_async_callback(each.client.aclose)
            await both[0].client.flushall()
            yield *both, clock

    return opened


async def heard(of, code, found, every=60.0, counts=False):
    """Appends what a watcher is shown, until the room is gone."""
    try:
        async with contextlib.aclosing(of.changes(code, every, counts)) as changes:
            async for room in changes:
                found.append(room)
    except Gone:
        found.append("gone")


async def test_what_one_changes_the_other_has(stores):
    async with stores() as (one, other, _clock):
        room, secret = await one.open("/heads")
        assert (await other.get(room.code)) == room and room.opens(secret)
        changed = await other.change(room.code, lambda room: room.shows({"blank": True}, 1001.0))
        assert await one.get(room.code) == changed != room
        with pytest.raises(ValueError, match="blank"):
            await one.change(room.code, lambda room: room.shows({"blank": 1}, 1002.0))
        assert await other.get(room.code) == changed
        await one.end(room.code)
        for each in (one, other):
            with pytest.raises(Gone):
                await each.get(room.code)


async def test_no_vote_is_lost_and_watchers_wake_seldom(stores):
    async with stores() as (one, other, _clock):
        code = (await one.open("/"))[0].code
        await one.change(code, lambda room: room.asks(*QUESTION))
        seen = []
        watching = [asyncio.create_task(heard(each, code, seen)) for each in (one, other)]
        await until(lambda: len(seen) >= 2)
        before = len(seen)

        async def vote(n):
            await (one, other)[n % 2].change(code, lambda room: room.votes(f"voter{n:03}", 1, "il", 1, 1.0), quiet=True)

        await asyncio.gather(*map(vote, range(150)))
        assert len((await one.get(code)).question.votes) == 150
        await until(lambda: sum(len(room.question.votes) == 150 for room in seen if room) >= 2)
        for task in watching:
            task.cancel()
        assert len(seen) - before <= 30  # for both: once, or some times on a slow machine; not 150 times


async def test_a_private_change_reaches_the_lecturer_only(stores):
    async with stores() as (one, other, _clock):
        code, seen, private = (await one.open("/"))[0].code, [], []
        watching = [
            asyncio.create_task(heard(other, code, seen)),
            asyncio.create_task(heard(other, code, private, counts=True)),
        ]
        await until(lambda: seen and private)
        (event,) = other._watchers[code] - other._counters[code]
        event.set, wake, woken = lambda: woken.append(code), event.set, []
        for number in range(3):
            await one.change(code, lambda room, n=number: room.takes_screen({"state": {"number": n}}))
            await one.change(code, lambda room: room.takes_command({"action": "next"}, 1000.0))
        await until(lambda: private[-1].screen == {"number": 2} and len(private[-1].commands) == 3)
        assert woken == []
        event.set = wake
        await one.change(code, lambda room: room.shows({"blank": True}, 1000.0))
        await until(lambda: seen[-1].blank and private[-1].blank)
        for task in watching:
            task.cancel()
        assert [room.blank for room in seen] == [False, True]


async def test_the_limit_of_followers_holds(stores, monkeypatch):
    for module in (store, redis_store):
        monkeypatch.setattr(module, "MAX_FOLLOWERS", 5)
    async with stores() as (one, other, _clock):
        code, leave = (await one.open("/"))[0].code, asyncio.Event()

        async def follow(each):
            async with each.follow(code):
                await leave.wait()

        tasks = [asyncio.create_task(follow((one, other)[n % 2])) for n in range(20)]
        await until(lambda: sum(task.done() for task in tasks) >= 15)
        assert [await each.followers(code) for each in (one, other)] == [5, 5]
        leave.set()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert sum(isinstance(each, Full) for each in ended) == 15 and ended.count(None) == 5
        assert [await each.followers(code) for each in (one, other)] == [0, 0]
        async with one.follow(code):
            assert await other.followers(code) == 1


async def test_the_limit_of_rooms_holds(stores, monkeypatch):
    for module in (store, redis_store):
        monkeypatch.setattr(module, "MAX_ROOMS", 3)
    async with stores() as (one, other, clock):
        made = await asyncio.gather(*((one, other)[n % 2].open("/") for n in range(9)), return_exceptions=True)
        rooms = [each[0] for each in made if not isinstance(each, Full)]
        assert len(rooms) == 3
        await other.end(rooms[0].code)
        moved = await one.open("/")
        clock[0] += SILENCE - 1
        async with one.follow(rooms[1].code):
            await one.get(rooms[1].code)  # who looks at a room does not move it
        await other.change(moved[0].code, lambda room: room.shows({"pointer": "a|b"}, clock[0]))
        clock[0] += 2
        with pytest.raises(Gone):
            await one.get(rooms[1].code)
        await one.open("/")
        await other.open("/")
        assert (await one.get(moved[0].code)).pointer == "a|b"
        with pytest.raises(Full):
            await other.open("/")


async def test_the_idlest_room_without_followers_gives_way(stores, monkeypatch):
    for module in (store, redis_store):
        monkeypatch.setattr(module, "MAX_ROOMS", 3)
    async with stores() as (one, other, clock):
        codes = []
        for _ in range(3):
            codes.append((await one.open("/"))[0].code)
            clock[0] += 1
        with pytest.raises(Full):
            await other.open("/")  # they are all young
        clock[0] += store.IDLE
        seen = []
        async with other.follow(codes[0]):
            watching = asyncio.create_task(heard(one, codes[1], seen))
            await until(lambda: seen)
            new = (await other.open("/"))[0].code
            await watching
            for code in (codes[0], codes[2], new):
                await one.get(code)
            with pytest.raises(Gone):
                await one.get(codes[1])
        assert seen[-1] == "gone"


async def test_watchers_see_changes_and_the_end(stores):
    async with stores() as (one, other, _clock):
        code = (await one.open("/"))[0].code
        seen, silent = [], []
        watching = [asyncio.create_task(heard(other, code, seen)), asyncio.create_task(heard(one, code, silent, every=0.01))]
        await until(lambda: seen and None in silent)
        for step in range(20):
            await one.change(code, lambda room, step=step: room.shows({"address": f"/?step={step}"}, 1000.0))
        await until(lambda: seen[-1].address == "/?step=19")
        await one.end(code)
        await asyncio.gather(*watching)
        versions = [room.version for room in seen[:-1]]
        assert versions == sorted(versions) and seen[-1] == silent[-1] == "gone"


@pytest.mark.skipif(not REDIS, reason="no redis-server")
async def test_an_outage_of_redis_is_reported_and_ends(server, monkeypatch):
    monkeypatch.setattr(redis_store, "AGAIN", 1.0)
    one, other = (redis_store.connected(server.url) for _ in range(2))
    code, seen = (await one.open("/"))[0].code, []
    async with one.follow(code):
        watching = asyncio.create_task(heard(one, code, seen, every=0.05))
        await until(lambda: seen)
        server.stop()
        try:
            unchanged = one.change(code, lambda room: room)
            for asked in (one.get(code), one.open("/"), unchanged, one.end(code), one.followers(code)):
                with pytest.raises(Away):
                    await asked
            with pytest.raises(Away):
                async with other.follow(code):
                    pass
            seen.clear()
            await until(lambda: None in seen)  # the stream lives
        finally:
            server.start()
        changed = await other.change(code, lambda room: room.shows({"blank": True}, 1e10))  # before the first one listens
        await until(lambda: changed in seen)
        assert await other.followers(code) == 1
        watching.cancel()


@pytest.mark.skipif(not REDIS, reason="no redis-server")
async def test_who_followed_at_a_process_that_died_counts_no_more(server):
    one, other = (redis_store.connected(server.url) for _ in range(2))
    code, clock = (await one.open("/"))[0].code, [one.now()]
    for each in (one, other):
        each.now = lambda: clock[0]
    following = [each.follow(code) for each in (one, other)]
    for each in following:
        await each.__aenter__()
    clock[0] += redis_store.LIVES - 1
    await other._count(code)
    assert await other.followers(code) == 2
    clock[0] += 2
    assert await other.followers(code) == 1


@pytest.mark.parametrize("url", ["localhost:6379", "http://localhost", "redis://localhost:x", "redis://localhost?db=a"])
def test_a_bad_redis_address_is_one_sentence(url):
    with pytest.raises(ValueError, match=r"^REDIS_URL is not a Redis URL; expected a form like redis://localhost:6379/0\.$"):
        redis_store.connected(url)


def test_a_silent_redis_is_named_without_its_password(capsys, tmp_path):
    redis_store.connected(f"unix://:secret@{tmp_path}/none.sock")
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "No Redis answers at" in said and "secret" not in said
