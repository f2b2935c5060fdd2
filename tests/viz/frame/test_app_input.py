"""What a visitor, a link or a damaged checkpoint can do to the page: always one sentence, never a traceback."""

import json
import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from model.config import MAX_CHARACTERS, MAX_TOKENS
from tests.support.viz_helpers import TIMEOUT, Lab

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
def test_an_odd_sentence_stays_in_the_box(visitor, text):
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
    from viz.kit import site_texts
    from viz.state.view import View
    from viz.translate import mask_charts

    typed = "<script>1</script>"
    effect = Effect(BASELINE, 4, (typed,), np.log([0.9]), np.log([0.1]))
    analysis = SimpleNamespace(task=TRANSLATES, scored=TRANSLATES.scored())
    for markup in (mask_charts.causal_text(effect, View(), True, analysis), mask_charts.padding_text(effect, View())):
        site_texts.write(f"<p>{markup}</p>")
    site_texts.fault(f"There is no {typed}.")
    site_texts.note(f"The link's step is {typed}.", warn=True)
    site_texts.label(typed)
    site_texts.write(f"<p>{site_texts.marked([typed, typed, 'owl'], (False, True, True), 'is')}</p>")


def test_every_kind_of_text_is_escaped():
    at = AppTest.from_function(texts_with_markup, default_timeout=TIMEOUT).run()
    assert not at.exception
    pieces = [element.proto.body for element in at.get("html")]
    shown = [piece.count("&lt;script&gt;1&lt;/script&gt;") for piece in pieces]
    assert [count for count in shown if count] == [1, 1, 1, 1, 1, 2]
    assert not any("<script" in piece for piece in pieces)


@pytest.mark.parametrize("text", ["", " \t "])
def test_a_blank_sentence_stays_in_the_box(text):
    lab = Lab().type(text)
    assert lab.box == text
    assert len(lab.faults) == 1
    assert "empty" in lab.faults[0]
    assert (lab.timeline, lab.charts) == (None, [])  # nothing of the sentence before is left
    assert lab.run().faults == Lab(text=text).faults
    lab.type("Nine owls.")
    assert (lab.faults, len(lab.charts)) == ([], 3)


def test_a_too_long_sentence_stays_in_the_box():
    lab = Lab(causal="off").type(LONG)
    assert lab.box == LONG
    assert len(lab.faults) == 1
    count, limit = map(int, re.findall(r"\d+", lab.faults[0])[:2])
    assert count > limit == MAX_TOKENS == 128
    assert (lab.timeline, lab.charts) == (None, [])
    lab.type("Nine owls.")
    assert lab.faults == []
    assert lab.link == {"text": "Nine owls.", "causal": "off"}


def test_an_endless_text_is_kept_and_never_tokenised(monkeypatch):
    seen = []
    monkeypatch.setattr("sentencex.segment", lambda language, text: seen.append(text) or [text])
    lab = Lab().type("“" * 250_000)
    assert lab.faults == ["The sentence has 250,000 characters; expected at most 20,000. Shorten it."]
    assert (lab.box, lab.link) == ("“" * 250_000, {})
    lab.run()
    assert (lab.box, len(lab.faults)) == ("“" * 250_000, 1)
    assert max(map(len, seen), default=0) <= MAX_CHARACTERS
    assert lab.type("Nine owls.").faults == []


def test_nonsense_in_a_link_is_one_warning_each():
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


def test_a_missing_checkpoint_is_one_fault():
    lab = Lab(checkpoint="nothere")
    assert len(lab.faults) == 1
    assert "'nothere'" in lab.faults[0]
    assert "en-fr" in lab.faults[0]
    assert (lab.timeline, lab.charts) == (None, [])


def test_a_missing_device_is_one_fault(monkeypatch):
    monkeypatch.setattr("model.device.available", lambda: ("cpu",))
    lab = Lab(device="mps")
    assert len(lab.faults) == 1
    assert "mps" in lab.faults[0]
    assert lab.faults[0][0].isupper()
    assert lab.faults[0].endswith(".")
    lab.app_test.selectbox(key="device").set_value("cpu")
    assert lab.run().faults == []
    assert len(lab.charts) == 3


@pytest.mark.parametrize("name", ["my(model)", "a b", "l'été <b>", "100%+&=#?", "own.1"])
def test_a_checkpoint_of_an_odd_name_has_a_link(home, name):
    home.rename(home.parent / name)
    lab = Lab(checkpoint=name, text="The red fox.", causal="off")
    assert (lab.faults, lab.link["checkpoint"]) == ([], name)
    assert Lab(**lab.link).timeline == lab.timeline


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
def test_a_damaged_checkpoint_names_its_file(home, damage, tmp_path):
    folder = home.rename(home.parent / f"damaged-{list(DAMAGES).index(damage)}")
    spoil, named = DAMAGES[damage]
    spoil(folder)
    lab = Lab(checkpoint=folder.name, text="The red fox.")
    assert len(lab.faults) == 1
    assert named in lab.faults[0]
    assert "\n" not in lab.faults[0]
    assert (lab.box, lab.timeline, lab.charts) == ("The red fox.", None, [])


def test_too_many_branch_tokens_are_refused():
    branch = "~".join("-".join(str(first + n) for n in range(100)) for first in (300, 500))
    lab = Lab(text="Nine owls.", branch=branch, causal="off", mode="again", decode="beam", width="8")
    (fault,) = lab.faults
    assert "200 tokens of branches in a beam of 8 would take minutes" in fault
    assert (lab.box, lab.timeline) == ("Nine owls.", None)
    assert lab.click("without branches").faults == []
    assert "branch" not in lab.link and lab.timeline
