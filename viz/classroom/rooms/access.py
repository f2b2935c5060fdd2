"""Who asks for a room, and how often: faults with their sentences, limits, and what a request says.

All limits of an address are those of one process: where several serve a lab, each of them allows as much.
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
from viz.classroom.rooms.store import (
    MAX_FOLLOWERS,
    Away,
    Full,
    Gone,
    Store,
)
from viz.state.hosts import network_of

MAX_BODY = 4 * MAX_ADDRESS  # bytes
PATIENCE = 30.0  # s until a request has to be here
WRONG_A_MINUTE = 60  # codes that are no room's, from one address: a class may sit behind one
OPENED_A_MINUTE = 20
MAX_ALIVE = 20  # rooms that were opened from one address and have not ended
MAX_STREAMS = 300  # of one room from one address: a hall may sit behind one, and nobody fills a room alone
MAX_VOTERS = 500  # on one question from one address
MAX_MET = 20_000  # rooms by the addresses that know their codes

GONE = "No room has this code, or it has ended: ask your lecturer for the code on the screen."
ROOM_FULL = f"This room is full: {MAX_FOLLOWERS} follow it already."
LAB_FULL = "There are as many rooms as this lab keeps, and all of them are in use: end one, or try again in ten minutes."
AWAY = "The place where this lab keeps its rooms does not answer: try again in a moment."
TOO_OFTEN = "Too many tries from this address: wait a minute."
TOO_MANY = f"{MAX_ALIVE} rooms that were opened from this address are still open: end one of them first."
CROWDED = "As many devices as one address may have follow this room already: use another network, or look at the screen."
VOTED = "As many have voted from this address as one address may: the screen shows the answer."
NOT_YOURS = "Only who opened this room can move it: this page does not hold its secret."
ELSEWHERE = "Only the lab's own pages may ask for this."
NO_JSON = "The request is no JSON object of a size that a room takes."
NO_PLACE = "There is nothing at this address."


class Refused(Exception):
    """A fault with the sentence that the browser shows."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def refusal(fault: Exception, opening: bool = False) -> tuple[int, str]:
    """Status and sentence of a fault; what nobody foresaw is raised."""
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


class Often:
    """How often an address did something in the last minute."""

    def __init__(self, most: int, now: Callable[[], float] = time.monotonic) -> None:
        self.most, self.now = most, now
        self._when: dict[str, deque[float]] = {}

    def too_often(self, address: str) -> bool:
        times = self._when.get(address, ())
        while times and self.now() - times[0] > 60:
            times.popleft()
        return len(times) >= self.most

    def count(self, address: str) -> None:
        for known in [name for name, times in self._when.items() if not times or self.now() - times[-1] > 60]:
            del self._when[known]
        self._when.setdefault(address, deque(maxlen=self.most)).append(self.now())

    def take_back(self, address: str) -> None:
        """The last one was none."""
        if times := self._when.get(address):
            times.pop()


class Door:
    """Lets in who knows a room's code, or its secret, and keeps who tries from finding any.

    The address that counts is that of the connection, or what a trusted proxy says of it: uvicorn puts it there. Who is
    behind the address of a guesser is not shut out of a room that was met from there before: that one is known there.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.wrong, self.opened = Often(WRONG_A_MINUTE), Often(OPENED_A_MINUTE)
        self._met: LRUCache[tuple[str, str], bool] = LRUCache(MAX_MET)
        self._alive: LRUCache[str, set[object]] = LRUCache(MAX_MET)  # codes, and what stands for rooms to come
        self._sought: dict[tuple[str, str], asyncio.Task[Room]] = {}

    async def open(self, request: Request) -> dict[str, str]:
        """A new room at the address that is asked for: its code and secret. It counts before anything is waited for."""
        who, place = address_of(request), object()
        if self.opened.too_often(who):
            raise Refused(429, TOO_OFTEN)
        self.opened.count(who)
        told = await said(request)
        held = self._alive.setdefault(who, set())
        held.add(place)
        try:
            if len(held) > MAX_ALIVE:
                await self._forget_ended(held)
            if len(held) > MAX_ALIVE:
                raise Refused(429, TOO_MANY)
            room, secret = await self.store.open(told.get("address", "/"))
            held.add(room.code)
        finally:
            held.discard(place)
        self._met[who, room.code] = True
        return {"code": room.code, "secret": secret}

    async def _forget_ended(self, held: set[object]) -> None:
        for code in [each for each in held if isinstance(each, str)]:
            try:
                await self.store.get(code)
            except Gone:
                held.discard(code)

    async def room(self, request: Request) -> Room:
        """The room of a request's code; Gone, Away, Refused, ValueError."""
        who, typed = address_of(request), request.path_params["code"]
        code = _plain(typed)
        if (who, code) in self._met:
            return await self.store.get(code)
        key = who, code or typed
        if (sought := self._sought.get(key)) is None:
            if self.wrong.too_often(who):
                raise Refused(429, TOO_OFTEN)
            self.wrong.count(who)  # before it is waited for: of many tries at once no more are answered than may be
            sought = self._sought[key] = asyncio.create_task(self._tried(who, typed))
            sought.add_done_callback(lambda done: (self._sought.pop(key), done.cancelled() or done.exception()))
        return await asyncio.shield(sought)  # a class that comes with one code at once is one try

    async def _tried(self, who: str, typed: str) -> Room:
        """The room of what somebody tries, which is no wrong one then; nor is it where nothing was learned."""
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
        """The same for who holds its secret: who does is never taken for a guesser."""
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


class Crowd:
    """How many of one room are behind one address, so that nobody alone fills it. What comes from this very machine is not
    counted: it is a proxy that does not say whose it is."""

    def __init__(self) -> None:
        self._streams: Counter[tuple[str, str]] = Counter()
        self._voters: LRUCache[tuple[str, str, int], set[str]] = LRUCache(MAX_MET)

    @contextlib.asynccontextmanager
    async def following(self, store: Store, who: str, code: str) -> AsyncIterator[None]:
        """Counts a follower of a room as long as it is entered; Gone, Full, Refused."""
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
        """Counts who votes for the first time on a question, unless what is done meanwhile fails; Refused."""
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
    """Who asks, as a network."""
    return network_of(request.client.host if request.client else "")


async def said(request: Request) -> dict[str, Any]:
    """The JSON object of a request's body; a form of another page cannot send this kind. Refused."""
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
        found = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        raise Refused(400, NO_JSON) from None
    if not isinstance(found, dict):
        raise Refused(400, NO_JSON)
    return found
