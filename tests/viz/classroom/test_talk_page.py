"""A talk as one HTML file: each stop's page with its line, and a policy that binds every frame."""

import base64
import json
import re
import zlib

import pytest

from viz.classroom import line_fields
from viz.classroom.talk import Talk, make_stop, ready_talks
from viz.classroom.talk_page import page_of_talk
from viz.state.view import View

DOG = "The dog sleeps."
TALK = Talk(
    "<b>Dogs</b>",
    (
        make_stop("translate", View(source=DOG, step=1), "{token} comes now </script>."),
        make_stop("lessons", View(), "Now solve one."),
        make_stop("heads", View(source=DOG, kind="cross", step=1), "Look."),
    ),
)


def read(content: bytes, name: str) -> bytes:
    found = re.search(rb'<script type="text/plain" id="%s">([^<]+)</script>' % name.encode(), content)
    return zlib.decompress(base64.b64decode(found[1]))


def test_each_stop_has_its_page_and_its_filled_line():
    content = page_of_talk(TALK)
    listed = json.loads(read(content, "talk"))
    first, second, third = listed["stops"]
    wanted = line_fields.fill(TALK.stops[0].place, TALK.stops[0].view, TALK.stops[0].line).text
    assert listed["title"] == "<b>Dogs</b>" and first["line"] == wanted and "{" not in first["line"]
    assert "fault" not in first and "page “Lessons”" in second["fault"] and "fault" not in third
    assert b"<b>Dogs" not in content and b"stop-2" not in content
    assert b'class="page-translate"' in read(content, "stop-1") and b'class="page-heads"' in read(content, "stop-3")


def test_the_policy_allows_the_scripts_of_all_stops_alone():
    content = page_of_talk(TALK)
    allowed = re.search(rb'Policy" content="([^"]+)"', content)[1].decode()
    for name in ("stop-1", "stop-3"):
        own = re.search(rb'Policy" content="([^"]+)"', read(content, name))[1].decode()
        assert set(re.findall(r"'sha256-[^']+'", own)) <= set(re.findall(r"'sha256-[^']+'", allowed))
    assert "default-src 'none'" in allowed and "unsafe" not in allowed and "http" not in allowed


def test_a_talk_without_any_such_page_is_refused():
    with pytest.raises(ValueError, match="No stop of this talk"):
        page_of_talk(Talk("T", (TALK.stops[1],)))


def test_a_ready_talk_is_a_small_file_with_every_stop():
    content = page_of_talk(ready_talks()["tokens-to-translation"])  # with stops on Positions and on the logit lens
    assert len(content) < 2_000_000 and not [stop for stop in json.loads(read(content, "talk"))["stops"] if "fault" in stop]
