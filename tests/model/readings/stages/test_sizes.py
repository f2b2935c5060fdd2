"""Parameters, operations and caches computed from a configuration equal those of built models."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from model.config import END
from model.decoding.fast import FastSteps
from model.decoding.strategy import Decoding
from model.edits.apply import NO_EDITS
from model.inference.analyse import analyse
from model.inference.request import Request
from model.network import masks
from model.network.context import Cache, Pass, shifted
from model.network.transformer import build
from model.readings.stages.blueprint import blueprint
from model.readings.stages.cache_sizes import cache_sizes
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
        model.answer(model.states(source, target, masks.build(model.config, source, target)), source)
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


TEXT = "The red fox sees a lamp."
CACHE_FAMILIES = {
    "decoder-only": {"family": "decoder-only", "encoder_layers": 0, "positions": "rotary"},
    "encoder-decoder": {},
}
EACH = pytest.mark.parametrize("family", CACHE_FAMILIES)


@EACH
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_bytes_are_those_of_the_tensors_at_each_step(tokenizer, family, dtype):
    lab = tiny.checkpoint(tokenizer, dtype=dtype, **CACHE_FAMILIES[family])
    found = analyse(lab, Request(TEXT, decoding=Decoding(limit=16)))
    told, model = cache_sizes(lab, found), lab.model.requires_grad_(False)
    inputs, memory, cross = shifted(torch.tensor([found.trace.outputs.ids])), None, None
    if found.trace.source is not None:
        source = torch.tensor([found.trace.source.ids])
        memory, cross = model.encode(source, masks.encoder_mask(model.config, source)), masks.cross_mask(source)
    cache, fast = Cache(), FastSteps(model, memory, cross, 1, inputs.size(1))
    for step in range(1, inputs.size(1) + 1):
        at = Pass(cache=cache, start=step - 1)
        seen = masks.decoder_mask(model.config, inputs[:, :step], queries=1)
        model.decode(inputs[:, step - 1 : step], memory, seen, cross, at)
        fast.log_probs(inputs[:, :step], NO_EDITS)
        kept = [cache[site] for site in tiny.sites(lab.config) if site.kind != "encoder"]
        assert told.nbytes(step) == sum(each.key.nbytes + each.value.nbytes for each in kept)
        own = fast.own[:, :, :, :, : fast.at]
        assert told.nbytes(step) == own.numel() * own.element_size() + sum(k.nbytes + v.nbytes for k, v in fast.memories)
    first = told.own[0]
    assert told.nbytes(1) - sum(each.nbytes for each in told.source) == (
        len(told.own) * 2 * first.heads * first.width * dtype.itemsize
    )
