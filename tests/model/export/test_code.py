"""The copied Python runs as it is, wherever the checkpoint lies, and a request knows which checkpoint answered it."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from model.checkpoint import load, save
from model.decoding.strategy import Decoding
from model.experiments.effects import head_effects, mask_effects
from model.experiments.leaks import leak_test
from model.export import Exported, files
from model.export.code import Code
from model.inference.analyse import analyse
from model.inference.request import Request

ROOT = Path(__file__).resolve().parents[3]
TEXT, SHORT = "The red fox takes a lamp.", Decoding(limit=6)
RUNS_ALL = """
import json, runpy, sys
found = [runpy.run_path(path)["analysis"] for path in sys.argv[1:]]
print(json.dumps([[each.checkpoint, each.translation] for each in found]))
"""


def run(folder: Path, *scripts: str) -> list[list[str]]:
    """Runs copied scripts in a process of their own, outside the project and without CHECKPOINTS=."""
    paths = [folder / f"copied-{number}.py" for number in range(len(scripts))]
    for path, script in zip(paths, scripts, strict=True):
        path.write_text(script, encoding="utf-8")
    known = {name: value for name, value in os.environ.items() if name != "CHECKPOINTS"} | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", RUNS_ALL, *map(str, paths)]
    made = subprocess.run(command, cwd=folder, env=known, capture_output=True, text=True, timeout=240)
    assert made.returncode == 0, made.stderr
    return json.loads(made.stdout.splitlines()[-1])


def test_the_copied_python_runs_from_every_place(saved, tiny_checkpoint, tmp_path, monkeypatch):
    mine, namesake = tmp_path / "runs" / "mine" / "checkpoint", tmp_path / "own" / "en-fr"
    save(tiny_checkpoint, mine)
    save(tiny_checkpoint, namesake)
    monkeypatch.chdir(tmp_path)
    by_path = analyse(load("runs/mine/checkpoint"), Request(TEXT, decoding=SHORT))
    shipped = analyse(load("en-fr-peek"), Request(TEXT, decoding=SHORT))
    monkeypatch.setenv("CHECKPOINTS", os.pathsep.join([str(saved), str(namesake.parent)]))
    offered = [Request(TEXT, name, decoding=SHORT) for name in ("saved", "en-fr (own)")]
    answers = [analyse(load(request.checkpoint), request) for request in offered]
    asked = [shipped.request, by_path.request, *offered, *(each.request for each in answers)]
    scripts = [Code.of(request, "cpu").text for request in asked]
    assert "load('en-fr-peek', 'cpu')" in scripts[0] and repr(str(mine)) in scripts[1]
    expected = [shipped, by_path, *answers, *answers]
    found = run(tmp_path / "runs", *scripts)
    assert [translation for _, translation in found] == [each.translation for each in expected]
    assert [name for name, _ in found][:3] == ["en-fr-peek", "mine", "saved"]


def test_a_request_gets_the_checkpoint_that_is_loaded(saved):
    lab, plain = load(str(saved)), Request(TEXT, decoding=SHORT)
    found = analyse(lab, plain)
    assert found.request.checkpoint == found.checkpoint == lab.name == "saved"
    values = json.loads(files.FORMATS[".json"](Exported.of(lab, found)))
    assert values["request"]["checkpoint"] == values["checkpoint"] == "saved"
    again = dataclasses.replace(found.request, source="The fox.")
    assert again == Request("The fox.", "saved", decoding=SHORT)
    assert hash(again) == hash(Request("The fox.", "saved", decoding=SHORT))


@pytest.mark.parametrize("use", [analyse, head_effects, mask_effects, leak_test], ids=lambda use: use.__name__)
def test_a_request_for_another_checkpoint_is_refused(saved, use):
    lab = load(str(saved))
    with pytest.raises(ValueError, match=r"^The request names the checkpoint 'gpt-mini', and 'saved' is loaded; expected"):
        use(lab, Request(TEXT, checkpoint="gpt-mini"))
    with pytest.raises(ValueError, match=r"^The request names the checkpoint 'en-fr', and 'saved' is loaded; expected"):
        use(lab, Request(TEXT, checkpoint="en-fr"))


def test_folder_with_a_shipped_name_is_renamed(tiny_checkpoint, tmp_path):
    save(tiny_checkpoint, tmp_path / "own" / "en-fr")
    lab = load(str(tmp_path / "own" / "en-fr"))
    assert lab.name == "en-fr (own)"
    with pytest.raises(ValueError, match=r"names the checkpoint 'en-fr', and 'en-fr \(own\)' is loaded"):
        analyse(lab, Request(TEXT, "en-fr"))
