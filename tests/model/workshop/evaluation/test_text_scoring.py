"""Bits of a text, repetitions of a continuation and n-gram models."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest
import torch

from model.checkpoint import Checkpoint
from model.config import END, MAX_TOKENS, START
from model.network import masks
from model.workshop.evaluation import text_scoring
from model.workshop.evaluation.count_baselines import FALLBACK_DISCOUNTS, NGrams, discounts
from model.workshop.evaluation.text_scoring import (
    NEW_TOKENS,
    PROMPT_TOKENS,
    bits_per_character,
    measure_continuations,
    repetition_share,
    score,
    windows,
)
from model.workshop.reports import text_report
from tests.support import tiny

DECODER = {"family": "decoder-only", "encoder_layers": 0, "dropout": 0.0}
TEXT = [source for source, _ in tiny.PAIRS]


@pytest.fixture(scope="module")
def writer(tokenizer) -> Checkpoint:
    """An untrained decoder-only checkpoint in float64."""
    return tiny.checkpoint(tokenizer, dtype=torch.float64, **DECODER)


@pytest.mark.parametrize("stride", [1, 32, 100, MAX_TOKENS])
@pytest.mark.parametrize("tokens", [1, 127, 128, 129, 500])
def test_windows_predict_every_token_once_with_context(tokens, stride):
    cut = windows(tokens, stride)
    assert [at for _, end, first in cut for at in range(first, end)] == list(range(tokens))
    for start, end, first in cut:
        assert end - start == min(tokens, MAX_TOKENS)
        assert first == 0 or first - start >= MAX_TOKENS - stride


@torch.inference_mode()
def test_costs_are_those_of_each_token_after_its_window(writer):
    stride, texts = 50, TEXT * 2
    found = score(writer.model, writer.target_tokenizer, texts, stride)
    stream = [token for text in texts for token in (*writer.target_tokenizer.encode(text), END)]
    assert len(stream) > 3 * MAX_TOKENS
    costs: list[float] = []
    for start, end, first in windows(len(stream), stride):
        inputs = torch.tensor([[START, *stream[start : end - 1]]])
        log_probs = writer.model(None, inputs, masks.build(writer.config, None, inputs))[0].log_softmax(-1)
        costs += [-float(log_probs[at - start, stream[at]]) for at in range(first, end)]
    paragraphs = np.repeat(np.arange(len(texts)), found.tokens)
    np.testing.assert_allclose(found.nats, np.bincount(paragraphs, costs), rtol=1e-9)
    assert found.tokens.sum() == len(stream)
    assert found.characters.tolist() == [len(text) + 1 for text in texts]


def test_stride_does_not_change_a_single_window(writer):
    costs = [score(writer.model, writer.target_tokenizer, TEXT[:5], stride).nats for stride in (1, 32, 128)]
    np.testing.assert_allclose(costs[0], costs[1], rtol=1e-12)
    np.testing.assert_allclose(costs[0], costs[2], rtol=1e-12)
    with pytest.raises(ValueError, match=r"^the stride is 129; expected 1 to 128, the tokens of a window$"):
        score(writer.model, writer.target_tokenizer, TEXT[:5], 129)


def test_a_report_is_the_sum_over_its_paragraphs(writer, monkeypatch):
    told, costs = text_report.measure_text(writer, TEXT)
    assert told["bits_per_character"] == pytest.approx(
        bits_per_character(costs.nats.sum(), costs.characters.sum()), abs=1e-4
    )
    assert told["characters"] == len("\n".join(TEXT)) + 1
    low, high = told["interval"]
    assert low < told["bits_per_character"] < high
    counted = text_report.measure_baseline(writer.target_tokenizer, [TEXT], [TEXT[::3]], TEXT, costs)
    for kind in ("bytes", "tokens"):
        assert counted[kind]["order"] == 1 + counted[kind]["dev"].index(min(counted[kind]["dev"]))
    best = counted[counted["best"]]
    assert best["bits_per_character"] == min(counted[kind]["bits_per_character"] for kind in ("bytes", "tokens"))
    gain = counted["gain"]["bits_per_character"]
    assert gain == pytest.approx(best["bits_per_character"] - told["bits_per_character"], abs=2e-4)
    assert gain < -1  # nothing was learned, and counting has seen the text
    monkeypatch.setattr(text_scoring, "BATCH_WINDOWS", 1)
    np.testing.assert_allclose(score(writer.model, writer.target_tokenizer, TEXT).nats, costs.nats, rtol=1e-9)


def test_a_model_that_goes_in_circles_is_told_beside_its_text(tokenizer, monkeypatch):
    lab = tiny.checkpoint(tokenizer, family="decoder-only", encoder_layers=0, tied_output=False)
    lab.model.projection.weight.data.zero_()  # every token is as likely: the first that may be chosen, for ever
    text = " ".join(source for source, _ in tiny.PAIRS)
    heard: list[int] = []
    found = measure_continuations(lab, [text, "Short.", text[40:]], 2, heard.append)
    assert (found["beginnings"], heard) == (2, [1, 1])
    ids = lab.target_tokenizer.encode(text)[PROMPT_TOKENS : PROMPT_TOKENS + NEW_TOKENS]
    other = lab.target_tokenizer.encode(text[40:])[PROMPT_TOKENS : PROMPT_TOKENS + NEW_TOKENS]
    assert found["repeated"]["text"] == pytest.approx((repetition_share(ids) + repetition_share(other)) / 2, abs=1e-4)
    assert found["ended"]["greedy"] == 1  # `</s>` is the first
    assert found["repeated"]["drawn"] < found["repeated"]["text"]
    with pytest.raises(ValueError, match=r"^the longest paragraph has \d+ tokens; expected one of 88 to continue$"):
        measure_continuations(lab, ["Short."], 2)
    with pytest.raises(ValueError, match=r"^the continuations are 0; expected at least 1$"):
        measure_continuations(lab, [text], 0)
    monkeypatch.setattr(text_scoring, "PROMPT_TOKENS", 2)
    assert measure_continuations(lab, [text], 1)["given"] == 2


SYMBOLS, BEFORE = 5, 5


def drawn(length: int, seed: int) -> np.ndarray:
    """A text in which some symbols follow others far more often than not."""
    draw, text = np.random.default_rng(seed), [0]
    while len(text) < length:
        likely = (2 * text[-1] + len(text) % 2) % SYMBOLS
        text.append(likely if draw.random() < 0.6 else int(draw.integers(SYMBOLS)))
    return np.array(text)


def written_out(texts: list[np.ndarray], order: int, word: int, before: tuple[int, ...]) -> float:
    """P(word | before) by the definitions, from counts that are made one by one."""
    padded = [[BEFORE] * order + list(map(int, text)) for text in texts]
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
    padded = [BEFORE] * order + text.tolist()
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
    np.testing.assert_allclose(discounts(np.array([7, 8])), [0, *FALLBACK_DISCOUNTS])
    assert discounts(np.array([1]))[1] == 1  # everything is handed on
