"""How the benchmark of growth reads its numbers."""

from __future__ import annotations

import pytest

from benchmarks.growth import LENGTHS, fit_power_law, table


def test_the_exponent_of_a_power_is_found_and_what_departs_from_it_is_told():
    squares = [3.0 * length**2 for length in LENGTHS]
    assert fit_power_law(LENGTHS, squares) == pytest.approx((2.0, 0.0), abs=1e-9)
    exponent, departs = fit_power_law(LENGTHS, [*squares[:-1], 2 * squares[-1]])
    assert exponent > 2.1 and departs > 0.2
    told = table("tokens", [str(length) for length in LENGTHS], LENGTHS, [(value,) * 6 for value in squares]).splitlines()
    assert told[-1].startswith("| **exponent, 8 to 128** | **2.00** (within 0%) |")
    assert len({line.count("|") for line in told}) == 1
