"""The wheel: built, installed beside a user's own package `model`, and used. No network."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.processes import answers, await_health, free_port
from tests.support.viz_helpers import ROOT
from viz.pages import PAGES

pytest.importorskip("hatchling")
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

import hatch_build

SECONDS = 300
USE = """
import importlib, pkgutil, sys
import attention_lab
names = [each.name for each in pkgutil.walk_packages(attention_lab.__path__, "attention_lab.")]
for name in names:
    if not name.endswith((".__main__", ".viz.app")):  # these run
        importlib.import_module(name)
assert len(names) > 300, len(names)

from attention_lab import Decoding, Request
from attention_lab.export.code import Code
from attention_lab.viz import computations, pages
text = Code.of(Request("The fox runs.", decoding=Decoding("beam"))).text
assert "from attention_lab import Decoding, Request, analyse, load" in text, text
exec(text)
assert analysis.translation == "Le renard court.", analysis.translation
for reading in vars(computations).values():
    if isinstance(reading, computations.Reading):
        code = Code()
        computations.Call(reading).add_to(code)
        exec(code.text.splitlines()[0])  # its import

assert {"heads", "save_html", "show"} <= set(attention_lab.__all__)
attention_lab.save_html([[[[1.0]]]], ["A"], "one-head.html")

import json, pathlib
for cell in json.loads(pathlib.Path(sys.argv[1]).read_text("utf-8"))["cells"]:
    if cell["cell_type"] == "code":
        exec("".join(cell["source"]))
        if "show(" in "".join(cell["source"]):  # has read all files of a frame; a test of the notebook runs the other cells
            break
assert show.__module__ == "attention_lab.viz.notebook" and analysis.request == request, show.__module__

from streamlit.testing.v1 import AppTest
app = AppTest.from_file(str(pages.ROOT / "app.py"), default_timeout=300).run()
for page in pages.PAGES[1:2]:
    app = app.switch_page(page.file).run()
    assert not app.exception and not app.error, (page.name, app.exception, app.error)
assert not {"model", "viz", "app"} & set(sys.modules), "a module of the repository was imported"
"""


class Environment:
    """A virtual environment with the wheel, and the folder of a user who has a package `model`."""

    def __init__(self, home: Path) -> None:
        self.user = home / "user"
        (self.user / "model").mkdir(parents=True)
        (self.user / "model" / "__init__.py").write_text("raise RuntimeError('this is the model of the user')\n")
        venv.create(home / "venv", with_pip=False, symlinks=True)
        self.bin = home / "venv" / "bin"
        own = {"PYTHONPATH", "CHECKPOINTS", "RUNS", "PORT", "HOST"}
        self.variables = {key: value for key, value in os.environ.items() if key not in own} | {"OMP_NUM_THREADS": "1"}
        _call(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(home))
        self.wheel = next(home.glob("*.whl"))
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(self.bin / "python"), "install"]
        _call(*pip, "--no-deps", "--no-index", "--no-compile", str(self.wheel))
        packages = next((home / "venv").rglob("site-packages"))
        shared = (path for path in sys.path if path.endswith(("site-packages", "dist-packages")))
        (packages / "dependencies.pth").write_text("\n".join(shared))

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.bin / "python"), *words]
        options = {"capture_output": True, "text": True, "timeout": SECONDS, "check": False}
        return subprocess.run(command, cwd=self.user, env=self.variables, **options)

    @contextlib.contextmanager
    def server(self, port: int) -> Iterator[subprocess.Popen[str]]:
        command = [str(self.bin / "attention-lab"), "--port", str(port)]
        started = subprocess.Popen(command, cwd=self.user, env=self.variables, stdout=subprocess.PIPE, text=True)
        try:
            yield started
        finally:
            started.kill()
            started.wait(SECONDS)
            started.stdout.close()


def _call(*words: str) -> None:
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_installed_package_works(tmp_path):
    """One test, because building takes 6 s and parallel runs would repeat it."""
    installed = Environment(tmp_path)
    check_content(zipfile.ZipFile(installed.wheel))
    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(check, installed) for check in (check_use, check_server_and_command_line)]:
            done.result()


def check_use(installed: Environment) -> None:
    """All modules, copied Python, readings, the notebook and pages, in one process."""
    done = installed.run("-c", USE, str(ROOT / "docs" / "notebook.ipynb"))
    assert done.returncode == 0, done.stderr


def check_content(wheel: zipfile.ZipFile) -> None:
    """One package with all files, whose modules import nothing under a name of the repository."""
    names = wheel.namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"attention_lab"}
    assert len(names) == len(set(names))
    files = ["__init__.py", "py.typed", "checkpoints/en-fr/model.safetensors", "viz/app.py", "viz/.streamlit/config.toml"]
    files += ["viz/lab.css", "viz/kit/mount.js", *(f"viz/{page.name.replace('-', '_')}/page.py" for page in PAGES)]
    assert {f"attention_lab/{name}" for name in files} <= set(names)
    for name in names:
        if name.endswith(".py"):
            modules = {module for _, _, module in hatch_build.absolute_imports(wheel.read(name).decode())}
            assert not {module.partition(".")[0] for module in modules} & {"model", "viz", "app"}, name


def check_server_and_command_line(installed: Environment) -> None:
    port = free_port()
    with installed.server(port) as started:
        await_health(started, port)
        assert answers(f"http://127.0.0.1:{port}/healthz") == "ok\n"
        assert started.stdout.readline().startswith(f"Attention Lab: http://127.0.0.1:{port}")
    done = installed.run("-m", "attention_lab", "translate", "The fox runs.")
    assert (done.returncode, done.stdout.strip()) == (0, "Le renard court."), done.stderr
    done = installed.run("-m", "attention_lab", "translate")
    assert done.returncode == 2 and done.stderr.startswith("python -m attention_lab translate: "), done.stderr


@pytest.mark.parametrize(
    ("source", "renamed"),
    [
        ("from model import load", "from attention_lab import load"),
        ("from viz.kit import mount  # from viz", "from attention_lab.viz.kit import mount  # from viz"),
        ("é = 1; from model.io import (\n    files,\n)", "é = 1; from attention_lab.io import (\n    files,\n)"),
        ("import os, model.trace as t, viz.theme as v", "import os, attention_lab.trace as t, attention_lab.viz.theme as v"),
        ("def f():\n    from viz import cache", "def f():\n    from attention_lab.viz import cache"),
        ("from .model import viz", "from .model import viz"),
        ("from models import viz", "from models import viz"),
        ("text = 'from model import load'", "text = 'from model import load'"),
        ("model.viz = viz.model", "model.viz = viz.model"),
    ],
)
def test_imports_are_renamed_and_nothing_else(source, renamed):
    assert hatch_build.rename_imports(source) == renamed


@pytest.mark.parametrize("source", ["import model.trace", "import model", "from  model import load"])
def test_an_import_that_cannot_be_renamed_stops_the_build(source):
    with pytest.raises(ValueError, match="line 1: "):
        hatch_build.rename_imports(source)


def test_the_source_archive_holds_what_the_wheel_is_built_from():
    files = {each.relative_path for each in SdistBuilder(str(ROOT)).recurse_included_files()}
    wheel = {each.relative_path for each in WheelBuilder(str(ROOT)).recurse_included_files()}
    assert len(wheel) > 300
    scripts = {path.relative_to(ROOT).as_posix() for path in (ROOT / "viz").rglob("*.py")}
    assert wheel | scripts | {"app.py", "hatch_build.py", hatch_build.ALIAS} <= files


EDITABLE = """
import attention_lab, attention_lab.trace, attention_lab.viz.theme, model.trace, viz.theme
from attention_lab import Request, load
from attention_lab.viz.kit import panel
assert attention_lab.trace is model.trace and attention_lab.viz.theme is viz.theme and load is model.load
assert model.trace.__spec__.name == "model.trace" and panel.__name__ == "viz.kit.panel"
"""


def test_an_editable_install_has_both_names_for_each_module(tmp_path):
    (tmp_path / "attention_lab").mkdir()
    shutil.copy(ROOT / hatch_build.ALIAS, tmp_path / "attention_lab" / "__init__.py")
    variables = os.environ | {"PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))}
    for words in (("-c", EDITABLE), ("-m", "attention_lab", "--version")):
        command = [sys.executable, *words]
        options = {"capture_output": True, "text": True, "timeout": SECONDS, "check": False}
        done = subprocess.run(command, cwd=tmp_path, env=variables, **options)
        assert done.returncode == 0, done.stderr
