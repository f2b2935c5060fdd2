"""Joins ES modules into minified scripts, each module once and in a scope of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import minify

VIZ = Path(__file__).resolve().parents[2]
SHARED = "globalThis.attentionLabModules"  # the exports of each module, by its path below `viz/`
_IMPORT = re.compile(r'^import (?:\{([^}]*)\}|\* as (\w+)|(\w+)) from "([^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?:async )?(?:function\*?|const|class|let) (\w+)", re.MULTILINE)
_MAIN = re.compile(r"^export default (async )?function(?: \w+)?", re.MULTILINE)
_KEYWORD = re.compile(r"^export ", re.MULTILINE)


def bundles(mains: Sequence[tuple[Path, Any]]) -> list[str]:
    """Returns a script for each module in `mains`, in the order in which a page runs them.

    A script brings the imports that the scripts before it lack, and calls the export `main` of its module with a JSON value.
    """
    modules: dict[Path, str] = {}
    scripts = []
    for main, value in mains:
        earlier = len(modules)
        _add(main.resolve(), modules)
        own = "".join([*modules.values()][earlier:])
        call = f"modules[{json.dumps(name_of(main))}].main({json.dumps(value, ensure_ascii=False)});"
        scripts.append(
            minified(
                "application/javascript",
                f'(() => {{\n"use strict";\nconst modules = {SHARED} ??= {{}};\n{own}{call}\n}})();',
            )
        )
    return scripts


def minified(kind: str, text: str) -> str:
    """Returns a script or style (its media type is `kind`) without comments and spaces, with short local names."""
    return minify.string(kind, text)


def name_of(script: Path) -> str:
    """Returns the key of a script in `modules`."""
    return script.resolve().relative_to(VIZ).as_posix()


def _add(script: Path, done: dict[Path, str]) -> None:
    if script in done:
        return
    text = script.read_text(encoding="utf-8")
    for *_, name in _IMPORT.findall(text):
        _add((script.parent / name).resolve(), done)

    def imported(match: re.Match[str]) -> str:
        names, whole, default, place = match.groups()
        listed = f"main: {default}" if default else (names or "").strip().rstrip(",").replace(" as ", ": ")
        taken = whole or f"{{ {listed} }}"
        return f"const {taken} = modules[{json.dumps(name_of(script.parent / place))}];\n"

    names = _EXPORT.findall(text)
    body = _KEYWORD.sub("", _MAIN.sub(lambda match: f"{match[1] or ''}function main", _IMPORT.sub(imported, text)))
    if _MAIN.search(text):
        names.append("main")
    assert "export " not in {line[:7] for line in body.splitlines()}
    done[script] = f"modules[{json.dumps(name_of(script))}] = (() => {{\n{body}return {{ {', '.join(names)} }};\n}})();\n"
