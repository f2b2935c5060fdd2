"""A classifier: its label, each word hidden in turn, and other readings held against that."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from model.config import PAD
from model.experiments.label_test import LabelTest, hide_each_word, label_test
from model.inference.analyse import analyse
from model.inference.request import Request
from model.network import masks
from model.readings.logits.direct_logits import label_logits
from model.readings.tokens.word_readings import LABEL_READINGS, Words, pooled_row, pooling_weights
from model.task import CLASSIFICATION
from model.trace import Site
from tests.support import tiny

TEXT = "The red fox sees a lamp."
POOLED = pytest.mark.parametrize("pooling", ["first", "mean"])


@pytest.fixture
def lab(tokenizer):
    return lambda pooling="mean", **more: tiny.classifier(tokenizer, pooling=pooling, dtype=torch.float64, **more)


def judged_by_hand(lab, ids, seen):
    """The formula: states under the masks of `seen`, their pooled state, tanh, the labels; float64 [C]."""
    source, kept = torch.tensor([ids]), torch.tensor(seen) != PAD
    states = lab.model.states(source, None, masks.build(lab.config, torch.tensor([seen]), None))[0]
    pooled = states[kept].mean(0) if lab.config.pooling == "mean" else states[0]
    inner = torch.tanh(lab.model.pooler.dense.weight @ pooled + lab.model.pooler.dense.bias)
    return (lab.model.classifier.weight @ inner + lab.model.classifier.bias).log_softmax(-1).detach().numpy()


@POOLED
def test_label_equals_the_formula_with_any_padding(lab, pooling):
    made = lab(pooling)
    found, padded = (analyse(made, Request(TEXT, extra_padding=pad)) for pad in (0, 5))
    ids = found.trace.step_axis.ids
    assert found.task is CLASSIFICATION and found.trace.log_probs.shape == (1, 3)
    assert np.exp(found.trace.log_probs.astype(float)).sum() == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(found.trace.log_probs[0], judged_by_hand(made, ids, ids), atol=1e-6)
    np.testing.assert_allclose(found.trace.log_probs, padded.trace.log_probs, atol=1e-6)
    told = found.to_dict()
    assert told["label"] == found.trace.predicted_axis.labels[0] == next(iter(told["labels"]))
    assert sum(each["probability"] for each in told["labels"].values()) == pytest.approx(1, abs=1e-5)
    weights = pooling_weights(made.config, padded.trace.step_axis.ids)
    assert weights.sum() == pytest.approx(1) and not weights[len(ids) :].any()
    assert pooled_row(padded.trace, weights, Site("encoder", 0)).sum() == pytest.approx(1, abs=1e-6)


@POOLED
def test_a_hidden_word_is_neither_looked_at_nor_pooled(lab, pooling):
    made = lab(pooling)
    found = analyse(made, Request(TEXT))
    words, ids = Words.of(found.trace.step_axis), list(found.trace.step_axis.ids)
    assert "".join(words.labels).startswith("Thered") and len(words) == 7
    before, after = hide_each_word(made, found, words)
    for number, places in enumerate(words.places):
        seen = [PAD if place in places else token for place, token in enumerate(ids)]
        np.testing.assert_allclose(before[number], judged_by_hand(made, ids, ids), atol=1e-10)
        np.testing.assert_allclose(after[number], judged_by_hand(made, ids, seen), atol=1e-10)
    assert np.abs(before - after).max() > 1e-3
    nothing = dataclasses.replace(words, places=((),) * len(words))
    np.testing.assert_array_equal(*hide_each_word(made, found, nothing))  # bit for bit


@POOLED
@pytest.mark.parametrize("norms", [{}, {"norm_first": False}, tiny.MODERN], ids=str)
def test_label_difference_is_the_sum_of_its_writers(lab, pooling, norms):
    made = lab(pooling, **norms)
    found = analyse(made, Request(TEXT))
    split = label_logits(made, found, 2, 0)
    assert split.difference == pytest.approx(found.trace.logit(0, 2) - found.trace.logit(0, 0), abs=1e-5)
    assert abs(split.remainder) < 1e-9 and abs(split.values).max() > 1e-3
    heads = split.heads("encoder")
    assert split.by_kind["encoder"].sum() == pytest.approx(heads.sum(), abs=1e-9)
    for wrong, message in (((1, 1), "the rival is the label itself"), ((3, 0), "the label is 3; expected a number below 3")):
        with pytest.raises(ValueError, match=message):
            label_logits(made, found, *wrong)


def test_rank_correlations_share_ties(lab):
    made = lab()
    found = label_test(made, analyse(made, Request(TEXT)), 0, 1)
    assert set(found.importance) == set(LABEL_READINGS) == set(found.correlations)
    assert found.correlation(found.occlusion, True) == pytest.approx(1)
    assert found.correlation(-np.abs(found.occlusion), False) == pytest.approx(-1)
    assert found.explain_undefined(np.ones(7)) == "undefined: equal for all words" and np.isnan(
        found.correlation(np.ones(7), True)
    )
    words = Words(("a", "b", "c", "d"), ((0,), (1,), (2,), (3,)))
    four = LabelTest(words, 0, 1, np.zeros((4, 2)), -np.array([[1.0, 0], [2, 0], [3, 0], [4, 0]]), {})
    assert four.correlation(np.array([1.0, 2, 2, 3]), True) == pytest.approx(0.9486833)  # by hand: ranks 1, 2.5, 2.5, 4
    two = label_test(made, analyse(made, Request("Lamp boat")), 0, 1)
    assert len(two.words) == 2 and all(map(np.isnan, two.correlations.values()))
    assert two.explain_undefined(two.occlusion) == "undefined: 2 words"
