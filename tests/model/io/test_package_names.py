"""Names of the package in the repository and where installed, and commands without their extras."""

from __future__ import annotations

import subprocess
import sys

import pytest

from model.export.code import Code
from model.inference.request import Request
from model.io import package_names
from model.io.package_names import EXTRAS, missing_extra, module_name
from tests.support.viz_helpers import ROOT

MODULES = [name for names in EXTRAS.values() for name in names]
WITHOUT_EXTRAS = f"import sys; sys.modules.update(dict.fromkeys({MODULES}))\n"


def run(code: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_EXTRAS + code, *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize(
    ("name", "installed"),
    [
        ("model", "attention_lab"),
        ("model.trace", "attention_lab.trace"),
        ("viz.kit.mount", "attention_lab.viz.kit.mount"),
        ("models.trace", "models.trace"),
        ("numpy", "numpy"),
    ],
)
def test_modules_have_another_name_where_installed(name, installed, monkeypatch):
    assert module_name(name) == name
    monkeypatch.setattr(package_names, "PACKAGE", "attention_lab")
    assert module_name(name) == installed


def test_copied_python_imports_the_installed_package(monkeypatch):
    monkeypatch.setattr(package_names, "PACKAGE", "attention_lab")
    code = Code.of(Request("A fox."))
    code.add("lens(analysis)", model__readings__logits__direct_logits=("lens",))
    lines = [
        "from attention_lab import Request, analyse, load",
        "from attention_lab.readings.logits.direct_logits import lens",
    ]
    assert code.text.splitlines()[:2] == lines


def test_a_missing_module_is_named_with_its_extra():
    sentence = "This needs redis, which is not installed. Run: pip install attention-lab[serve]"
    assert missing_extra(ModuleNotFoundError(name="redis.asyncio")) == sentence
    assert missing_extra(ModuleNotFoundError(name="model.nothing")) is None
    assert missing_extra(ImportError()) is None


def test_the_library_works_without_extras():
    code = "from model import *; print(analyse(load('en-fr'), Request('The fox runs.')).translation)"
    done = run(code)
    assert (done.returncode, done.stdout.strip()) == (0, "Le renard court."), done.stderr


MAIN = "from model.__main__ import main; sys.exit(main(sys.argv[1:]))"


@pytest.mark.parametrize(
    ("words", "command", "name", "extra"),
    [
        (("export", "The fox.", "--html", "x.html"), "python -m model export", "cachetools", "app"),
        (("evaluate", "--data", "x.tsv"), "python -m model evaluate", "sacrebleu", "evaluate"),
    ],
)
def test_a_command_without_its_extra_says_what_to_install(words, command, name, extra):
    done = run(MAIN, *words)
    assert done.returncode == 2
    assert done.stderr == f"{command}: This needs {name}, which is not installed. Run: pip install attention-lab[{extra}]\n"


def test_the_server_without_its_extra_says_what_to_install():
    done = run("from viz.server.__main__ import main; sys.exit(main())")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "This needs cachetools, which is not installed. Run: pip install attention-lab[app]\n"
