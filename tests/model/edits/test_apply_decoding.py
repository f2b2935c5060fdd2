"""Decoding under edits: with a cache and without, in batches and alone, greedily and with a beam."""

from __future__ import annotations

import pytest
import torch

from model.config import END, START
from model.decoding import search as decoding
from model.edits.apply import Edits
from model.edits.intervention import BASELINE
from model.network import masks
from model.network.context import Pass, given
from tests.support import tiny
from tests.support.edit_helpers import EXAMPLES

CACHED = [code for code in EXAMPLES if code != "causal-off"]
POSITIONS = pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
SOURCE = tiny.padded([5], 6)
MEANS = tiny.means(tiny.config())


def rows(codes: list[str]) -> tuple[torch.Tensor, Edits]:
    """One source and each of the edits as a batch, the unedited row first."""
    return SOURCE.repeat(len(codes) + 1, 1), tiny.edits([BASELINE, *map(tiny.edited, codes)], MEANS)


def same(one, two, codes: list[str]) -> None:
    for a, b, code in zip(one, two, ["baseline", *codes], strict=True):
        assert a.ids == b.ids, code
        assert a.log_probs == pytest.approx(b.log_probs, abs=1e-5), code


@POSITIONS
def test_greedy_with_a_cache_equals_greedy_without(positions):
    model = tiny.lively(positions=positions)
    model.projection.weight[END] = 0  # nobody ends early
    source, edits = rows(CACHED)
    cached = decoding.greedy(model, source, edits, limit=20)
    same(cached, decoding.greedy(model, source, edits, limit=20, use_cache=False), CACHED)
    assert {len(h.ids) for h in cached} == {20}
    plain = cached[0].log_probs
    unmoved = {code for code, h in zip(CACHED, cached[1:], strict=True) if h.log_probs == pytest.approx(plain, abs=1e-4)}
    assert unmoved == {code for code in CACHED if "shifted" in code and positions == "rotary"}


@POSITIONS
def test_a_beam_with_a_cache_equals_a_beam_without(positions):
    model = tiny.lively(1, positions=positions)
    source, edits = rows(CACHED)
    cached = decoding.beam(model, source, 3, 0.6, edits, limit=7)
    uncached = decoding.beam(model, source, 3, 0.6, edits, limit=7, use_cache=False)
    for one, two, code in zip(cached, uncached, ["baseline", *CACHED], strict=True):
        same(one, two, [code] * (len(one) - 1))
    assert sum(one[0].ids != cached[0][0].ids for one in cached) > 5


@POSITIONS
def test_a_batch_of_edits_equals_single_runs(positions):
    model = tiny.lively(2, positions=positions)
    source, edits = rows(list(EXAMPLES))
    together = decoding.greedy(model, source, edits, limit=6)
    same(
        together,
        [decoding.greedy(model, SOURCE, tiny.edits([edit], MEANS), limit=6)[0] for edit in edits.rows],
        list(EXAMPLES),
    )


def test_every_score_is_that_of_its_prefix():
    model = tiny.lively(1)
    source, edits = rows(list(EXAMPLES))
    for found, edit in zip(decoding.greedy(model, source, edits, limit=6), edits.rows, strict=True):
        for step, token in enumerate(found.ids):
            inputs = torch.tensor([[START, *found.ids[:step]]])
            seen = masks.build(model.config, SOURCE, inputs, [edit])
            made = tiny.edits([edit], MEANS)
            at = Pass(made, given=given(model, made, inputs, inputs.device))
            log_probs = model(SOURCE, inputs, seen, at)[0, -1].float().log_softmax(-1)
            assert found.log_probs[step] == pytest.approx(float(log_probs[token]), abs=1e-5), edit.describe()
