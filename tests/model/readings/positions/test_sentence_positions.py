"""Numbers of the schemes of positions, and positions on one sentence under edits."""

from __future__ import annotations

import dataclasses
import math
import re

import numpy as np
import pytest
import torch

from model import analyse
from model.decoding.strategy import Decoding
from model.edits.intervention import Intervention
from model.inference.predictions import token_changes
from model.inference.request import Request
from model.network.positions import rotary, sinusoidal, wavelengths
from model.readings.positions.position_numbers import moved_rows, orthogonal_map, scheme_numbers
from model.readings.positions.sentence_positions import (
    FAR,
    SIDES,
    learned_table,
    position_edits,
    sentence_positions,
    try_variants,
)
from tests.support import tiny

SENTENCE = "The fox sees the fox."


@pytest.fixture(scope="module")
def made(tokenizer):
    """A tiny checkpoint of each kind of positions."""
    return {
        kind: tiny.checkpoint(tokenizer, dtype=torch.float64, positions=kind) for kind in ("sinusoidal", "learned", "rotary")
    }


def cosine(x: np.ndarray) -> np.ndarray:
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    return unit @ unit.T


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("kind", ["sinusoidal", "learned"])
def test_similarities_are_those_of_the_embeddings(made, kind, side):
    checkpoint = made[kind]
    analysis = analyse(checkpoint, Request(SENTENCE, extra_padding=3))
    found = sentence_positions(checkpoint, analysis, side)
    axis = analysis.trace.source if side == "source" else analysis.trace.inputs
    ids = [i for i in axis.ids if i != 0]
    embedding = checkpoint.model.source_embedding
    tokens = embedding.table.weight.detach().numpy()[ids] * checkpoint.config.d_model**0.5
    places = torch.arange(len(ids))
    if kind == "sinusoidal":
        added = sinusoidal(places, checkpoint.config.d_model).numpy()
    else:
        added = learned_table(checkpoint, side)[: len(ids)]
    assert found.labels == tuple(label for label in axis.labels if label != "<pad>")
    np.testing.assert_allclose(found.alone, cosine(tokens), atol=1e-5)
    np.testing.assert_allclose(found.positions, cosine(added), atol=1e-5)
    np.testing.assert_allclose(found.both, cosine(tokens + added), atol=1e-5)
    lengths = np.linalg.norm(tokens, axis=1).mean(), np.linalg.norm(added, axis=1).mean()
    np.testing.assert_allclose(found.lengths, lengths, rtol=1e-5)
    assert found.scores_with is None and found.scores_without is None


def test_repeated_word_differs_by_its_position(made):
    checkpoint = made["sinusoidal"]
    found = sentence_positions(checkpoint, analyse(checkpoint, Request(SENTENCE)), "source")
    assert found.repeated
    for i, j in found.repeated:
        assert found.labels[i] == found.labels[j] and i < j
        assert found.alone[i, j] == pytest.approx(1, abs=1e-6)
        assert found.both[i, j] < 0.999


def test_rotary_positions_add_nothing_and_change_the_scores(made):
    checkpoint = made["rotary"]
    for side in SIDES:
        analysis = analyse(checkpoint, Request(SENTENCE))
        found = sentence_positions(checkpoint, analysis, side)
        assert found.positions is None and found.both is None
        assert found.lengths[1] == 0
        site = next(s for s in analysis.trace.scores if s.kind == ("encoder" if side == "source" else "decoder"))
        np.testing.assert_allclose(found.scores_with, analysis.trace.scores[site].mean(0), atol=1e-5)
        assert np.abs(found.scores_with - found.scores_without).max() > 1e-3
        for i, j in found.repeated:
            np.testing.assert_allclose(found.scores_without[i], found.scores_without[j], atol=1e-6)


@pytest.mark.parametrize(
    "decoding", [Decoding(max_total_tokens=8), Decoding("beam", max_total_tokens=8, width=2)], ids=["greedy", "beam"]
)
@pytest.mark.parametrize("kind", ["sinusoidal", "learned", "rotary"])
def test_variant_equals_the_analysis_of_its_edit(made, kind, decoding):
    checkpoint = made[kind]
    plain = Request(SENTENCE, decoding=decoding, branches=((9,),) if decoding.strategy == "greedy" else ())
    tried = try_variants(checkpoint, plain, analyse(checkpoint, plain), position_edits(3))
    assert len(tried) == len(position_edits(3))
    for edit, found in zip(position_edits(3), tried, strict=True):
        asked = dataclasses.replace(plain, intervention=Intervention(edits=(edit,)), mode="again")
        again, given = (analyse(checkpoint, dataclasses.replace(asked, mode=mode)) for mode in ("again", "given"))
        lost = given.trace.token_log_probs.sum() - given.baseline.trace.token_log_probs.sum()
        assert found.change == pytest.approx(float(lost), abs=1e-5)
        assert found.words == tuple(again.translation.split())
        assert len(found.changed) == len(found.words)
        assert found.same == (again.translation == again.baseline.translation)
        if found.same:
            assert not any(found.changed)
        parted = [each.describe(checkpoint.target_tokenizer.piece) for each in token_changes(again) if each.is_tie]
        assert found.near_tie == "".join(parted)


def test_variant_beyond_a_learned_table_is_refused(tokenizer):
    checkpoint = tiny.checkpoint(tokenizer, positions="learned", max_positions=190)
    request = Request(SENTENCE, decoding=Decoding(max_total_tokens=8))
    tried = try_variants(checkpoint, request, analyse(checkpoint, request), position_edits(3))
    for edit, found in zip(position_edits(3), tried, strict=True):
        assert isinstance(found, ValueError) == (edit.amount == FAR)
        if edit.amount == FAR:
            with pytest.raises(ValueError, match=re.escape(str(found))):
                analyse(checkpoint, dataclasses.replace(request, mode="again", intervention=Intervention(edits=(edit,))))


SIZES = pytest.mark.parametrize(
    ("count", "width", "base", "shift"), [(8, 2, 10_000.0, 1), (64, 256, 10_000.0, 1), (20, 16, 2.0, 128), (2, 6, 1e6, 0)]
)


DRAWN = pytest.mark.parametrize("scaled", [False, True])  # N(0, 1/D), or N(0, 1) beside scaled embeddings


def random_table(rows: int, width: int, seed: int = 0, scaled: bool = False) -> np.ndarray:
    """Rows as they are before training."""
    std = 1.0 if scaled else width**-0.5
    return np.random.default_rng(seed).normal(0, std, (rows, width)).astype(np.float32)


@SIZES
def test_sinusoidal_shift_is_a_rotation(count, width, base, shift):
    found = scheme_numbers("sinusoidal", count, width, base, shift)
    assert found.worst < 1e-6
    assert found.relative < 1e-6
    assert found.spread < 1e-6 * width
    distances = np.arange(count)[:, None] * (2 * math.pi / wavelengths(width, base))
    np.testing.assert_allclose(found.mean, np.cos(distances).sum(1), atol=1e-6 * width)
    np.testing.assert_array_equal(found.values, sinusoidal(torch.arange(count), width, base))
    assert found.values.shape == found.rotated.shape == found.reached.shape == (count, width)
    assert found.residual.shape == (count,)


@SIZES
def test_rotary_scores_know_the_distance_alone(count, width, base, shift):
    found = scheme_numbers("rotary", count, width, base, shift)
    assert found.worst < 1e-4 * math.sqrt(width)
    assert found.spread < 1e-4 * math.sqrt(width)
    np.testing.assert_allclose(found.rotated, found.reached, atol=1e-5)
    ones = torch.ones(1, 1, count, width)
    turned = rotary(ones, torch.arange(count), base)
    np.testing.assert_allclose(found.values, turned[0, 0], atol=1e-6)
    np.testing.assert_allclose(found.similarity, (turned @ turned.mT)[0, 0] / math.sqrt(width), atol=1e-4)


def test_the_best_map_of_a_table_that_turns_is_exact():
    table = sinusoidal(torch.arange(30), 8, 100.0).numpy().astype(np.float64)
    found = orthogonal_map(table[:-3], table[3:])
    np.testing.assert_allclose(found @ found.T, np.eye(8), atol=1e-10)
    np.testing.assert_allclose(table[:-3] @ found.T, table[3:], atol=1e-6)


@DRAWN
@pytest.mark.parametrize("seed", range(10))
def test_rows_that_training_moved_are_told_from_random_ones(seed, scaled):
    table = random_table(160, 128, seed, scaled)
    assert moved_rows(table) == 1
    longer, alike = table.copy(), table.copy()
    longer[:25] *= 2
    assert moved_rows(longer) == 25
    alike[20:25] = alike[20]
    assert moved_rows(alike) == 25
