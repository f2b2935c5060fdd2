"""What a file that needs no server is made of: components with what they draw, and what can be chosen there.

A component's script, after all that it imports, as one text: for the browser of the lab, and for a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from viz.cache import PageData
    from viz.state.view import View
    from viz.theme import Mode


@dataclass(frozen=True)
class Drawn:
    """A component: its name, its markup and style, and its script as an expression that gives its function."""

    name: str
    html: str
    css: str
    script: str


@dataclass(frozen=True)
class Part:
    """A component with its JSON values."""

    drawn: Drawn
    data: Mapping[str, Any]


@dataclass(frozen=True)
class Choice:
    """What can be chosen in the file: fields of the view that change together, and for each view that can be asked for the
    one that is drawn for it. What is drawn otherwise than by the view itself must not depend on the theme."""

    fields: tuple[str, ...]
    views: Mapping[View, View]


@dataclass(frozen=True)
class Pick:
    """A row of buttons above a part, or a list: a field of the view, and its values with their texts."""

    field: str
    label: str
    options: tuple[tuple[Any, str], ...]
    above: str  # the part
    listed: bool = False


@dataclass(frozen=True)
class Taken:
    """How a page is taken along.

    `look` has the view that is shown where the page's own has something that is not there, and `compute` what is needed
    beside the page's data. `parts` makes the components of a view in a theme, in their order; `told` has sentences above
    them, as our own markup. `choices` and `picks` are what can be chosen; what is chosen is kept as a difference from the
    parts of `base`, a view like the one that is shown. `also`: fields that an event of a component sets beside its own.
    `plain`: fields that the components change themselves, and that are in the link. `led`: fields that who shows the page to
    others can set while it is seen, by their names in the data of its components, and the values that each may have; none:
    whole numbers. `holds`: whether the file shows what the page shows of a view. `large`: of each picture that a lecture
    shows alone, in the order of the view's `large`, where it stands in the file: the part, and a selector within it.
    `large_of`: the same, where it depends on what the checkpoint does.
    `rounded`: names of packed numbers in the parts, or of what holds them, that are printed with five decimals at most.
    """

    parts: Callable[[PageData, Any, View, Mode], tuple[Part, ...]]
    compute: Callable[[PageData], Any] = lambda page_data: None
    look: Callable[[PageData], View] = lambda page_data: page_data.view  # what is shown where the view has something else
    base: Callable[[View], View] = lambda view: view
    told: Callable[[PageData, Any], tuple[str, ...]] = lambda page_data, found: ()
    choices: Callable[[PageData], tuple[Choice, ...]] = lambda page_data: ()
    picks: Callable[[PageData], tuple[Pick, ...]] = lambda page_data: ()
    also: Mapping[str, Mapping[str, Any]] | None = None
    plain: tuple[str, ...] = ("step", "stage", "rows")
    led: Callable[[PageData], Mapping[str, tuple[Any, ...]]] = lambda page_data: {}
    holds: Callable[[View], bool] = lambda view: True
    large: tuple[tuple[str, str], ...] = ()
    large_of: Callable[[PageData], tuple[tuple[str, str], ...]] | None = None
    rounded: frozenset[str] = frozenset()


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
