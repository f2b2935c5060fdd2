"""Partners among tokens, distances of patterns and word alignments."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from model.config import END
from model.inference.analyse import analyse
from model.inference.request import Request
from model.readings.heads.alignment import diagonal, error_rate, head_peaks, hits, peaks
from model.readings.heads.trace_comparison import align, common_difference, row_distances
from model.text.measurements import ROWS
from model.trace import Axis, MapView, Site, Trace


def patterns(heads: int, rows: int, keys: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(keys), (heads, rows))


def test_alignment_is_the_longest_common_part():
    found = align(["the", "dog", "was", "tired", "."], ["the", "cat", "was", "tired", "."])
    assert found.columns == ((0, 0), (1, 1), (2, 2), (3, 3), (4, 4))
    assert found.same == (True, False, True, True, True) and not found.is_equal
    assert found.common == ((0, 0), (2, 2), (3, 3), (4, 4)) and found.unpaired == ((), ())


@pytest.mark.parametrize(
    ("one", "other"), [("", ""), ("a", ""), ("", "b"), ("a b", "c"), ("a b a", "a"), ("a b c", "c b a")]
)
def test_every_token_has_one_column_and_one_group(one, other):
    one, other = one.split(), other.split()
    found = align(one, other)
    for side, tokens in enumerate((one, other)):
        assert [column[side] for column in found.columns if column[side] is not None] == list(range(len(tokens)))
        assert [n for group in found.groups for n in group[side]] == list(range(len(tokens)))
    assert all(one[i] == other[j] for i, j in found.common)


def test_row_distance_is_symmetric_and_bounded():
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


def test_row_distance_sums_the_tokens_of_a_word():
    keys = align(["was", "tired", "."], ["was", "w", "ide", "."])
    rows = align(["x"], ["x"])
    one, other = np.array([[[0.2, 0.5, 0.3]]]), np.array([[[0.2, 0.1, 0.4, 0.3]]])
    assert row_distances(one, other, rows, keys) == pytest.approx(np.zeros((1, 1)))
    longer = align(["was", "."], ["was", "very", "."])
    one, other = np.array([[[0.6, 0.4]]]), np.array([[[0.3, 0.3, 0.4]]])
    assert row_distances(one, other, rows, longer) == pytest.approx(np.full((1, 1), 0.3))


def view(values: np.ndarray, queries: str, keys: str) -> MapView:
    return MapView(values, np.ones(values.shape, bool), tuple(queries.split()), tuple(keys.split()))


def test_difference_needs_equal_tokens_on_both_axes():
    one = view(np.arange(6.0).reshape(2, 3), "q r", "a b c")
    other = view(10 + np.arange(8.0).reshape(2, 4), "q s", "a x y c")
    found = common_difference(one, other)
    assert (found.queries, found.keys) == (one.queries, one.keys)
    assert found.allowed.tolist() == [[True, False, True], [False, False, False]]
    assert found.values.tolist() == [[10.0, 0.0, 11.0], [0.0, 0.0, 0.0]]
    same = common_difference(one, view(one.values + 1, "q r", "a b c"))
    assert same.allowed.all() and (same.values == 1).all()
    assert common_difference(one, view(one.values, "u v", "a b c")) is None


def rate(found, sure, possible=()):
    told = hits(found, set(sure), set(possible))
    return float(error_rate(*map(np.array, (told.links, told.on_sure, told.on_possible, told.sure))))


def test_perfect_aligner_has_no_error():
    gold = {(0, 0), (2, 1), (1, 2)}
    weights = np.full((3, 4), 0.1)
    for source, target in gold:
        weights[target, source] = 0.7
    assert rate(peaks(weights, 3), gold) == 0
    assert rate(diagonal(3, 3), gold) == pytest.approx(2 / 3)
    assert rate(diagonal(3, 3), {(n, n) for n in range(3)}) == 0


def test_peaks_of_a_trace_are_those_of_its_rows(tiny_checkpoint):
    trace = analyse(tiny_checkpoint, Request("The red fox takes a lamp.")).full_pass
    words = ["a", "b", "c"]
    source = Axis((5, 6, 7, END), (*words, "</s>"), (0, 1, 2, 3))
    outputs = Axis((8, 9, 10, END), ("B", "C", "A", "</s>"), (0, 1, 2, 3))
    order = [1, 2, 0]
    for rows, later in ROWS.items():
        pattern = np.zeros((1, 4, 4), dtype=np.float32)
        pattern[0, :, 3] = 0.25
        for t, s in enumerate(order):
            pattern[0, t + later, s] = 0.5
        made: Trace = dataclasses.replace(
            trace,
            source=source,
            outputs=outputs,
            inputs=Axis((1, 8, 9, 10), ("<s>", "B", "C", "A"), (0, 1, 2, 3)),
            patterns={Site("cross", 0): pattern},
            masks={Site("cross", 0): np.ones((4, 4), dtype=bool)},
        )
        (found,) = head_peaks(made, rows)
        assert found.peaks == (("B", "b", 0.5), ("C", "c", 0.5), ("A", "a", 0.5))
        assert (found.mutual, found.on_diagonal, found.rows) == (3, 0, rows)
        (other,) = head_peaks(made, "reads" if rows == "predicts" else "predicts")
        assert other.peaks != found.peaks
