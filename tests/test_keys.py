"""Keys of the JSON and npz files that the project ships and writes stay as recorded in keys.json.

`KEYS=write pytest tests/test_keys.py` records them anew, after a key was added on purpose.
"""

from __future__ import annotations

import io
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model import GivenAttention
from model.__main__ import main
from model.edits.kinds import KINDS
from viz.classroom.rooms.room import Room
from viz.classroom.talk import Stop, Talk, file_of
from viz.state.fields import fields
from viz.state.view import View

ROOT = Path(__file__).resolve().parent.parent
FILE = Path(__file__).with_name("keys.json")
NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9.-]*( [a-z]+)*")
SENTENCE = "The dog is tired."
MANY = 48  # keys; a record with more is indexed by data, such as tokens


def paths(value: Any, path: str = "") -> set[str]:
    """Returns the path of each key; keys that are data are written as *."""
    if isinstance(value, dict):
        data = len(value) > MANY or not all(NAME.fullmatch(key) for key in value)
        return {path}.union(*(paths(each, f"{path}/{'*' if data else key}") for key, each in value.items()))
    if isinstance(value, list):
        return {f"{path}[]"}.union(*(paths(each, f"{path}[]") for each in value[:50]))
    return {path}


def archive(raw: bytes) -> set[str]:
    """Returns the names of the arrays of an npz file, numbers as #, and the keys of its header."""
    with np.load(io.BytesIO(raw), allow_pickle=False) as stored:
        names = {re.sub(r"\d+", "#", name) for name in stored.files}
        header = json.loads(stored["header"].tobytes()) if "header" in stored.files else {}
    return names | {f"header{each}" for each in paths(header)}


def recorded(name: str, found: set[str]) -> None:
    """Compares keys with the recorded ones; with KEYS=write in the environment, records them."""
    known = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    if os.environ.get("KEYS") == "write":
        FILE.write_text(json.dumps(known | {name: sorted(found)}, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    else:
        assert sorted(found) == known[name]


def lines(text: str) -> set[str]:
    return set().union(*(paths(json.loads(line)) for line in text.splitlines() if line))


SHIPPED = [path for path in sorted(ROOT.glob("checkpoints/**/*.*")) if path.suffix in {".json", ".jsonl", ".npz"}]
LIBRARY = "tokenizer.json"  # of the tokenizers library


def keys_of(path: Path) -> set[str]:
    if path.suffix == ".npz":
        return archive(path.read_bytes())
    text = path.read_text(encoding="utf-8")
    return lines(text) if path.suffix == ".jsonl" else paths(json.loads(text))


@pytest.mark.parametrize("name", sorted({path.name for path in SHIPPED} - {LIBRARY}))
def test_keys_of_shipped_files(name):
    recorded(name, set().union(*(keys_of(path) for path in SHIPPED if path.name == name)))


PAIRS = ("--data", "pairs", "--limit", "2")
COMMANDS = {
    "translate": ("translate", SENTENCE, "--json"),
    "translate --beam": ("translate", SENTENCE, "--beam", "2", "--json"),
    "continue": ("continue", "--checkpoint", "gpt-mini", "The dog", "--json"),
    "judge": ("judge", "--checkpoint", "sentiment", "A good film.", "--json"),
    "fill in": ("translate", "--checkpoint", "bert-mini", "The dog is ___.", "--json"),
    "route": ("route", SENTENCE, "--token", "fatigué", "--json"),
    "check": ("check", "checks", "--json"),
    "evaluate": ("evaluate", *PAIRS, "--json"),
    "report heads": ("report", "heads", *PAIRS, "--device", "cpu", "--out", "heads.csv", "--json"),
    "report strongest": ("report", "strongest", *PAIRS, "--head", "cross.1.7", "--json"),
    "report faithfulness": ("report", "faithfulness", "--checkpoint", "copy", *PAIRS, "--json"),
}


@pytest.fixture
def folder(tmp_path, pair_files, saved, monkeypatch):
    pairs = "The dog is tired.\tLe chien est fatigué.\nThe cat sleeps.\tLe chat dort.\n"
    (tmp_path / "pairs.tsv").write_text(pairs, "utf-8")
    (tmp_path / "checks").write_text(f'the translation of "{SENTENCE}" is "Le chien est fatigué."\n', "utf-8")
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_keys_that_commands_print(name, folder, saved, capsys):
    places = {"pairs": folder / "pairs.tsv", "checks": folder / "checks", "heads.csv": folder / "heads.csv", "copy": saved}
    main([str(places.get(word, word)) for word in COMMANDS[name]])
    recorded(f"python -m model {name}", lines(capsys.readouterr().out))


@pytest.mark.parametrize("suffix", ["npz", "json"])
def test_keys_of_an_exported_analysis(suffix, tmp_path, capsys):
    out = tmp_path / f"maps.{suffix}"
    main(["maps", SENTENCE, "--edits", "off_enc.1.2", "--beam", "2", "--out", str(out)])
    if suffix == "npz":
        recorded("maps npz", archive(out.read_bytes()))
    else:
        values = json.loads(out.read_bytes())
        names = {re.sub(r"\d+", "#", name) for name in values.pop("arrays")}
        recorded("maps json", paths(values) | names)


def test_names_of_hooks(tmp_path, capsys):
    out = tmp_path / "maps.npz"
    main(["maps", SENTENCE, "--names", "transformer-lens", "--out", str(out)])
    recorded("maps npz, names of transformer-lens", archive(out.read_bytes()))


def test_keys_of_a_file_of_attention(tmp_path):
    weights = {"encoder": np.ones((1, 1, 1, 1)), "decoder": np.ones((1, 1, 1, 1)), "cross": np.ones((1, 1, 1, 1))}
    GivenAttention.of(weights, ["a"], source_tokens=["b"]).save(tmp_path / "a.npz")
    recorded("file of attention weights", archive((tmp_path / "a.npz").read_bytes()))


def test_keys_of_a_run(trained):
    for path in sorted(each for each in trained.rglob("*") if each.suffix in {".json", ".jsonl", ".npz"}):
        if path.name != LIBRARY:
            recorded(f"run {path.relative_to(trained).as_posix()}", keys_of(path))


def test_edit_codes_and_link_parameters():
    recorded("edit codes", {code for each in KINDS.values() for code in each.EXAMPLES})
    recorded("link parameters", {name for each in fields(View).values() for name in (each.parameter, *each.attributes)})


def test_keys_of_a_room_and_of_a_talk():
    recorded("talk", paths(json.loads(file_of(Talk("Masks", (Stop("heads", "layer=2", "Look."),))))))
    room = Room("KX234Z", "seal", "/", 1.0).asks("next", "Which?", ["il", "elle"], [0.6, 0.3], 2.0)
    room = room.votes("a" * 8, 1, "il", 3, 2.5)
    room = room.asks("next", "Which?", ["il", "elle"], [0.6, 0.3], 2.0, again=1).reveals("il", 3.0)
    room = room.takes_screen({"state": {}}).takes_command({"action": "notes", "stop": 1, "text": ""}, 4.0)
    recorded("room as stored", paths(json.loads(room.packed())))
    recorded("room as sent", paths(room.describe(lecturer=True)))
    recorded("room as sent to its lecturer", paths(room.describe_for_screen(4.0)) | paths(room.describe_for_presenter(4.0)))
