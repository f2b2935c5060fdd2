"""What is installed: pyproject.toml against the tree. (A real installation takes the network, and is not tried here.)"""

from __future__ import annotations

import ast
import importlib
import tomllib
from pathlib import Path

import model
from model.io import folders

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WHEEL = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
LARGEST = 30_000_000  # bytes of one file


def in_the_wheel() -> dict[str, Path]:
    """Every file of the wheel by its place there."""
    found: dict[str, Path] = {}
    for name in WHEEL["only-include"]:
        place = ROOT / name
        for file in [place] if place.is_file() else place.rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                home = WHEEL["sources"].get(name, name)
                found[home if place.is_file() else f"{home}/{file.relative_to(place).as_posix()}"] = file
    return found


def test_what_it_needs_is_what_the_requirements_say():
    lines = (line.partition("#")[0].strip() for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines())
    assert PROJECT["project"]["dependencies"] == [line for line in lines if line]


def test_the_wheel_holds_all_that_the_lab_is_made_of():
    files = in_the_wheel()
    assert {"app.py", "viz/.streamlit/config.toml", "viz/lab.css", "viz/mark.svg", "model/__main__.py"} <= set(files)
    parts = ("config.json", "tokenizer.json", "model.safetensors")
    shipped = ("en-fr", "en-fr-peek", "en-fr-learned")
    assert {f"model/checkpoints/{name}/{part}" for name in shipped for part in parts} <= set(files)
    assert {f"model/checkpoints/{name}.txt" for name in ("probes", "probes-more", "examples")} <= set(files)
    assert max(file.stat().st_size for file in files.values()) < LARGEST


def test_the_checkpoints_lie_where_they_are_looked_for():
    """Beside the package in the project, in it where it is installed."""
    package = Path(model.__file__).resolve().parent
    assert folders.SHIPPED == ROOT / "checkpoints"
    assert package / Path(WHEEL["sources"]["checkpoints"]).relative_to("model") == folders._INSTALLED


def test_the_page_finds_its_configuration():
    source = (ROOT / "viz" / "server" / "serve.py").read_text(encoding="utf-8")
    assert WHEEL["sources"][".streamlit"] == "viz/.streamlit"
    assert 'os.chdir(ROOT if (ROOT / ".streamlit").is_dir() else ROOT / "viz")' in source


def test_the_version_and_the_command_are_there():
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "model/__init__.py"
    assert model.__version__.count(".") == 2
    for entry in PROJECT["project"]["scripts"].values():
        module, function = entry.split(":")
        assert callable(getattr(importlib.import_module(module), function))


def test_only_folders_module_names_the_checkpoint_folder():
    """A key of a file may be called so; a path may not."""
    files = [file for name, file in in_the_wheel().items() if name.endswith(".py")]
    assert {file.name for file in files if _in_a_path("checkpoints", file.read_text(encoding="utf-8"))} == {"folders.py"}


def _in_a_path(name: str, source: str) -> bool:
    """True where a source joins the name to a path, or begins one with it."""
    if name not in source:
        return False
    for node in ast.walk(ast.parse(source)):
        joins = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
        makes = isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("Path", "join", "joinpath")
        parts = [node.left, node.right] if joins else node.args if makes else []
        texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        if any(text.split("/")[0] == name for text in texts):
            return True
    return False
