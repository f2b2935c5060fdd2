"""The logit lens: what each decoder layer would say."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from model.config import START
from model.edits.intervention import Intervention
from model.inference.analyse import analyse
from model.inference.request import Request
from model.network import masks
from model.network.context import Pass
from model.readings.logit_lens import Lens, lens
from model.trace import Probe, Site
from tests.support import tiny
from tests.support.floats import assert_close

TEXT = "The red fox takes a lamp."
MODELS = (
    {},
    {"norm_first": False},
    {"final_norm": False},
    {"norm_first": False, "final_norm": False},
    {"tied_output": True},
)


@pytest.mark.parametrize("changes", MODELS, ids=str)
def test_the_last_row_is_what_the_model_says(tokenizer, changes):
    checkpoint = tiny.checkpoint(tokenizer, **changes)
    analysis = analyse(checkpoint, Request(TEXT))
    found = lens(checkpoint, analysis)
    assert found.log_probs.shape == (3, *analysis.trace.log_probs.shape)
    assert_close(found.log_probs[-1], analysis.trace.log_probs)
    np.testing.assert_allclose(np.exp(found.log_probs[-1]), np.exp(analysis.trace.log_probs), atol=1e-5)
    np.testing.assert_allclose(np.exp(found.log_probs).sum(-1), 1, atol=1e-5)


@pytest.mark.parametrize(
    "asked",
    [
        {"pad": 3},
        {"target": "Lo varun roji."},
        {"intervention": Intervention(scaling=False)},
        {"intervention": Intervention(causal_mask=False)},
        {"intervention": Intervention(causal_mask=False), "mode": "again"},
        {"intervention": tiny.edited("skip_dec.2.ff", "off_cross.1.1"), "mode": "again"},
    ],
    ids=str,
)
def test_last_row_is_the_output_under_edits(tiny_checkpoint, asked):
    analysis = analyse(tiny_checkpoint, Request(TEXT, **asked))
    assert_close(lens(tiny_checkpoint, analysis).log_probs[-1], analysis.trace.log_probs)


def test_other_rows_are_the_stream_through_the_head(tiny_checkpoint):
    analysis, model = analyse(tiny_checkpoint, Request(TEXT)), tiny_checkpoint.model
    source, target = (torch.tensor([ids]) for ids in (analysis.trace.source.ids, analysis.trace.outputs.ids))
    inputs = torch.cat((torch.tensor([[START]]), target[:, :-1]), dim=1)
    embedded = model.target_embedding(inputs, torch.arange(inputs.size(1)))
    probe = Probe("full")
    model(source, inputs, masks.build(model.config, source, inputs), Pass(probe=probe))
    between = tiny.records(probe)[Site("decoder", 1)]["residual_in"]  # what the first layer leaves, the second one reads
    found = lens(tiny_checkpoint, analysis).log_probs
    for row, stream in ((0, embedded), (1, between)):
        expected = model.projection(model.decoder_norm(stream)).log_softmax(-1)[0]
        np.testing.assert_allclose(found[row], expected.detach().numpy(), atol=1e-5)


def made() -> Lens:
    """Two layers over three tokens at two steps, by hand."""
    rows = [[[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]], [[0.1, 0.8, 0.1], [0.25, 0.5, 0.25]]]
    return Lens(np.log(np.array(rows, np.float32)), (1, 2))


def test_numbers_by_hand():
    found = made()
    np.testing.assert_allclose(found.probability, [[0.3, 0.6], [0.8, 0.25]], rtol=1e-5)
    assert found.rank.tolist() == [[2, 1], [1, 2]]
    assert found.top.tolist() == [[0, 2], [1, 1]]
    np.testing.assert_allclose(found.entropy(1)[1], 1.5 * np.log(2), rtol=1e-5)
    expected = 0.1 * np.log(0.1 / 0.5) + 0.8 * np.log(0.8 / 0.3) + 0.1 * np.log(0.1 / 0.2)  # KL(after || before)
    np.testing.assert_allclose(found.change(0), [expected], rtol=1e-5)
    assert [(c.id, round(c.probability, 5)) for c in found.best(0, 0, 2)] == [(0, 0.5), (1, 0.3)]
    gains, losses = found.moves(1, 0)
    assert (gains[0].id, losses[0].id) == (1, 0)
    assert (gains[0].before, gains[0].after) == pytest.approx((0.3, 0.8))
    assert found.nbytes == 2 * 2 * 3 * 4
