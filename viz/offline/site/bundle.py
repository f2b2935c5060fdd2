"""Joins ES modules into one script, each module once and in a scope of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

VIZ = Path(__file__).resolve().parents[2]
_IMPORT = re.compile(r'^import (?:\{([^}]*)\}|\* as (\w+)|(\w+)) from "([^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?:async )?(?:function\*?|const|class|let) (\w+)", re.MULTILINE)
_MAIN = re.compile(r"^export default (async )?function(?: \w+)?", re.MULTILINE)
_KEYWORD = re.compile(r"^export ", re.MULTILINE)
_LINES = re.compile(r"^[ \t]*//.*\n|^[ \t]+", re.MULTILINE)  # comments, and indentation
_BLOCKS = re.compile(r"^/\*\*.*?\*/\n", re.MULTILINE | re.DOTALL)


def bundle(scripts: Iterable[Path]) -> str:
    """Returns a script that defines `modules`: the exports of each script and of its imports, by path below `viz/`.

    The default export of a module is `main`.
    """
    done: dict[Path, str] = {}
    for script in scripts:
        _add(script.resolve(), done)
    return "const modules = {};\n" + "".join(done.values())


def compact(script: str) -> str:
    """Returns a script without comment lines and indentation; no text of it may go over several lines."""
    assert not any(line.count("`") % 2 for line in script.splitlines())
    return _BLOCKS.sub("", _LINES.sub("", script))


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
