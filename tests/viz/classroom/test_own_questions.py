"""Questions of the lecturer: options come from the view, right answers are found in them, and faults are one sentence."""

import json

import pytest

from tests.support.viz_helpers import HEADS, POSITIONS, Lab
from viz import page_context
from viz.classroom.own_questions import HIDDEN, NO_VIEW, check_own, own_question
from viz.classroom.questions import NoQuestion
from viz.classroom.rooms.room import Room
from viz.state.view import View

TEXT = "The dog sees the dog."


def own(kind, right="", options=(), side="source", text="Which one?"):
    return {"kind": kind, "text": text, "options": list(options), "right": right, "side": side}


@pytest.fixture(scope="module")
def context():
    return page_context.build(View(source=TEXT, kind="cross"))


def ask(made):
    """A room takes the question as it is sent, and its answer."""
    sent = json.loads(json.dumps(made))
    room = Room("ABCDEF", "", "/", 0.0).asks(
        *(sent[name] for name in ("kind", "text", "options", "model")), 1.0, sent["columns"]
    )
    return room.reveals(sent["answer"], 2.0).describe()["question"]


def test_tokens_are_those_of_the_view(context):
    made = own_question(own("token", "dog"), context)
    assert "".join(each.partition(" (")[0] for each in made["options"]) == TEXT.replace(" ", "")
    assert made["answer"] == "dog (1st)" and "dog (2nd)" in made["options"] and "</s>" not in made["options"]
    assert ask(made)["answer"] == "dog (1st)"
    output = own_question(own("token", side="output"), context)
    labels = [label for label in context.analysis.trace.predicted_axis.labels if label != "</s>"]
    assert [each.partition(" (")[0] for each in output["options"]] == labels and output["answer"] == ""


def test_hidden_tokens_are_no_options(context):
    for step in (2, 3):
        hidden = page_context.at_a_step(page_context.build(View(source=TEXT, guess=True, step=step)), 99)
        assert len(own_question(own("token", side="output"), hidden)["options"]) == step
    hidden = page_context.build(View(source=TEXT, guess=True, step=1))
    with pytest.raises(NoQuestion, match=HIDDEN[:20]):
        own_question(own("token", side="output"), hidden)


def test_heads_are_those_of_the_shown_kind(context):
    made, config = own_question(own("grid", "2.3"), context), context.loaded.config
    assert made["columns"] == config.heads and made["about"] == "Cross-attention" and made["answer"] == "cross 2.3"
    assert ask(made)["columns"] == config.heads and made["options"].index("cross 2.3") == config.heads + 2


@pytest.mark.parametrize(
    "question",
    [
        own("choice", text=" "),
        own("choice", options=["a"]),
        own("choice", options=["a", "a"]),
        own("choice", "c", ["a", "b"]),
        own("number", "many"),
        own("token", "absent"),
        own("grid", "9.99"),
    ],
)
def test_a_fault_is_one_sentence_or_two(context, question):
    with pytest.raises(NoQuestion) as fault:
        own_question(question, context)
    assert str(fault.value).endswith(".") and "\n" not in str(fault.value)


def test_what_a_browser_sends_is_checked():
    good = own("choice", "a", ["a", "b"])
    assert check_own(good | {"asked": "ABCDEF"}) == (good,)
    for bad in (
        {"kind": "next"},
        {"side": "x"},
        {"options": "ab"},
        {"options": ["a"] * 9},
        {"text": None},
        {"right": "\ud83d"},
    ):
        assert check_own(good | bad) is None


def test_a_page_makes_the_question_once():
    lab = Lab(HEADS, text=TEXT)
    lab.data.room.question = {"number": 7, "own": own("grid")}
    made = lab.run()._mounted(".frame_component")["question"]
    assert made["number"] == 7 and made["kind"] == "grid" and "guess" not in made
    other = Lab(POSITIONS, text=TEXT)
    other.data.room.question = {"number": 8, "own": own("choice", options=["a", "b"])}
    assert other.run()._mounted(".frame_component")["question"]["options"] == ["a", "b"]
    with pytest.raises(NoQuestion, match=NO_VIEW[:20]):
        own_question(own("token"), None)
