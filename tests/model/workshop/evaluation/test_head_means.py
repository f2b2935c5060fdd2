"""The heads' means: measured over real positions alone, stored with a checkpoint, used in place of a head."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from model.checkpoint import load, save_means
from model.decoding.strategy import Decoding
from model.inference.analyse import analyse
from model.inference.passes import teacher_force
from model.inference.request import Request
from model.trace import Probe, Site
from model.workshop.corpus.corpus import Corpus
from model.workshop.evaluation.scoring import mean_head_outputs
from tests.support import tiny
from tests.support.floats import assert_close

PAIRS = [*tiny.PAIRS[:5], *tiny.ODD_PAIRS, ("king", "roda"), ("The old boat.", "Lo nefa vechu lumel roji mira.")]
TEXT = "The red fox takes a lamp."


@pytest.fixture(scope="module")
def corpus(tokenizer) -> Corpus:
    return Corpus.encode(PAIRS, tokenizer, tokenizer)


@pytest.fixture
def with_means(saved, tiny_checkpoint):
    """The folder of a checkpoint with means in it."""
    save_means(tiny.means(tiny_checkpoint.config), saved)
    return saved


@pytest.mark.parametrize("changes", [{}, {"causal": False}, {"window": 2}, {"encoder_layers": 1}], ids=str)
def test_means_equal_a_loop_over_single_sentences(tokenizer, corpus, changes):
    model = tiny.checkpoint(tokenizer, dtype=torch.float64, **changes).model
    outputs: dict[Site, list[torch.Tensor]] = {}
    for source, target in zip(corpus.sources, corpus.targets, strict=True):
        probe = Probe("full")
        tiny.logits(model, torch.tensor([source]), torch.tensor([[1, *target[:-1]]]), probe=probe)
        for site, record in probe.records.items():
            outputs.setdefault(site, []).extend(record["z"][0].unbind(1))  # [H,K] a position
    assert len({len(target) for target in corpus.targets}) > 3  # so that a batch is padded
    for tokens in (80, 4096):
        found = mean_head_outputs(model, corpus, tokens)
        assert set(found) == set(tiny.sites(model.config))
        for site, rows in outputs.items():
            assert (found[site].shape, found[site].dtype) == ((2, 8), torch.float32)
            assert_close(found[site], torch.stack(rows).mean(0))
            assert found[site].abs().max() > 1e-3


def test_what_is_saved_is_loaded(with_means, tiny_checkpoint):
    means = tiny.means(tiny_checkpoint.config)
    found = load(str(with_means)).means
    assert list(found) == list(means)
    assert all(found[site].equal(mean) for site, mean in means.items())
    assert {path.name for path in with_means.iterdir() if "means" in path.name} == {"means.safetensors"}


@pytest.mark.parametrize("mode", ["given", "again"])
def test_heads_are_ablated_by_the_loaded_means(with_means, mode):
    checkpoint, edit = load(str(with_means)), tiny.edited("mean_cross.1.1", "mean_enc.2")
    found = analyse(checkpoint, Request(TEXT, mode=mode, decoding=Decoding(limit=6), intervention=edit))
    source, target = found.trace.source.ids, found.trace.outputs.ids
    by_mean, by_zero = teacher_force(checkpoint, source, target, [edit, tiny.edited("off_cross.1.1", "off_enc.2")])
    np.testing.assert_allclose(found.trace.log_probs, by_mean.log_probs, atol=1e-4)
    for other in (by_zero, *teacher_force(checkpoint, source, target, [tiny.edited()])):
        assert np.abs(found.trace.log_probs - other.log_probs).max() > 1e-2


def test_a_run_stores_the_means_over_its_dev_sentences(trained):
    checkpoint = load(str(trained / "checkpoint"))
    corpus = Corpus.encode(tiny.HELD_OUT, checkpoint.source_tokenizer, checkpoint.target_tokenizer)
    expected = mean_head_outputs(checkpoint.model, corpus)
    assert list(checkpoint.means) == tiny.sites(checkpoint.config)
    for site, mean in expected.items():
        torch.testing.assert_close(checkpoint.means[site], mean, atol=1e-5, rtol=0)
