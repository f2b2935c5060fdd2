"""The command line: exit status 0, or 2 and one line that says what is wrong and what to do."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from model.__main__ import COMMANDS, build_parser, main
from model.config import ModelConfig, TrainConfig
from model.decoding.strategy import Decoding
from model.inference.analyse import analyse, load
from model.inference.request import Request
from model.workshop.commands import train
from tests.support import tiny
from tests.support.command_line_helpers import ROOT, fails, python_m_model

SOURCE, TARGET = tiny.HELD_OUT[1]


@pytest.fixture
def learned(trained: Path) -> str:
    return str(trained / "checkpoint")


def test_translate_in_a_process_of_its_own(learned):
    done = python_m_model("translate", SOURCE, "--checkpoint", learned)
    assert (done.returncode, done.stdout) == (0, TARGET + "\n")
    assert "Traceback" not in done.stderr


def test_a_fault_in_a_process_of_its_own():
    done = python_m_model("translate", "   ")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("python -m model translate: The sentence is empty: type one.\n")


def test_translate_prints_json(learned, capsys):
    assert main(["translate", SOURCE, "--checkpoint", learned, "--json"]) == 0
    out, err = capsys.readouterr()
    values = json.loads(out)
    assert out.count("\n") == 1
    assert err == ""
    assert (values["source"], values["translation"], values["finished"]) == (SOURCE, TARGET, True)
    assert values["tokens"][-1]["token"] == "</s>"


@pytest.fixture
def typed(monkeypatch):
    return lambda text: monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def test_standard_input_is_read_line_by_line(learned, capsys, typed):
    texts = [SOURCE, "", "The red fox.\r", SOURCE]
    typed("\ufeff" + "\n".join(texts))
    assert main(["translate", "-", "--checkpoint", learned]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert (lines[0], lines[1], lines[3:]) == (TARGET, "", [TARGET, ""])
    assert main(["translate", "The red fox.", "--checkpoint", learned]) == 0
    assert capsys.readouterr().out == lines[2] + "\n"
    typed("\n".join(texts) + "\n")
    assert main(["translate", "-", "--checkpoint", learned, "--json"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["source"] for each in told] == [SOURCE, "", "The red fox.", SOURCE]
    assert [each["translation"] for each in told] == lines[:-1]
    assert len({tuple(each) for each in told}) == 1  # the fields of an empty line are those of all


def test_a_line_that_cannot_be_translated_is_named(learned, capsys, typed):
    typed(f"{SOURCE}\n{'q ' * 200}\n{SOURCE}\n")
    assert main(["translate", "-", "--checkpoint", learned]) == 2
    out, err = capsys.readouterr()
    assert out == TARGET + "\n"
    assert err.splitlines()[-1].startswith("python -m model translate: line 2: The sentence has 400 tokens")
    typed("zqj\n")
    assert main(["translate", "-", "--checkpoint", learned]) == 0
    assert "line 1: Rare in training: zqj (never)." in capsys.readouterr().err


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
    words = ["translate", "The old fox sees a lamp.", "--checkpoint", learned]
    assert main([*words, "--beam", "3", "--alpha", "0.5", "--json"]) == 0
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


def test_all_measures_are_recorded_in_the_card(saved, pair_files, tmp_path, capsys):
    config = json.loads((saved / "config.json").read_text(encoding="utf-8"))
    (saved / "config.json").write_text(json.dumps(config | {"languages": ["English", "French"]}), encoding="utf-8")
    (tmp_path / "mine.txt").write_text("a: one\tA fox.\tUn renard.\n", encoding="utf-8")
    (saved / "README.md").write_text("# saved\n\nby hand\n", encoding="utf-8")
    former = json.loads((saved / "metrics.json").read_text(encoding="utf-8")) | {"mine_long": {"bleu": 99.0}, "other": 1}
    (saved / "metrics.json").write_text(json.dumps(former), encoding="utf-8")
    args = ["evaluate", "--checkpoint", str(saved), "--probes", str(tmp_path / "mine.txt"), "--json", "--beam", "1"]
    assert main([*args, "--data", str(pair_files[1]), "--limit", "3", "--measures", "--record", "mine"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told) == {"mine", "mine_all_references", "mine_joined", "probes"}  # none has 15 words
    metrics = json.loads((saved / "metrics.json").read_text(encoding="utf-8"))
    assert told.items() <= metrics.items() and metrics["bleu"] == 1.0
    assert "mine_long" not in metrics and metrics["other"] == 1  # what this file has none of is not left from another
    assert all(len(metrics[name]["data_sha256"]) == 64 for name in told if name != "probes")
    assert "address" in metrics["mine"] and metrics["probes"]["beam"] == 1
    assert (metrics["probes"]["files"], metrics["probes"]["own"]) == (["mine.txt"], False)
    card = (saved / "README.md").read_text(encoding="utf-8")
    assert card.startswith("# saved\n\nby hand\n\n## Measures\n")
    assert "| dev, first 3, 3 to 5 joined (seed 1) | first | greedy |" in card and "| a | 0 | 1 |" in card
    assert main([*args, "--record", "probes"]) == 0  # alone
    assert set(json.loads(capsys.readouterr().out)) == {"probes"}
    assert json.loads((saved / "metrics.json").read_text(encoding="utf-8")) == metrics
    assert load(str(saved)).metrics == metrics


def test_training_tells_what_it_does_and_goes_on(pair_files, tmp_path, capsys):
    files = ["--data", str(pair_files[0]), "--dev", str(pair_files[1]), "--out", str(tmp_path / "run")]
    args = ["train", *files, "--device", "cpu", *tiny.options(**tiny.MODEL, **tiny.TRAINING | {"epochs": 2})]
    assert main([*args, "--max-minutes", "0"]) == 0
    first = capsys.readouterr().out
    assert "54 pairs; " in first
    assert "on cpu; 8 steps" in first
    assert f"the same command continues the run; the best weights so far are in {tmp_path / 'run' / 'checkpoint'}" in first
    assert main(args) == 0
    second = capsys.readouterr().out
    assert "continues at step 1" in second
    assert "finished: the best weights are in" in second
    assert "other settings" in fails(capsys, *args, "--seed", "5")


def test_every_field_of_the_configs_is_an_option():
    model = ModelConfig(260, 260, d_model=24, heads=3, positions="rotary", norm_first=False, window=4, norm="rmsnorm")
    training = TrainConfig(schedule="noam", precision="float32", epochs=3, learning_rate=0.5)
    fields = model.to_dict() | training.to_dict()
    expected = {name: value for name, value in fields.items() if name not in train.DERIVED_FIELDS}
    switches = ["--" + "no-" * (not v) + k.replace("_", "-") for k, v in expected.items() if isinstance(v, bool)]
    values = tiny.options(**{k: v for k, v in expected.items() if not isinstance(v, bool)})
    args = build_parser().parse_args(["train", "--data", "a", "--dev", "b", "--out", "c", *switches, *values])
    assert {name: getattr(args, name) for name in expected} == expected


def test_ctrl_c_stops_without_a_traceback(monkeypatch, capsys):
    def stop(args):
        raise KeyboardInterrupt

    monkeypatch.setitem(COMMANDS, "translate", dataclasses.replace(COMMANDS["translate"], run=stop))
    assert main(["translate", "x"]) == 130
    assert capsys.readouterr().err == "stopped\n"


STOPPED_EARLY = """
import importlib.abc, os, signal, sys
class Stop(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "model.workshop.sharding":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Stop())
"""


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_ctrl_c_during_the_imports_is_no_traceback(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(STOPPED_EARLY)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "model", "--help"], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
