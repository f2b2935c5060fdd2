"""Names and docstrings of the program: no bare participles, no class or file name twice, docstrings with a subject.

`python -m tests.test_names [FOLDER]` lists what is wrong, local variables included.
"""

from __future__ import annotations

import ast
import collections
import functools
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BANNED = frozenset(("told", "found", "shown", "asked", "kept", "made", "given", "held", "drawn", "taken", "begun"))
BANNED |= {"most", "least", "whole", "at", "beside", "anew", "said"}
# Folders of pages, whose code is replaced page by page.
PAGES = frozenset(("compare", "decoding_steps", "fill", "heads", "inside", "judge", "lessons", "positions", "training"))
PAGES |= {"translate", "variants", "what_if", "why"}
OPENINGS = ("What ", "How ", "Whether ", "The same")
SAME_NAME = {"__init__.py", "__main__.py", "page.py"}  # and files of page folders
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


def is_page(path: Path) -> bool:
    parts = path.relative_to(ROOT).parts
    return parts[0] == "viz" and parts[1] in PAGES


@functools.cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def files(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")) if not is_page(path)]


def sources(*folders: str) -> dict[Path, ast.Module]:
    return {path: parse(path) for path in files(*folders)}


def declared(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """Yields line, kind and name of each function, class, field and argument."""
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS):
            yield node.lineno, "function", node.name
            every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
            yield from ((each.lineno, "argument", each.arg) for each in every if each)
        elif isinstance(node, ast.ClassDef):
            yield node.lineno, "class", node.name
            for each in node.body:
                targets = [each.target] if isinstance(each, ast.AnnAssign) else getattr(each, "targets", [])
                yield from ((each.lineno, "field", target.id) for target in targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, "field", node.attr


def variables(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, "variable", node.id


def is_banned(name: str) -> bool:
    return name.strip("_").lower() in BANNED


def openings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yields line and docstring where a docstring does not begin with its subject."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | FUNCTIONS):
            text = ast.get_docstring(node) or ""
            if text.startswith(OPENINGS):
                yield getattr(node, "lineno", 1), text.splitlines()[0]


def classes(trees: dict[Path, ast.Module]) -> dict[str, list[Path]]:
    names = collections.defaultdict(list)
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                names[node.name].append(path)
    return {name: places for name, places in names.items() if len(places) > 1}


def test_no_name_is_a_bare_participle():
    wrong = []
    for path, tree in sources("model", "viz", "tests/support", "benchmarks").items():
        wrong += [f"{path}:{n} {kind} {name}" for n, kind, name in declared(tree) if is_banned(name)]
    assert wrong == []


def test_no_class_name_occurs_twice():
    assert classes(sources("model", "viz")) == {}


def test_no_file_name_is_repeated():
    names = collections.Counter(path.name for path in files("model", "viz"))
    assert {name: count for name, count in names.items() if count > 1 and name not in SAME_NAME} == {}


def test_docstrings_begin_with_their_subject():
    assert sum(len(list(openings(tree))) for tree in sources("model", "viz", "tests/support", "benchmarks").values()) < 30


def test_a_wrong_name_is_seen():
    tree = ast.parse("class A:\n    told: int\n    def found(self, kept): self._held = 1")
    assert {name for _, _, name in declared(tree) if is_banned(name)} == {"told", "found", "kept", "_held"}
    assert classes({Path("a"): tree, Path("b"): tree}) == {"A": [Path("a"), Path("b")]}
    assert len(list(openings(ast.parse('def f():\n    """How much."""')))) == 1


def report(folder: str) -> None:
    trees = sources("model", "viz", "tests/support", "benchmarks")
    twice = classes(sources("model", "viz"))
    for path, tree in trees.items():
        if not str(path.relative_to(ROOT)).startswith(folder):
            continue
        for line, kind, name in sorted({*declared(tree), *variables(tree)}):
            if is_banned(name):
                print(f"{path.relative_to(ROOT)}:{line} {kind} {name}")
            elif kind == "class" and name in twice:
                others = ", ".join(str(each.relative_to(ROOT)) for each in twice[name] if each != path)
                print(f"{path.relative_to(ROOT)}:{line} class {name}, also in {others}")
        for line, text in openings(tree):
            print(f"{path.relative_to(ROOT)}:{line} docstring: {text}")


if __name__ == "__main__":
    report(sys.argv[1] if len(sys.argv) > 1 else "")
