from __future__ import annotations

import dataclasses
import json

import pytest
import tiny

from model import checkpoint as checkpoints
from model.checkpoint import CheckpointError, load
from model.decoding.strategy import Decoding
from model.evaluation import card
from model.experiments import warnings
from model.inference import cautions
from model.inference.analyse import analyse
from model.inference.request import Request
from model.text.worth import Worth, read

NUMBERS = {"bar": 50.0, "sentences": 2000, "bad": 400, "rules": {"rare": {"warned": 500, "right": 300}}}


def test_what_is_counted_is_what_the_page_says(trained):
    """A pair with the right reference came out well, one with a foreign reference badly; warnings are those of `analyse`."""
    lab = tiny.with_seen(load(str(trained / "checkpoint")), {"The": 9, "fox": 9, "lamp": 2})
    good = [(s, analyse(lab, Request(s)).translation) for s, _ in tiny.PAIRS[:3]]
    bad = [(s, "????") for s, _ in (*tiny.HELD_OUT[1:4], ("zq zq", ""))]
    found = warnings.measure(lab, good + bad)
    assert (found["sentences"], found["bad"]) == (7, 4)
    marked = {"rare": lambda a: a.rare, "unsure": lambda a: a.unsure, "overlooked": lambda a: a.overlooked}
    for name, has in marked.items():
        stands = [bool(has(analyse(lab, Request(s)))) for s, _ in good + bad]
        assert found["rules"][name] == {"warned": sum(stands), "right": sum(stands[3:])}, name
    unknown = warnings.measure(load(str(trained / "checkpoint")), good, limit=2, decoding=Decoding("beam", width=2))
    assert (unknown["sentences"], unknown["bad"]) == (2, 0)
    assert set(found["rules"]) == {*marked, "long"}


def test_worth_in_words_and_numbers():
    worth = read({"warnings": NUMBERS})["rare"]
    assert worth == Worth(2000, 400, 500, 300)
    assert (worth.precision, worth.recall, worth.base) == (0.6, 0.75, 0.2)
    assert worth.told() == "Such warnings are right 6 times of 10 (by chance 2)."
    assert Worth(20, 4, 5, 3).told() == Worth(20, 4, 0, 0).told() == "" and read({}) == {}


def test_the_worth_is_told_of_the_models_own_translation_alone(tiny_checkpoint):
    lab = dataclasses.replace(tiny.with_seen(tiny_checkpoint, {"the": 9}), metrics={"warnings": NUMBERS})
    own = analyse(lab, Request("zq", decoding=Decoding(limit=4)))
    assert "Rare in training: zq (never). Such warnings are right 6 times of 10 (by chance 2)." in own.notes
    given = analyse(lab, Request("zq", target="Lo."))
    assert "Rare in training: zq (never)." in given.notes and not any("of 10" in note for note in given.notes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rules": []}, "'warnings' has no object 'rules'"),
        ({"rules": {"rare": 3}}, "'warnings': 'rare' has sentences, bad, warned, right = .*; expected counts"),
        ({"rules": {"rare": {"warned": 3, "right": 4}}}, "'rare' has .* = .2000, 400, 3, 4.; expected counts that fit"),
        ({"rules": {"rare": {"warned": 3000, "right": 4}}}, "'rare' has"),
        ({"bad": "4"}, "'rare' has"),
    ],
)
def test_nonsense_in_a_checkpoint_is_refused(saved, changes, message):
    (saved / "metrics.json").write_text(json.dumps({"warnings": NUMBERS | changes}), encoding="utf-8")
    with pytest.raises(CheckpointError, match=f"metrics.json: .*{message}"):
        checkpoints.load(str(saved))


def test_the_card_names_the_bounds_that_warn():
    for kind, bound in (("rare", cautions.RARE), ("unsure", cautions.UNSURE), ("overlooked", cautions.LOOKED)):
        assert f" {bound:g}" in card.KINDS[kind]


def test_the_card_gets_its_section_and_keeps_the_rest(tmp_path):
    path = tmp_path / "README.md"
    path.write_text("# mine\n\nText.\n\n## Limits\n\nMany.\n", encoding="utf-8")
    card.write(path, NUMBERS)
    once = path.read_text(encoding="utf-8")
    assert once.startswith("# mine\n\nText.\n\n## Limits\n\nMany.\n\n" + card.HEADING)
    assert "| 500 | 300 | 0.60 | 0.75 |" in once and "| warning always | 2,000 | 400 | 0.20 | 1.00 |" in once
    path.write_text(once + "\n## After\n\nMore.\n", encoding="utf-8")
    card.write(path, NUMBERS | {"bad": 800})
    twice = path.read_text(encoding="utf-8")
    assert twice.count(card.HEADING) == 1 and twice.endswith("## After\n\nMore.\n") and "0.40 | 1.00" in twice


@pytest.mark.parametrize(("content", "said"), [(b"caf\xe9", "the byte 0xe9 at 3 is no UTF-8"), (None, "is no regular file")])
def test_a_card_that_is_no_text_is_told_and_kept(tmp_path, content, said):
    path = tmp_path / "README.md"
    path.symlink_to("/dev/zero") if content is None else path.write_bytes(content)
    with pytest.raises(ValueError, match=f"README.md:? {said}"):
        card.write(path, NUMBERS)
    assert content is None or path.read_bytes() == content
