"""The leak test is silent on a sound model and names layer and position on a broken one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from model.config import PAD
from model.decoding.strategy import Decoding
from model.experiments.effects import target_padding
from model.experiments.foreign_leaks import ModelOutputs, leak_test_callable
from model.experiments.leak_report import MIN_SHIFT
from model.experiments.leaks import SUBSTITUTE_LENGTH, leak_test
from model.inference.analyse import analyse
from model.inference.request import PAD_WHEN_UNMASKED, Request
from model.network import masks
from model.network.context import Pass
from model.trace import Probe, Site
from tests.support import tiny

TEXT, TARGET = "The red fox takes a lamp.", "Lo varun roji."
SOUND = [
    *(
        {},
        {"positions": "learned"},
        {"positions": "rotary"},
        {"norm_first": False},
        {"norm": "rmsnorm", "final_norm": False},
    ),
    *({"window": 2}, {"activation": "swiglu", "joint_vocab": False}),
]


def report(checkpoint, *codes, **values):
    return leak_test(checkpoint, Request(TEXT, intervention=tiny.edited(*codes), **({"target": TARGET} | values)))


def earlier(report) -> set[tuple[int, int, int]]:
    """Every layer, changed position and earlier position that there are."""
    layers, steps, _ = report.shift_by_changed_token.shape
    return {(n, j, i) for n in range(layers) for j in range(steps) for i in range(j)}


@pytest.mark.parametrize("changes", SOUND, ids=str)
@pytest.mark.parametrize("pad", [0, 7])
def test_a_sound_model_does_not_leak(tokenizer, changes, pad):
    found = report(tiny.checkpoint(tokenizer, **changes), extra_padding=pad)
    assert found.leaks == found.padding_leaks == ()
    assert found.pads == (pad or PAD_WHEN_UNMASKED)
    for j in range(1, len(found.labels)):
        assert (found.shift_by_changed_token[:, j, j] > MIN_SHIFT).all()  # what was changed has changed
    assert not found.shift_by_changed_token[:, 0].any()


@pytest.mark.parametrize(
    "code",
    [
        *("off_cross.1", "block_dec_3-1", "row_dec.1_3-uniform", "skip_dec.1.self", "scaling-off", "window-2"),
        *("source-positions_off", "source-positions_shuffled-1", "source-positions_shifted-9"),
        *("target-positions_off", "target-positions_shuffled-1", "target-positions_shifted-9"),
    ],
)
def test_edits_that_are_no_masks_do_not_leak(tiny_checkpoint, code):
    found = report(tiny_checkpoint, code, extra_padding=3)
    assert found.leaks == found.padding_leaks == ()


def test_later_tokens_leak_without_the_causal_mask(tiny_checkpoint):
    found = report(tiny_checkpoint, "causal-off")
    assert set(found.leaks) == earlier(found) != set()
    assert found.padding_leaks == ()


def test_padding_leaks_everywhere_without_its_mask(tiny_checkpoint):
    found = report(tiny_checkpoint, "padding-off", extra_padding=2)
    expected = {("encoder", n, i) for n in range(2) for i in range(len(found.source))}
    expected |= {("decoder", n, i) for n in range(2) for i in range(len(found.labels))}
    assert set(found.padding_leaks) == expected
    assert found.leaks == ()


def test_padding_seen_by_one_token_is_located(tiny_checkpoint):
    tokens = len(tiny_checkpoint.source_tokenizer.encode(TEXT)) + 1
    pads = range(tokens + 1, tokens + 3)
    blocked = [f"block_enc.1_all-{k}" for k in pads] + [f"block_cross_all-{k}" for k in pads]
    blocked += [f"block_enc.2_{q}-{k}" for k in pads for q in range(1, tokens + 1) if q != 2]
    found = report(tiny_checkpoint, "padding-off", *blocked, extra_padding=2)
    assert {leak for leak in found.padding_leaks if leak[0] == "encoder"} == {("encoder", 1, 1)}
    assert {(n, i) for stack, n, i in found.padding_leaks if stack == "decoder"} == {
        (n, i) for n in range(2) for i in range(len(found.labels))
    }


def test_a_causal_mask_off_by_one_is_found(tiny_checkpoint, monkeypatch):
    monkeypatch.setattr(
        masks, "causal_mask", lambda queries, keys, device="cpu": masks._query_key_distances(queries, keys, device) >= -1
    )
    found = report(tiny_checkpoint)
    steps = range(1, len(found.labels))
    assert set(found.leaks) == {(n, j, j - back) for n in range(2) for j in steps for back in range(1, n + 2) if j >= back}


def test_short_translation_uses_made_up_tokens(tokenizer):
    made = tiny.checkpoint(tokenizer, causal=False)
    short, long = report(made, target="."), report(made)
    assert (short.has_substitute_target, long.has_substitute_target) == (True, False)
    assert len(short.labels) == SUBSTITUTE_LENGTH
    assert set(short.leaks) == earlier(short) != set()
    assert report(tiny.checkpoint(tokenizer), target=".").leaks == ()


@pytest.mark.parametrize(("layer", "head"), [(0, 1), (2, 3)])
def test_a_hole_in_one_head_is_named(tokenizer, monkeypatch, layer, head):
    checkpoint = tiny.checkpoint(tokenizer, decoder_layers=4, heads=4)
    attention = checkpoint.model.decoder[layer].self_attention
    whole = attention.forward

    def leaky(x, memory, mask, *rest):
        open_ = mask.repeat(1, 4, 1, 1)
        open_[:, head] = True
        return whole(x, memory, open_, *rest)

    monkeypatch.setattr(attention, "forward", leaky)
    found = report(checkpoint)
    assert {n for n, _, _ in found.leaks} == set(range(layer, 4))
    ((site, number, weight),) = found.heads
    assert (site, number) == (Site("decoder", layer), head) and 0 < weight <= 1


def outside(checkpoint, streams: bool, **edits):
    """The model as a function of numpy arrays, with or without what it has inside."""
    made = tiny.edits([tiny.edited(*edits.get("codes", ()))])

    def answer(source, inputs):
        probe, ids = Probe("full"), torch.tensor(inputs)[None]
        seen = masks.build(checkpoint.config, torch.tensor(source)[None], ids, made.rows)
        logits = checkpoint.model(torch.tensor(source)[None], ids, seen, Pass(made, probe))[0]
        inner = [probe.streams[layer.residuals[-1].place].after[0] for layer in checkpoint.model.decoder]
        patterns = [probe.records[Site("decoder", n)]["pattern"][0].numpy() for n in range(2)]
        return ModelOutputs(logits, inner, patterns) if streams else logits

    return answer


@pytest.mark.parametrize("streams", [True, False])
def test_any_callable_is_tested(tiny_checkpoint, streams):
    ids = {"source": [7, 9, 30, 2], "inputs": [1, 8, 40, 11], "vocabulary": 320, "pad": 0}
    sound = leak_test_callable(outside(tiny_checkpoint, streams), **ids)
    assert sound.leaks == sound.padding_leaks == sound.heads == ()
    broken = leak_test_callable(outside(tiny_checkpoint, streams, codes=("causal-off", "padding-off")), **ids)
    assert set(broken.leaks) == earlier(broken)
    assert broken.shift_by_changed_token.shape == (3 if streams else 1, 4, 4)
    assert len({(name, i) for name, _, i in broken.padding_leaks}) == 4
    assert len(broken.heads) == (4 if streams else 0)


@pytest.mark.parametrize("changes", [{}, {"family": "encoder-only", "decoder_layers": 0}], ids=str)
def test_a_checkpoint_with_dropout_on_is_refused(tokenizer, changes):
    checkpoint = tiny.checkpoint(tokenizer, dropout=0.1, **changes)
    checkpoint.model.train()
    with pytest.raises(ValueError, match=r"the model is not deterministic: .* call model\.eval\(\) first"):
        leak_test(checkpoint, Request(TEXT, target=None if changes else TARGET))
    checkpoint.model.eval()
    assert leak_test(checkpoint, Request(TEXT, target=None if changes else TARGET)).padding_leaks == ()


def test_a_leak_is_larger_than_the_noise_of_the_model():
    drawn = np.random.default_rng(0)

    def answer(source, inputs, leak=0.0):
        logits = np.eye(9)[np.array(inputs)] + leak * inputs[-1]
        return logits + drawn.uniform(-1e-4, 1e-4, logits.shape)

    ids = {"source": [3], "inputs": [1, 4, 5, 6], "vocabulary": 9}
    report = leak_test_callable(answer, **ids)
    assert report.noise > MIN_SHIFT and report.leaks == ()
    report = leak_test_callable(lambda *given: answer(*given, leak=0.1), **ids)
    assert {changed for _, changed, _ in report.leaks} == {3}


LONG = "The old king finds a blue boat and a red fox."


def found(checkpoint, *codes: str, **more):
    asked = {
        "target": "Lo.",
        "other_sentences": (LONG,),
        "decoding": Decoding(max_total_tokens=12),
        "intervention": tiny.edited(*codes),
    }
    analysis = analyse(checkpoint, Request("The fox.", **(asked | more)))
    return analysis, target_padding(checkpoint, analysis)


@pytest.mark.parametrize("codes", [(), ("padding-off",), ("causal-off",), ("causal-off", "padding-off")], ids=str)
def test_pads_follow_the_batch_and_the_mask(tiny_checkpoint, codes):
    analysis, padded = found(tiny_checkpoint, *codes)
    real = len(analysis.trace.outputs)
    assert padded.pads == max(analysis.other_lengths) - real > 0
    assert padded.trace.outputs.ids == (*analysis.trace.outputs.ids, *[PAD] * padded.pads)
    mask = padded.trace.masks[Site("decoder", 0)]
    assert mask[real:, real:].any() == ("padding-off" in codes)
    assert mask[:real, real:].any() == (len(codes) == 2)
    assert not padded.before.masks[Site("decoder", 0)][:, real:].any()
    if len(codes) < 2:  # where real tokens see no pad, the pads change nothing that is theirs
        np.testing.assert_allclose(padded.trace.token_log_probs[:real], analysis.trace.token_log_probs, atol=1e-5)
        np.testing.assert_allclose(
            padded.trace.patterns[Site("decoder", 1)][:, :real, :real],
            analysis.trace.patterns[Site("decoder", 1)],
            atol=1e-5,
        )
    assert (abs(padded.change) < 1e-4) == ("causal-off" not in codes)


def test_there_is_none_where_no_pass_has_any(tiny_checkpoint):
    assert found(tiny_checkpoint, other_sentences=())[1] is None
    assert found(tiny_checkpoint, "padding-off", mode="again")[1] is None
    analysis, padded = found(tiny_checkpoint, other_sentences=("The fox.",), target=None)
    assert analysis.target_padding == 0
    assert padded is None
