"""The routes of rooms, beside Streamlit's: who follows holds one stream of events, and costs no run of a page.

POST /rooms                 {address} -> {code, secret}
GET  /rooms/CODE            what is shown now
GET  /rooms/CODE/events     the same as a stream of events: at once, at every change, and a comment every 15 s
GET  /rooms/CODE/page       the page that is shown now, as one document
GET  /rooms/CODE/qr.svg     the address at which the room is followed
POST /rooms/CODE/show       {address | pointer | blank}; the lecturer alone, as the next five
POST /rooms/CODE/ask        {kind, text, options, model}
POST /rooms/CODE/reveal     {answer}
POST /rooms/CODE/close      {}; the question goes from every screen
POST /rooms/CODE/here       {}; a sign that the lecturer's page is open
POST /rooms/CODE/end        {}
POST /rooms/CODE/vote       {voter, number, word}

The lecturer's requests carry `Authorization: Bearer SECRET`. Faults are 4xx, or 503, with one sentence.

What `viz.server.serve` mounts beside Streamlit: the routes of rooms, and the page of those who follow one.

An address as a QR code, drawn here."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import io
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import lru_cache
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from viz.classroom.rooms import follow
from viz.classroom.rooms.access import (
    ELSEWHERE,
    NO_PLACE,
    Crowd,
    Door,
    address_of,
    refusal,
    said,
)
from viz.classroom.rooms.documents import (
    Document,
    Documents,
    NoDocument,
    sentence_page,
    sentence_policy,
)
from viz.classroom.rooms.presence import Presence
from viz.classroom.rooms.room import Room
from viz.classroom.rooms.store import MemoryStore, Store
from viz.classroom.rooms.stream import Events
from viz.state import hosts

QUIET = 4  # modules of white around it: cameras need them, and on a dark page more than ever


def svg(address: str) -> bytes:
    """A picture in black on white, of whatever size it is shown at."""
    import segno

    made = io.BytesIO()
    segno.make(address, error="m", micro=False).save(
        made, kind="svg", border=QUIET, light="white", omitsize=True, xmldecl=False, svgclass=None, lineclass=None
    )
    return made.getvalue()


Answer = Callable[[Request], Awaitable[Response]]
FRAMED = "sandbox allow-scripts allow-forms allow-popups allow-popups-to-escape-sandbox; frame-ancestors 'self'"


class Rooms:
    """The routes over one store."""

    def __init__(self, store: Store, more: Sequence[Route] = ()) -> None:
        """`more` are routes that are answered beside them, at /follow."""
        self.store, self.door, self.crowd, self.documents = store, Door(store), Crowd(), Documents()
        self.presence = Presence(store)
        self.closing = asyncio.Event()  # the server is to stop, and who follows comes back when it is there again
        moves: dict[str, Callable[[Room, dict[str, Any]], Room]] = {
            "show": lambda room, said: room.shows(said, time.time()),
            "ask": lambda room, said: room.asks(*(said.get(k) for k in ("kind", "text", "options", "model")), time.time()),
            "reveal": lambda room, said: room.reveals(said.get("answer"), time.time()),
            "close": lambda room, said: room.closes(time.time()),
        }
        at = "/rooms/{code}"
        gets = {"": self.look, "/events": self.events, "/page": self.page, "/qr.svg": self.qr}
        posts = {f"/{name}": self._move(move) for name, move in moves.items()} | {
            "/here": self.here,
            "/end": self.end,
            "/vote": self.vote,
        }
        self.router = Router(
            [
                Route("/rooms", _answered(self.open), methods=["POST"]),
                *(_get(at + name, does) for name, does in gets.items()),
                *(Route(at + name, _answered(does), methods=["POST"]) for name, does in posts.items()),
                *more,
            ],
            default=PlainTextResponse(NO_PLACE, 404),
        )

    def over(self, app: ASGIApp) -> ASGIApp:
        """Answers the routes of rooms, and hands all else to `app`."""

        async def answered(scope: Scope, receive: Receive, send: Send) -> None:
            path = scope["path"] if scope["type"] == "http" else ""
            mine = path.startswith("/") and path.split("/")[1] in ("rooms", "follow")
            if mine and hosts.is_from_elsewhere(scope):
                await PlainTextResponse(ELSEWHERE, 403)(scope, receive, send)
                return
            await (self.router if mine else app)(scope, receive, send)

        return answered

    async def open(self, request: Request) -> Response:
        made = await self.door.open(request)
        self.documents.begin(made["code"], lambda: self._address(made["code"]))  # who comes finds it made
        return JSONResponse(made, 201)

    async def look(self, request: Request) -> Response:
        return JSONResponse((await self.door.room(request)).told(), headers={"cache-control": "no-store"})

    async def here(self, request: Request) -> Response:
        await self.presence.hear((await self.door.own(request)).code)
        return Response(status_code=204)

    async def end(self, request: Request) -> Response:
        await self.store.end((await self.door.own(request)).code)
        return Response(status_code=204)

    async def vote(self, request: Request) -> Response:
        room, told = await self.door.room(request), await said(request)
        vote = [told.get(name) for name in ("voter", "number", "word")]
        with self.crowd.voting(address_of(request), room, told.get("voter")):
            await self.store.change(room.code, lambda room: room.votes(*vote), quiet=True)
        return Response(status_code=204)

    def _move(self, move: Callable[[Room, dict[str, Any]], Room]) -> Answer:
        async def moved(request: Request) -> Response:
            room, told = await self.door.own(request), await said(request)
            await self.store.change(room.code, lambda room: move(room, told))
            return Response(status_code=204)

        return moved

    async def events(self, request: Request) -> Response:
        is_lecturer = "authorization" in request.headers
        code = (await (self.door.own if is_lecturer else self.door.room)(request)).code
        following = self._following(address_of(request), code, is_lecturer)
        await following.__aenter__()
        return Events(self.store, code, following, self.closing, is_lecturer)

    @contextlib.asynccontextmanager
    async def _following(self, who: str, code: str, is_lecturer: bool) -> AsyncIterator[None]:
        """Counts a stream as long as it is entered; Gone, Full, Away, Refused."""
        counted = contextlib.nullcontext() if is_lecturer else self.crowd.following(self.store, who, code)
        async with counted, self.presence.streaming(code, is_lecturer):
            yield

    async def page(self, request: Request) -> Response:
        """Who follows can have nothing computed but what the room shows at this moment."""
        try:
            code = (await self.door.room(request)).code
            return _document(request, await self.documents.of(code, lambda: self._address(code)))
        except NoDocument as fault:
            return _document(request, sentence_page(str(fault), fault.address, code), sentence=True)
        except Exception as fault:
            status, sentence = refusal(fault)
            return _document(request, sentence_page(sentence), status, sentence=True)

    async def _address(self, code: str) -> str:
        return (await self.store.get(code)).address

    async def qr(self, request: Request) -> Response:
        room = await self.door.room(request)
        found = hosts.address_for_others(request.url.scheme, request.headers.get("host", ""))
        if found is None:
            return PlainTextResponse(hosts.why_not_shared(), 409)
        headers = {"cache-control": "no-store", "content-security-policy": "default-src 'none'"}
        return Response(_picture(f"{found}/follow/{room.code}"), media_type="image/svg+xml", headers=headers)


@lru_cache(64)
def _picture(address: str) -> bytes:
    return svg(address)


def _get(path: str, does: Answer) -> Route:
    """A route without the HEAD that would open a stream for nobody."""
    route = Route(path, _answered(does), methods=["GET"])
    route.methods = {"GET"}
    return route


def _answered(does: Answer) -> Answer:
    async def answered(request: Request) -> Response:
        try:
            return await does(request)
        except Exception as fault:
            status, sentence = refusal(fault, opening=request.url.path == "/rooms")
            return PlainTextResponse(sentence, status)

    return answered


def _document(request: Request, made: Document, status: int = 200, sentence: bool = False) -> Response:
    """A document as a browser takes it into a frame without an origin; 304 where it has it."""
    headers = {
        "content-security-policy": f"{FRAMED}; {sentence_policy()}" if sentence else FRAMED,
        "cache-control": "no-cache",
        "etag": f'"{made.tag}"',
        "vary": "accept-encoding",
        "x-content-type-options": "nosniff",
    }
    if status == 200 and f'"{made.tag}"' in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(gzip.decompress(made.packed), status, headers, "text/html; charset=utf-8")
    return Response(made.packed, status, headers | {"content-encoding": "gzip"}, "text/html; charset=utf-8")


is_mounted = False  # whether this process answers the routes, as `viz.server.serve` has it


def rooms(redis_url: str) -> Rooms:
    """The routes over a store: this process alone, or the Redis of an address (REDIS_URL). ValueError for what is none."""
    return Rooms(_store(redis_url), more=follow.routes())


def _store(redis_url: str) -> Store:
    if not redis_url:
        return MemoryStore()
    from viz.classroom.rooms.redis_store import connected

    return connected(redis_url)
