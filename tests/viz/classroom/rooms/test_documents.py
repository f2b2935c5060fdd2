"""The page for followers, and the page that a room shows as a document: over the routes."""

import asyncio
import gzip
import json
import re
import subprocess
from html.parser import HTMLParser

import pytest
from starlette.routing import Router

from model import Request, analyse
from tests.support.room_helpers import open_room, request_json, respond, run
from tests.support.viz_helpers import HEADS, ROOT, Lab
from tests.viz.test_scripts import NODE
from viz import cache, page_context
from viz.classroom.rooms import documents, presenter_page, room_server
from viz.classroom.rooms.room import LENGTH, LETTERS
from viz.classroom.rooms.room_server import Rooms
from viz.classroom.rooms.store import MemoryStore
from viz.offline import html_export
from viz.state import hosts
from viz.state.fields import fields
from viz.state.view import OF_A_LECTURE, View

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
        ("/lessons?text=<b>&amp;", "“Lessons”. It is only on the big screen"),
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
    assert body == room_server.svg(origin + path.replace("rooms", "follow")) != room_server.svg(origin + "/follow/ABCDEF")


async def test_no_code_is_drawn_without_a_shared_address(monkeypatch):
    monkeypatch.setattr(hosts, "_shared", None)
    monkeypatch.setattr(hosts, "_is_open", False)
    app = Rooms(MemoryStore()).router
    path, _ = await open_room(app)
    status, told = await request_json(app, f"{path}/qr.svg", host=b"127.0.0.1:8501")
    assert status == 409 and "HOST=0.0.0.0" in told


APP = Router([*documents.routes(), *presenter_page.routes()])


class Read(HTMLParser):
    """The tags of a page with their attributes, and what stands between them in scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def got(path: str):
    return run(respond(APP, path))


def test_the_page_loads_only_files_of_the_lab():
    status, headers, body = got("/follow")
    tags = Read(body.decode()).tags
    assert status == 200 and got("/follow/KX234Z")[2] == body  # the same for every room: it is kept once
    assert "unsafe" not in headers["content-security-policy"] and "default-src 'none'" in headers["content-security-policy"]
    assert not [tag for tag, _ in tags if tag == "style"]
    assert not [name for _, given in tags for name in given if name == "style" or name.startswith("on")]
    loaded = [given.get("src") or given["href"] for tag, given in tags if tag in ("script", "link")]
    assert len(loaded) == 3 and all(got(path.partition("?")[0])[0] == 200 for path in loaded)
    assert all(path.startswith("/follow/follow.") for path in loaded)
    told = json.loads(dict(tags)["body"]["data-settings"])
    assert (told["letters"], told["length"], told["pages"][""]) == (LETTERS, LENGTH, "Translate")


def test_its_script_is_one_cacheable_file(tmp_path):
    script = tmp_path / "follow.js"
    _, headers, body = got("/follow/follow.js")
    script.write_bytes(body)
    done = subprocess.run([NODE, "--check", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert b"import {" not in body and "immutable" in headers["cache-control"]
    assert got("/follow")[1]["cache-control"] == "no-cache"


def test_the_presenter_view_loads_only_its_files():
    status, headers, body = got("/presenter")
    loaded = [given.get("src") or given["href"] for tag, given in Read(body.decode()).tags if tag in ("script", "link")]
    assert status == 200 and "default-src 'none'" in headers["content-security-policy"] and len(loaded) == 3
    for path in loaded:
        status, headers, file = got(path.partition("?")[0])
        assert status == 200 and path.startswith("/presenter/presenter.") and "immutable" in headers["cache-control"]
        assert b"import {" not in file


@pytest.mark.parametrize("typed", ["kx234z", "KX-234Z", " kx 23 4z"])
def test_a_code_has_one_address(typed):
    status, headers, _ = got(f"/follow/{typed}")
    assert (status, headers["location"]) == (307, "/follow/KX234Z")


def test_server_and_page_agree_on_hidden_fields():
    unseen = named("UNSEEN", "offline", "remote_fields.js")
    assert sorted(unseen) == sorted(fields(View)[name].parameter for name in documents.OF_THE_LECTURER)


def test_exploring_drops_the_fields_of_the_lecture():
    own = named("LECTURE", "classroom", "rooms", "follow_parts.js")
    assert sorted([*own, "room"]) == sorted(fields(View)[name].parameter for name in OF_A_LECTURE)
    query = "&".join(f"{name}=1" for name in (*own, "room", "layer"))
    assert documents.in_the_lab(f"/heads?{query}", "KX234Z") == "/heads?layer=1&room=KX234Z"


def named(name, *file):
    """A list of a script, by its name."""
    return json.loads(re.search(rf"\b{name} = (\[.*?\])", ROOT.joinpath("viz", *file).read_text(encoding="utf-8"))[1])


@pytest.mark.parametrize(
    ("room", "way"), [("KX234Z", "/follow/KX234Z"), ("kx-234z", "/follow/KX234Z"), ("", None), ("<b>abc", None)]
)
def test_every_page_has_the_way_back(room, way):
    html = "".join(Lab(HEADS, text="I am tired.", **({"room": room} if room else {})).html)
    assert (f'<a href="{way}"' in html) if way else ('class="lab-left"' not in html)


@pytest.fixture
def shown(shipped):
    """Makes what a page draws from, of a view."""
    request = Request("I am tired.")
    analysis = analyse(shipped, request)
    return lambda **changes: html_export.make_context(shipped, analysis, html_export.make_view(request, "en-fr", **changes))


ELSEWHERE = [("inside", {"part": "scale"})]


@pytest.mark.parametrize(("name", "part"), ELSEWHERE)
def test_a_part_without_document_is_refused(shown, name, part):
    with pytest.raises(ValueError, match=r"^The lecture shows a part of “.*”. It is only on the big screen"):
        html_export.same_for(name, shown(**part))
    html_export.same_for(name, shown())
