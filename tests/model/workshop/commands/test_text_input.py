"""One grammar for the texts of every command: TEXT, --data FILE, and - for standard input."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from model.__main__ import COMMANDS, main
from tests.support import tiny
from tests.support.command_line_helpers import fails

(ONE, ONE_TARGET), (TWO, TWO_TARGET) = tiny.HELD_OUT[:2]
TEXT_COMMANDS = ("translate", "continue", "judge", "maps", "export", "route")


@pytest.fixture
def learned(trained: Path) -> str:
    return str(trained / "checkpoint")


@pytest.fixture
def typed(monkeypatch):
    """Sets standard input to some bytes."""
    return lambda text: monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.tsv"
    path.write_text(f"{ONE}\t{ONE_TARGET}\n{TWO}\t{TWO_TARGET}\n", "utf-8")
    return path


def printed(capsys, *words: str) -> str:
    assert main([*words]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("name", TEXT_COMMANDS)
def test_a_command_needs_one_source_of_texts(capsys, monkeypatch, tmp_path, name):
    monkeypatch.chdir(tmp_path)
    out = {"maps": ["--out", "x.json"], "export": ["--html", "x.html"]}.get(name, [])
    noun = "text" if name in ("continue", "judge") else "sentence"
    assert f"no {noun} is given; expected a {noun}, - for standard input, or --data FILE" in fails(capsys, name, *out)
    assert f"a {noun} and --data are given; expected" in fails(capsys, name, "x", "--data", "y", *out)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [["translate"], ["translate", "--json"], ["route", "--json"]], ids=" ".join)
def test_lines_of_a_file_and_of_standard_input_are_answered_alike(learned, capsys, typed, pairs, words):
    command = [*words, "--checkpoint", learned]
    alone = "".join(printed(capsys, *command, text) for text in (ONE, TWO))
    assert printed(capsys, *command, "--data", str(pairs)) == alone
    typed(f"{ONE}\n{TWO}\n")
    assert printed(capsys, *command, "-") == alone
    typed(pairs.read_text("utf-8"))
    assert printed(capsys, *command, "--data", "-") == alone


def test_several_texts_go_to_numbered_files(learned, capsys, pairs, tmp_path):
    command = ["maps", "--data", str(pairs), "--checkpoint", learned, "--out"]
    said = fails(capsys, *command, str(tmp_path / "x.json"))
    assert "--out names one file for several sentences; put {n} in its name, such as x-{n}.json" in said
    assert printed(capsys, *command, str(tmp_path / "x-{n}.json")) == f"{ONE_TARGET}\n{TWO_TARGET}\n"
    assert [json.loads((tmp_path / f"x-{n}.json").read_text())["request"]["source"] for n in (1, 2)] == [ONE, TWO]


def test_data_of_a_corpus_can_come_from_standard_input(learned, capsys, typed, pairs):
    command = ["evaluate", "--checkpoint", learned, "--json", "--data"]
    results = []
    for source in (str(pairs), "-"):
        typed(pairs.read_text("utf-8"))
        results.append(json.loads(printed(capsys, *command, source)))
    for result in results:
        del result["seconds"], result["data"]
    assert results[0] == results[1] and results[0]["sentences"] == 2


def test_checks_can_come_from_standard_input(learned, capsys, typed, pairs):
    typed(f'the translation of "{ONE}" is "{ONE_TARGET}"\n')
    assert printed(capsys, "check", "-", "--checkpoint", learned).startswith("holds  line 1")
    assert "the checks and --data are both -" in fails(capsys, "check", "-", "--data", "-", "--checkpoint", learned)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_be_quiet(capsys, name):
    with pytest.raises(SystemExit):
        main([name, "--help"])
    assert "--quiet" in capsys.readouterr().out


def test_quiet_leaves_out_progress_and_notes(learned, capsys, pairs):
    for words in (["translate", "zqj"], ["evaluate", "--data", str(pairs)]):
        for quiet in (False, True):
            assert main([*words, "--checkpoint", learned, *["--quiet"] * quiet]) == 0
            assert (capsys.readouterr().err == "") == quiet, words
