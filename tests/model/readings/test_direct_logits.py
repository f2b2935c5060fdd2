"""A difference of logits, split over all that wrote into the residual stream."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from model.edits.intervention import Intervention
from model.inference.analyse import analyse
from model.inference.request import Request
from model.readings.direct_logits import Writer, direct_logits
from tests.support import tiny

TEXT = "The red fox takes a lamp."
MODELS = [*tiny.NORMS, {"positions": "learned", "tied_output": True}]
ASKED = [
    {},
    {"pad": 3},
    {"target": "Lo varun roji."},
    {"intervention": Intervention(causal_mask=False), "mode": "again"},
    {"intervention": Intervention(scaling=False)},
    {"intervention": tiny.edited("skip_dec.2.ff", "skip_dec.1.cross", "off_cross.1.1"), "mode": "again"},
    {"intervention": tiny.edited("target-positions_off")},
]


def doubled(tokenizer, **changes):
    made = tiny.checkpoint(tokenizer, **changes)
    made.model.double()
    drawn = torch.Generator().manual_seed(3)
    for parameter in made.model.parameters():
        if parameter.dim() == 1:  # biases and gains, so that a forgotten one is seen
            parameter += 0.3 * torch.randn(parameter.shape, generator=drawn)
    return made


@pytest.mark.parametrize("changes", MODELS, ids=str)
def test_the_parts_add_up_in_every_variant(tokenizer, changes):
    checkpoint = doubled(tokenizer, **changes)
    analysis = analyse(checkpoint, Request(TEXT))
    for step in (0, len(analysis.trace.outputs) // 2, len(analysis.trace.outputs) - 1):
        found = direct_logits(checkpoint, analysis, step, analysis.trace.outputs.ids[step], 7)
        logits = analysis.trace.logits[step]
        assert abs(found.remainder) < 1e-10
        assert found.difference == pytest.approx(logits[found.token] - logits[7], abs=1e-4)
        for site, parts in found.tokens.items():
            np.testing.assert_allclose(parts.sum(-1), found.heads(site.kind)[site.layer], atol=1e-10)


@pytest.mark.parametrize(
    ("changes", "held"),
    [
        ({}, "the scale of the final norm"),
        ({"norm": "rmsnorm"}, "the scale of the final norm"),
        ({"norm_first": False, "final_norm": False}, "the scales of the norms"),
        ({"final_norm": False}, ""),
    ],
    ids=str,
)
def test_sum_names_the_norms_whose_scales_it_holds(tokenizer, changes, held):
    checkpoint = doubled(tokenizer, **changes)
    analysis = analyse(checkpoint, Request(TEXT))
    assert direct_logits(checkpoint, analysis, 0, analysis.trace.outputs.ids[0], 7).held == held


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_parts_add_up_under_edits(tokenizer, asked):
    checkpoint = doubled(tokenizer)
    analysis = analyse(checkpoint, Request(TEXT, **asked))
    step = min(3, len(analysis.trace.outputs) - 1)
    token, rival = analysis.trace.outputs.ids[step], 9
    found = direct_logits(checkpoint, analysis, step, token, rival)
    assert abs(found.remainder) < 1e-10
    told = analysis.trace.log_probs[step]
    assert found.difference == pytest.approx(told[token] - told[rival], abs=1e-4)


def test_part_of_the_last_layer_equals_its_ablation(tokenizer):
    checkpoint = doubled(tokenizer, final_norm=False)
    request = Request(TEXT, target="Lo varun roji.")
    analysis = analyse(checkpoint, request)
    found = direct_logits(checkpoint, analysis, 2, 5, 6)
    without = analyse(checkpoint, Request(TEXT, target="Lo varun roji.", intervention=tiny.edited("skip_dec.2.ff")))
    rows = (analysis.trace.log_probs[2], without.trace.log_probs[2])
    before, after = (row[5] - row[6] for row in rows)
    assert dict(found.ranked)[Writer("feed-forward", layer=1)] == pytest.approx(before - after, abs=1e-5)
