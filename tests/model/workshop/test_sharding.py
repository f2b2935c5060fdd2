"""The processes of torchrun share the items of report and evaluate, and give the numbers of one process."""

from __future__ import annotations

import json
import os
import pickle
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from model.__main__ import main
from model.decoding.strategy import Decoding
from model.workshop import sharding
from model.workshop.evaluation import measures
from model.workshop.evaluation.contrast import ContrastRow, contrast_preferences
from model.workshop.reports import alignment_report, heads_report, reliability_report
from model.workshop.reports.seed_matching import match_seeds
from tests.support import tiny
from tests.support.processes import start_ranks

PAIRS = tiny.PAIRS[:17]  # two rounds of two processes


class ThreadGroup:
    """A group of threads, each with a rank, in place of processes."""

    def __init__(self, size: int) -> None:
        self.size, self._own = size, threading.local()
        self._barrier, self._values = threading.Barrier(size, timeout=60), [b""] * size

    def enter(self, rank: int) -> None:
        self._own.rank = rank

    @property
    def rank(self) -> int:
        return self._own.rank

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def all_gather(self, value):
        self._values[self.rank] = pickle.dumps(value)
        self._barrier.wait()
        values = [pickle.loads(each) for each in self._values]
        self._barrier.wait()
        return values


@pytest.fixture
def in_threads(monkeypatch):
    """Runs a function in several threads that share its items, and returns the results by rank."""

    def run(function, size=3):
        group = ThreadGroup(size)
        monkeypatch.setattr(sharding, "_processes", sharding.Processes(group))

        def one(rank):
            group.enter(rank)
            return function()

        with ThreadPoolExecutor(size) as pool:
            results = list(pool.map(one, range(size)))
        monkeypatch.setattr(sharding, "_processes", None)
        return results

    return run


@pytest.mark.parametrize("count", [0, 1, 23, 24, 25, 60])
def test_results_have_the_order_of_the_items(in_threads, count):
    computed = []

    def square(n: int) -> int:
        computed.append(n)
        return n * n

    assert in_threads(lambda: list(sharding.ordered_map(square, range(count)))) == [[n * n for n in range(count)]] * 3
    assert sorted(computed) == list(range(count))  # each item once
    assert list(sharding.ordered_map(square, range(count))) == [n * n for n in range(count)]


class OddError(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


@pytest.mark.parametrize(("fault", "kind"), [(ValueError("bad item"), ValueError), (OddError(1, 2), RuntimeError)])
def test_an_error_of_one_process_ends_all(in_threads, fault, kind):
    def function(n: int) -> int:
        if n == 4:
            raise fault
        return n

    def catch() -> str:
        with pytest.raises(kind) as caught:
            list(sharding.ordered_map(function, range(60)))
        return str(caught.value)

    messages = in_threads(catch)
    assert len(set(messages)) == 1 and str(fault) in messages[0]


def measure_everything(lab, other):
    """Returns the results of the measurements that share their sentences, without times."""
    tokenizers = lab.source_tokenizer, lab.target_tokenizer
    contrasts = [ContrastRow(source, target, f"{target} lo", *source.rstrip(".").split()[1:3]) for source, target in PAIRS]
    gold = [
        alignment_report.GoldAlignment(tuple(s.split()), tuple(t.split()), frozenset({(0, 0), (1, 1)}), frozenset())
        for s, t in PAIRS
    ]
    short = Decoding(max_total_tokens=3)
    numbered = [(f"{source} {n}", target) for n, (source, target) in enumerate(PAIRS * 4)]  # two batches
    scores = measures.measure(lab, numbered, decoding=short)
    return {
        "alignment": alignment_report.measure_alignment(lab, gold).to_dict(),
        "seeds": match_seeds([lab, other], heads_report.distinct_lines(PAIRS), "0" * 64, "ab").to_dict(),
        "warnings": reliability_report.measure_warnings(lab, PAIRS, decoding=short),
        "contrast": contrast_preferences(lab.model, *tokenizers, contrasts).tolist(),
        "evaluate": {name: value for name, value in scores.items() if name != "seconds"},
    }


def test_measurements_are_equal_bit_for_bit(tokenizer, in_threads):
    labs = [tiny.checkpoint(tokenizer, seed) for seed in (1, 2)]
    alone = measure_everything(*labs)
    assert in_threads(lambda: measure_everything(*labs), 2) == [alone] * 2


@pytest.fixture
def pairs_file(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS), encoding="utf-8")
    return path


def outputs(words, folder, status=0, count=2) -> list[str]:
    """Returns what each process prints."""
    started = start_ranks(words, folder, count)
    assert [each.ended() for each in started] == [status] * count, [each.text() for each in started]
    return [each.text() for each in started]


def test_two_processes_print_the_table_of_one(saved, pairs_file, tmp_path, capsys):
    common = ["--data", str(pairs_file), "--checkpoint", str(saved), "--device", "cpu", "--json"]
    heads = ["report", "heads", *common, "--limit", "5", "--of", "reference", "--out"]
    assert main([*heads, str(tmp_path / "one.csv")]) == 0
    one = capsys.readouterr().out
    assert outputs([*heads, str(tmp_path / "two.csv")], tmp_path) == [one, ""]
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    assert sorted(path.name for path in tmp_path.glob("two*")) == ["two.csv"]
    evaluate = ["evaluate", *common, "--limit", "3"]
    assert main(evaluate) == 0
    alone = json.loads(capsys.readouterr().out)
    first, second = outputs(evaluate, tmp_path)
    assert (json.loads(first) | {"seconds": 0}, second) == (alone | {"seconds": 0}, "")


@pytest.mark.long
def test_one_process_continues_what_two_began(saved, pairs_file, tmp_path, capsys):
    longer = tmp_path / "longer.tsv"
    longer.write_text("".join(f"{s} {n}\t{t}\n" for n in range(300) for s, t in PAIRS), encoding="utf-8")
    out = tmp_path / "heads.csv"
    words = ["report", "heads", "--data", str(longer), "--checkpoint", str(saved), "--device", "cpu", "--out", str(out)]
    part = tmp_path / "heads.csv.part"
    started = start_ranks(words, tmp_path, 2)
    while not (part.exists() and part.stat().st_size > 20_000):
        assert all(each.process.is_alive() for each in started), [each.text() for each in started]
        time.sleep(0.01)
    for each in started:
        os.kill(each.process.pid, signal.SIGINT)
    assert [each.ended() for each in started] == [130, 130], [each.text() for each in started]
    assert started[0].text().endswith("stopped\n") and not started[1].text()
    rows = part.read_bytes()
    assert main([*words, "--limit", "2", "--json"]) == 0
    assert part.read_bytes() == rows  # it was read, and it has more sentences
    continued = capsys.readouterr().out
    assert main([*words[:-1], str(tmp_path / "fresh.csv"), "--limit", "2", "--json"]) == 0
    assert capsys.readouterr().out == continued


def test_an_error_is_one_sentence_with_status_two(saved, pairs_file, tmp_path):
    heads = ["report", "heads", "--checkpoint", str(saved), "--device", "cpu", "--data", str(tmp_path / "none.tsv")]
    first, second = outputs(heads, tmp_path, status=2)
    assert first.count("\n") == 1 and "none.tsv" in first and not second
    (tmp_path / "x.csv.part").write_text("{}\n", encoding="utf-8")  # an error of the first process alone
    heads[-1] = str(pairs_file)
    first, second = outputs([*heads, "--out", str(tmp_path / "x.csv")], tmp_path, status=2)
    assert first.splitlines()[-1].endswith("continue that run, or remove the file") and not second


def test_other_commands_refuse_several_processes(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    assert main(["translate", "Hello."]) == 2
    assert "several processes can run train, report and evaluate only; leave out torchrun" in capsys.readouterr().err
    monkeypatch.setenv("RANK", "1")
    for words in (["translate", "Hello."], ["no-command"]):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 0  # the first process reports the error
    assert capsys.readouterr() == ("", "")
