"""Types of the public names: the stub names the same modules as the package, and the strict check covers them."""

from __future__ import annotations

import ast
import inspect
import tomllib
from pathlib import Path

import model

ROOT = Path(__file__).resolve().parent.parent
CHECKED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]


def test_the_stub_names_the_modules_of_the_package():
    tree = ast.parse((ROOT / "model" / "__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert all(alias.name == alias.asname for node in imports for alias in node.names), "a stub exports names with as"
    homes = {alias.name: "." * node.level + (node.module or "") for node in imports for alias in node.names}
    assert homes == model._MODULES
    assert (ROOT / "model" / "py.typed").is_file()


def test_the_strict_check_covers_the_public_modules():
    homes = {home if home.startswith(".") else f"{home}.__init__" for home in model._MODULES.values()}
    files = {f"{home.replace('.', '/')}.py" if home[0] != "." else f"model{home.replace('.', '/')}.py" for home in homes}
    assert files | {"model/__init__.pyi", "tests/support/typed_use.py"} <= set(CHECKED["files"])
    assert CHECKED["strict"] and all((ROOT / name).is_file() for name in CHECKED["files"])
    sources = [(ROOT / name).read_text(encoding="utf-8") for name in CHECKED["files"] if name.startswith("model/")]
    assert not any("type: ignore" in source or "mypy:" in source for source in sources)


def test_keywords_are_named_in_every_signature():
    functions = [value for name in model.__all__ if inspect.isfunction(value := getattr(model, name))]
    parameters = {function.__name__: inspect.signature(function).parameters for function in functions}
    assert not any(each.kind is each.VAR_KEYWORD for own in parameters.values() for each in own.values())
    shown, listed, saved = (list(parameters[name]) for name in ("show", "heads", "save_html"))
    assert shown == listed and {*shown} - {"height"} == {*saved} - {"path"}
