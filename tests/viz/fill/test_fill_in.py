"""The page of a model that fills in: blanks, a word of one's own, two sentences; nothing is given away to a class."""

import dataclasses

import numpy as np
import pytest
import torch

from model import checkpoint as checkpoints
from model.inference.analyse import analyse
from model.inference.request import Request
from model.inference.source_reading import blank_positions
from model.io.numbers import probability
from model.text.languages import ENGLISH
from model.text.tokenizer import Tokenizer
from tests.support import tiny
from tests.support.viz_helpers import HEADS, POSITIONS, WHAT_IF, Lab, made_session
from viz import cache, page_context
from viz.fill import fill_in, fill_texts
from viz.kit import controls
from viz.state.view import FIRST_SENTENCE
from viz.translate import page as parts

ONE, TWO = "The red ___ sees a ___.", "The ___ takes it."
READS = {"family": "encoder-only", "decoder_layers": 0, "source_start": True, "segments": 2, "pooler": True}


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory):
    """A folder with a model that reads two sentences, and one that reads one."""
    folder = tmp_path_factory.mktemp("fill")
    tokenizer = Tokenizer.train(tiny.SENTENCES, 400, blanks=True)
    for name, changes in (("two", {"follows": True}), ("one", {})):
        made = tiny.checkpoint(tokenizer, dtype=torch.float32, **READS, **changes)
        checkpoints.save(dataclasses.replace(made, languages=("Danish", "Danish"), token_counts={}), folder / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CHECKPOINTS", str(folder))
        yield folder


def opened(page: str | None = None, **link: str) -> Lab:
    return Lab(page, **({"checkpoint": "two", "text": ONE, "second": TWO} | link))


def test_two_sentences_are_read_on_every_page(home):
    lab = opened()
    found = analyse(checkpoints.load(str(home / "two")), Request(ONE, second_sentence=TWO))
    shown = lab.timeline
    assert shown["doubt"]["verdict"].startswith(f"B follows A: {probability(found.next_sentence_probability)}")
    assert any(
        f"; with A and B swapped: {probability(found.swapped_probability)}" in told for told in shown["doubt"]["signs"]
    )
    assert any("All 3 blanks are predicted at once" in told for told in shown["doubt"]["signs"])
    assert any("has not been measured" in told for told in shown["doubt"]["signs"])
    middle = shown["sides"].index("B")
    assert shown["blanks"] == [n for n, each in enumerate(shown["inputs"]) if each["t"] == "<mask>"]
    assert len(shown["blanks"]) == 3
    assert shown["inputs"][middle - 1]["t"] == "</s>" and shown["segments"][middle] == " The"
    assert lab.link["second"] == TWO and lab.app_test.text_input(key="second").value == TWO
    grid = opened(HEADS, order="forth").all_heads["grids"][0]
    assert grid["keys"][0] == "A:<s>" and grid["keys"][middle] == "B:The" and "back" in grid["numbers"]
    assert opened(WHAT_IF)._mounted(".switchboard")["keys"][middle] == "B:The"
    assert not opened(POSITIONS).faults
    alone = opened(second="")
    assert not alone.timeline["sides"] and "follows" not in alone.timeline["doubt"]["verdict"]
    offered = [dict(opened(HEADS, second=text).all_heads["orderings"]) for text in (TWO, "")]
    assert ["forth" in orderings for orderings in offered] == [True, False]


def test_the_lab_opens_with_a_blank(monkeypatch):
    monkeypatch.setattr(cache, "declared_languages", lambda name: ("English", "English"))
    lab = Lab(checkpoint="two")
    assert lab.box == controls.BLANK_FIRST and lab.timeline["blanks"] == [lab.timeline["step"] - 1]
    assert Lab(checkpoint="two", text=FIRST_SENTENCE).box == FIRST_SENTENCE
    step, context = lab.view.step, page_context.build(lab.view)
    with monkeypatch.context() as patch:
        session = made_session(patch, view=lab.view, link=lab.data.link)
        fill_in._put(context, step, "lamp")
        assert (session.view.step, session.view.source) == (step, controls.BLANK_FIRST.replace("___", "lamp"))
        after = page_context.build(session.view)
        assert parts._choose_view(session.view, after).step == step


def test_a_filled_blank_can_be_taken_back():
    lab = opened()
    before = lab.timeline
    assert before["step"] == before["blanks"][0] + 1 and "take back" not in lab.buttons  # the first blank is looked at first
    lab.type(ONE.replace("___", "lamp", 1))
    assert len(lab.timeline["blanks"]) == 2 and lab.timeline["trace"] != before["trace"]
    (label,) = [button.label for button in lab.app_test.button if button.key == "take back"]
    assert "lamp" in label
    lab.click("take back")
    assert lab.box == ONE and lab.timeline["blanks"] == before["blanks"]
    assert "take back" not in lab.type("The king finds a ___.").buttons  # more has changed than a blank


def test_each_blank_is_filled_in_its_own_sentence():
    for number, expected in ((0, (ONE.replace("___", "x", 1), TWO)), (2, (ONE, TWO.replace("___", "x")))):
        assert fill_texts.put(Request(ONE, second_sentence=TWO), number, "x") == expected
    with pytest.raises(ValueError, match="There is no blank 2; this sentence has 1"):
        fill_texts.put(Request(ONE, second_sentence=TWO), 3, "x")


def test_an_own_word_has_its_probability(home):
    lab, loaded = opened(asked="lamp"), checkpoints.load(str(home / "two"))
    trace = analyse(loaded, Request(ONE, second_sentence=TWO)).trace
    places = lab.timeline["blanks"]
    token = loaded.source_tokenizer.encode(" lamp")
    assert len(token) == 1
    for place in places:
        row = trace.log_probs[place]
        told = f"“lamp”: {probability(float(np.exp(row[token[0]])))}, number {int((row > row[token[0]]).sum()) + 1:,} of"
        assert lab._mounted(".candidates")["told"][str(place)].startswith(told)
    pieces = opened(asked="caterpillar")._mounted(".candidates")["told"][str(places[0])]
    assert "pieces here" in pieces and "a blank is one token" in pieces
    assert "a blank itself" in opened(asked="___")._mounted(".candidates")["told"][str(places[0])]


def test_guessing_hides_the_blanks(home):
    lab = opened(lecture="on", guess="first")
    assert lab._mounted(".timeline")["guess"] and lab._mounted(".candidates")["guess"]
    assert lab._mounted(".candidates")["comes"] == "Which word stands in the blank?"
    assert "B follows A" in " ".join(lab.html)


def test_ready_texts_have_clear_answers():
    loaded, likeliest_words = checkpoints.load("bert-mini"), []
    for source, second in ENGLISH.with_blanks.values():
        found = analyse(loaded, Request(source, second_sentence=second))
        for place in blank_positions(found, loaded):
            first, next_ = np.argsort(-found.trace.log_probs[place])[:2]
            margin = np.exp(found.trace.log_probs[place, first]) - np.exp(found.trace.log_probs[place, next_])
            assert margin > 0.04, (source, second)
            likeliest_words.append(loaded.source_tokenizer.decode([int(first)]).strip())
    assert likeliest_words == ["head", "head", "door", "door"]
    assert found.next_sentence_probability > 0.7 and found.next_sentence_probability - found.swapped_probability > 0.1
