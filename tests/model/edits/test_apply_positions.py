"""Positions that are off, shuffled or shifted, for every position scheme."""

from __future__ import annotations

import pytest
import torch

from model.config import PAD, SCHEMES
from model.edits.apply import BatchEdits
from model.edits.kinds import SHUFFLED_BLOCK, Positions, shuffled_target
from model.network import masks
from model.network.context import Pass
from model.network.positions import NO_POSITIONS
from model.trace import Probe, Site
from tests.support import tiny

POSITIONS = pytest.mark.parametrize("positions", SCHEMES)
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


@pytest.mark.parametrize(
    ("code", "last"),
    [("source-positions_shifted-12", 17), ("target-positions_shifted-12", 16), ("source-positions_shifted-256", 261)],
)
def test_learned_positions_beyond_the_table_are_refused(code, last):
    model = tiny.model(positions="learned", max_positions=16)
    message = rf"^position {last} is asked for; this checkpoint has learned positions 0 to 15$"
    with pytest.raises(ValueError, match=message):
        tiny.logits(model, SOURCE, TARGET, tiny.edited(code))
    assert tiny.logits(model, SOURCE, TARGET, tiny.edited(code.split("_")[0] + "_shifted-10")).isfinite().all()


@POSITIONS
def test_padding_changes_nothing_at_real_positions(positions):
    model, padded = tiny.model(positions=positions), torch.cat((SOURCE, torch.full((2, 4), PAD)), dim=1)
    for code in (code for code in Positions.EXAMPLES if code.startswith("source")):
        close(encoded(model, padded, code)[:, :6], encoded(model, SOURCE, code))
        close(tiny.logits(model, padded, TARGET, tiny.edited(code)), tiny.logits(model, SOURCE, TARGET, tiny.edited(code)))
