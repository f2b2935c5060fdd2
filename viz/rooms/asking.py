"""Who asks for a room, and how often: faults with their sentences, limits, and what a request says."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from cachetools import LRUCache
from starlette.requests import ClientDisconnect, Request
from starlette.types import Scope

from viz.rooms.room import MAX_ADDRESS, Room, code_of
from viz.rooms.store import MAX_FOLLOWERS, Away, Full, Gone, Store

MAX_BODY = 4 * MAX_ADDRESS  # bytes
PATIENCE = 30.0  # s until a request has to be here
WRONG_A_MINUTE = 60  # codes that are no room's, from one address: a class may sit behind one
OPENED_A_MINUTE = 20
MAX_MET = 20_000  # rooms by the addresses that know their codes

GONE = "No room has this code, or it has ended: ask your lecturer for the code on the screen."
ROOM_FULL = f"This room is full: {MAX_FOLLOWERS} follow it already."
LAB_FULL = "There are as many rooms as this lab keeps: end one, or wait until one has been silent for hours."
AWAY = "The place where this lab keeps its rooms does not answer: try again in a moment."
TOO_OFTEN = "Too many tries from this address: wait a minute."
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


class Door:
    """Lets in who knows a room's code, or its secret, and keeps who tries from finding any.

    The address that counts is that of the connection, or what a trusted proxy says of it: uvicorn puts it there. Who is
    behind the address of a guesser is not shut out of a room that was met from there before: that one is known there.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.wrong, self.opened = Often(WRONG_A_MINUTE), Often(OPENED_A_MINUTE)
        self._met: LRUCache[tuple[str, str], bool] = LRUCache(MAX_MET)

    async def open(self, request: Request) -> dict[str, str]:
        """A new room at the address that is asked for: its code and secret."""
        who = address_of(request)
        if self.opened.too_often(who):
            raise Refused(429, TOO_OFTEN)
        told = await said(request)
        self.opened.count(who)
        room, secret = await self.store.open(told.get("address", "/"))
        self._met[who, room.code] = True
        return {"code": room.code, "secret": secret}

    async def room(self, request: Request) -> Room:
        """The room of a request's code; Gone, Away, Refused, ValueError."""
        who = address_of(request)
        typed = request.path_params["code"]
        if self.wrong.too_often(who) and (who, _plain(typed)) not in self._met:
            raise Refused(429, TOO_OFTEN)
        try:
            room = await self.store.get(code_of(typed))
        except (Gone, ValueError):
            self.wrong.count(who)
            raise
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


def _plain(typed: str) -> str:
    try:
        return code_of(typed)
    except ValueError:
        return ""


def address_of(request: Request) -> str:
    """Who asks; of IPv6 the part that a household is given: each machine there has addresses without end."""
    host = request.client.host if request.client else ""
    if ":" not in host:
        return host
    try:
        return str(ipaddress.ip_network((host.partition("%")[0], 64), strict=False))
    except ValueError:
        return host


def is_from_elsewhere(scope: Scope) -> bool:
    """True where a page of another origin has a visitor's browser ask."""
    headers = dict(scope["headers"])
    origin = headers.get(b"origin", b"")
    return bool(origin) and origin.partition(b"://")[2] != headers.get(b"host")


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
