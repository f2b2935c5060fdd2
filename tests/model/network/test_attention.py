from __future__ import annotations

import pytest
import torch

from model.network.attention import MultiHeadAttention, attention
from model.network.context import Pass
from model.network.masks import causal_mask
from model.network.positions import rotary
from model.trace import Probe, Site
from tests.support import tiny


def random(*shape: int, seed: int = 0, grad: bool = False) -> torch.Tensor:
    drawn = torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return drawn.requires_grad_(grad)


def module(kind: str = "encoder", seed: int = 0, **changes) -> MultiHeadAttention:
    torch.manual_seed(seed)
    made = MultiHeadAttention(tiny.config(**changes), Site(kind, 0)).double().eval()
    with torch.no_grad():
        for p in made.parameters():
            p.copy_(torch.randn_like(p))
    return made


OPEN = torch.ones(1, 1, 1, 1, dtype=torch.bool)


def test_a_masked_key_by_hand():
    query, key = torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 3, 2)
    value = torch.tensor([[[[1.0], [10.0], [100.0]]]])
    mask = torch.tensor([True, False, True])[None, None, None]
    z, pattern, _ = attention(query, key, value, mask)
    assert pattern.flatten().tolist() == [0.5, 0.0, 0.5]
    assert z.item() == 50.5


def test_rows_sum_to_one_unless_fully_masked():
    mask = torch.rand(2, 1, 9, 7, generator=torch.Generator().manual_seed(4)) < 0.3
    mask[0, 0, 0], mask[1, 0, 3] = False, False
    _, pattern, _ = attention(random(2, 3, 9, 4), random(2, 3, 7, 4, seed=1), random(2, 3, 7, 4, seed=2), mask)
    expected = mask.any(-1).expand(2, 3, 9).double()
    torch.testing.assert_close(pattern.sum(-1), expected, atol=1e-12, rtol=0)
    assert (pattern >= 0).all()
    assert (pattern[~mask.expand_as(pattern)] == 0).all()
    assert (pattern[mask.expand_as(pattern)] > 0).all()


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_fully_masked_rows_are_zeros_with_finite_grads(dtype):
    q, k, v = (random(1, 2, 3, 4, seed=s).to(dtype).requires_grad_() for s in range(3))
    mask = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])[None, None]
    z, pattern, scores = attention(q, k, v, mask)
    assert (pattern[:, :, 1] == 0).all()
    assert (z[:, :, 1] == 0).all()
    assert scores.isfinite().all()
    with torch.autograd.detect_anomaly():  # nothing on the way may be infinite either
        (z.square().sum() + pattern.square().sum()).backward()
    for tensor in (q, k, v):
        assert tensor.grad.isfinite().all()
    assert (q.grad[:, :, 1] == 0).all()
    assert q.grad[:, :, 2].abs().sum() > 0


def test_scores_are_those_before_the_mask():
    q, k, v = (random(1, 2, 3, 4, seed=s) for s in range(3))
    scores = attention(q, k, v, causal_mask(3, 3))[2]
    assert scores.equal(attention(q, k, v, OPEN)[2])
    torch.testing.assert_close(scores, torch.einsum("bhtk,bhsk->bhts", q, k) / 2, atol=1e-12, rtol=0)


def test_dropout_changes_the_mix_and_not_the_pattern():
    q, k, v = (random(1, 2, 3, 4, seed=s) for s in range(3))
    z, pattern, _ = attention(q, k, v, OPEN, dropout=torch.nn.Dropout(0.5))
    plain_z, plain_pattern, _ = attention(q, k, v, OPEN)
    assert pattern.equal(plain_pattern)
    assert not z.equal(plain_z)


@pytest.mark.parametrize(("kind", "turned"), [("encoder", True), ("decoder", True), ("cross", False)])
def test_rotary_turns_self_attention_only(kind, turned):
    layer, plain = module(kind, positions="rotary"), module(kind, positions="sinusoidal")
    x, at, probe, plain_probe = random(1, 3, 16), torch.arange(4, 7), Probe("full"), Probe("full")
    layer(x, x, OPEN, at, Pass(probe=probe))
    plain(x, x, OPEN, at, Pass(probe=plain_probe))
    seen, unturned = probe.records[Site(kind, 0)], plain_probe.records[Site(kind, 0)]
    for name in ("q", "k"):
        expected = rotary(unturned[name], at) if turned else unturned[name]
        torch.testing.assert_close(seen[name], expected, atol=1e-12, rtol=0)
    assert seen["v"].equal(unturned["v"])
