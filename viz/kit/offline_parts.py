"""Parts of an HTML file that needs no server: components with data, choices, and scripts joined with their imports."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from viz.state.view import View


@dataclass(frozen=True)
class ComponentAssets:
    """The files of a component; `script` is an expression that returns its function."""

    name: str
    html: str
    css: str
    script: str


@dataclass(frozen=True)
class Part:
    """A component with its JSON values, under a name of its own in the file."""

    name: str
    assets: ComponentAssets
    data: Mapping[str, Any]


@dataclass(frozen=True)
class Choice:
    """A choice in the file: fields of the view that change together, and the drawn view for each chosen view.

    A replaced view must not depend on the theme.
    """

    fields: tuple[str, ...]
    views: Mapping[View, View]


@dataclass(frozen=True)
class Pick:
    """A row of buttons, or a list, above a part: a field of the view and its values with their texts."""

    field: str
    label: str
    options: tuple[tuple[Any, str], ...]
    above: str  # the part
    listed: bool = False


_IMPORT = re.compile(r'^import \{[^}]*\} from "([^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)
_MAIN = re.compile(r"^export default function\b", re.MULTILINE)


def joined(script: Path, before: list[Path] | None = None) -> str:
    """Returns a script after its imports, each once, as one text, since the browser cannot fetch files."""
    before = [] if before is None else before
    before.append(script.resolve())
    text = script.read_text(encoding="utf-8")
    needed = [(script.parent / name).resolve() for name in _IMPORT.findall(text)]
    parts = [joined(path, before) for path in needed if path not in before]
    return "".join([*parts, _EXPORT.sub("", _IMPORT.sub("", text))])


def in_a_file(script: str) -> str:
    """Returns a joined script in its own function, for a file with several components."""
    return f"(() => {{\n{_MAIN.sub('const attentionLabMain = function', script)}\nreturn attentionLabMain;\n}})()"
