"""Which names the lab answers to, and which pages it lets in.

A page elsewhere may point a name of its own at this machine (DNS rebinding) and would then be of the same origin as the lab.
What protects is the Host header: it carries that name. An address in digits needs no name server, so it is always let in.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


def name_of(host: str) -> str:
    """The name in a Host header, in lower case, without its port and the brackets of an IPv6 address."""
    host = host.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].rstrip(".")


def own_names(host: str, more: str = "") -> frozenset[str]:
    """What this machine is called, where the lab listens, and the names of a list with commas (ALLOWED_HOSTS)."""
    here = socket.gethostname()
    names = {"localhost", host, here, f"{here}.local", socket.getfqdn(), *more.split(",")}
    return frozenset(found for name in names if (found := name_of(name)))


def is_let_in(host: str, names: Iterable[str]) -> bool:
    """True for an address in digits, for one of the names, and for what ends in .localhost."""
    name = name_of(host)
    try:
        ipaddress.ip_address(name.partition("%")[0])
        return True
    except ValueError:
        return name in names or name.endswith(".localhost")


def only_known(app: ASGIApp, names: frozenset[str]) -> ASGIApp:
    """Turns away requests for names that are not this machine's, with a sentence that says what to do."""

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await app(scope, receive, send)
        host = dict(scope.get("headers", ())).get(b"host", b"").decode("latin-1")
        if is_let_in(host, names):
            return await app(scope, receive, send)
        if scope["type"] == "websocket":
            return await send({"type": "websocket.close", "code": 1008})
        shown = "".join(char for char in name_of(host) if char.isascii() and (char.isalnum() or char in "-._"))[:80]
        told = f"This lab does not answer to the name {shown!r}. If it is yours, start the lab with ALLOWED_HOSTS={shown}.\n"
        headers = [(b"content-type", b"text/plain; charset=utf-8")]
        await send({"type": "http.response.start", "status": 400, "headers": headers})
        await send({"type": "http.response.body", "body": told.encode()})

    return checked


def same_origin(app: ASGIApp) -> ASGIApp:
    """Lets in a page that was served from the very address that it now asks, whatever name the visitors know it by.

    Streamlit knows this machine by its addresses alone, and would turn away who types its name in a lecture hall.
    """

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope.get("headers", ()))
        origin = headers.get(b"origin", b"").partition(b"://")[2]
        if origin and origin == headers.get(b"host"):
            trusted = (b"origin", b"http://localhost")
            scope = {**scope, "headers": [trusted if name == b"origin" else (name, v) for name, v in scope["headers"]]}
        await app(scope, receive, send)

    return checked
