"""What stands in the very page that a browser fetches first: the stylesheet, so that what comes later finds its place and
nothing jumps; the script that loses nothing while a server starts anew, which must be there before the first socket; and
where others find this lab, for links that are copied.

Two routes for who runs the lab: /healthz, the process answers; /readyz, its model is loaded and no visitor need wait."""

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
SCRIPT = Path(__file__).with_name("reconnect.js")
ASKED_ANEW = (b"accept-encoding", b"if-none-match", b"if-modified-since")  # else the page would come packed, or not at all
OF_THE_FILE = (b"content-length", b"etag", b"last-modified")


def with_stylesheet(app: ASGIApp) -> ASGIApp:
    """Adds stylesheet and script to every page of HTML that `app` answers with; all else that it answers is passed on."""
    shared = hosts.shared_address()
    where = f'<meta name="attention-lab-shared" content="{html.escape(shared)}">' if shared else ""
    added = f"{theme.first_stylesheet()}{where}<script>{SCRIPT.read_text(encoding='utf-8')}</script>".encode()

    async def shown(scope: Scope, receive: Receive, send: Send) -> None:
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

    return shown


def _header(message: Scope | Message, name: bytes) -> bytes:
    return next((value for key, value in message.get("headers", ()) if key.lower() == name), b"")


STARTING = "starting: the model is being loaded"


@dataclass
class Readiness:
    """What keeps this process from serving visitors at once; empty once nothing does."""

    fault: str = STARTING


def with_health(app: ASGIApp, readiness: Readiness) -> ASGIApp:
    """Answers the two routes, 200 with "ok" or 503 with what is missing; all else is passed on."""

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
