"""What if: the editor in words, and what a visitor, a link or a checkpoint can do to the page: always one sentence."""

from __future__ import annotations

import pytest
import tiny
import torch
from streamlit.testing.v1 import AppTest
from viz_helpers import TIMEOUT, TRANSLATE, WHAT_IF, Lab

from model import checkpoint as checkpoints
from model.config import END
from model.inference.analyse import analyse
from model.inference.request import Request
from viz import cache
from viz.shared.edit_list import _plain
from viz.what_if.editor import KINDS

SENTENCE = "The dog bites the man."
MARKUP = "<script>alert(1)</script> & <b>owls</b> **x** [a](b) `c` $d$ :owl: &lt; ~y~ _z_ 1. #h"


def what_if(**link: str) -> Lab:
    return Lab(WHAT_IF, **({"text": SENTENCE} | link))


# -- the editor -----------------------------------------------------------------------------------------------------------

EDITOR = {  # what is chosen one after the other, and the edit that it makes
    "block a cell": (
        {"kind": "block", "site": "decoder", "layer": 2, "head": 3, "query": 3, "key": 1},
        "block_dec.2.3_4-2",
    ),
    "block a row": (
        {"kind": "block", "site": "cross", "layer": "all", "query": 0, "key": "every column"},
        "block_cross_1-all",
    ),
    "block a column": (
        {"kind": "block", "site": "encoder", "layer": 1, "head": "all", "query": "every row", "key": 2},
        "block_enc.1_all-3",
    ),
    "an even row": (
        {"kind": "row", "site": "cross", "layer": "all", "query": 1, "key": "all that it may see, evenly"},
        "row_cross_2-uniform",
    ),
    "a row on one token": (
        {"kind": "row", "site": "cross", "layer": 3, "head": 5, "query": 1, "key": 0},
        "row_cross.3.5_2-1",
    ),
    "a head": ({"kind": "head", "site": "decoder", "layer": 1, "head": 8, "how": "zero"}, "off_dec.1.8"),
    "all heads": ({"kind": "head", "site": "encoder", "layer": "all", "how": "zero"}, "off_enc"),
    "a sub-layer": ({"kind": "layer", "stack": "decoder", "skipped": 2, "part": "cross"}, "skip_dec.2.cross"),
    "one of the encoder": ({"kind": "layer", "stack": "encoder", "skipped": 1, "part": "ff"}, "skip_enc.1.ff"),
    "no positions": ({"kind": "positions", "side": "source", "positions": "off"}, "source-positions_off"),
    "shuffled": (
        {"kind": "positions", "side": "target", "positions": "shuffled", "shuffled": 7},
        "target-positions_shuffled-7",
    ),
    "shifted": (
        {"kind": "positions", "side": "source", "positions": "shifted", "shifted": 256},
        "source-positions_shifted-256",
    ),
    "a window": ({"kind": "window", "window": 5}, "window-5"),
    "no scaling": ({"kind": "switch", "switch": "scaling-off"}, "scaling-off"),
    "no causal mask": ({"kind": "switch", "switch": "causal-off"}, "causal-off"),
    "no padding mask": ({"kind": "switch", "switch": "padding-off"}, "padding-off"),
}
NUMBERS = ("shuffled", "shifted", "window")


def choose(lab: Lab, choices: dict) -> Lab:
    for name, value in choices.items():
        box = (lab.at.number_input if name in NUMBERS else lab.at.selectbox)(key=f"editor {name}")
        if box.value != value:
            box.set_value(value)
            lab.run()
    return lab


@pytest.fixture(scope="module")
def visitor() -> Lab:
    return what_if()


PLACE = ("kind", "layer", "head")  # what is shown follows what is edited


@pytest.mark.parametrize("name", EDITOR)
def test_every_kind_of_edit_can_be_made_in_words(visitor, name):
    choices, code = EDITOR[name]
    choose(visitor, choices).click("editor add")
    assert list(visitor.edits) == [code]
    switches = {"causal-off": {"causal": "off"}, "padding-off": {"padmask": "off"}}
    asked = {name: text for name, text in visitor.link.items() if name not in PLACE}
    assert asked == {"text": SENTENCE} | switches.get(code, {"edits": code})
    assert visitor.faults == []
    assert visitor.click("editor add").link == visitor.link  # adding it again does not take it away
    assert list(visitor.edits) == [code]
    assert visitor.click("clear").edits == {}


def test_every_kind_of_the_editor_has_been_tried():
    assert {choices["kind"] for choices, _ in EDITOR.values()} == set(KINDS)


def test_an_edit_without_a_row_and_a_column_is_no_edit_yet():
    lab = choose(what_if(), {"kind": "block", "query": "every row", "key": "every column"})
    assert "editor add" not in lab.buttons
    (said,) = lab.warnings
    assert "expected one of them" in said


def test_means_are_offered_where_they_are_stored(visitor):
    choose(visitor, {"kind": "head"})
    stored = bool(cache.checkpoint("en-fr", "auto").means)
    assert len(visitor.at.selectbox(key="editor how").options) == 1 + stored
    assert ("Means are not stored with this checkpoint." in visitor.sentences("lab-note")) is not stored


def test_an_edit_of_the_editor_that_contradicts_another_is_told():
    lab = choose(what_if(edits="block_cross_2-all"), {"kind": "row", "site": "cross", "query": 1, "key": 0}).click(
        "editor add"
    )
    assert list(lab.edits) == ["block_cross_2-all"]
    assert sum("contradict each other" in text for text in lab.warnings) == 1


def test_the_editor_follows_a_shorter_sentence():
    lab = choose(what_if(text="The old dog bites the young man in the garden."), {"kind": "block", "query": 9, "key": 8})
    assert lab.type("Owls.").faults == []
    choose(lab, {"query": 0}).click("editor add")
    assert list(lab.edits) == ["block_enc_1-all"]


# -- faults ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", [WHAT_IF, TRANSLATE])
@pytest.mark.parametrize(
    ("code", "word"),
    [
        ("off_enc.99", "layer 99"),
        ("off_cross.1.99", "head 99"),
        ("skip_dec.9.ff", "layer 9"),
        ("block_enc_99-1", "row 99"),
        ("row_cross.1_1-99", "column 99"),
        ("row_dec.1_1-5", "looks ahead"),
    ],
)
def test_what_an_edit_names_and_is_not_there_is_told_and_can_be_taken_back(page, code, word):
    lab = Lab(page, text=SENTENCE, edits=f"{code}~scaling-off")
    assert lab.faults == []  # it is set aside, and the rest of the page works
    assert sum(word in text for text in lab.warnings) == 1
    assert (lab.box, len(lab.charts)) == (SENTENCE, 4)
    assert set(lab.edits) == {code, "scaling-off"}
    lab.click(f"edit {code}")
    assert (lab.faults, len(lab.charts), list(lab.edits)) == ([], 4, ["scaling-off"])
    assert not any(word in text for text in lab.warnings)
    assert lab.link == {"text": SENTENCE, "edits": "scaling-off"}


def test_all_can_be_cleared_where_none_can_be_made():
    lab = what_if(edits="off_enc.99~off_cross.98", causal="off")
    assert len([text for text in lab.warnings if "Remove it" in text]) == 2
    lab.click("clear")
    assert (lab.faults, lab.edits, lab.link, len(lab.charts)) == ([], {}, {"text": SENTENCE}, 4)


@pytest.mark.parametrize("text", ["", "   ", "zq " * 300], ids=["empty", "blank", "long"])
def test_a_sentence_that_cannot_be_translated_gets_one_fault_and_stays_in_the_box(text):
    lab = what_if(edits="off_cross.3.5").type(text)
    assert len(lab.faults) == 1
    assert ("empty" if not text.strip() else "128") in lab.faults[0]
    assert (lab.box, lab.charts, list(lab.edits)) == (text, [], ["off_cross.3.5"])
    assert lab.type(SENTENCE).faults == []
    assert list(lab.edits) == ["off_cross.3.5"]


def test_nonsense_in_a_link_gets_a_sentence_each_and_the_page_is_whole():
    lab = what_if(edits="off_cross.3.5~nonsense", kind="x", scope="y", layer="99", head="99", step="0", mode="z")
    assert lab.faults == []
    assert len(lab.warnings) == 7
    assert any(text.endswith("The link's “nonsense” is left out.") for text in lab.warnings)
    assert (list(lab.edits), len(lab.charts)) == (["off_cross.3.5"], 4)
    assert lab.pick("kind", "cross").warnings == []


@pytest.mark.parametrize("name", ["nothing", "order.", "x" * 500])
def test_a_question_that_is_not_there_gets_one_sentence_and_the_page_is_whole(name):
    lab = what_if(**{"try": name}, edits="scaling-off")
    assert len(lab.faults) == 1
    assert "order" in lab.faults[0]
    assert (lab.sentences("lab-answer"), len(lab.charts), list(lab.edits)) == ([], 4, ["scaling-off"])
    assert lab.click("edit scaling-off").faults == []


def test_a_question_that_needs_a_checkpoint_that_is_not_there_is_told(home):
    lab = what_if(checkpoint=home.name, text="The red fox.")
    before = lab.link
    lab.click("try peek")
    assert len([text for text in lab.warnings if "'en-fr-peek'" in text]) == 1
    assert (lab.link, len(lab.charts)) == (before, 4)


def test_no_markup_is_made_of_what_is_typed():
    labels = cache.analyse(Request(MARKUP), "auto").labels
    codes = [f"block_enc_all-{n}" for n, _ in enumerate(labels.source, 1)]
    for more in ({}, {"mode": "again", "causal": "off"}):
        lab = what_if(text=MARKUP, split="off", target=MARKUP, edits="~".join(codes[:-1]), **more)
        assert lab.faults == []
        told = {code: text for code, text in lab.edits.items() if code != "causal-off"}
        assert told == {code: text[0].upper() + text[1:] for code, text in tiny.edited(*codes[:-1]).parts(labels)}
        for code, token in zip(codes[:-1], labels.source[:-1], strict=True):
            assert told[code].startswith(f"Encoder, all layers: no one sees {token}")
        pieces = [piece for piece in lab.html if not piece.startswith("<style>")]
        assert [piece for piece in pieces if "<script" in piece or "<b>owls" in piece] == []
        assert any("&lt;script&gt;" in piece or "&lt;" in piece for piece in pieces)
        lab.switch("leak test", True)
        assert [piece for piece in lab.html if "<script" in piece] == []
    for link in (
        {"edits": MARKUP},
        {"edits": f"off_enc~{MARKUP}"},
        {"try": MARKUP},
        {"checkpoint": MARKUP},
        {"kind": MARKUP},
    ):
        assert [piece for piece in what_if(**link).html if "<script" in piece or "<b>owls" in piece] == [], link


def texts_with_markup() -> None:
    from types import SimpleNamespace as Made

    import numpy as np

    from model.experiments.leaks import LeakReport
    from viz.what_if import texts

    typed = "<script>1</script>"
    moved = np.ones((1, 2, 2), np.float32)
    texts.leak_report(LeakReport((typed, typed), (typed,), moved, np.ones((1, 1)), np.zeros((1, 2)), 4))
    labels = Made(labels=(typed,))
    before, after = (Made(inputs=labels, outputs=labels, log_probs=np.log([p])) for p in ([0.9, 0.1], [0.1, 0.9]))
    analysis = Made(baseline=Made(trace=before), trace=after, comparable=1)
    texts.step_changes(analysis, 0, Made(piece=lambda token: typed))
    texts.measured(typed, typed)
    texts.translation(typed, "French")


def test_every_token_of_the_pages_texts_is_escaped():
    at = AppTest.from_function(texts_with_markup, default_timeout=TIMEOUT).run()
    assert not at.exception
    pieces = [element.proto.body for element in at.get("html")]
    assert [piece for piece in pieces if "<script" in piece] == []
    shown = [piece.count("&lt;script&gt;1&lt;/script&gt;") for piece in pieces]
    # of the leaks two tokens and a table with three, of the step two labels and two candidates, a question and its answer
    assert [count for count in shown if count] == [2, 3, 4, 2, 1]


@pytest.mark.parametrize("text", [MARKUP, "&amp;", "a|b", "![x](y)", ":red[x]", "C:\\x", "- item", "+1", "> quote", "$x$"])
def test_a_label_is_no_markdown(text):
    label = _plain(text)
    for i, sign in enumerate(label):
        assert sign not in "`*_{}[]()<>#+-.!|$~:&" or label[i - 1] == "\\", (label, sign)
    shown = label.replace("\\\\", "\0").replace("\\", "").replace("\0", "\\")
    assert shown == text[0].upper() + text[1:]


# -- other checkpoints ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("longer", [True, False])
def test_the_step_goes_as_far_as_the_baseline_whether_the_edited_is_longer_or_shorter(home, tokenizer, longer):
    made = tiny.checkpoint(tokenizer, seed=3)
    with torch.no_grad():
        made.model.projection.weight[END].mul_(2)  # it ends soon
    checkpoints.save(made, home.parent / "brief")
    text, loaded = "The red fox takes a lamp.", checkpoints.load("brief")
    for code in ("off_cross", "off_enc", "off_enc.1", "off_dec", "source-positions_off", "scaling-off"):
        found = analyse(loaded, Request(text, mode="again", intervention=tiny.edited(code)))
        steps, own = len(found.baseline.trace.outputs), len(found.trace.outputs)
        if own > steps > 1 if longer else own < steps:
            break
    else:
        raise AssertionError("no edit makes the translation longer, or shorter; the made-up checkpoint must be changed")
    lab = what_if(checkpoint="brief", text=text, edits=code, mode="again", step="999")
    slider = lab.at.select_slider(key="what if step")
    assert len(slider.options) == steps
    assert slider.value == steps
    assert lab.link["step"] == str(steps)
    assert any(title.startswith(f"Step {steps}, ") for title in lab.sentences("lab-label"))


def test_stacks_of_unequal_height_show_a_note_where_a_layer_is_not_there(home, tokenizer):
    checkpoints.save(tiny.checkpoint(tokenizer, encoder_layers=3, decoder_layers=1), home.parent / "uneven")
    for kind, scope in (("encoder", "head"), ("decoder", "layer"), ("cross", "head"), ("decoder", "all")):
        lab = what_if(checkpoint="uneven", text="The red fox.", kind=kind, scope=scope, layer="3", head="1")
        assert lab.faults == []
        missing = "This checkpoint has no layer 3 here." in lab.sentences("lab-note")
        assert missing is (kind != "encoder")
        assert len(lab.charts) == (1 if missing else 4)
        assert (lab.switchboard is None) is (missing and scope != "all")
