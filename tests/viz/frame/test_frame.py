"""The frame of every page, tested with a made-up page that only the table declares."""

from types import SimpleNamespace

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from tests.support.viz_helpers import INSIDE, TIMEOUT, TRANSLATE, WHAT_IF, WHY, Lab
from viz import page_context, pages, theme
from viz.frame import show
from viz.pages import Page
from viz.state import navigation
from viz.state.page_fields import PARTS
from viz.state.session_data import SessionData, data
from viz.state.view import View

MADE_UP = """
import streamlit as st
from viz.frame import show
from viz.kit import site_texts
from viz.kit.panel import Layout, Panel
from viz.state import navigation

def draw(context, result):
    site_texts.note(f"{context.loaded.name} at step {context.view.step + 1}")
    st.button("Away", key="away", on_click=navigation.go_to, args=("heads",))

STEP = Panel("made-up.step", "Step", controls=draw)
NOTE = site_texts.note_markup("drawn all the same")
ALONE = Panel("made-up.alone", "Alone", text=lambda context, result: NOTE, is_independent=True)
show.show("made-up", Layout(((STEP,), (ALONE,))))
"""


class MadeUp(Page):
    file = ""


@pytest.fixture
def made_up(monkeypatch, tmp_path) -> str:
    """A page that is nowhere but in the table, and its file."""
    file = tmp_path / "page.py"
    file.write_text(MADE_UP)
    monkeypatch.setattr(MadeUp, "file", str(file))
    monkeypatch.setattr(pages, "PAGES", (*pages.PAGES, MadeUp("made-up", "Made up", "Is this a page?")))
    return str(file)


def test_a_declared_page_works_like_every_page(made_up):
    assert pages.unknown_address("x").endswith("Why, Compare, Lessons, Training, Variants and Made up.")
    lab = Lab(made_up, step="900")
    assert any("<h1>Is this a page?</h1>" in text for text in lab.html)
    (note,) = [text for text in lab.sentences("lab-note") if text.startswith("en-fr at step")]
    last = int(note.rpartition(" ")[2])
    assert 1 < last < 900  # fitted to the sentence
    assert lab.link == {"step": str(last)}
    lab.app_test.button(key="away").click()
    assert lab.run().all_heads  # a way to another page is followed
    assert not lab.data.view_per_page  # with its link, so one step back leads here again
    assert lab.go(made_up).box == lab.box


def test_the_stylesheet_names_each_group_above_its_first_page():
    groups = [page.group for page in pages.PAGES if page.group]
    for group in groups:
        assert f':nth-child({groups.index(group) + 1})::before {{ content: "{group}"' in theme.stylesheet("light")


def test_every_page_follows_a_way_to_another():
    lab = Lab()
    for page in (*pages.PAGES[1:], pages.PAGES[0]):
        lab.data.next_page = page.file
        assert any(f"<h1>{page.question}</h1>" in text for text in lab.run().html)


def test_an_empty_sentence_is_one_fault_on_every_page(made_up):
    for page in pages.PAGES:
        lab = Lab(page.file, text="", edits="off_cross.3")
        assert len(lab.faults) == 1, page.name
        assert lab.faults[0].startswith("The sentence is empty")
        assert list(lab.edits) == ["off_cross.3"]
        assert ("drawn all the same" in lab.sentences("lab-note")) is (page.name == "made-up")


ODD = [
    "<script>alert(1)</script>",
    "word " * 120,
    "😀 مرحبا",
    "\u202eowls\u202c \u200f\u200b\u2060",
    "a\x00b\x07c\x1bd\x7f",
    "</s> <pad> <s>",
    "&lt;b&gt; &quot;owls&quot; \"'\\",
    "**bold** $x^2$ :owl: [a](b) `c`",
    "\u200b",
    "🦉 </s>",
]


def test_odd_sentences_stay_text_on_every_page():
    views = [(page.file, {}) for page in pages.PAGES] + [(INSIDE, {"part": part}) for part in PARTS]
    for number, (page, link) in enumerate((*views, (WHY, {"why": "readings"}), (TRANSLATE, {"show": "decoding"}))):
        text = ODD[number % len(ODD)]
        lab = Lab(page, text=text, split="off", layer="40", head="70", **link)
        boxes = [box.value for box in lab.app_test.text_input if box.key == "source"]
        assert boxes in ([], [text]) and not any("<script>" in piece for piece in lab.html), (page, link)
        assert len(lab.faults) <= (link.get("why") == "readings"), (page, link, lab.faults)


def test_an_unknown_address_is_recognised(monkeypatch):
    for url, name in (
        ("http://127.0.0.1:8501/nonsense", "nonsense"),
        ("http://lab.example/proxy/not-heads/", "not-heads"),
        ("http://127.0.0.1:8501/%C3%A9t%C3%A9", "été"),
        ("http://127.0.0.1:8501/translate", "translate"),  # the first page stands at the root
        ("http://127.0.0.1:8501/heads", ""),
        (None, ""),
    ):
        monkeypatch.setattr(st, "context", SimpleNamespace(url=url))
        monkeypatch.setattr(st, "session_state", {})
        assert navigation.unknown_page_name() == name
    monkeypatch.setattr(st, "session_state", {"lab": SessionData(view=View())})
    assert navigation.unknown_page_name() == ""  # from the second run on Streamlit knows the page


def test_an_unknown_address_is_named_once(monkeypatch):
    monkeypatch.setattr(navigation, "unknown_page_name", lambda: "" if data().view else "nonsense")
    lab = Lab.__new__(Lab)
    lab._parts = {}
    lab.app_test = AppTest.from_file(str(pages.ROOT / "app.py"), default_timeout=TIMEOUT)
    lab.app_test._page_hash = calc_hash("nonsense")
    lab.app_test.query_params["step"] = "3"
    assert lab.run().warnings == [pages.unknown_address("nonsense")]
    assert lab.timeline["step"] == 3
    lab.type("Nine owls.")
    assert lab.warnings == []


@pytest.mark.parametrize("fault", [TypeError("one"), MemoryError(), RecursionError("two")], ids=repr)
def test_a_broken_checkpoint_can_be_left(monkeypatch, caplog, fault):
    read = page_context.build

    def breaks(view):
        if view.checkpoint == "en-fr-peek":
            raise fault
        return read(view)

    monkeypatch.setattr(page_context, "build", breaks)
    monkeypatch.setattr(show, "shows_errors", lambda: False)
    lab = Lab(WHAT_IF, text="Nine owls.", checkpoint="en-fr-peek")
    assert lab.faults == [show.UNFORESEEN.format(type(fault).__name__)]
    assert any(record.exc_info and record.exc_info[1] is fault for record in caplog.records)
    assert (lab.box, lab.link) == ("Nine owls.", {"text": "Nine owls.", "checkpoint": "en-fr-peek"})
    assert (lab.choose("en-fr").faults, lab.box, lab.link) == ([], "Nine owls.", {"text": "Nine owls."})
    assert lab.switchboard
