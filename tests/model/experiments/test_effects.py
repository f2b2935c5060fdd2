"""Batches of edits on one target: each row as it would be alone, beside the unedited row."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from model.decoding.strategy import Decoding
from model.edits.intervention import BASELINE, Intervention
from model.edits.kinds import Ablate, Place, Skip
from model.experiments import effects as module
from model.experiments.effects import ROWS, effects, head_effects, layer_skips
from model.inference.analyse import analyse
from model.inference.passes import teacher_force
from model.inference.request import Request
from tests.support import tiny

TEXT = "The red fox takes a lamp."
TARGET = "Lo varun roji prenda una lumel."
CODES = [
    *(
        "block_dec_3-2",
        "row_cross.1_2-uniform",
        "off_enc.1",
        "off_cross.2.1",
        "mean_dec.1",
        "skip_dec.2.ff",
        "skip_enc.1.self",
    ),
    *("source-positions_off", "target-positions_shuffled-3", "scaling-off", "window-2", "causal-off", "padding-off"),
]
EDITS = [tiny.edited(code) for code in CODES]


def alone(checkpoint, request: Request, edit: Intervention) -> tuple[np.ndarray, tuple[str, ...]]:
    """Log-probabilities of the target's tokens in a pass of their own."""
    plain = analyse(checkpoint, request).trace
    (trace,) = teacher_force(checkpoint, plain.source.ids, plain.outputs.ids, [edit])
    return trace.token_log_probs, trace.outputs.labels


def test_every_batch_has_the_unedited_row(tiny_checkpoint, monkeypatch):
    batches, real = [], module.target_log_probs

    def watched(checkpoint, source, target, edits):
        batches.append(list(edits))
        return real(checkpoint, source, target, edits)

    monkeypatch.setattr(module, "target_log_probs", watched)
    edits = [
        tiny.edited(f"block_cross.{layer}.{head}_{q}-{k}")
        for layer in (1, 2)
        for head in (1, 2)
        for q in (1, 2, 3)
        for k in (1, 2, 3, 4, 5)
    ]
    heard: list[float] = []
    request = Request(TEXT, target=TARGET)
    found = effects(tiny_checkpoint, request, edits, heard.append)
    assert [len(batch) for batch in batches] == [ROWS, ROWS, 60 - 2 * (ROWS - 1) + 1]
    assert all(batch[0] == BASELINE and BASELINE not in batch[1:] for batch in batches)
    assert [edit for batch in batches for edit in batch[1:]] == edits == [effect.intervention for effect in found]
    assert heard == sorted(heard)
    assert (len(heard), heard[0], heard[-1]) == (3, pytest.approx(0.4), 1.0)
    for number in (0, ROWS - 2, ROWS - 1, 59):
        after, _ = alone(tiny_checkpoint, request, edits[number])
        np.testing.assert_allclose(found[number].after, after, atol=1e-5)
    assert len({id(effect.before.base) for effect in found}) == 3


def test_the_requests_own_edits_do_not_matter(tiny_checkpoint):
    edited = Request(TEXT, target=TARGET, intervention=tiny.edited("off_cross"), mode="again")
    one, two = (effects(tiny_checkpoint, r, EDITS[:1])[0] for r in (edited, Request(TEXT, target=TARGET)))
    assert (one.before == two.before).all()
    assert (one.after == two.after).all()


VARIANTS = [
    {},
    {"heads": 4, "encoder_layers": 3, "decoder_layers": 1},
    {"norm_first": False, "norm": "rmsnorm", "activation": "swiglu"},
    {"positions": "rotary", "final_norm": False},
    {"positions": "learned", "window": 3, "causal": False},
    {"family": "encoder-only", "decoder_layers": 0, "encoder_layers": 3},
    {"family": "decoder-only", "encoder_layers": 0, "positions": "rotary"},
]


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_head_effects_equal_single_ablations(tokenizer, changes):
    checkpoint = tiny.checkpoint(tokenizer, dtype=torch.float64, **changes)
    asked = Request(TEXT, decoding=Decoding(limit=16), pad=2 if "encoder" in checkpoint.config.kinds else 0)
    found = head_effects(checkpoint, asked)
    single = effects(checkpoint, asked, [Intervention(edits=(each.edit,)) for each in found])
    assert [each.change for each in found] == pytest.approx([each.change for each in single], abs=1e-5, rel=1e-5)
    source, target = module.tokens_of(checkpoint, asked)
    rows, off = module.ablate_each_head(checkpoint, source, target)
    rows = rows[:, module.first_scored(checkpoint, asked) :]
    by_code = {Ablate(Place(*site, head)).code: row for (site, head), row in zip(off, rows[1:], strict=True)}
    for each in single:
        np.testing.assert_allclose(rows[0], each.before, atol=1e-6, rtol=1e-6)  # they are float32 in the end
        np.testing.assert_allclose(by_code[each.intervention.edits[0].code], each.after, atol=1e-6, rtol=1e-6)
    assert max(abs(each.change) for each in found) > 1e-3


def test_the_skips_of_layers_cover_every_sublayer_once(tokenizer):
    skips = layer_skips(tiny.checkpoint(tokenizer, encoder_layers=3, decoder_layers=1))
    assert list(skips) == ["encoder layer 1", "encoder layer 2", "encoder layer 3", "decoder layer 1"]
    every = [edit for skip in skips.values() for edit in skip.edits]
    expected = {Skip("encoder", n, part) for n in range(3) for part in ("self", "ff")}
    expected |= {Skip("decoder", 0, part) for part in ("self", "cross", "ff")}
    assert set(every) == expected
    assert len(every) == len(expected)
    assert {(e.stack, e.layer) for e in skips["encoder layer 2"].edits} == {("encoder", 1)}


def test_large_vocabulary_is_projected_in_parts(exact_checkpoint, monkeypatch):
    request, projected = Request(TEXT, target=TARGET), []
    whole = effects(exact_checkpoint, request, EDITS[:4]), head_effects(exact_checkpoint, request)
    monkeypatch.setattr("model.inference.passes.MAX_LOGITS", 1)
    monkeypatch.setattr("model.experiments.effects.MAX_LOGITS", 1)
    real = exact_checkpoint.model.project
    monkeypatch.setattr(type(exact_checkpoint.model), "project", lambda self, x: projected.append(len(x)) or real(x))
    parts = effects(exact_checkpoint, request, EDITS[:4]), head_effects(exact_checkpoint, request)
    assert set(projected[-len(whole[1]) :]) == {1}
    for one, other in zip(whole[0], parts[0], strict=True):
        np.testing.assert_allclose(one.after, other.after, atol=1e-6)
    np.testing.assert_allclose([each.change for each in whole[1]], [each.change for each in parts[1]], atol=1e-6)
