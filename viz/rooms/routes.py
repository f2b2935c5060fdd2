"""The routes of rooms, beside Streamlit's: who follows holds one stream of events, and costs no run of a page.

POST /rooms                 {address} -> {code, secret}
GET  /rooms/CODE            what is shown now
GET  /rooms/CODE/events     the same as a stream of events: at once, at every change, and a comment every 15 s
POST /rooms/CODE/show       {address | pointer | blank}; the lecturer alone, as the next three
POST /rooms/CODE/ask        {kind, text, options, model}
POST /rooms/CODE/reveal     {answer}
POST /rooms/CODE/end        {}
POST /rooms/CODE/vote       {voter, number, word}

The lecturer's requests carry `Authorization: Bearer SECRET`. Faults are 4xx with one sentence.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from viz.rooms.room import MAX_ADDRESS, Room, code_of
from viz.rooms.store import MAX_FOLLOWERS, Full, Gone, Store

MAX_BODY = 4 * MAX_ADDRESS  # bytes
ALIVE = 15.0  # s between two signs of life
PAUSE = 0.1  # s between two events to one follower: what changed in between comes with the next
WRONG_A_MINUTE = 60  # codes that are no room's, from one address: a class may sit behind one
OPENED_A_MINUTE = 20

GONE = "No room has this code, or it has ended: ask your lecturer for the code on the screen."
ROOM_FULL = f"This room is full: {MAX_FOLLOWERS} follow it already."
LAB_FULL = "There are as many rooms as this lab keeps: end one, or wait until one has been silent for hours."
TOO_OFTEN = "Too many tries from this address: wait a minute."
NOT_YOURS = "Only who opened this room can move it: this page does not hold its secret."
ELSEWHERE = "Only the lab's own pages may ask for this."
NO_JSON = "The request is no JSON object of a size that a room takes."


class Refused(Exception):
    """A fault with the sentence that the browser shows."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


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
        for known in [name for name, times in self._when.items() if self.now() - times[-1] > 60]:
            del self._when[known]
        self._when.setdefault(address, deque(maxlen=self.most)).append(self.now())


class Rooms:
    """The routes over one store."""

    def __init__(self, store: Store, more: Sequence[Route] = ()) -> None:
        """`more` are routes that are answered beside them, at /follow."""
        self.store = store
        self.wrong, self.opened = Often(WRONG_A_MINUTE), Often(OPENED_A_MINUTE)
        moves: dict[str, Callable[[Room, dict[str, Any]], Room]] = {
            "show": lambda room, said: room.shows(said, time.time()),
            "ask": lambda room, said: room.asks(*(said.get(k) for k in ("kind", "text", "options", "model")), time.time()),
            "reveal": lambda room, said: room.reveals(said.get("answer"), time.time()),
        }
        at = "/rooms/{code}"
        self.router = Router(
            [
                Route("/rooms", self._answered(self.open), methods=["POST"]),
                Route(at, self._answered(self.look), methods=["GET"]),
                Route(f"{at}/events", self._answered(self.events), methods=["GET"]),
                *(Route(f"{at}/{name}", self._answered(self._move(move)), methods=["POST"]) for name, move in moves.items()),
                Route(f"{at}/end", self._answered(self.end), methods=["POST"]),
                Route(f"{at}/vote", self._answered(self.vote), methods=["POST"]),
                *more,
            ]
        )

    def over(self, app: ASGIApp) -> ASGIApp:
        """Answers the routes of rooms, and hands all else to `app`."""

        async def answered(scope: Scope, receive: Receive, send: Send) -> None:
            path = scope["path"] if scope["type"] == "http" else ""
            mine = path.startswith("/") and path.split("/")[1] in ("rooms", "follow")
            if mine and _is_from_elsewhere(scope):
                await PlainTextResponse(ELSEWHERE, 403)(scope, receive, send)
                return
            await (self.router if mine else app)(scope, receive, send)

        return answered

    # -- what the routes do -----------------------------------------------------------------------------------------

    async def open(self, request: Request) -> Response:
        who = _address(request)
        if self.opened.too_often(who):
            raise Refused(429, TOO_OFTEN)
        said = await _said(request)
        self.opened.count(who)
        room, secret = await self.store.open(said.get("address", "/"))
        return JSONResponse({"code": room.code, "secret": secret}, 201)

    async def look(self, request: Request) -> Response:
        room = await self._room(request)
        return JSONResponse(room.told())

    async def end(self, request: Request) -> Response:
        await self.store.end((await self._own(request)).code)
        return Response(status_code=204)

    async def vote(self, request: Request) -> Response:
        room, said = await self._room(request), await _said(request)
        await self.store.change(room.code, lambda room: room.votes(said.get("voter"), said.get("number"), said.get("word")))
        return Response(status_code=204)

    def _move(self, move: Callable[[Room, dict[str, Any]], Room]) -> Callable[[Request], Awaitable[Response]]:
        async def moved(request: Request) -> Response:
            room, said = await self._own(request), await _said(request)
            await self.store.change(room.code, lambda room: move(room, said))
            return Response(status_code=204)

        return moved

    async def events(self, request: Request) -> Response:
        lecturer = "authorization" in request.headers  # who shows is no follower, and is told how many there are
        room = await (self._own if lecturer else self._room)(request)
        following = None if lecturer else self.store.follow(room.code)
        if following:
            await following.__aenter__()

        async def stream() -> AsyncIterator[str]:
            try:
                sent = None
                async for _ in self.store.changes(room.code, ALIVE):
                    told = (await self.store.get(room.code)).told()
                    if lecturer:
                        told["followers"] = await self.store.followers(room.code)
                    if told == sent:
                        yield ": alive\n\n"
                        continue
                    sent = told
                    yield f"id: {told['version']}\ndata: {json.dumps(told)}\n\n"
                    await asyncio.sleep(PAUSE)
            except Gone:
                yield "event: ended\ndata: {}\n\n"
            finally:
                if following:
                    await following.__aexit__(None, None, None)

        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(stream(), media_type="text/event-stream", headers=headers)

    # -- who asks ---------------------------------------------------------------------------------------------------

    async def _room(self, request: Request) -> Room:
        who = _address(request)
        if self.wrong.too_often(who):
            raise Refused(429, TOO_OFTEN)
        try:
            return await self.store.get(code_of(request.path_params["code"]))
        except (Gone, ValueError):
            self.wrong.count(who)
            raise

    async def _own(self, request: Request) -> Room:
        room = await self._room(request)
        kind, _, secret = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not room.opens(secret):
            self.wrong.count(_address(request))
            raise Refused(403, NOT_YOURS)
        return room

    def _answered(self, does: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def answered(request: Request) -> Response:
            try:
                return await does(request)
            except Refused as fault:
                return PlainTextResponse(str(fault), fault.status)
            except Gone:
                return PlainTextResponse(GONE, 404)
            except Full:
                full = request.url.path == "/rooms"
                return PlainTextResponse(LAB_FULL if full else ROOM_FULL, 503)
            except ValueError as fault:
                return PlainTextResponse(str(fault), 400)

        return answered


def _is_from_elsewhere(scope: Scope) -> bool:
    """True where a page of another origin has a visitor's browser ask."""
    headers = dict(scope["headers"])
    origin = headers.get(b"origin", b"")
    return bool(origin) and origin.partition(b"://")[2] != headers.get(b"host")


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


async def _said(request: Request) -> dict[str, Any]:
    """The JSON object of a request's body; a form of another page cannot send this kind. Refused."""
    body = b""
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > MAX_BODY:
                raise Refused(413, NO_JSON)
    except ClientDisconnect:
        raise Refused(400, NO_JSON) from None
    if not request.headers.get("content-type", "").startswith("application/json"):
        raise Refused(415, NO_JSON)
    try:
        said = json.loads(body or b"{}")
    except ValueError:
        raise Refused(400, NO_JSON) from None
    if not isinstance(said, dict):
        raise Refused(400, NO_JSON)
    return said
