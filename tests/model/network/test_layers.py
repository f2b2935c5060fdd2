from __future__ import annotations

import math

import pytest
import torch

from model.network.layers import FeedForward, Residual, make_norm
from model.trace import Sublayer
from tests.support import tiny

X = torch.tensor([[[1.0, -2.0, 3.0, 4.0]]], dtype=torch.float64)
SMALL = {"d_model": 4, "heads": 2, "d_ff": 3}
PLACE = Sublayer("encoder", 0, "self")


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def fill(module: torch.nn.Module, seed: int = 0) -> torch.nn.Module:
    torch.manual_seed(seed)
    with torch.no_grad():
        for p in module.double().parameters():
            p.copy_(torch.randn_like(p))
    return module.eval()


@pytest.mark.parametrize(("name", "mean", "variance"), [("rmsnorm", 0, 7.5), ("layernorm", 1.5, 5.25)])
def test_norms_by_hand(name, mean, variance):
    norm = make_norm(tiny.config(norm=name, norm_eps=0.5, **SMALL)).double()
    expected = [(v - mean) / math.sqrt(variance + 0.5) for v in (1, -2, 3, 4)]
    assert norm(X).flatten().tolist() == pytest.approx(expected, abs=1e-12)


def test_swiglu_by_the_formula():
    layer = fill(FeedForward(tiny.config(activation="swiglu", **SMALL)))
    gate = X @ layer.gate.weight.T + layer.gate.bias
    inner = X @ layer.inner.weight.T + layer.inner.bias
    expected = (gate / (1 + torch.exp(-gate)) * inner) @ layer.outer.weight.T + layer.outer.bias
    torch.testing.assert_close(layer(X), expected, atol=1e-10, rtol=0)


@pytest.mark.parametrize("norm_first", [True, False])
def test_dropout_is_applied_to_the_sublayer_only(norm_first):
    residual = fill(Residual(tiny.config(dropout=0.5, norm_first=norm_first), PLACE)).train()
    residual.norm = torch.nn.Identity()
    x = random(2, 3, 16)
    added = residual(x, lambda y: torch.ones_like(y)) - x
    assert set(added.unique().round(decimals=6).tolist()) == {0.0, 2.0}
