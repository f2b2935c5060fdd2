"""Access to rooms: error messages, rate limits of a network, and JSON requests.

Each process counts its own limits.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from cachetools import LRUCache
from starlette.requests import ClientDisconnect, Request

from viz.classroom.rooms.room import MAX_ADDRESS, Room, code_of
from viz.classroom.rooms.store import MAX_FOLLOWERS, Away, Full, Gone, Store
from viz.state.hosts import network_of

MAX_BODY = 4 * MAX_ADDRESS  # bytes
PATIENCE = 30.0  # s until a request must have arrived
WRONG_A_MINUTE = 60  # wrong codes from one network, which a class may share
OPENED_A_MINUTE = 20
MAX_ALIVE = 20  # open rooms from one network
MAX_STREAMS = 300  # followers of one room from one network
MAX_VOTERS = 500  # voters on one question from one network
MAX_MET = 20_000  # remembered pairs of network and room

GONE = "No open room has this code. Check the code on the lecturer's screen."
ROOM_FULL = f"This room is full. It has {MAX_FOLLOWERS} followers."
LAB_FULL = "All rooms of this lab are in use. End one, or try again in ten minutes."
AWAY = "The store of rooms does not answer. Try again in a moment."
TOO_OFTEN = "Too many attempts from this network. Wait a minute."
TOO_MANY = f"This network has {MAX_ALIVE} open rooms. End one first."
CROWDED = "This network has reached its follower limit. Use another network."
VOTED = "This network has reached its vote limit."
NOT_YOURS = "Only the lecturer can control this room. This page lacks its secret."
ELSEWHERE = "This address accepts requests from the lab's own pages only."
NO_JSON = f"The request is not a JSON object of at most {MAX_BODY:,} bytes."
NO_PLACE = "This address does not exist."


class Refused(Exception):
    """A refused request, with the message for the browser."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def refusal(fault: Exception, opening: bool = False) -> tuple[int, str]:
    """Returns status and message of an error; raises an unexpected error."""
    match fault:
        case Refused():
            return fault.status, str(fault)
        case Gone():
            return 404, GONE
        case Full():
            return 503, LAB_FULL if opening else ROOM_FULL
        case Away():
            return 503, AWAY
        case ValueError():
            return 400, str(fault)
    raise fault


class RateLimit:
    """Counts events of each network in the last minute."""

    def __init__(self, limit: int, now: Callable[[], float] = time.monotonic) -> None:
        self.limit, self.now = limit, now
        self._when: dict[str, deque[float]] = {}

    def is_exceeded(self, address: str) -> bool:
        times = self._when.get(address, ())
        while times and self.now() - times[0] > 60:
            times.popleft()
        return len(times) >= self.limit

    def count(self, address: str) -> None:
        for known in [name for name, times in self._when.items() if not times or self.now() - times[-1] > 60]:
            del self._when[known]
        self._when.setdefault(address, deque(maxlen=self.limit)).append(self.now())

    def take_back(self, address: str) -> None:
        """Removes the last event."""
        if times := self._when.get(address):
            times.pop()


class AccessControl:
    """Checks codes and secrets of rooms, and limits wrong attempts of each network.

    The network is that of the connection, or the one a trusted proxy reports (uvicorn sets it). A network that exceeds the
    limit still reaches the rooms that it has used before.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.wrong, self.opened = RateLimit(WRONG_A_MINUTE), RateLimit(OPENED_A_MINUTE)
        self._met: LRUCache[tuple[str, str], bool] = LRUCache(MAX_MET)
        self._alive: LRUCache[str, set[object]] = LRUCache(MAX_MET)  # codes, and placeholders of rooms being opened
        self._sought: dict[tuple[str, str], asyncio.Task[Room]] = {}

    async def open(self, request: Request) -> dict[str, str]:
        """Opens a room at the requested address and returns its code and secret. Counts before the first await."""
        who, placeholder = address_of(request), object()
        if self.opened.is_exceeded(who):
            raise Refused(429, TOO_OFTEN)
        self.opened.count(who)
        values = await read_json(request)
        rooms = self._alive.setdefault(who, set())
        rooms.add(placeholder)
        try:
            if len(rooms) > MAX_ALIVE:
                await self._forget_ended(rooms)
            if len(rooms) > MAX_ALIVE:
                raise Refused(429, TOO_MANY)
            room, secret = await self.store.open(values.get("address", "/"))
            rooms.add(room.code)
        finally:
            rooms.discard(placeholder)
        self._met[who, room.code] = True
        return {"code": room.code, "secret": secret}

    async def _forget_ended(self, rooms: set[object]) -> None:
        for code in [each for each in rooms if isinstance(each, str)]:
            try:
                await self.store.get(code)
            except Gone:
                rooms.discard(code)

    async def room(self, request: Request) -> Room:
        """Returns the room of a request's code; raises Gone, Away, Refused or ValueError."""
        who, typed = address_of(request), request.path_params["code"]
        code = _plain(typed)
        if (who, code) in self._met:
            return await self.store.get(code)
        key = who, code or typed
        if (sought := self._sought.get(key)) is None:
            if self.wrong.is_exceeded(who):
                raise Refused(429, TOO_OFTEN)
            self.wrong.count(who)  # before the await, so that parallel attempts count
            sought = self._sought[key] = asyncio.create_task(self._tried(who, typed))
            sought.add_done_callback(lambda done: (self._sought.pop(key), done.cancelled() or done.exception()))
        return await asyncio.shield(sought)  # parallel requests with one code are one attempt

    async def _tried(self, who: str, typed: str) -> Room:
        """Returns the room of a typed code; only a wrong code stays counted."""
        try:
            room = await self.store.get(code_of(typed))
        except (Gone, ValueError):
            raise
        except BaseException:
            self.wrong.take_back(who)
            raise
        self.wrong.take_back(who)
        self._met[who, room.code] = True
        return room

    async def own(self, request: Request) -> Room:
        """Returns the room if the request holds its secret, which bypasses the limit of wrong codes; raises Refused."""
        kind, _, secret = request.headers.get("authorization", "").partition(" ")
        try:
            room = await self.store.get(code_of(request.path_params["code"]))
            if kind.lower() == "bearer" and room.opens(secret):
                return room
        except (Gone, ValueError):
            pass
        await self.room(request)
        self.wrong.count(address_of(request))
        raise Refused(403, NOT_YOURS)


class NetworkLimits:
    """Limits followers and voters of one room from one network.

    Requests from this machine are not counted, because they come from a proxy that hides the network.
    """

    def __init__(self) -> None:
        self._streams: Counter[tuple[str, str]] = Counter()
        self._voters: LRUCache[tuple[str, str, int], set[str]] = LRUCache(MAX_MET)

    @contextlib.asynccontextmanager
    async def following(self, store: Store, who: str, code: str) -> AsyncIterator[None]:
        """Counts a follower while the context is open; raises Gone, Full or Refused."""
        if self._streams[who, code] >= MAX_STREAMS and not _is_here(who):
            raise Refused(429, CROWDED)
        self._streams[who, code] += 1
        try:
            async with store.follow(code):
                yield
        finally:
            self._streams[who, code] -= 1
            if not self._streams[who, code]:
                del self._streams[who, code]

    @contextlib.contextmanager
    def voting(self, who: str, room: Room, voter: Any) -> Iterator[None]:
        """Counts a first vote on a question, unless the body fails; raises Refused."""
        question = room.question
        if question is None or not isinstance(voter, str) or voter in question.votes or _is_here(who):
            yield
            return
        voters = self._voters.setdefault((who, room.seal, question.number), set())
        if voter not in voters and len(voters) >= MAX_VOTERS:
            raise Refused(429, VOTED)
        voters.add(voter)
        try:
            yield
        except BaseException:
            voters.discard(voter)
            raise


def _is_here(who: str) -> bool:
    return who in ("127.0.0.1", "::/64")


def _plain(typed: str) -> str:
    try:
        return code_of(typed)
    except ValueError:
        return ""


def address_of(request: Request) -> str:
    """Returns the network of a request."""
    return network_of(request.client.host if request.client else "")


async def read_json(request: Request) -> dict[str, Any]:
    """Returns the JSON object of a request's body; raises Refused. Forms of other pages cannot send JSON."""
    body = b""
    try:
        async with asyncio.timeout(PATIENCE):
            async for piece in request.stream():
                body += piece
                if len(body) > MAX_BODY:
                    raise Refused(413, NO_JSON)
    except (ClientDisconnect, TimeoutError):
        raise Refused(400, NO_JSON) from None
    if not request.headers.get("content-type", "").startswith("application/json"):
        raise Refused(415, NO_JSON)
    try:
        values = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        raise Refused(400, NO_JSON) from None
    if not isinstance(values, dict):
        raise Refused(400, NO_JSON)
    return values
