"""The leak test compares a sentence in a padded batch, and its cached decoding, with one full pass."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from model.config import PAD
from model.decoding import fast, fast_layers
from model.edits.intervention import Intervention
from model.experiments.foreign_leaks import leak_test_callable
from model.experiments.leak_report import BATCH_PADS
from model.experiments.leaks import leak_test
from model.inference.request import Request
from model.network import context, masks
from tests.support import tiny

TEXT, TARGET = "The red fox takes a lamp.", "Lo varun roji."
FAMILIES = {
    "encoder-decoder": {},
    "encoder-only": {"family": "encoder-only", "decoder_layers": 0},
    "decoder-only": {"family": "decoder-only", "encoder_layers": 0},
}


def report(checkpoint, *codes, **values):
    target = TARGET if checkpoint.config.family == "encoder-decoder" else None
    return leak_test(checkpoint, Request(TEXT, target=target, intervention=tiny.edited(*codes), **values))


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
@pytest.mark.parametrize("family", FAMILIES)
def test_sound_models_have_no_differences(tokenizer, family, positions):
    found = report(tiny.checkpoint(tokenizer, positions=positions, **FAMILIES[family]))
    assert found.batch_leaks == found.cache_differences == ()
    lengths = {"encoder": len(found.source), "decoder": len(found.labels)}
    stacks = {stack: lengths[stack] for stack in lengths if lengths[stack]}
    assert found.batch_pads == tuple(BATCH_PADS if lengths[stack] else 0 for stack in lengths)
    assert {name: x.shape for name, x in found.shift_by_batch.items()} == {
        **{stack: (2, length) for stack, length in stacks.items()},
        "logits": (1, lengths["decoder"] or lengths["encoder"]),
    }
    assert list(found.shift_by_cache) == (["steps", "prefix"] if lengths["decoder"] else [])
    if lengths["decoder"]:
        prefix, steps = found.shift_by_cache["prefix"], found.shift_by_cache["steps"]
        assert steps.shape == (lengths["decoder"],) and np.isfinite(steps).all()
        assert np.isnan(prefix).tolist() == [step < len(prefix) // 2 for step in range(len(prefix))]
    assert found.no_cache == ""


def test_logits_of_a_classifier_are_compared(tokenizer, monkeypatch):
    checkpoint = tiny.classifier(tokenizer)
    found = report(checkpoint)
    assert found.shift_by_batch["logits"].shape == (1, 1) and found.batch_leaks == ()
    pooled = checkpoint.model.pooler.forward
    monkeypatch.setattr(checkpoint.model.pooler, "forward", lambda x, real: pooled(x, torch.ones_like(real)))
    assert report(checkpoint).batch_leaks == (("logits", 0, 0),)


@pytest.mark.parametrize(
    "code",
    [
        *("off_cross.1", "block_dec_3-1", "row_dec.1_3-uniform", "skip_dec.1.self", "window-2"),
        *("source-positions_shuffled-1", "target-positions_shuffled-1", "target-positions_shifted-9"),
        *("patch_enc.1_2", "patch_dec.1_2"),
    ],
)
def test_edits_change_neither_batch_nor_cache(tiny_checkpoint, code):
    found = report(tiny_checkpoint, code, extra_padding=2)
    assert found.batch_leaks == found.cache_differences == ()
    assert set(found.shift_by_cache) == {"steps", "prefix"}


def test_no_cache_is_measured_without_a_causal_mask(tokenizer, tiny_checkpoint):
    for found in (report(tiny_checkpoint, "causal-off"), report(tiny.checkpoint(tokenizer, causal=False))):
        assert found.shift_by_cache == {} and found.cache_differences == ()
        assert "decoding computes the full text again" in found.no_cache
        assert found.batch_leaks == ()


def test_batch_and_cache_can_be_left_out(tiny_checkpoint):
    found = leak_test(tiny_checkpoint, Request(TEXT, target=TARGET), batch_and_cache=False)
    assert found.shift_by_batch == found.shift_by_cache == {}
    assert (found.batch_pads, found.no_cache, found.batch_leaks) == ((0, 0), "", ())


def test_padding_mask_off_leaks_from_the_batch(tiny_checkpoint):
    found = report(tiny_checkpoint, "padding-off")
    assert {stack for stack, _, _ in found.batch_leaks} == {"encoder", "decoder", "logits"}


def test_target_padding_that_is_seen_is_found(tokenizer, monkeypatch):
    checkpoint = tiny.checkpoint(tokenizer, causal=False)
    original = masks.decoder_mask
    monkeypatch.setattr(masks, "decoder_mask", lambda config, ids, *rest: original(config, ids.clamp(min=1), *rest))
    found = report(checkpoint)
    assert found.padding_leaks == ()
    assert {stack for stack, _, _ in found.batch_leaks} == {"decoder", "logits"}
    assert {site.kind for site, _, _ in found.heads} == {"decoder"}


@pytest.mark.parametrize("row", [0, 2])
def test_a_mask_of_one_row_for_all_is_found(tiny_checkpoint, monkeypatch, row):
    original = masks.padding_mask
    monkeypatch.setattr(
        masks, "padding_mask", lambda ids: original(ids[min(row, len(ids) - 1)][None]).expand(len(ids), 1, 1, -1)
    )
    found = report(tiny_checkpoint)
    assert found.padding_leaks == ()
    assert ("encoder", 0, 0) in found.batch_leaks


def test_a_position_that_the_cache_shifts_is_found(tokenizer, monkeypatch):
    original = fast_layers.PreparedModel.embed
    monkeypatch.setattr(
        fast_layers.PreparedModel, "embed", lambda self, ids, place: original(self, ids, place + (place >= 3))
    )
    found = report(tiny.checkpoint(tokenizer))
    steps = range(3, len(found.labels))
    assert {step for way, step in found.cache_differences if way == "steps"} == {*steps}
    assert found.batch_leaks == ()


def test_a_cache_on_the_explicit_path_is_tested(tiny_checkpoint, monkeypatch):
    monkeypatch.setattr(fast, "can_decode", lambda model, edits: False)
    assert report(tiny_checkpoint).cache_differences == ()
    original = context.KeyValues.append

    def swapped(self, key, value, positions):
        key, value, positions = original(self, key, value, positions)
        return key, value.roll(1, dims=2), positions

    monkeypatch.setattr(context.KeyValues, "append", swapped)
    differences = report(tiny_checkpoint).cache_differences
    assert {way for way, _ in differences} == {"steps", "prefix"}


def foreign(checkpoint, broken: str = ""):
    """The model as three functions: alone, in a batch, and step by step."""

    def batched(sources, inputs):
        ids, read = torch.tensor(inputs), torch.tensor(sources)
        seen = masks.build(checkpoint.config, read, ids)
        if broken == "batch":
            seen = dataclasses.replace(seen, cross=torch.ones_like(seen.cross))
        return checkpoint.model(read, ids, seen)

    def alone(source, inputs):
        return batched(source[None], inputs[None])[0]

    def cached(source, inputs):
        kept = [PAD if broken == "cache" and place == 1 else token for place, token in enumerate(inputs)]
        return torch.stack([alone(source, np.array(kept[: end + 1]))[-1] for end in range(len(inputs))])

    return alone, batched, cached


IDS = {"source": [7, 9, 30, 2], "inputs": [1, 8, 40, 11], "vocabulary": 320, "pad": PAD}


@pytest.mark.parametrize("broken", ["", "batch", "cache"])
def test_functions_of_a_foreign_model_are_compared(tiny_checkpoint, broken):
    alone, batched, cached = foreign(tiny_checkpoint, broken)
    found = leak_test_callable(alone, batched=batched, cached=cached, **IDS)
    assert found.shift_by_batch["logits"].shape == (1, 4) and found.shift_by_cache["steps"].shape == (4,)
    assert {i for _, _, i in found.batch_leaks} == (set(range(4)) if broken == "batch" else set())
    assert {step for _, step in found.cache_differences} == ({1, 2, 3} if broken == "cache" else set())


def test_numbers_of_low_precision_have_a_larger_threshold(tiny_checkpoint):
    alone, _, _ = foreign(tiny_checkpoint)
    found = leak_test_callable(alone, cached=lambda *ids: alone(*ids).bfloat16(), **IDS)
    assert found.shift_by_cache["steps"].max() > found.threshold and found.cache_differences == ()


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        (
            {"batched": lambda *_: np.zeros((1, 3, 9))},
            r"logits of the batch of the model has the shape .*expected \(1, 4, 320",
        ),
        (
            {"cached": lambda *_: np.zeros((1, 4, 320))},
            r"logits of the cache of the model has the shape .*expected \(4, 320",
        ),
        ({"batched": lambda *_: None, "pad": None}, "batched model is given without pad"),
    ],
    ids=["batched", "cached", "pad"],
)
def test_wrong_functions_are_refused(tiny_checkpoint, functions, message):
    alone, _, _ = foreign(tiny_checkpoint)
    with pytest.raises(ValueError, match=message):
        leak_test_callable(alone, **(IDS | functions))


def test_a_report_prints_what_it_found(tiny_checkpoint):
    clean = str(leak_test(tiny_checkpoint, Request("The red fox takes a lamp.")))
    assert "Later tokens move 0 entries of earlier ones." in clean and "changes 0 steps" in clean
    leaking = str(leak_test(tiny_checkpoint, Request("The red fox.", intervention=Intervention(causal_mask=False))))
    assert "; first: " in leaking and "Heads with a weight on a forbidden position: decoder 1." in leaking
