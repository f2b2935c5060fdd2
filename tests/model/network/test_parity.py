"""The same weights in torch's own modules give the same numbers: float64, to 1e-10, at every position that is real."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor, nn

from benchmarks.peers import copy_attention, torch_transformer
from model.config import PAD
from model.network import masks
from model.network.context import Pass
from model.trace import Probe, Site
from tests.support import tiny

LENGTHS = (1, 2, 3, 7, 16, 33, 64)
EXACT = 1e-10
VARIANTS = [
    pytest.param({"norm_first": first, "activation": name}, id=f"{'pre' if first else 'post'}-norm-{name}")
    for first, name in itertools.product((True, False), ("relu", "gelu"))
]
pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # torch names a fast path that it will not take
each_variant = pytest.mark.parametrize("variant", VARIANTS)
each_length = pytest.mark.parametrize("length", LENGTHS)


def rows(length: int) -> list[int]:
    """Real tokens of each row of a batch with padding."""
    return [length, max(1, length // 2), max(1, length - 1)]


def ids(length: int, seed: int = 0) -> Tensor:
    return tiny.padded(rows(length), length, seed=seed)


def embedded(length: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(3, length, 16, dtype=torch.float64, generator=generator)


def largest_difference(ours: Tensor, theirs: Tensor, tokens: Tensor) -> float:
    """Over real positions alone: what stands at `<pad>` is nobody's business."""
    real = tokens != PAD
    assert real.any()
    return float((ours[real] - theirs[real]).detach().abs().max())


def no_later(length: int) -> Tensor:
    """Torch's causal mask: True = may NOT attend. Built here, so that no mask of ours can hide behind itself."""
    return torch.ones(length, length, dtype=torch.bool).triu(1)


@each_length
@pytest.mark.parametrize(("causal", "width"), [(False, None), (True, None), (True, 1), (True, 2), (True, 5)])
@pytest.mark.parametrize("with_padding", [False, True])
def test_attention_equals_torch(length, causal, width, with_padding):
    ours = tiny.model().decoder[0].self_attention
    theirs = nn.MultiheadAttention(16, 2, batch_first=True, dtype=torch.float64)
    copy_attention(ours, theirs)
    x, tokens = embedded(length), ids(length) if with_padding else tiny.ids(3, length)
    mask = masks.decoder_mask(tiny.config(window=width), tokens) if causal else masks.padding_mask(tokens)
    earlier = torch.ones(length, length, dtype=torch.bool).tril(-(width or length))
    hidden = no_later(length) | earlier if causal else None
    probe = Probe("maps")
    mixed = ours(x, x, mask, torch.arange(length), Pass(probe=probe))
    expected, weights = theirs(x, x, x, tokens == PAD, attn_mask=hidden, average_attn_weights=False)
    assert largest_difference(mixed, expected, tokens) < EXACT
    pattern = probe.records[Site("decoder", 0)]["pattern"]
    assert largest_difference(pattern.transpose(1, 2), weights.transpose(1, 2), tokens) < EXACT


@pytest.mark.parametrize(("queries", "keys"), [(1, 7), (7, 1), (3, 33), (64, 16)])
def test_cross_attention_equals_torch(queries, keys):
    ours = tiny.model().decoder[0].cross_attention
    theirs = nn.MultiheadAttention(16, 2, batch_first=True, dtype=torch.float64)
    copy_attention(ours, theirs)
    x, memory, source = embedded(queries), embedded(keys, seed=1), ids(keys)
    mixed = ours(x, memory, masks.cross_mask(source), torch.arange(queries))
    expected, _ = theirs(x, memory, memory, key_padding_mask=source == PAD)
    torch.testing.assert_close(mixed, expected, atol=EXACT, rtol=0)


def transformer_difference(variant: dict, source_length: int, target_length: int, final_norm: bool = True) -> float:
    ours = tiny.model(final_norm=final_norm, **variant)
    theirs = torch_transformer(ours).eval()
    source, target = ids(source_length), ids(target_length, seed=1)
    seen = masks.build(ours.config, source, target)
    memory = ours.encode(source, seen.encoder)
    hidden = ours.decode(target, memory, seen.decoder, seen.cross)
    hidden_of_torch = theirs(
        ours.source_embedding(source, torch.arange(source_length)),
        ours.target_embedding(target, torch.arange(target_length)),
        tgt_mask=no_later(target_length),
        src_key_padding_mask=source == PAD,
        tgt_key_padding_mask=target == PAD,
        memory_key_padding_mask=source == PAD,
    )
    logits, expected = ours(source, target, seen), ours.project(hidden_of_torch)
    return max(largest_difference(hidden, hidden_of_torch, target), largest_difference(logits, expected, target))


@each_variant
@pytest.mark.parametrize(("source_length", "target_length"), [(1, 16), (16, 1), (7, 33), (64, 64)])
@pytest.mark.parametrize("final_norm", [True, False])
def test_transformer_equals_torch(variant, source_length, target_length, final_norm):
    assert transformer_difference(variant, source_length, target_length, final_norm) < EXACT


@each_variant
@each_length
def test_missing_causal_mask_breaks_parity(variant, length, monkeypatch):
    monkeypatch.setattr(masks, "causal_mask", lambda t, s, device="cpu": torch.ones(1, 1, t, s, dtype=torch.bool))
    difference = transformer_difference(variant, length, length)
    assert difference > 1e-3 if length > 1 else difference < EXACT
