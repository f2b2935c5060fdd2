"""The reference page of the Python API: it builds, and every public name has a complete docstring."""

from __future__ import annotations

import dataclasses
import html
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import model

ROOT = Path(__file__).resolve().parent.parent
PUBLIC = {name: getattr(model, name) for name in model.__all__}
FUNCTIONS = [name for name, value in PUBLIC.items() if inspect.isfunction(value)]
CLASSES = [name for name, value in PUBLIC.items() if inspect.isclass(value)]
CALLED = ("Analysis", "Decoding", "Intervention", "Request")  # their fields are arguments, each with a comment


def methods(cls: type) -> Iterator[tuple[str, object]]:
    """Yields the public methods and properties that a class defines."""
    for name, value in vars(cls).items():
        body = getattr(value, "fget", None) or getattr(value, "func", None) or getattr(value, "__func__", value)
        if not name.startswith("_") and inspect.isfunction(body):
            yield name, body


def test_results_of_functions_are_public_and_are_completed():
    results = {inspect.signature(value).return_annotation for name, value in PUBLIC.items() if name in FUNCTIONS}
    names = {name for result in results for name in re.findall(r"\b[A-Z]\w+", str(result))} - {"None", "Path", "Frame"}
    assert {"CheckResult", "LeakReport", "SweepResult", "Effect", "HeadEffect", "Checkpoint"} <= names
    assert names <= set(PUBLIC) and set(PUBLIC) <= set(dir(model))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_public_functions_describe_every_argument(name):
    text = inspect.getdoc(PUBLIC[name]) or ""
    for argument in inspect.signature(PUBLIC[name]).parameters:
        assert re.search(rf"`{argument}`|^ +{argument}: ", text, re.MULTILINE), argument


@pytest.mark.parametrize("name", CLASSES)
def test_public_classes_and_their_methods_have_docstrings(name):
    assert inspect.getdoc(PUBLIC[name])
    assert [method for method, body in methods(PUBLIC[name]) if not inspect.getdoc(body)] == []


def test_the_reference_page_has_every_public_name(tmp_path):
    pytest.importorskip("pdoc")
    command = [sys.executable, "-m", "docs.reference", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert all(f'id="{name}"' in page for name in PUBLIC)
    text = html.unescape(re.sub("<[^>]+>", "", page))
    assert re.findall(r"<(?:function|class|lambda)[^>]*>| object at 0x|'encoder': encoder", text) == []
    assert "progress: " in text and "= ('encoder', 'decoder', 'cross')" in text
    assert 'href="#Checkpoint"' in page and "Tokens of the target" in page
    assert "model.checkpoint" not in page and str(ROOT) not in page
    assert set(re.findall(r'src="(?!data:)([^"]+)', page)) == set(), "the page loads nothing"


def test_fields_of_arguments_have_comments():
    pytest.importorskip("pdoc")
    from docs.reference import field_comments

    for name in CALLED:
        fields = {field.name for field in dataclasses.fields(PUBLIC[name])}
        assert fields == set(field_comments(PUBLIC[name])), name
