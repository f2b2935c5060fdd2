"""Decoding under edits: with a cache and without, in batches and alone, greedily and with a beam."""

from __future__ import annotations

import pytest
import tiny
import torch

from model.config import END, START
from model.decoding import search as decoding
from model.edits.apply import Edits
from model.edits.intervention import BASELINE
from model.network import masks
from model.network.context import Pass

CACHED = [
    *(
        "block_dec_3-2",
        "block_dec.1.2_all-1",
        "block_dec.1_4-all",
        "block_cross.2_2-all",
        "block_cross.1.1_all-3",
        "block_enc_2-1",
    ),
    *("row_dec.1.1_3-1", "row_dec_4-uniform", "row_cross_2-3", "row_cross.1.2_3-uniform", "row_enc.2_2-uniform"),
    *("off_enc.1", "off_cross.1", "off_dec.2.1", "mean_dec.1.2", "mean_cross"),
    *("skip_enc.1.self", "skip_enc.2.ff", "skip_dec.1.self", "skip_dec.2.cross", "skip_dec.1.ff"),
    *("source-positions_off", "source-positions_shuffled-5", "source-positions_shifted-7"),
    *("target-positions_off", "target-positions_shuffled-5", "target-positions_shifted-7"),
    *("scaling-off", "window-2", "padding-off"),
]
EVERY = [*CACHED, "causal-off"]
POSITIONS = pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
SOURCE = tiny.padded([5], 6)


def rows(codes: list[str]) -> tuple[torch.Tensor, list]:
    """One source and each of the edits as a batch, the unedited row first."""
    return SOURCE.repeat(len(codes) + 1, 1), [BASELINE, *map(tiny.edited, codes)]


def same(one, two, codes: list[str]) -> None:
    for a, b, code in zip(one, two, ["baseline", *codes], strict=True):
        assert a.ids == b.ids, code
        assert a.log_probs == pytest.approx(b.log_probs, abs=1e-5), code


@POSITIONS
def test_greedy_with_a_cache_equals_greedy_without(positions):
    """Twenty steps: beyond the first block of shuffled target positions."""
    for seed in range(3):
        model = tiny.lively(seed, positions=positions)
        model.projection.weight[END] = 0  # nobody ends early
        source, edits = rows(CACHED)
        edits = Edits(edits, tiny.means(model.config))
        cached = decoding.greedy(model, source, edits, limit=20)
        same(cached, decoding.greedy(model, source, edits, limit=20, use_cache=False), CACHED)
        assert {len(h.ids) for h in cached} == {20}
        plain = cached[0].log_probs
        unmoved = {code for code, h in zip(CACHED, cached[1:], strict=True) if h.log_probs == pytest.approx(plain, abs=1e-4)}
        expected = {"source-positions_shifted-7", "target-positions_shifted-7"} if positions == "rotary" else set()
        assert unmoved == expected


@POSITIONS
def test_a_beam_with_a_cache_equals_a_beam_without(positions):
    model, changed = tiny.lively(1, positions=positions), 0
    source, edits = rows(CACHED)
    edits = Edits(edits, tiny.means(model.config))
    cached = decoding.beam(model, source, 3, 0.6, edits, limit=7)
    uncached = decoding.beam(model, source, 3, 0.6, edits, limit=7, use_cache=False)
    for one, two, code in zip(cached, uncached, ["baseline", *CACHED], strict=True):
        same(one, two, [code] * (len(one) - 1))
        changed += one[0].ids != cached[0][0].ids
    assert changed > 5


@POSITIONS
def test_a_batch_of_edits_equals_single_runs(positions):
    model = tiny.lively(2, positions=positions)
    source, edits = rows(EVERY)
    means = tiny.means(model.config)
    together = decoding.greedy(model, source, Edits(edits, means), limit=6)
    same(together, [decoding.greedy(model, SOURCE, Edits([edit], means), limit=6)[0] for edit in edits], EVERY)


def test_a_beam_of_each_row_has_the_edits_of_that_row():
    model, codes = tiny.lively(3), ["off_cross.1", "row_cross_1-2", "skip_dec.1.self", "mean_dec", "causal-off"]
    source, edits = rows(codes)
    means = tiny.means(model.config)
    together = decoding.beam(model, source, 3, 0.6, Edits(edits, means), limit=6)
    for paths, edit in zip(together, edits, strict=True):
        (alone,) = decoding.beam(model, SOURCE, 3, 0.6, Edits([edit], means), limit=6)
        same(paths, alone, [edit.describe()] * (len(alone) - 1))
    assert len({paths[0].ids for paths in together}) > 2


@pytest.mark.parametrize("code", EVERY)
def test_every_score_is_that_of_the_prefix_read_under_the_edit(code):
    model, edit = tiny.lively(1), tiny.edited(code)
    means = tiny.means(model.config)
    (found,) = decoding.greedy(model, SOURCE, Edits([edit], means), limit=6)
    for step, token in enumerate(found.ids):
        inputs = torch.tensor([[START, *found.ids[:step]]])
        seen = masks.build(model.config, SOURCE, inputs, [edit])
        log_probs = model(SOURCE, inputs, seen, Pass(Edits([edit], means)))[0, -1].float().log_softmax(-1)
        assert found.log_probs[step] == pytest.approx(float(log_probs[token]), abs=1e-5)


def test_some_rows_of_a_batch_keep_their_edits():
    edits = Edits([BASELINE, tiny.edited("off_enc.1"), tiny.edited("off_enc.2")], tiny.means(tiny.config()))
    assert [row.describe() for row in edits.select([2, 0, 2]).rows] == [
        "encoder, layer 2: off",
        "no edits",
        "encoder, layer 2: off",
    ]
    assert edits.select([1]).means is edits.means
    one = Edits([tiny.edited("off_enc.1")])
    assert one.select([0, 0, 0]) is one


def test_a_row_may_wait_for_a_later_token_where_the_causal_mask_is_off():
    """The first query is to look at the fourth token: until that is there it looks as it would; nothing is refused."""
    edit, free = tiny.edited("row_dec_1-4", "causal-off"), tiny.edited("causal-off")
    model = tiny.lively(1)
    model.projection.weight[END] = 0
    ((found,), (plain,)) = (decoding.greedy(model, SOURCE, [e], limit=8) for e in (edit, free))
    assert found.log_probs[:3] == plain.log_probs[:3]
    assert found.log_probs[3:] != plain.log_probs[3:]
