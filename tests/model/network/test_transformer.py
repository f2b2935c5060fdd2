from __future__ import annotations

import itertools

import pytest
import torch

from model.edits.intervention import BASELINE
from model.network import masks
from model.network.context import Pass
from model.network.positions import sinusoidal
from model.network.transformer import EncoderDecoder, build
from model.trace import Probe, Site
from tests.support import tiny

EXACT = 1e-10
POSITIONS = pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])


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
