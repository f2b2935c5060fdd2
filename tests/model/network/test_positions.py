from __future__ import annotations

import math

import pytest
import torch

from model.network.positions import PositionalEncoding, rotary, sinusoidal
from tests.support import tiny


def test_sinusoidal_by_the_formula():
    table = sinusoidal(torch.arange(50), 6)
    for p in range(50):
        for i in range(3):
            angle = p / 10000 ** (2 * i / 6)
            assert float(table[p, 2 * i]) == pytest.approx(math.sin(angle), abs=1e-6)
            assert float(table[p, 2 * i + 1]) == pytest.approx(math.cos(angle), abs=1e-6)


def test_rotary_by_hand():
    x = torch.tensor([[[[1.0, 0.0, 0.0, 2.0]]]], dtype=torch.float64)
    turned = rotary(x, torch.tensor([1]))[0, 0, 0].tolist()
    expected = [math.cos(1), math.sin(1), -2 * math.sin(0.01), 2 * math.cos(0.01)]
    assert turned == pytest.approx(expected, abs=1e-12)


def test_only_their_own_kind_adds_positions():
    x = torch.randn(2, 5, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    at = torch.arange(5)
    assert PositionalEncoding(tiny.config(positions="rotary"))(x, at).equal(x)
    added = PositionalEncoding(tiny.config())(x, at) - x
    torch.testing.assert_close(added, sinusoidal(at, 16).double().expand(2, 5, 16), atol=1e-12, rtol=0)
    learned = PositionalEncoding(tiny.config(positions="learned", max_positions=8)).double()
    torch.testing.assert_close(learned(x, at + 2) - x, learned.table.weight[2:7].expand(2, 5, 16), atol=1e-12, rtol=0)


def test_learned_positions_beyond_the_table_are_refused():
    learned = PositionalEncoding(tiny.config(positions="learned", max_positions=4))
    assert learned(torch.zeros(1, 4, 16), torch.arange(4)).shape == (1, 4, 16)
    assert learned(torch.zeros(1, 0, 16), torch.arange(0)).shape == (1, 0, 16)
    with pytest.raises(ValueError, match="position 4 is asked for; this checkpoint has learned positions 0 to 3"):
        learned(torch.zeros(1, 2, 16), torch.arange(3, 5))
