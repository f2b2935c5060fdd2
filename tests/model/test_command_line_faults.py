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
    ("text", "message"),
    [
        ("", "The sentence is empty"),
        (" \n\t", "The sentence is empty"),
        ("q " * 200, "The sentence has 400 tokens, </s> included; expected at most 128. Shorten it"),
        ("half \udcff", "The text has U+DCFF in it, which is no character"),
    ],
)
def test_translate_refuses_a_text(learned, capsys, text, message):
    assert message in fails(capsys, "translate", text, "--checkpoint", learned)


@pytest.mark.parametrize("command", [["translate", "x"], ["evaluate", "--data", "x.tsv"]])
def test_a_missing_checkpoint(capsys, pair_files, command):
    command = [str(pair_files[0]) if word == "x.tsv" else word for word in command]
    assert "There is no checkpoint 'nowhere'; expected one of" in fails(capsys, *command, "--checkpoint", "nowhere")


def test_a_damaged_checkpoint(capsys, saved):
    (saved / "model.safetensors").write_bytes(b"short")
    assert "model.safetensors is truncated or damaged" in fails(capsys, "translate", "x", "--checkpoint", str(saved))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file or directory; expected a readable"),
        (b"", "no pair in it; expected at least one line"),
        (b"one column\n", "line 1: no tab; expected source TAB target on every line"),
        ("caf\u00e9\tx\n".encode("latin-1"), "the byte 0xe9 is no UTF-8"),
    ],
)
def test_a_broken_data_file(learned, pair_files, tmp_path, capsys, content, message):
    broken = tmp_path / "broken.tsv"
    if content is not None:
        broken.write_bytes(content)
    good, out = str(pair_files[0]), str(tmp_path / "out")
    for args in (
        ["evaluate", "--checkpoint", learned, "--data", str(broken)],
        ["train", "--data", str(broken), "--dev", good, "--out", out],
        ["train", "--data", good, "--dev", str(broken), "--out", out],
    ):
        line = fails(capsys, *args)
        assert message in line
        assert str(broken) in line


def test_a_run_that_cannot_be_written(pair_files, capsys):
    train, dev = map(str, pair_files)
    assert "is a file; expected a folder" in fails(capsys, "train", "--data", train, "--dev", dev, "--out", dev)


@pytest.mark.parametrize("command", [["translate", "x"], ["evaluate"], ["train", "--dev", "x.tsv", "--out", "out"]])
def test_an_absent_device(learned, pair_files, capsys, monkeypatch, tmp_path, command):
    monkeypatch.setattr("model.device.available", lambda: ("cpu",))
    monkeypatch.chdir(tmp_path)
    data = [] if command[0] == "translate" else ["--data", str(pair_files[0])]
    where = [] if command[0] == "train" else ["--checkpoint", learned]
    line = fails(capsys, *command, *data, *where, "--device", "cuda")
    assert "The device 'cuda' is not available here; expected auto or one of cpu" in line


TRAIN = ["train", "--data", "x", "--dev", "x", "--out", "x"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "the following arguments are required: command. Try python -m model --help."),
        (["dance"], "invalid choice: 'dance'"),
        (["translate"], "the following arguments are required: text. Try python -m model translate --help."),
        (["translate", "x", "--fast"], "unrecognized arguments: --fast"),
        (["translate", "x", "--device", "abacus"], "the device is 'abacus'; expected auto, cpu, mps"),
        (["translate", "x", "--threads", "0"], "--threads is 0; expected at least 1"),
        (["translate", "x", "--strategy", "guess"], "argument --strategy: invalid choice: 'guess'"),
        (["translate", "x", "--beam", "4", "--strategy", "sample"], "--beam is 4, and the strategy is sample"),
        (["translate", "x", "--beam", "4", "--strategy", "greedy"], "--beam is 4, and the strategy is greedy"),
        (["translate", "x", "--seed", "3"], "--seed says nothing to the strategy greedy; give --strategy sample"),
        (["evaluate", "--data", "x", "--strategy", "sample", "--top-p", "0"], "Top-p is 0.0; expected more than 0"),
        (["evaluate"], "the following arguments are required: --data"),
        (["evaluate", "--data", "x", "--limit", "many"], "argument --limit: invalid int value: 'many'"),
        (["evaluate", "--data", "x", "--limit", "0"], "--limit is 0; expected at least 1"),
        (["evaluate", "--data", "x", "--beam", "0"], "The beam's width is 0; expected 1 to 64."),
        (["evaluate", "--data", "x", "--join", "many"], "argument --join: it is 'many'; expected how many sentences"),
        (["evaluate", "--measures"], "the following arguments are required: --data"),
        (["evaluate", "--data", "x", "--record", "probes"], "--record is 'probes'; expected a key such as test"),
        (["evaluate", "--data", "x", "--measures", "--join", "3"], "--measures chooses by itself what is measured; leave"),
        (["evaluate", "--data", "x", "--join", "1"], "--join is 1-1; expected as 3-5 or 4, with 2 to 10"),
        (["evaluate", "--data", "x", "--join", "3", "--references", "all"], "--join joins the first reference of each"),
        (["evaluate", "--data", "x", "--join", "3", "--warnings"], "--warnings counts all sentences one by one; leave"),
        (["evaluate", "--probes", "--join", "3"], "--join is given without --data; give both"),
        (["evaluate", "--probes", "--record", "test"], "--record is 'test'; of probes alone expected probes"),
        (["evaluate", "--data", "x", "--seed", "3"], "--seed says nothing to the strategy greedy; give --strategy sample"),
        (["translate", "x", "--beam", "2", "--alpha", "nan"], "The length penalty's alpha is nan; expected 0 to 5."),
        (["translate", "x", "--beam", "5000"], "The beam's width is 5000; expected 1 to 64."),
        (["translate", "x", "--beam", "9" * 40], f"The beam's width is {'9' * 40}; expected 1 to 64."),
        (["translate", "x", "--threads", "1000000000"], "--threads is 1000000000; expected at most 1,024"),
        (["translate", "x", "--strategy", "sample", "--temperature", "inf"], "The temperature is inf; expected 0, or"),
        (["translate", "x", "--strategy", "sample", "--temperature", "nan"], "The temperature is nan; expected 0, or"),
        (["translate", "x", "--strategy", "sample", "--top-k", "9" * 20], "expected at most 1,000,000, or 0"),
        (["translate", "x", "--strategy", "sample", "--top-p", "nan"], "Top-p is nan; expected more than 0"),
        (["translate", "x", "--strategy", "sample", "--seed", "-1"], "The seed is -1; expected a whole number from 0"),
        (["translate", "x", "--alpha", "inf", "--beam", "2"], "alpha is inf; expected 0 to 5"),
        (["translate", "x", "--max-tokens", "9"], "unrecognized arguments: --max-tokens 9"),
        (["translate", "x", "--a\nb"], "unrecognized arguments: --a b"),
        (["translate", "x", "--checkpoint", "a\nb"], r"There is no checkpoint 'a\nb'; expected one of"),
        (["translate", "x", "--checkpoint", "x" * 5000 + "/"], "There is no checkpoint 'xxx"),
        (
            ["evaluate", "--data", "x", "--record", "warnings"],
            "--record is 'warnings'; expected a key such as test",
        ),
        (["evaluate", "--data", "x", "--record", "dev"], "--record is 'dev'; expected a key such as test"),
        ([*TRAIN, "--data", "x.tsv", "y.tsv", "./x.tsv"], "--data names 'x.tsv' twice; name each file once"),
        (["evaluate", "--data", "x", "--record", "a\nb"], r"--record is 'a\nb'; expected a key such as test"),
        ([*TRAIN, "--max-minutes", "nan"], "--max-minutes is nan; expected 0 to 1,000,000"),
        ([*TRAIN, "--epochs", "9" * 20], "expected at most 10,000"),
        ([*TRAIN, "--learning-rate", "inf"], "learning_rate is inf; expected at most 100"),
        ([*TRAIN, "--d-model", "9" * 20], "expected at most 16,384"),
        ([*TRAIN, "--clip", "nan"], "clip is nan; expected more than 0"),
        ([*TRAIN, "--seed", "9" * 20], "expected at most 9,223,372,036,854,775,807"),
        ([*TRAIN, "--languages", "a\nb,c"], r"--languages is 'a\nb,c'; expected two names"),
        (["train", "--data", "x"], "the following arguments are required: --dev, --out"),
        (["train", "--data", "x", "--dev", "x", "--out", "x", "--norm", "batch"], "argument --norm: invalid choice"),
        (["train", "--data", "x", "--dev", "x", "--out", "x", "--heads", "3"], "d_model is 256; expected a multiple"),
        (["train", "--data", "x", "--dev", "x", "--out", "x", "--epochs", "0"], "epochs is 0; expected more than 0"),
        (["train", "--data", "x", "--dev", "x", "--out", "x", "--languages", "English"], "expected two names"),
    ],
)
def test_bad_options(capsys, args, message):
    assert message in fails(capsys, *args)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("a\n" + "q" * 2_000_000, "line 2 has more than 1,000,000 characters; write a sentence on each line"),
        ("q" * 900_000, "line 1: The sentence has 900,000 characters; expected at most 20,000. Shorten it."),
        (b"caf\xe9\n", "the byte 0xe9 on standard input is no UTF-8"),
    ],
)
def test_translate_refuses_what_comes_in(learned, capsys, monkeypatch, typed, message):
    raw = io.BytesIO(typed if isinstance(typed, bytes) else typed.encode())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(raw, encoding="utf-8"))
    status = main(["translate", "-", "--checkpoint", learned])
    err = capsys.readouterr().err
    assert (status, err.count("\n")) == (2, 1)
    assert message in err


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
def test_a_command_that_reads_no_input_refuses_the_dash(capsys, monkeypatch, tmp_path, command):
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


def test_maps_of_a_text_without_a_translation_names_the_file(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert main(["maps", "A warm film.", "--checkpoint", "sentiment", "--out", "x.json"]) == 0
    assert capsys.readouterr().out == "x.json\n"


def test_a_closed_standard_input_is_empty(learned, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    assert "there is no sentence on standard input" in fails(capsys, "translate", "-", "--checkpoint", learned)
