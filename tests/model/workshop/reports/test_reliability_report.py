from __future__ import annotations

import dataclasses
import re

from model.checkpoint import load
from model.decoding.strategy import Decoding
from model.edits.intervention import Intervention
from model.inference.analyse import analyse
from model.inference.request import Request
from model.workshop.evaluation import model_card
from model.workshop.reports import reliability_report
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
    own = analyse(lab, Request("zq", decoding=Decoding(limit=4)))
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
        {"decoding": Decoding("sample", limit=4)},
    ):
        other = analyse(lab, Request("zq", **({"decoding": Decoding(limit=4)} | changed)))
        assert re.fullmatch(r"(No|\d+) warnings?\.", other.doubt_summary), changed
        assert not any("(all: " in note for note in other.notes), changed


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
