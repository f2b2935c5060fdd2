"""Limits for connections: per network, per time of a request, and for connections without a request.

They keep a client with many silent connections from blocking others.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections import Counter
from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import PlainTextResponse
from uvicorn.config import Config
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from viz.state.hosts import network_of

MAX_CONNECTIONS = 2000  # of one process; more get status 503
MAX_OF_ADDRESS = 1200  # of one network: 150 people may share one, and a browser opens 8
MAX_SILENT = 1000  # without a request; the next one closes the oldest
HEAD_SECONDS = 10.0  # until the head of a request is here
BODY_SECONDS = 30.0  # without a byte of a request's body
CROWDED = "Your network has too many connections to this lab. Close some of its pages, or use another network."
REFUSED = "A connection from %s is refused: %d from its network are open."


@dataclass
class ConnectionLimits:
    """The limits of one process, and what counts towards them."""

    of_address: int = MAX_OF_ADDRESS
    silent: int = MAX_SILENT
    head_seconds: float = HEAD_SECONDS
    body_seconds: float = BODY_SECONDS
    proxies: Container[str | None] = ()  # trusted addresses, each of many visitors
    counts: Counter[str] = field(default_factory=Counter)  # connections by network address
    waiting: dict[LimitedProtocol, None] = field(default_factory=dict)  # for their first request, the oldest first

    def enter(self, host: str) -> bool:
        """Counts a connection of an address; False if its network has reached the limit."""
        if self._is_proxy(host):
            return True
        if self.counts[network_of(host)] >= self.of_address:
            return False
        self.counts[network_of(host)] += 1
        return True

    def leave(self, host: str) -> None:
        """Reverts `enter`."""
        if self._is_proxy(host):
            return
        self.counts[network_of(host)] -= 1
        if not self.counts[network_of(host)]:
            del self.counts[network_of(host)]

    def _is_proxy(self, host: str) -> bool:
        try:
            return host in self.proxies or ipaddress.ip_address(host).is_loopback
        except ValueError:
            return not host  # a Unix socket


class LimitedProtocol(H11Protocol):
    """uvicorn's HTTP connection under `ConnectionLimits`."""

    limits: ConnectionLimits
    _host: str | None = None  # counted address; None if uncounted or taken over by a websocket
    _timer: asyncio.TimerHandle | None = None
    _awaits = ""  # "head" or "body" of a request, until the timer ends

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        host = self.client[0] if self.client else ""
        if self.limits.enter(host):
            self._host = host
        else:
            logging.getLogger(__name__).warning(REFUSED, host, self.limits.of_address)
            self.app = PlainTextResponse(CROWDED, 503, {"connection": "close"})
        self.limits.waiting[self] = None
        self._expect("head")
        if len(self.limits.waiting) > self.limits.silent:
            oldest = next(iter(self.limits.waiting))
            del self.limits.waiting[oldest]
            oldest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect("")
        self.limits.waiting.pop(self, None)
        if self._host is not None:
            self.limits.leave(self._host)
            self._host = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look(self._awaits)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look("")

    def handle_websocket_upgrade(self, event: Any) -> None:
        if self._host is None:
            self.transport.abort()
            return
        super().handle_websocket_upgrade(event)
        protocol = self.transport.get_protocol()
        if isinstance(protocol, LimitedWebSocket):
            protocol.limits, protocol.host, self._host = self.limits, self._host, None
        self._expect("")
        self.limits.waiting.pop(self, None)

    def _look(self, before: str) -> None:
        """Sets the timer for the part that the client still has to send; a running timer for a head goes on."""
        if self.transport.is_closing() or self.transport.get_protocol() is not self:
            return
        if self.cycle is not None:
            self.limits.waiting.pop(self, None)
        if self.cycle is not None and self.cycle.more_body:
            self._expect("body")
        elif self.cycle is not None and not self.cycle.response_complete:
            self._expect("")
        elif before != "head":
            self._expect("head")

    def _expect(self, what: str) -> None:
        """Closes the connection unless the part arrives in time; the empty string awaits nothing."""
        if self._timer is not None:
            self._timer.cancel()
        self._awaits, self._timer = what, None
        if what:
            seconds = {"head": self.limits.head_seconds, "body": self.limits.body_seconds}[what]
            self._timer = self.loop.call_later(seconds, self._give_up)

    def _give_up(self) -> None:
        if self.flow.read_paused:  # the server is slow, not the client
            self._expect(self._awaits)
        else:
            self.transport.abort()


class LimitedWebSocket(WebSocketsSansIOProtocol):
    """uvicorn's websocket, which is counted while it is open."""

    limits: ConnectionLimits | None = None
    host: str | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        if self.limits and self.host is not None:
            self.limits.leave(self.host)
            self.host = None
        super().connection_lost(exc)


def limited(config: Config, **limits: Any) -> Config:
    """Returns the configuration with limited protocols; `limits` are arguments of `ConnectionLimits`."""
    proxies = ProxyHeadersMiddleware(config.app, config.forwarded_allow_ips).trusted_hosts  # type: ignore[arg-type]
    shared = ConnectionLimits(proxies=proxies, **limits)
    config.http, config.ws = type("Http", (LimitedProtocol,), {"limits": shared}), LimitedWebSocket
    return config
