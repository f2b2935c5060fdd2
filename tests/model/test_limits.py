from __future__ import annotations

import math

import pytest

from model.limits import is_number


@pytest.mark.parametrize("value", [0, 0.0, -0.0, 1, 0.5, 1.0, 1e-300])
def test_a_number_within_its_bounds(value):
    assert is_number(value, 0, 1)


@pytest.mark.parametrize(
    "value", [-1, 2, -1e-9, 1 + 1e-9, 10**400, -(10**400), math.nan, math.inf, True, False, "1", None, [1], 1j]
)
def test_what_is_no_number_or_beyond_its_bounds(value):
    assert not is_number(value, 0, 1)


def test_without_an_end_it_must_still_be_finite():
    assert not is_number(math.inf, 0, math.inf) and is_number(1e308, 0, math.inf)
