"""The design of 2017 and the one that is usual today, each as a whole layer written out from its papers, in float64."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from model.network.layers import DecoderLayer, EncoderLayer, FeedForward
from model.network.masks import causal
from tests.support import tiny

D, H, K = 16, 2, 8  # of tiny.config
ORIGINAL = {"norm_first": False, "final_norm": False}
OPEN = torch.ones(1, 1, 1, 1, dtype=torch.bool)


def drawn(module: torch.nn.Module, seed: int = 0) -> torch.nn.Module:
    """With all parameters drawn, gains of norms too."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in module.double().parameters():
            parameter.copy_(torch.randn_like(parameter) / math.sqrt(D))
    return module.eval()


def rows(length: int, seed: int = 1) -> Tensor:
    return torch.randn(length, D, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def product(linear: torch.nn.Linear, x: Tensor) -> Tensor:
    return x @ linear.weight.T + linear.bias


def layer_norm(norm: torch.nn.Module, x: Tensor) -> Tensor:
    """Ba et al. 2016, equation 4."""
    centred = x - x.mean(-1, keepdim=True)
    return norm.weight * centred / (centred.square().mean(-1, keepdim=True) + norm.eps).sqrt() + norm.bias


def rms_norm(norm: torch.nn.Module, x: Tensor) -> Tensor:
    """Zhang and Sennrich 2019, equation 4: no mean is taken away, and there is no bias."""
    return norm.weight * x / (x.square().mean(-1, keepdim=True) + norm.eps).sqrt()


def turned(x: Tensor) -> Tensor:
    """Su et al. 2021, equations 14 and 15: the row of position m times the rotation matrix of m; x [T,K]."""
    found = []
    for m, row in enumerate(x):
        matrix = torch.zeros(K, K, dtype=torch.float64)
        for i in range(K // 2):
            angle = m * 10000 ** (-2 * i / K)
            cos, sin = math.cos(angle), math.sin(angle)
            matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.tensor([[cos, -sin], [sin, cos]], dtype=torch.float64)
        found.append(matrix @ row)
    return torch.stack(found)


def attended(module, x: Tensor, memory: Tensor, rotary: bool = False, masked: bool = False) -> Tensor:
    """Vaswani et al. 2017, section 3.2, head by head; x [T,D], memory [S,D]."""
    q, k, v = product(module.query, x), product(module.key, memory), product(module.value, memory)
    heads = []
    for head in range(H):
        mine = slice(head * K, (head + 1) * K)
        asks, answers = (turned(q[:, mine]), turned(k[:, mine])) if rotary else (q[:, mine], k[:, mine])
        scores = asks @ answers.T / math.sqrt(K)
        if masked:
            scores = scores + torch.full_like(scores, -math.inf).triu(1)
        weights = scores.exp() / scores.exp().sum(-1, keepdim=True)
        heads.append(weights @ v[:, mine])
    return product(module.output, torch.cat(heads, -1))


def swiglu(network: FeedForward, x: Tensor) -> Tensor:
    """Shazeer 2020, equation 5, with biases; Swish1(v) = v / (1 + exp(-v))."""
    gate = product(network.gate, x)
    return product(network.outer, gate / (1 + torch.exp(-gate)) * product(network.inner, x))


def test_the_modern_encoder_layer_by_its_formulas():
    layer, x = drawn(EncoderLayer(tiny.config(**tiny.MODERN), 0)), rows(5)
    first, second = (residual.norm for residual in layer.residuals)
    middle = x + attended(layer.self_attention, rms_norm(first, x), rms_norm(first, x), rotary=True)
    expected = middle + swiglu(layer.feed_forward, rms_norm(second, middle))
    torch.testing.assert_close(layer(x[None], OPEN, torch.arange(5))[0], expected, atol=1e-12, rtol=0)


def test_the_decoder_layer_of_2017_by_its_formulas():
    layer, x, memory = drawn(DecoderLayer(tiny.config(**ORIGINAL), 0)), rows(4), rows(6, seed=2)
    first, second, third = (residual.norm for residual in layer.residuals)
    x1 = layer_norm(first, x + attended(layer.self_attention, x, x, masked=True))
    x2 = layer_norm(second, x1 + attended(layer.cross_attention, x1, memory))
    network = layer.feed_forward
    expected = layer_norm(third, x2 + product(network.outer, product(network.inner, x2).clamp(min=0)))
    found = layer(x[None], memory[None], causal(4, 4), OPEN, torch.arange(4))[0]
    torch.testing.assert_close(found, expected, atol=1e-12, rtol=0)
