"""Layers, dropout and the network: shapes, causality, and results that equal `tests/support/recorded.npz`."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from model.edits.intervention import BASELINE
from model.network import attention, masks
from model.network.attention import Dropout
from model.network.context import Pass
from model.network.layers import FeedForward, Residual, make_norm
from model.network.positions import sinusoidal
from model.network.transformer import EncoderDecoder, build
from model.trace import Probe, Site, Sublayer
from tests.support import recorded, tiny
from tests.support.floats import DOUBLE, assert_close
from tests.support.recorded import VARIANTS

EXACT = 1e-10


def logits(model, source, target, edits=(BASELINE,), probe=None):
    return model(source, target, masks.build(model.config, source, target, edits), Pass(probe=probe))


def close(one, two):
    torch.testing.assert_close(one, two, atol=EXACT, rtol=0)


@pytest.mark.parametrize(
    ("positions", "activation", "norm", "norm_first", "final_norm"),
    itertools.product(
        ("sinusoidal", "learned", "rotary"),
        ("relu", "gelu", "swiglu"),
        ("layernorm", "rmsnorm"),
        (True, False),
        (True, False),
    ),
)
def test_every_combination_has_finite_gradients(positions, activation, norm, norm_first, final_norm):
    model = tiny.model(
        positions=positions,
        activation=activation,
        norm=norm,
        norm_first=norm_first,
        final_norm=final_norm,
        tied_output=norm_first,
        joint_vocab=final_norm,
        dropout=0.1,
        attention_dropout=0.1,
    ).train()
    output = logits(model, tiny.padded([5, 3], 5), tiny.target_ids(2, 4))
    assert output.shape == (2, 4, tiny.VOCAB)
    assert output.isfinite().all()
    output.log_softmax(-1)[..., 5].sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        # softmax does not feel a constant added to every score of a row, so a key's bias may have no gradient
        assert parameter.grad.abs().sum() > 0 or name.endswith("key.bias"), name


@pytest.mark.parametrize("level", ["maps", "full"])
def test_a_probe_records_and_changes_no_bit(level):
    model, source, target = tiny.model(), tiny.padded([5, 3], 5), tiny.target_ids(2, 4)
    probe = Probe(level)
    with_probe = logits(model, source, target, probe=probe)
    assert with_probe.equal(logits(model, source, target))
    assert set(probe.records) == {Site(kind, n) for kind in ("encoder", "decoder", "cross") for n in range(2)}
    shapes = {"encoder": (2, 2, 5, 5), "decoder": (2, 2, 4, 4), "cross": (2, 2, 4, 5)}
    for site, kept in probe.records.items():
        assert kept["pattern"].shape == kept["scores"].shape == shapes[site.kind]
        assert {"scores", "pattern", "mask"} <= set(kept)
        assert ("z" in kept) == (level == "full")


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("tied", [True, False])
def test_tables_are_shared_as_the_config_says(joint, tied):
    model = EncoderDecoder(tiny.config(joint_vocab=joint, tied_output=tied))
    source, target = model.source_embedding.table.weight, model.target_embedding.table.weight
    assert (source is target) == joint
    assert (model.projection.weight is target) == tied
    tables = 1 + (not joint) + (not tied)
    layers = sum(p.numel() for n, p in model.named_parameters() if n.startswith(("encoder", "decoder")))
    assert model.parameter_count == layers + tables * tiny.VOCAB * 16


def test_embeddings_are_scaled_and_get_their_positions():
    model, source = tiny.model(), tiny.ids(2, 5)
    expected = model.source_embedding.table.weight[source] * 4 + sinusoidal(torch.arange(5), 16).double()
    close(model.source_embedding(source, torch.arange(5)), expected)


def test_dropout_rests_in_eval_and_works_in_training():
    model, source, target = tiny.model(dropout=0.3), tiny.ids(1, 4), tiny.target_ids(1, 4)
    assert logits(model, source, target).equal(logits(model, source, target))
    model.train()
    assert not logits(model, source, target).equal(logits(model, source, target))


@pytest.mark.parametrize("scaled", [True, False])
def test_learned_positions_and_segments_match_the_scale(scaled):
    torch.manual_seed(0)
    changes = {"family": "encoder-only", "decoder_layers": 0, "segments": 2, "max_positions": 200, "d_model": 64}
    made = build(
        tiny.config(positions="learned", source_vocab=2000, target_vocab=2000, embedding_scale=scaled, **changes)
    ).source_embedding
    tokens = float(made.table.weight.detach().std()) * made.scale
    assert tokens == pytest.approx(1.0 if scaled else 64**-0.5, rel=0.05)
    for beside in (made.positional.table, made.segments):
        assert float(beside.weight.detach().std()) == pytest.approx(tokens, rel=0.15)


X = torch.tensor([[[1.0, -2.0, 3.0, 4.0]]], dtype=torch.float64)
SMALL = {"d_model": 4, "heads": 2, "d_ff": 3}
PLACE = Sublayer("encoder", 0, "self")


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def fill(module: torch.nn.Module, seed: int = 0) -> torch.nn.Module:
    torch.manual_seed(seed)
    with torch.no_grad():
        for p in module.double().parameters():
            p.copy_(torch.randn_like(p))
    return module.eval()


@pytest.mark.parametrize(("name", "mean", "variance"), [("rmsnorm", 0, 7.5), ("layernorm", 1.5, 5.25)])
def test_norms_by_hand(name, mean, variance):
    norm = make_norm(tiny.config(norm=name, norm_eps=0.5, **SMALL)).double()
    expected = [(v - mean) / math.sqrt(variance + 0.5) for v in (1, -2, 3, 4)]
    assert norm(X).flatten().tolist() == pytest.approx(expected, abs=1e-12)


def test_swiglu_by_the_formula():
    layer = fill(FeedForward(tiny.config(activation="swiglu", **SMALL)))
    gate = X @ layer.gate.weight.T + layer.gate.bias
    inner = X @ layer.inner.weight.T + layer.inner.bias
    expected = (gate / (1 + torch.exp(-gate)) * inner) @ layer.outer.weight.T + layer.outer.bias
    torch.testing.assert_close(layer(X), expected, atol=1e-10, rtol=0)


@pytest.mark.parametrize("norm_first", [True, False])
def test_dropout_is_applied_to_the_sublayer_only(norm_first):
    residual = fill(Residual(tiny.config(dropout=0.5, norm_first=norm_first), PLACE)).train()
    residual.norm = torch.nn.Identity()
    x = random(2, 3, 16)
    added = residual(x, lambda y: torch.ones_like(y)) - x
    assert set(added.unique().round(decimals=6).tolist()) == {0.0, 2.0}


ONES = torch.ones(400, 500)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_a_share_is_zeroed_and_the_rest_scaled(p):
    torch.manual_seed(0)
    dropped = Dropout(p).train()(ONES)
    assert dropped.shape == ONES.shape
    assert float((dropped == 0).float().mean()) == pytest.approx(p, abs=0.01)
    kept = dropped[dropped != 0]
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / (1 - p)))


def test_large_tensors_are_dropped_outside_the_pool(monkeypatch):
    monkeypatch.setattr(attention, "_POOL_SIZE", ONES.numel())
    dropped = Dropout(0.5).train()(ONES)
    assert float((dropped == 0).float().mean()) == pytest.approx(0.5, abs=0.01)


def test_a_pool_made_in_inference_mode_serves_training(monkeypatch):
    monkeypatch.setattr(Dropout, "_pools", {})
    layer, x = Dropout(0.5).train(), torch.ones(8, requires_grad=True)
    with torch.inference_mode():
        layer(x)
    layer(x).sum().backward()
    assert set(x.grad.tolist()) <= {0.0, 2.0}


@pytest.fixture(scope="module")
def recording():
    return recorded.recorded()


@pytest.mark.parametrize("name", VARIANTS)
def test_every_edit_gives_the_recorded_tensors(recording, name):
    values, names = recording
    model = recorded.tiny.model(**VARIANTS[name])
    assert {key: list(t.shape) for key, t in model.state_dict().items()} == names["weights"][name]
    for row, (codes, logits, kept) in enumerate(recorded.passes(name)):
        assert_close(logits, values[f"logits {name}"][row], DOUBLE, codes)
        assert_close(recorded.projected(kept), values[f"sums {name}"][row], DOUBLE, codes)


@pytest.mark.parametrize("name", ["pre-norm", "learned", "no causal mask", "modern"])
def test_decoding_gives_the_recorded_hypotheses(recording, name):
    _, names = recording
    for key, hypotheses in recorded.decodings(name):
        expected = names["decodings"][name][key]
        assert [list(ids) for ids, _ in hypotheses] == [ids for ids, _ in expected], key
        for (_, log_probs), (_, before) in zip(hypotheses, expected, strict=True):
            assert_close(log_probs, before, message=key)
