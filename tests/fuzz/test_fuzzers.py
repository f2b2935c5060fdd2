"""A few cases of every fuzzer; `make fuzz` tries many."""

from __future__ import annotations

import pytest

from tests.fuzz import core

FUZZERS = core.all_fuzzers()


@pytest.mark.parametrize("name", FUZZERS)
def test_no_promise_is_broken(name):
    found = core.try_cases(FUZZERS[name], iter(range(FUZZERS[name].few)))
    assert found.broken == []
    assert found.outcomes.total() == FUZZERS[name].few


def test_a_broken_promise_is_found_and_told_with_its_number():
    def case(random):
        assert random.random() < 0.5, "too much"

    found = core.try_cases(core.Fuzzer("made up", case, 0), iter(range(20)))
    assert 0 < len(found.broken) < 20
    assert all(" AssertionError: too much" in line for line in found.broken)
    number = int(found.broken[0].split()[2].rstrip(":"))
    again = core.try_cases(core.Fuzzer("made up", case, 0), iter([number]))
    assert again.broken == found.broken[:1]
    assert again.told() == f"1 tried: none held; 1 broken; the slowest took {again.slowest:.1f} s"
