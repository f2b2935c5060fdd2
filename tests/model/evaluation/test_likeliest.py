"""Of several targets the likeliest is kept, by the very log-probabilities that an analysis of each shows."""

from __future__ import annotations

import gzip

import pytest

from model.__main__ import main
from model.evaluation.likeliest import likeliest, mean_log_probs
from model.inference.analyse import analyse
from model.inference.request import Request
from model.text.corpus import read_pairs
from tests.support import tiny

PAIRS = [("a b", "x"), ("c", "y y"), ("a b", "y x"), ("c", "y y"), ("a b", "x x x"), ("a", "y")]


@pytest.fixture(scope="module")
def lab(tokenizer):
    return tiny.checkpoint(tokenizer)


def test_each_source_keeps_its_likeliest_target(lab):
    values = mean_log_probs(lab, PAIRS)
    for source, target in PAIRS:
        trace = analyse(lab, Request(source=source, target=target)).trace
        own = [float(row[token]) for row, token in zip(trace.log_probs, trace.outputs.ids, strict=True)]
        assert values[source, target] == pytest.approx(sum(own) / len(own), abs=1e-5)
    best = max(("x", "y x", "x x x"), key=lambda target: values["a b", target])
    assert likeliest(lab, PAIRS) == [("a b", best), ("c", "y y"), ("a", "y")]
    assert len({round(values["a b", target], 4) for target in ("x", "y x", "x x x")}) == 3


def test_the_command_writes_pairs_that_can_be_read(tmp_path, lab, capsys):
    from model import checkpoint as checkpoints

    checkpoints.save(lab, tmp_path / "lab")
    (tmp_path / "pairs.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in PAIRS), encoding="utf-8")
    given = ["choose", "--checkpoint", str(tmp_path / "lab"), "--data", str(tmp_path / "pairs.tsv"), "--out"]
    assert main([*given, str(tmp_path / "chosen.tsv.gz")]) == 0
    assert "3 of 6 pairs" in capsys.readouterr().out
    assert read_pairs(tmp_path / "chosen.tsv.gz") == likeliest(lab, PAIRS)
    with gzip.open(tmp_path / "chosen.tsv.gz", "rt", encoding="utf-8") as raw:
        assert len(raw.readlines()) == 3
    for name, told in (("pairs.tsv", "would be lost"), ("chosen.txt", "ends in .tsv or .tsv.gz")):
        assert main([*given, str(tmp_path / name)]) == 2
        assert told in capsys.readouterr().err


def test_share_of_vous_equals_that_of_all_targets(lab):
    pairs = [(source, f"{word} x") for source in "abcdefgh" for word in ("vous", "tu")]
    pairs += [(source, f"vous {more}") for source in "abcdefgh" for more in ("y", "z x", "y y", "z")]
    pairs.append(("i", "x"))
    chosen = dict(likeliest(lab, pairs, as_addressed=True))
    said = ["vous" if "vous" in chosen[source] else "tu" for source in "abcdefgh"]
    assert said.count("vous") == round(8 * 5 / 6) and chosen["i"] == "x" and list(chosen) == list("abcdefghi")
    values = mean_log_probs(lab, pairs)
    best = {
        source: {name: max(v for (s, t), v in values.items() if s == source and name in t) for name in ("tu", "vous")}
        for source in "abcdefgh"
    }
    leans = {
        name: [best[s]["vous"] - best[s]["tu"] for s, own in zip("abcdefgh", said, strict=True) if own == name]
        for name in ("tu", "vous")
    }
    assert min(leans["vous"]) >= max(leans["tu"])
    for source, own in zip("abcdefgh", said, strict=True):
        assert values[source, chosen[source]] == pytest.approx(best[source][own])
