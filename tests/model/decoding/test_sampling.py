from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from model.decoding.sampling import choices, top_ids
from model.decoding.search import greedy, sample
from tests.support import tiny

# `<pad>` and `<s>` hold much of the probability and may not be chosen; of the rest: 0.5, 0.3, 0.15, 0.05
SHARES = {5: 0.5, 3: 0.3, 2: 0.15, 4: 0.05}
LOG_PROBS = np.log([0.3, 0.2, *(0.5 * SHARES[i] for i in (2, 3, 4, 5))])


def candidate_shares(**controls) -> dict[int, float]:
    found = choices(LOG_PROBS, **controls)
    return {int(i): float(p) for i, p, k in zip(found.ids, found.probability, found.is_candidate, strict=True) if k}


@pytest.mark.parametrize(
    ("controls", "expected"),
    [
        ({}, SHARES),
        ({"top_k": 2}, {5: 0.625, 3: 0.375}),
        ({"top_k": 1}, {5: 1.0}),
        ({"top_k": 99}, SHARES),
        ({"top_p": 0.8}, {5: 0.625, 3: 0.375}),  # 0.5 + 0.3 reaches it
        ({"top_p": 0.81}, {5: 0.5 / 0.95, 3: 0.3 / 0.95, 2: 0.15 / 0.95}),
        ({"top_p": 0.5}, {5: 1.0}),
        ({"top_p": 1e-9}, {5: 1.0}),
        ({"top_k": 3, "top_p": 0.84}, {5: 0.625, 3: 0.375}),  # of three, scaled to 1: 0.526 + 0.316 = 0.842
        ({"temperature": 0.0}, {5: 1.0}),
        ({"temperature": 0.5, "top_k": 2}, {5: 0.25 / 0.34, 3: 0.09 / 0.34}),
        (
            {"temperature": 2.0, "top_k": 2},
            {5: math.sqrt(5) / (math.sqrt(5) + math.sqrt(3)), 3: math.sqrt(3) / (math.sqrt(5) + math.sqrt(3))},
        ),
    ],
    ids=str,
)
def test_what_may_be_chosen_by_hand(controls, expected):
    found = candidate_shares(**controls)
    assert list(found) == list(expected)
    assert found == pytest.approx(expected)


def test_equal_tokens_are_cut_in_their_order():
    values = np.log([0.1, 0.1, 0.2, 0.2, 0.2, 0.2])  # <pad>, <s>, then four that are as likely
    for controls, expected in (({"top_k": 1}, [2]), ({"top_k": 3}, [2, 3, 4]), ({"top_p": 0.5}, [2, 3]), ({}, [2, 3, 4, 5])):
        found = choices(values, **controls)
        assert found.ids[found.is_candidate].tolist() == expected
        assert found.probability[found.is_candidate] == pytest.approx(np.full(len(expected), 1 / len(expected)))
    drawn = np.random.default_rng(4)
    for row in np.log(drawn.dirichlet(np.full(40, 0.3), size=50)):
        whole, greedy_ = choices(row), int(np.where(np.arange(40) < 2, -np.inf, row).argmax())
        assert whole.probability == pytest.approx(choices(row, top_k=40, top_p=1.0).probability)
        plain = np.exp(row[2:]) / np.exp(row[2:]).sum()
        assert whole.probability[:38] == pytest.approx(np.sort(plain)[::-1])
        for controls in ({"top_k": 1}, {"top_p": 1e-9}, {"temperature": 0.0}):
            assert [choices(row, **controls).draw(number) for number in (0.0, 0.5, 0.999)] == [greedy_] * 3
        for controls in ({"top_k": 7}, {"top_p": 0.6}, {"temperature": 1.7, "top_k": 9, "top_p": 0.8}):
            assert choices(row, **controls).probability.sum() == pytest.approx(1)
        assert choices(row, temperature=0.01).probability[0] >= choices(row, temperature=0.3).probability[0]


@pytest.mark.parametrize(
    ("controls", "message"),
    [
        ({"temperature": -0.1}, "The temperature is -0.1; expected 0, or 0.01 to 10."),
        ({"temperature": math.nan}, "The temperature is nan; expected 0, or 0.01 to 10."),
        ({"temperature": math.inf}, "The temperature is inf; expected 0, or 0.01 to 10."),
        ({"top_k": -1}, "Top-k is -1; expected a whole number of at least 0, where 0 keeps all."),
        ({"top_k": 1.5}, "Top-k is 1.5; expected a whole number"),
        ({"top_p": 0.0}, "Top-p is 0.0; expected more than 0 and at most 1."),
        ({"top_p": 1.01}, "Top-p is 1.01; expected more than 0 and at most 1."),
        ({"top_p": math.nan}, "Top-p is nan; expected more than 0"),
    ],
)
def test_controls_out_of_range_are_told(controls, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        choices(LOG_PROBS, **controls)
    with pytest.raises(ValueError, match=f"^{message}"):
        sample(tiny.lively(), tiny.ids(1, 4), 1, **controls)


def test_seed_repeats_its_text_in_any_batch():
    model, lengths = tiny.lively(1), [6, 3, 5]
    source = tiny.padded(lengths, 6, seed=1)
    together = sample(model, source, 7, max_total_tokens=10)
    for row, length in enumerate(lengths):
        torch.manual_seed(row)  # torch's own state has no part in it
        (alone,) = sample(model, source[row : row + 1, :length], 7, max_total_tokens=10)
        assert alone.ids == together[row].ids
        assert alone.log_probs == pytest.approx(together[row].log_probs, abs=1e-5)
    texts = {sample(model, source[:1], seed, max_total_tokens=10)[0].ids for seed in range(12)}
    assert len(texts) > 6


def test_one_candidate_is_greedy():
    model, source = tiny.lively(), tiny.padded([6, 4], 6)
    plain = [path.ids for path in greedy(model, source, max_total_tokens=9)]
    for controls in ({"temperature": 3}, {"temperature": 0}, {"top_k": 1}, {"top_p": 1e-9}):
        found = [path.ids for path in sample(model, source, 5, max_total_tokens=9, **controls)]
        assert (found == plain) == (controls != {"temperature": 3})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [1, 3, 50, None])
def test_top_ids_of_many_rows_are_those_of_each(dtype, count):
    values = np.random.default_rng(1).integers(-4, 5, (6, 40)).astype(dtype)  # many ties, also of 0 and -0
    values[:, ::7] *= -1
    values[:, 0] = -np.inf
    expected = [np.argsort(-row, kind="stable")[:count] for row in values]
    assert (
        top_ids(values, count).tolist() == [top_ids(row, count).tolist() for row in values] == [e.tolist() for e in expected]
    )
