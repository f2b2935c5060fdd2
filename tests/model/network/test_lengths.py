"""Every way to compute attention against the explicit one, or against the pattern that it implies."""

from __future__ import annotations

import pytest
import torch

from model.network import masks
from model.network.attention import attention
from model.network.attention_methods import (
    METHODS,
    WINDOW_WIDTH,
    feature_map,
    full_attention,
    fused_attention,
    linear_attention,
    linear_pattern,
    window_attention,
)

LENGTHS = (1, 2, 7, 64, WINDOW_WIDTH, WINDOW_WIDTH + 1, 300)
CLOSE = {torch.float64: 1e-10, torch.float32: 1e-5}


def drawn(length: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> list[torch.Tensor]:
    """Query, key and value [2,3,T,5]."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(2, 3, length, 5, generator=generator, dtype=torch.float64).to(dtype) for _ in range(3)]


def apart(a: torch.Tensor, b: torch.Tensor) -> float:
    assert a.shape == b.shape and a.dtype == b.dtype
    return float((a - b).abs().max())


@pytest.mark.parametrize("is_causal", [True, False])
@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("name", [name for name, way in METHODS.items() if way.is_exact])
def test_exact_ways_equal_the_explicit_one(name, dtype, is_causal):
    for length in LENGTHS:
        q, k, v = drawn(length, dtype)
        assert apart(METHODS[name].run(q, k, v, is_causal), full_attention(q, k, v, is_causal)) < CLOSE[dtype]


@pytest.mark.parametrize("is_causal", [True, False])
@pytest.mark.parametrize("length", LENGTHS)
def test_blocked_window_equals_its_mask(length, is_causal):
    q, k, v = drawn(length)
    for width in (1, 2, 3, 50, length, length + 9):
        expected = attention(q, k, v, masks.unpadded_mask(length, is_causal, width))[0]
        assert apart(window_attention(q, k, v, is_causal, width), expected) < 1e-10
    assert apart(window_attention(q, k, v, is_causal, length), full_attention(q, k, v, is_causal)) < 1e-10


@pytest.mark.parametrize("is_causal", [True, False])
@pytest.mark.parametrize("length", LENGTHS)
def test_linear_attention_mixes_by_its_pattern(length, is_causal):
    q, k, v = drawn(length)
    pattern = linear_pattern(q, k, masks.unpadded_mask(length, is_causal))
    assert apart(linear_attention(q, k, v, is_causal), pattern @ v) < 1e-10
    assert apart(pattern.sum(-1), torch.ones(2, 3, length, dtype=torch.float64)) < 1e-12
    assert (pattern[~masks.unpadded_mask(length, is_causal).expand_as(pattern)] == 0).all()


def test_linear_attention_by_hand():
    assert feature_map(torch.tensor([0.0, 1.0, -1.0])).tolist() == pytest.approx([1.0, 2.0, 0.36788], abs=1e-5)
    q, k = torch.zeros(1, 1, 2, 1), torch.tensor([[[[1.0], [-1.0]]]])
    pattern = linear_pattern(q, k, masks.unpadded_mask(2, True))
    assert pattern[0, 0].tolist() == [[1.0, 0.0], pytest.approx([0.84464, 0.15536], abs=1e-5)]
    assert (linear_pattern(q, k, torch.zeros(1, 1, 2, 2, dtype=torch.bool)) == 0).all()


@pytest.mark.parametrize("name", METHODS)
def test_what_comes_later_changes_nothing_before(name):
    q, k, v = drawn(200)
    q2, k2, v2 = (torch.cat((x[:, :, :150], y[:, :, :50]), 2) for x, y in zip((q, k, v), drawn(50, seed=1), strict=True))
    before, after = (METHODS[name].run(*each, True) for each in ((q, k, v), (q2, k2, v2)))
    assert apart(before[:, :, :150], after[:, :, :150]) < 1e-12
    assert apart(before[:, :, 150:], after[:, :, 150:]) > 0.1


@pytest.mark.parametrize("name", [name for name, way in METHODS.items() if way.growth_exponents[1] < 2])
def test_only_the_explicit_way_holds_a_whole_pattern(name):
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class Largest(TorchDispatchMode):
        most = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            made = func(*args, **(kwargs or {}))
            self.most = max(self.most, *(x.numel() for x in tree_leaves(made) if isinstance(x, torch.Tensor)), 0)
            return made

    length = 16 * WINDOW_WIDTH
    q, k, v = (x[:1, :1] for x in drawn(length, torch.float32))
    with Largest() as seen:
        METHODS[name].run(q, k, v, True)
    assert seen.most <= 3 * WINDOW_WIDTH * length < length**2
    with Largest() as seen:
        full_attention(q, k, v, True)
    assert seen.most >= length**2


def test_gradients_are_those_of_the_explicit_path():
    for way, other in ((fused_attention, full_attention), (lambda *x: window_attention(*x, 40), full_attention)):
        grads = []
        for run in (way, other):
            q, k, v = (x.requires_grad_() for x in drawn(40))
            run(q, k, v, True).square().sum().backward()
            grads.append(torch.stack([x.grad for x in (q, k, v)]))
        assert apart(*grads) < 1e-10
