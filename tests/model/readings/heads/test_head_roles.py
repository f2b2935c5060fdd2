from __future__ import annotations

import numpy as np
import pytest

from model.readings.heads.head_roles import MIN_ROWS, head_roles

N = 12
KEYS = ("<s>", *"abcdefghij", "</s>")


def names(pattern: np.ndarray, keys=KEYS, rows=None) -> list[str]:
    (found,) = head_roles(pattern[None], keys, range(len(pattern)) if rows is None else rows)
    return [role.name for role in found]


def shifted(offset: int, wrong: int = 0) -> np.ndarray:
    """All weight on the token so far behind; in so many rows half of it and more on another."""
    pattern = np.eye(N, k=offset)
    for row in range(3, 3 + wrong):
        pattern[row] *= 0.4
        pattern[row, (row + offset + 3) % N] += 0.6
    return pattern


@pytest.mark.parametrize(("offset", "name"), [(-1, "previous"), (0, "same"), (1, "next")])
def test_positional_head_needs_nine_of_ten_rows(offset, name):
    assert names(shifted(offset)) == [f"{name}-token head"]
    assert names(shifted(offset, wrong=1)) == [f"{name}-token head"]
    assert names(shifted(offset, wrong=2)) == []


@pytest.mark.parametrize(("token", "at"), [("<s>", 0), ("</s>", N - 1)])
def test_a_sink_is_one_above_three_tenths(token, at):
    for weight, expected in ((0.35, [f"attention sink on {token}"]), (0.25, [])):
        pattern = np.full((N, N), (1 - weight) / (N - 1))
        pattern[:, at] = weight
        assert names(pattern) == expected
    assert names(pattern, keys=("a",) * N) == []


def test_too_few_rows_name_no_role():
    assert names(shifted(1), rows=range(MIN_ROWS - 1)) == []
    ((role,),) = head_roles(shifted(1, wrong=1)[None], KEYS, range(N))
    assert role.share == pytest.approx(10 / 11)
    assert role.sentence.startswith("In 0.91 of 11 rows of this sentence") and "Voita et al. 2019" in role.sentence
    masked = shifted(1)
    masked[2:] = 0  # rows that may look at nothing count in no mean
    assert names(masked) == []
