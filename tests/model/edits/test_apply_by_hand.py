"""Every kind of edit on two tokens, with numbers worked out on paper.

Queries (2, 0, 0, 0) and (0, 2, 0, 0) meet keys (ln 3, 0, 0, 0) and (0, ln 3, 0, 0): over sqrt(4) the scores are ln 3 on the
diagonal and 0 beside it, the weights 3/4 and 1/4. Values (4, 0, 8, 0) and (0, 4, 0, 8) give z = (3, 1, 6, 2) and
(1, 3, 2, 6). The second head's queries are 0: weights 1/2 and 1/2, z = (2, 2, 4, 4).
"""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from model.config import PAD
from model.edits.apply import BatchEdits, SiteEdits
from model.edits.intervention import BASELINE
from model.edits.kinds import EditError
from model.network import masks
from model.network.attention import attention
from model.network.context import Pass
from model.network.layers import Residual
from model.trace import Site, Sublayer
from tests.support import tiny

LN3 = math.log(3)
QUERY = torch.tensor([[[[2, 0, 0, 0], [0, 2, 0, 0]], [[0] * 4] * 2]], dtype=torch.float64)  # [1,2,2,4]
KEY = torch.tensor([[[[LN3, 0, 0, 0], [0, LN3, 0, 0]]] * 2], dtype=torch.float64)
VALUE = torch.tensor([[[[4, 0, 8, 0], [0, 4, 0, 8]]] * 2], dtype=torch.float64)
OPEN = torch.ones(1, 1, 2, 2, dtype=torch.bool)
SHARP, EVEN = [[0.75, 0.25], [0.25, 0.75]], [[0.5, 0.5], [0.5, 0.5]]
FIRST, SECOND = [4, 0, 8, 0], [0, 4, 0, 8]  # the values
MEANS = {Site("encoder", 0): torch.tensor([[1.0, 2, 3, 4], [5, 6, 7, 8]])}


def attend(*codes, site=("encoder", 0), mask=OPEN, start=0, means=MEANS):
    site, edits = Site(*site), BatchEdits([tiny.edited(*codes)], means)
    mask = masks.site_mask(mask, edits.mask_edits(site), (1, 2, 2), start)
    return attention(QUERY, KEY, VALUE, mask, None, SiteEdits(edits, site, start))


def check(found, *patterns, z=(None, None), sharpness=LN3):
    """Both heads' patterns, their z where it is not the mix of the values, and the scores."""
    mixed = [[[a * x + b * y for x, y in zip(FIRST, SECOND, strict=True)] for a, b in rows] for rows in patterns]
    expected = ([own or mix for own, mix in zip(z, mixed, strict=True)], patterns)
    scores = [[[sharpness, 0], [0, sharpness]], [[0, 0], [0, 0]]]
    for one, other in zip(found, (*expected, scores), strict=True):
        torch.testing.assert_close(one, torch.tensor([other], dtype=torch.float64), atol=1e-12, rtol=0)


PATTERNS = {  # codes: the patterns of both heads
    "": (SHARP, EVEN),
    "block_enc.1.1_1-2": ([[1, 0], SHARP[1]], EVEN),
    "block_enc_1-2": ([[1, 0], SHARP[1]], [[1, 0], EVEN[1]]),
    "block_enc.1.1_2-all": ([SHARP[0], [0, 0]], EVEN),
    "block_enc.1.2_all-1": (SHARP, [[0, 1], [0, 1]]),
    "block_enc.1.1_2-1 block_enc.1.1_2-2": ([SHARP[0], [0, 0]], EVEN),
    "row_enc.1.1_2-1": ([SHARP[0], [1, 0]], EVEN),
    "row_enc.1.1_2-uniform": ([SHARP[0], [0.5, 0.5]], EVEN),
    "row_enc_1-uniform block_enc.1.1_1-1 block_enc.1.1_1-2": ([[0, 0], SHARP[1]], EVEN),
}


@pytest.mark.parametrize("codes", PATTERNS)
def test_what_is_blocked_and_written_over(codes):
    check(attend(*codes.split()), *PATTERNS[codes])


def test_even_row_sees_what_the_mask_leaves():
    blocked = attend("row_enc_2-uniform", "block_enc.1.2_2-1", mask=masks.causal_mask(2, 2))
    check(blocked, [[1, 0], [0.5, 0.5]], [[1, 0], [0, 1]])
    pattern, seen = torch.zeros(1, 2, 1, 3, dtype=torch.float64), torch.ones(1, 1, 1, 3, dtype=torch.bool)
    found = BatchEdits([tiny.edited("row_enc_1-uniform")]).overwrite(Site("encoder", 0), pattern, seen, 0)
    assert found.flatten().tolist() == [1 / 3] * 6  # exact in the precision of the pattern


def test_heads_that_are_off_or_their_mean_keep_their_patterns():
    check(attend("off_enc.1.1"), SHARP, EVEN, z=([[0] * 4] * 2, None))
    check(attend("mean_enc.1.2"), SHARP, EVEN, z=(None, [[5, 6, 7, 8]] * 2))
    check(attend("mean_enc"), SHARP, EVEN, z=([[1, 2, 3, 4]] * 2, [[5, 6, 7, 8]] * 2))
    with pytest.raises(EditError, match=r"^This checkpoint has no means of its heads; switch the head off instead\.$"):
        attend("mean_enc.1.2", means=None)


def test_scores_without_scaling_and_windows():
    check(attend("scaling-off"), [[0.9, 0.1], [0.1, 0.9]], EVEN, sharpness=2 * LN3)
    seen = masks.encoder_mask(tiny.config(), torch.tensor([[5, 6]]), [tiny.edited("window-1")])
    check(attend(mask=seen), [[1, 0], [0, 1]], [[1, 0], [0, 1]])


@pytest.mark.parametrize("code", ["block_enc_3-2", "row_enc_3-1"])
def test_a_row_is_found_by_its_position(code):
    check(attend(code, start=2), [[1, 0], SHARP[1]], [[1, 0], EVEN[1]])
    check(attend(code, start=1), [SHARP[0], [1, 0]], [EVEN[0], [1, 0]])
    for elsewhere in (0, 3, 4):
        check(attend(code, start=elsewhere), SHARP, EVEN)


@pytest.mark.parametrize("code", ["block_{}_1-2", "row_{}_1-1", "off_{}", "mean_{}"])
def test_an_edit_works_at_its_site_alone(code):
    for site in (("encoder", 1), ("decoder", 0), ("cross", 0)):
        check(attend(code.format("enc.1"), site=site), SHARP, EVEN)
    assert not all(a.equal(b) for a, b in zip(attend(), attend(code.format("enc.1")), strict=True))


def test_blocked_masks_by_hand():
    mask = torch.tensor([[[[True, True, False]]]])
    assert masks.site_mask(mask, [], (1, 2, 2)) is mask
    blocks = BatchEdits([tiny.edited("block_enc.1.2_1-2", "block_enc_2-1")]).mask_edits(Site("encoder", 0))
    found = masks.site_mask(mask, blocks, (1, 2, 2))
    assert found.int().tolist() == [[[[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 0]]]]
    assert mask.tolist() == [[[[True, True, False]]]]
    edits = BatchEdits(
        [BASELINE, tiny.edited("block_enc_1-1"), tiny.edited("block_enc_2-all")]
    )  # each in its row of the batch
    mask = masks.site_mask(OPEN.expand(3, 1, 2, 2), edits.mask_edits(Site("encoder", 0)), (3, 1, 2))
    assert mask[:, 0].int().tolist() == [[[1, 1], [1, 1]], [[0, 1], [1, 1]], [[1, 1], [0, 0]]]


@pytest.mark.parametrize("norm_first", [True, False])
def test_a_skipped_sublayer_by_hand(norm_first):
    residual = Residual(tiny.config(norm_first=norm_first), Sublayer("encoder", 0, "ff")).eval()
    residual.norm = nn.LayerNorm(2, eps=0.0)
    x = torch.tensor([[[1.0, 3.0]], [[1.0, 3.0]]])
    edits = BatchEdits([BASELINE, tiny.edited("skip_enc.1.ff")])
    assert edits.sublayer_factors("encoder", 0, "ff", x).flatten().tolist() == [1, 0]
    found = residual(x, lambda y: torch.full_like(y, 7.0), Pass(edits))
    assert found[:, 0].tolist() == ([[8, 10], [1, 3]] if norm_first else [[-1, 1], [-1, 1]])
    for other in (("decoder", 0, "ff"), ("encoder", 1, "ff"), ("encoder", 0, "self")):
        assert BatchEdits([tiny.edited("skip_enc.1.ff")]).sublayer_factors(*other, x) is None


def test_positions_by_hand():
    ids, codes = torch.tensor([[5, 6, 7, PAD]]), ["source-positions_off", "source-positions_shifted-3"]
    off, shifted = (BatchEdits([tiny.edited(code)]).positions("source", ids) for code in codes)
    assert (off[0].tolist(), off[1].tolist()) == ([[0, 0, 0, 0]], [[[0]]])
    assert (shifted[0].tolist(), shifted[1].tolist()) == ([[3, 4, 5, 6]], [[[1]]])
    both = BatchEdits([tiny.edited("target-positions_off"), tiny.edited("target-positions_shifted-2"), BASELINE])
    positions, present = both.positions("target", ids[:, :2].repeat(3, 1), start=4)
    assert positions.tolist() == [[0, 0], [6, 7], [4, 5]]
    assert present.flatten().tolist() == [0, 1, 1]
    for edits in (both, BatchEdits()):
        positions, present = edits.positions("source", ids, start=1)
        assert (positions.tolist(), present) == ([1, 2, 3, 4], None)
