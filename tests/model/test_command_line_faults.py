"""What the command line says where something is wrong: one line, and exit status 2."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line_helpers import fails


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
        (["translate", "x", "--beam", "2", "--alpha", "nan"], "The length penalty's alpha is nan; expected 0 to 5."),
        (["train", "--data", "x"], "the following arguments are required: --dev, --out"),
        (["train", "--data", "x", "--dev", "x", "--out", "x", "--norm", "batch"], "argument --norm: invalid choice"),
        (["train", "--data", "x", "--dev", "x", "--out", "x", "--heads", "3"], "d_model is 256; expected a multiple"),
        (["train", "--data", "x", "--dev", "x", "--out", "x", "--epochs", "0"], "epochs is 0; expected more than 0"),
        (["train", "--data", "x", "--dev", "x", "--out", "x", "--languages", "English"], "expected two names"),
    ],
)
def test_bad_options(capsys, args, message):
    assert message in fails(capsys, *args)
