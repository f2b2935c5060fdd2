"""The very lines of the program that compute something, found in the source by the names that they assign."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent.parent / "network"


@dataclass(frozen=True)
class Reference:
    """Where to look: a file of `model/network`, a function (`Class.method`), a name that it assigns, and, where the name is
    assigned more than once, a function that the wanted assignment calls."""

    file: str
    function: str
    name: str
    calls: str = ""


@dataclass(frozen=True)
class Lines:
    """Lines of a file as they stand there, without their common indentation; `number` is that of the first."""

    file: str
    function: str
    number: int
    text: str


@cache
def find(reference: Reference, folder: Path = HERE) -> tuple[Lines, ...]:
    """Every statement of the function that assigns the name, in their order.

    Raises LookupError where the file has no such function, or the function assigns no such name.
    """
    path = folder / reference.file
    source = path.read_text(encoding="utf-8")
    body: ast.AST = ast.parse(source)
    for part in reference.function.split("."):
        inside = [n for n in ast.iter_child_nodes(body) if isinstance(n, ast.FunctionDef | ast.ClassDef) and n.name == part]
        if not inside:
            raise LookupError(f"{reference.file} has no {reference.function}")
        body = inside[0]
    rows = source.splitlines()
    found = []
    for node in ast.walk(body):
        if reference.name in _assigned(node) and (not reference.calls or reference.calls in _called(node)):
            text = textwrap.dedent("\n".join(rows[node.lineno - 1 : node.end_lineno]))
            found.append(Lines(reference.file, reference.function, node.lineno, text))
    if not found:
        raise LookupError(f"{reference.function} of {reference.file} assigns no {reference.name}")
    return tuple(sorted(found, key=lambda lines: lines.number))


def _assigned(node: ast.AST) -> set[str]:
    """The names that a statement assigns."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
    return {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}


def _called(node: ast.AST) -> set[str]:
    """The names of the functions and methods that are called in a statement."""
    calls = [n.func for n in ast.walk(node) if isinstance(n, ast.Call)]
    return {f.id if isinstance(f, ast.Name) else f.attr for f in calls if isinstance(f, ast.Name | ast.Attribute)}
