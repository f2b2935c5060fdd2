"""Commands maps and continue, and faults of the command line: one line and exit status 2."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from pathlib import Path
from typing import TextIO

import pytest

from model import checkpoint as checkpoints
from model.__main__ import BROKEN_PIPE_STATUS, main
from model.checkpoint import load
from model.decoding.strategy import Decoding
from model.export import Exported, read
from model.export.csv_tables import CELLS
from model.export.schema import intervention
from model.inference.analyse import analyse
from model.inference.request import Request
from model.trace import Site
from tests.support import tiny
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
        assert main(["translate", "The fox.", "--checkpoint", learned]) == BROKEN_PIPE_STATUS == 141
        assert os.path.samestat(os.fstat(opened.fileno()), os.stat(os.devnull))  # nothing is written at the end either
    assert capsys.readouterr().err == ""


def test_output_that_cannot_be_written_is_one_line(learned, capsys, monkeypatch, tmp_path):
    with (tmp_path / "full").open("w") as opened:
        monkeypatch.setattr("sys.stdout", Closed(opened, "flush", OSError(28, "No space left on device")))
        assert main(["judge", "x", "--checkpoint", learned]) == 2
        assert os.path.samestat(os.fstat(opened.fileno()), os.stat(os.devnull))
    assert capsys.readouterr().err == "python -m model judge: [Errno 28] No space left on device\n"


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_sentence_without_a_blank_is_refused_by_a_bert(capsys, monkeypatch, more):
    said = "bert-mini fills in blanks, and this sentence has none; write ___ in place of a word"
    own = ["--checkpoint", "bert-mini", *more]
    assert fails(capsys, "translate", "The dog", *own) == f"python -m model translate: {said}\n"
    assert main(["translate", "The ___ sleeps.", *own]) == 0
    assert capsys.readouterr().out.strip()
    monkeypatch.setattr("sys.stdin", io.StringIO("The dog sleeps.\n"))
    assert fails(capsys, "translate", "-", *own) == f"python -m model translate: line 1: {said}\n"


TEXT = "The red fox sees a lamp."


@pytest.fixture(scope="module")
def writer(tokenizer, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("continue") / "writer"
    checkpoints.save(tiny.checkpoint(tokenizer, family="decoder-only", encoder_layers=0), folder)
    return folder


def test_continue_prints_the_tokens_of_analyse(writer, capsys):
    asked = {"temperature": 0.8, "top_p": 0.9, "seed": 3}
    words = [word for name, value in asked.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    command = ["continue", TEXT, "--checkpoint", str(writer), "--max-new-tokens", "9", *words]
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    found = analyse(
        checkpoints.load(str(writer), "cpu"), Request(TEXT, decoding=Decoding("sample", max_new_tokens=9, **asked))
    )
    assert [each["token"] for each in told["tokens"]] == list(found.trace.outputs.labels[found.prompt_length :])
    assert told["text"] == TEXT and TEXT + told["continuation"] == found.translation
    assert len(told["text_tokens"]) == found.prompt_length and len(told["tokens"]) <= 9
    assert main(command) == 0
    out, err = capsys.readouterr()
    assert out == found.translation + "\n"
    assert err == ("" if found.hypothesis.is_finished else found.stop_reason + "\n")


@pytest.mark.parametrize(
    ("end", "options", "asked"),
    [
        (".npz", ["--prefix", "Lo", "--again"], {"prefix": "Lo", "mode": "again"}),
        (".json", ["--target", "Lo varun.", "--beam", "2"], {"target": "Lo varun.", "decoding": Decoding("beam", width=2)}),
    ],
)
def test_file_equals_the_analysis_of_its_options(saved, tmp_path, capsys, end, options, asked):
    out = tmp_path / f"x{end}"
    codes = ("off_cross.1.2", "window-3")
    options = [*options, "--edits", "~".join(codes), "--device", "cpu"]
    assert main(["maps", TEXT, "--checkpoint", str(saved), *options, "--out", str(out)]) == 0
    checkpoint = load(str(saved))
    request = Request(TEXT, str(saved), intervention=intervention(codes), **asked)
    expected = Exported.of(checkpoint, analyse(checkpoint, request))
    assert read(out) == expected
    assert capsys.readouterr().out == expected.translation + "\n"


def test_a_table_holds_the_maps_that_are_asked_for(saved, tmp_path):
    sizes = []
    out = tmp_path / "x.csv"
    command = ["maps", TEXT, "--checkpoint", str(saved), "--target", "Lo varun.", "--out", str(out)]
    for options in ([], ["--site", "cross"], ["--site", "cross", "--layer", "2", "--head", "1"]):
        assert main([*command, *options]) == 0
        rows = list(csv.reader(io.StringIO(out.read_bytes().decode("utf-8-sig"), newline="")))
        out.unlink()
        assert tuple(rows[0]) == CELLS
        sizes.append({tuple(row[:3]) for row in rows[1:]})
    assert sizes[2] == {("cross", "2", "1")}
    assert sizes[1] == {("cross", layer, head) for layer in "12" for head in "12"}
    assert {kind for kind, _, _ in sizes[0]} == {"encoder", "decoder", "cross"} and len(sizes[0]) == 12


def test_route_prints_the_links_of_a_choice(shipped, capsys):
    text = "The car didn't cross the bridge because it was too heavy."
    assert main(["route", text, "--token", "elle", "--rival", "il", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    found = analyse(shipped, Request(text))
    step = found.trace.outputs.labels.index("elle")
    assert (printed["step"], printed["translation"]) == (step + 1, found.translation)
    trace, first = found.trace, printed["links"][0]
    assert trace.queries(Site(first["site"], 0))[first["query"] - 1] == first["query_token"]
    assert trace.keys(Site(first["site"], 0))[first["key"] - 1] == first["key_token"]
    place = {"encoder": "enc", "decoder": "dec", "cross": "cross"}[first["site"]]
    edit = intervention([f"block_{place}_{first['query']}-{first['key']}"])
    after = analyse(shipped, Request(text, intervention=edit)).trace
    odds = printed["probabilities"]
    assert printed["difference"] == pytest.approx(math.log(odds["token"] / odds["rival"]), abs=1e-3)
    assert odds["token"] == pytest.approx(math.exp(trace.token_log_probs[step]), abs=1e-5)
    rival = shipped.target_tokenizer.encode("qu'il")[-1]
    difference = after.logit(step, trace.outputs.ids[step]) - after.logit(step, rival)
    assert printed["difference"] + first["effect"] == pytest.approx(difference, abs=1e-3)
    assert main(["route", text, "--step", str(step + 1)]) == 0
    assert f"Step {step + 1}: elle leads il by" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "beginning"),
    [
        (["The dog is ___.", "--checkpoint", "bert-mini", "--token", "happy", "--rival", "tired"], "Step 5: happy"),
        (["Once upon a", "--checkpoint", "gpt-mini", "--step", "4", "--rival", "day"], "Step 4: a leads day by"),
        (["A dull film.", "--checkpoint", "sentiment", "--token", "negative"], "Step 1: negative leads positive by"),
    ],
    ids=["blank", "next token", "label"],
)
def test_route_of_other_families(capsys, args, beginning):
    assert main(["route", *args]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith(beginning) and lines[-1].endswith("with smaller weights were not.")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--rival", "chiennement"], "the rival 'chiennement' has the tokens chien nement; expected one token of the"),
        (["--token", "chat"], "no step writes the token 'chat'; expected one of: Le chien dort . </s>"),
        (["--token", "chien", "--rival", "chien"], "the rival 'chien' is the token itself; expected two different tokens"),
        (["--step", "9"], "--step is 9; expected 1 to 5"),
        (["--step", "1", "--token", "chien"], "step 1 writes 'Le', not 'chien'; leave out --token or --step"),
        (["--checkpoint", "bert-mini"], "bert-mini fills in blanks, and this sentence has none"),
        (["--checkpoint", "sentiment", "--rival", "so-so"], "the rival is 'so-so'; expected one of negative, positive"),
    ],
)
def test_impossible_route_is_one_line_and_status_2(capsys, args, message):
    assert message in fails(capsys, "route", "The dog sleeps.", *args)


TRAIN = ["train", "--data", "x", "--dev", "x", "--out", "x"]
SAMPLE = ["translate", "x", "--strategy", "sample"]
EVALUATE = ["evaluate", "--data", "x"]
OPTIONS = [
    ([], "the following arguments are required: command. Try python -m model --help."),
    (["dance"], "invalid choice: 'dance'"),
    (["translate", "x", "--a\nb"], "unrecognized arguments: --a b. Try python -m model translate --help."),
    (["translate", "--bema", "4", "x"], "model translate: unrecognized arguments: --bema x (--bema: did you mean --beam?)."),
    (["report", "heads", "--data", "x", "--limt=3"], "model report: unrecognized arguments: --limt=3 (--limt: did you"),
    (["translate", "x", "--limt=3", "--xyz"], "--limt=3 --xyz. Try python -m model translate --help."),
    (["--versoin", "translate", "x"], "model: unrecognized arguments: --versoin (--versoin: did you mean --version?). Try"),
    (["translate", "x", "--device", "abacus"], "the device is 'abacus'; expected auto, cpu, mps"),
    (["translate", "x", "--threads", "0"], "--threads is 0; expected at least 1"),
    (["translate", "x", "--threads", "1000000000"], "--threads is 1000000000; expected at most 1,024"),
    (["translate", "x", "--checkpoint", "a\nb"], r"There is no checkpoint 'a\nb'; expected one of"),
    (["translate", "x", "--beam", "4", "--strategy", "greedy"], "--beam is 4, and the strategy is greedy"),
    (["translate", "x", "--seed", "3"], "--seed does not apply to the strategy greedy; give --strategy sample"),
    ([*SAMPLE, "--temperature", "inf"], "The temperature is inf; expected 0, or"),
    ([*SAMPLE, "--top-k", "9" * 20], "expected at most 1,000,000, or 0"),
    (["evaluate"], "the following arguments are required: --data"),
    ([*EVALUATE, "--join", "many"], "argument --join: it is 'many'; expected how many sentences"),
    ([*EVALUATE, "--record", "dev"], "--record is 'dev'; expected a key such as test"),
    ([*EVALUATE, "--measures", "--join", "3"], "--measures sets its own inputs; leave"),
    ([*EVALUATE, "--join", "3", "--references", "all"], "--join joins the first reference of each"),
    ([*EVALUATE, "--join", "3", "--warnings"], "--warnings counts all sentences one by one; leave"),
    (["evaluate", "--probes", "--join", "3"], "--join is given without --data; give both"),
    (["evaluate", "--probes", "--record", "test"], "--record is 'test'; of probes alone expected probes"),
    (["evaluate", "--contrast", "x", "--record", "test"], "--record is 'test'; of contrast alone expected contrast"),
    (["evaluate", "--contrast", "x", "--limit", "3"], "--limit is given without --data; give both"),
    ([*EVALUATE, "--record", "contrast"], "--record is 'contrast'; expected a key such as test"),
    (["split", "x.zip"], "the following arguments are required: --out"),
    (["maps", "x", "--out", "x.xlsx"], "--out ends in '.xlsx'; expected one of .npz, .json, .csv"),
    (["maps", "x", "--out", "no/x.npz"], "there is no folder"),
    (["maps", "x", "--out", "x.npz", "--head", "1"], "--head narrows a table; give --out a name that ends in .csv"),
    (["maps", "x", "--out", "x.npz", "--edits", "off_middle"], "--edits: “off_middle” is no edit; expected one such as"),
    (["report", "faithfulness", "--data", "x", "--out", "x"], "--out does not apply to faithfulness"),
    (["train", "--data", "x"], "the following arguments are required: --dev, --out"),
    ([*TRAIN, "--data", "x.tsv", "y.tsv", "./x.tsv"], "--data names 'x.tsv' twice; name each file once"),
    ([*TRAIN, "--max-minutes", "nan"], "--max-minutes is nan; expected 0 to 1,000,000"),
    ([*TRAIN, "--languages", "a\nb,c"], r"--languages is 'a\nb,c'; expected two names"),
    ([*TRAIN, "--learning-rate", "inf"], "learning_rate is inf; expected at most 100"),
    ([*TRAIN, "--whole-words"], "--whole-words has no effect on --task translate"),
    ([*TRAIN, "--task", "lm", "--encoder-layers", "2"], "--encoder-layers has no effect on --task lm; remove it"),
    ([*TRAIN, "--dev", "a", "b"], "--dev names 2 files; --task translate reads one: pairs: .tsv"),
]


@pytest.mark.parametrize(
    ("args", "message"), OPTIONS, ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else ""
)
def test_bad_option_is_one_line_and_status_2(capsys, monkeypatch, tmp_path, args, message):
    monkeypatch.chdir(tmp_path)
    assert message in fails(capsys, *args)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("typed", "message"), [(None, "no sent"), (b"caf\xe9\n", "0xe9"), (b"q" * 2_000_000, "1,000,000")])
def test_bad_standard_input_is_refused(learned, capsys, monkeypatch, typed, message):
    stdin = None if typed is None else io.TextIOWrapper(io.BytesIO(typed), encoding="utf-8")
    monkeypatch.setattr("sys.stdin", stdin)
    assert message in fails(capsys, "translate", "-", "--checkpoint", learned)
