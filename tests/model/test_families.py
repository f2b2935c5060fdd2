"""Encoder-only and decoder-only models go through everything that an encoder-decoder goes through."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from model import checkpoint as checkpoints
from model.checkpoint import Checkpoint
from model.config import END, PAD, START, ModelConfig
from model.decoding.strategy import STRATEGIES, Decoding
from model.edits.kinds import EditError
from model.experiments.effects import head_effects, layer_skips
from model.experiments.leaks import leak_test
from model.inference.analyse import analyse
from model.inference.request import Request, RequestError
from model.network.context import Cache, Pass, forced
from model.network.masks import build as build_masks
from model.network.transformer import EncoderDecoder, build
from model.readings.activations import activations
from model.readings.head_metrics import head_metrics, telling
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
def test_an_analysis_holds_the_sites_that_there_are_and_no_others(lab, family):
    found = analyse(lab, Request(TEXT, decoding=Decoding(limit=16)))
    trace, (kind,) = found.trace, KINDS[family]
    assert trace.kinds == lab.config.kinds == KINDS[family]
    assert set(trace.patterns) == {Site(kind, 0), Site(kind, 1)} == set(tiny.sites(lab.config))
    for site in trace.patterns:
        assert trace.view(site, 0).values.shape == (len(trace.queries(site)), len(trace.keys(site)))
        np.testing.assert_allclose(trace.patterns[site].sum(-1), 1, atol=1e-6)
    assert np.exp(trace.log_probs).sum(-1) == pytest.approx(np.ones(len(trace.predicted)), abs=1e-5)
    assert json.loads(json.dumps(found.to_dict()))["tokens"][0]["token"] == trace.predicted.labels[0]
    assert found.notes == () or "limit" in found.notes[0]


def test_an_encoder_says_what_stands_at_each_place_and_decodes_nothing(alone):
    lab = alone("encoder-only")
    found = analyse(lab, Request(TEXT))
    assert (found.trace.inputs, found.trace.outputs, found.tree, found.hypothesis) == (None, None, None, None)
    assert (found.translation, found.how) == ("", "read, not decoded")
    source = torch.tensor([found.trace.source.ids])
    logits = lab.model(source, None, build_masks(lab.config, source, None))[0]
    np.testing.assert_allclose(found.trace.log_probs, logits.float().log_softmax(-1).numpy(), atol=1e-6)
    with pytest.raises(ValueError, match="this model has no target"):
        found.trace.axis("target")


def test_a_decoder_goes_on_with_the_text(alone):
    lab = alone("decoder-only")
    found = analyse(lab, Request(TEXT, decoding=Decoding(limit=16)))
    prompt = tuple(lab.target_tokenizer.encode(TEXT))
    assert found.trace.source is None
    assert found.trace.outputs.ids[: len(prompt)] == prompt and found.translation.startswith(TEXT)
    assert found.trace.inputs.ids[0] == START
    given = analyse(lab, Request(TEXT, target=" Lo varun."))
    assert given.trace.outputs.ids == (*prompt, *lab.target_tokenizer.encode("Lo varun."), END)
    for refused in ({"pad": 2}, {"other_sentences": ("The lamp.",)}):
        with pytest.raises(RequestError, match="This model has no encoder: it goes on with one text, which is not padded"):
            analyse(lab, Request(TEXT, **refused))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_decoder_decodes_the_same_with_a_cache_and_without(alone, strategy):
    from model.decoding import search

    model = alone("decoder-only", positions="rotary").model
    ways = {
        "greedy": lambda cached: search.greedy(model, None, prefix=[5, 6], limit=9, use_cache=cached),
        "beam": lambda cached: search.beam(model, None, 3, prefix=[5, 6], limit=9, use_cache=cached)[0].hypotheses,
        "sample": lambda cached: search.sample(model, None, 3, prefix=[5, 6], limit=9, use_cache=cached),
    }
    cached, whole = ways[strategy](True), ways[strategy](False)
    assert [h.ids for h in cached] == [h.ids for h in whole]
    np.testing.assert_allclose([h.score for h in cached], [h.score for h in whole], atol=1e-4)


@EACH
def test_an_ablation_is_recorded_beside_its_baseline(lab, family):
    (kind,) = KINDS[family]
    code = f"off_{'enc' if kind == 'encoder' else 'dec'}.1"
    request = Request(TEXT, decoding=Decoding(limit=16), intervention=tiny.edited(code))
    found = analyse(lab, request)
    assert found.baseline is not None and np.abs(found.trace.log_probs - found.baseline.trace.log_probs).max() > 1e-3
    done = activations(lab, found)
    assert not done.records[Site(kind, 0)]["z"].any() and done.records[Site(kind, 1)]["z"].any()
    assert (done.memory is None) == (family == "decoder-only")
    effects = head_effects(lab, Request(TEXT, decoding=Decoding(limit=16)))
    assert [effect.site for effect in effects] == [Site(kind, n) for n in (0, 0, 1, 1)]
    assert any(abs(effect.change) > 1e-4 for effect in effects)
    assert list(layer_skips(lab)) == [f"{kind} layer 1", f"{kind} layer 2"]


@EACH
@pytest.mark.parametrize("code", ["off_cross", "off_cross.1.1", "block_cross_1-1", "skip_dec.1.cross"])
def test_an_edit_of_a_site_that_is_not_there_is_refused(lab, family, code):
    with pytest.raises(EditError, match=r"; this checkpoint has none\. Remove it\.$"):
        analyse(lab, Request(TEXT, decoding=Decoding(limit=16), intervention=tiny.edited(code)))


@EACH
def test_head_metrics_read_its_heads(lab, family):
    trace = analyse(lab, Request(TEXT, decoding=Decoding(limit=16))).trace
    for site in trace.patterns:
        found = head_metrics(trace.patterns[site], trace.keys(site))
        assert all(len(values) == lab.config.heads for values in found.values())
        keys, told = trace.keys(site), telling(trace.masks[site], trace.keys(site), True)
        assert {"entropy", "largest", "distance", "previous", "same"} <= set(told)
        assert all(np.isfinite(found[name]).all() for name in told)
        assert all(np.isnan(found[name]).all() for name, token in (("start", "<s>"), ("end", "</s>")) if token not in keys)


def test_the_leak_test_of_a_decoder_finds_a_missing_mask(alone):
    lab, plain = alone("decoder-only"), Request(TEXT, decoding=Decoding(limit=16))
    report = leak_test(lab, plain)
    assert (report.leaks, report.padding_leaks, report.pads, report.source) == ((), (), 0, ())
    assert report.later.shape[0] == 2 and (report.later > 0).any()
    peeking = leak_test(lab, Request(TEXT, decoding=Decoding(limit=16), intervention=tiny.edited("causal-off")))
    assert peeking.leaks


def test_the_leak_test_of_an_encoder_finds_seen_padding(alone):
    lab = alone("encoder-only")
    report = leak_test(lab, Request(TEXT))
    assert (report.leaks, report.padding_leaks, report.labels) == ((), (), ())
    assert leak_test(lab, Request(TEXT, intervention=tiny.edited("padding-off"))).padding_leaks


@EACH
def test_padding_changes_nothing_at_real_positions(lab, family):
    """The batch is padded by the training's own recipe."""
    model, ids = lab.model, tiny.ids(1, 5, seed=3)
    longer = torch.cat((ids, torch.full((1, 3), PAD)), dim=1)
    short, long = (forced(model, *((x, None) if family == "encoder-only" else (None, x)))[:, :5] for x in (ids, longer))
    torch.testing.assert_close(short, long, atol=1e-10, rtol=0)


@EACH
def test_its_checkpoint_is_saved_and_loaded(lab, family, tmp_path):
    checkpoints.save(lab, tmp_path / family)
    loaded = checkpoints.load(str(tmp_path / family), "cpu")
    assert loaded.config == lab.config
    names = {key for key, _ in loaded.model.named_parameters()}
    assert not any(key.startswith("decoder" if family == "encoder-only" else "encoder") for key in names)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"family": "encoder-only"}, "decoder_layers is 4; expected 0, for a model that is encoder-only has no decoder"),
        ({"family": "decoder-only", "encoder_layers": 0, "decoder_layers": 0}, "decoder_layers is 0; expected more than 0"),
        ({"family": "decoder-only"}, "encoder_layers is 4; expected 0, for a model that is decoder-only has no encoder"),
        ({"family": "encoder"}, "family is 'encoder'; expected one of encoder-decoder, encoder-only, decoder-only"),
        ({"decoder_layers": 0}, "decoder_layers is 0; expected more than 0"),
        (
            {"family": "encoder-only", "decoder_layers": 0, "joint_vocab": False},
            "joint_vocab is False; expected True, for a model that is encoder-only has one vocabulary",
        ),
    ],
)
def test_a_config_that_contradicts_its_family_is_refused(changes, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        ModelConfig(**({"source_vocab": 300, "target_vocab": 300} | changes))


def test_a_config_without_a_family_is_an_encoder_decoder():
    values = tiny.config().to_dict()
    del values["family"]
    assert isinstance(build(ModelConfig.from_dict(values)), EncoderDecoder)
    with pytest.raises(ValueError, match="the config's family is decoder-only; expected encoder-decoder"):
        EncoderDecoder(tiny.config(**FAMILIES["decoder-only"]))


def test_a_cache_never_reaches_an_encoder():
    model, source = tiny.model(), tiny.ids(1, 4)
    with pytest.raises(AssertionError, match="an encoder keeps nothing between steps"):
        model.encode(source, build_masks(model.config, source, None).encoder, Pass(cache=Cache()))
