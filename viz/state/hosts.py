"""Which names the lab answers to, which pages it lets in, and at what address others find it.

A page elsewhere may point a name of its own at this machine (DNS rebinding) and would then be of the same origin as the lab.
What protects is the Host header: it carries that name. An address in digits needs no name server, so it is always let in.
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import re
import socket
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

ALONE = "This lab answers on this computer alone. To open it to the room, stop it and start it with HOST=0.0.0.0 make run."
NOT_FOUND = "This lab's address in the network is not known here: start it with LAB_ADDRESS=, what others type to find it."
OTHER_SCHEME = (
    "A page of %s was refused, because the lab serves %s. If a proxy ends TLS, let it send X-Forwarded-Proto and name it in "
    "FORWARDED_ALLOW_IPS, or start the lab with LAB_ADDRESS=%s."
)
ANYWHERE = {"0.0.0.0": "192.0.2.1", "::": "2001:db8::1"}  # addresses to listen on, and one that is nobody's, far away
CONTAINERS = ("/.dockerenv", "/run/.containerenv")  # there the address of this machine is nobody else's
BRIDGES = ("docker", "br-", "veth", "virbr", "lo")  # interfaces that lead to no other machine
SIOCGIFADDR = 0x8915  # Linux: what address an interface has
HOST = re.compile(r"([\w.-]+|\[[\da-f:.]+\])(?::(\d{1,5}))?", re.ASCII)  # of a Host header in lower case: name, port
PORTS = {"http": 80, "https": 443}
_shared: str | None = None
_is_open = False  # to other machines


def shared_address() -> str | None:
    """Where others find this lab, such as http://192.168.1.20:8501; None where it answers this machine alone, or where that
    is not known: see `why_not_shared`."""
    return _shared


def is_shared() -> bool:
    """True where other machines can reach the lab, as far as `share` knows."""
    return _is_open or _shared is not None


def why_not_shared() -> str:
    """What to do where there is no `shared_address`, one sentence or two."""
    return NOT_FOUND if _is_open else ALONE


def share(host: str, port: int, wanted: str = "") -> str | None:
    """Finds and keeps `shared_address` for where the lab listens; `wanted` (LAB_ADDRESS) is taken for it where it is given.

    Raises ValueError, one sentence, for a `wanted` that is no address of a site.
    """
    global _shared, _is_open
    here, _is_open = host.strip("[]"), not is_this_machine(host)
    if wanted:
        if not re.fullmatch(r"https?://([\w.-]+|\[[\da-f:]+\])(:\d{1,5})?/?", wanted, re.ASCII | re.IGNORECASE):
            raise ValueError(f"LAB_ADDRESS is {wanted[:60]!r}; expected what others type, such as http://192.168.1.20:8501.")
        _shared = wanted.rstrip("/").lower()
    else:
        found = next(_addresses(here), None) if here in ANYWHERE else here if _is_open else None
        _shared = found and site(found, port)
    return _shared


def site(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def address_for_others(scheme: str, host: str) -> str | None:
    """What others type who see the screen of a browser that knows this lab by a Host header."""
    return shared_address() if is_this_machine(name_of(host)) else f"{scheme}://{host}"


def is_this_machine(name: str) -> bool:
    """True for names and addresses by which a machine knows itself alone."""
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")


def _addresses(listening: str) -> Iterator[str]:
    """This machine's addresses in its network, the likeliest first. Nothing is sent: a socket for datagrams that is told
    whom it is for only looks up by which address it would go."""
    if any(Path(mark).exists() for mark in CONTAINERS):
        return
    family = socket.AF_INET6 if ":" in listening else socket.AF_INET
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((ANYWHERE[listening], 9))
        if not ipaddress.ip_address(found := probe.getsockname()[0]).is_loopback:
            yield found
    if family == socket.AF_INET:  # a network that leads nowhere else, as of a phone that is a hotspot, may have no such way
        yield from _of_interfaces()


def _of_interfaces() -> Iterator[str]:
    try:
        import fcntl
    except ImportError:  # Windows
        return
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):
                told = fcntl.ioctl(probe.fileno(), SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
                if not name.startswith(BRIDGES):
                    yield socket.inet_ntoa(told[20:24])


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
    """True for an address in digits, for one of the names, and for what ends in .localhost; False for a malformed header."""
    found = HOST.fullmatch(host.strip().lower())
    if found is None or int(found[2] or 0) > 65535:
        return False
    name = found[1].rstrip(".")
    try:
        ipaddress.IPv6Address(name[1:-1]) if name.startswith("[") else ipaddress.IPv4Address(name)
        return True
    except ValueError:
        return name in names or name.endswith(".localhost")


def origin_of(scheme: str, host: str) -> tuple[str, str, int] | None:
    """Scheme, name and port of a site; None for what is no site of the web."""
    found = HOST.fullmatch(host.strip().lower())
    if scheme not in PORTS or found is None:
        return None
    return scheme, found[1].rstrip("."), int(found[2] or PORTS[scheme])


def is_from_elsewhere(scope: Scope) -> bool:
    """True where a page of another origin has a visitor's browser ask: scheme, name and port are compared.

    The scheme is that of the connection, or what a trusted proxy says (X-Forwarded-Proto). A page of LAB_ADDRESS is one of
    this lab as well, if the Host header has its name and port.
    """
    headers = dict(scope["headers"])
    if b"origin" not in headers:
        return False
    host, text = (headers.get(name, b"").decode("latin-1") for name in (b"host", b"origin"))
    scheme, _, rest = text.lower().partition("://")
    origin = origin_of(scheme, rest)
    own = {"ws": "http", "wss": "https"}.get(scope.get("scheme", "http"), scope.get("scheme", "http"))
    shared_scheme, _, shared_host = (shared_address() or "").partition("://")
    sites = {origin_of(own, host)}
    if (shared := origin_of(shared_scheme, shared_host)) == origin_of(shared_scheme, host):
        sites.add(shared)
    if origin is not None and origin in sites:
        return False
    if origin is not None and origin == origin_of(scheme, host):
        logging.getLogger(__name__).warning(OTHER_SCHEME, *(f"{each}://{host}"[:100] for each in (scheme, own, scheme)))
    return True


def network_of(host: str) -> str:
    """An address; of IPv6 the part that a household is given, because each machine there has addresses without end."""
    if ":" not in host:
        return host
    try:
        return str(ipaddress.ip_network((host.partition("%")[0], 64), strict=False))
    except ValueError:
        return host


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
    """Lets in a page that was served from the very address that it now asks, whatever name the visitors know it by, and
    turns away the websocket of any other page.

    Streamlit knows this machine by its addresses alone: it would turn away who types its name in a lecture hall, and let in
    the pages of every other server on this machine.
    """

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await app(scope, receive, send)
        is_elsewhere = is_from_elsewhere(scope)
        if is_elsewhere and scope["type"] == "websocket":
            return await send({"type": "websocket.close", "code": 1008})
        if not is_elsewhere:
            trusted = (b"origin", b"http://localhost")
            scope = {**scope, "headers": [trusted if name == b"origin" else (name, v) for name, v in scope["headers"]]}
        await app(scope, receive, send)

    return checked
