"""Two routes for who runs the lab: /healthz, the process answers; /readyz, its model is loaded and no visitor need wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

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
