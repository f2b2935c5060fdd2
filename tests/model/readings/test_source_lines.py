"""Lines of the program, found by the names that they assign."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from model.readings.source_lines import HERE, Lines, Reference, find

SOURCE = '''"""A module."""


def plain(x):
    total = x + 1  # the first
    other = total
    total = scale(
        total,
        by=2,
    )
    total += 1
    left, (right, *rest) = other, (1, 2)
    if x:
        deep = twice(x) if x else half(x)
    return total


class First:
    def forward(self, x):
        q = self.split(x)
        q = turn(q)
        return q


class Second:
    def forward(self, x):
        q = "the second"
        return q
'''


def look(folder: Path, function: str, name: str, calls: str = "", source: str = SOURCE) -> tuple[Lines, ...]:
    (folder / "module.py").write_text(source, encoding="utf-8")
    return find(Reference("module.py", function, name, calls), folder)


@pytest.mark.parametrize(
    ("function", "name", "calls", "expected"),
    [
        ("plain", "other", "", [(6, "other = total")]),
        (
            "plain",
            "total",
            "",
            [(5, "total = x + 1  # the first"), (7, "total = scale(\n    total,\n    by=2,\n)"), (11, "total += 1")],
        ),
        ("plain", "total", "scale", [(7, "total = scale(\n    total,\n    by=2,\n)")]),
        ("plain", "right", "", [(12, "left, (right, *rest) = other, (1, 2)")]),
        ("plain", "rest", "", [(12, "left, (right, *rest) = other, (1, 2)")]),
        ("plain", "deep", "", [(14, "deep = twice(x) if x else half(x)")]),
        ("plain", "deep", "half", [(14, "deep = twice(x) if x else half(x)")]),
        ("First.forward", "q", "", [(20, "q = self.split(x)"), (21, "q = turn(q)")]),
        ("First.forward", "q", "split", [(20, "q = self.split(x)")]),
        ("First.forward", "q", "turn", [(21, "q = turn(q)")]),
        ("Second.forward", "q", "", [(27, 'q = "the second"')]),
    ],
)
def test_statements_are_located_by_the_assigned_name(tmp_path, function, name, calls, expected):
    found = look(tmp_path, function, name, calls)
    assert [(lines.number, lines.text) for lines in found] == expected
    assert {(lines.file, lines.function) for lines in found} == {("module.py", function)}


@pytest.mark.parametrize(
    ("function", "name", "calls", "named"),
    [
        ("missing", "q", "", ("module.py", "missing")),
        ("First.backward", "q", "", ("module.py", "First.backward")),
        ("Third.forward", "q", "", ("module.py", "Third.forward")),
        ("First.forward", "missing", "", ("First.forward", "missing")),
        ("First.forward", "q", "nobody", ("First.forward", "q")),
        ("plain", "scale", "", ("plain", "scale")),  # called there, never assigned
        ("plain", "x", "", ("plain", "x")),  # an argument
    ],
)
def test_what_is_not_there_is_named(tmp_path, function, name, calls, named):
    with pytest.raises(LookupError) as fault:
        look(tmp_path, function, name, calls)
    assert all(word in str(fault.value) for word in named)


def test_lines_of_the_attention_formula_are_located():
    products, scores, scaled = find(Reference("attention.py", "attention", "products")) + find(
        Reference("attention.py", "attention", "scores")
    )
    assert products.text.startswith("products = query @ key.transpose(-2, -1)")
    assert scores.text.startswith("scores = products / math.sqrt(query.size(-1))")
    assert scaled.text.startswith("scores = edits.scale(")
    rows = (HERE / "attention.py").read_text(encoding="utf-8").splitlines()
    for lines in (products, scores, scaled):
        assert rows[lines.number - 1].strip() == lines.text
        assert ast.parse(textwrap.dedent(lines.text))
