"""The page that a room shows as a document, and the QR code of its address: over the routes."""

import asyncio
import gzip
import re

import pytest

from model import Request, analyse
from tests.support.room_helpers import open_room, request_json, respond, run
from viz import cache, page_context
from viz.classroom.rooms import routes
from viz.classroom.rooms.routes import Rooms
from viz.classroom.rooms.store import MemoryStore
from viz.offline import html_export
from viz.state import hosts

SENTENCE = "/{}?text=The+fox+sees+a+boat.&checkpoint=tiny&target=Lo+varun+mira.&layer=1&head=1{}"
PACKED = [(b"accept-encoding", b"gzip, br")]


@pytest.fixture
def makes_documents(monkeypatch, tiny_checkpoint):
    """Documents of a made-up checkpoint; a list of the pages of which one was drawn."""
    drawn = []

    def data(view):
        analysis = analyse(tiny_checkpoint, Request(view.source, target=view.target))
        return html_export.make_context(tiny_checkpoint, analysis, view)

    def file_of(name, context, draw=html_export.file_of):
        drawn.append(name)
        return draw(name, context)

    monkeypatch.setattr(page_context, "build", data)
    monkeypatch.setattr(cache, "is_current", lambda loaded, device: loaded is tiny_checkpoint)
    monkeypatch.setattr(html_export, "file_of", file_of)
    return drawn


async def test_followers_share_one_document(makes_documents):
    app = Rooms(MemoryStore()).router
    path, secret = await open_room(app, SENTENCE.format("heads", ""))
    first = await asyncio.gather(*(respond(app, f"{path}/page", more=PACKED) for _ in range(20)))
    await request_json(app, f"{path}/show", {"address": SENTENCE.format("heads", "&step=3&kind=cross&lecture=on")}, secret)
    plain = await respond(app, f"{path}/page")
    assert makes_documents == ["heads"]
    assert len({body for _, _, body in first}) == 1
    status, headers, body = first[0]
    assert status == 200 and headers["content-encoding"] == "gzip"
    assert headers["content-security-policy"].startswith("sandbox allow-scripts")
    assert "allow-same-origin" not in headers["content-security-policy"]
    assert gzip.decompress(body) == plain[2] and "content-encoding" not in plain[1]
    assert b"The fox sees a boat." in plain[2]


async def test_a_known_document_is_not_sent_again(makes_documents):
    app = Rooms(MemoryStore()).router
    path, _ = await open_room(app, SENTENCE.format("why", ""))
    tag = (await respond(app, f"{path}/page"))[1]["etag"]
    status, _, body = await respond(app, f"{path}/page", more=[(b"if-none-match", tag.encode())])
    assert (status, body) == (304, b"")


async def test_skipped_pages_are_never_drawn(makes_documents):
    made = Rooms(MemoryStore())
    path, secret = await open_room(made.router, SENTENCE.format("heads", ""))
    pages = [asyncio.create_task(respond(made.router, f"{path}/page")) for _ in range(5)]
    for name in ("inside", "what-if", "why"):
        await request_json(made.router, f"{path}/show", {"address": SENTENCE.format(name, "")}, secret)
    bodies = [(await page)[2] for page in pages]
    assert set(makes_documents) <= {"heads", "why"} and makes_documents.count("why") == 1
    assert b'class="page-why"' in bodies[-1]


@pytest.mark.parametrize(
    ("name", "query", "shared"),
    [
        ("why", "", False),
        ("inside", "&kind=decoder", False),  # the step is what asks there
        ("inside", "&kind=encoder", True),
        ("translate", "", True),
    ],
)
async def test_two_steps_share_a_document_where_possible(makes_documents, name, query, shared):
    app = Rooms(MemoryStore()).router
    path, secret = await open_room(app, SENTENCE.format(name, query))
    first = await respond(app, f"{path}/page")
    await request_json(app, f"{path}/show", {"address": SENTENCE.format(name, f"{query}&step=2")}, secret)
    second = await respond(app, f"{path}/page")
    assert (first[2] == second[2]) is shared and len(makes_documents) == 2 - shared


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("/positions?text=<b>&amp;", "“Positions”. It is only on the big screen"),
        ("/nowhere/at/all", "a page. It is only on the big screen"),
        ("/heads?checkpoint=none", "There is no checkpoint"),
        ("/heads?checkpoint=mine+%28zip+0123456789ab%29", "own checkpoint. It is only on the big screen"),
    ],
)
async def test_a_page_without_a_document_is_one_sentence(address, told):
    app = Rooms(MemoryStore()).router
    path, _ = await open_room(app, address)
    status, headers, body = await respond(app, f"{path}/page")
    text = body.decode()
    assert status == 200 and "default-src 'none'" in headers["content-security-policy"]
    assert re.findall(r"<p>([^<]*)</p>", text)[0].count(". ") <= 1 and told in text
    assert "<b>" not in text and text.count("href=") == 1


@pytest.mark.parametrize(("code", "status"), [("ABCDEF", 404), ("nonsense!", 400)])
def test_a_code_that_is_none_is_a_page_that_says_so(code, status):
    found, headers, body = run(respond(Rooms(MemoryStore()).router, f"/rooms/{code}/page"))
    assert found == status and headers["content-type"].startswith("text/html") and b"code" in body


@pytest.mark.parametrize(
    ("host", "origin"), [(b"127.0.0.1:8501", "http://192.168.1.20:8501"), (b"lab.example.org", "http://lab.example.org")]
)
async def test_the_code_leads_to_the_shared_address(monkeypatch, host, origin):
    monkeypatch.setattr(hosts, "_shared", "http://192.168.1.20:8501")
    app = Rooms(MemoryStore()).router
    path, _ = await open_room(app)
    status, headers, body = await respond(app, f"{path}/qr.svg", host=host)
    assert (status, headers["content-type"]) == (200, "image/svg+xml")
    assert body == routes.svg(origin + path.replace("rooms", "follow")) != routes.svg(origin + "/follow/ABCDEF")


async def test_no_code_is_drawn_without_a_shared_address(monkeypatch):
    monkeypatch.setattr(hosts, "_shared", None)
    monkeypatch.setattr(hosts, "_is_open", False)
    app = Rooms(MemoryStore()).router
    path, _ = await open_room(app)
    status, told = await request_json(app, f"{path}/qr.svg", host=b"127.0.0.1:8501")
    assert status == 409 and "HOST=0.0.0.0" in told
