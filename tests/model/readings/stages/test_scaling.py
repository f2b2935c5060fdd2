"""Other patterns of the same queries and keys, the division by sqrt(d_k), and sizes that equal those of built models."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from model.config import END
from model.inference.analyse import analyse
from model.inference.request import Request
from model.network import masks
from model.network.attention_methods import feature_map
from model.network.transformer import build
from model.readings.stages.blueprint import blueprint
from model.readings.stages.layer_inputs import activations, distance, other_patterns
from model.readings.stages.model_sizes import PRESETS, matrix_weights, of_config, operations, parameters
from model.readings.stages.scaling import jacobian_norm, site_scaling, softmax_statistics, spectral_norm
from model.trace import ATTENTION_KINDS, Site
from model.workshop.training.tasks import READER_MODEL
from tests.support import tiny


def test_two_keys_by_hand():
    scores = np.array([[[0.0, math.log(3)]]])
    found = softmax_statistics(scores, np.array([[[0.25, 0.75]]]), np.ones((1, 1, 2), bool))
    assert found.variance[0] == pytest.approx(math.log(3) ** 2 / 2)  # over n - 1
    assert found.largest[0] == pytest.approx(0.75)
    assert found.entropy[0] == pytest.approx(0.25 * math.log(4) + 0.75 * math.log(4 / 3))
    assert found.gradient[0] == pytest.approx(3 / 8)


def test_the_norm_is_that_of_the_whole_jacobian():
    rows = np.random.default_rng(3).dirichlet(np.ones(6), size=(2, 5))
    for row, found in zip(rows.reshape(-1, 6), jacobian_norm(rows).ravel(), strict=True):
        assert found == pytest.approx(np.linalg.norm(np.diag(row) - np.outer(row, row)))


@pytest.mark.parametrize("keys", [2, 3, 14, 128])
def test_spectral_norm_is_the_largest_eigenvalue(keys):
    rows = np.random.default_rng(4).dirichlet(np.full(keys, 0.3), size=20)
    rows = np.vstack([rows, np.full(keys, 1 / keys), np.eye(keys)[0], [0.5, 0.5, *[0.0] * (keys - 2)]])
    eigenvalues = [np.linalg.eigvalsh(np.diag(row) - np.outer(row, row))[-1] for row in rows]
    np.testing.assert_allclose(spectral_norm(rows), eigenvalues, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kind", ATTENTION_KINDS)
def test_undivided_scores_vary_by_the_width(tiny_checkpoint, kind):
    analysis, site = analyse(tiny_checkpoint, Request("The red fox takes a lamp.", extra_padding=2)), Site(kind, 1)
    found, width = site_scaling(tiny_checkpoint, analysis, site), tiny_checkpoint.config.head_dim
    assert found.widths == (width, width)
    np.testing.assert_allclose(found.undivided.variance, found.divided.variance * width, rtol=1e-9)
    assert (found.undivided.largest >= found.divided.largest).all()
    allowed = analysis.trace.masks[site].sum(-1)[: len(analysis.trace.queries(site)) - 2 * (kind == "encoder")]
    assert (found.keys, found.queries) == (allowed.max(), (allowed > 1).sum())


def test_frobenius_and_spectral_norm_can_differ(shipped):
    analysis = analyse(shipped, Request("The dog didn't cross the street because it was too shy."))
    found = site_scaling(shipped, analysis, Site("encoder", 2))
    frobenius, spectral = (
        getattr(found.undivided, norm)[1] / getattr(found.divided, norm)[1] for norm in ("gradient", "spectral")
    )
    assert frobenius < 0.95 and spectral > 1.05


def test_what_is_not_allowed_does_not_count():
    scores = np.array([[[5.0, 9.0, 9.0], [1.0, 3.0, 100.0]]])
    pattern = np.array([[[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]])
    allowed = np.array([[[True, False, False], [True, True, False]]])
    found = softmax_statistics(scores, pattern, allowed)
    assert (found.variance[0], found.largest[0], found.gradient[0]) == pytest.approx((2.0, 0.5, 0.5))
    lonely = softmax_statistics(scores[:, :1], pattern[:, :1], allowed[:, :1])
    assert all(
        np.isnan(values).all()
        for values in (lonely.variance, lonely.largest, lonely.entropy, lonely.gradient, lonely.spectral)
    )


TEXT = "The red fox sees a lamp."


@pytest.mark.parametrize("kind", ATTENTION_KINDS)
def test_rows_are_patterns_over_what_the_mask_allows(tiny_checkpoint, kind):
    analysis, site = analyse(tiny_checkpoint, Request(TEXT, extra_padding=2)), Site(kind, 1)
    found = other_patterns(tiny_checkpoint, analysis, site, 2)
    assert (found.window is None) == (kind == "cross")
    for other in filter(None, (found.linear, found.window)):
        assert other.values.shape == found.softmax.shape
        assert (other.values[~found.allowed] == 0).all()
        seen = np.isfinite(other.distance)
        np.testing.assert_allclose(other.values.sum(-1)[seen], 1, atol=1e-6)
        assert ((other.distance[seen] > -1e-6) & (other.distance[seen] <= 1)).all()
        assert (~seen).sum() == (2 * 2 if kind == "encoder" else 0)  # padding asks nothing, in either head
        expected = [np.abs(a - b).sum(-1)[s].mean() / 2 for a, b, s in zip(other.values, found.softmax, seen, strict=True)]
        assert other.head_distances == pytest.approx(expected, abs=1e-6)


def test_linear_pattern_uses_the_queries_and_keys(tiny_checkpoint):
    analysis, site = analyse(tiny_checkpoint, Request(TEXT)), Site("decoder", 0)
    record = activations(tiny_checkpoint, analysis).records[site]
    q, k = (feature_map(record[name].double())[0, 1] for name in ("q", "k"))
    products = (q @ k.T) * record["mask"][0]
    expected = (products / products.sum(-1, keepdim=True)).numpy()
    np.testing.assert_allclose(other_patterns(tiny_checkpoint, analysis, site, 1).linear.values[1], expected, atol=1e-6)


def test_window_of_one_is_the_diagonal(tiny_checkpoint):
    analysis, site = analyse(tiny_checkpoint, Request(TEXT)), Site("encoder", 0)
    length, narrow = len(analysis.trace.source), other_patterns(tiny_checkpoint, analysis, site, 1).window
    np.testing.assert_allclose(narrow.values, np.broadcast_to(np.eye(length), narrow.values.shape), atol=1e-6)
    own = analysis.full_pass.patterns[site]
    np.testing.assert_allclose(narrow.distance, 1 - np.diagonal(own, axis1=1, axis2=2), atol=1e-5)


def test_distances_by_hand():
    one, other = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]), np.array([[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]])
    assert distance(one, other, np.array([True, True])).tolist() == [0.5, 1.0]
    assert np.isnan(distance(one, other, np.array([True, False]))[1])
    assert distance(one, 0 * one, np.array([True, True])).tolist() == [1.0, 1.0]  # who sees nothing has nothing in common


VARIANTS = [
    dict(zip(("positions", "activation", "norm", "joint_vocab", "tied_output"), values, strict=True))
    for values in itertools.product(
        ("sinusoidal", "learned"), ("relu", "swiglu"), ("layernorm", "rmsnorm"), (True, False), (True, False)
    )
]
FAMILIES = [
    {"decoder_layers": 3},
    {"source_vocab": 50, "joint_vocab": False, "encoder_layers": 1},
    {"final_norm": False, "output_bias": True},
    {"family": "decoder-only", "encoder_layers": 0, "positions": "learned", "heads": 4},
    {"family": "encoder-only", "decoder_layers": 0, "embedding_norm": True, "output_transform": True, "output_bias": True},
    {"family": "encoder-only", "output_transform": True, "output_bias": True, "follows": True} | READER_MODEL,
    {"family": "encoder-only", "decoder_layers": 0, "pooler": True, "pooling": "mean", "classes": ("good", "bad", "so")},
]


@pytest.mark.parametrize("changes", [*VARIANTS, *FAMILIES, tiny.MARIAN], ids=lambda c: "-".join(map(str, c.values())))
def test_parameters_are_those_of_the_built_model(changes):
    model = build(tiny.config(**({"max_positions": 11} | changes)))
    found, blocks = parameters(of_config(model.config)), blueprint(SimpleNamespace(model=model, config=model.config), 3, 3)
    part = {"positions": "embeddings", "embedding": "embeddings", "feed_forward": "feed-forward", "norm": "norms"}
    part |= {"projection": "output", "transform": "output", "attention": "attention"}
    part |= {"segments": "embeddings", "pooler": "pooler"}
    counted = dict.fromkeys(found, 0)
    for block in blocks:
        if block.parameters:
            counted[part[block.kind]] += block.parameters
    assert found == counted
    assert sum(found.values()) == model.parameter_count


@pytest.mark.parametrize("changes", [{}, *FAMILIES], ids=str)
def test_operations_are_those_counted_in_a_pass(changes):
    model, length = build(tiny.config(max_positions=16, **changes)), 9
    ids = torch.full((1, length), END)
    source, target = (ids if stack in model.config.kinds else None for stack in ("encoder", "decoder"))
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model.task_logits(model.states(source, target, masks.build(model.config, source, target)), source)
    a_text = 2 * model.config.d_model * (model.config.d_model + len(model.config.classes)) * bool(model.config.classes)
    assert length * sum(operations(of_config(model.config), length)) + a_text == counter.get_total_flops()
    forms = PRESETS["bert-base"].architecture  # whose head that fills in blanks is left out
    inner = 12 * (4 * forms.d_model**2 + 2 * forms.d_model * forms.d_ff)
    assert matrix_weights(forms) == (inner, 0)


@pytest.mark.parametrize(
    ("name", "millions", "published"),
    [
        ("base", "63.1", "65"),  # 3 % less than the paper has
        ("big", "214.2", "213"),
        ("bert-base", "109.5", "110"),
        ("bert-large", "335.1", "340"),
        ("gpt2", "124.4", "124"),
        ("gpt2-medium", "354.8", "355"),
        ("gpt2-large", "774.0", "774"),
        ("gpt2-xl", "1557.6", "1558"),
    ],
)
def test_the_published_sizes(name, millions, published):
    total = sum(parameters(PRESETS[name].architecture).values())
    assert (f"{total / 1e6:.1f}", f"{PRESETS[name].published / 1e6:.0f}") == (millions, published)
    assert abs(total / PRESETS[name].published - 1) < 0.03
