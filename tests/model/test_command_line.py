"""The command line: exit status 0, or 2 and one line that says what is wrong and what to do."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

import model
from model.__main__ import build_parser, main
from model.commands import options, train
from model.commands.field_help import HELP
from model.config import ModelConfig, TrainConfig
from model.decoding.strategy import Decoding
from model.inference.analyse import analyse, load
from model.inference.request import Request
from tests.support import tiny
from tests.support.command_line_helpers import fails, python_m_model

SOURCE, TARGET = tiny.HELD_OUT[1]


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


@pytest.fixture
def typed(monkeypatch):
    return lambda text: monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def test_standard_input_is_read_line_by_line(learned, capsys, typed):
    """Line n of what is written belongs to line n of what is read, with and without an end of line at the end."""
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


@pytest.mark.parametrize("text", ["", "\n", " \n\t\n"])
def test_no_line_at_all_is_told(learned, capsys, typed, text):
    typed(text)
    assert main(["translate", "-", "--checkpoint", learned]) == 2
    assert "there is no sentence on standard input; write one on each line" in capsys.readouterr().err


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"Attention Lab {model.__version__}\n"


def test_threads_can_be_chosen(learned, capsys, monkeypatch):
    chosen: list[int] = []
    monkeypatch.setattr("torch.set_num_threads", chosen.append)
    for more in ([], ["--threads", "3"]):
        assert main(["translate", SOURCE, "--checkpoint", learned, *more]) == 0
    assert chosen == [3]


def test_notes_go_to_the_error_stream(learned, capsys):
    assert main(["translate", "zqj", "--checkpoint", learned]) == 0
    out, err = capsys.readouterr()
    assert "Rare in training: zqj (never)." in err
    assert "Rare" not in out


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


SAMPLED = ["--strategy", "sample", "--temperature", "1.5", "--top-k", "5", "--top-p", "0.9", "--seed", "4"]


def test_sampling_can_be_asked_for(learned, pair_files, capsys):
    asked = Decoding("sample", temperature=1.5, top_k=5, top_p=0.9, seed=4)
    assert main(["translate", SOURCE, "--checkpoint", learned, "--json", *SAMPLED]) == 0
    expected = analyse(load(learned), Request(SOURCE, decoding=asked)).to_dict()
    assert json.loads(capsys.readouterr().out) == expected
    args = ["evaluate", "--checkpoint", learned, "--data", str(pair_files[1]), "--json"]
    found = []
    for more in ([], SAMPLED, SAMPLED):
        assert main([*args, *more]) == 0
        found.append(json.loads(capsys.readouterr().out))
    greedy, one, two = found
    assert one["bleu"] == two["bleu"] < greedy["bleu"]
    assert {"strategy": "sample", "temperature": 1.5, "top_k": 5, "top_p": 0.9, "seed": 4}.items() <= one.items()
    assert "beam" not in one


def test_every_strategy_is_an_option(learned, capsys):
    for strategy in options.STRATEGIES:
        args = build_parser().parse_args(["translate", "x", "--strategy", strategy])
        assert options.decoding(args) == Decoding(strategy)


def test_evaluate_prints_for_people_and_takes_a_limit(learned, pair_files, capsys):
    assert main(["evaluate", "--checkpoint", learned, "--data", str(pair_files[1]), "--limit", "3"]) == 0
    heads, _, row, _, signature = capsys.readouterr().out.splitlines()
    assert heads.startswith("| data | references | decoding | BLEU | chrF | reaches 128 tokens | n |")
    assert row.startswith("| dev, first 3 | first | greedy | ") and row.endswith(" | 0.0% | 3 |")
    assert "nrefs:1" in signature


def test_scores_can_be_recorded(saved, pair_files, capsys):
    args = ["evaluate", "--checkpoint", str(saved), "--data", str(pair_files[1]), "--limit", "1", "--json"]
    assert main([*args, "--record", "test"]) == 0
    metrics = json.loads((saved / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["bleu"] == 1.0  # what was known before stays
    assert metrics["test"]["sentences"] == 1
    assert len(metrics["test"]["data_sha256"]) == 64
    assert json.loads(capsys.readouterr().out)["bleu"] == metrics["test"]["bleu"]


def test_sentences_can_be_joined_and_chosen_by_length(learned, pair_files, capsys):
    args = ["evaluate", "--checkpoint", learned, "--data", str(pair_files[1]), "--json"]
    assert main([*args, "--join", "2-3", "--seed", "4"]) == 0
    one = json.loads(capsys.readouterr().out)
    assert (one["join"], one["join_seed"], one["references"]) == ([2, 3], 4, "first")
    assert len(tiny.HELD_OUT) // 3 <= one["sentences"] <= len(tiny.HELD_OUT) // 2
    assert main([*args, "--at-least", "6"]) == 0
    long = json.loads(capsys.readouterr().out)
    assert long["sentences"] == sum(len(source.split()) >= 6 for source, _ in tiny.HELD_OUT)
    assert main([*args, "--join", "2", "--limit", "4"]) == 0
    assert json.loads(capsys.readouterr().out)["sentences"] == 2


def test_all_that_is_measured_can_be_recorded_and_stands_in_the_card(saved, pair_files, tmp_path, capsys):
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
    assert f"the same command goes on; the best weights so far are in {tmp_path / 'run' / 'checkpoint'}" in first
    assert main(args) == 0
    second = capsys.readouterr().out
    assert "going on at step 1" in second
    assert "finished: the best weights are in" in second
    assert "other settings" in fails(capsys, *args, "--seed", "5")


def test_a_run_whose_warm_up_does_not_end_says_so(pair_files, tmp_path, capsys):
    """In one line, before it starts; a run with an end of it says nothing."""
    files = ["--data", str(pair_files[0]), "--dev", str(pair_files[1]), "--device", "cpu"]
    for warmup, told in ((8, 1), (7, 0)):
        options = tiny.options(**tiny.MODEL, **tiny.TRAINING | {"epochs": 2, "warmup": warmup})
        assert main(["train", *files, "--out", str(tmp_path / str(warmup)), "--max-minutes", "0", *options]) == 0
        lines = [line for line in capsys.readouterr().err.splitlines() if "warm-up" in line]
        expected = (
            "the run has 8 steps and its warm-up 8: the learning rate will still be rising at the end; give --warmup 1"
        )
        assert [line.startswith(expected) for line in lines] == [True] * told


def test_copies_that_are_added_are_counted(tmp_path, capsys):
    file = tmp_path / "pairs.tsv"
    file.write_text("It's old.\tEs vechu.\nA lamp.\tUna lumel.\n", encoding="utf-8")
    args = ["--data", str(file), "--dev", str(file), "--out", str(tmp_path / "run"), "--device", "cpu", "--max-minutes", "0"]
    assert main(["train", *args, *tiny.options(**tiny.MODEL, **tiny.TRAINING)]) == 0
    assert "3 pairs (1 of them copies as people type them); " in capsys.readouterr().out


def test_every_option_says_what_it_does():
    (commands,) = (action for action in build_parser()._actions if action.dest == "command")
    for name, parser in commands.choices.items():
        for action in parser._actions:
            assert len((action.help or "").split(" (default")[0]) > 8, (name, action.option_strings)
    fields = {field for record in (ModelConfig, TrainConfig) for field in record.__dataclass_fields__}
    assert set(HELP) == fields - set(train.FIXED)


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
    expected = {name: value for name, value in expected.items() if name not in train.FIXED}  # which follow from the data
    switches = ["--" + "no-" * (not v) + k.replace("_", "-") for k, v in expected.items() if isinstance(v, bool)]
    values = tiny.options(**{k: v for k, v in expected.items() if not isinstance(v, bool)})
    args = build_parser().parse_args(["train", "--data", "a", "--dev", "b", "--out", "c", *switches, *values])
    assert {name: getattr(args, name) for name in expected} == expected


def test_ctrl_c_stops_without_a_traceback(monkeypatch, capsys):
    def stop(args):
        raise KeyboardInterrupt

    monkeypatch.setattr("model.commands.translate.run", stop)
    assert main(["translate", "x"]) == 130
    assert capsys.readouterr().err == "stopped\n"


# -- what fails --------------------------------------------------------------------------------------------------------
