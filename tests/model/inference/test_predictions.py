from __future__ import annotations

import math
import random

import numpy as np
import pytest

from model.inference.predictions import (
    Move,
    candidates,
    changed_words,
    first_difference,
    kl_divergence,
    likelier,
    moves,
)


def test_candidates_are_the_likeliest_in_order():
    log_probs = np.log(np.array([[0.1, 0.6, 0.05, 0.25], [0.7, 0.1, 0.15, 0.05]]))
    first, second = candidates(log_probs, 3)
    assert [c.id for c in first] == [1, 3, 0]
    assert [c.id for c in second] == [0, 2, 1]
    assert [c.probability for c in first] == pytest.approx([0.6, 0.25, 0.1])


def test_equal_candidates_stand_in_the_order_of_their_ids():
    assert [c.id for c in candidates(np.log(np.full((1, 4), 0.25)), 4)[0]] == [0, 1, 2, 3]


def test_what_was_likelier_is_named_where_it_is_another_token():
    log_probs = np.log([[0.1, 0.7, 0.2], [0.6, 0.3, 0.1]])
    first, second = likelier(log_probs, [1, 1])
    assert first is None
    assert (second.id, second.probability) == (0, pytest.approx(0.6))


def test_there_are_no_more_candidates_than_tokens():
    assert len(candidates(np.log(np.full((2, 3), 1 / 3)), 5)[1]) == 3
    assert len(candidates(np.log(np.full((1, 9), 1 / 9)))[0]) == 5


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


def test_what_is_unchanged_is_a_common_subsequence():
    draw = random.Random(0)
    for _ in range(50):
        one, two = ([draw.choice("abc") for _ in range(draw.randrange(8))] for _ in range(2))
        first, second = changed_words(one, two)
        assert (len(first), len(second)) == (len(one), len(two))
        kept = [[w for w, changed in zip(*side, strict=True) if not changed] for side in ((one, first), (two, second))]
        assert kept[0] == kept[1]
        assert len(kept[0]) == _longest(one, two)


def _longest(one: list[str], two: list[str]) -> int:
    """Length of a longest common subsequence, by trying everything."""
    if not one or not two:
        return 0
    if one[0] == two[0]:
        return 1 + _longest(one[1:], two[1:])
    return max(_longest(one[1:], two), _longest(one, two[1:]))


def test_the_divergence_by_hand():
    half, quarter = np.log([[0.5, 0.5]]), np.log([[0.25, 0.75]])
    assert kl_divergence(half, quarter) == pytest.approx([0.5 * math.log(4 / 3)])  # 0.5 ln 2 + 0.5 ln(2/3)
    assert kl_divergence(quarter, half) == pytest.approx([0.25 * math.log(0.5) + 0.75 * math.log(1.5)])


def _drawn(seed: int, *shape: int) -> np.ndarray:
    """Log-probabilities as a model gives them: float32."""
    logits = np.random.default_rng(seed).normal(0, 4, shape)
    return (logits - np.log(np.exp(logits).sum(-1, keepdims=True))).astype(np.float32)


def test_the_divergence_has_a_number_a_step_never_below_zero_and_zero_for_equal_rows():
    before, after = _drawn(0, 40, 300), _drawn(1, 40, 300)
    after[::2] = before[::2]
    found = kl_divergence(before, after)
    assert found.shape == (40,)
    np.testing.assert_array_equal(found[::2], 0)
    assert (found[1::2] > 0.1).all()
    nearly = np.nextafter(before, np.float32(0))  # sums of which rounding could make less than nothing
    assert (kl_divergence(before, nearly) >= 0).all()
    assert (kl_divergence(nearly, before) >= 0).all()


@pytest.mark.parametrize("shape", [(3, 5), (2, 4), (5,)])
def test_divergences_of_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match=r"^the shapes are \(2, 5\) and \(.*\); expected equal ones$"):
        kl_divergence(_drawn(0, 2, 5), _drawn(1, *shape))


def test_moves_are_the_largest_gains_and_losses_in_order():
    before, after = np.log([0.1, 0.2, 0.3, 0.25, 0.15]), np.log([0.35, 0.05, 0.3, 0.24, 0.06])
    gains, losses = moves(before, after)
    assert [(m.id, round(m.before, 9), round(m.after, 9)) for m in gains] == [(0, 0.1, 0.35)]
    assert [(m.id, round(m.before, 9), round(m.after, 9)) for m in losses] == [
        (1, 0.2, 0.05),
        (4, 0.15, 0.06),
        (3, 0.25, 0.24),
    ]
    assert [m.id for m in moves(after, before)[0]] == [1, 4, 3]


def test_what_does_not_move_is_neither_gain_nor_loss():
    same = _drawn(3, 50)
    assert moves(same, same) == ((), ())


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_there_are_as_many_moves_as_asked_for_where_there_are_as_many(count):
    before, after = _drawn(4, 60), _drawn(5, 60)
    change = np.exp(after.astype(float)) - np.exp(before.astype(float))
    gains, losses = moves(before, after, count)
    assert len(gains) == len(losses) == count
    assert [m.id for m in gains] == list(np.argsort(-change))[:count]
    assert [m.id for m in losses] == list(np.argsort(change))[:count]
    assert all(isinstance(m, Move) and m.after > m.before for m in gains)
    assert all(m.after < m.before for m in losses)
