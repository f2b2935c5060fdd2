"""What a text costs: each token once, from the tokens before it alone, with as much context as is promised."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from model.checkpoint import Checkpoint
from model.config import END, MAX_TOKENS, START
from model.evaluation import text_scoring
from model.evaluation.text_scoring import bits_per_character, score, windows
from model.experiments import text_report
from model.network import masks
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
    told, costs = text_report.measure(writer, TEXT)
    assert told["bits_per_character"] == pytest.approx(
        bits_per_character(costs.nats.sum(), costs.characters.sum()), abs=1e-4
    )
    assert told["characters"] == len("\n".join(TEXT)) + 1
    low, high = told["interval"]
    assert low < told["bits_per_character"] < high
    counted = text_report.baseline(writer.target_tokenizer, [TEXT], [TEXT[::3]], TEXT, costs)
    for kind in ("bytes", "tokens"):
        assert counted[kind]["order"] == 1 + counted[kind]["dev"].index(min(counted[kind]["dev"]))
    best = counted[counted["best"]]
    assert best["bits_per_character"] == min(counted[kind]["bits_per_character"] for kind in ("bytes", "tokens"))
    gain = counted["gain"]["bits_per_character"]
    assert gain == pytest.approx(best["bits_per_character"] - told["bits_per_character"], abs=2e-4)
    assert gain < -1  # nothing was learned, and counting has seen the text
    monkeypatch.setattr(text_scoring, "ROWS", 1)
    np.testing.assert_allclose(score(writer.model, writer.target_tokenizer, TEXT).nats, costs.nats, rtol=1e-9)
