"""Candidates, divergences, moves and turned decisions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from model.decoding.hypotheses import first_difference
from model.decoding.strategy import Decoding
from model.inference.analyse import analyse
from model.inference.predictions import (
    NEAR_TIE_RATIO,
    better_candidates,
    changed_words,
    is_near_tie,
    kl_divergence,
    near_ties,
    token_changes,
    top_token_changes,
    top_tokens,
)
from model.inference.request import Request
from tests.support import tiny


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ([], [], None),
        ([1, 2], [1, 2], None),
        ([1, 2], [1, 3], 1),
        ([4, 2], [1, 2], 0),
        ([1, 2], [1, 2, 3], 2),
        ([1, 2, 3], [1], 1),
        ([], [5], 0),
    ],
)
def test_first_difference(one, two, expected):
    assert first_difference(one, two) == expected
    assert first_difference(two, one) == expected


@pytest.mark.parametrize(
    ("one", "two", "first", "second"),
    [
        ("a b c", "a b c", "...", "..."),
        ("a b c", "a x c", ".x.", ".x."),
        ("a b", "a new b", "..", ".x."),
        ("a b c", "c", "xx.", "."),
        ("a b", "c d", "xx", "xx"),
        ("", "a", "", "x"),
        ("a a b", "a b a b", "...", ".x.."),
    ],
)
def test_changed_words(one, two, first, second):
    marks = changed_words(one.split(), two.split())
    assert ["".join(".x"[m] for m in side) for side in marks] == [first, second]


def test_the_divergence_by_hand():
    half, quarter = np.log([[0.5, 0.5]]), np.log([[0.25, 0.75]])
    assert kl_divergence(half, quarter) == pytest.approx([0.5 * math.log(4 / 3)])  # 0.5 ln 2 + 0.5 ln(2/3)
    assert kl_divergence(quarter, half) == pytest.approx([0.25 * math.log(0.5) + 0.75 * math.log(1.5)])


def _drawn(seed: int, *shape: int) -> np.ndarray:
    """Log-probabilities as a model gives them: float32."""
    logits = np.random.default_rng(seed).normal(0, 4, shape)
    return (logits - np.log(np.exp(logits).sum(-1, keepdims=True))).astype(np.float32)


def test_divergence_is_zero_for_equal_rows_only():
    before, after = _drawn(0, 40, 300), _drawn(1, 40, 300)
    after[::2] = before[::2]
    found = kl_divergence(before, after)
    assert found.shape == (40,)
    np.testing.assert_array_equal(found[::2], 0)
    assert (found[1::2] > 0.1).all()
    nearly = np.nextafter(before, np.float32(0))  # sums of which rounding could make less than nothing
    assert (kl_divergence(before, nearly) >= 0).all()
    assert (kl_divergence(nearly, before) >= 0).all()


def rows(*probabilities: list[float]) -> np.ndarray:
    return np.log(np.array(probabilities))


def test_a_turn_says_whether_it_only_tips_a_tie():
    before = rows([0.451, 0.445, 0.104], [0.1, 0.3, 0.6], [0.8, 0.1, 0.1])
    after = rows([0.42, 0.44, 0.14], [0.1, 0.2, 0.7], [0.2, 0.1, 0.7])
    tie, real = top_token_changes(before, after)
    assert (tie.step, tie.is_tie, real.step, real.is_tie) == (0, True, 2, False)
    piece = ("·il", "·elle", "·").__getitem__
    assert tie.describe(piece) == "il → elle, which was a near-tie: 0.451 against 0.445; now 0.420 against 0.440"
    assert real.describe(piece) == "il → ·: 0.800 against 0.100; now 0.200 against 0.700"


@pytest.mark.parametrize("code", ["off_cross", "causal-off", "off_enc.1"])
def test_turns_are_where_the_top_tokens_differ(tiny_checkpoint, code):
    asked = Request("The red fox takes a lamp.", decoding=Decoding(limit=8), intervention=tiny.edited(code))
    given = analyse(tiny_checkpoint, asked)
    differs = given.baseline.trace.log_probs.argmax(1) != given.trace.log_probs.argmax(1)
    assert [each.step for each in token_changes(given)] == np.flatnonzero(differs).tolist()
    again = analyse(
        tiny_checkpoint, Request(asked.source, decoding=asked.decoding, intervention=asked.intervention, mode="again")
    )
    same = again.trace.outputs.ids == again.baseline.trace.outputs.ids
    assert len(token_changes(again)) == (not same)
    for each in token_changes(again):
        assert each.step == again.comparable_steps - 1
        assert (again.baseline.trace.outputs.ids[each.step], again.trace.outputs.ids[each.step]) == (
            each.old_token,
            each.new_token,
        )
        assert each.old_probabilities[0] == pytest.approx(float(again.baseline.trace.probabilities[each.step]), abs=1e-6)
        assert each.new_probabilities[1] == pytest.approx(float(again.trace.probabilities[each.step]), abs=1e-6)
    assert token_changes(analyse(tiny_checkpoint, Request(asked.source, decoding=asked.decoding))) == ()


@pytest.mark.parametrize("pad", [0, 2])
def test_turns_of_a_fill_in_model_exclude_its_ends(tokenizer, pad):
    checkpoint = tiny.checkpoint(tokenizer, family="encoder-only", decoder_layers=0, source_start=True)
    found = analyse(checkpoint, Request("The red fox takes a lamp.", pad=pad, intervention=tiny.edited("off_enc.1")))
    before, after = found.baseline.trace, found.trace
    own = [n for n, label in enumerate(before.source.labels) if label not in ("<s>", "</s>", "<pad>")]
    assert own == list(before.scorable_rows) == list(range(1, len(own) + 1)) and len(before.source) == len(own) + 2 + pad
    likeliest = [trace.log_probs.argmax(1) for trace in (before, after)]
    assert top_tokens(after) == tuple(likeliest[1][own].tolist())
    differs = likeliest[0] != likeliest[1]
    assert [each.step for each in token_changes(found)] == [n for n in own if differs[n]]
    assert differs.sum() > len(token_changes(found)) > 0  # an end turns too


def test_near_tie_is_less_than_a_factor_apart():
    assert is_near_tie(0.451, 0.445)
    assert is_near_tie(0.0451, 0.0445)  # a factor, not a difference
    assert not is_near_tie(0.12, 0.12 / NEAR_TIE_RATIO - 1e-9)
    assert is_near_tie(0.12 / NEAR_TIE_RATIO + 1e-9, 0.12)
    first, second = near_ties(rows([0.451, 0.445, 0.104], [0.1, 0.3, 0.6]))
    assert [c.id for c in first] == [0, 1]
    assert second is None


def test_token_of_higher_probability_is_named():
    log_probs = np.log([[0.1, 0.7, 0.2], [0.6, 0.3, 0.1]])
    first, second = better_candidates(log_probs, [1, 1])
    assert first is None
    assert (second.id, second.probability) == (0, pytest.approx(0.6))
