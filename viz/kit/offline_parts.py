"""Parts of an HTML file that needs no server: components with data, choices, and scripts joined with their imports."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from viz.page_context import PageContext
    from viz.state.view import View
    from viz.theme import Mode


@dataclass(frozen=True)
class ComponentAssets:
    """The files of a component; `script` is an expression that returns its function."""

    name: str
    html: str
    css: str
    script: str


@dataclass(frozen=True)
class Part:
    """A component with its JSON values."""

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


@dataclass(frozen=True)
class HtmlExport:
    """The export of a page to an HTML file.

    Fields:
        parts: returns the components of a view in a theme, in order.
        compute: returns the page's own result.
        default_view: returns the shown view if the page's own one has something missing.
        base: returns the view whose parts other choices differ from.
        notes: returns sentences above the parts, as markup.
        choices, picks: return the choices of the reader and their buttons.
        extra_fields: fields that an event of a component also sets.
        component_fields: link fields that components change themselves.
        remote_fields: fields that a lecturer can set remotely, with their allowed values; no values: whole numbers.
        can_show: True if the file can show a view.
        lecture_pictures: part and selector of each picture of lecture mode, in the order of the view's `large`.
        lecture_pictures_of: the same, if it depends on the checkpoint's task.
        rounded: names of packed numbers with five decimals at most.
    """

    parts: Callable[[PageContext, Any, View, Mode], tuple[Part, ...]]
    compute: Callable[[PageContext], Any] = lambda context: None
    default_view: Callable[[PageContext], View] = lambda context: context.view
    base: Callable[[View], View] = lambda view: view
    notes: Callable[[PageContext, Any], tuple[str, ...]] = lambda context, result: ()
    choices: Callable[[PageContext], tuple[Choice, ...]] = lambda context: ()
    picks: Callable[[PageContext], tuple[Pick, ...]] = lambda context: ()
    extra_fields: Mapping[str, Mapping[str, Any]] | None = None
    component_fields: tuple[str, ...] = ("step", "stage", "rows")
    remote_fields: Callable[[PageContext], Mapping[str, tuple[Any, ...]]] = lambda context: {}
    can_show: Callable[[View], bool] = lambda view: True
    lecture_pictures: tuple[tuple[str, str], ...] = ()
    lecture_pictures_of: Callable[[PageContext], tuple[tuple[str, str], ...]] | None = None
    rounded: frozenset[str] = frozenset()


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
