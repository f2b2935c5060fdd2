"""Who may import whom: packages in rows, from the top; an import goes downwards only. Read from the source, with ast.

Modules that are loaded by a name in quotes count as imports, and so do the imports of the scripts in `viz`.
"""

from __future__ import annotations

import ast
import functools
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import model
from model import __main__ as main
from viz import pages

ROOT = Path(__file__).resolve().parent.parent

# From the top. A package may import the rows below its own, and itself without a circle; never a neighbour in its row.
ROWS = (
    ("app", "viz.server", "viz.notebook"),
    (
        *(
            "viz.translate",
            "viz.heads",
            "viz.inside",
            "viz.positions",
            "viz.what_if",
            "viz.why",
            "viz.compare",
            "viz.lessons",
        ),
        "viz.training",
        "viz.variants",
    ),
    ("viz.shared",),
    ("viz.rooms",),
    ("viz.offline",),
    ("viz.readings", "viz.experiments", "viz.visit", "viz.editing"),
    ("viz.state", "viz.cache", "viz.first_paint"),
    ("viz.uploads",),
    ("viz.talks",),
    ("viz.connections",),
    ("viz.links", "viz.scripts", "viz.theme", "viz.pages", "viz.keep", "viz.hosts", "viz.health"),
    ("viz.log_limit",),
    ("viz.turns", "viz.allocator"),
    ("viz.view",),
    ("viz.page_fields",),
    ("viz.fields",),
    ("viz.values",),
    ("model.__main__",),
    ("model.commands",),
    ("model.export",),
    ("model.experiments", "model.convert"),
    ("model.readings", "model.training"),
    ("model.inference", "model.evaluation"),
    ("model.decoding", "model.checkpoint"),
    ("model.checkpoint_files", "model.network", "model.archive"),
    ("model.edits", "model.text", "model.variants"),
    ("model.task",),
    ("model.trace",),
    ("model.config", "model.device", "model.arguments", "model.folders", "model.format"),
    ("model.arrays", "model.foreign"),
    ("model.limits", "model.activations"),
    ("model.files",),
    ("model", "viz"),  # the packages themselves: names alone
)
WITHOUT_TORCH = (
    "model.arguments",
    "model.files",
    "model.limits",
    "model.foreign",
    "model.activations",
    "model.folders",
    "model.archive",
    "model.config",
    "model.task",
    "model.format",
    "model.trace",
    "model.edits.kinds",
    "model.edits.intervention",
    "model.text.sentences",
    "model.decoding.hypotheses",
    "model.decoding.sampling",
    "model.decoding.strategy",
    "model.inference.request",
    "model.inference.predictions",
    "model.variants.declared",
    "model.variants.record",
    "model.variants.same_heads",
    "model.readings.comparison",
    "model.readings.head_metrics",
    "model.readings.head_pairs",
    "model.readings.head_roles",
    "model.readings.head_maps",
    "model.readings.merges",
    "model.readings.patterns",
    "model.readings.source_lines",
    "model.readings.sizes",
    "model.training.history",
    "model.training.recording",
    "model.training.found_runs",
    "model.experiments.grown",
    "model.export.check_forms",
    "model.export.code",
    "model.export.files",
    "model.export.tables",
)

# What a module, or every module of a package, must not import.
FORBIDDEN = {
    "model": {"streamlit", "plotly", "viz", "app", "transformers"},
    "viz.offline": {"streamlit", "plotly", "torch"},
    **{name: {"torch"} for name in WITHOUT_TORCH},
}
LOADERS = {"import_module", "__import__", "find_spec"}
# Modules that load others by names that their source does not state in full, and why they may.
COMPUTED_NAMES = {
    "model": "the homes of the public names, all of them in model",
    "model.__main__": "the commands, of which those of viz are stated by name",
    "viz.offline.take": "the page that was asked for, from the declared pages",
    "viz.shared.talks.ahead": "the page of the next stop, from the declared pages",
}
STARTS_VIZ = "model.__main__"  # the one module of model that may name a module of viz
FORBIDDEN_FIGURES = {"streamlit", "torch"}  # in modules named *figure or *figures


def modules() -> dict[str, Path]:
    """Every module of the program by its dotted name."""
    files = [ROOT / "app.py", *sorted(ROOT.glob("model/**/*.py")), *sorted(ROOT.glob("viz/**/*.py"))]
    return {".".join(f.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): f for f in files if f.exists()}


ALL = modules()


def row_of(name: str) -> tuple[int, str]:
    """The number of a module's row, 0 at the top, and the entry of the row that it belongs to."""
    for number, row in enumerate(ROWS):
        for entry in row:
            if name == entry or (name.startswith(entry + ".") and entry not in ROWS[-1]):
                return number, entry
    raise AssertionError(f"{name} has no row: decide where it stands, in ROWS of this file")


def is_figure(name: str) -> bool:
    return re.search(r"figures?$", name) is not None


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imports(name: str, source: str, for_types: bool = True) -> set[str]:
    """Modules that the source imports, anywhere in it; with `for_types` false, without those for annotations alone."""
    found: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(source)]
    if for_types:
        found |= {other for other in loaded_names(source) if other}
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


def loaded_names(source: str) -> set[str]:
    """Returns the modules that the source loads by a name in quotes. A name that is put together counts as the package that
    it begins with, or as "" where it begins with none."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or ast.unparse(node.func).split(".")[-1] not in LOADERS:
            continue
        text = node.args[0] if node.args else None
        if isinstance(text, ast.JoinedStr):
            text = text.values[0]
            stated = isinstance(text, ast.Constant) and "." in text.value
            found.add(text.value.rpartition(".")[0] if stated else "")
        else:
            found.add(text.value if isinstance(text, ast.Constant) and isinstance(text.value, str) else "")
    return found


def names_of_viz(source: str) -> set[str]:
    """Returns the texts in quotes that are names of modules of viz."""
    texts = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    return {text for text in texts if isinstance(text, str) and re.fullmatch(r"viz(\.\w+)*", text)}


def faults(name: str, source: str) -> list[str]:
    """What is wrong with the imports of a module, in words."""
    wrong = []
    if "" in loaded_names(source) and name not in COMPUTED_NAMES:
        wrong.append(f"{name} loads a module by a name that is not stated; add it to COMPUTED_NAMES, with the reason")
    if name.split(".")[0] == "model" and name != STARTS_VIZ:
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


def circle(graph: dict[str, set[str]]) -> list[str]:
    """A way from a module back to itself, or nothing."""
    done: set[str] = set()

    def walk(name: str, way: list[str]) -> list[str]:
        if name in way:
            return [*way[way.index(name) :], name]
        if name in done:
            return []
        for other in sorted(graph.get(name, ())):
            if found := walk(other, [*way, name]):
                return found
        done.add(name)
        return []

    return next((found for name in graph if (found := walk(name, []))), [])


def test_imports_go_downwards():
    assert [wrong for name, path in ALL.items() for wrong in faults(name, path.read_text(encoding="utf-8"))] == []


def test_no_module_leads_back_to_itself():
    graph = {name: imports(name, path.read_text(encoding="utf-8")) & set(ALL) for name, path in ALL.items()}
    assert circle(graph) == []
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]


def test_the_rows_name_what_there_is():
    for row in ROWS:
        for entry in row:
            assert entry in ALL
    assert len({entry for row in ROWS for entry in row}) == sum(map(len, ROWS))


@pytest.mark.parametrize(
    ("name", "source", "fault"),
    [
        (
            "model.edits.kinds",
            "from model.network.layers import EncoderLayer",
            "model.edits.kinds imports model.network.layers, which does not stand below it",
        ),
        ("model.edits.kinds", "from model.network import layers", "model.edits.kinds imports model.network.layers"),
        ("model.network.masks", "import model.decoding.search", "model.network.masks imports model.decoding.search"),
        ("model.network.masks", "from model import analyse", "model.network.masks imports model.inference.analyse"),
        ("model.readings.unfold", "def f():\n    from model.training import run", "model.readings.unfold imports model.tra"),
        ("model.edits.apply", "from model.text import corpus", "model.edits.apply imports model.text.corpus"),
        ("model.text.corpus", "import streamlit as st", "model.text.corpus imports streamlit, which is forbidden in model"),
        ("model.text.corpus", "from plotly.graph_objects import Figure", "model.text.corpus imports plotly"),
        ("model.text.corpus", "from viz import theme", "model.text.corpus imports viz, which is forbidden in model"),
        (
            "model.inference.request",
            "import torch.nn",
            "model.inference.request imports torch, which is forbidden in",
        ),
        ("viz.heads.some_figure", "import torch", "viz.heads.some_figure imports torch, which is forbidden in figures"),
        ("viz.positions.figures", "from streamlit import cache_data", "viz.positions.figures imports streamlit"),
        ("viz.heads.page", "from viz.inside import page", "viz.heads.page imports viz.inside.page"),
        ("viz.theme", "from viz.shared import controls", "viz.theme imports viz.shared.controls"),
        (
            "model.text.corpus",
            'import importlib\nimportlib.import_module("model.export")',
            "model.text.corpus imports model.exp",
        ),
        ("model.text.corpus", '__import__("model.training.run")', "model.text.corpus imports model.training.run"),
        (
            "model.text.corpus",
            'name = "viz.offline.take"',
            "model.text.corpus names viz.offline.take, which only model.__main",
        ),
        (
            "model.export.files",
            'find_spec("viz.theme")',
            "model.export.files names viz.theme, which only model.__main__ may",
        ),
        (
            "model.text.corpus",
            'import_module(f"model.training.{n}")',
            "model.text.corpus imports model.training, which does",
        ),
        (
            "viz.theme",
            "import_module(name)",
            "viz.theme loads a module by a name that is not stated; add it to COMPUTED_NAMES",
        ),
        ("viz.heads.page", 'import_module("viz.inside.page")', "viz.heads.page imports viz.inside.page"),
    ],
)
def test_a_wrong_import_would_be_found(name, source, fault):
    found = faults(name, source)
    assert found
    assert any(line.startswith(fault) for line in found)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("model.trace", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from torch import Tensor"),
        (
            "model.network.layers",
            "import torch\nfrom model.network import masks\nfrom model.edits import kinds",
        ),
        ("viz.heads.page", "import streamlit\nfrom viz import theme\nfrom model import Request"),
        ("viz.heads.some_figure", "import plotly\nfrom model.trace import View"),
        ("model.__main__", 'COMMANDS = {"export": "viz.offline.command"}\nimport_module(COMMANDS[name])'),
        ("model.training.material", 'import importlib\nimportlib.import_module(f"model.training.{name}")'),
    ],
)
def test_a_right_import_is_let_through(name, source):
    assert faults(name, source) == []


@pytest.mark.parametrize("name", ["model.surprise", "viz.surprise", "viz.deep.down.surprise"])
def test_an_unknown_module_must_be_placed(name):
    with pytest.raises(AssertionError, match=f"{name} has no row: decide where it stands"):
        row_of(name)


def test_relative_imports_are_not_used():
    with pytest.raises(AssertionError, match="a relative import, line 1; write the whole name"):
        imports("model.network.masks", "from . import config")


def test_modules_with_computed_names_are_listed():
    loads = {name for name, path in ALL.items() if "" in loaded_names(path.read_text(encoding="utf-8"))}
    assert loads == set(COMPUTED_NAMES)
    assert all(home.split(".")[0] == "model" and home in ALL for home in model._HOMES.values())
    named = {command for command in main.COMMANDS.values() if isinstance(command, str)}
    assert named == names_of_viz(ALL[STARTS_VIZ].read_text(encoding="utf-8")) <= set(ALL)


# -- scripts -----------------------------------------------------------------------------------------------------------

_SCRIPT_IMPORT = re.compile(r"""^\s*(?:import|export)\s(?:[^"';]*?\sfrom\s*)?["']([^"']+)["']""", re.MULTILINE)
_SCRIPT_LOAD = re.compile(r"""\b(?:import|importScripts|require)\(\s*([^)]*)""")
PAGES = {page.file.split("/")[1] for page in pages.PAGES}


def script_faults(script: Path, source: str) -> list[str]:
    """Returns the imports of a script in `viz` that are not of its own page or of what pages share, as sentences."""
    wrong = [f"{script} loads {text} while it runs" for text in _SCRIPT_LOAD.findall(source)]
    for name in _SCRIPT_IMPORT.findall(source):
        target = Path(os.path.normpath(script.parent / name))
        own, other = script.parts[1], target.parts[1]
        if not name.startswith(".") or target.parts[0] != "viz":
            wrong.append(f"{script} imports {name}, which is no script of viz")
        elif other in PAGES - {own}:
            wrong.append(f"{script} imports {target} of another page")
        elif own in PAGES and other not in (own, "shared"):
            wrong.append(f"{script} imports {target}; expected a script of its page, or of viz/shared")
    return wrong


def test_scripts_import_their_own_page_and_shared_scripts():
    scripts = [path.relative_to(ROOT) for path in sorted(ROOT.glob("viz/**/*.js"))]
    sources = {script: (ROOT / script).read_text(encoding="utf-8") for script in scripts}
    assert sum(len(_SCRIPT_IMPORT.findall(source)) for source in sources.values()) > 100
    assert [fault for script, source in sources.items() for fault in script_faults(script, source)] == []


@pytest.mark.parametrize(
    ("script", "source", "fault"),
    [
        ("viz/heads/a.js", 'import { b } from "../inside/b.js";', "viz/heads/a.js imports viz/inside/b.js of another page"),
        ("viz/heads/a.js", 'import {\n  b,\n  c,\n} from "../inside/b.js";', "viz/heads/a.js imports viz/inside/b.js of an"),
        ("viz/shared/a.js", 'import { b } from "../heads/b.js";', "viz/shared/a.js imports viz/heads/b.js of another page"),
        (
            "viz/shared/save/a.js",
            'export { b } from "../../heads/b.js";',
            "viz/shared/save/a.js imports viz/heads/b.js of ano",
        ),
        (
            "viz/heads/a.js",
            'import { b } from "../rooms/b.js";',
            "viz/heads/a.js imports viz/rooms/b.js; expected a script o",
        ),
        (
            "viz/heads/a.js",
            'import "https://example.org/b.js";',
            "viz/heads/a.js imports https://example.org/b.js, which is",
        ),
        (
            "viz/heads/a.js",
            'const b = await import("../inside/b.js");',
            'viz/heads/a.js loads "../inside/b.js" while it runs',
        ),
    ],
)
def test_wrong_script_imports_are_faults(script, source, fault):
    (found,) = script_faults(Path(script), source)
    assert found.startswith(fault)


@pytest.mark.parametrize(
    ("script", "source"),
    [
        ("viz/heads/a.js", 'import { b } from "./b.js";\nimport { c } from "../shared/c.js";'),
        ("viz/shared/save/a.js", 'import { b } from "../mount.js";'),
    ],
)
def test_right_script_imports_have_no_fault(script, source):
    assert script_faults(Path(script), source) == []


# -- what really happens on import ------------------------------------------------------------------------------------


def in_a_new_process(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_request_can_be_made_without_torch():
    named = ", ".join(WITHOUT_TORCH)
    in_a_new_process(
        f"import sys; sys.modules['torch'] = None\n"
        f"import model, {named}\n"
        f"from model import Decoding, Intervention, ModelConfig, Request\n"
        f"from model.inference.request import Request\n"
        f"assert Request('The fox.', intervention=Intervention(causal_mask=False)).pad == 0\n"
    )


def test_importing_the_package_loads_no_torch():
    in_a_new_process("import sys, model\nfrom model.inference.request import Request\nassert 'torch' not in sys.modules")


def test_figures_load_neither_streamlit_nor_torch():
    figures = [name for name in ALL if is_figure(name)]
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


@functools.cache
def calls(name: str) -> set[str]:
    """The last names of everything that a module calls."""
    nodes = ast.walk(ast.parse(ALL[name].read_text(encoding="utf-8")))
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    return {f.attr if isinstance(f, ast.Attribute) else f.id for f in called if isinstance(f, ast.Attribute | ast.Name)}


@pytest.mark.parametrize(
    ("function", "homes"),
    [
        # the formula, and the one faster path; the loss is over the vocabulary
        ("softmax", {"model.network.attention", "model.decoding.fast", "model.training.loss"}),
        ("scaled_dot_product_attention", {"model.network.lengths"}),
        ("register_forward_hook", set()),
        ("causal", {"model.network.masks"}),
        ("sliding_window", {"model.network.masks"}),
        ("tril", set()),
        ("triu", set()),
    ],
)
def test_masks_and_attention_weights_have_one_place(function, homes):
    assert {name for name in ALL if function in calls(name)} == homes
