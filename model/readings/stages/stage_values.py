"""The stages of a head as records, and those around it: of the residual connection and of the feed-forward network.

The very lines of the program that compute something, found in the source by the names that they assign."""

from __future__ import annotations

import ast
import dataclasses
import textwrap
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from model.network.layers import FeedForward, Residual
from model.trace import Streams

HERE = Path(__file__).parents[2] / "network"


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


@dataclass(frozen=True)
class Table:
    """Rows of numbers with their names: values float32 [R,C]. `totals` [R] are sums over a row, `foot` [C] stands below the
    rows and is what they make together; `allowed` [R] is False for rows that the mask takes out."""

    name: str
    rows: tuple[str, ...]
    values: np.ndarray
    unit: str = "dimension"  # what a column is
    kind: str = "signed"  # or "weights": from 0 to 1
    marked: int | None = None  # the row of the token that asks, or of the head that is looked at
    totals: np.ndarray | None = None
    total_name: str = ""
    foot: np.ndarray | None = None
    foot_name: str = ""
    allowed: tuple[bool, ...] | None = None


@dataclass(frozen=True)
class Shape:
    """A tensor of the stage: its name in the source, its shape in letters and in this sentence's numbers."""

    name: str
    letters: str
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Stage:
    """One step of the computation; `edited` where an edit changes it here."""

    name: str
    tables: tuple[Table, ...]
    shapes: tuple[Shape, ...]
    code: tuple[Reference, ...]
    edited: bool = False


def residual_stages(name: str, residual: Residual, x: Tensor, added: Tensor, after: Tensor, queries: int) -> list[Stage]:
    """What a sub-layer adds to the stream, all [D]; in post-norm a norm follows. `edited` where it is skipped."""
    whole = x + added
    plain = whole if residual.norm_first else residual.norm(whole)
    skipped = not torch.allclose(plain, after, atol=1e-4, rtol=1e-4)
    added, whole = (torch.zeros_like(x), x) if skipped else (added, whole)
    rows = torch.stack((x, added))  # [2,D]
    table = Table("stream", ("before", "added"), array_of(rows), totals=array_of(rows.norm(dim=-1)), total_name="norm")
    where = (Shape("total", "[B,T,D]", (1, queries, len(x))),)
    code = tuple(Reference("layers.py", "Residual.forward", each) for each in ("added", "total"))
    made = [Stage(name, (with_foot(table, whole, "after"),), where, code, skipped)]
    if not residual.norm_first:
        tables = (Table("total", ("total",), array_of(whole[None])), Table("norm", ("norm",), array_of(after[None])))
        made.append(Stage(f"{name}_norm", tables, where, (Reference("layers.py", "Residual.forward", "output"),)))
    return made


def feed_forward_stages(network: FeedForward, residual: Residual, around: Streams, t: int, asks: str) -> list[Stage]:
    x, after = around  # [T,D]
    queries, width = x.shape
    made = []
    read = residual.norm(x[t]) if residual.norm_first else x[t]  # [D]
    if residual.norm_first:
        tables = (Table("x", (asks,), array_of(x[t : t + 1])), Table("read", (asks,), array_of(read[None])))
        code = (Reference("layers.py", "Residual.forward", "read"),)
        made.append(Stage("ff_norm", tables, (Shape("read", "[B,T,D]", (1, queries, width)),), code))
    inner = network.inner(read)  # [F]
    active = network.activation(inner) if network.gate is None else network.activation(network.gate(read)) * inner  # [F]
    output = network.outer(active)  # [D]

    def stage(name: str, values: Tensor, letters: str) -> Stage:
        where = (Shape(name, letters, (1, queries, len(values))),)
        unit = "unit" if letters.endswith("F]") else "dimension"
        code = (Reference("layers.py", "FeedForward.forward", name),)
        return Stage(f"ff_{name}", (Table(name, (asks,), array_of(values[None]), unit),), where, code)

    made += [stage("inner", inner, "[B,T,F]"), stage("active", active, "[B,T,F]"), stage("output", output, "[B,T,D]")]
    return made + residual_stages("ff_residual", residual, x[t], output, after[t], queries)


def with_foot(table: Table, foot: Tensor, name: str) -> Table:
    return dataclasses.replace(table, foot=array_of(foot), foot_name=name)


def array_of(tensor: Tensor) -> np.ndarray:
    array = tensor.detach().float().cpu().numpy().copy()
    array.flags.writeable = False
    return array
