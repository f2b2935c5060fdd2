"""Imports go downwards only: packages in rows, from the top. Names in quotes and the scripts in `viz` count too."""

from __future__ import annotations

import ast
import functools
import graphlib
import importlib
import re
import subprocess
import sys
from importlib.util import resolve_name
from pathlib import Path

import pytest

import model
from model import __main__ as main

ROOT = Path(__file__).resolve().parent.parent

# From the top. A package may import the rows below its own, and itself without a circle; never a neighbour in its row.
ROWS = (
    ("app", "viz.server.__main__"),
    ("viz.offline.site",),  # draws with components of several pages
    ("viz.lessons.page",),  # it has the part Homework
    ("viz.homework",),  # its tasks use the checks of lessons
    ("viz.lessons",),  # lesson 0 draws pictures of other pages
    ("viz.given_attention",),
    ("viz.why",),  # its part Patching is the panel of Compare
    (
        *("viz.translate", "viz.heads", "viz.inside", "viz.positions", "viz.what_if", "viz.compare"),
        *("viz.training", "viz.variants", "viz.server.serve"),
    ),
    ("viz.frame", "viz.judge", "viz.fill", "viz.notebook"),
    ("viz.decoding_steps",),
    ("viz.classroom", "viz.server"),
    ("viz.classroom.rooms", "viz.save"),
    *zip(("viz.offline", "viz.kit", "viz.computations", "viz.page_context", "viz.cache", "viz.state")),  # a row each
    ("viz.examples", "viz.pages", "viz.theme"),
    ("model.__main__",),
    ("model.workshop.commands",),
    ("model.workshop.reports", "model.export"),
    ("model.experiments", "model.workshop.tasks", "model.workshop.small"),
    ("model.workshop.training", "model.readings.logits"),
    ("model.readings.tokens", "model.workshop.convert"),
    ("model.readings.heads", "model.readings.positions", "model.readings.stages"),
    ("model.readings",),
    ("model.workshop.made_sentences",),
    ("model.inference", "model.workshop.evaluation"),
    ("model.decoding", "model.checkpoint"),
    ("model.network",),
    ("model.checkpoint_files", "model.edits", "model.variants", "model.workshop.corpus"),
    ("model.task", "model.text", "model.trace"),
    ("model.config", "model.workshop.sharding"),
    ("model.device", "model.io"),
    ("model.workshop",),
    ("model", "viz"),  # the packages themselves: names alone
)
NO_TORCH = """
io.numbers io.files io.foreign_checkpoints config io.folders io.archive task trace edits.kinds edits.intervention
text.sentences decoding.hypotheses decoding.sampling decoding.strategy inference.request inference.predictions
variants.designs variants.record variants.same_heads readings.heads.trace_comparison readings.heads.head_metrics
readings.heads.head_maps readings.heads.head_roles readings.stages.model_sizes workshop.training.history
workshop.training.recording workshop.training.run_listing export.check_forms export.code export.analysis_files
export.csv_tables
"""
WITHOUT_TORCH = [f"model.{name}" for name in NO_TORCH.split()]

# Forbidden imports of a module, or of every module of a package.
FORBIDDEN = {
    "model": {"streamlit", "plotly", "viz", "app", "transformers"},
    "viz.offline.document": {"streamlit", "plotly", "torch"},
    **{name: {"torch"} for name in WITHOUT_TORCH},
}
LOADERS = {"import_module", "__import__", "find_spec"}
# Modules that load others by names that their source does not state in full, and why they may.
COMPUTED_NAMES = {
    "model": "the homes of the public names, which a test compares with the modules",
    "model.workshop.training.preparation": "the module of a training task, from the declared tasks",
    "model.__main__": "the commands, of which those of viz are stated by name",
    "viz.kit.panel": "the page that was asked for, from the declared pages",
}
STARTS_VIZ = "model.__main__"  # with the public names, the one module of model that may name modules of viz
RENAMES_VIZ = "model.io.package_names"  # names viz itself
FORBIDDEN_FIGURES = {"streamlit", "torch"}  # in modules named *figure or *figures


def modules() -> dict[str, Path]:
    """Every module of the program by its dotted name."""
    files = [ROOT / "app.py", *sorted(ROOT.glob("model/**/*.py")), *sorted(ROOT.glob("viz/**/*.py"))]
    return {".".join(f.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): f for f in files if f.exists()}


ALL = modules()


def row_of(name: str) -> tuple[int, str]:
    """The number of a module's row, 0 at the top, and the entry of the row that it belongs to."""
    entries = [(len(entry), number, entry) for number, row in enumerate(ROWS) for entry in row]
    for _, number, entry in sorted(entries, reverse=True):
        if name == entry or (name.startswith(entry + ".") and entry not in ROWS[-1]):
            return number, entry
    raise AssertionError(f"{name} has no row; add it to ROWS of this file")


def is_figure(name: str) -> bool:
    return re.search(r"figures?$", name) is not None


HOMES = {public: resolve_name(home, "model") for public, home in model._MODULES.items()}


def absolute(name: str, node: ast.ImportFrom) -> str:
    """Returns the absolute name of the module that an import statement of the module `name` names."""
    if not node.level:
        return node.module or ""
    package = name if ALL.get(name, Path()).name == "__init__.py" else name.rpartition(".")[0]
    return resolve_name("." * node.level + (node.module or ""), package)


@functools.cache
def nodes(source: str, for_types: bool) -> tuple[ast.AST, ...]:
    """Imports, calls and texts in quotes of the source; with `for_types` false, without those for annotations alone."""
    if not for_types and "TYPE_CHECKING" not in source:
        return nodes(source, True)
    found: list[ast.AST] = []
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if not for_types and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Call) or isinstance(getattr(node, "value", None), str):
            found.append(node)
    return tuple(found)


@functools.cache
def imports(name: str, source: str, for_types: bool = True) -> frozenset[str]:
    """Modules that the source imports, anywhere in it; with `for_types` false, without those for annotations alone."""
    found = {other for other in loaded_names(source) if other} if for_types else set()
    for node in nodes(source, for_types):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            origin = absolute(name, node)
            for alias in node.names:
                whole = f"{origin}.{alias.name}"
                home = HOMES.get(alias.name) if origin == "model" else None
                found.add(whole if whole in ALL else home or origin)
    return frozenset(found)


def last_name(call: ast.Call) -> str:
    """Returns the last name of the function that is called, or ""."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


@functools.cache
def loaded_names(source: str) -> frozenset[str]:
    """Returns the modules that the source loads by a name in quotes. A name that is put together counts as the package that
    it begins with, or as "" where it begins with none."""
    found = set()
    for node in nodes(source, True):
        if not isinstance(node, ast.Call) or last_name(node) not in LOADERS:
            continue
        text = node.args[0] if node.args else None
        is_begun = isinstance(text, ast.JoinedStr)
        text = getattr(text.values[0] if is_begun else text, "value", "")
        text = text if isinstance(text, str) else ""
        found.add(text.rpartition(".")[0] if is_begun else text)
    return frozenset(found)


def names_of_viz(source: str) -> set[str]:
    """Returns the texts in quotes that are names of modules of viz."""
    texts = (node.value for node in nodes(source, True) if isinstance(node, ast.Constant))
    return {text for text in texts if isinstance(text, str) and re.fullmatch(r"viz(\.\w+)*", text)}


def faults(name: str, source: str) -> list[str]:
    """Returns the errors in the imports of a module, as sentences."""
    wrong = []
    if "" in loaded_names(source) and name not in COMPUTED_NAMES:
        wrong.append(f"{name} loads a module by a name that is not stated; add it to COMPUTED_NAMES, with the reason")
    if name.split(".")[0] == "model" and name not in ("model", STARTS_VIZ, RENAMES_VIZ):
        wrong += [f"{name} names {other}, which only {STARTS_VIZ} may" for other in sorted(names_of_viz(source))]
    row, entry = row_of(name)
    for other in sorted(imports(name, source)):
        if other.split(".")[0] in ("app", "model", "viz"):
            there, its = row_of(other)
            if there < row or (there == row and its != entry):
                wrong.append(f"{name} imports {other}, which does not stand below it")
    at_run_time = {other.split(".")[0] for other in imports(name, source, for_types=False)}
    for prefix, forbidden in FORBIDDEN.items():
        if name == prefix or name.startswith(prefix + "."):
            wrong += [f"{name} imports {other}, which is forbidden in {prefix}" for other in sorted(at_run_time & forbidden)]
    if is_figure(name):
        wrong += [f"{name} imports {o}, which is forbidden in figures" for o in sorted(at_run_time & FORBIDDEN_FIGURES)]
    return wrong


def test_imports_go_downwards():
    assert [wrong for name, path in ALL.items() for wrong in faults(name, path.read_text(encoding="utf-8"))] == []


def test_no_module_leads_back_to_itself():
    graph = {name: imports(name, path.read_text(encoding="utf-8")) & set(ALL) for name, path in ALL.items()}
    graphlib.TopologicalSorter(graph).prepare()  # raises an error that names the circle
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter({"a": {"b"}, "b": {"c"}, "c": {"b"}}).prepare()


def test_the_rows_name_what_there_is():
    entries = [entry for row in ROWS for entry in row]
    assert set(entries) <= set(ALL) and len(set(entries)) == len(entries)


CORPUS = "model.workshop.corpus.corpus"


@pytest.mark.parametrize(
    ("name", "source", "fault"),
    [
        ("model.edits.kinds", "from model.network.layers import EncoderLayer", "imports model.network.layers"),
        ("model.edits.kinds", "from model.network import layers", "imports model.network.layers"),
        ("model.edits.kinds", "from ..network import layers", "imports model.network.layers"),
        ("model.network", "from .. import decoding", "imports model.decoding, which does not stand"),
        ("model.network.masks", "import model.decoding.search", "imports model.decoding.search, which does not stand"),
        ("model.network.masks", "from model import analyse", "imports model.inference.analyse"),
        ("model.readings.stages.unfold", "def f():\n    from model.workshop.training import run", "imports model.wor"),
        ("model.text.sentences", "from model.workshop.corpus import corpus", "imports model.w"),
        (CORPUS, "import streamlit as st", "imports streamlit, which is forbidden in model"),
        (CORPUS, "from plotly.graph_objects import Figure", "imports plotly"),
        (CORPUS, "from viz import theme", "imports viz, which is forbidden in model"),
        ("model.inference.request", "import torch.nn", "imports torch, which is forbidden in"),
        ("viz.heads.some_figure", "import torch", "imports torch, which is forbidden in figures"),
        ("viz.positions.position_figures", "from streamlit import cache_data", "imports streamlit"),
        ("viz.heads.page", "from viz.inside import page", "imports viz.inside.page"),
        ("viz.theme", "from viz.kit import controls", "imports viz.kit.controls"),
        (CORPUS, 'import importlib\nimportlib.import_module("model.export")', "imports model.exp"),
        (CORPUS, '__import__("model.workshop.training.run")', "imports model.workshop.training.run"),
        (CORPUS, 'name = "viz.offline.html_export"', "names viz.offline.html_export, which only model.__main"),
        ("model.export.analysis_files", 'find_spec("viz.theme")', "names viz.theme, which only model.__main__ may"),
        (CORPUS, 'import_module(f"model.workshop.training.{n}")', "imports model.workshop.training, which does"),
        ("viz.theme", "import_module(name)", "loads a module by a name that is not stated; add it to COMPUTED_NAMES"),
        ("viz.heads.page", 'import_module("viz.inside.page")', "imports viz.inside.page"),
        ("model.trace", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from torch import Tensor", ""),
        ("model.network.layers", "import torch\nfrom model.network import masks\nfrom model.edits import kinds", ""),
        ("viz.heads.page", "import streamlit\nfrom viz import theme\nfrom model import Request", ""),
        ("viz.heads.some_figure", "import plotly\nfrom model.trace import View", ""),
        ("model.__main__", 'COMMANDS = {"export": "viz.offline.export_command"}\nimport_module(COMMANDS[name])', ""),
    ],
)
def test_a_wrong_import_is_found_and_a_right_one_is_not(name, source, fault):
    found = faults(name, source)
    assert any(line.startswith(f"{name} {fault}") for line in found) if fault else found == []


@pytest.mark.parametrize("name", ["model.surprise", "viz.surprise", "viz.deep.down.surprise"])
def test_an_unknown_module_must_be_placed(name):
    with pytest.raises(AssertionError, match=f"{name} has no row; add it to ROWS"):
        row_of(name)


def test_modules_with_computed_names_are_listed():
    loads = {name for name, path in ALL.items() if "" in loaded_names(path.read_text(encoding="utf-8"))}
    assert loads == set(COMPUTED_NAMES) and set(HOMES.values()) <= set(ALL)
    assert {home for home in HOMES.values() if home.split(".")[0] != "model"} == {"viz.given_attention"}
    named = {command for command in main.COMMANDS.values() if isinstance(command, str)}
    named |= set(main.PAGES.values())
    assert named == names_of_viz(ALL[STARTS_VIZ].read_text(encoding="utf-8")) <= set(ALL)


def in_a_new_process(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_request_can_be_made_without_torch():
    in_a_new_process(
        f"import sys, {', '.join(WITHOUT_TORCH)}\n"
        "from model import Decoding, Intervention, ModelConfig, Request\n"
        "assert Request('The fox.', intervention=Intervention(causal_mask=False)).extra_padding == 0\n"
        "assert 'torch' not in sys.modules"
    )


def test_figures_load_neither_streamlit_nor_torch():
    figures = [name for name in ALL if is_figure(name)]
    assert figures
    blocked = "import sys; sys.modules['torch'] = sys.modules['streamlit'] = None\n"
    in_a_new_process(blocked + f"import {', '.join(figures)}")


def test_the_package_offers_what_it_promises():
    assert {"load", "analyse", "Request"} <= set(model.__all__)
    for name, home in HOMES.items():
        assert getattr(model, name) is getattr(importlib.import_module(home), name)
    with pytest.raises(AttributeError, match="module 'model' has no attribute 'paint'"):
        model.paint  # noqa: B018


@functools.cache
def calls(name: str) -> set[str]:
    """The last names of everything that a module calls."""
    source = ALL[name].read_text(encoding="utf-8")
    return {last_name(node) for node in nodes(source, True) if isinstance(node, ast.Call)}


ONE_PLACE = {
    # the formula, and the one faster path; the loss is over the vocabulary
    "softmax": {"model.network.attention", "model.decoding.fast", "model.workshop.training.loss_and_validation"},
    "scaled_dot_product_attention": {"model.network.attention_methods"},
    **{name: {"model.network.masks"} for name in ("causal_mask", "sliding_window")},
    **{name: set() for name in ("register_forward_hook", "tril", "triu")},
}


def test_masks_and_attention_weights_have_one_place():
    assert {function: {name for name in ALL if function in calls(name)} for function in ONE_PLACE} == ONE_PLACE
