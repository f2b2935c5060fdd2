"""Configurations and devices; models without a decoder or an encoder pass through all that an encoder-decoder does."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from model import device
from model.checkpoint import Checkpoint
from model.config import SCHEMES, ModelConfig, TrainConfig
from model.decoding.strategy import Decoding
from model.edits.kinds import EditError
from model.experiments.effects import head_effects, layer_skips
from model.inference.analyse import analyse
from model.inference.request import Request
from model.network.masks import build as build_masks
from model.readings.stages.layer_inputs import activations
from model.trace import Site
from tests.support import tiny

TEXT = "The red fox sees a lamp."
FAMILIES = {
    "encoder-only": {"family": "encoder-only", "decoder_layers": 0},
    "decoder-only": {"family": "decoder-only", "encoder_layers": 0},
}
KINDS = {"encoder-only": ("encoder",), "decoder-only": ("decoder",)}
EACH = pytest.mark.parametrize("family", FAMILIES)


@pytest.fixture
def lab(tokenizer, family) -> Checkpoint:
    return tiny.checkpoint(tokenizer, dtype=torch.float64, **FAMILIES[family])


@pytest.fixture
def alone(tokenizer):
    """A checkpoint of a family that is named in the test."""
    return lambda family, **more: tiny.checkpoint(tokenizer, dtype=torch.float64, **FAMILIES[family], **more)


@EACH
def test_analysis_has_the_sites_of_its_family(lab, family):
    found = analyse(lab, Request(TEXT, decoding=Decoding(max_total_tokens=16)))
    trace, (kind,) = found.trace, KINDS[family]
    assert trace.kinds == lab.config.kinds == KINDS[family]
    assert set(trace.patterns) == {Site(kind, 0), Site(kind, 1)} == set(tiny.sites(lab.config))
    for site in trace.patterns:
        assert trace.view(site, 0).values.shape == (len(trace.queries(site)), len(trace.keys(site)))
        np.testing.assert_allclose(trace.patterns[site].sum(-1), 1, atol=1e-6)
    assert np.exp(trace.log_probs).sum(-1) == pytest.approx(np.ones(len(trace.predicted_axis)), abs=1e-5)
    assert json.loads(json.dumps(found.to_dict()))["tokens"][0]["token"] == trace.predicted_axis.labels[0]
    assert found.notes == () or "limit" in found.notes[0]


def test_encoder_answers_without_decoding(alone):
    lab = alone("encoder-only")
    found = analyse(lab, Request(TEXT))
    assert (found.trace.inputs, found.trace.outputs, found.tree, found.hypothesis) == (None, None, None, None)
    assert (found.translation, found.decoding_label) == ("", "read, not decoded")
    source = torch.tensor([found.trace.source.ids])
    logits = lab.model(source, None, build_masks(lab.config, source, None))[0]
    np.testing.assert_allclose(found.trace.log_probs, logits.float().log_softmax(-1).numpy(), atol=1e-6)
    with pytest.raises(ValueError, match="this model has no target"):
        found.trace.axis("target")


@pytest.mark.parametrize("strategy", ["greedy", "beam", "sample"])
def test_cached_and_uncached_decoding_are_equal(alone, strategy):
    from model.decoding import search

    model = alone("decoder-only", positions="rotary").model
    ways = {
        "greedy": lambda cached: search.greedy(model, None, prefix=[5, 6], max_total_tokens=9, use_cache=cached),
        "beam": lambda cached: (
            search.beam(model, None, 3, prefix=[5, 6], max_total_tokens=9, use_cache=cached)[0].hypotheses
        ),
        "sample": lambda cached: search.sample(model, None, 3, prefix=[5, 6], max_total_tokens=9, use_cache=cached),
    }
    cached, whole = ways[strategy](True), ways[strategy](False)
    assert [h.ids for h in cached] == [h.ids for h in whole]
    np.testing.assert_allclose([h.score for h in cached], [h.score for h in whole], atol=1e-4)


@EACH
def test_an_ablation_is_recorded_beside_its_baseline(lab, family):
    (kind,) = KINDS[family]
    code = f"off_{'enc' if kind == 'encoder' else 'dec'}.1"
    request = Request(TEXT, decoding=Decoding(max_total_tokens=16), intervention=tiny.edited(code))
    found = analyse(lab, request)
    assert found.baseline is not None and np.abs(found.trace.log_probs - found.baseline.trace.log_probs).max() > 1e-3
    done = activations(lab, found)
    assert not done.records[Site(kind, 0)]["z"].any() and done.records[Site(kind, 1)]["z"].any()
    assert (done.memory is None) == (family == "decoder-only")
    effects = head_effects(lab, Request(TEXT, decoding=Decoding(max_total_tokens=16)))
    assert [effect.site for effect in effects] == [Site(kind, n) for n in (0, 0, 1, 1)]
    assert any(abs(effect.change) > 1e-4 for effect in effects)
    assert list(layer_skips(lab)) == [f"{kind} layer 1", f"{kind} layer 2"]


@EACH
@pytest.mark.parametrize("code", ["off_cross", "off_cross.1.1", "block_cross_1-1", "skip_dec.1.cross"])
def test_an_edit_of_a_site_that_is_not_there_is_refused(lab, family, code):
    with pytest.raises(EditError, match=r"; this checkpoint has none\. Remove it\.$"):
        analyse(lab, Request(TEXT, decoding=Decoding(max_total_tokens=16), intervention=tiny.edited(code)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epochs": 0}, "epochs is 0; expected more than 0"),
        ({"batch_tokens": -1}, "batch_tokens is -1"),
        ({"learning_rate": 0.0}, r"learning_rate is 0\.0"),
        ({"warmup": 0}, "warmup is 0"),
        ({"label_smoothing": 1.0}, r"label_smoothing is 1\.0; expected at least 0 and less than 1"),
        ({"schedule": "linear"}, "schedule is 'linear'; expected one of noam, cosine"),
        ({"precision": "float16"}, "precision is 'float16'; expected one of auto, float32, bfloat16"),
        ({"seed": 1.5}, r"seed is 1\.5; expected a whole number"),
        ({"save_minutes": 0}, "save_minutes is 0"),
        ({"d_model": 16, "heads": 3}, "d_model is 16; expected a multiple of heads, which is 3"),
        ({"d_model": 0}, "d_model is 0; expected more than 0"),
        ({"heads": -2}, "heads is -2; expected more than 0"),
        ({"encoder_layers": 0}, "encoder_layers is 0"),
        ({"decoder_layers": 0}, "decoder_layers is 0"),
        ({"d_ff": 0}, "d_ff is 0"),
        ({"max_positions": 0}, "max_positions is 0"),
        ({"norm_eps": 0.0}, r"norm_eps is 0\.0; expected more than 0"),
        ({"norm_eps": float("nan")}, "norm_eps is nan; expected more than 0"),
        ({"d_model": 16.0}, r"d_model is 16\.0; expected a whole number"),
        ({"heads": True}, "heads is True; expected a whole number"),
        ({"dropout": 1.0}, r"dropout is 1\.0; expected at least 0 and less than 1"),
        ({"attention_dropout": -0.1}, r"attention_dropout is -0\.1"),
        ({"dropout": "much"}, "dropout is 'much'; expected a number"),
        ({"norm_first": 1}, "norm_first is 1; expected true or false"),
        ({"positions": "no-such-scheme"}, f"positions is 'no-such-scheme'; expected one of {', '.join(SCHEMES)}"),
        ({"activation": "tanh"}, "activation is 'tanh'; expected one of relu, gelu, swiglu"),
        ({"norm": "batchnorm"}, "norm is 'batchnorm'; expected one of layernorm, rmsnorm"),
        ({"positions": "rotary", "d_model": 6, "heads": 2}, "even head dimension; d_model / heads is 3"),
        ({"positions": "sinusoidal", "d_model": 9, "heads": 3}, "even d_model; it is 9"),
        ({"target_vocab": 41}, "source_vocab is 40, target_vocab 41"),
        ({"window": 0}, "window is 0; expected None or a whole number of at least 1"),
        ({"window": 2.5}, r"window is 2\.5; expected None"),
        ({"window": True}, "window is True; expected None"),
    ],
)
def test_config_names_field_value_and_expectation(changes, message):
    make = TrainConfig if set(changes) <= set(TrainConfig.__dataclass_fields__) else tiny.config
    with pytest.raises(ValueError, match=message):
        make(**changes)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"source_vocab": 40, "target_vocab": 40, "colour": 1}, "unknown field 'colour'; expected only .*d_model"),
        ({"source_vocab": 40}, "the field 'target_vocab' is missing"),
        ([40, 40], "expected an object with the fields of ModelConfig, found list"),
        (None, "found NoneType"),
        ({"source_vocab": "40", "target_vocab": 40}, "source_vocab is '40'; expected a whole number"),
    ],
)
def test_from_dict_refuses(values, message):
    with pytest.raises(ValueError, match=message):
        ModelConfig.from_dict(values)


def test_the_processor_is_always_there_and_last():
    names = device.available_devices()
    assert names[-1] == "cpu"
    assert len(set(names)) == len(names)
    assert device.choose("cpu") == torch.device("cpu")
    assert device.choose() == device.choose("auto") == torch.device(names[0])


@pytest.mark.parametrize(("cards", "named"), [(1, ()), (2, ("cuda:0", "cuda:1"))])
def test_each_graphics_card_can_be_chosen(monkeypatch, cards, named):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: cards)
    assert device.choose("auto") == torch.device("cuda")
    assert device.available_devices()[:-1] == ("cuda", *named) + ("mps",) * torch.backends.mps.is_available()
    for number in range(cards):
        assert device.choose(f"cuda:{number}") == torch.device("cuda", number)
    with pytest.raises(ValueError, match=f"The device 'cuda:{cards}' is not available here; expected auto or one of cuda"):
        device.choose(f"cuda:{cards}")
    monkeypatch.setattr(device, "available_devices", lambda: ("cpu",))
    for name in ("cuda", "cuda:0", "tpu", ""):
        with pytest.raises(ValueError, match=f"The device '{name}' is not available here; expected auto or one of cpu"):
            device.choose(name)
