"""What a saved picture says of itself, and what the server offers as files."""

import json

import pytest

from model import Request, analyse
from tests.support.viz_helpers import HEADS, Lab
from viz import pages
from viz.save import save
from viz.save.saved_files import CHANGED, FAULT, Offer, caption, make_file
from viz.state.view import View


def panel(lab: Lab) -> dict:
    return next(
        json.loads(element.proto.bytes)
        for element in lab.app_test.get("bidi_component")
        if element.proto.component_name.endswith(".save")
    )


def test_a_caption_tells_of_what_the_picture_is():
    given = panel(Lab(HEADS, text="I am tired.", kind="cross", layer="2", head="4", step="3", edits="off_cross.3"))
    sentence, facts = given["caption"]
    assert sentence.startswith("“I am tired.” → “")
    assert facts.startswith("en-fr · cross-attention, layer 2, head 4 · step 3 of ")
    assert facts.endswith("edits: cross-attention, layer 3: off")
    assert given["names"] == ["en-fr", "cross", "l2", "h4", "step3", "I am tired."]


def test_what_is_to_be_guessed_stands_under_no_picture():
    assert panel(Lab(text="I am tired.", guess="first"))["caption"][0] == "“I am tired.”"


@pytest.mark.parametrize("analysed", [True, False])
def test_what_was_brought_is_called_as_on_the_page(tiny_checkpoint, analysed):
    view = View(checkpoint="own (zip 0123456789ab)", source="The fox.")
    found = analyse(tiny_checkpoint, Request("The fox.", target="Lo varun.")) if analysed else None
    made = caption(view, pages.find("heads"), found)
    assert "own (zip 0123)" in made.lines[1] and made.names[0] == "own (zip 0123)"


def test_an_offer_that_fails_is_one_sentence():
    for fault, said in (
        (ValueError("the sentence has 3 tokens"), "The sentence has 3 tokens."),
        (ValueError(), "This could not be made."),
        (OSError(28, "no space left", "/tmp/x"), "No space left."),
        (KeyError("x"), FAULT.format("KeyError")),
    ):

        def fail(fault=fault) -> bytes:
            raise fault

        assert make_file(Offer("CSV", fail), "8") == {"number": "8", "fault": said}


def test_a_vanished_offer_is_one_fault():
    lab = Lab(HEADS)
    lab.app_test.session_state[save.REQUESTED] = (len(panel(lab)["offers"]), "9")
    assert panel(lab.run())["made"] == {"number": "9", "fault": CHANGED}
    assert panel(lab.run())["made"] is None
