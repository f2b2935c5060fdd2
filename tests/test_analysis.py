from __future__ import annotations

import random

import numpy as np
import pytest

from model.analysis import RARE, candidates, changed_words, first_difference, rare_positions


def test_rare_positions():
    counts = [0, RARE - 1, RARE, RARE + 1]
    assert rare_positions([3, 1, 2, 0, 1], counts) == (1, 3, 4)
    assert rare_positions([3, 1, 2, 0], counts, threshold=1) == (3,)
    assert rare_positions([], counts) == ()


def test_candidates_are_the_likeliest_in_order():
    log_probs = np.log(np.array([[0.1, 0.6, 0.05, 0.25], [0.7, 0.1, 0.15, 0.05]]))
    first, second = candidates(log_probs, 3)
    assert [c.id for c in first] == [1, 3, 0]
    assert [c.id for c in second] == [0, 2, 1]
    assert [c.probability for c in first] == pytest.approx([0.6, 0.25, 0.1])


def test_equal_candidates_stand_in_the_order_of_their_ids():
    assert [c.id for c in candidates(np.log(np.full((1, 4), 0.25)), 4)[0]] == [0, 1, 2, 3]


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
