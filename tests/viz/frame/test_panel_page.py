"""One made-up panel, registered in one place, is on the page and in everything that follows from panels."""

import base64
import dataclasses
import gzip
import io
import re
import zipfile
import zlib

import pytest

from model.export.csv_tables import Table
from tests.support.room_helpers import open_room, respond, run
from tests.support.viz_helpers import HEADS, Lab
from viz import cache, computations, page_context, pages
from viz.classroom import talk_prefetch
from viz.classroom.rooms.room_server import Rooms
from viz.classroom.rooms.store import MemoryStore
from viz.heads import page
from viz.kit import mount
from viz.kit.panel import Panel, layout_of
from viz.notebook import heads
from viz.offline import html_export
from viz.state.view import View

TEXT = "A made-up panel counts tokens."
MARK = "made-up payload"
SCRIPT = 'export default function ({ data, parentElement }) { parentElement.querySelector("p").textContent = data.mark; }\n'


def register(monkeypatch, *rows: tuple[Panel, ...]) -> None:
    monkeypatch.setattr(page, "LAYOUT", dataclasses.replace(page.LAYOUT, rows=rows))
    layout_of.cache_clear()


@pytest.fixture
def panel(tmp_path, monkeypatch):
    """A panel of the page Heads with its own component. It counts how often it is computed."""
    (tmp_path / "made_up.js").write_text(SCRIPT, encoding="utf-8")
    component = mount.Component(str(tmp_path / "made_up.py"), '<p class="made-up"></p>')
    made_up = Panel(
        "heads.made_up",
        "A made-up panel",
        component,
        payload=lambda context, norms: {"mark": MARK, "sites": len(norms)},
        call=lambda context: computations.VALUE_NORMS(),
        text=lambda context, norms: f'<p class="lab-verdict">{len(norms)} sites</p>',
        tables=lambda context, norms: (Table("made-up", ("sites",), ((len(norms),),)),),
        code=lambda code, context, norms: code.add("sites = len(result)"),
    )
    register(monkeypatch, *page.LAYOUT.rows, (made_up,))
    yield made_up
    layout_of.cache_clear()


def in_file(content: bytes) -> str:
    packed = re.search(rb'id="view">([^<]*)<', content)[1]
    return zlib.decompress(base64.b64decode(packed)).decode()


def asked(lab: Lab, number: int) -> dict:
    lab.save  # noqa: B018  opens the panel
    lab.data.saved_file = (number, "7")
    lab.run()
    return lab.save["file"]


def test_the_page_mounts_a_panel(panel):
    lab = Lab(HEADS, text=TEXT)
    assert lab._mounted(".made_up")["mark"] == MARK and lab.sentences("lab-verdict") == ["12 sites"]


def test_lecture_mode_has_its_large_picture(panel):
    lab = Lab(HEADS, text=TEXT, lecture="on", large="4")
    assert lab._mounted(".made_up")["mark"] == MARK and lab.all_heads is None
    assert Lab(HEADS, text=TEXT, lecture="on")._mounted(".made_up") is None


def test_files_and_frames_hold_a_panel(panel, shipped):
    context = page_context.build(View(source=TEXT))
    assert MARK in in_file(html_export.file_of("heads", context))
    assert MARK in in_file(heads(context.analysis, shipped).file)


def test_followers_get_a_panel(panel):
    async def document() -> tuple:
        app = Rooms(MemoryStore()).router
        path, _ = await open_room(app, f"/heads?text={TEXT.replace(' ', '+')}")
        return await respond(app, f"{path}/page")

    status, _, body = run(document())
    assert status == 200 and MARK in in_file(gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body)


def test_its_numbers_and_lines_are_saved(panel):
    lab = Lab(HEADS, text=TEXT)
    labels = [offer["label"] for offer in lab.save["offers"]]
    csv = base64.b64decode(asked(lab, labels.index("What is shown, as CSV"))["bytes"])
    assert "made-up.csv" in zipfile.ZipFile(io.BytesIO(csv)).namelist()
    code = base64.b64decode(asked(lab, labels.index("Python"))["bytes"]).decode()
    values: dict = {}
    exec(code, values)
    assert values["sites"] == 12


def test_its_picture_is_in_the_list_of_saved_files(panel):
    assert Lab(HEADS, text=TEXT)._mounted(".made_up")["picture"] == panel.title


def test_the_next_stop_of_a_talk_computes_it(panel, monkeypatch):
    seen = []
    counted = dataclasses.replace(panel, call=None, compute=lambda context: seen.append(context.mode) or {})
    register(monkeypatch, (counted,))
    talk_prefetch.compute(pages.find("heads"), View(source=TEXT), "dark")
    assert seen == ["dark"] and cache.is_ready()
