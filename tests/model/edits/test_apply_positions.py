"""Every kind of edit on two tokens, with numbers worked out on paper; and edits of positions, for every position scheme."""

from __future__ import annotations

import math

import pytest
import torch

from model.config import PAD, SCHEMES
from model.edits.apply import BatchEdits, SiteEdits
from model.edits.intervention import BASELINE
from model.edits.kinds import SHUFFLED_BLOCK, EditError, Positions, shuffled_target
from model.network import masks
from model.network.attention import attention
from model.network.context import Pass
from model.network.positions import NO_POSITIONS
from model.trace import Probe, Site
from tests.support import tiny

POSITIONS = pytest.mark.parametrize("positions", [name for name in SCHEMES if name != "none"])
SOURCE, TARGET = tiny.ids(2, 6), tiny.target_ids(2, 5)


def encoded(model, source: torch.Tensor, *codes: str) -> torch.Tensor:
    """The encoder's output [B,S,D]."""
    return model.encode(source, masks.encoder_mask(model.config, source), Pass(BatchEdits([tiny.edited(*codes)])))


def close(one: torch.Tensor, two: torch.Tensor, tolerance: float = 1e-10) -> None:
    torch.testing.assert_close(one, two, atol=tolerance, rtol=0)


@POSITIONS
def test_without_positions_the_encoder_reads_a_bag_of_words(positions):
    model, order = tiny.model(positions=positions), torch.tensor([3, 0, 5, 1, 4, 2])
    close(encoded(model, SOURCE[:, order], "source-positions_off"), encoded(model, SOURCE, "source-positions_off")[:, order])
    assert (encoded(model, SOURCE[:, order]) - encoded(model, SOURCE)[:, order]).abs().max() > 1e-2


@POSITIONS
def test_without_positions_the_decoder_gets_none(positions):
    model, bare = (tiny.model(positions=positions) for _ in range(2))
    with torch.no_grad():
        bare.target_embedding.positional.forward = lambda x, positions, present=None: x
        for layer in bare.decoder:
            layer.self_attention.scheme = NO_POSITIONS
    off = tiny.logits(model, SOURCE, TARGET, tiny.edited("target-positions_off"))
    close(off, tiny.logits(bare, SOURCE, TARGET))
    assert (off - tiny.logits(model, SOURCE, TARGET)).abs().max() > 1e-2


@POSITIONS
def test_a_shifted_source_is_one_that_stands_behind_padding(positions):
    model = tiny.model(positions=positions)
    behind = torch.cat((torch.full((2, 3), PAD), SOURCE), dim=1)
    close(encoded(model, SOURCE, "source-positions_shifted-3"), encoded(model, behind)[:, 3:])


@pytest.mark.parametrize(("side", "kind"), [("source", "encoder"), ("target", "decoder")])
@pytest.mark.parametrize(("positions", "stays"), [("sinusoidal", False), ("rotary", True)])
def test_an_equal_shift_leaves_rotary_scores(side, kind, positions, stays):
    model, (before, after) = tiny.model(positions=positions), (Probe("maps"), Probe("maps"))
    plain = tiny.logits(model, SOURCE, TARGET, probe=before)
    shifted = tiny.logits(model, SOURCE, TARGET, tiny.edited(f"{side}-positions_shifted-200"), probe=after)
    for site in (Site(kind, 0), Site(kind, 1)):
        moved = (after.records[site]["scores"] - before.records[site]["scores"]).abs().max()
        assert (moved < 1e-10) == stays
    assert ((plain - shifted).abs().max() < 1e-10) == stays  # cross-attention has no rotary positions


@POSITIONS
def test_shuffled_source_is_another_order(positions):
    model, edits = tiny.model(positions=positions), BatchEdits([tiny.edited("source-positions_shuffled-8")])
    placed = edits.positions("source", SOURCE)[0][0]
    moved = torch.empty_like(SOURCE)
    moved[:, placed] = SOURCE
    assert placed.tolist() != list(range(6))
    close(encoded(model, SOURCE, "source-positions_shuffled-8"), encoded(model, moved)[:, placed])


@pytest.mark.parametrize("count", [1, 2, 7, 128])
def test_shuffled_source_positions_are_a_seeded_permutation(count):
    ids = tiny.ids(1, count)
    made = [BatchEdits([tiny.edited(f"source-positions_shuffled-{seed}")]).positions("source", ids) for seed in range(6)]
    for positions, present in made:
        assert sorted(positions[0].tolist()) == list(range(count))
        assert present.tolist() == [[[1.0]]]
    again = BatchEdits([tiny.edited("source-positions_shuffled-3")]).positions("source", ids)[0]
    assert again.equal(made[3][0])
    assert count < 7 or len({tuple(positions[0].tolist()) for positions, _ in made}) == 6


def test_a_shuffle_of_another_process_is_the_same():
    ids = tiny.ids(1, 8)
    found = BatchEdits([tiny.edited("source-positions_shuffled-1")]).positions("source", ids)[0][0].tolist()
    assert found == [7, 3, 0, 5, 6, 1, 2, 4]
    assert shuffled_target(8, 1) == [12, 7, 1, 14, 4, 8, 13, 9]


@pytest.mark.parametrize("seed", [0, 1, 77])
def test_shuffled_target_positions_ignore_later_tokens(seed):
    whole = shuffled_target(128, seed)
    for first in range(0, 128, SHUFFLED_BLOCK):
        assert sorted(whole[first : first + SHUFFLED_BLOCK]) == list(range(first, first + SHUFFLED_BLOCK))
    assert whole != list(range(128))
    assert whole == shuffled_target(128, seed) != shuffled_target(128, seed + 1)
    for count in (1, 5, 16, 17, 40):
        assert shuffled_target(count, seed) == whole[:count]
    edits = BatchEdits([tiny.edited(f"target-positions_shuffled-{seed}")])
    for start in (0, 3, 15, 16, 31):
        assert edits.positions("target", tiny.ids(1, 4), start)[0].tolist() == [whole[start : start + 4]]


@POSITIONS
def test_edited_target_positions_stay_causal(positions):
    model, target = tiny.model(positions=positions), tiny.target_ids(1, 20)
    for edit in map(tiny.edited, (code for code in Positions.EXAMPLES if code.startswith("target"))):
        whole = tiny.logits(model, SOURCE[:1], target, edit)
        for length in (1, 4, 16, 18):
            close(tiny.logits(model, SOURCE[:1], target[:, :length], edit), whole[:, :length])


@POSITIONS
def test_padding_changes_nothing_at_real_positions(positions):
    model, padded = tiny.model(positions=positions), torch.cat((SOURCE, torch.full((2, 4), PAD)), dim=1)
    for code in (code for code in Positions.EXAMPLES if code.startswith("source")):
        close(encoded(model, padded, code)[:, :6], encoded(model, SOURCE, code))
        close(tiny.logits(model, padded, TARGET, tiny.edited(code)), tiny.logits(model, SOURCE, TARGET, tiny.edited(code)))


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
