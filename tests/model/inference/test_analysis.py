"""Notes, JSON and comparisons of an analysis."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from model.config import PAD
from model.decoding.strategy import Decoding
from model.edits.intervention import Intervention
from model.edits.kinds import BlockCells, Place
from model.experiments.effects import mask_effects
from model.inference import passes
from model.inference.analyse import analyse
from model.inference.request import PAD_WHEN_UNMASKED, Request, RequestError
from model.trace import Site
from tests.support import tiny
from tests.support.analyse_helpers import SHORT, TARGET, TEXT, UNCAUSAL, UNPADDED, assert_same_bits


def test_rare_words_are_told_with_their_number(tiny_checkpoint):
    words = {"the": 900, "fox": 5, "lamp": 4, "boat": 1}
    known = tiny.with_seen(tiny_checkpoint, words)
    found = analyse(known, Request("the lamp zq fox boat zq", target=TARGET, pad=3))
    assert [(word.text, word.count) for word in found.rare_words] == [("lamp", 4), ("zq", 0), ("boat", 1), ("zq", 0)]
    text = known.source_tokenizer.segments(found.trace.source.ids)
    assert "".join(text[i] for i in found.rare_positions) == " lamp zq boat zq"
    assert "Rare in training: lamp (4 times), zq (never), boat (once)." in found.notes
    for quiet in (analyse(known, Request("the fox", target=TARGET)), analyse(tiny_checkpoint, Request("zq", target=TARGET))):
        assert quiet.rare_positions == quiet.rare_words == () and not any("Rare" in note for note in quiet.notes)


def test_the_dictionary_is_json(tiny_checkpoint):
    found = analyse(tiny_checkpoint, Request(TEXT, target=TARGET))
    values = json.loads(json.dumps(found.to_dict()))
    assert values["source"] == TEXT
    assert values["translation"] == TARGET
    assert values["finished"] is True
    assert values["notes"] == list(found.notes)
    assert values["source_tokens"] == list(found.trace.source.labels)
    assert [t["token"] for t in values["tokens"]] == list(found.trace.outputs.labels)
    assert sum(t["log_prob"] for t in values["tokens"]) == pytest.approx(values["log_prob"], abs=1e-4)


@pytest.mark.parametrize(
    ("changes", "traces"),
    [({}, 1), ({"intervention": UNCAUSAL}, 2), ({"intervention": UNCAUSAL, "mode": "again"}, 3)],
    ids=["plain", "edited", "again"],
)
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


BEAM, SAMPLED = Decoding("beam", limit=8, width=4), Decoding("sample", limit=8, seed=7)


def how(checkpoint, decoding=SHORT, **more) -> str:
    return analyse(checkpoint, Request(TEXT, decoding=decoding, **more)).decoding_label


def test_how_names_the_strategy_or_the_given_target(tiny_checkpoint):
    assert how(tiny_checkpoint) == "greedy"
    assert how(tiny_checkpoint, BEAM) == "beam of 4"
    assert how(tiny_checkpoint, SAMPLED) == "sampled, seed 7"
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
    site, short = Site("decoder", 0), Decoding(limit=3)
    assert analyse(tiny_checkpoint, Request(TEXT, target=TARGET)).baseline_mask(site) is None
    given = analyse(tiny_checkpoint, Request(TEXT, target=TARGET, intervention=UNCAUSAL))
    former = given.baseline_mask(site)
    assert former is given.baseline.trace.masks[site]
    assert given.full_pass.masks[site].all()
    assert not former.all()
    again = analyse(tiny_checkpoint, Request(TEXT, target=TARGET, mode="again", decoding=short, intervention=UNCAUSAL))
    assert len(again.full_pass.outputs) < len(again.baseline.trace.outputs)
    assert again.baseline_mask(site) is None
    assert again.baseline_mask(Site("encoder", 1)) is again.baseline.trace.masks[Site("encoder", 1)]


BATCH = {"other_sentences": ("The old king finds a blue boat and a red fox.",)}


@pytest.mark.parametrize(
    "values", [{}, {"target": TARGET}, {"pad": 2}, {"target": TARGET, "pad": 6}, BATCH, BATCH | {"pad": 1}], ids=str
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
        fall = np.exp(effect.before) - np.exp(effect.after)
        least = float(np.sort(fall)[-3])
        assert effect.losses(least) == tuple(np.argsort(-fall)[:2])
        assert effect.losses(1.0) == ()


def test_mask_effects_ignore_the_requested_edits(tiny_checkpoint):
    one = mask_effects(tiny_checkpoint, Request(TEXT, target=TARGET))
    two = mask_effects(tiny_checkpoint, Request(TEXT, target=TARGET, intervention=UNCAUSAL, mode="again"))
    assert one["causal_mask"].before is one["padding_mask"].before
    for name in one:
        assert (one[name].before == two[name].before).all()
        assert (one[name].after == two[name].after).all()
