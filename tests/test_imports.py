"""Who may import whom: the layers, from the top; an import goes downwards only. Read from the source, with ast."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import model

ROOT = Path(__file__).resolve().parent.parent

# From the top; what stands on one line does not import its neighbours. `.*` stands for every module of a folder.
LAYERS = [
    {"app", "viz.server"},
    {"viz.pages.*"},
    {
        "viz.inside_stages",
        "viz.inside_map",
        "viz.inside_scale",
        "viz.inside_lens",
        "viz.inside_embeddings",
        "viz.position_controls",
    },
    {"viz.edit_controls", "viz.what_if_controls", "viz.decoding_controls"},
    {"viz.controls"},
    {"viz.components.*", "viz.figures.*"},
    {"viz.state", "viz.texts"},
    {"viz.cache"},
    {"viz.theme", "viz.links", "viz.position_texts", "viz.stage_texts"},
    {"viz.view"},
    {"model.__main__"},
    {"model.training", "model.report"},
    {"model.experiments", "model.leaks"},
    {"model.effects", "model.contributions", "model.unfold", "model.lens", "model.scaling", "model.sentence_positions"},
    {"model.recording"},
    {"model.inference", "model.run_folder", "model.validation"},
    {"model.scoring", "model.loss", "model.probes", "model.means", "model.targets", "model.neighbours", "model.blueprint"},
    {"model.decoding", "model.checkpoint", "model.data"},
    {"model.transformer"},
    {"model.layers"},
    {"model.attention"},
    {"model.edits", "model.measures", "model.position_numbers"},
    {
        "model.masks",
        "model.positions",
        "model.trace",
        "model.tokenizer",
        "model.dropout",
        "model.device",
        "model.distributed",
    },
    {"model.request", "model.analysis", "model.arguments", "model.meter", "model.head_numbers", "model.source_lines"},
    {"model.hypotheses", "model.sampling", "model.sentences"},
    {"model.intervention"},
    {"model.edit_kinds"},
    {"model.config"},
    {"model", "viz", "viz.pages", "viz.components", "viz.figures"},  # the packages: names alone
]
WITHOUT_TORCH = (
    "model.config",
    "model.request",
    "model.intervention",
    "model.edit_kinds",
    "model.analysis",
    "model.hypotheses",
    "model.sampling",
    "model.sentences",
    "model.head_numbers",
    "model.source_lines",
)

# What a module, or every module of a package, must not import.
FORBIDDEN = {
    "model": {"streamlit", "plotly", "viz", "app", "transformers"},
    "viz.figures": {"streamlit", "torch"},
    **{name: {"torch"} for name in WITHOUT_TORCH},
}


def modules() -> dict[str, Path]:
    """Every module of the program by its dotted name."""
    files = [ROOT / "app.py", *sorted(ROOT.glob("model/**/*.py")), *sorted(ROOT.glob("viz/**/*.py"))]
    return {".".join(f.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): f for f in files if f.exists()}


ALL = modules()


def layer_of(name: str) -> int:
    """The number of a module's layer, 0 at the top."""
    folder = name.rpartition(".")[0] + ".*"
    for number, layer in enumerate(LAYERS):
        if name in layer or (folder in layer and name not in LAYERS[-1]):
            return number
    raise AssertionError(f"{name} has no layer: decide where it stands, in LAYERS of this file")


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imports(name: str, source: str, for_types: bool = True) -> set[str]:
    """Modules that the source imports, anywhere in it; with `for_types` false, without those for annotations alone."""
    found: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if is_type_checking(node) and not for_types:
            waiting += node.orelse
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name}: a relative import, line {node.lineno}; write the whole name"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                home = model._HOMES.get(alias.name) if node.module == "model" else None
                found.add(whole if whole in ALL else home or node.module)
    return found


def faults(name: str, source: str) -> list[str]:
    """What is wrong with the imports of a module, in words."""
    wrong = []
    for other in sorted(imports(name, source)):
        if other.split(".")[0] in ("app", "model", "viz") and layer_of(other) <= layer_of(name):
            wrong.append(f"{name} imports {other}, which does not stand below it")
    at_run_time = {other.split(".")[0] for other in imports(name, source, for_types=False)}
    for prefix, forbidden in FORBIDDEN.items():
        if name == prefix or name.startswith(prefix + "."):
            wrong += [f"{name} imports {other}, which is forbidden in {prefix}" for other in sorted(at_run_time & forbidden)]
    return wrong


@pytest.mark.parametrize("name", ALL)
def test_imports_go_downwards(name):
    assert faults(name, ALL[name].read_text(encoding="utf-8")) == []


def test_the_layers_name_what_there_is():
    """A module that is gone leaves the table; `report` is planned."""
    named = {n for layer in LAYERS for n in layer if not n.endswith(".*")}
    assert named - set(ALL) <= {"model.report"}
    assert len(named) == sum(not n.endswith(".*") for layer in LAYERS for n in layer)


@pytest.mark.parametrize(
    ("name", "source", "fault"),
    [
        ("model.masks", "from model.layers import EncoderLayer", "model.masks imports model.layers, which does not stand"),
        ("model.masks", "from model import layers", "model.masks imports model.layers"),
        ("model.masks", "import model.inference", "model.masks imports model.inference"),
        ("model.masks", "from model import analyse", "model.masks imports model.inference"),
        ("model.masks", "def f():\n    from model import training", "model.masks imports model.training"),
        ("model.masks", "from model import positions", "model.masks imports model.positions"),
        ("model.data", "import streamlit as st", "model.data imports streamlit, which is forbidden in model"),
        ("model.data", "from plotly.graph_objects import Figure", "model.data imports plotly"),
        ("model.data", "from viz import theme", "model.data imports viz, which is forbidden in model"),
        ("model.request", "import torch.nn", "model.request imports torch, which is forbidden in model.request"),
        ("viz.figures.map", "import torch", "viz.figures.map imports torch, which is forbidden in viz.figures"),
        ("viz.figures.map", "from streamlit import cache_data", "viz.figures.map imports streamlit"),
        ("viz.pages.map", "from viz.pages import other", "viz.pages.map imports viz.pages.other"),
        ("viz.theme", "from viz import controls", "viz.theme imports viz.controls"),
    ],
)
def test_a_wrong_import_would_be_found(name, source, fault, monkeypatch):
    monkeypatch.setitem(ALL, "viz.pages.other", ROOT / "viz/pages/other.py")
    found = faults(name, source)
    assert found
    assert any(line.startswith(fault) for line in found)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("model.trace", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from torch import Tensor"),
        ("model.layers", "import torch\nfrom model.attention import KeyValues\nfrom model import masks"),
        ("viz.pages.map", "import streamlit\nfrom viz import theme\nfrom model import Request"),
        ("viz.figures.map", "import plotly\nfrom model.trace import View"),
    ],
)
def test_a_right_import_is_let_through(name, source):
    assert faults(name, source) == []


@pytest.mark.parametrize("name", ["model.surprise", "viz.surprise", "viz.pages.deep.surprise"])
def test_an_unknown_module_must_be_placed(name):
    with pytest.raises(AssertionError, match=f"{name} has no layer: decide where it stands"):
        layer_of(name)


def test_relative_imports_are_not_used():
    with pytest.raises(AssertionError, match="a relative import, line 1; write the whole name"):
        imports("model.masks", "from . import config")


# -- what really happens on import ------------------------------------------------------------------------------------


def in_a_new_process(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_a_request_can_be_made_without_torch():
    named = ", ".join(WITHOUT_TORCH)
    in_a_new_process(
        f"import sys; sys.modules['torch'] = None\n"
        f"import model, {named}\n"
        f"from model import Decoding, Intervention, ModelConfig, Request\n"
        f"from model.request import Request\n"
        f"assert Request('The fox.', intervention=Intervention(causal_mask=False)).padding == 0\n"
    )


def test_importing_the_package_loads_no_torch():
    in_a_new_process("import sys, model\nfrom model.request import Request\nassert 'torch' not in sys.modules")


def test_figures_load_neither_streamlit_nor_torch():
    figures = [name for name in ALL if name.startswith("viz.figures.")]
    assert figures
    blocked = "import sys; sys.modules['torch'] = sys.modules['streamlit'] = None\n"
    in_a_new_process(blocked + f"import {', '.join(figures)}")


def test_the_package_offers_what_it_promises():
    assert {"load", "analyse", "Request"} <= set(model.__all__)
    for name, home in model._HOMES.items():
        assert getattr(model, name) is getattr(importlib.import_module(home), name)
    with pytest.raises(AttributeError, match="module 'model' has no attribute 'paint'"):
        model.paint  # noqa: B018


# -- one place for each thing ------------------------------------------------------------------------------------------


def calls(name: str) -> set[str]:
    """The last names of everything that a module calls."""
    nodes = ast.walk(ast.parse(ALL[name].read_text(encoding="utf-8")))
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    return {f.attr if isinstance(f, ast.Attribute) else f.id for f in called if isinstance(f, ast.Attribute | ast.Name)}


@pytest.mark.parametrize(
    ("function", "homes"),
    [
        ("softmax", {"model.attention"}),
        ("scaled_dot_product_attention", set()),
        ("register_forward_hook", set()),
        ("causal", {"model.masks"}),
        ("sliding_window", {"model.masks"}),
        ("tril", set()),
        ("triu", set()),
    ],
)
def test_masks_and_attention_weights_have_one_place(function, homes):
    assert {name for name in ALL if function in calls(name)} == homes
