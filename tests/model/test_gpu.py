"""The same numbers on a graphics card; skipped, with the reason, where there is none."""

from __future__ import annotations

import pytest
import torch

from model.decoding.search import greedy
from model.decoding.strategy import Decoding
from model.edits.intervention import Intervention
from model.experiments.effects import mask_effects
from model.inference.analyse import analyse, load
from model.inference.request import Request
from model.network import masks
from tests.support import tiny

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
KINDS = pytest.mark.parametrize("changes", [{}, {"positions": "rotary"}, {"positions": "learned"}, {"window": 2}], ids=str)


@KINDS
def test_logits_equal_those_of_the_processor(changes):
    model = tiny.model(dtype=torch.float32, **changes)
    source, target = tiny.padded([7, 4, 1], 7), tiny.target_ids(3, 6)
    expected = model(source, target, masks.build(model.config, source, target))
    source, target, model = source.cuda(), target.cuda(), model.cuda()
    found = model(source, target, masks.build(model.config, source, target))
    assert found.device.type == "cuda"
    torch.testing.assert_close(found.cpu(), expected, atol=1e-4, rtol=0)


@KINDS
@pytest.mark.parametrize("edit", [Intervention(), Intervention(causal_mask=False), Intervention(padding_mask=False)])
def test_greedy_decoding_is_equal(changes, edit):
    for seed in range(3):
        model, source = tiny.lively(seed, **changes), tiny.padded([6, 3, 1], 6, seed=seed)
        expected = greedy(model, source, [edit], prefix=[7], max_total_tokens=10)
        found = greedy(model.cuda(), source.cuda(), [edit], prefix=[7], max_total_tokens=10)
        assert [h.ids for h in found] == [h.ids for h in expected]


def test_an_analysis_is_equal(saved):
    request = Request(
        "The red fox.", decoding=Decoding(max_total_tokens=8), mode="again", intervention=Intervention(causal_mask=False)
    )
    expected, found = (analyse(load(str(saved), device=d), request) for d in ("cpu", "cuda"))
    assert found.translation == expected.translation
    torch.testing.assert_close(*(torch.tensor(a.trace.log_probs) for a in (found, expected)), atol=1e-4, rtol=0)
    assert mask_effects(load(str(saved), device="cuda"), request)["causal_mask"].labels
