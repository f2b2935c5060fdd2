"""Records of the stages of a head, of the residual connection and of the feed-forward network, with their source lines."""

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

from ...network.layers import FeedForward, Residual
from ...trace import Streams

HERE = Path(__file__).parents[2] / "network"


@dataclass(frozen=True)
class Reference:
    """A place in the source: a file of `model/network`, a function (`Class.method`) and a name that it assigns.

    `calls` selects one of several assignments by a function that it calls.
    """

    file: str
    function: str
    name: str
    calls: str = ""


@dataclass(frozen=True)
class SourceLines:
    """Lines of a file without their common indentation. `number` is the line number of the first."""

    file: str
    function: str
    number: int
    text: str


@cache
def source_lines(reference: Reference, folder: Path = HERE) -> tuple[SourceLines, ...]:
    """Returns every statement of the function that assigns the name, in order.

    Raises:
        LookupError: The file has no such function, or the function assigns no such name.
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
    statements = []
    for node in ast.walk(body):
        if reference.name in _assigned(node) and (not reference.calls or reference.calls in _called(node)):
            text = textwrap.dedent("\n".join(rows[node.lineno - 1 : node.end_lineno]))
            statements.append(SourceLines(reference.file, reference.function, node.lineno, text))
    if not statements:
        raise LookupError(f"{reference.function} of {reference.file} assigns no {reference.name}")
    return tuple(sorted(statements, key=lambda lines: lines.number))


def _assigned(node: ast.AST) -> set[str]:
    """Returns the names that a statement assigns."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
    return {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}


def _called(node: ast.AST) -> set[str]:
    """Returns the names of the functions and methods that a statement calls."""
    calls = [n.func for n in ast.walk(node) if isinstance(n, ast.Call)]
    return {f.id if isinstance(f, ast.Name) else f.attr for f in calls if isinstance(f, ast.Name | ast.Attribute)}


@dataclass(frozen=True)
class StageTable:
    """Named rows of numbers, values float32 [R,C].

    `totals` [R] has one number a row, `foot` [C] combines the rows. `allowed` [R] is False for rows that the mask hides.
    """

    name: str
    rows: tuple[str, ...]
    values: np.ndarray
    unit: str = "dimension"  # name of a column
    kind: str = "signed"  # or "weights", from 0 to 1
    marked: int | None = None  # the row of the query's token, or of the chosen head
    totals: np.ndarray | None = None
    total_name: str = ""
    foot: np.ndarray | None = None
    foot_name: str = ""
    allowed: tuple[bool, ...] | None = None


@dataclass(frozen=True)
class StageShape:
    """A tensor of the stage: its name in the source, and its shape in letters and in numbers."""

    name: str
    letters: str
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Stage:
    """One step of the computation. `edited` is True where an edit changes it here."""

    name: str
    tables: tuple[StageTable, ...]
    shapes: tuple[StageShape, ...]
    code: tuple[Reference, ...]
    edited: bool = False


def residual_stages(name: str, residual: Residual, x: Tensor, added: Tensor, after: Tensor, queries: int) -> list[Stage]:
    """Returns the stages of a residual connection, all vectors [D]. `edited` is True for a skipped sub-layer."""
    total = x + added
    plain = total if residual.norm_first else residual.norm(total)
    skipped = not torch.allclose(plain, after, atol=1e-4, rtol=1e-4)
    if skipped:
        added, total = torch.zeros_like(x), x
    rows = torch.stack((x, added))  # [2,D]
    table = StageTable("stream", ("before", "added"), array_of(rows), totals=array_of(rows.norm(dim=-1)), total_name="norm")
    where = (StageShape("total", "[B,T,D]", (1, queries, len(x))),)
    code = tuple(Reference("layers.py", "Residual.forward", each) for each in ("added", "total"))
    stages = [Stage(name, (with_foot(table, total, "after"),), where, code, skipped)]
    if not residual.norm_first:
        tables = (
            StageTable("total", ("total",), array_of(total[None])),
            StageTable("norm", ("norm",), array_of(after[None])),
        )
        stages.append(Stage(f"{name}_norm", tables, where, (Reference("layers.py", "Residual.forward", "output"),)))
    return stages


def feed_forward_stages(network: FeedForward, residual: Residual, around: Streams, t: int, query_label: str) -> list[Stage]:
    """Returns the stages of a feed-forward network at position t, and of its residual connection."""
    x, after = around  # [T,D]
    queries, width = x.shape
    stages = []
    read = residual.norm(x[t]) if residual.norm_first else x[t]  # [D]
    if residual.norm_first:
        tables = (
            StageTable("x", (query_label,), array_of(x[t : t + 1])),
            StageTable("read", (query_label,), array_of(read[None])),
        )
        code = (Reference("layers.py", "Residual.forward", "read"),)
        stages.append(Stage("ff_norm", tables, (StageShape("read", "[B,T,D]", (1, queries, width)),), code))
    inner = network.inner(read)  # [F]
    active = network.activation(inner) if network.gate is None else network.activation(network.gate(read)) * inner  # [F]
    output = network.outer(active)  # [D]

    def stage(name: str, values: Tensor, letters: str) -> Stage:
        where = (StageShape(name, letters, (1, queries, len(values))),)
        unit = "unit" if letters.endswith("F]") else "dimension"
        code = (Reference("layers.py", "FeedForward.forward", name),)
        return Stage(f"ff_{name}", (StageTable(name, (query_label,), array_of(values[None]), unit),), where, code)

    stages += [stage("inner", inner, "[B,T,F]"), stage("active", active, "[B,T,F]"), stage("output", output, "[B,T,D]")]
    return stages + residual_stages("ff_residual", residual, x[t], output, after[t], queries)


def with_foot(table: StageTable, foot: Tensor, name: str) -> StageTable:
    return dataclasses.replace(table, foot=array_of(foot), foot_name=name)


def array_of(tensor: Tensor) -> np.ndarray:
    array = tensor.detach().float().cpu().numpy().copy()
    array.flags.writeable = False
    return array
