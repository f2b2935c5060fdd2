"""Two passes beside each other: partners among tokens, the distance of two patterns, the difference of two maps."""

from __future__ import annotations

import numpy as np
import pytest

from model.readings.comparison import align, common_difference, mean, row_distances
from model.trace import View


def patterns(heads: int, rows: int, keys: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(keys), (heads, rows))


def test_partners_are_the_longest_common_part_and_what_stands_in_a_words_place():
    found = align(["the", "dog", "was", "tired", "."], ["the", "cat", "was", "tired", "."])
    assert found.columns == ((0, 0), (1, 1), (2, 2), (3, 3), (4, 4))
    assert found.same == (True, False, True, True, True) and not found.is_equal
    assert found.common == ((0, 0), (2, 2), (3, 3), (4, 4)) and found.alone == ((), ())


def test_a_word_cut_into_more_tokens_has_no_partner_yet_its_tokens_belong_to_the_other_word():
    found = align(["was", "tired", "."], ["was", "w", "ide", "."])
    assert found.columns == ((0, 0), (1, None), (None, 1), (None, 2), (2, 3))
    assert found.alone == ((1,), (1, 2))
    assert found.groups == (((0,), (0,)), ((1,), (1, 2)), ((2,), (3,)))


@pytest.mark.parametrize(
    ("one", "other"), [("", ""), ("a", ""), ("", "b"), ("a b", "c"), ("a b a", "a"), ("a b c", "c b a")]
)
def test_every_token_stands_in_one_column_and_in_one_group_in_its_order(one, other):
    one, other = one.split(), other.split()
    found = align(one, other)
    for side, tokens in enumerate((one, other)):
        assert [column[side] for column in found.columns if column[side] is not None] == list(range(len(tokens)))
        assert [n for group in found.groups for n in group[side]] == list(range(len(tokens)))
    assert all(one[i] == other[j] for i, j in found.common)


def test_the_distance_is_0_of_the_same_rows_1_of_rows_with_nothing_in_common_and_the_same_both_ways():
    labels = list("abcd")
    same = align(labels, labels)
    one, other = patterns(3, 4, 4, 1), patterns(3, 4, 4, 2)
    assert row_distances(one, one, same, same) == pytest.approx(np.zeros((3, 4)))
    apart = row_distances(one, other, same, same)
    assert ((apart > 0) & (apart < 1)).all()
    assert apart == pytest.approx(row_distances(other, one, same, same))
    assert apart == pytest.approx(np.abs(one - other).sum(-1) / 2)
    left, right = np.eye(4)[None], np.roll(np.eye(4), 1, axis=1)[None]
    assert row_distances(left, right, same, same) == pytest.approx(np.ones((1, 4)))


def test_weights_on_the_tokens_of_one_word_are_summed_and_those_of_what_the_other_lacks_count_whole():
    keys = align(["was", "tired", "."], ["was", "w", "ide", "."])
    rows = align(["x"], ["x"])
    one, other = np.array([[[0.2, 0.5, 0.3]]]), np.array([[[0.2, 0.1, 0.4, 0.3]]])
    assert row_distances(one, other, rows, keys) == pytest.approx(np.zeros((1, 1)))
    longer = align(["was", "."], ["was", "very", "."])
    one, other = np.array([[[0.6, 0.4]]]), np.array([[[0.3, 0.3, 0.4]]])
    assert row_distances(one, other, rows, longer) == pytest.approx(np.full((1, 1), 0.3))


def test_a_row_that_sees_nothing_is_not_compared():
    same = align(["a", "b"], ["a", "b"])
    one, other = np.array([[[0.5, 0.5], [0.0, 0.0]]]), np.array([[[1.0, 0.0], [0.5, 0.5]]])
    found = row_distances(one, other, same, same)
    assert found[0, 0] == pytest.approx(0.5) and np.isnan(found[0, 1])
    assert mean(found) == pytest.approx([0.5])
    assert np.isnan(mean(found[:, 1:])).all()


def view(values: np.ndarray, queries: str, keys: str) -> View:
    return View(values, np.ones(values.shape, bool), tuple(queries.split()), tuple(keys.split()))


def test_the_difference_holds_where_both_axes_have_the_same_tokens_and_nowhere_else():
    one = view(np.arange(6.0).reshape(2, 3), "q r", "a b c")
    other = view(10 + np.arange(8.0).reshape(2, 4), "q s", "a x y c")
    found = common_difference(one, other)
    assert (found.queries, found.keys) == (one.queries, one.keys)
    assert found.allowed.tolist() == [[True, False, True], [False, False, False]]
    assert found.values.tolist() == [[10.0, 0.0, 11.0], [0.0, 0.0, 0.0]]
    same = common_difference(one, view(one.values + 1, "q r", "a b c"))
    assert same.allowed.all() and (same.values == 1).all()
    assert common_difference(one, view(one.values, "u v", "a b c")) is None
