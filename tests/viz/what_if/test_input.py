"""The editor in words on What if, and bad input of a visitor, a link or a checkpoint: always one sentence."""

import pytest

from model.edits import edit, intervention
from model.edits.kinds import KINDS
from model.inference.request import Request
from tests.support import tiny
from tests.support.edit_helpers import EXAMPLES, NAMED, Noise, answers, declared, forms_by_code
from tests.support.viz_helpers import TRANSLATE, WHAT_IF, Lab
from viz import cache

SENTENCE = "The dog bites the man."
MARKUP = "<script>alert(1)</script> & <b>owls</b> **x** [a](b) `c` $d$ :owl: &lt; ~y~ _z_ 1. #h"


def what_if(**link: str) -> Lab:
    return Lab(WHAT_IF, **({"text": SENTENCE} | link))


@pytest.fixture
def visitor() -> Lab:
    """Returns a new visitor whose editor is open: tests run in any order."""
    return what_if().click("add_edit")


def widgets(question: edit.Question, answer) -> dict[str, object]:
    """Returns the choices in the page that answer a question: values by the key of their widget, in order."""
    match question:
        case edit.HeadsQuestion():
            numbers = {"layer": answer.layer} | ({} if answer.layer is None else {"head": answer.head})
            return {"site": answer.kind} | {name: "all" if n is None else n + 1 for name, n in numbers.items()}
        case edit.TokenQuestion():
            return {question.axis: question.extra if answer is None else answer}
        case edit.LayerQuestion():
            return {question.key: answer + 1}
    return {question.key: answer}


def choose(lab: Lab, kind: str, asked=()) -> Lab:
    """Answers in the page; what is shown already is chosen at once."""

    def boxes_by_key() -> dict:
        return {box.key: box for box in (*lab.app_test.selectbox, *lab.app_test.number_input, *lab.app_test.text_input)}

    for name, value in {"kind": kind, **{k: v for each in asked for k, v in widgets(*each).items()}}.items():
        boxes = boxes_by_key() if f"editor {name}" in boxes_by_key() else lab.run() and boxes_by_key()
        if boxes[f"editor {name}"].value != value:
            boxes[f"editor {name}"].set_value(value)
            if name in ("kind", "site", "stack"):
                lab.run()
    return lab.run()


MADE = ("block_enc.1.2_2-3", "block_cross.2_2-all", "row_dec_3-uniform", "off_cross.1.2", "skip_dec.2.cross")
MADE += (
    "target-positions_shuffled-3",
    "window-2",
    "scaling-off",
    NAMED,
    "patch_enc.2_all",
    "patch_z_dec.2.1_all",
    "scale_enc.1_0.5",
)
BY_HAND = {  # what stands in the editor for three of them
    "block_enc.1.2_2-3": {"site": "encoder", "layer": 1, "head": 2, "query": 1, "key": 2},
    "row_dec_3-uniform": {"site": "decoder", "layer": "all", "query": 2, "key": "all that it may see, evenly"},
    "target-positions_shuffled-3": {"side": "target", "positions": "shuffled", "shuffled": 3},
}


def test_every_kind_of_edit_can_be_made_in_words(visitor):
    offered = {each.name: each.title for each in (*KINDS.values(), *intervention.FORMS)}
    assert visitor.app_test.selectbox(key="editor kind").options == list(offered.values())
    named = {code: each.name for each in KINDS.values() for code in each.EXAMPLES}
    named |= {code: intervention.FORMS["window" not in code].name for code in EXAMPLES if code not in named} | {
        NAMED: "donor"
    }
    assert {named[code] for code in MADE} == set(offered)
    for code in MADE:
        asked = answers(forms_by_code()[code], code)
        if code in BY_HAND:
            assert {k: v for each in asked for k, v in widgets(*each).items()} == BY_HAND[code]
        choose(visitor, named[code], asked).click("editor add")
        assert code in visitor.edits
        assert visitor.faults == []
    assert set(visitor.edits) == set(visitor.link["edits"].split("~")) == set(MADE)
    assert set(visitor.click("editor add").edits) == set(MADE)  # adding it again does not take it away
    assert visitor.click("clear").edits == {}


def test_a_registered_kind_can_be_edited(visitor):
    with declared(Noise):
        choose(visitor.run(), "noise", answers(Noise.form, "noise_enc.1.2")).click("editor add")
        assert visitor.edits == {"noise_enc.1.2": "encoder 1.2: halved"}
        assert visitor.link["edits"] == "noise_enc.1.2"
        assert "matters most" not in visitor.effect
        visitor.click("edit noise_enc.1.2")
        assert (visitor.edits, visitor.faults) == ({}, [])
        visitor.app_test.selectbox(key="editor kind").set_value("block")
        visitor.run()
    lab = what_if(edits="noise_enc~scaling-off")
    assert (lab.edits.keys(), lab.faults) == ({"scaling-off"}, [])
    assert any(text.endswith("The link's “noise_enc” is left out.") for text in lab.warnings)


def test_what_the_editor_cannot_make_is_told(visitor):
    choose(visitor, "block")
    for name, value in {"query": "every row", "key": "every column"}.items():
        visitor.app_test.selectbox(key=f"editor {name}").set_value(value)
    visitor.run()
    assert "editor add" not in visitor.buttons
    (said,) = visitor.warnings
    assert "expected one of them" in said
    choose(visitor, "row", answers(KINDS["row"].form, "row_cross_2-uniform")).click("editor add")
    choose(visitor, "row", answers(KINDS["row"].form, "row_cross.1_2-3")).click("editor add")
    assert list(visitor.edits) == ["row_cross_2-uniform"]
    assert sum("contradict each other" in text for text in visitor.warnings) == 1


@pytest.mark.parametrize("page", [WHAT_IF, TRANSLATE])
def test_an_edit_out_of_range_can_be_taken_back(page):
    lab = Lab(page, text=SENTENCE, edits="off_enc.99~row_dec.1_1-5~scaling-off")
    assert lab.faults == []  # they are set aside, and the rest of the page works
    assert [sum(word in text for text in lab.warnings) for word in ("layer 99", "looks ahead")] == [1, 1]
    maps = 3 if page == WHAT_IF else 1
    assert (lab.box, len(lab.maps)) == (SENTENCE, maps)
    assert set(lab.edits) == {"off_enc.99", "row_dec.1_1-5", "scaling-off"}
    lab.click("edit off_enc.99")
    assert (lab.faults, len(lab.maps), set(lab.edits)) == ([], maps, {"row_dec.1_1-5", "scaling-off"})
    assert not any("layer 99" in text for text in lab.warnings)
    assert set(lab.link["edits"].split("~")) == set(lab.edits)
    lab.click("clear")
    assert (lab.faults, lab.warnings, lab.edits, lab.link) == ([], [], {}, {"text": SENTENCE})


def test_no_markup_is_made_of_what_is_typed(home):
    labels = cache.analyse(Request(MARKUP, checkpoint=home.name), "auto").labels
    codes = [f"block_enc_all-{n}" for n in range(1, 25)]
    lab = what_if(checkpoint=home.name, text=MARKUP, split="off", target=MARKUP, edits="~".join(codes))
    assert lab.faults == []
    assert lab.edits == {code: text[0].upper() + text[1:] for code, text in tiny.edited(*codes).codes_and_texts(labels)}
    for code, token in zip(codes, labels.source, strict=False):
        assert lab.edits[code].startswith(f"Encoder, all layers: no one sees {token}")
    pieces = [piece for piece in lab.html if not piece.startswith("<style>")]
    assert [piece for piece in pieces if "<script" in piece or "<b>owls" in piece] == []
    assert any("&lt;" in piece for piece in pieces)
    lab.switch("leak test", True)
    assert [piece for piece in lab.html if "<script" in piece] == []
    for link in ({"edits": f"off_enc~{MARKUP}", "try": MARKUP, "kind": MARKUP}, {"checkpoint": MARKUP}):
        assert [piece for piece in what_if(**link).html if "<script" in piece or "<b>owls" in piece] == [], link
