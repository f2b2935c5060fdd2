"""Any requests at the routes of rooms: each is answered, in one sentence where it is refused, and without the secret nothing
that a lecturer shows is moved."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

from tests.fuzz.core import fuzzer
from tests.support.room_helpers import run
from viz.rooms.documents import Documents
from viz.rooms.room import LETTERS
from viz.rooms.routes import Rooms
from viz.rooms.store import MemoryStore

ODD = ("", "é", "\0", "<b>", "../..", "\ud800", "//evil.example", "/\\evil.example", "a" * 9000, "il", "/heads?layer=3", " ")
VALUES = (None, True, 0, 1, -1, 1e308, float("nan"), [], {}, ["il", "elle"], [0.5, 0.4], "next", "head", "k" * 8)
FIELDS = ("address", "pointer", "blank", "kind", "text", "options", "model", "answer", "voter", "number", "word", "é")
KINDS = (b"application/json", b"text/plain", b"", b"application/json; charset=utf-8")


class Silent(Documents):
    """Makes none: what is asked for here is no view."""

    def begin(self, code: str, address: Any) -> None:
        pass

    async def of(self, code: str, address: Any) -> Any:
        raise ValueError(f"{await address():.1} is shown.")


def _value(draw: random.Random, deep: int = 2) -> Any:
    if deep and draw.random() < 0.2:
        return draw.choice(([_value(draw, deep - 1)] * draw.randint(0, 20), {draw.choice(ODD): _value(draw, deep - 1)}))
    return draw.choice((*ODD, *VALUES))


def _body(draw: random.Random) -> bytes:
    if draw.random() < 0.1:
        return draw.choice((draw.randbytes(draw.randint(0, 99)), b"[" * 40_000, b"[" * 20_000, b"9" * 9000, b"x" * 99_000))
    said = {draw.choice(FIELDS): _value(draw) for _ in range(draw.randint(0, 5))}
    return json.dumps(said if draw.random() < 0.9 else list(said)).encode()


async def _asked(draw: random.Random, app: Any, path: str, method: str, headers: list) -> tuple[int, str]:
    """Status and text of a request; a stream is left after its first event."""
    waiting = [{"type": "http.request", "body": _body(draw)}]
    sent, left = [], asyncio.Event()

    async def receive():
        if not waiting:
            await left.wait()
        return waiting.pop() if waiting else {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)
        if message["type"] == "http.response.body":
            left.set()

    scope = {"type": "http", "scheme": "http", "method": method, "path": path, "headers": headers, "query_string": b""}
    await app(scope | {"client": ("10.0.0.1", 1), "root_path": ""}, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent).decode()


@fuzzer("rooms", few=60)
def rooms(draw: random.Random) -> str:
    """Some requests at a room with a question; the room as it was shown before and after."""

    async def story() -> str:
        made = Rooms(MemoryStore())
        made.documents = Silent()
        room, secret = await made.store.open("/heads")
        await made.store.change(room.code, lambda room: room.asks("next", "What?", ["il", "elle"], [0.5, 0.4], room.moved))
        before, owns, refused = await made.store.get(room.code), False, 0
        for _ in range(draw.randint(1, 8)):
            code = draw.choice((room.code, room.code.lower(), "".join(draw.choices(LETTERS, k=6)), draw.choice(ODD)))
            part = draw.choice(
                ("", *(f"/{n}" for n in ("show", "ask", "reveal", "end", "vote", "events", "page", "qr.svg", "x")))
            )
            own = draw.random() < 0.3
            owns |= own
            key = f"Bearer {secret if own else draw.choice(('', secret[:-1], 'x'))}".encode()
            headers = [(b"host", b"lab:1"), (b"content-type", draw.choice(KINDS))]
            headers += [(b"authorization", key)] if own or draw.random() < 0.5 else []
            method = draw.choice(("GET", "POST", "POST", "POST", "HEAD", "PUT"))
            path = draw.choice(("/rooms", f"/rooms/{code}{part}", f"/rooms/{code}{part}", f"/rooms/{code}{part}"))
            status, text = await _asked(draw, made.router, path, method, headers)
            assert status in (200, 201, 204, 307, 400, 403, 404, 405, 409, 413, 415, 429), status
            if status >= 400:
                refused += 1
                assert method == "HEAD" or (text and len(text) < 1200 and "\n" not in text and "Traceback" not in text), text
        if not owns:
            after = await made.store.get(room.code)
            assert (after.address, after.pointer, after.blank, after.question.answer) == (before.address, "", False, None)
        return "refused" if refused else "answered"

    return run(story())
