"""N-gram models against the formulas written out, an example by hand, and the sum of all probabilities."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest

from model.evaluation.ngrams import INSTEAD, NGrams, discounts

SYMBOLS, START = 5, 5


def drawn(length: int, seed: int) -> np.ndarray:
    """A text in which some symbols follow others far more often than not."""
    draw, text = np.random.default_rng(seed), [0]
    while len(text) < length:
        likely = (2 * text[-1] + len(text) % 2) % SYMBOLS
        text.append(likely if draw.random() < 0.6 else int(draw.integers(SYMBOLS)))
    return np.array(text)


def test_an_example_by_hand():
    found = NGrams([np.array([0, 1, 0, 2])], 3, 2).probabilities(np.array([0, 1, 0, 2]))
    np.testing.assert_allclose(found[1], [1 / 4, 3 / 8, 1 / 4, 3 / 8])
    # Occurrences: a 2, b 1, c 1, the same numbers by chance; of order 1 nothing stands between them and 1/3.
    np.testing.assert_allclose(found[0], [1 / 4, 3 / 8, 1 / 4, 3 / 8])


def written_out(texts: list[np.ndarray], order: int, word: int, before: tuple[int, ...]) -> float:
    """P(word | before) by the definitions, from counts that are made one by one."""
    padded = [[START] * order + list(map(int, text)) for text in texts]
    grams = {
        k: Counter(tuple(t[i - k + 1 : i + 1]) for t in padded for i in range(order, len(t))) for k in range(1, order + 1)
    }

    @cache
    def counts(k: int) -> Counter:
        return grams[k] if k == order else Counter(gram[1:] for gram in grams[k + 1])

    def probability(k: int, context: tuple[int, ...]) -> float:
        if k == 0:
            return 1 / SYMBOLS
        known = counts(k)
        follow = {gram[-1]: count for gram, count in known.items() if gram[:-1] == context}
        lower = probability(k - 1, context[1:])
        if not follow:
            return lower
        taken = discounts(np.array(list(known.values())))
        total = sum(follow.values())
        left = sum(taken[min(count, 3)] for count in follow.values()) / total
        count = follow.get(word, 0)
        return (count - taken[min(count, 3)]) / total + left * lower

    return probability(order, before)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_every_probability_is_that_of_the_definitions(order):
    texts, text = [drawn(60, 1), drawn(25, 2)], drawn(30, 7)
    found = NGrams(texts, SYMBOLS, order).probabilities(text)[order - 1]
    padded = [START] * order + text.tolist()
    for i, word in enumerate(text.tolist()):
        before = tuple(padded[i + 1 : i + order])
        assert found[i] == pytest.approx(written_out(texts, order, word, before), abs=1e-12)


def test_probabilities_of_next_symbols_sum_to_one():
    counted, text = NGrams([drawn(300, 3), drawn(9, 4)], SYMBOLS, 6), drawn(40, 5)
    for length in range(len(text)):
        own = np.stack([counted.probabilities(np.append(text[:length], s))[:, -1] for s in range(SYMBOLS)])
        np.testing.assert_allclose(own.sum(axis=0), 1, atol=1e-12)
        assert own.min() > 0


def test_discounts_are_those_of_the_formulas_or_others():
    counts = np.repeat([1, 2, 3, 4, 9], [40, 20, 10, 6, 3])
    share = 40 / (40 + 2 * 20)
    expected = [0, 1 - 2 * share * 20 / 40, 2 - 3 * share * 10 / 20, 3 - 4 * share * 6 / 10]
    np.testing.assert_allclose(discounts(counts), expected)
    np.testing.assert_allclose(discounts(np.array([7, 8])), [0, *INSTEAD])
    assert discounts(np.array([1]))[1] == 1  # everything is handed on
