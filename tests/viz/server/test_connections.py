"""Whom a server keeps out that others fill with connections: nobody. With real sockets and small limits."""

import asyncio
import contextlib
import select
import socket
import threading
import time

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute

from viz.server.connections import CROWDED, ConnectionLimits, limited

ONE, OTHER = "127.0.0.2", "127.0.0.3"  # two addresses of this machine, for two networks
REQUEST = b"GET / HTTP/1.1\r\nHost: lab\r\n\r\n"
HANDSHAKE = REQUEST.replace(b"/ ", b"/ws ", 1)[:-2] + (
    b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
POST = b"POST / HTTP/1.1\r\nHost: lab\r\nContent-Length: 4\r\n\r\n"


async def page(request):
    await request.body()
    return PlainTextResponse("ok")


async def slow(request):
    await request.app.state.message.wait()
    return PlainTextResponse("ok")


async def talk(websocket):
    await websocket.accept()
    message = await websocket.receive()
    if message["type"] == "websocket.receive":
        websocket.app.state.message.set()


@pytest.fixture
def serve(monkeypatch):
    """Starts a server under limits and returns its port. Addresses of this machine count as any other."""
    monkeypatch.setattr(ConnectionLimits, "_is_proxy", lambda self, host: host in self.proxies)
    with contextlib.ExitStack() as ends:

        def started(**limits):
            pages = [Route("/", page, methods=["GET", "POST"]), Route("/slow", slow)]
            app = Starlette(routes=[*pages, WebSocketRoute("/ws", talk)])
            app.state.message = asyncio.Event()
            listening = ends.enter_context(socket.create_server(("127.0.0.1", 0)))
            config = uvicorn.Config(
                app, log_config=None, access_log=False, limit_concurrency=20, timeout_graceful_shutdown=1
            )
            server = uvicorn.Server(limited(config, **limits))
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
            thread.start()
            ends.callback(thread.join, 60)
            ends.callback(setattr, server, "should_exit", True)
            return listening.getsockname()[1]

        yield started


@contextlib.contextmanager
def opened(port, *sent, count=1, who=ONE):
    """Connections from an address, each of which has sent something."""
    with contextlib.ExitStack() as ends:
        made = []
        for _ in range(count):
            made.append(ends.enter_context(socket.create_connection(("127.0.0.1", port), 60, (who, 0))))
            for part in sent:
                made[-1].sendall(part)
        yield made


def answer(connection):
    """All that comes until the server closes or an answer is whole."""
    text = b""
    with contextlib.suppress(ConnectionError):
        while not text.endswith((b"ok", b".", b"Service Unavailable")) and (part := connection.recv(4096)):
            text += part
            if text.startswith(b"HTTP/1.1 101") and text.endswith(b"\r\n\r\n"):
                break
    return text


def asked(port, who=ONE):
    with opened(port, REQUEST, who=who) as (connection,):
        return answer(connection)


def test_silent_connections_lock_nobody_out(serve):
    port = serve(silent=5, of_address=1000, head_seconds=60.0)
    with opened(port, count=50):
        assert asked(port, who=OTHER).startswith(b"HTTP/1.1 200")
        assert asked(port).startswith(b"HTTP/1.1 200")


def test_an_address_has_a_number_of_connections(serve):
    port = serve(of_address=6)
    with opened(port, HANDSHAKE, count=6) as held:
        assert all(b" 101 " in answer(each) for each in held)
        refused = asked(port)
        assert refused.startswith(b"HTTP/1.1 503") and refused.endswith(CROWDED.encode())
        assert asked(port, who=OTHER).startswith(b"HTTP/1.1 200")
        with opened(port, HANDSHAKE) as (late,):
            assert answer(late) == b""
    deadline = time.monotonic() + 60
    while not asked(port).startswith(b"HTTP/1.1 200"):
        assert time.monotonic() < deadline


def test_a_proxy_stands_for_many_visitors(serve, monkeypatch):
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", ONE)
    port = serve(of_address=2)
    with opened(port, HANDSHAKE, count=5) as held:
        assert all(b" 101 " in answer(each) for each in held)
        assert asked(port).startswith(b"HTTP/1.1 200")


def test_this_machine_is_unlimited_and_an_ipv6_network_is_one():
    limits = ConnectionLimits(of_address=0)
    assert limits.enter("127.0.0.1") and limits.enter("::1") and limits.enter("")
    assert not limits.enter("192.0.2.1") and not limits.enter("2001:db8::1")
    limits = ConnectionLimits(of_address=2)
    assert limits.enter("2001:db8::1") and limits.enter("2001:db8::2") and not limits.enter("2001:db8::3")
    limits.leave("2001:db8::1")
    assert limits.enter("2001:db8::3") and limits.enter("2001:db8:1::1")


@pytest.mark.parametrize(
    "sent",
    [(), (REQUEST[:9],), (REQUEST, REQUEST[:9]), (POST, b"ab")],
    ids=["nothing", "half a head", "half a second head", "half a body"],
)
def test_an_unfinished_request_is_closed(serve, sent):
    port = serve(head_seconds=0.5, body_seconds=0.5)
    with opened(port, *sent) as (connection,):
        if sent[:1] == (REQUEST,):
            assert answer(connection).endswith(b"ok")
        assert answer(connection) == b""


def test_a_head_that_comes_in_drops_has_no_more_time(serve):
    port = serve(head_seconds=0.5)
    with opened(port, b"GET / HTTP/1.1\r\n") as (connection,), contextlib.suppress(ConnectionError):
        for _ in range(1200):  # a minute
            connection.sendall(b"a: b\r\n")
            if select.select([connection], [], [], 0.05)[0]:
                assert connection.recv(1) == b""
                return
        pytest.fail("the connection is still open")


def test_who_waits_for_an_answer_is_not_closed(serve):
    port = serve(head_seconds=0.3, body_seconds=0.3)
    with opened(port, HANDSHAKE) as (held,), opened(port, REQUEST.replace(b"/ ", b"/slow ", 1)) as (slow,):
        assert b" 101 " in answer(held)
        for _ in range(2):  # connections that came later are closed
            with opened(port) as (silent,):
                assert answer(silent) == b""
        held.sendall(b"\x89\x80\0\0\0\0")  # a ping
        assert held.recv(2)[:1] == b"\x8a"
        held.sendall(b"\x82\x80\0\0\0\0")  # a message, for which the other one waits
        assert answer(slow).endswith(b"ok")
