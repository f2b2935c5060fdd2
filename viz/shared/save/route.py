"""POST /save/pdf: an SVG picture in, a PDF page out. How large, how long and how many at once is bounded; a page elsewhere
that has a visitor's browser ask gets nothing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from viz.hosts import is_from_elsewhere
from viz.shared.save import drawer

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/save/pdf"
LARGEST = 4 * 1024 * 1024  # bytes of a picture
AT_ONCE = 8  # pictures that are read or wait to be drawn; one is drawn at a time
PATIENCE = 30.0  # seconds until a picture has to be here
is_mounted = False  # whether this process answers the route, as `viz.server` has it


class Refused(Exception):
    """An answer that is no page: its status, and what the visitor reads."""

    def __init__(self, status: int, told: str) -> None:
        super().__init__(told)
        self.status = status


def with_pdf(app: ASGIApp) -> ASGIApp:
    """Answers the one route; all else is passed on."""
    waiting, drawing = 0, asyncio.Lock()

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal waiting
        if scope["type"] != "http" or scope["path"] != PATH:
            return await app(scope, receive, send)
        try:
            _check(scope)
            if waiting >= AT_ONCE:
                raise Refused(503, "Too many pictures are being drawn; try again in a moment.")
            waiting += 1
            try:
                svg = await _body(receive)
                async with drawing:
                    made = await asyncio.to_thread(_page, svg)
            finally:
                waiting -= 1
        except Refused as told:
            await _send(send, told.status, b"text/plain; charset=utf-8", f"{told}\n".encode())
        else:
            await _send(send, 200, b"application/pdf", made)

    return answered


def _check(scope: Scope) -> None:
    """Refused where the request is none that the lab's own page makes, or says that it is too large."""
    if scope["method"] != "POST":
        raise Refused(405, "Send an SVG picture to this address by POST.")
    headers = dict(scope["headers"])
    if is_from_elsewhere(scope):
        raise Refused(403, "Only the lab's own page may ask for this.")
    said = headers.get(b"content-length", b"0")
    if not said.isdigit() or int(said[:20]) > LARGEST:
        raise _too_large()


def _too_large() -> Refused:
    return Refused(413, f"The picture is too large for a PDF: at most {LARGEST >> 20} MB. Save it as SVG instead.")


async def _body(receive: Receive) -> str:
    """What was sent, as text."""
    parts, length, more = [], 0, True
    try:
        async with asyncio.timeout(PATIENCE):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Refused(400, "The picture did not arrive as a whole.")
                parts.append(message.get("body", b""))
                length, more = length + len(parts[-1]), message.get("more_body", False)
                if length > LARGEST:
                    raise _too_large()
        return b"".join(parts).decode()
    except TimeoutError:
        raise Refused(408, "The picture did not arrive in time.") from None
    except UnicodeDecodeError:
        raise Refused(400, "That is not an SVG picture.") from None


def _page(svg: str) -> bytes:
    try:
        return drawer.draw(svg)
    except ValueError as fault:
        raise Refused(400, str(fault)) from None


async def _send(send: Send, status: int, kind: bytes, body: bytes) -> None:
    length = str(len(body)).encode()
    headers = [(b"content-type", kind), (b"content-length", length), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
