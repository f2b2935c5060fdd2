"""Analyses and their predictions: candidates, divergences, turned decisions, notes and limits."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest

from model.config import PAD
from model.decoding.hypotheses import first_difference
from model.decoding.strategy import Decoding
from model.edits.intervention import Intervention
from model.edits.kinds import BlockCells, Place
from model.experiments.effects import mask_effects
from model.inference import passes
from model.inference.analyse import analyse
from model.inference.predictions import (
    NEAR_TIE_RATIO,
    better_candidates,
    changed_words,
    is_near_tie,
    kl_divergence,
    near_ties,
    token_changes,
    top_token_changes,
    top_tokens,
)
from model.inference.request import PAD_WHEN_UNMASKED, Request, RequestError
from model.trace import Site
from tests.support import tiny
from tests.support.analyse_helpers import SHORT, TARGET, TEXT, UNCAUSAL, UNPADDED, assert_same_bits


def test_rare_words_are_told_with_their_number(tiny_checkpoint):
    words = {"the": 900, "fox": 5, "lamp": 4, "boat": 1}
    known = tiny.with_seen(tiny_checkpoint, words)
    found = analyse(known, Request("the lamp zq fox boat zq", target=TARGET, extra_padding=3))
    assert [(word.text, word.count) for word in found.rare_words] == [("lamp", 4), ("zq", 0), ("boat", 1), ("zq", 0)]
    text = known.source_tokenizer.segments(found.trace.source.ids)
    assert "".join(text[i] for i in found.rare_positions) == " lamp zq boat zq"
    assert "Rare in training: lamp (4 times), zq (never), boat (once)." in found.notes
    for quiet in (analyse(known, Request("the fox", target=TARGET)), analyse(tiny_checkpoint, Request("zq", target=TARGET))):
        assert quiet.rare_positions == quiet.rare_words == () and not any("Rare" in note for note in quiet.notes)


def test_the_dictionary_is_json(tiny_checkpoint):
    found = analyse(tiny_checkpoint, Request(TEXT, target=TARGET))
    values = json.loads(json.dumps(found.to_dict()))
    names = ("source", "translation", "finished", "notes")
    assert [values[name] for name in names] == [TEXT, TARGET, True, list(found.notes)]
    assert values["source_tokens"] == list(found.trace.source.labels)
    assert [t["token"] for t in values["tokens"]] == list(found.trace.outputs.labels)
    assert sum(t["log_prob"] for t in values["tokens"]) == pytest.approx(values["log_prob"], abs=1e-4)


EDITED = {"intervention": UNCAUSAL}


@pytest.mark.parametrize(("changes", "traces"), [({}, 1), (EDITED, 2), (EDITED | {"mode": "again"}, 3)], ids=str)
def test_too_large_an_analysis_is_refused_first(tiny_checkpoint, monkeypatch, changes, traces):
    request = Request(TEXT, decoding=SHORT, **changes)
    found = analyse(tiny_checkpoint, request)
    source, target = len(found.trace.source), len(found.trace.outputs)
    need = traces * passes.trace_bytes(tiny_checkpoint.config, source, target)
    assert 0.8 * need < found.nbytes < 1.2 * need
    assert analyse(tiny_checkpoint, request, max_bytes=need).translation == found.translation
    monkeypatch.setattr(passes, "_trace", lambda *_: pytest.fail("a trace was made"))
    with pytest.raises(RequestError, match=rf"{source} source and {target} target tokens would take .*; expected at most"):
        analyse(tiny_checkpoint, request, max_bytes=need // traces - 1)


def test_analyses_leave_the_model_as_it_was(tiny_checkpoint):
    before = {k: v.clone() for k, v in tiny_checkpoint.model.state_dict().items()}
    request = Request(TEXT, decoding=SHORT, mode="again", intervention=UNCAUSAL)
    first, second = analyse(tiny_checkpoint, request), analyse(tiny_checkpoint, request)
    assert_same_bits(first.trace, second.trace)
    assert all(v.equal(before[k]) for k, v in tiny_checkpoint.model.state_dict().items())
    assert not tiny_checkpoint.model.training


BEAM, SAMPLED = Decoding("beam", max_total_tokens=8, width=4), Decoding("sample", max_total_tokens=8, seed=7)


def how(checkpoint, decoding=SHORT, **more) -> str:
    return analyse(checkpoint, Request(TEXT, decoding=decoding, **more)).decoding_label


def test_how_names_the_strategy_or_the_given_target(tiny_checkpoint):
    assert [how(tiny_checkpoint, each) for each in (SHORT, BEAM, SAMPLED)] == ["greedy", "beam of 4", "sampled, seed 7"]
    for decoding in (SHORT, BEAM, SAMPLED):
        assert how(tiny_checkpoint, decoding, target=TARGET) == "given target"


def test_how_names_the_rank_in_the_beam(tiny_checkpoint):
    tree = analyse(tiny_checkpoint, Request(TEXT, decoding=BEAM)).tree
    ranks = [how(tiny_checkpoint, BEAM, path=h.ids) for h in tree]
    assert ranks == ["beam of 4", "beam of 4, number 2", "beam of 4, number 3", "beam of 4, number 4"]
    assert len(tree.pruned) > 2
    for lost in tree.pruned:
        found = analyse(tiny_checkpoint, Request(TEXT, decoding=BEAM, path=lost.ids))
        assert found.decoding_label == "beam of 4, given up"
        assert found.notes[0] == "This path was given up: the beam went on without it."
    assert how(tiny_checkpoint, BEAM, path=(9, 9, 9)) == "beam of 4"  # no such path: the best


def test_numbers_are_comparable_up_to_the_first_difference(tiny_checkpoint):
    parted = set()
    for text in ("The red fox takes a lamp.", "old king", "boat", "The old boat finds a fox."):
        again = analyse(tiny_checkpoint, Request(text, decoding=SHORT, mode="again", intervention=UNCAUSAL))
        own, other = again.trace, again.baseline.trace
        n = again.comparable_steps
        assert own.inputs.ids[:n] == other.inputs.ids[:n]
        assert own.outputs.ids[: n - 1] == other.outputs.ids[: n - 1]
        if own.outputs != other.outputs:
            assert own.outputs.ids[n - 1 : n] != other.outputs.ids[n - 1 : n]
            parted.add(n)
    assert parted


@pytest.mark.parametrize("mode", ["given", "again"])
@pytest.mark.parametrize("target", [None, TARGET])
def test_noop_edit_changes_nothing_without_a_causal_mask(tokenizer, mode, target):
    peeks = tiny.checkpoint(tokenizer, causal=False)
    nothing = Intervention(edits=(BlockCells(Place("decoder"), 90, 90),))
    found = analyse(peeks, Request(TEXT, target=target, decoding=SHORT, mode=mode, intervention=nothing))
    base = found.baseline
    if mode == "again":
        plain = analyse(peeks, Request(TEXT, decoding=SHORT))
        np.testing.assert_array_equal(found.trace.log_probs, plain.trace.log_probs)
    if target is None or mode == "given":
        assert base.trace.outputs.ids == found.trace.outputs.ids
        np.testing.assert_array_equal(base.trace.log_probs, found.trace.log_probs)


def test_former_mask_needs_equal_axes(tiny_checkpoint):
    site, short = Site("decoder", 0), Decoding(max_total_tokens=3)
    assert analyse(tiny_checkpoint, Request(TEXT, target=TARGET)).baseline_mask(site) is None
    given = analyse(tiny_checkpoint, Request(TEXT, target=TARGET, intervention=UNCAUSAL))
    former = given.baseline_mask(site)
    assert former is given.baseline.trace.masks[site]
    assert given.full_pass.masks[site].all() and not former.all()
    again = analyse(tiny_checkpoint, Request(TEXT, target=TARGET, mode="again", decoding=short, intervention=UNCAUSAL))
    assert len(again.full_pass.outputs) < len(again.baseline.trace.outputs)
    assert again.baseline_mask(site) is None
    assert again.baseline_mask(Site("encoder", 1)) is again.baseline.trace.masks[Site("encoder", 1)]


BATCH = {"other_sentences": ("The old king finds a blue boat and a red fox.",)}


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"target": TARGET},
        {"extra_padding": 2},
        {"target": TARGET, "extra_padding": 6},
        BATCH,
        BATCH | {"extra_padding": 1},
    ],
    ids=str,
)
def test_mask_effects_equal_an_analysis_of_each(tiny_checkpoint, values):
    request = Request(TEXT, decoding=SHORT, **values)
    effects = mask_effects(tiny_checkpoint, request)
    assert {name: e.intervention for name, e in effects.items()} == {"causal_mask": UNCAUSAL, "padding_mask": UNPADDED}
    plain = analyse(tiny_checkpoint, request)
    for effect in effects.values():
        assert effect.pad == (plain.trace.source.ids.count(PAD) or PAD_WHEN_UNMASKED)
        assert effect.added == (0 if PAD in plain.trace.source.ids else PAD_WHEN_UNMASKED)
        assert effect.labels == plain.trace.outputs.labels
        np.testing.assert_allclose(effect.before, plain.trace.token_log_probs, atol=1e-4)
        edited = analyse(tiny_checkpoint, dataclasses.replace(request, intervention=effect.intervention))
        assert effect is effects["causal_mask"] or edited.trace.source.ids.count(PAD) == effect.pad
        np.testing.assert_allclose(effect.after, edited.trace.token_log_probs, atol=1e-4)
        assert effect.change == pytest.approx(float(edited.hypothesis.score - plain.hypothesis.score), abs=1e-3)


def test_mask_effects_ignore_the_requested_edits(tiny_checkpoint):
    one = mask_effects(tiny_checkpoint, Request(TEXT, target=TARGET))
    two = mask_effects(tiny_checkpoint, Request(TEXT, target=TARGET, intervention=UNCAUSAL, mode="again"))
    assert one["causal_mask"].before is one["padding_mask"].before
    for name in one:
        assert (one[name].before == two[name].before).all() and (one[name].after == two[name].after).all()


@pytest.mark.parametrize("case", ["||None", "12|12|None", "12|13|1", "42|12|0", "12|123|2", "123|1|1", "|5|0"])
def test_first_difference(case):
    one, two, expected = case.split("|")
    assert str(first_difference(one, two)) == str(first_difference(two, one)) == expected


WORDS = "abc|abc|...|... abc|axc|.x.|.x. ab|aNb|..|.x. abc|c|xx.|. ab|cd|xx|xx |a||x aab|abab|...|.x.."


@pytest.mark.parametrize("case", WORDS.split(" "))
def test_changed_words(case):
    one, two, *expected = case.split("|")
    assert ["".join(".x"[m] for m in side) for side in changed_words(one, two)] == expected


def test_the_divergence_by_hand():
    half, quarter = np.log([[0.5, 0.5]]), np.log([[0.25, 0.75]])
    assert kl_divergence(half, quarter) == pytest.approx([0.5 * math.log(4 / 3)])  # 0.5 ln 2 + 0.5 ln(2/3)
    assert kl_divergence(quarter, half) == pytest.approx([0.25 * math.log(0.5) + 0.75 * math.log(1.5)])


def _drawn(seed: int, *shape: int) -> np.ndarray:
    """Log-probabilities as a model gives them: float32."""
    logits = np.random.default_rng(seed).normal(0, 4, shape)
    return (logits - np.log(np.exp(logits).sum(-1, keepdims=True))).astype(np.float32)


def test_divergence_is_zero_for_equal_rows_only():
    before, after = _drawn(0, 40, 300), _drawn(1, 40, 300)
    after[::2] = before[::2]
    found = kl_divergence(before, after)
    assert found.shape == (40,)
    np.testing.assert_array_equal(found[::2], 0)
    assert (found[1::2] > 0.1).all()
    nearly = np.nextafter(before, np.float32(0))  # sums of which rounding could make less than nothing
    assert (kl_divergence(before, nearly) >= 0).all() and (kl_divergence(nearly, before) >= 0).all()


def rows(*probabilities: list[float]) -> np.ndarray:
    return np.log(np.array(probabilities))


def test_a_turn_says_whether_it_only_tips_a_tie():
    before = rows([0.451, 0.445, 0.104], [0.1, 0.3, 0.6], [0.8, 0.1, 0.1])
    after = rows([0.42, 0.44, 0.14], [0.1, 0.2, 0.7], [0.2, 0.1, 0.7])
    tie, real = top_token_changes(before, after)
    assert (tie.step, tie.is_tie, real.step, real.is_tie) == (0, True, 2, False)
    piece = ("·il", "·elle", "·").__getitem__
    assert tie.describe(piece) == "il → elle, which was a near-tie: 0.45 against 0.45; now 0.42 against 0.44"
    assert real.describe(piece) == "il → ·: 0.80 against 0.10; now 0.20 against 0.70"


@pytest.mark.parametrize("code", ["off_cross", "causal-off", "off_enc.1"])
def test_turns_are_where_the_top_tokens_differ(tiny_checkpoint, code):
    asked = Request("The red fox takes a lamp.", decoding=Decoding(max_total_tokens=8), intervention=tiny.edited(code))
    given = analyse(tiny_checkpoint, asked)
    differs = given.baseline.trace.log_probs.argmax(1) != given.trace.log_probs.argmax(1)
    assert [each.step for each in token_changes(given)] == np.flatnonzero(differs).tolist()
    again = analyse(tiny_checkpoint, dataclasses.replace(asked, mode="again"))
    same = again.trace.outputs.ids == again.baseline.trace.outputs.ids
    assert len(token_changes(again)) == (not same)
    for each in token_changes(again):
        assert each.step == again.comparable_steps - 1
        ids = [analysis.trace.outputs.ids[each.step] for analysis in (again.baseline, again)]
        assert ids == [each.old_token, each.new_token]
        assert each.old_probabilities[0] == pytest.approx(float(again.baseline.trace.probabilities[each.step]), abs=1e-6)
        assert each.new_probabilities[1] == pytest.approx(float(again.trace.probabilities[each.step]), abs=1e-6)
    assert token_changes(analyse(tiny_checkpoint, Request(asked.source, decoding=asked.decoding))) == ()


@pytest.mark.parametrize("pad", [0, 2])
def test_turns_of_a_fill_in_model_exclude_its_ends(tokenizer, pad):
    checkpoint = tiny.checkpoint(tokenizer, family="encoder-only", decoder_layers=0, source_start=True)
    found = analyse(
        checkpoint, Request("The red fox takes a lamp.", extra_padding=pad, intervention=tiny.edited("off_enc.1"))
    )
    before, after = found.baseline.trace, found.trace
    own = [n for n, label in enumerate(before.source.labels) if label not in ("<s>", "</s>", "<pad>")]
    assert own == list(before.scorable_rows) == list(range(1, len(own) + 1)) and len(before.source) == len(own) + 2 + pad
    likeliest = [trace.log_probs.argmax(1) for trace in (before, after)]
    assert top_tokens(after) == tuple(likeliest[1][own].tolist())
    differs = likeliest[0] != likeliest[1]
    assert [each.step for each in token_changes(found)] == [n for n in own if differs[n]]
    assert differs.sum() > len(token_changes(found)) > 0  # an end turns too


def test_near_tie_is_less_than_a_factor_apart():
    assert is_near_tie(0.451, 0.445) and is_near_tie(0.0451, 0.0445)  # a factor, not a difference
    assert not is_near_tie(0.12, 0.12 / NEAR_TIE_RATIO - 1e-9) and is_near_tie(0.12 / NEAR_TIE_RATIO + 1e-9, 0.12)
    first, second = near_ties(rows([0.451, 0.445, 0.104], [0.1, 0.3, 0.6]))
    assert [c.id for c in first] == [0, 1] and second is None


def test_token_of_higher_probability_is_named():
    first, second = better_candidates(np.log([[0.1, 0.7, 0.2], [0.6, 0.3, 0.1]]), [1, 1])
    assert first is None and (second.id, second.probability) == (0, pytest.approx(0.6))


def test_results_print_short_and_names_are_listed(tiny_checkpoint):
    import model

    edit = Intervention().with_edit("off_enc.1.1")
    found = analyse(tiny_checkpoint, Request(" ".join(["the", "fox"] * 20), intervention=edit, mode="again"))
    assert len(repr(found)) < 5000 and "array(" not in repr(found)
    assert {*model.__all__} < {*dir(model)} and not any(name.startswith("_M") for name in dir(model))
