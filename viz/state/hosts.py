"""Allowed host names, allowed origins, and the lab's address for other machines.

A foreign page may point its own name at this machine (DNS rebinding) and would share the lab's origin. The check of the
Host header prevents this. IP addresses need no name server, so they are always allowed.
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

LOCAL_ONLY = "This lab answers only on this computer. To open it to the room, restart it with HOST=0.0.0.0 make run."
NOT_FOUND = (
    "Other machines cannot reach this address. Restart with `make run HOST=0.0.0.0 LAB_ADDRESS=http://<this machine>:8501`."
)
OTHER_SCHEME = (
    "A page of %s was refused: the lab serves %s. If a proxy ends TLS, let it send X-Forwarded-Proto and name it in "
    "FORWARDED_ALLOW_IPS. Or start the lab with LAB_ADDRESS=%s."
)
ANYWHERE = {"0.0.0.0": "192.0.2.1", "::": "2001:db8::1"}  # listening addresses, each with an unused remote one
CONTAINERS = ("/.dockerenv", "/run/.containerenv")  # files of a container, whose address is private
BRIDGES = ("docker", "br-", "veth", "virbr", "lo")  # interfaces that lead to no other machine
SIOCGIFADDR = 0x8915  # Linux: get the address of an interface
HOST = re.compile(r"([\w.-]+|\[[\da-f:.]+\])(?::(\d{1,5}))?", re.ASCII)  # of a Host header in lower case: name, port
PORTS = {"http": 80, "https": 443}
_shared: str | None = None
_is_open = False  # to other machines


def shared_address() -> str | None:
    """Returns the lab's address for others, such as http://192.168.1.20:8501, or None: see `sharing_help`."""
    return _shared


def is_shared() -> bool:
    """True where other machines can reach the lab, as far as `share` knows."""
    return _is_open or _shared is not None


def sharing_help() -> str:
    """Returns a message that says how to get a `shared_address`."""
    return NOT_FOUND if _is_open else LOCAL_ONLY


def share(host: str, port: int, wanted: str = "") -> str | None:
    """Determines and stores `shared_address`: `wanted` (LAB_ADDRESS) if set, else the listening address.

    Raises ValueError for a `wanted` that is no http(s) address.
    """
    global _shared, _is_open
    here, _is_open = host.strip("[]"), not is_this_machine(host)
    if wanted:
        if not re.fullmatch(r"https?://([\w.-]+|\[[\da-f:]+\])(:\d{1,5})?/?", wanted, re.ASCII | re.IGNORECASE):
            raise ValueError(f"LAB_ADDRESS is {wanted[:60]!r}; expected what others type, such as http://192.168.1.20:8501.")
        _shared = wanted.rstrip("/").lower()
    else:
        address = next(_addresses(here), None) if here in ANYWHERE else here if _is_open else None
        _shared = address and site_url(address, port)
    return _shared


def site_url(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def address_for_others(scheme: str, host: str) -> str | None:
    """Returns the address to show others, for a browser that reached the lab with this Host header."""
    return shared_address() if is_this_machine(name_of(host)) else f"{scheme}://{host}"


def is_this_machine(name: str) -> bool:
    """True for loopback names and addresses."""
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")


def _addresses(listening: str) -> Iterator[str]:
    """Yields this machine's network addresses, the most likely first. Connecting a datagram socket sends nothing."""
    if any(Path(mark).exists() for mark in CONTAINERS):
        return
    family = socket.AF_INET6 if ":" in listening else socket.AF_INET
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((ANYWHERE[listening], 9))
        if not ipaddress.ip_address(address := probe.getsockname()[0]).is_loopback:
            yield address
    if family == socket.AF_INET:  # a network without internet, such as a hotspot, may have no route
        yield from _interface_addresses()


def ipv4_addresses() -> tuple[str, ...]:
    """Returns this machine's IPv4 addresses for others, the most likely first. Those of a container are private: none."""
    names = []
    with contextlib.suppress(OSError):
        names = socket.gethostbyname_ex(socket.gethostname())[2]
    addresses = list(_addresses("0.0.0.0"))
    in_container = any(Path(mark).exists() for mark in CONTAINERS)
    known = dict.fromkeys([*addresses, *([] if in_container else names)])
    return tuple(each for each in known if not ipaddress.ip_address(each).is_loopback)


def _interface_addresses() -> Iterator[str]:
    try:
        import fcntl
    except ImportError:  # Windows
        return
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):
                reply = fcntl.ioctl(probe.fileno(), SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
                if not name.startswith(BRIDGES):
                    yield socket.inet_ntoa(reply[20:24])


def name_of(host: str) -> str:
    """Returns the name in a Host header in lower case, without port and IPv6 brackets."""
    host = host.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].rstrip(".")


def own_names(host: str, more: str = "") -> frozenset[str]:
    """Returns this machine's names, the listening address, and the names of a comma-separated list (ALLOWED_HOSTS)."""
    here = socket.gethostname()
    names = {"localhost", host, here, f"{here}.local", socket.getfqdn(), *more.split(",")}
    return frozenset(each for name in names if (each := name_of(name)))


def is_allowed_host(host: str, names: Iterable[str]) -> bool:
    """True for an IP address, one of the names, or a name ending in .localhost; False for a malformed header."""
    match = HOST.fullmatch(host.strip().lower())
    if match is None or int(match[2] or 0) > 65535:
        return False
    name = match[1].rstrip(".")
    try:
        ipaddress.IPv6Address(name[1:-1]) if name.startswith("[") else ipaddress.IPv4Address(name)
        return True
    except ValueError:
        return name in names or name.endswith(".localhost")


def origin_of(scheme: str, host: str) -> tuple[str, str, int] | None:
    """Returns scheme, name and port of a site, or None for anything else."""
    match = HOST.fullmatch(host.strip().lower())
    if scheme not in PORTS or match is None:
        return None
    return scheme, match[1].rstrip("."), int(match[2] or PORTS[scheme])


def is_from_elsewhere(scope: Scope) -> bool:
    """True for a request from a page of another origin, by scheme, name and port.

    The scheme comes from the connection or a trusted proxy (X-Forwarded-Proto). A page of LAB_ADDRESS also counts as the
    lab's own, if the Host header has its name and port.
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
    """Returns an address; of IPv6 its /64 network, since one machine has many addresses there."""
    if ":" not in host:
        return host
    try:
        return str(ipaddress.ip_network((host.partition("%")[0], 64), strict=False))
    except ValueError:
        return host


def check_host(app: ASGIApp, names: frozenset[str]) -> ASGIApp:
    """Rejects requests with a foreign Host header; the response says what to do."""

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await app(scope, receive, send)
        host = dict(scope.get("headers", ())).get(b"host", b"").decode("latin-1")
        if is_allowed_host(host, names):
            return await app(scope, receive, send)
        if scope["type"] == "websocket":
            return await send({"type": "websocket.close", "code": 1008})
        own = "".join(char for char in name_of(host) if char.isascii() and (char.isalnum() or char in "-._"))[:80]
        message = f"This lab does not answer to the name {own!r}. If it is yours, start the lab with ALLOWED_HOSTS={own}.\n"
        headers = [(b"content-type", b"text/plain; charset=utf-8")]
        await send({"type": "http.response.start", "status": 400, "headers": headers})
        await send({"type": "http.response.body", "body": message.encode()})

    return checked


def check_origin(app: ASGIApp) -> ASGIApp:
    """Accepts pages of the lab's own origin under any allowed name, and rejects websockets of other pages.

    Streamlit compares addresses only. It would reject visitors who typed this machine's name, and accept pages of every
    other server on this machine.
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
