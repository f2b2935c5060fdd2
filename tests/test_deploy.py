"""Content of the installed package and of the image, and settings of the deployment."""

from __future__ import annotations

import ast
import importlib
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import model
from model.io import folders
from model.io.package_names import EXTRAS
from tests.support.viz_helpers import ROOT
from viz import pages
from viz.classroom.rooms.stream import ALIVE
from viz.server.connections import BODY_SECONDS, HEAD_SECONDS, MAX_OF_ADDRESS
from viz.state.uploads import UPLOAD_MB

DEPLOY = ROOT / "deploy"
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")


def test_the_image_holds_all_that_the_lab_is_installed_from():
    copied = re.findall(r"^COPY (.+) \S+$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    names = {name for names in copied for name in names.split()}
    kept = set((ROOT / ".dockerignore").read_text().split())
    assert {"app.py", "viz", "model", "checkpoints", "requirements.txt", ".streamlit"} <= names
    assert names == {name.removeprefix("!") for name in kept if name.startswith("!")}
    assert all((ROOT / name).exists() for name in names)
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"] == ">=3.11"


def test_every_replica_is_known_to_the_one_that_shares_out():
    services = re.findall(r"^  (lab\d+): \*lab$", (DEPLOY / "compose.yaml").read_text(), re.MULTILINE)
    known = re.findall(r"server (lab\d+):8501", (DEPLOY / "nginx.conf").read_text())
    assert services == known and len(known) >= 2


def test_the_largest_zip_that_visitors_may_bring_is_let_through():
    inside = re.search(r"location /_stcore/upload_file \{(.*?)\}", (DEPLOY / "nginx.conf").read_text(), re.DOTALL)
    assert inside and int(re.search(r"client_max_body_size (\d+)m;", inside[1])[1]) > UPLOAD_MB
    assert "proxy_pass http://lab;" in inside[1]


def test_replicas_share_redis_and_trust_the_address_of_nginx():
    compose, nginx = (DEPLOY / "compose.yaml").read_text(), (DEPLOY / "nginx.conf").read_text()
    assert re.search(r"REDIS_URL: redis://(\w+):6379/0", compose)[1] in re.findall(r"^  (\w+):$", compose, re.MULTILINE)
    assert "proxy_set_header X-Forwarded-For $remote_addr;" in nginx and 'FORWARDED_ALLOW_IPS: "*"' in compose
    assert compose.count("ports:") == 1  # nginx's: nobody else reaches a replica, or Redis
    assert "proxy_buffering off;" in nginx
    rooms = re.search(r"location /rooms \{(.*?)\n        \}", nginx, re.DOTALL)[1]
    assert "proxy_pass http://lab;" in rooms and "proxy_next_upstream error timeout;" in rooms
    assert int(re.search(r"proxy_read_timeout (\d+)m;", rooms)[1]) * 60 > 2 * ALIVE


def test_nginx_has_the_limits_of_the_server():
    nginx = (DEPLOY / "nginx.conf").read_text()
    assert f"client_header_timeout {HEAD_SECONDS:.0f}s;" in nginx and f"client_body_timeout {BODY_SECONDS:.0f}s;" in nginx
    assert f"limit_conn visitors {MAX_OF_ADDRESS};" in nginx


@pytest.mark.skipif(not NGINX, reason="nginx is not installed")
def test_nginx_reads_its_file(tmp_path):
    text = re.sub(r"lab\d+:8501", "127.0.0.1:8501", (DEPLOY / "nginx.conf").read_text())
    (file := tmp_path / "nginx.conf").write_text(f"pid {tmp_path}/pid;\nerror_log {tmp_path}/log;\n{text}")
    done = subprocess.run([NGINX, "-t", "-p", tmp_path, "-c", file], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WHEEL = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
LARGEST = 30_000_000  # bytes of one file


def in_the_wheel() -> dict[str, Path]:
    """Every file of the wheel by its place there."""
    found = {"attention_lab/viz/app.py": ROOT / "app.py"}  # hatch_build.py adds it
    for name in WHEEL["only-include"]:
        place = ROOT / name
        for file in [place] if place.is_file() else place.rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                home = WHEEL["sources"].get(name, name)
                found[home if place.is_file() else f"{home}/{file.relative_to(place).as_posix()}"] = file
    return found


def pins() -> list[Requirement]:
    lines = (line.partition("#")[0].strip() for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines())
    return [Requirement(line) for line in lines if line]


def ranges() -> dict[str, Requirement]:
    """Every declared dependency by name, without the project's own extras."""
    groups = [PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"].values()]
    declared = [Requirement(text) for group in groups for text in group]
    return {each.name: each for each in declared if each.name != PROJECT["project"]["name"]}


def test_every_pin_is_in_the_range_that_the_package_declares():
    declared = ranges()
    assert {pin.name for pin in pins()} == set(declared)
    for pin in pins():
        assert re.fullmatch(r"==[\d.]+", str(pin.specifier)), pin
        assert declared[pin.name].specifier.contains(str(pin.specifier)[2:]), pin
        assert str(declared[pin.name].marker) == str(pin.marker), pin
        assert {each.operator for each in declared[pin.name].specifier} == {">=", "<"}, pin


def test_the_library_needs_few_packages():
    names = {Requirement(text).name for text in PROJECT["project"]["dependencies"]}
    assert names == {"torch", "numpy", "tokenizers", "safetensors", "tqdm", "sentencex", "filelock"}


def test_extras_and_their_modules_are_declared():
    declared = PROJECT["project"]["optional-dependencies"]
    assert set(declared) == set(EXTRAS)
    brought = {"starlette"}  # streamlit depends on it
    modules = {"tdewolff-minify": "minify"}  # where the module has another name
    for extra, texts in declared.items():
        names = {Requirement(text).name for text in texts} - {"attention-lab"}
        assert {modules.get(name, name) for name in names} == set(EXTRAS[extra]) - brought


def test_the_wheel_holds_all_that_the_lab_is_made_of():
    files = in_the_wheel()
    names = ("viz/app.py", "viz/.streamlit/config.toml", "viz/lab.css", "viz/mark.svg", "__main__.py", "py.typed")
    assert {f"attention_lab/{name}" for name in names} <= set(files)
    parts = ("config.json", "tokenizer.json", "model.safetensors")
    shipped = ("en-fr", "en-fr-peek", "en-fr-learned")
    assert {f"attention_lab/checkpoints/{name}/{part}" for name in shipped for part in parts} <= set(files)
    assert {f"attention_lab/checkpoints/{name}.txt" for name in ("probes", "probes-more", "examples")} <= set(files)
    assert max(file.stat().st_size for file in files.values()) < LARGEST


def test_the_checkpoints_lie_where_they_are_looked_for():
    """Beside the package in the project, in it where it is installed."""
    assert folders.SHIPPED == ROOT / "checkpoints"
    package = Path(model.__file__).resolve().parent
    assert package / Path(WHEEL["sources"]["checkpoints"]).relative_to("attention_lab") == folders._INSTALLED


def test_app_and_configuration_lie_where_they_are_looked_for():
    """In the top folder of the project, in viz/ where it is installed."""
    assert pages.ROOT == ROOT and (ROOT / "app.py").is_file() and (ROOT / ".streamlit").is_dir()
    assert WHEEL["sources"][".streamlit"] == "attention_lab/viz/.streamlit"


def test_the_version_and_the_command_are_there():
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "model/__init__.py"
    assert model.__version__.count(".") == 2
    for entry in PROJECT["project"]["scripts"].values():
        module, function = entry.split(":")
        assert callable(getattr(importlib.import_module(module.removeprefix("attention_lab.")), function))


def test_only_folders_module_names_the_checkpoint_folder():
    """A key of a file may be called so; a path may not."""
    files = [file for name, file in in_the_wheel().items() if name.endswith(".py")]
    assert {file.name for file in files if _in_a_path("checkpoints", file.read_text(encoding="utf-8"))} == {"folders.py"}


def _in_a_path(name: str, source: str) -> bool:
    """True where a source joins the name to a path, or begins one with it."""
    if name not in source:
        return False
    for node in ast.walk(ast.parse(source)):
        joins = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
        makes = isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("Path", "join", "joinpath")
        parts = [node.left, node.right] if joins else node.args if makes else []
        texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        if any(text.split("/")[0] == name for text in texts):
            return True
    return False
