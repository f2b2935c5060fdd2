"""Numbers of sinusoidal, rotary and learned positions."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from model.network.positions import rotary, sinusoidal, wavelengths
from model.readings.position_numbers import (
    by_distance,
    drawn_length,
    learned_numbers,
    moved_rows,
    orthogonal_map,
    scheme_numbers,
    together,
)

SIZES = pytest.mark.parametrize(
    ("count", "width", "base", "shift"), [(8, 2, 10_000.0, 1), (64, 256, 10_000.0, 1), (20, 16, 2.0, 128), (2, 6, 1e6, 0)]
)


DRAWN = pytest.mark.parametrize("scaled", [False, True])  # N(0, 1/D), or N(0, 1) beside scaled embeddings


def random_table(rows: int, width: int, seed: int = 0, scaled: bool = False) -> np.ndarray:
    """Rows as they are before training."""
    std = 1.0 if scaled else width**-0.5
    return np.random.default_rng(seed).normal(0, std, (rows, width)).astype(np.float32)


def test_two_dimensions_by_hand():
    found = scheme_numbers("sinusoidal", 3, 2, 10_000.0, 1)
    np.testing.assert_allclose(found.values, [[0, 1], [math.sin(1), math.cos(1)], [math.sin(2), math.cos(2)]], atol=1e-6)
    np.testing.assert_allclose(found.mean, [1, math.cos(1), math.cos(2)], atol=1e-6)
    np.testing.assert_allclose(found.reached[2], [math.sin(3), math.cos(3)], atol=1e-6)
    np.testing.assert_allclose(found.rotated, found.reached, atol=1e-6)
    np.testing.assert_allclose(found.wavelengths, [2 * math.pi])


@SIZES
def test_sinusoidal_shift_is_a_rotation(count, width, base, shift):
    found = scheme_numbers("sinusoidal", count, width, base, shift)
    assert found.worst < 1e-6
    assert found.relative < 1e-6
    assert found.spread < 1e-6 * width
    distances = np.arange(count)[:, None] * (2 * math.pi / wavelengths(width, base))
    np.testing.assert_allclose(found.mean, np.cos(distances).sum(1), atol=1e-6 * width)
    np.testing.assert_array_equal(found.values, sinusoidal(torch.arange(count), width, base))
    assert found.values.shape == found.rotated.shape == found.reached.shape == (count, width)
    assert found.residual.shape == (count,)


@SIZES
def test_rotary_scores_know_the_distance_alone(count, width, base, shift):
    found = scheme_numbers("rotary", count, width, base, shift)
    assert found.worst < 1e-4 * math.sqrt(width)
    assert found.spread < 1e-4 * math.sqrt(width)
    np.testing.assert_allclose(found.rotated, found.reached, atol=1e-5)
    ones = torch.ones(1, 1, count, width)
    turned = rotary(ones, torch.arange(count), base)
    np.testing.assert_allclose(found.values, turned[0, 0], atol=1e-6)
    np.testing.assert_allclose(found.similarity, (turned @ turned.mT)[0, 0] / math.sqrt(width), atol=1e-4)


def test_rotary_scores_by_hand():
    found = scheme_numbers("rotary", 4, 2, 10_000.0, 1)
    np.testing.assert_allclose(found.mean, [2 * math.cos(d) / math.sqrt(2) for d in range(4)], atol=1e-6)
    assert found.random_mean.shape == (4,)
    assert np.abs(found.random_mean - found.mean).max() > 0.1


def test_similarity_by_distance_by_hand():
    mean, least, most = by_distance(np.array([[1.0, 9], [3, 2]]))  # the query 1 looks back at the key 0: 3
    assert (mean.tolist(), least.tolist(), most.tolist()) == ([1.5, 3.0], [1.0, 3.0], [2.0, 3.0])


def test_the_best_map_of_a_table_that_turns_is_exact():
    table = sinusoidal(torch.arange(30), 8, 100.0).numpy().astype(np.float64)
    found = orthogonal_map(table[:-3], table[3:])
    np.testing.assert_allclose(found @ found.T, np.eye(8), atol=1e-10)
    np.testing.assert_allclose(table[:-3] @ found.T, table[3:], atol=1e-6)


def test_a_learned_table_has_no_exact_shift_and_a_spread():
    table = random_table(40, 16)
    table[:20] *= 3
    found = learned_numbers(table, 32, 2)
    assert (found.seen, found.values.shape, found.similarity.shape) == (20, (32, 16), (32, 32))
    assert found.rotated.shape == found.reached.shape == (18, 16)
    assert len(found.mean) == 20
    assert found.worst > 0.5
    assert 0.2 < found.relative < 1.5
    assert found.spread > 1
    np.testing.assert_array_equal(found.reached, table[2:20])


@DRAWN
@pytest.mark.parametrize("seed", range(10))
def test_rows_that_training_moved_are_told_from_random_ones(seed, scaled):
    table = random_table(160, 128, seed, scaled)
    assert moved_rows(table) == 1
    longer, alike = table.copy(), table.copy()
    longer[:25] *= 2
    assert moved_rows(longer) == 25
    alike[20:25] = alike[20]
    assert moved_rows(alike) == 25


@DRAWN
@pytest.mark.parametrize("seed", range(10))
def test_slightly_moved_rows_stand_out_together(seed, scaled):
    table, drawn = random_table(160, 128, seed, scaled), 128 if scaled else 1
    assert abs(together(table, drawn)) < 3.5
    table[:20] *= 3
    table[20:60] *= 1.1  # each by less than two standard deviations of a row
    assert drawn_length(table) == drawn
    found = learned_numbers(table, 64, 1, trained=60)
    assert (found.seen <= 60, found.trained, found.rows) == (True, 60, 160)
    assert found.together == (together(table[found.seen : 60], drawn), together(table[60:], drawn))
    assert together(table[20:60], drawn) > 5 > 3.5 > abs(found.together[1])
    unknown = learned_numbers(table, 64, 1)
    assert (unknown.trained, unknown.together[1]) == (None, together(table[found.seen :], drawn))
    assert learned_numbers(table, 64, 1, trained=999).trained == 160
