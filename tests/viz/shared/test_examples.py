"""Every shipped example: decided where it teaches, and translated into French that was accepted before."""

from __future__ import annotations

import pytest

from model.decoding.strategy import Decoding
from model.inference.analyse import analyse
from model.inference.decisions import near_ties
from model.inference.request import Request
from viz.shared import examples as module
from viz.shared.examples import examples, lesson
from viz.view import FIRST_SENTENCE


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_an_example_is_right_and_decided_where_it_teaches(shipped, example):
    for decoding in (Decoding(), Decoding("beam", width=4)):
        found = analyse(shipped, Request(example.sentence, decoding=decoding))
        assert found.translation in example.accepted
        pieces = [shipped.target_tokenizer.piece(token).removeprefix("·") for token in found.trace.outputs.ids]
        shown = [step for step, piece in enumerate(pieces) if piece == example.token]
        ties = near_ties(found.trace.log_probs)
        assert shown
        assert [ties[step] for step in shown] == [None] * len(shown)


def test_the_first_screen_shows_an_example():
    assert examples()[0].sentence == FIRST_SENTENCE
    assert lesson(f" {FIRST_SENTENCE} ") == examples()[0].lesson
    assert lesson("Seven owls.") is None


def test_a_line_that_lacks_something_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "FILE", tmp_path / "examples.txt")
    module.FILE.write_text("# what is what\nname\tA sentence.\tlesson\t\tUne phrase.\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"^examples\.txt, line 2, has 4 fields; expected 5 with a tab between$"):
        examples.__wrapped__()
