from __future__ import annotations

import pytest
import torch

from model.config import PAD
from model.edits.intervention import BASELINE, Intervention
from model.edits.kinds import parse
from model.network import masks
from tests.support import tiny

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
