"""The published checkpoint, as it lies in the repository: whole, sensible, and under the same laws as a tiny one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from model.config import END, PAD
from model.decoding.search import greedy
from model.edits.intervention import Intervention
from model.inference.analyse import analyse
from model.inference.request import Request
from model.trace import Site

SENTENCES = ["My brother is afraid of our old cat.", "Where is the big blue book?", "I don't know, but she does.", "Thanks!"]
CAUSAL_OFF = Intervention(causal_mask=False)


def ids(shipped, text: str) -> list[int]:
    return [*shipped.source_tokenizer.encode(text), END]


def test_it_is_whole(shipped):
    assert shipped.name == "en-fr"
    assert shipped.languages == ("English", "French")
    assert shipped.metrics["parameters"] == shipped.model.parameter_count
    assert shipped.metrics["dev"]["bleu"] > 30
    for side, tokenizer in (("source", shipped.source_tokenizer), ("target", shipped.target_tokenizer)):
        assert len(shipped.counts[side]) == tokenizer.size
        assert shipped.counts[side][END] == max(shipped.counts[side])


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Thank you.", "Merci"), ("The cat is black.", "chat"), ("I am very tired.", "fatigué"), ("Where are you?", "Où")],
)
def test_it_speaks_french(shipped, text, expected):
    found = analyse(shipped, Request(text))
    assert expected in found.translation
    assert found.hypothesis.finished
    assert found.notes == ()


def test_probabilities_ignore_cache_and_batch(shipped):
    rows = [ids(shipped, s) for s in SENTENCES]
    longest = max(map(len, rows))
    padded = torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])
    together = greedy(shipped.model, padded)
    uncached = greedy(shipped.model, padded, use_cache=False)
    for row, one, two in zip(rows, together, uncached, strict=True):
        (alone,) = greedy(shipped.model, torch.tensor([row]))
        assert alone.ids == one.ids == two.ids
        for other in (one, two):
            np.testing.assert_allclose(np.exp(other.log_probs), np.exp(alone.log_probs), atol=1e-5)


def test_without_its_causal_mask_it_sees_the_future(shipped):
    found = analyse(shipped, Request(SENTENCES[0], intervention=CAUSAL_OFF))
    assert found.trace.masks[Site("decoder", 0)].all()
    assert not found.baseline.trace.masks[Site("decoder", 0)][0, 1:].any()
    assert np.abs(np.exp(found.trace.log_probs) - np.exp(found.baseline.trace.log_probs)).max() > 1e-2


def test_empty_intervention_is_the_baseline_bit_for_bit(shipped):
    one, two = (analyse(shipped, Request(SENTENCES[1], mode=mode)) for mode in ("given", "again"))
    assert one.trace.log_probs.tobytes() == two.trace.log_probs.tobytes()
    for site, pattern in one.trace.patterns.items():
        assert pattern.tobytes() == two.trace.patterns[site].tobytes()
        np.testing.assert_allclose(pattern.sum(-1), 1, atol=1e-5)
