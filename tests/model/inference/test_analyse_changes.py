"""What an intervention changed: how far two answers can be compared, and what switching one mask off would do."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from model.config import PAD
from model.decoding.strategy import Decoding
from model.edits.intervention import BASELINE, Intervention
from model.edits.kinds import Block, Place
from model.experiments.effects import mask_effects
from model.inference.analyse import analyse
from model.inference.request import PAD_WHEN_UNMASKED, Request
from model.trace import Site
from tests.support import tiny

TEXT = "The red fox takes a lamp."
TARGET = "Lo varun roji prenda una lumel."
SHORT = Decoding(limit=8)
UNCAUSAL, UNPADDED = Intervention(causal_mask=False), Intervention(padding_mask=False)


def test_numbers_are_comparable_up_to_the_first_difference(tiny_checkpoint):
    parted = set()
    for text in ("The red fox takes a lamp.", "old king", "boat", "The old boat finds a fox."):
        again = analyse(tiny_checkpoint, Request(text, decoding=SHORT, mode="again", intervention=UNCAUSAL))
        own, other = again.trace, again.baseline.trace
        n = again.comparable
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
    nothing = Intervention(edits=(Block(Place("decoder"), 90, 90),))
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
    assert analyse(tiny_checkpoint, Request(TEXT, target=TARGET)).former_mask(site) is None
    given = analyse(tiny_checkpoint, Request(TEXT, target=TARGET, intervention=UNCAUSAL))
    former = given.former_mask(site)
    assert former is given.baseline.trace.masks[site]
    assert given.whole.masks[site].all()
    assert not former.all()
    again = analyse(tiny_checkpoint, Request(TEXT, target=TARGET, mode="again", decoding=short, intervention=UNCAUSAL))
    assert len(again.whole.outputs) < len(again.baseline.trace.outputs)
    assert again.former_mask(site) is None
    assert again.former_mask(Site("encoder", 1)) is again.baseline.trace.masks[Site("encoder", 1)]


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


def test_a_batch_pads_its_own_rows_and_no_more(tiny_checkpoint):
    short, long = TEXT, BATCH["other_sentences"][0]
    for off in (False, True):
        edit = UNPADDED if off else BASELINE
        one = analyse(tiny_checkpoint, Request(short, other_sentences=(long,), decoding=SHORT, intervention=edit))
        two = analyse(tiny_checkpoint, Request(long, other_sentences=(short,), decoding=SHORT, intervention=edit))
        assert one.batch_padding == one.trace.source.ids.count(PAD) > 0 == two.batch_padding
        assert two.trace.source.ids.count(PAD) == (PAD_WHEN_UNMASKED if off else 0)
