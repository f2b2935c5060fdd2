from __future__ import annotations

import math

import numpy as np
import pytest

from model.inference.predictions import Move, candidates, changed_words, first_difference, kl_divergence, moves


def test_candidates_are_the_likeliest_in_order():
    log_probs = np.log(np.array([[0.1, 0.6, 0.05, 0.25], [0.7, 0.1, 0.15, 0.05]]))
    first, second = candidates(log_probs, 3)
    assert [c.id for c in first] == [1, 3, 0]
    assert [c.id for c in second] == [0, 2, 1]
    assert [c.probability for c in first] == pytest.approx([0.6, 0.25, 0.1])


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


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_moves_are_the_largest_changes(count):
    before, after = _drawn(4, 60), _drawn(5, 60)
    change = np.exp(after.astype(float)) - np.exp(before.astype(float))
    gains, losses = moves(before, after, count)
    assert len(gains) == len(losses) == count
    assert [m.id for m in gains] == list(np.argsort(-change))[:count]
    assert [m.id for m in losses] == list(np.argsort(change))[:count]
    assert all(isinstance(m, Move) and m.after > m.before for m in gains)
    assert all(m.after < m.before for m in losses)
