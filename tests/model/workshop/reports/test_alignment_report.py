"""The alignment error rates of a checkpoint's heads, from files to its metrics."""

from __future__ import annotations

import json

import numpy as np
import pytest

from model import checkpoint as checkpoints
from model.__main__ import main
from model.text.measurements import KEY, AlignmentRates, Rate, read_alignment
from model.workshop.reports import alignment_report
from model.workshop.reports.alignment_report import GoldAlignment, join_words, measure_alignment, read_gold, token_words

PAIRS = ("The red fox sees a lamp . ||| Lo varun roji mira una lumel .", "The boat . ||| Lo nefa .")
LINKS = ("1-1 2-3 3p2 4-4 6-6 7-7", "1-1 2-2 3-3")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "x.src-tgt").write_text("\n".join(PAIRS) + "\n", encoding="utf-8")
    (tmp_path / "x.gold").write_text("\n".join(LINKS) + "\n", encoding="utf-8")
    return tmp_path


def test_every_token_belongs_to_the_word_that_it_begins_in(tokenizer):
    words = ["the", "queen", "'s", "xylophone", ",", "a", "lamp", "."]
    assert join_words(words)[0] == "The queen 's xylophone, a lamp."
    ids, owners = token_words(tokenizer, words)
    assert owners == sorted(owners) and set(owners) == set(range(len(words)))
    segments = tokenizer.segments(ids)
    for n, word in enumerate(words):
        own = "".join(segment for segment, owner in zip(segments, owners, strict=True) if owner == n)
        assert own.strip().lower() == word.lower()


def made_head(monkeypatch, linked):
    monkeypatch.setattr(alignment_report, "head_links", lambda checkpoint, gold: linked(gold))


def test_a_perfect_head_has_no_error_and_knows_its_place(tiny_checkpoint, monkeypatch, folder):

    def linked(gold: GoldAlignment):
        right = [next((s for s, t in gold.sure | gold.possible if t == n), -1) for n in range(len(gold.target))]
        none = [-1] * len(right)
        all_heads = np.array([[none, none], [none, right]])
        return {"predicts": all_heads, "reads": np.array([[none, none], [none, none]])}

    made_head(monkeypatch, linked)
    found = measure_alignment(tiny_checkpoint, read_gold(folder))
    assert found.best_head == (1, 1) and found.rank(1, 1) == (1, 4)
    assert found.best_row(1, 1) == ("predicts", Rate(0, 0, 0, 1, 1))
    assert found.best_row(0, 0)[1] == Rate(1, 1, 1, 0, 0)
    assert found.diagonal.error > 0 and found.diagonal.low <= found.diagonal.error <= found.diagonal.high
    assert read_alignment({KEY: json.loads(json.dumps(found.to_dict()))}) == found
    assert "the lowest of all heads" in found.describe(1, 1) and "the best head, layer 2 head 2, 0.00" in found.describe(
        0, 0
    )


def test_the_command_writes_numbers_and_no_sentence(saved, folder, capsys):
    assert main(["report", "alignment", "--checkpoint", str(saved), "--data", str(folder), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    loaded = checkpoints.load(str(saved))
    known = read_alignment(loaded.metrics)
    assert isinstance(known, AlignmentRates) and known.sentences == 2 and known.to_dict() == loaded.metrics[KEY] == printed
    assert "fox" not in json.dumps(loaded.metrics)
    assert main(["report", "alignment", "--checkpoint", str(saved), "--data", str(folder / "none")]) == 2
    assert "expected a folder with *.src-tgt and *.gold" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["en-fr", "en-fr-learned", "en-fr-peek"])
def test_every_shipped_checkpoint_was_measured(name):
    folder = checkpoints.find_folder(name)
    known = read_alignment(json.loads((folder / "metrics.json").read_text(encoding="utf-8")))
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))["model"]
    assert known is not None and known.covers(config["decoder_layers"], config["heads"]) and known.sentences > 400
