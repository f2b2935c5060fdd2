"""Routes of rooms. A follower holds one stream of events and causes no Streamlit run.

POST /rooms                 {address} -> {code, secret}
GET  /rooms/CODE            current state
GET  /rooms/CODE/events     stream of events: the state at once and at every change, and a comment every 15 s
GET  /rooms/CODE/page       current page as one HTML document
GET  /rooms/CODE/qr.svg     QR code of the followers' address
GET  /rooms/CODE/answers.csv  all answers; lecturer only
POST /rooms/CODE/show       {address | pointer | blank}; lecturer only, like the next five
POST /rooms/CODE/ask        {kind, text, options, model, columns, again}; again: an earlier number of the same question
POST /rooms/CODE/reveal     {answer}
POST /rooms/CODE/close      {}; removes the question from every screen
POST /rooms/CODE/here       {}; the lecturer's page is still open
POST /rooms/CODE/end        {}
POST /rooms/CODE/screen     {state}: of the lecturer's screen, for the presenter view; lecturer only, like the next three
POST /rooms/CODE/act        {action | action, stop, text}: a command of the presenter view for the screen
GET  /rooms/CODE/presenter/events  stream of the room with the screen's state; followers do not count it as the lecturer
GET  /rooms/CODE/presenter.svg     QR code of the presenter view, with the secret in the fragment
POST /rooms/CODE/vote       {voter, number, word, sure}; sure: from 1 to 3

The lecturer's requests carry `Authorization: Bearer SECRET`. Errors are 4xx or 503, with one sentence.
"""

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

from viz.classroom.rooms import documents, presenter_page
from viz.classroom.rooms.access import ELSEWHERE, NO_PLACE, AccessControl, NetworkLimits, address_of, read_json, refusal
from viz.classroom.rooms.answers_csv import answers_table
from viz.classroom.rooms.documents import Document, Documents, NoDocument, sentence_page, sentence_policy
from viz.classroom.rooms.room import Room
from viz.classroom.rooms.room_file import file_of_port
from viz.classroom.rooms.store import MemoryStore, Store
from viz.classroom.rooms.stream import Events, Presence
from viz.state import hosts

QUIET = 4  # white modules around a QR code, which cameras need


def svg(address: str) -> bytes:
    """Returns a QR code as SVG, black on white, without a size."""
    import segno

    picture = io.BytesIO()
    segno.make(address, error="m", micro=False).save(
        picture, kind="svg", border=QUIET, light="white", omitsize=True, xmldecl=False, svgclass=None, lineclass=None
    )
    return picture.getvalue()


Answer = Callable[[Request], Awaitable[Response]]
FRAMED = "sandbox allow-scripts allow-forms allow-popups allow-popups-to-escape-sandbox; frame-ancestors 'self'"


class Rooms:
    """The routes over one store."""

    def __init__(self, store: Store, more: Sequence[Route] = ()) -> None:
        """Creates the routes; `more` are the routes of the followers' page."""
        self.store, self.door, self.crowd, self.documents = store, AccessControl(store), NetworkLimits(), Documents()
        self.presence = Presence(store)
        self.closing = asyncio.Event()  # the server stops; followers reconnect later
        moves: dict[str, Callable[[Room, dict[str, Any]], Room]] = {
            "show": lambda room, values: room.shows(values, time.time()),
            "ask": _ask,
            "reveal": lambda room, values: room.reveals(values.get("answer"), time.time()),
            "close": lambda room, values: room.closes(time.time()),
            "screen": lambda room, values: room.takes_screen(values),
            "act": lambda room, values: room.takes_command(values, time.time()),
        }
        base = "/rooms/{code}"
        gets = {"": self.look, "/events": self.events, "/page": self.page, "/qr.svg": self.qr, "/answers.csv": self.answers}
        gets |= {"/presenter/events": self.presenter_events, "/presenter.svg": self.presenter_qr}
        posts = {f"/{name}": self._move(move) for name, move in moves.items()} | {
            "/here": self.here,
            "/end": self.end,
            "/vote": self.vote,
        }
        self.router = Router(
            [
                Route("/rooms", _answered(self.open), methods=["POST"]),
                *(_get(base + name, does) for name, does in gets.items()),
                *(Route(base + name, _answered(does), methods=["POST"]) for name, does in posts.items()),
                *more,
            ],
            default=PlainTextResponse(NO_PLACE, 404),
        )

    def over(self, app: ASGIApp) -> ASGIApp:
        """Wraps `app`: answers the routes of rooms and passes on everything else."""

        async def answered(scope: Scope, receive: Receive, send: Send) -> None:
            path = scope["path"] if scope["type"] == "http" else ""
            mine = path.startswith("/") and path.split("/")[1] in ("rooms", "follow", "presenter")
            if mine and hosts.is_from_elsewhere(scope):
                await PlainTextResponse(ELSEWHERE, 403)(scope, receive, send)
                return
            await (self.router if mine else app)(scope, receive, send)

        return answered

    async def open(self, request: Request) -> Response:
        room = await self.door.open(request)
        self.documents.begin(room["code"], lambda: self._address(room["code"]))  # ready before the first follower
        return JSONResponse(room, 201)

    async def look(self, request: Request) -> Response:
        return JSONResponse((await self.door.room(request)).describe(), headers={"cache-control": "no-store"})

    async def here(self, request: Request) -> Response:
        await self.presence.mark_lecturer_seen((await self.door.own(request)).code)
        return Response(status_code=204)

    async def end(self, request: Request) -> Response:
        await self.store.end((await self.door.own(request)).code)
        return Response(status_code=204)

    async def vote(self, request: Request) -> Response:
        room, values = await self.door.room(request), await read_json(request)
        vote = [*(values.get(name) for name in ("voter", "number", "word", "sure")), time.time()]
        with self.crowd.voting(address_of(request), room, values.get("voter")):
            await self.store.change(room.code, lambda room: room.votes(*vote), quiet=True)
        return Response(status_code=204)

    def _move(self, move: Callable[[Room, dict[str, Any]], Room]) -> Answer:
        async def moved(request: Request) -> Response:
            room, values = await self.door.own(request), await read_json(request)
            await self.store.change(room.code, lambda room: move(room, values))
            return Response(status_code=204)

        return moved

    async def events(self, request: Request) -> Response:
        is_lecturer = "authorization" in request.headers
        code = (await (self.door.own if is_lecturer else self.door.room)(request)).code
        counted = contextlib.nullcontext() if is_lecturer else self.crowd.following(self.store, address_of(request), code)
        private = Room.describe_for_screen if is_lecturer else None
        return await self._stream(code, counted, self.presence.streaming(code, is_lecturer), private)

    async def presenter_events(self, request: Request) -> Response:
        code = (await self.door.own(request)).code
        counted, present = contextlib.nullcontext(), self.presence.streaming(code)
        return await self._stream(code, counted, present, Room.describe_for_presenter)

    async def _stream(
        self,
        code: str,
        counted: contextlib.AbstractAsyncContextManager[None],
        present: contextlib.AbstractAsyncContextManager[None],
        private: Callable[[Room, float], dict[str, Any]] | None,
    ) -> Response:
        """Returns the stream of a room, counted while it is open; raises Gone, Full, Away or Refused."""
        following = _both(counted, present)
        await following.__aenter__()
        return Events(self.store, code, following, self.closing, private)

    async def page(self, request: Request) -> Response:
        """Returns the document of the room's current page. Followers cannot request any other computation."""
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

    async def answers(self, request: Request) -> Response:
        table = answers_table(await self.door.own(request))
        headers = {"cache-control": "no-store", "content-disposition": 'attachment; filename="answers.csv"'}
        return Response(table.csv(), media_type="text/csv; charset=utf-8", headers=headers)

    async def qr(self, request: Request) -> Response:
        room = await self.door.room(request)
        return _qr(request, lambda address: _picture(f"{address}/follow/{room.code}"))

    async def presenter_qr(self, request: Request) -> Response:
        room, secret = await self.door.own(request), request.headers["authorization"].partition(" ")[2]
        return _qr(request, lambda address: svg(f"{address}/presenter#{room.code}.{secret}"))  # the secret is not cached


@contextlib.asynccontextmanager
async def _both(*contexts: contextlib.AbstractAsyncContextManager[None]) -> AsyncIterator[None]:
    """Enters contexts in turn."""
    async with contextlib.AsyncExitStack() as stack:
        for each in contexts:
            await stack.enter_async_context(each)
        yield


def _qr(request: Request, draw: Callable[[str], bytes]) -> Response:
    """Returns the QR code that `draw` makes of the lab's address for others, or what to do if there is none."""
    address = hosts.address_for_others(request.url.scheme, request.headers.get("host", ""))
    if address is None:
        return PlainTextResponse(hosts.sharing_help(), 409)
    headers = {"cache-control": "no-store", "content-security-policy": "default-src 'none'"}
    return Response(draw(address), media_type="image/svg+xml", headers=headers)


def _ask(room: Room, values: dict[str, Any]) -> Room:
    first, more = ("kind", "text", "options", "model"), ("columns", "again")
    return room.asks(*map(values.get, first), time.time(), *map(values.get, more))


@lru_cache(64)
def _picture(address: str) -> bytes:
    return svg(address)


def _get(path: str, does: Answer) -> Route:
    """Returns a GET route without HEAD, which would open a stream."""
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


def _document(request: Request, document: Document, status: int = 200, sentence: bool = False) -> Response:
    """Returns a document for a sandboxed frame; 304 if the browser has it."""
    headers = {
        "content-security-policy": f"{FRAMED}; {sentence_policy()}" if sentence else FRAMED,
        "cache-control": "no-cache",
        "etag": f'"{document.tag}"',
        "vary": "accept-encoding",
        "x-content-type-options": "nosniff",
    }
    if status == 200 and f'"{document.tag}"' in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(gzip.decompress(document.packed), status, headers, "text/html; charset=utf-8")
    return Response(document.packed, status, headers | {"content-encoding": "gzip"}, "text/html; charset=utf-8")


is_mounted = False  # set by `viz.server.serve` if this process answers the routes


def rooms(redis_url: str, port: int = 0) -> Rooms:
    """Returns the routes over a store: memory, with a file if there is a port, or the Redis at a URL.

    Raises ValueError for an invalid URL.
    """
    return Rooms(_store(redis_url, port), more=[*documents.routes(), *presenter_page.routes()])


def _store(redis_url: str, port: int) -> Store:
    if not redis_url:
        return MemoryStore(file=file_of_port(port) if port else None)
    from viz.classroom.rooms.redis_store import connected

    return connected(redis_url)
