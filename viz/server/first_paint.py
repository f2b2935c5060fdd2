"""Additions to the first HTML page, and the health routes.

The page gets the stylesheet, so that nothing jumps; the reconnecting script, before the first websocket; the store of the
components' parts, which no run has to mount then; and the lab's address for copied links. /healthz says that the process
answers, /readyz that the model is loaded.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from viz import theme
from viz.state import hosts

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY = b"<body>"
SCRIPTS = (Path(__file__).with_name("reconnect.js"), Path(theme.__file__).with_name("kit") / "browser_store.js")
ASKED_ANEW = (b"accept-encoding", b"if-none-match", b"if-modified-since")  # else the page comes compressed, or not at all
OF_THE_FILE = (b"content-length", b"etag", b"last-modified")


def with_stylesheet(app: ASGIApp) -> ASGIApp:
    """Adds stylesheet and script to each HTML page of `app`; other responses stay unchanged."""
    shared = hosts.shared_address()
    where = f'<meta name="attention-lab-shared" content="{html.escape(shared)}">' if shared else ""
    scripts = "".join(f"<script>(() => {{\n{path.read_text(encoding='utf-8')}}})();</script>" for path in SCRIPTS)
    added = f"{theme.first_stylesheet()}{where}{scripts}".encode()

    async def with_additions(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET" or b"text/html" not in _header(scope, b"accept"):
            await app(scope, receive, send)
            return
        start: Message | None = None
        body = b""

        async def answer(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start" and _header(message, b"content-type").startswith(b"text/html"):
                start = message
            elif start is None or message["type"] != "http.response.body":
                await send(message)
            else:
                body += message.get("body", b"")
                if not message.get("more_body"):
                    body = body.replace(BODY, BODY + added, 1)
                    headers = [(name, value) for name, value in start["headers"] if name.lower() not in OF_THE_FILE]
                    await send({**start, "headers": [*headers, (b"content-length", str(len(body)).encode())]})
                    await send({"type": "http.response.body", "body": body})

        headers = [(name, value) for name, value in scope["headers"] if name not in ASKED_ANEW]
        await app({**scope, "headers": headers}, receive, answer)

    return with_additions


def _header(message: Scope | Message, name: bytes) -> bytes:
    return next((value for key, value in message.get("headers", ()) if key.lower() == name), b"")


STARTING = "starting: the model is being loaded"


@dataclass
class Readiness:
    """The reason why the server is not ready; empty once it is."""

    fault: str = STARTING


def with_health(app: ASGIApp, readiness: Readiness) -> ASGIApp:
    """Answers the two routes with 200 "ok" or 503 and the reason; other requests pass."""

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"] if scope["type"] == "http" else ""
        if path not in ("/healthz", "/readyz"):
            await app(scope, receive, send)
            return
        fault = readiness.fault if path == "/readyz" else ""
        body = f"{fault or 'ok'}\n".encode()
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"),
        ]
        await send({"type": "http.response.start", "status": 503 if fault else 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    return answered
