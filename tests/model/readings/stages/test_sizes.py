"""Parameters, operations and caches computed from a configuration equal those of built models."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from model.config import END
from model.network import masks
from model.network.transformer import build
from model.readings.stages.blueprint import blueprint
from model.readings.stages.model_sizes import PRESETS, matrix_weights, of_config, operations, parameters
from model.workshop.training.tasks import READER_MODEL
from tests.support import tiny

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
