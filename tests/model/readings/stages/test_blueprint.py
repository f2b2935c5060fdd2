"""The plan of a checkpoint equals its modules, and its source lines exist."""

from __future__ import annotations

import ast
import importlib
import itertools
import textwrap
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from model.network import masks
from model.network.context import Pass
from model.readings.stages.blueprint import ArchitectureBlock, blueprint
from model.readings.stages.stage_values import HERE, Reference, SourceLines, source_lines
from model.trace import Probe, Site
from tests.support import tiny

S, T = 5, 3
VARIANTS = [
    dict(zip(("positions", "activation", "norm", "norm_first", "joint_vocab", "tied_output"), values, strict=True))
    for values in itertools.product(
        ("sinusoidal", "learned", "rotary"),
        ("relu", "swiglu"),
        ("layernorm", "rmsnorm"),
        (True, False),
        (True, False),
        (True, False),
    )
] + [tiny.MARIAN, tiny.UNSCALED]


def planned(**changes) -> tuple[nn.Module, tuple[ArchitectureBlock, ...]]:
    model = tiny.model(**({"decoder_layers": 1, "max_positions": 11} | changes))
    return model, blueprint(SimpleNamespace(model=model, config=model.config), S, T)


def only(blocks, **fields) -> ArchitectureBlock:
    (found,) = [b for b in blocks if all(getattr(b, name) == value for name, value in fields.items())]
    return found


def sizes(block: ArchitectureBlock) -> dict[str, tuple[int, ...]]:
    return {shape.name: shape.numbers for shape in block.shapes}


@pytest.mark.parametrize("changes", VARIANTS, ids=lambda c: "-".join(map(str, c.values())))
def test_parameters_and_shapes_are_those_of_a_pass(changes):
    model, blocks = planned(**changes)
    assert sum(b.parameters for b in blocks) == model.parameter_count
    assert all(b.parameters == sum(t.count for t in b.terms) for b in blocks)
    assert all(t.count == sum(torch.Size(shape).numel() for shape in t.shapes) for b in blocks for t in b.terms)
    assert len({b.key for b in blocks}) == len(blocks)
    given: dict[str, tuple[int, ...]] = {}
    seen: dict[str, tuple[int, ...]] = {}

    def hook(name: str):
        def note(_, args, output):
            given[name], seen[name] = tuple(args[0].shape), tuple(output.shape)

        return note

    modules = list(model.named_modules(remove_duplicate=False))
    hooks = [module.register_forward_hook(hook(name)) for name, module in modules]
    source, target, probe = tiny.ids(1, S), tiny.target_ids(1, T), Probe("full")
    memory = model.encode(source, masks.build(model.config, source, target).encoder)
    logits = model(source, target, masks.build(model.config, source, target), Pass(probe=probe))
    for each in hooks:
        each.remove()
    for block in blocks:
        numbers = sizes(block)
        for shape in block.shapes:
            assert len(shape.letters) == len(shape.numbers)
        if block.kind == "embedding":  # a joint table is called for both sides; the last call was the target's
            assert numbers["rows"] == (1, S if block.column == "encoder" else T, model.config.d_model)
        elif block.path:
            assert (block.shapes[0].numbers, block.shapes[-1].numbers) == (given[block.path], seen[block.path]), block.key
        if block.kind == "feed_forward":
            assert numbers["inner"] == seen[f"{block.path}.inner"]
        if block.kind == "attention":
            record = probe.records[Site(block.site, block.layer)]
            assert numbers["q"] == tuple(record["q"].shape)
            assert numbers["k, v"] == tuple(record["k"].shape) == tuple(record["v"].shape)
            assert numbers["pattern"] == tuple(record["pattern"].shape)
            assert numbers["z"] == tuple(record["z"].shape)
    assert sizes(only(blocks, kind="memory"))["memory"] == tuple(memory.shape)
    assert sizes(only(blocks, kind="softmax"))["probabilities"] == tuple(logits.shape)


@pytest.mark.parametrize(
    ("joint", "tied", "target", "projection"),
    [
        (True, True, "Source embedding", "Source embedding"),
        (True, False, "Source embedding", ""),
        (False, True, "", "Target embedding"),
        (False, False, "", ""),
    ],
)
def test_a_shared_table_is_counted_once_and_named(joint, tied, target, projection):
    _, blocks = planned(joint_vocab=joint, tied_output=tied)
    embedded, scored = only(blocks, path="target_embedding.table"), only(blocks, kind="projection")
    assert (embedded.shared, scored.shared) == (target, projection)
    table = tiny.VOCAB * 16
    assert (embedded.parameters, scored.parameters) == (0 if joint else table, 0 if tied else table)


def test_the_code_that_is_named_is_there(shipped):
    blocks = blueprint(shipped, 14, 16)
    assert sum(b.parameters for b in blocks) == shipped.model.parameter_count
    for name, file in {b.code for b in blocks}:
        found = importlib.import_module(file.removesuffix(".py").replace("/", "."))
        for part in name.split("."):
            found = getattr(found, part)
    for block in blocks:
        if block.path:
            assert type(shipped.model.get_submodule(block.path)).__name__ == block.code[0]


SOURCE = '''"""A module."""


def plain(x):
    total = x + 1  # the first
    other = total
    total = scale(
        total,
        by=2,
    )
    total += 1
    left, (right, *rest) = other, (1, 2)
    if x:
        deep = twice(x) if x else half(x)
    return total


class First:
    def forward(self, x):
        q = self.split(x)
        q = turn(q)
        return q


class Second:
    def forward(self, x):
        q = "the second"
        return q
'''


def look(folder: Path, function: str, name: str, calls: str = "", source: str = SOURCE) -> tuple[SourceLines, ...]:
    (folder / "module.py").write_text(source, encoding="utf-8")
    return source_lines(Reference("module.py", function, name, calls), folder)


@pytest.mark.parametrize(
    ("function", "name", "calls", "expected"),
    [
        ("plain", "other", "", [(6, "other = total")]),
        (
            "plain",
            "total",
            "",
            [(5, "total = x + 1  # the first"), (7, "total = scale(\n    total,\n    by=2,\n)"), (11, "total += 1")],
        ),
        ("plain", "total", "scale", [(7, "total = scale(\n    total,\n    by=2,\n)")]),
        ("plain", "right", "", [(12, "left, (right, *rest) = other, (1, 2)")]),
        ("plain", "rest", "", [(12, "left, (right, *rest) = other, (1, 2)")]),
        ("plain", "deep", "", [(14, "deep = twice(x) if x else half(x)")]),
        ("plain", "deep", "half", [(14, "deep = twice(x) if x else half(x)")]),
        ("First.forward", "q", "", [(20, "q = self.split(x)"), (21, "q = turn(q)")]),
        ("First.forward", "q", "split", [(20, "q = self.split(x)")]),
        ("First.forward", "q", "turn", [(21, "q = turn(q)")]),
        ("Second.forward", "q", "", [(27, 'q = "the second"')]),
    ],
)
def test_statements_are_located_by_the_assigned_name(tmp_path, function, name, calls, expected):
    found = look(tmp_path, function, name, calls)
    assert [(lines.number, lines.text) for lines in found] == expected
    assert {(lines.file, lines.function) for lines in found} == {("module.py", function)}


def test_lines_of_the_attention_formula_are_located():
    products, scores, scaled = (
        source_lines(Reference("attention.py", function, name))[0]
        for function, name in (("attention_scores", "products"), ("attention_scores", "scores"), ("finish_scores", "edited"))
    )
    assert products.text.startswith("products = query @ key.transpose(-2, -1)")
    assert scores.text.startswith("scores = products / math.sqrt(query.size(-1))")
    assert scaled.text.startswith("edited = edits.scale(")
    rows = (HERE / "attention.py").read_text(encoding="utf-8").splitlines()
    for lines in (products, scores, scaled):
        assert rows[lines.number - 1].strip() == lines.text
        assert ast.parse(textwrap.dedent(lines.text))
