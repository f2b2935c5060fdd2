"""Attention, its masks and its positions."""

from __future__ import annotations

import math

import pytest
import torch

from model.config import PAD
from model.edits.intervention import BASELINE, Intervention
from model.edits.kinds import parse
from model.network import masks
from model.network.attention import MultiHeadAttention, attention
from model.network.context import Pass
from model.network.masks import causal_mask
from model.network.positions import PositionalEncoding, rotary, sinusoidal
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


UNCAUSAL = Intervention(causal_mask=False)
UNPADDED = Intervention(padding_mask=False)
CONFIG, NARROW = tiny.config(), tiny.config(window=2)


def grid(text: str) -> list[list[bool]]:
    """`x.` lines, x = may attend."""
    return [[c == "x" for c in row] for row in text.split()]


def test_masks_by_hand():
    for mask, expected in (
        (masks.causal_mask(4, 4), "x... xx.. xxx. xxxx"),
        (masks.causal_mask(2, 4), "xxx. xxxx"),  # the last query stands at the last key
        (masks.sliding_window(2, 4, 2), ".xxx ..xx"),
        (masks.sliding_window(4, 4, 1), "x... .x.. ..x. ...x"),
        (masks.sliding_window(4, 4, 2), "xx.. xxx. .xxx ..xx"),
        (masks.padding_mask(torch.tensor([[PAD, 1, 2, PAD]])), ".xx."),
    ):
        assert mask[0, 0].tolist() == grid(expected)


def test_build_by_hand():
    seen = masks.build(CONFIG, torch.tensor([[5, 6, PAD]]), torch.tensor([[1, 7, 8, PAD]]))
    assert seen.encoder[0, 0].tolist() == seen.cross[0, 0].tolist() == grid("xx.")
    assert seen.decoder[0, 0].tolist() == grid("x... xx.. xxx. xxx.")


def test_a_window_limits_self_attention_alone():
    seen = masks.build(NARROW, torch.tensor([[5, 6, 7, PAD]]), torch.tensor([[1, 7, 8]]))
    assert seen.encoder[0, 0].tolist() == grid("xx.. xxx. .xx. ..x.")
    assert seen.decoder[0, 0].tolist() == grid("x.. xx. .xx")
    assert seen.cross[0, 0].tolist() == grid("xxx.")


def test_causal_off_hides_padding_only():
    target = torch.tensor([[1, 7, PAD]])
    assert masks.decoder_mask(CONFIG, target, [UNCAUSAL])[0, 0].tolist() == grid("xx. xx. xx.")
    assert masks.decoder_mask(tiny.config(window=1), target, [UNCAUSAL])[0, 0].tolist() == grid("x.. .x. ...")


def test_padding_off_shows_padding_of_both_sides():
    source, target = torch.tensor([[5, 6, PAD]]), torch.tensor([[1, 7, PAD]])
    edited = masks.build(CONFIG, source, target, [UNPADDED])
    assert edited.encoder[0, 0].tolist() == edited.cross[0, 0].tolist() == grid("xxx")
    assert edited.decoder[0, 0].tolist() == grid("x.. xx. xxx")
    both = masks.decoder_mask(CONFIG, target, [Intervention(causal_mask=False, padding_mask=False)])
    assert both[0, 0].tolist() == grid("xxx xxx xxx")


@pytest.mark.parametrize("window", [None, 1, 3])
@pytest.mark.parametrize("edit", [BASELINE, UNCAUSAL])
def test_the_last_queries_have_the_last_rows(window, edit):
    target = tiny.padded([6, 4], 6)
    whole = masks.decoder_mask(tiny.config(window=window), target, [edit])
    for queries in (1, 2, 6):
        assert masks.decoder_mask(tiny.config(window=window), target, [edit], queries=queries).equal(whole[:, :, -queries:])


def test_a_block_of_what_is_forbidden_closes_nothing():
    built = masks.build(CONFIG, torch.tensor([[5, 6, PAD]]), torch.tensor([[1, 5, 6]]))
    codes = {"dec_1-2": True, "dec_2-1": False, "dec_all-3": False, "enc_1-3": True, "cross_3-3": True, "cross_3-2": False}
    blocks = {code: parse(f"block_{code}") for code in codes}
    assert masks.no_op_blocks(built, tuple(blocks.values())) == tuple(blocks[code] for code, idle in codes.items() if idle)


def test_sinusoidal_by_the_formula():
    table = sinusoidal(torch.arange(50), 6)
    for p in range(50):
        for i in range(3):
            angle = p / 10000 ** (2 * i / 6)
            assert float(table[p, 2 * i]) == pytest.approx(math.sin(angle), abs=1e-6)
            assert float(table[p, 2 * i + 1]) == pytest.approx(math.cos(angle), abs=1e-6)


def test_rotary_by_hand():
    x = torch.tensor([[[[1.0, 0.0, 0.0, 2.0]]]], dtype=torch.float64)
    turned = rotary(x, torch.tensor([1]))[0, 0, 0].tolist()
    expected = [math.cos(1), math.sin(1), -2 * math.sin(0.01), 2 * math.cos(0.01)]
    assert turned == pytest.approx(expected, abs=1e-12)


def test_only_their_own_kind_adds_positions():
    x = torch.randn(2, 5, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    at = torch.arange(5)
    assert PositionalEncoding(tiny.config(positions="rotary"))(x, at).equal(x)
    added = PositionalEncoding(tiny.config())(x, at) - x
    torch.testing.assert_close(added, sinusoidal(at, 16).double().expand(2, 5, 16), atol=1e-12, rtol=0)
    learned = PositionalEncoding(tiny.config(positions="learned", max_positions=8)).double()
    torch.testing.assert_close(learned(x, at + 2) - x, learned.table.weight[2:7].expand(2, 5, 16), atol=1e-12, rtol=0)


def test_learned_positions_beyond_the_table_are_refused():
    learned = PositionalEncoding(tiny.config(positions="learned", max_positions=4))
    assert learned(torch.zeros(1, 4, 16), torch.arange(4)).shape == (1, 4, 16)
    assert learned(torch.zeros(1, 0, 16), torch.arange(0)).shape == (1, 0, 16)
    with pytest.raises(ValueError, match="position 4 is asked for; this checkpoint has learned positions 0 to 3"):
        learned(torch.zeros(1, 2, 16), torch.arange(3, 5))
