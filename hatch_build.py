"""Build hook of the wheel: one package, `attention_lab`, from the folders `model/` and `viz/` of the repository.

`model/` becomes `attention_lab/`; its imports are relative. `viz/` and app.py become `attention_lab/viz/`. Streamlit runs
app.py and pages as scripts, so their imports are absolute. The hook renames modules in these import statements only.
"""

from __future__ import annotations

import ast
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "attention_lab"
NAMES = {"model": PACKAGE, "viz": f"{PACKAGE}.viz"}  # packages of the repository and their names in the wheel
SCRIPTS = ("app.py", "viz", "model/__init__.pyi")  # files with absolute imports
ALIAS = "deploy/editable_alias.py"  # the package attention_lab of an editable install


def renamed(name: str) -> str:
    """Returns the name in the wheel of a module of the repository; other names stay."""
    first, dot, rest = name.partition(".")
    return NAMES.get(first, first) + dot + rest


def absolute_imports(source: str) -> Iterator[tuple[int, int, str]]:
    """Yields line (from 1), column (in bytes) and name of each module that an absolute import names.

    Raises ValueError for `import model.x` without `as`, because it binds the name `model`.
    """
    lines = source.encode().splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and not node.level and node.module:
            start = node.col_offset + len(b"from ")
            yield node.lineno, start, node.module
            if not lines[node.lineno - 1][start:].startswith(node.module.encode()):
                raise ValueError(f"line {node.lineno}: expected one space between from and {node.module}")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname is None and alias.name.partition(".")[0] in NAMES:
                    raise ValueError(f"line {alias.lineno}: import {alias.name} needs a name; write from ... import")
                yield alias.lineno, alias.col_offset, alias.name


def rename_imports(source: str) -> str:
    """Returns source with the import statements of the wheel. Texts, comments and all other code stay."""
    lines = source.encode().splitlines(keepends=True)
    for number, column, name in sorted(absolute_imports(source), reverse=True):
        line = lines[number - 1]
        lines[number - 1] = line[:column] + renamed(name).encode() + line[column + len(name.encode()) :]
    return b"".join(lines).decode()


def write_scripts(root: Path, folder: Path) -> dict[str, str]:
    """Writes the files with renamed imports into `folder`. Returns the place in the wheel of each path.

    Raises ValueError with the file for an import that cannot be renamed.
    """
    places = {}
    for top in SCRIPTS:
        for file in [root / top] if (root / top).is_file() else sorted((root / top).rglob("*.py")):
            path = file.relative_to(root)
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                target.write_text(rename_imports(file.read_text(encoding="utf-8")), encoding="utf-8")
            except ValueError as fault:
                raise ValueError(f"{path}: {fault}") from None
            name = path.as_posix().removeprefix("model/")
            places[str(target)] = f"{PACKAGE}/viz/{name}" if name == "app.py" else f"{PACKAGE}/{name}"
    return places


class WheelHook(BuildHookInterface):
    """Adds the files with renamed imports to the wheel. An editable install gets an alias instead."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        if version == "editable":
            build_data["force_include_editable"][str(root / ALIAS)] = f"{PACKAGE}/__init__.py"
            return
        self.folder = Path(tempfile.mkdtemp())
        build_data["force_include"].update(write_scripts(root, self.folder))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            shutil.rmtree(self.folder, ignore_errors=True)
