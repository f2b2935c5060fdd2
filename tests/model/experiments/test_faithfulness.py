"""Readings of the source are tested: words are taken away, the target is scored, orders are compared with chance."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch

from model.__main__ import main
from model.checkpoint import load, save
from model.config import PAD
from model.decoding.strategy import Decoding
from model.edits.intervention import Intervention
from model.experiments import faithfulness
from model.experiments.faithfulness import NEAR, Curves, Occlusion, curves_of, removal_counts
from model.inference.analyse import analyse
from model.inference.request import Request
from model.inference.source_reading import blank_positions, filled_ids
from model.readings.logits.direct_logits import blank_logits
from model.readings.tokens.token_attribution import gradient_times_input
from model.readings.tokens.word_readings import READINGS, Words
from model.text.tokenizer import Tokenizer
from model.trace import Site
from tests.support import tiny

TEXT, TARGET = "The red fox takes a lamp.", "Lo varun roji."
SHORT = Decoding(max_total_tokens=6)
ASKED = [{"target": TARGET}, {"extra_padding": 3}, {"intervention": tiny.edited("off_cross.1.1")}]
ASKED += [{"intervention": Intervention(causal_mask=False), "mode": mode} for mode in ("given", "again")]


def likeliest_other(analysis, step: int) -> int:
    row = analysis.trace.log_probs[step].copy()
    row[analysis.trace.outputs.ids[step]] = -np.inf
    return int(row.argmax())


@pytest.mark.parametrize("asked", ASKED, ids=str)
@pytest.mark.parametrize("changes", [{}, {"causal": False}], ids=str)
def test_full_source_gives_the_shown_probability(tokenizer, asked, changes):
    checkpoint = tiny.checkpoint(tokenizer, **changes)
    analysis = analyse(checkpoint, Request(TEXT, decoding=SHORT, **asked))
    away, steps = Occlusion(checkpoint, analysis), range(len(analysis.trace.outputs))
    away.compute({step: [frozenset()] for step in steps})
    found = [away[frozenset(), step] for step in steps]
    np.testing.assert_allclose(found, analysis.trace.token_log_probs, atol=1e-5)


def test_occluded_words_act_as_padding(exact_checkpoint):
    analysis = analyse(exact_checkpoint, Request(TEXT, target="Lo varun."))
    away = Occlusion(exact_checkpoint, analysis)
    last = len(away.words) - 1
    away.compute({1: [frozenset([last])]})
    ids, places = list(analysis.trace.source.ids), away.words.places[last]
    for place in places:
        ids[place] = 5  # another word there changes nothing: nobody looks
    other = torch.tensor([ids]), torch.tensor([list(analysis.trace.outputs.ids)])
    gone = other[0].clone()
    gone[0, list(places)] = PAD
    from model.network.context import teacher_forced_states

    hidden = teacher_forced_states(exact_checkpoint.model, *other, mask_source=gone)[0, 1]
    row = exact_checkpoint.model.project(hidden).log_softmax(-1)
    assert away[frozenset([last]), 1] == pytest.approx(float(row[analysis.trace.outputs.ids[1]]), abs=1e-6)


@pytest.mark.parametrize("changes", [{}, {"norm_first": False}, {"positions": "rotary"}, {"positions": "learned"}], ids=str)
def test_gradient_times_input_is_the_slope(tokenizer, changes):
    checkpoint = tiny.checkpoint(tokenizer, dtype=torch.float64, joint_vocab=False, **changes)
    analysis = analyse(checkpoint, Request(TEXT, target=TARGET))
    steps, table = [0, 2], checkpoint.model.source_embedding.table.weight
    found = gradient_times_input(checkpoint, analysis, steps)
    assert all(p.grad is None and not p.requires_grad for p in checkpoint.model.parameters())
    at = next(i for i, token in enumerate(analysis.trace.source.ids) if analysis.trace.source.ids.count(token) == 1)
    token, before = analysis.trace.source.ids[at], []
    for factor in (1 + 1e-5, 1 - 1e-5):  # the embedding of a token that stands there once, longer and shorter
        kept = table[token].clone()
        table[token] *= factor
        away = Occlusion(checkpoint, analysis)
        away.compute({step: [frozenset()] for step in steps})
        before.append([away[frozenset(), step] for step in steps])
        table[token] = kept
    slope = (np.array(before[0]) - before[1]) / 2e-5
    np.testing.assert_allclose(found[:, at], slope, atol=1e-6)


@pytest.mark.parametrize("scope", ["step", "whole"])
def test_curves_of_all_readings_share_their_ends(exact_checkpoint, scope):
    analysis = analyse(exact_checkpoint, Request(TEXT, target=TARGET))
    found = faithfulness.faithfulness_test(exact_checkpoint, analysis, 2, likeliest_other(analysis, 2), scope)
    assert list(found.curves) == list(found.importance) == list(READINGS)
    total = analysis.trace.token_log_probs[2] if scope == "step" else analysis.trace.token_log_probs.sum()
    for curves in (*found.curves.values(), *found.random):
        assert curves.first[0] == curves.last[0] == pytest.approx(total, abs=1e-5)
        assert curves.first[-1] == curves.last[-1]
    assert found.random_shares.mean() == pytest.approx(0, abs=1e-12)
    assert np.isclose(found.shares[found.best], max(found.shares.values()))
    alone = found.curves["occlusion"].first[0] - found.curves["occlusion"].first[1]
    assert found.importance["occlusion"].max() == pytest.approx(alone, abs=1e-9)


def test_an_order_by_hand():

    class Known(dict):
        def __missing__(self, asked):
            return -6.0 if 1 in asked[0] else 0.0

    grid = removal_counts(3)
    right, wrong = curves_of(Known(), (1, 0, 2), grid, [0]), curves_of(Known(), (2, 0, 1), grid, [0])
    assert right.first.tolist() == [0, -6, -6, -6] and right.last.tolist() == [0, 0, 0, -6]
    assert right.area(grid) == pytest.approx(4) and wrong.area(grid) == pytest.approx(-4)
    none = Words(("a", "b", "c"), ((0,), (1,), (2,)))
    made = faithfulness.FaithfulnessResult(none, grid, {}, {"sum": wrong, "weights": right}, (wrong,))
    assert (made.total_effect, made.best, made.close_to_best, made.random_as_good) == (6, "weights", (), 1)
    near = Curves(right.first, right.last - [0, NEAR / 2, 0, 0])
    assert faithfulness.FaithfulnessResult(none, grid, {}, {"sum": near, "weights": right}, (wrong,)).close_to_best == (
        "sum",
    )


@pytest.fixture(scope="module")
def reported(trained, pair_files, tmp_path_factory):
    """A checkpoint's folder with the report of two sentences in it."""
    folder = tmp_path_factory.mktemp("reported") / "learned"
    shutil.copytree(trained / "checkpoint", folder)
    assert main(["report", "faithfulness", "--checkpoint", str(folder), "--data", str(pair_files[1]), "--limit", "2"]) == 0
    return folder


def test_report_is_stored_and_dropped_with_new_weights(reported, saved, tiny_checkpoint):
    trust = load(str(reported)).faithfulness
    assert trust.to_dict() == json.loads((reported / "faithfulness.json").read_text(encoding="utf-8"))
    assert (trust.sentences, trust.seed) == (2, 1) and list(trust.shares["step"]) == [*READINGS, "random"]
    for scope, shares in trust.shares.items():
        leader = trust.leaders[scope]
        assert shares[leader].behind == shares[leader].behind_low == 0 and not READINGS[leader].removes_words
        assert all(share.low <= share.share <= share.high for share in shares.values())
        assert shares["sum"].behind == pytest.approx(shares[leader].share - shares["sum"].share, abs=2e-5)
    shutil.copy(reported / "faithfulness.json", saved)
    save(tiny_checkpoint, saved)
    assert load(str(saved)).faithfulness is None


FILLS = {"family": "encoder-only", "decoder_layers": 0, "source_start": True, "segments": 2, "output_transform": True}


@pytest.mark.parametrize("scope", ["step", "whole"])
def test_of_blanks_every_reading_is_tested_too(scope):
    made = tiny.checkpoint(Tokenizer.train(tiny.SENTENCES, 400, blanks=True), dtype=torch.float64, **FILLS)
    analysis = analyse(made, Request("The red ___ sees a ___."))
    places = blank_positions(analysis, made)
    ids, steps = filled_ids(analysis, places, made.source_tokenizer.mask), places[:1] if scope == "step" else places
    found = faithfulness.faithfulness_test(made, analysis, places[0], 17, scope)
    assert list(found.curves) == list(READINGS) and found.kind == "encoder" and len(found.words) == 5
    total = sum(analysis.trace.log_probs[place][ids[place]] for place in steps)
    for curves in (*found.curves.values(), *found.random):
        assert curves.first[0] == curves.last[0] == pytest.approx(total, abs=1e-5)
        assert curves.first[-1] == curves.last[-1]
    alone = found.curves["occlusion"].first[0] - found.curves["occlusion"].first[1]
    assert found.importance["occlusion"].max() == pytest.approx(alone, abs=1e-9)
    if scope == "step":
        split = blank_logits(made, analysis, places[0], ids[places[0]], 17).by_kind["encoder"]
        np.testing.assert_allclose(found.importance["sum"], found.words.sums(split), atol=1e-9)
        weights = analysis.trace.patterns[Site("encoder", 1)].mean(0)[places[0]]
        np.testing.assert_allclose(found.importance["last"], found.words.sums(weights), atol=1e-6)
