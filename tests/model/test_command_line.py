"""The command line: exit status 0, or 2 and one line that says what is wrong and what to do."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tiny

from model.__main__ import build_parser, main
from model.config import ModelConfig, TrainConfig
from model.decoding.strategy import Decoding
from model.inference.analyse import analyse, load
from model.inference.request import Request

ROOT = Path(__file__).resolve().parents[2]
SOURCE, TARGET = tiny.HELD_OUT[1]


def python_m_model(*args: str) -> subprocess.CompletedProcess[str]:
    one_core = {"OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "model", *args]
    return subprocess.run(command, cwd=ROOT, env=os.environ | one_core, capture_output=True, text=True, timeout=300)


def fails(capsys, *args: str) -> str:
    """Runs a command that must fail; returns its one line."""
    try:
        status = main(list(args))
    except SystemExit as left:  # what argparse refuses
        status = left.code
    out, err = capsys.readouterr()
    assert status == 2
    assert out == ""
    assert err.endswith("\n")
    assert err.count("\n") == 1
    assert err.startswith("python -m model")
    return err


@pytest.fixture
def learned(trained: Path) -> str:
    return str(trained / "checkpoint")


# -- what works --------------------------------------------------------------------------------------------------------


def test_translate_in_a_process_of_its_own(learned):
    done = python_m_model("translate", SOURCE, "--checkpoint", learned)
    assert (done.returncode, done.stdout) == (0, TARGET + "\n")
    assert "Traceback" not in done.stderr


def test_a_fault_in_a_process_of_its_own():
    done = python_m_model("translate", "   ")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("python -m model translate: The sentence is empty: type one.\n")


def test_held_out_sentences_are_translated(learned, capsys):
    right = 0
    for source, target in tiny.HELD_OUT:
        assert main(["translate", source, "--checkpoint", learned]) == 0
        right += capsys.readouterr().out == target + "\n"
    assert right > len(tiny.HELD_OUT) / 2


def test_translate_prints_json(learned, capsys):
    assert main(["translate", SOURCE, "--checkpoint", learned, "--json"]) == 0
    out, err = capsys.readouterr()
    values = json.loads(out)
    assert out.count("\n") == 1
    assert err == ""
    assert (values["source"], values["translation"], values["finished"]) == (SOURCE, TARGET, True)
    assert values["tokens"][-1]["token"] == "</s>"


def test_translate_reads_standard_input(learned, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(SOURCE + "\n"))
    assert main(["translate", "-", "--checkpoint", learned]) == 0
    assert capsys.readouterr().out == TARGET + "\n"


def test_notes_go_to_the_error_stream(learned, capsys):
    assert main(["translate", "zqj", "--checkpoint", learned]) == 0
    out, err = capsys.readouterr()
    assert "Unlike its training data: zqj" in err
    assert "Unlike" not in out


@pytest.mark.parametrize("references", ["first", "all"])
def test_evaluate_prints_one_json_object(learned, pair_files, capsys, references):
    args = ["evaluate", "--checkpoint", learned, "--data", str(pair_files[1]), "--json", "--references", references]
    assert main(args) == 0
    out, err = capsys.readouterr()
    scores = json.loads(out)
    assert out.count("\n") == 1
    assert err == ""
    assert {"bleu", "chrf", "sentences", "seconds", "sacrebleu_signature"} <= set(scores)
    assert scores["sentences"] == len(tiny.HELD_OUT)
    assert 60 < scores["bleu"] <= 100
    assert "version:" in scores["sacrebleu_signature"]
    assert scores["references"] == references


def test_a_beam_can_be_asked_for(learned, pair_files, capsys):
    assert (
        main(["translate", "The old fox sees a lamp.", "--checkpoint", learned, "--beam", "3", "--alpha", "0.5", "--json"])
        == 0
    )
    one = json.loads(capsys.readouterr().out)
    asked = Decoding("beam", width=3, alpha=0.5)
    two = analyse(load(learned), Request("The old fox sees a lamp.", checkpoint=learned, decoding=asked))
    assert one == two.to_dict()
    assert len(two.tree.hypotheses) == 3
    args = ["evaluate", "--checkpoint", learned, "--data", str(pair_files[1]), "--json"]
    found = {}
    for beam in ("1", "4"):
        assert main([*args, "--beam", beam]) == 0
        found[beam] = json.loads(capsys.readouterr().out)
    assert (found["1"]["beam"], found["4"]["beam"], found["4"]["alpha"]) == (1, 4, 1.0)
    assert "alpha" not in found["1"]
    assert found["4"]["bleu"] > 60


def test_evaluate_prints_for_people_and_takes_a_limit(learned, pair_files, capsys):
    assert main(["evaluate", "--checkpoint", learned, "--data", str(pair_files[1]), "--limit", "3"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("BLEU ")
    assert "(3 sentences, " in first
    assert "nrefs:1" in second


def test_scores_can_be_recorded(saved, pair_files, capsys):
    args = ["evaluate", "--checkpoint", str(saved), "--data", str(pair_files[1]), "--limit", "1", "--json"]
    assert main([*args, "--record", "test"]) == 0
    metrics = json.loads((saved / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["bleu"] == 1.0  # what was known before stays
    assert metrics["test"]["sentences"] == 1
    assert len(metrics["test"]["data_sha256"]) == 64
    assert json.loads(capsys.readouterr().out)["bleu"] == metrics["test"]["bleu"]


def test_training_tells_what_it_does_and_goes_on(pair_files, tmp_path, capsys):
    files = ["--data", str(pair_files[0]), "--dev", str(pair_files[1]), "--out", str(tmp_path / "run")]
    args = ["train", *files, "--device", "cpu", *tiny.options(**tiny.MODEL, **tiny.TRAINING | {"epochs": 2})]
    assert main([*args, "--max-minutes", "0"]) == 0
    first = capsys.readouterr().out
    assert "54 pairs; " in first
    assert "on cpu; 8 steps" in first
    assert "the same command goes on" in first
    assert main(args) == 0
    second = capsys.readouterr().out
    assert "going on at step 1" in second
    assert "finished: the best weights are in" in second
    assert "other settings" in fails(capsys, *args, "--seed", "5")


def test_help_tells_where_data_come_from(capsys):
    for args in (["train", "--help"], ["--help"], ["evaluate", "--help"]):
        with pytest.raises(SystemExit, match="0"):
            main(args)
        text = capsys.readouterr().out
        assert "usage: python -m model" in text
        assert ("https://www.manythings.org/anki/" in text) == (args[0] == "train")


def test_every_field_of_the_configs_is_an_option():
    model = ModelConfig(260, 260, d_model=24, heads=3, positions="rotary", norm_first=False, window=4, norm="rmsnorm")
    training = TrainConfig(schedule="noam", precision="float32", epochs=3, learning_rate=0.5)
    expected = model.to_dict() | training.to_dict()
    del expected["source_vocab"], expected["target_vocab"]  # these follow from the data
    switches = ["--" + "no-" * (not v) + k.replace("_", "-") for k, v in expected.items() if isinstance(v, bool)]
    values = tiny.options(**{k: v for k, v in expected.items() if not isinstance(v, bool)})
    args = build_parser().parse_args(["train", "--data", "a", "--dev", "b", "--out", "c", *switches, *values])
    assert {name: getattr(args, name) for name in expected} == expected


def test_ctrl_c_stops_without_a_traceback(monkeypatch, capsys):
    def stop(args):
        raise KeyboardInterrupt

    monkeypatch.setattr("model.__main__.translate", stop)
    assert main(["translate", "x"]) == 130
    assert capsys.readouterr().err == "stopped\n"


# -- what fails --------------------------------------------------------------------------------------------------------


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
        (["translate", "x", "--device", "abacus"], "invalid choice: 'abacus'"),
        (["evaluate"], "the following arguments are required: --data"),
        (["evaluate", "--data", "x", "--limit", "many"], "argument --limit: invalid int value: 'many'"),
        (["evaluate", "--data", "x", "--limit", "0"], "--limit is 0; expected at least 1"),
        (["evaluate", "--data", "x", "--beam", "0"], "The beam's width is 0; expected at least 1."),
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
