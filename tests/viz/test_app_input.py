"""What a visitor, a link or a damaged checkpoint can do to the page: always one sentence, never a traceback."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from model.config import MAX_CHARACTERS, MAX_TOKENS
from tests.support.viz_helpers import TIMEOUT, Lab
from viz import cache

ODD = [
    "😀 مرحبا",
    "\u202eowls\u202c \u200f\u200b\u2060",
    "a\x00b\x07c\x1bd\x7f",
    "</s> <pad> <s>",
    "&lt;b&gt; &quot;owls&quot; \"'\\",
    "**bold** $x^2$ :owl: [a](b) `c`",
    "\u200b",
]
LONG = "zq" * 20 + " owls" * MAX_TOKENS


@pytest.fixture(scope="module")
def visitor() -> Lab:
    return Lab()


@pytest.mark.parametrize("text", ODD, ids=ascii)
def test_an_odd_sentence_gets_one_answer_and_stays_in_the_box(visitor, text):
    visitor.type(text)
    assert visitor.box == text
    assert visitor.faults == []
    assert visitor.timeline["source"][-1]["t"] == "</s>"
    assert [token["t"] for token in visitor.timeline["source"]].count("</s>") == 1
    assert not any(token["pad"] for token in visitor.timeline["source"])
    assert len(visitor.charts) == 3
    assert visitor.link == {"text": text}


def test_no_markup_is_made_of_what_is_typed():
    text, tags = "<script>alert(1)</script><img src=x onerror=alert(1)></p><b>owls</b>", ("<script", "<img", "<b>owls")
    links = [{"text": text}, {"text": text, "target": text, "causal": "off", "padmask": "off"}]
    links += [{"checkpoint": text}, {"text": f"{text} " * 60}, {"step": text}]
    for link in links:
        pieces = Lab(**link).html
        assert pieces
        assert [piece for piece in pieces if any(tag in piece for tag in tags)] == [], link


def texts_with_markup() -> None:
    from types import SimpleNamespace

    import numpy as np

    from model.edits.intervention import BASELINE
    from model.experiments.effects import Effect
    from model.task import TRANSLATES
    from viz.shared import texts
    from viz.translate import masks
    from viz.view import View

    typed = "<script>1</script>"
    effect = Effect(BASELINE, 4, (typed,), np.log([0.9]), np.log([0.1]))
    analysis = SimpleNamespace(task=TRANSLATES, scored=TRANSLATES.scored())
    for markup in (masks.causal_text(effect, View(), True, analysis), masks.padding_text(effect, View())):
        texts.write(f"<p>{markup}</p>")
    texts.fault(f"There is no {typed}.")
    texts.note(f"The link's step is {typed}.", warn=True)
    texts.label(typed)
    texts.write(f"<p>{texts.marked([typed, typed, 'owl'], (False, True, True), 'is')}</p>")


def test_every_kind_of_text_is_escaped():
    at = AppTest.from_function(texts_with_markup, default_timeout=TIMEOUT).run()
    assert not at.exception
    pieces = [element.proto.body for element in at.get("html")]
    shown = [piece.count("&lt;script&gt;1&lt;/script&gt;") for piece in pieces]
    assert [count for count in shown if count] == [1, 1, 1, 1, 1, 2]
    assert not any("<script" in piece for piece in pieces)


@pytest.mark.parametrize("text", ["", " \t "])
def test_a_blank_sentence_gets_one_sentence_and_keeps_the_box(text):
    lab = Lab().type(text)
    assert lab.box == text
    assert len(lab.faults) == 1
    assert "empty" in lab.faults[0]
    assert (lab.timeline, lab.charts) == (None, [])  # nothing of the sentence before is left
    assert lab.run().faults == Lab(text=text).faults
    lab.type("Nine owls.")
    assert (lab.faults, len(lab.charts)) == ([], 3)


def test_a_sentence_that_is_too_long_is_counted_and_stays_in_the_box():
    lab = Lab(causal="off").type(LONG)
    assert lab.box == LONG
    assert len(lab.faults) == 1
    count, limit = map(int, re.findall(r"\d+", lab.faults[0])[:2])
    assert count > limit == MAX_TOKENS == 128
    assert (lab.timeline, lab.charts) == (None, [])
    lab.type("Nine owls.")
    assert lab.faults == []
    assert lab.link == {"text": "Nine owls.", "causal": "off"}


def test_a_length_that_training_hardly_saw_is_told_before_and_after():
    known = cache.checkpoint("en-fr", "auto").seen.lengths["source"]
    lab = Lab(text="I have a cat.")
    assert lab.at.text_input(key="source").placeholder.endswith(f"up to {known.most} are usual in training")
    assert f"tokens; usual ≤ {known.most}" in lab.at.button(key="token count").label
    assert not any(sign.startswith("Long for") for sign in lab.timeline["doubt"]["signs"])
    lab.type("Nine owls sleep and " * 9 + "nine owls sing. Nine owls sleep.").at.run()
    size = len(lab.timeline["source"]) - sum(token["pad"] for token in lab.timeline["source"])
    assert size > known.most
    (note,) = [text for text in lab.timeline["doubt"]["signs"] if text.startswith("Long for")]
    assert lab.at.button(key="token count").label == f"⚠ {size} tokens; usual ≤ {known.most}"
    assert f"{size} tokens; {known.told()}" in note
    assert lab.sentences("lab-note warn") == []  # it stands in one place alone


def test_a_very_long_text_is_answered_and_its_link_can_be_read_again():
    lab = Lab().type("owl " * 5000)
    assert len(lab.faults) == 1
    assert lab.box == "owl " * 5000
    again = Lab(**lab.link)
    assert len(again.faults) + len(again.warnings) <= 1


def test_more_characters_than_any_sentence_has_are_kept_and_never_split_nor_tokenised(monkeypatch):
    seen = []
    monkeypatch.setattr("sentencex.segment", lambda language, text: seen.append(text) or [text])
    lab = Lab().type("“" * 250_000)
    assert lab.faults == ["The sentence has 250,000 characters; expected at most 20,000. Shorten it."]
    assert (lab.box, lab.link) == ("“" * 250_000, {})
    lab.run()
    assert (lab.box, len(lab.faults)) == ("“" * 250_000, 1)
    assert max(map(len, seen), default=0) <= MAX_CHARACTERS
    assert lab.type("Nine owls.").faults == []


def test_a_target_that_is_too_long_is_named():
    lab = Lab(target=LONG)
    assert len(lab.faults) == 1
    assert "target" in lab.faults[0]
    assert "128" in lab.faults[0]


def test_nonsense_in_a_link_gets_a_sentence_each_and_the_page_is_whole():
    bad = {"step": "-1", "layer": "abc", "head": "²", "pad": "99", "causal": "maybe", "show": "x", "device": "tpu"}
    bad |= {"checkpoint": "../../etc", "text": "x" * 10_000}
    lab = Lab(**bad, mode="again", utm="mail")
    assert lab.faults == []
    assert len(lab.warnings) == len(bad)
    for name in bad:
        assert sum(f"link's {name} " in sentence for sentence in lab.warnings) == 1
    assert len(lab.charts) == 3
    assert lab.link == {"mode": "again"}
    assert lab.pick("show", "mask").warnings == []


def test_a_layer_and_a_head_beyond_the_model_are_named():
    lab = Lab(layer="99", head="99")
    assert [re.findall(r"(?:layer|head) 99", sentence) for sentence in lab.warnings] == [["layer 99"], ["head 99"]]
    assert "mean over heads" in lab.timeline["where"]
    assert lab.charts


def test_a_fault_of_the_link_is_told_though_the_sentence_has_one_too():
    lab = Lab(step="-1", text=" ")
    assert len(lab.faults) == 1
    assert any("step" in sentence for sentence in lab.warnings)


def test_a_checkpoint_that_is_not_there_gets_one_sentence_with_those_that_are():
    lab = Lab(checkpoint="nothere")
    assert len(lab.faults) == 1
    assert "'nothere'" in lab.faults[0]
    assert "en-fr" in lab.faults[0]
    assert (lab.timeline, lab.charts) == (None, [])


def test_there_is_a_way_back_from_a_checkpoint_that_is_not_there():
    lab = Lab(checkpoint="nothere", text="Nine owls.")
    lab.at.selectbox(key="checkpoint").set_value("en-fr")
    assert lab.run().faults == []
    assert lab.link == {"text": "Nine owls."}
    assert len(lab.charts) == 3


def test_a_device_that_is_not_there_gets_one_sentence_and_a_way_back(monkeypatch):
    monkeypatch.setattr("model.device.available", lambda: ("cpu",))
    lab = Lab(device="mps")
    assert len(lab.faults) == 1
    assert "mps" in lab.faults[0]
    assert lab.faults[0][0].isupper()
    assert lab.faults[0].endswith(".")
    lab.at.selectbox(key="device").set_value("cpu")
    assert lab.run().faults == []
    assert len(lab.charts) == 3


def test_a_checkpoint_of_other_sizes_is_as_good(home):
    lab = Lab(checkpoint=home.name, text="The red fox.", causal="off")
    assert lab.faults == []
    assert [sentence for sentence in lab.warnings if "link" in sentence] == []
    assert len(lab.charts) == 4
    assert lab.at.button_group(key="layer").options == ["1", "2"]
    assert lab.at.button_group(key="head").options == ["mean", "1", "2"]


@pytest.mark.parametrize("name", ["my(model)", "a b", "l'été <b>", "100%+&=#?", "own.1"])
def test_a_checkpoint_of_an_odd_name_is_chosen_and_comes_back_by_its_link(home, name):
    home.rename(home.parent / name)
    lab = Lab(checkpoint=name, text="The red fox.", causal="off")
    assert (lab.faults, lab.link["checkpoint"]) == ([], name)
    assert Lab(**lab.link).timeline == lab.timeline


def test_another_checkpoint_can_be_chosen(home):
    shutil.copytree(home, home.parent / "twin")
    lab = Lab(checkpoint=home.name)
    box = lab.at.selectbox(key="checkpoint")
    assert box.options == sorted([home.name, "twin"])
    box.set_value("twin")
    assert lab.run().link["checkpoint"] == "twin"
    assert lab.faults == []
    assert any("<b>twin</b>" in text for text in lab.html)


def _json(name: str, **changes):
    def damage(folder: Path) -> None:
        path = folder / name
        path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")

    return damage


DAMAGES = {
    "another schema": (_json("config.json", schema=99), "'schema' is 99"),
    "no JSON": (lambda folder: (folder / "config.json").write_text("{"), "config.json is no valid JSON"),
    "no weights": (lambda folder: (folder / "model.safetensors").unlink(), "model.safetensors is missing"),
    "cut weights": (lambda folder: (folder / "model.safetensors").write_bytes(b"\0" * 99), "model.safetensors"),
    "no vocabulary": (lambda folder: (folder / "tokenizer.json").unlink(), "tokenizer.json is missing"),
    "wrong counts": (_json("counts.json", source=[1]), "counts.json: 'source'"),
    "no metrics": (lambda folder: (folder / "metrics.json").write_text("[1"), "metrics.json is no valid JSON"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_gets_one_sentence_that_names_the_file(home, damage, tmp_path):
    folder = home.rename(home.parent / f"damaged-{list(DAMAGES).index(damage)}")
    spoil, named = DAMAGES[damage]
    spoil(folder)
    lab = Lab(checkpoint=folder.name, text="The red fox.")
    assert len(lab.faults) == 1
    assert named in lab.faults[0]
    assert "\n" not in lab.faults[0]
    assert (lab.box, lab.timeline, lab.charts) == ("The red fox.", None, [])


def test_branches_that_would_be_decoded_for_minutes_are_refused_and_can_be_taken_back():
    branch = "~".join("-".join(str(first + n) for n in range(100)) for first in (300, 500))
    lab = Lab(text="Nine owls.", branch=branch, causal="off", mode="again", decode="beam", width="8")
    (fault,) = lab.faults
    assert "200 tokens of branches in a beam of 8 would take minutes" in fault
    assert (lab.box, lab.timeline) == ("Nine owls.", None)
    assert lab.click("without branches").faults == []
    assert "branch" not in lab.link and lab.timeline
