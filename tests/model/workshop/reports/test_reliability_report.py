"""Reports of alignment error rates and of reliability, from files to the metrics of a checkpoint."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pytest

from model import checkpoint as checkpoints
from model.__main__ import main
from model.checkpoint import load
from model.decoding.strategy import Decoding
from model.edits.intervention import Intervention
from model.inference.analyse import analyse
from model.inference.request import Request
from model.text.measurements import KEY, AlignmentRates, Rate, read_alignment
from model.text.warning_calibration import read_signs
from model.workshop.evaluation import model_card
from model.workshop.evaluation.probes import ScoredProbe
from model.workshop.reports import alignment_report, reliability_report
from model.workshop.reports.alignment_report import GoldAlignment, join_words, measure_alignment, read_gold, token_words
from tests.support import tiny

SIGNS = [{"sentences": 1400, "bad": 100}, {"sentences": 400, "bad": 160}, {"sentences": 200, "bad": 140}]
NUMBERS = {"bar": 50.0, "sentences": 2000, "bad": 400, "rules": {"rare": {"warned": 500, "right": 300}}, "signs": SIGNS}


def test_counts_equal_the_warnings_of_analyse(trained):
    lab = tiny.with_seen(load(str(trained / "checkpoint")), {"The": 9, "fox": 9, "lamp": 2})
    good = [(s, analyse(lab, Request(s)).translation) for s, _ in tiny.PAIRS[:3]]
    bad = [(s, "????") for s, _ in (*tiny.HELD_OUT[1:4], ("zq zq", ""))]
    found = reliability_report.measure_warnings(lab, good + bad)
    assert (found["sentences"], found["bad"]) == (7, 4)
    marked = {
        "rare": lambda a: a.rare_positions,
        "unsure": lambda a: a.unsure_steps,
        "overlooked": lambda a: a.overlooked_words,
    }
    for name, has in marked.items():
        stands = [bool(has(analyse(lab, Request(s)))) for s, _ in good + bad]
        assert found["rules"][name] == {"warned": sum(stands), "right": sum(stands[3:])}, name
    numbers = [len(analyse(lab, Request(s)).warnings) for s, _ in good + bad]
    counted = [(row["sentences"], row["bad"]) for row in found["signs"]]
    assert counted == [(numbers.count(n), numbers[3:].count(n)) for n in range(5)]
    unknown = reliability_report.measure_warnings(
        load(str(trained / "checkpoint")), good, limit=2, decoding=Decoding("beam", width=2)
    )
    assert (unknown["sentences"], unknown["bad"]) == (2, 0)
    assert set(found["rules"]) == {*marked, "long"}


def test_reliability_describes_own_translations_only(tiny_checkpoint):
    lab = dataclasses.replace(tiny.with_seen(tiny_checkpoint, {"the": 9}), metrics={"warnings": NUMBERS})
    own = analyse(lab, Request("zq", decoding=Decoding(max_total_tokens=4)))
    number = len(own.warnings)
    assert own.warnings["rare"] == "Rare in training: zq (never)." and set(own.warnings.values()) < set(own.notes)
    assert own.doubt_summary.startswith(f"{number} warning") and own.doubt_summary.endswith(
        f"{own.warning_calibration.describe(number)}."
    )
    assert sum("(all: " in note for note in own.notes) == 1
    off = Intervention(causal_mask=False)
    for changed in (
        {"target": "Lo."},
        {"branches": ((5,),)},
        {"intervention": off},
        {"decoding": Decoding("sample", max_total_tokens=4)},
    ):
        other = analyse(lab, Request("zq", **({"decoding": Decoding(max_total_tokens=4)} | changed)))
        assert re.fullmatch(r"(No|\d+) warnings?\.", other.doubt_summary), changed
        assert not any("(all: " in note for note in other.notes), changed


def test_typed_sentences_are_counted_by_kind_and_warning(trained):
    lab = tiny.with_seen(load(str(trained / "checkpoint")), {"The": 9, "fox": 9, "lamp": 2})
    texts = [source for source, _ in (*tiny.PAIRS[:3], *tiny.HELD_OUT[:2])]
    own = {text: analyse(lab, Request(text)) for text in texts}
    probes = [ScoredProbe("ab"[n % 2], text, (own[text].translation if n else "????",)) for n, text in enumerate(texts)]
    typed = reliability_report.measure_typed(lab, probes)
    assert typed["kinds"] == {"a": {"sentences": 3, "wrong": 1}, "b": {"sentences": 2, "wrong": 0}}
    quiet = [n for n, text in enumerate(texts) if not own[text].warnings]
    assert typed["unwarned"] == {"sentences": len(quiet), "wrong": quiet.count(0)}


def test_no_warning_names_the_share_of_typed_sentences():
    kinds = {"idiom": {"sentences": 10, "wrong": 8}, "plain": {"sentences": 10, "wrong": 2}}
    typed = {"unwarned": {"sentences": 100, "wrong": 31}, "kinds": kinds, "files": ["typed.txt"]}
    signs = read_signs({"warnings": NUMBERS | {"typed": typed}})
    assert signs.describe(0) == "Of such test sentences 7% were translated badly, of such typed ones 31%"
    assert signs.describe(1) == read_signs({"warnings": NUMBERS}).describe(1)
    weak = "Typed: 100 sentences without a warning, as people type them. Known to be weak: idiom (8 of 10 wrong)."
    assert signs.describe_sample().endswith(weak)
    for damaged in (typed | {"unwarned": {"sentences": 3, "wrong": 4}}, typed | {"kinds": []}, 7):
        with pytest.raises(ValueError, match=r"'typed' is .*; expected sentences and wrong ones"):
            read_signs({"warnings": NUMBERS | {"typed": damaged}})
    assert "| idiom | 10 | 8 |" in model_card.typed_table({"typed": typed})


def test_the_card_gets_its_section_and_keeps_the_rest(tmp_path):
    path = tmp_path / "README.md"
    path.write_text("# mine\n\nText.\n\n## Limits\n\nMany.\n", encoding="utf-8")
    model_card.write(path, NUMBERS)
    once = path.read_text(encoding="utf-8")
    assert once.startswith("# mine\n\nText.\n\n## Limits\n\nMany.\n\n" + model_card.HEADING)
    assert "| 2 | 200 | 140 | 0.70 |" in once and model_card.table({**NUMBERS, "signs": []}) in once
    assert "| 500 | 300 | 0.60 | 0.75 |" in once and "| warning always | 2,000 | 400 | 0.20 | 1.00 |" in once
    path.write_text(once + "\n## After\n\nMore.\n", encoding="utf-8")
    model_card.write(path, NUMBERS | {"bad": 800})
    twice = path.read_text(encoding="utf-8")
    assert twice.count(model_card.HEADING) == 1 and twice.endswith("## After\n\nMore.\n") and "0.40 | 1.00" in twice


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
    assert "the lowest of all heads" in found.describe(1, 1) and "the best head, cross 2.2, 0.00" in found.describe(0, 0)


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
