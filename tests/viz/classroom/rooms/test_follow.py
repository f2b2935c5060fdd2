"""The page of who follows: what it is made of, what it lets in, and what a document in it can be led to."""

import json
import re
import subprocess
from html.parser import HTMLParser

import pytest
from starlette.routing import Router

from model import Request, analyse
from tests.support.room_helpers import respond, run
from tests.support.viz_helpers import HEADS, ROOT, Lab
from tests.viz.test_scripts import NODE
from viz.classroom.rooms import documents, follow
from viz.classroom.rooms.room import LENGTH, LETTERS
from viz.offline import html_export
from viz.state.fields import fields
from viz.state.view import OF_A_LECTURE, View

APP = Router(follow.routes())


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
