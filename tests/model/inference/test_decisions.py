"""Near-ties, and the decisions that edits turn."""

from __future__ import annotations

import numpy as np
import pytest

from model.decoding.strategy import Decoding
from model.inference.analyse import analyse
from model.inference.decisions import answered, turned, turns
from model.inference.request import Request
from tests.support import tiny


def rows(*probabilities: list[float]) -> np.ndarray:
    return np.log(np.array(probabilities))


def test_a_turn_says_whether_it_only_tips_a_tie():
    before = rows([0.451, 0.445, 0.104], [0.1, 0.3, 0.6], [0.8, 0.1, 0.1])
    after = rows([0.42, 0.44, 0.14], [0.1, 0.2, 0.7], [0.2, 0.1, 0.7])
    tie, real = turned(before, after)
    assert (tie.step, tie.is_tie, real.step, real.is_tie) == (0, True, 2, False)
    piece = ("·il", "·elle", "·").__getitem__
    assert tie.told(piece) == "il → elle, which was a near-tie: 0.451 against 0.445; now 0.420 against 0.440"
    assert real.told(piece) == "il → ·: 0.800 against 0.100; now 0.200 against 0.700"


@pytest.mark.parametrize("code", ["off_cross", "causal-off", "off_enc.1"])
def test_turns_are_where_the_top_tokens_differ(tiny_checkpoint, code):
    asked = Request("The red fox takes a lamp.", decoding=Decoding(limit=8), intervention=tiny.edited(code))
    given = analyse(tiny_checkpoint, asked)
    differs = given.baseline.trace.log_probs.argmax(1) != given.trace.log_probs.argmax(1)
    assert [each.step for each in turns(given)] == np.flatnonzero(differs).tolist()
    again = analyse(
        tiny_checkpoint, Request(asked.source, decoding=asked.decoding, intervention=asked.intervention, mode="again")
    )
    same = again.trace.outputs.ids == again.baseline.trace.outputs.ids
    assert len(turns(again)) == (not same)
    for each in turns(again):
        assert each.step == again.comparable - 1
        assert (again.baseline.trace.outputs.ids[each.step], again.trace.outputs.ids[each.step]) == (each.was, each.now)
        assert each.before[0] == pytest.approx(float(again.baseline.trace.probabilities[each.step]), abs=1e-6)
        assert each.after[1] == pytest.approx(float(again.trace.probabilities[each.step]), abs=1e-6)
    assert turns(analyse(tiny_checkpoint, Request(asked.source, decoding=asked.decoding))) == ()


@pytest.mark.parametrize("pad", [0, 2])
def test_turns_of_a_fill_in_model_exclude_its_ends(tokenizer, pad):
    checkpoint = tiny.checkpoint(tokenizer, family="encoder-only", decoder_layers=0, source_start=True)
    found = analyse(checkpoint, Request("The red fox takes a lamp.", pad=pad, intervention=tiny.edited("off_enc.1")))
    before, after = found.baseline.trace, found.trace
    own = [n for n, label in enumerate(before.source.labels) if label not in ("<s>", "</s>", "<pad>")]
    assert own == list(before.inner) == list(range(1, len(own) + 1)) and len(before.source) == len(own) + 2 + pad
    likeliest = [trace.log_probs.argmax(1) for trace in (before, after)]
    assert answered(after) == tuple(likeliest[1][own].tolist())
    differs = likeliest[0] != likeliest[1]
    assert [each.step for each in turns(found)] == [n for n in own if differs[n]]
    assert differs.sum() > len(turns(found)) > 0  # an end turns too
