"""The tests hold on a busy machine: they wait for what must come, and give it time. Reads the sources, runs nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
LEAST = 30.0  # s
WAITERS = {"wait", "join", "result", "ended", "communicate", "urlopen", "settimeout", "set_default_timeout"}
# Where less is right: file -> a call, and why.
EXCEPTIONS = {
    ("browser/conftest.py", "wait(0.25)"): "between two questions to a server that has five minutes",
    ("viz/server/test_server.py", "sleep(0.25)"): "between two questions to a server that has five minutes",
    ("support/processes.py", "sleep(0.25)"): "between two questions to a server that has five minutes",
    ("viz/server/test_server.py", "sleep(0.05)"): "between two looks at what a server has computed",
    ("support/room_helpers.py", "sleep(0.005)"): "between two looks at a state that has all the time it needs",
    ("viz/state/test_trainings.py", "wait(0.02)"): "between two looks at a state that has all the time it needs",
    ("viz/test_cache.py", "sleep(self.seconds)"): "stands for a network that takes its time",
    ("model/workshop/test_sharding.py", "sleep(0.01)"): "between two looks at a run that is to be stopped",
    ("model/workshop/training/test_stopping.py", "join(0.05)"): "between two looks at a run that is to be killed",
}


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def number(node: ast.AST) -> float | None:
    try:
        found = ast.literal_eval(node)
    except ValueError:
        return None
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def too_short(text: str) -> Iterator[str]:
    """The calls of a source that sleep, or that give up before half a minute is over."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assign) and [getattr(t, "id", "") for t in node.targets] == ["TIMEOUT"]:
            least = number(node.value)
            if least is not None and least < LEAST:
                yield ast.unparse(node)
        if not isinstance(node, ast.Call):
            continue
        name = called(node)
        short = f"{name}({', '.join(map(ast.unparse, [*node.args, *(k.value for k in node.keywords)]))})"
        if name in ("sleep", "wait_for_timeout"):
            yield short
            continue
        times = [k.value for k in node.keywords if k.arg in ("timeout", "default_timeout")]
        times += node.args[:1] if name in WAITERS else []
        playwright = name.startswith(("wait_for", "expect", "set_default", "to_", "click", "press", "fill"))
        for found in map(number, times):
            if found is not None and found / (1000 if playwright else 1) < LEAST:
                yield short


def test_no_test_sleeps_or_times_out_early():
    for path in sorted(TESTS.rglob("*.py")):
        _check(path)


def _check(path: Path) -> None:
    name = path.relative_to(TESTS).as_posix()
    if path != Path(__file__).resolve():
        found = [call for call in too_short(path.read_text(encoding="utf-8")) if (name, call) not in EXCEPTIONS]
        assert found == [], f"{name}: wait for the state that must come, for at least {LEAST:.0f} s"


@pytest.mark.parametrize(("name", "call"), EXCEPTIONS)
def test_no_exception_is_made_for_what_is_not_there(name, call):
    assert call in set(too_short((TESTS / name).read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("page.wait_for_timeout(150)", ["wait_for_timeout(150)"]),
        ("time.sleep(SETTLE)", ["sleep(SETTLE)"]),
        ("barrier.wait(10)", ["wait(10)"]),
        ("page.click('x', timeout=3000)", ["click('x', 3000)"]),
        ("page.wait_for_url(where, timeout=29_999)", ["wait_for_url(where, 29999)"]),
        ("subprocess.run(words, timeout=5)", ["run(words, 5)"]),
        ("TIMEOUT = 3", ["TIMEOUT = 3"]),
        ("TIMEOUT = 60_000; barrier.wait(60); subprocess.run(words, timeout=300); done.wait()", []),
    ],
)
def test_what_is_too_short_is_found(line, found):
    assert list(too_short(line)) == found
