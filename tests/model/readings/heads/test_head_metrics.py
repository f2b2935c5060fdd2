from __future__ import annotations

import numpy as np
import pytest

from model.readings.heads.head_maps import heaviest, is_punctuation, merge_words, rank_correlation, rollout
from model.readings.heads.head_metrics import (
    METRICS,
    Metric,
    Rows,
    applicable_metrics,
    head_metrics,
    metrics_of,
    order,
    orders,
    register,
)

RANDOM = np.random.default_rng(0)


def patterns(*shape: int) -> np.ndarray:
    values = RANDOM.random(shape)
    return values / values.sum(-1, keepdims=True)


def test_the_numbers_of_a_head_by_hand():
    pattern = np.array([[[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]], np.eye(3)[[2, 2, 2]]])
    found = head_metrics(pattern, ["a", ".", "</s>"])
    assert set(found) == set(METRICS)
    one = {name: float(values[0]) for name, values in found.items()}
    expected = {"entropy": np.log(2) / 2, "largest": 0.75, "distance": 0.25, "previous": 0, "same": 0.75, "next": 0.25}
    assert one == pytest.approx(
        expected | dict.fromkeys(("forth", "back", "start", "induction"), np.nan) | {"end": 0.0, "punctuation": 0.75},
        nan_ok=True,
    )
    two = {name: float(values[1]) for name, values in found.items()}
    assert two == pytest.approx(
        {"entropy": 0, "largest": 1, "distance": 1, "previous": 0, "same": 1 / 3, "next": 1 / 2, "end": 1, "punctuation": 0}
        | dict.fromkeys(("forth", "back", "start", "induction"), np.nan),
        nan_ok=True,
    )  # next: the last of three rows has no token after it, and does not count


@pytest.mark.parametrize(
    ("label", "expected"), [(".", True), ("...", True), ("«", True), ("a.", False), ("</s>", False), ("", False)]
)
def test_what_punctuation_is(label, expected):
    assert is_punctuation(label) is expected


def test_metrics_fixed_by_the_mask_are_left_out():
    causal, full = np.tri(4, dtype=bool), np.ones((4, 4), dtype=bool)
    decoder, encoder = (
        applicable_metrics(causal, ("<s>", "a", "b", "c"), True),
        applicable_metrics(full, ("a", "b", ".", "</s>"), True),
    )
    assert {"previous", "same", "start"} <= set(decoder) and not {"next", "end", "punctuation"} & set(decoder)
    assert {"previous", "same", "next", "end", "punctuation"} <= set(encoder) and "start" not in encoder
    cross = applicable_metrics(full, ("a", "b", ".", "</s>"), False)
    assert not {"previous", "same", "next", "distance"} & set(cross) and {"entropy", "end"} <= set(cross)


def test_orders_by_a_number():
    sharp, even = np.eye(4), np.full((4, 4), 0.25)
    far = np.eye(4)[::-1]
    heads = np.stack([even, far, sharp])
    assert order(heads, "entropy") == [1, 2, 0]
    assert order(heads, "distance") == [2, 0, 1]
    assert order(heads, "same")[0] == 2
    assert order(np.stack([sharp, np.eye(4, k=1), np.eye(4, k=-1)]), "next") == [1, 0, 2]
    assert order(np.stack([sharp, np.eye(4, k=1), np.eye(4, k=-1)]), "previous") == [2, 0, 1]


def test_similar_heads_stand_together():
    one, two = patterns(1, 5, 5)[0], np.eye(5)
    assert order(np.stack([one, two, one * 0.999, two + 0.001]), "similarity") == [0, 2, 3, 1]


def test_registered_metric_is_measured_and_ordered(monkeypatch):
    monkeypatch.setattr("model.readings.heads.head_metrics.METRICS", dict(METRICS))
    register(
        Metric(
            "made_up", "On first", "Share of the weight on the token `a`", lambda r: r.weight_on("a".__eq__), order="most"
        )
    )
    heads = np.stack([np.eye(3), np.eye(3)[[0, 0, 0]], np.eye(3)[[2, 2, 2]]])
    assert head_metrics(heads, "abc")["made_up"].tolist() == pytest.approx([1 / 3, 1, 0])
    assert order(heads, "made_up", "abc") == [1, 0, 2]
    assert orders()[-2:] == ("made_up", "similarity")
    for taken in ("made_up", "similarity"):
        with pytest.raises(ValueError, match=f"There is a metric or an order '{taken}' already"):
            register(Metric(taken, "", "", lambda rows: rows.weight_at(0)))
    with pytest.raises(ValueError, match="The order of 'x' is 'up'; expected 'least', 'most' or None"):
        Metric("x", "", "", lambda rows: rows.weight_at(0), order="up")


def gini(rows: Rows) -> np.ndarray:
    """The Gini coefficient of each row over the keys that its mask allows: 0 where they have equal weights."""
    found = np.full(rows.weights.shape[:2], np.nan)
    for row, allowed in enumerate(rows.allowed):
        if count := int(allowed.sum()):
            ranked = np.sort(rows.weights[:, row, allowed], axis=-1)  # [H,n]
            found[:, row] = ranked @ (2 * np.arange(1, count + 1) - count - 1) / (count * ranked.sum(-1))
    return found


def test_metric_that_is_zero_on_an_even_pattern_applies(monkeypatch):
    monkeypatch.setitem(METRICS, "gini", Metric("gini", "Gini", "Gini coefficient of a row, the mean over rows", gini))
    keys, causal = ("<s>", "a", "b", "c"), np.tri(4, dtype=bool)
    even = causal / causal.sum(-1, keepdims=True)
    for kind, is_self in ((np.ones((4, 4), dtype=bool), False), (causal, True)):
        assert "gini" in applicable_metrics(kind, keys, is_self)
    assert "gini" not in applicable_metrics(np.zeros((4, 4), dtype=bool), keys, True)
    values = head_metrics(np.stack([even, np.eye(4)]), keys, mask=causal)["gini"]
    np.testing.assert_allclose(values, [0, np.mean([0, 1 / 2, 2 / 3, 3 / 4])], atol=1e-12)
    some = head_metrics(np.stack([even, np.eye(4)]), keys, [1, 3], causal)["gini"]
    np.testing.assert_allclose(some, [0, np.mean([1 / 2, 3 / 4])], atol=1e-12)


def test_rows_know_their_mask():
    mask = np.tri(3, dtype=bool)
    assert (Rows.of(np.eye(3)[None], "abc", [2, 0], mask).allowed == mask[[2, 0]]).all()
    assert (Rows.of(np.eye(3)[None], "abc").allowed == np.eye(3, dtype=bool)).all()  # none is known: cells with a weight


@pytest.mark.parametrize("name", [name for name, metric in METRICS.items() if metric.cells])
def test_weight_outside_a_metrics_cells_counts_for_nothing(name):
    """The declared cells and the measure agree, over random masks, tokens and rows."""
    random, applied = np.random.default_rng(7), set()
    for _ in range(300):
        rows_count, count = (int(random.integers(1, 7)) for _ in range(2))
        keys = tuple(random.choice(["a", "b", ".", "<s>", "</s>", "</s>", "<pad>"], count))
        mask = random.random((rows_count, count)) < random.choice([0.15, 0.5, 1])
        rows = sorted(random.choice(rows_count, int(random.integers(1, rows_count + 1)), replace=False))
        even = mask / np.maximum(1, mask.sum(-1, keepdims=True))
        applies = METRICS[name].applies(Rows.of(even[None], keys, rows, mask))
        assert applies == (metrics_of(Rows.of(even[None], keys, rows, mask), [name])[name][0] > 0), (mask, keys, rows)
        applied.add(applies)
    assert applied == {True, False}


def test_pieces_merge_into_words_by_hand():
    pattern = np.array([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2], [0.0, 0.4, 0.6]])
    found = merge_words(pattern, [0, 0, 1], [0, 1, 1])
    np.testing.assert_allclose(found, [[0.3, 0.7], [0.0, 1.0]])


def test_rollout_by_hand():
    first, second = np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[1.0, 0.0], [1.0, 0.0]])
    found = rollout(np.stack([first[None], second[None]]))
    np.testing.assert_allclose(found[0], [[1, 0], [0.25, 0.75]])
    np.testing.assert_allclose(found[1], [[1, 0], [0.625, 0.375]])


def test_rollout_sums_to_one_and_stays_causal():
    causal = np.tril(patterns(3, 4, 6, 6))
    found = rollout(causal / causal.sum(-1, keepdims=True))
    np.testing.assert_allclose(found.sum(-1), 1)
    assert not np.triu(found, 1).any()


def test_rank_correlation():
    allowed = np.ones((2, 2), dtype=bool)
    one = np.array([[0.1, 0.2], [0.3, 0.4]])
    assert rank_correlation(one, one**3, allowed) == pytest.approx(1)
    assert rank_correlation(one, -one, allowed) == pytest.approx(-1)
    assert rank_correlation(np.array([[1.0, 1.0], [2.0, 3.0]]), one, allowed) == pytest.approx(0.9486833)
    assert np.isnan(rank_correlation(one, np.ones((2, 2)), allowed))
    assert rank_correlation(one, np.array([[4.0, 3.0], [2.0, 9.0]]), np.array([[1, 1], [1, 0]], bool)) == pytest.approx(-1)


def test_heaviest_cells_reach_the_mass():
    row = np.array([0.1, 0.5, 0.3, 0.1])
    assert heaviest(row, 0.75).tolist() == [False, True, True, False]
    assert heaviest(row, 0.5).tolist() == [False, True, False, False]
    assert heaviest(np.array([0.0, 1.0]), 1.0).tolist() == [False, True]
    for values in patterns(50, 9):
        kept = heaviest(values, 0.75)
        assert values[kept].sum() >= 0.75 * values.sum() > values[kept].sum() - values[kept].min()


def test_induction_metric_by_hand():
    keys, weights = ("<s>", "a", "b", "c", "a", "b"), np.tril(np.ones((6, 6)))
    even = weights / weights.sum(-1, keepdims=True)
    perfect = np.eye(6)
    perfect[4], perfect[5] = np.eye(6)[2], np.eye(6)[3]
    found = head_metrics(np.stack([even, perfect]), keys)["induction"]
    np.testing.assert_allclose(found, [(1 / 5 + 1 / 6) / 2, 1])
    assert "induction" in applicable_metrics(weights.astype(bool), keys, True)
    for other in (("<s>", "<s>", "b", "c", "d", "e"), ("<s>", "b", "b", "c", "d", "e")):
        assert "induction" not in applicable_metrics(weights.astype(bool), other, True)
    assert np.isnan(head_metrics(even[None, :, :3], keys[:3])["induction"]).all()  # cross-attention has more rows than keys
