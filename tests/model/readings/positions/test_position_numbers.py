"""Numbers of sinusoidal, rotary and learned positions."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from model.network.positions import rotary, sinusoidal, wavelengths
from model.readings.positions.position_numbers import moved_rows, orthogonal_map, scheme_numbers

SIZES = pytest.mark.parametrize(
    ("count", "width", "base", "shift"), [(8, 2, 10_000.0, 1), (64, 256, 10_000.0, 1), (20, 16, 2.0, 128), (2, 6, 1e6, 0)]
)


DRAWN = pytest.mark.parametrize("scaled", [False, True])  # N(0, 1/D), or N(0, 1) beside scaled embeddings


def random_table(rows: int, width: int, seed: int = 0, scaled: bool = False) -> np.ndarray:
    """Rows as they are before training."""
    std = 1.0 if scaled else width**-0.5
    return np.random.default_rng(seed).normal(0, std, (rows, width)).astype(np.float32)


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


def test_the_best_map_of_a_table_that_turns_is_exact():
    table = sinusoidal(torch.arange(30), 8, 100.0).numpy().astype(np.float64)
    found = orthogonal_map(table[:-3], table[3:])
    np.testing.assert_allclose(found @ found.T, np.eye(8), atol=1e-10)
    np.testing.assert_allclose(table[:-3] @ found.T, table[3:], atol=1e-6)


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
