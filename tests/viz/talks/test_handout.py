"""The handout: a page for each stop, with its picture or a sentence in its place; nothing gets in."""

import base64
import hashlib
import json
import re
import zlib

import pytest

from viz import hosts, turns
from viz.offline import fonts
from viz.offline import handout as printed
from viz.shared.talks import handout
from viz.talks.talk import Stop, Talk, keep
from viz.view import View

HOSTILE = "</script><script>alert(1)</script><img src=x>"
RED = "She bought a red car."


@pytest.fixture(autouse=True)
def fonts_are_not_cut(monkeypatch):
    monkeypatch.setattr(fonts, "_subset", lambda file, more: b"font")


@pytest.fixture(scope="module")
def talk() -> Talk:
    views = [
        ("translate", View(source=RED, step=5)),
        ("translate", View(source=RED, step=6)),
        ("translate", View(source=RED, step=6, guess=True)),
        ("positions", View(source=RED)),
        ("inside", View(source=RED, part="lens")),
        ("heads", View(source=RED, checkpoint="gone")),
    ]
    stops = [keep(page, view, f"Line {n}") for n, (page, view) in enumerate(views, 1)]
    return Talk(HOSTILE, (*stops, Stop("nowhere", "step=x", HOSTILE)))


def pages(file: bytes) -> list[str]:
    return re.findall(r"<section>.*?</section>", file.decode(), re.S)


def held(file: bytes) -> dict[str, bytes]:
    found = re.findall(r'<script type="text/plain" id="((?:view|numbers)-\d+)">([^<]*)</script>', file.decode())
    return {name: zlib.decompress(base64.b64decode(text)) for name, text in found}


def test_each_stop_has_its_page_and_its_own_turn(talk, monkeypatch):
    taken, turn = [], turns.Turns.turn
    monkeypatch.setattr(turns.LONG, "turn", lambda told: taken.append(told) or turn(turns.LONG, told))
    file = handout.of(talk, View())
    assert len(taken) > len(talk.stops)
    found = pages(file)
    told = [re.search(r'<p class="told">(.*?)</p>', page) for page in found]
    assert [bool(each) for each in told] == [False, False, True, True, True, True, True]
    assert told[2][1] == handout.GUESS and "voiture" not in found[2]
    assert told[3][1] == told[4][1] == handout.NO_PICTURE
    assert told[5][1].startswith("There is no checkpoint &#x27;gone&#x27;")
    assert "There is no page at /nowhere" in told[6][1] and "step is “x”" in told[6][1]
    assert all(f"Line {n}</h2>" in page for n, page in enumerate(found[:6], 1))
    assert "Elle a acheté une voiture rouge." in found[0] and 'href="positions?text=She' in found[3]


def test_pictures_of_one_sentence_do_not_follow_each_other_s_step(talk):
    data = {name: json.loads(raw) for name, raw in held(handout.of(talk, View())).items() if name.startswith("view")}
    assert sorted(data) == ["view-1", "view-2"]
    traces = [{part["trace"] for part in data[name]["parts"].values() if "trace" in part} for name in sorted(data)]
    assert all(len(each) == 1 for each in traces) and traces[0] != traces[1]
    assert [data[name]["parts"]["timeline"]["step"] for name in sorted(data)] == [5, 6]


def test_its_links_lead_to_where_others_find_the_lab(talk, monkeypatch):
    home = "http://127.0.0.1:8501/lab/"
    alone = pages(handout.of(talk, View(), home))
    assert f'href="{home}positions?text=She' in alone[3] and "<svg" not in alone[3]
    monkeypatch.setattr(hosts, "_shared", "http://192.168.1.20:8501")
    shared = pages(handout.of(talk, View(), home))
    assert 'href="http://192.168.1.20:8501/lab/positions?text=She' in shared[3] and "<svg" in shared[3]


def test_nothing_gets_in(talk):
    file = handout.of(talk, View()).decode()
    script, style = (re.search(pattern, file, re.S)[1] for pattern in (r"<script>(.*?)</script>", r"<style>(.*?)</style>"))
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', file)[1]
    for text in (script, style):
        assert f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" in policy
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    assert HOSTILE not in file and file.count("<img") == 0
    assert file.encode() == handout.of(talk, View())


def test_a_handout_has_a_size(talk, monkeypatch):
    assert len(handout.of(talk, View())) < 8 * 1024 * 1024
    first = held(handout.of(talk, View()))
    monkeypatch.setattr(printed, "MOST", sum(len(printed.held({name: first[name]})) for name in ("view-1", "numbers-1")))
    file = handout.of(talk, View())
    assert set(held(file)) == {"view-1", "numbers-1"} and printed.TOO_MUCH in pages(file)[1]
