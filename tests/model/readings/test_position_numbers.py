"""What is measured of sinusoidal, rotary and learned positions."""

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
from tests.support import tiny

SIZES = pytest.mark.parametrize(
    ("count", "width", "base", "shift"), [(8, 2, 10_000.0, 1), (64, 256, 10_000.0, 1), (20, 16, 2.0, 128), (2, 6, 1e6, 0)]
)


DRAWN = pytest.mark.parametrize("scaled", [False, True])  # N(0, 1/D), or N(0, 1) beside scaled embeddings


def random_table(rows: int, width: int, seed: int = 0, scaled: bool = False) -> np.ndarray:
    """Rows as they are before training."""
    std = 1.0 if scaled else width**-0.5
    return np.random.default_rng(seed).normal(0, std, (rows, width)).astype(np.float32)


def test_two_dimensions_by_hand():
    """PE(p) = (sin p, cos p): PE(p).PE(q) = cos(p - q), and a shift by 1 turns by one radian."""
    found = scheme_numbers("sinusoidal", 3, 2, 10_000.0, 1)
    np.testing.assert_allclose(found.values, [[0, 1], [math.sin(1), math.cos(1)], [math.sin(2), math.cos(2)]], atol=1e-6)
    np.testing.assert_allclose(found.mean, [1, math.cos(1), math.cos(2)], atol=1e-6)
    np.testing.assert_allclose(found.reached[2], [math.sin(3), math.cos(3)], atol=1e-6)
    np.testing.assert_allclose(found.rotated, found.reached, atol=1e-6)
    np.testing.assert_allclose(found.wavelengths, [2 * math.pi])


def test_wavelengths_by_hand():
    np.testing.assert_allclose(wavelengths(4, 10_000.0), [2 * math.pi, 200 * math.pi])
    np.testing.assert_allclose(wavelengths(6, 8.0), 2 * math.pi * np.array([1, 2, 4]))


def test_after_its_wavelength_a_pair_is_where_it_was():
    for pair, length in enumerate(wavelengths(16, 100.0)):
        there = sinusoidal(torch.tensor([0.0, length], dtype=torch.float64), 16, 100.0)[:, 2 * pair : 2 * pair + 2]
        torch.testing.assert_close(there[0], there[1], atol=1e-5, rtol=0)


@SIZES
def test_the_shift_of_sinusoidal_positions_is_a_rotation_and_similarity_knows_the_distance_alone(count, width, base, shift):
    found = scheme_numbers("sinusoidal", count, width, base, shift)
    assert found.worst < 1e-6
    assert found.relative < 1e-6
    assert found.spread < 1e-6 * width
    distances = np.arange(count)[:, None] * (2 * math.pi / wavelengths(width, base))
    np.testing.assert_allclose(found.mean, np.cos(distances).sum(1), atol=1e-6 * width)
    np.testing.assert_array_equal(found.values, sinusoidal(torch.arange(count), width, base))
    assert found.values.shape == found.rotated.shape == found.reached.shape == (count, width)
    assert found.residual.shape == (count,)


def test_the_residual_would_show_a_wrong_rotation():
    one, two = scheme_numbers("sinusoidal", 16, 8, 100.0, 1), scheme_numbers("sinusoidal", 16, 8, 100.0, 2)
    assert np.abs(one.rotated - two.reached).max() > 0.3


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
    """Two ones turned by p and q: (1,1).R(p - q)(1,1) = 2 cos(p - q), over sqrt(2)."""
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


def test_the_best_map_is_no_worse_than_others():
    chance = np.random.default_rng(3)
    start, reached = chance.normal(size=(2, 40, 6))
    best = np.linalg.norm(start @ orthogonal_map(start, reached).T - reached)
    for _ in range(50):
        other, _ = np.linalg.qr(chance.normal(size=(6, 6)))
        assert best <= np.linalg.norm(start @ other.T - reached) + 1e-12


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


@pytest.mark.parametrize("shift", [20, 21, 128])
def test_a_shift_out_of_the_table_has_no_residual(shift):
    table = random_table(40, 16)
    table[:20] *= 3
    found = learned_numbers(table, 32, shift)
    assert (len(found.residual), found.rotated.shape, found.relative) == (0, (0, 16), 0.0)
    assert math.isnan(found.worst)


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
def test_rows_that_are_hardly_moved_stand_out_together_and_random_ones_do_not(seed, scaled):
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


@DRAWN
def test_a_fresh_model_has_no_row_that_training_moved(scaled):
    torch.manual_seed(0)
    fresh = tiny.build(tiny.config(positions="learned", d_model=64, max_positions=200, embedding_scale=scaled))
    table = fresh.source_embedding.positional.table.weight.detach().numpy()
    assert (moved_rows(table), drawn_length(table)) == (1, 64 if scaled else 1)
    assert abs(learned_numbers(table, 64, 1, trained=20).together[0]) < 3.5


@pytest.mark.parametrize(("trained", "used"), [(None, 32), (20, 20), (99, 32)])
def test_where_no_row_stands_out_those_that_training_reached_are_measured_or_all(trained, used):
    table = random_table(40, 16)
    found = learned_numbers(table, 32, 2, trained)
    assert (found.seen, found.used, len(found.mean), len(found.residual)) == (1, used, used, used - 2)
    np.testing.assert_array_equal(found.reached, table[2:used])
    assert found.spread == pytest.approx(max(np.ptp(np.diagonal(found.similarity[:used, :used], -d)) for d in range(used)))


def test_a_table_of_zeros_and_one_row_are_no_fault():
    for table in (np.zeros((5, 4), np.float32), random_table(1, 4)):
        found = learned_numbers(table, 8, 1)
        assert np.isfinite(found.values).all() and np.isfinite(found.mean).all()


def test_arrays_are_read_only():
    found = scheme_numbers("sinusoidal", 4, 4, 10.0, 1)
    for array in (found.values, found.similarity, found.mean, found.rotated, found.residual):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
