"""What the command line says where something is wrong: one line, and exit status 2."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TextIO

import pytest

from model.__main__ import READER_LEFT, main
from tests.support.command_line_helpers import fails


@pytest.fixture
def learned(trained: Path) -> str:
    return str(trained / "checkpoint")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (MemoryError(), "there is too little memory"),
        (RuntimeError("can't allocate memory:\nyou tried"), "can't allocate memory"),
    ],
)
def test_too_little_memory_is_told(learned, capsys, monkeypatch, fault, said):
    def full(*_):
        raise fault

    monkeypatch.setattr("model.inference.analyse.analyse", full)
    assert said in fails(capsys, "translate", "x", "--checkpoint", learned)


class Closed(io.StringIO):
    """A standard output that what reads it has closed."""

    def __init__(self, file: TextIO, method: str, fault: OSError) -> None:
        super().__init__()
        self.fileno = file.fileno

        def fails(*_: object) -> None:
            raise fault

        setattr(self, method, fails)


@pytest.mark.parametrize("method", ["write", "flush"])
def test_a_closed_pipe_ends_a_command_quietly(learned, capsys, monkeypatch, tmp_path, method):
    with (tmp_path / "pipe").open("w") as opened:
        monkeypatch.setattr("sys.stdout", Closed(opened, method, BrokenPipeError(32, "Broken pipe")))
        assert main(["translate", "The fox.", "--checkpoint", learned]) == READER_LEFT == 141
        assert os.path.samestat(os.fstat(opened.fileno()), os.stat(os.devnull))  # nothing is written at the end either
    assert capsys.readouterr().err == ""


def test_output_that_cannot_be_written_is_one_line(learned, capsys, monkeypatch, tmp_path):
    with (tmp_path / "full").open("w") as opened:
        monkeypatch.setattr("sys.stdout", Closed(opened, "flush", OSError(28, "No space left on device")))
        assert main(["judge", "x", "--checkpoint", learned]) == 2
        assert os.path.samestat(os.fstat(opened.fileno()), os.stat(os.devnull))
    assert capsys.readouterr().err == "python -m model judge: [Errno 28] No space left on device\n"


@pytest.mark.parametrize("command", [["maps", "-", "--out", "x.json"], ["export", "-", "--html", "x.html"]])
def test_commands_without_input_refuse_the_dash(capsys, monkeypatch, tmp_path, command):
    monkeypatch.chdir(tmp_path)
    assert "the sentence is '-', and standard input is not read here; give the sentence itself" in fails(capsys, *command)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_sentence_without_a_blank_is_refused_by_a_bert(capsys, monkeypatch, more):
    said = "bert-mini fills in blanks, and this sentence has none; write ___ in place of a word"
    own = ["--checkpoint", "bert-mini", *more]
    assert fails(capsys, "translate", "The dog", *own) == f"python -m model translate: {said}\n"
    assert main(["translate", "The ___ sleeps.", *own]) == 0
    assert capsys.readouterr().out.strip()
    monkeypatch.setattr("sys.stdin", io.StringIO("The dog sleeps.\n"))
    assert fails(capsys, "translate", "-", *own) == f"python -m model translate: line 1: {said}\n"
