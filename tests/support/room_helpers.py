"""Asks the routes of rooms as a browser does, without a server."""

from __future__ import annotations

import asyncio
import inspect
import json
from concurrent.futures import ThreadPoolExecutor

ASKED = {"kind": "next", "text": "What comes next?", "options": ["il", "elle"], "model": [0.45, 0.44]}


def run(made):
    """What a coroutine gives, in a thread of its own: a browser's event loop may be about in this one."""
    with ThreadPoolExecutor(1) as beside:
        return beside.submit(lambda: asyncio.run(made)).result()


async def sent(app, path, said=None, secret=None, who="10.0.0.1", kind="application/json", more=(), host=b"lab:1"):
    """Status, headers and body of one request."""
    messages = []
    body = [{"type": "http.request", "body": b"" if said is None else json.dumps(said).encode()}]
    own = [(b"authorization", f"Bearer {secret}".encode())] if secret else []
    headers = [(b"content-type", kind.encode()), (b"host", host), *own, *more]
    scope = {
        "type": "http",
        "scheme": "http",
        "method": "POST" if said is not None else "GET",
        "path": path,
        "headers": headers,
    }

    async def receive():
        return body.pop() if body else {"type": "http.disconnect"}

    async def send(message):
        messages.append(message)

    await app(scope | {"query_string": b"", "client": (who, 1), "root_path": ""}, receive, send)
    given = {name.decode(): value.decode() for name, value in messages[0]["headers"]}
    return messages[0]["status"], given, b"".join(message.get("body", b"") for message in messages)


async def ask(app, path, *args, **named):
    """Status and body of one request, read as JSON where it is an object."""
    status, _, body = await sent(app, path, *args, **named)
    text = body.decode()
    return status, json.loads(text) if text[:1] == "{" else text


async def opened(app, address="/heads?layer=3"):
    status, made = await ask(app, "/rooms", {"address": address})
    assert status == 201
    return f"/rooms/{made['code']}", made["secret"]


def events_of(path, secret=None):
    """The scope in which a browser asks for what a room's followers are sent."""
    headers = [(b"authorization", f"Bearer {secret}".encode())] if secret else []
    asked = {"type": "http", "method": "GET", "path": f"{path}/events", "headers": headers, "client": ("10.0.0.2", 1)}
    return asked | {"query_string": b"", "root_path": ""}


async def following(rooms, path, events, secret=None):
    """Follows as a browser does: appends each event's data, until it is cancelled or the room ends."""
    gone = asyncio.Event()

    async def receive():
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message):
        text = message.get("body", b"").decode()
        events.extend(json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: "))

    await rooms.router(events_of(path, secret), receive, send)


async def until(holds):
    """Waits for a state; after a minute it is said which one never came."""
    try:
        async with asyncio.timeout(60):
            while not holds():
                await asyncio.sleep(0.005)
    except TimeoutError:
        raise AssertionError(f"This did not come: {_source(holds)}") from None


def _source(holds):
    try:
        return " ".join(inspect.getsource(holds).split())
    except OSError:
        return repr(holds)
