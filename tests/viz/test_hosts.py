"""Which names the lab answers to."""

from __future__ import annotations

import socket

import pytest

from viz.hosts import is_let_in, only_known, own_names, same_origin

NAMES = own_names("127.0.0.1", "lab.example, Attention.Example:8501")


def run(app, scope) -> list[dict]:
    """What an app sends back; by hand, for the browser tests' event loop may be about."""
    sent = []

    async def send(message):
        sent.append(message)

    with pytest.raises(StopIteration):
        app(scope, None, send).send(None)
    return sent


async def welcome(scope, receive, send):
    await send({"type": "let in"})


@pytest.mark.parametrize(
    "host",
    [
        "localhost:8501",
        "127.0.0.1:8501",
        "[::1]:8501",
        "192.168.1.20:8501",
        "LAB.example",
        "attention.example:80",
        "a.localhost",
    ],
)
def test_this_machines_names_and_all_addresses_in_digits_are_let_in(host):
    assert is_let_in(host, NAMES)
    assert is_let_in(socket.gethostname(), NAMES)


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    "host", ["evil.com", "evil.com:8501", "127.0.0.1.evil.com", "localhost.evil.com", "", "[evil.com]", "<b>"]
)
def test_another_name_is_turned_away_with_what_to_do(host, kind):
    scope = {"type": kind, "headers": [(b"host", host.encode()), (b"origin", b"http://" + host.encode())]}
    first, *others = run(only_known(welcome, NAMES), scope)
    if kind == "websocket":
        assert first["type"] == "websocket.close"
    else:
        assert first["status"] == 400
        assert b"ALLOWED_HOSTS=" in others[0]["body"] and b"<" not in others[0]["body"]
    known = {"type": kind, "headers": [(b"host", b"localhost:1")]}
    assert run(only_known(welcome, NAMES), known) == [{"type": "let in"}]


@pytest.mark.parametrize(
    ("origin", "host", "passed"),
    [
        ("http://hall.local:8501", "hall.local:8501", "http://localhost"),
        ("http://192.168.1.20:8501", "192.168.1.20:8501", "http://localhost"),
        ("http://elsewhere.example", "hall.local:8501", "http://elsewhere.example"),
        ("http://hall.local:9999", "hall.local:8501", "http://hall.local:9999"),
        ("null", "hall.local:8501", "null"),
    ],
)
def test_a_page_may_ask_the_address_that_served_it_and_no_other(origin, host, passed):
    seen = {}

    async def app(scope, receive, send):
        seen.update(scope["headers"])

    headers = [(b"host", host.encode()), (b"origin", origin.encode()), (b"cookie", b"a=b")]
    run(same_origin(app), {"type": "websocket", "headers": headers})
    assert seen == {b"host": host.encode(), b"origin": passed.encode(), b"cookie": b"a=b"}
