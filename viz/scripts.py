"""A component's script, after all that it imports, as one text: for the browser of the lab, and for a file."""

from __future__ import annotations

import re
from pathlib import Path

_IMPORT = re.compile(r'^import \{[^}]*\} from "([^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)
_MAIN = re.compile(r"^export default function\b", re.MULTILINE)
_UNPACKED = """
export default (given) => attentionLabMain({ ...given, data: JSON.parse(new TextDecoder().decode(given.data)) });
"""


def joined(script: Path, before: list[Path] | None = None) -> str:
    """A script after all that it imports, each once, as the one text that the browser gets: no file can be fetched there."""
    before = [] if before is None else before
    before.append(script.resolve())
    text = script.read_text(encoding="utf-8")
    needed = [(script.parent / name).resolve() for name in _IMPORT.findall(text)]
    parts = [joined(path, before) for path in needed if path not in before]
    return "".join([*parts, _EXPORT.sub("", _IMPORT.sub("", text))])


def unpacking(script: str) -> str:
    """A joined script that reads its payload from bytes, as `packed` makes them."""
    return _MAIN.sub("const attentionLabMain = function", script) + _UNPACKED


def in_a_file(script: str) -> str:
    """A joined script that stands beside those of other components, each in a function of its own."""
    return f"(() => {{\n{_MAIN.sub('const attentionLabMain = function', script)}\nreturn attentionLabMain;\n}})()"
