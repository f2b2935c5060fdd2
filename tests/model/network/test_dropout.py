from __future__ import annotations

import pytest
import torch

from model.network import attention
from model.network.attention import Dropout

ONES = torch.ones(400, 500)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_a_share_is_zeroed_and_the_rest_scaled(p):
    torch.manual_seed(0)
    dropped = Dropout(p).train()(ONES)
    assert dropped.shape == ONES.shape
    assert float((dropped == 0).float().mean()) == pytest.approx(p, abs=0.01)
    kept = dropped[dropped != 0]
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / (1 - p)))


def test_large_tensors_are_dropped_outside_the_pool(monkeypatch):
    monkeypatch.setattr(attention, "_POOL_SIZE", ONES.numel())
    dropped = Dropout(0.5).train()(ONES)
    assert float((dropped == 0).float().mean()) == pytest.approx(0.5, abs=0.01)


def test_a_pool_made_in_inference_mode_serves_training(monkeypatch):
    monkeypatch.setattr(Dropout, "_pools", {})
    layer, x = Dropout(0.5).train(), torch.ones(8, requires_grad=True)
    with torch.inference_mode():
        layer(x)
    layer(x).sum().backward()
    assert set(x.grad.tolist()) <= {0.0, 2.0}
