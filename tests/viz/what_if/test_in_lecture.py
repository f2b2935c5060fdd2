"""What if in lecture mode without a browser: what was changed, both translations, its keys, the ready experiments."""

from __future__ import annotations

import pytest

from model.experiments.ready import EXPERIMENTS
from tests.support.viz_helpers import WHAT_IF, Lab
from viz.shared.lecture.letters import CAUSAL, EXPERIMENT, PADDING
from viz.what_if import in_lecture, questions

SENTENCE = "The dog likes the girl."


def what_if(**link: str) -> Lab:
    return Lab(WHAT_IF, **({"lecture": "on", "text": SENTENCE} | link))


def keys(lab: Lab) -> list[str]:
    return [name for name, *_ in lab._mounted(".lecture")["keys"]]


def test_what_was_changed_stands_in_words_beside_both_translations():
    lab = what_if(edits="off_cross.3.5", causal="off", mode="again", pad="2")
    words = next(text for text in lab.html if "lab-hall-changes" in text)
    assert [part in words for part in ("Causal mask off", "head 5: off", "2 pads after the source")] == [True] * 3
    assert any("lab-both" in text for text in lab.html) and lab.sentences("lab-verdict")
    told = lab._mounted(".file_change")
    assert told["large"] and told["edited"] and len(told["before"]) == len(told["labels"]) >= len(told["after"])


def test_more_edits_than_have_room_are_counted():
    codes = [f"off_enc.{layer}.{head}" for layer in (1, 2) for head in (1, 2, 3, 4)]
    words = next(text for text in what_if(edits="~".join(codes)).html if "lab-hall-changes" in text)
    assert words.count("<li>") == in_lecture.MOST + 1 and f"And {len(codes) - in_lecture.MOST} more" in words


@pytest.mark.parametrize("large", ["1", "2", "3"])
def test_padding_counts_as_a_change_in_every_picture(large):
    for link, line in (({"pad": "3"}, "3 pads after the source"), ({}, in_lecture.UNCHANGED)):
        lab = what_if(large=large, **link)
        lines = [text for text in lab.html if text.startswith(('<ul class="lab-hall-changes"', '<p class="lab-hall-line"'))]
        assert len(lines) == 1 and line in lines[0]


@pytest.mark.parametrize(("link", "names"), [({}, 1), ({"edits": "off_cross.3.5"}, 2)])
def test_maps_are_one_or_before_and_after(link, names):
    maps = what_if(large="2", kind="cross", **link)._mounted(".file_maps")["maps"]
    assert len(maps) == names and {each["kind"] for each in maps} == {"cross"}


def test_the_switches_are_those_of_one_kind():
    lab = what_if(large="3", kind="decoder", edits="off_dec.2.3").look()
    (grid,) = lab._mounted(".switchboard")["grids"]
    assert grid["off"][1][2] and sum(map(sum, grid["off"])) == 1
    assert "Decoder" in lab._mounted(".switchboard")["title"] and keys(lab)[-2:] == ["z", "k"]


def test_an_experiment_that_a_link_asks_can_be_made_and_its_counterpart_shown(monkeypatch):
    lab = what_if(**{"try": "order"})
    answer = {name: does for name, does, *_ in lab._mounted(".lecture")["keys"]}["a"]
    lab.click("hall edits")
    counterpart = {name: does for name, does, *_ in lab._mounted(".lecture")["keys"]}["a"]
    assert lab.link["edits"] == "source-positions_off"
    assert (answer, counterpart) == ("what the answer speaks of", "the counterpart of the experiment")
    lab.click("hall also")
    assert lab.link["text"] == "The girl likes the dog."


def test_the_help_stands_on_the_page():
    assert any("e tries the next ready experiment, m and M switch" in text for text in what_if().html)


@pytest.mark.parametrize(
    ("letters", "told"),
    [
        ((EXPERIMENT, CAUSAL, PADDING), "e tries the next ready experiment, m and M switch the masks, v "),
        ((EXPERIMENT, PADDING), "e tries the next ready experiment, M switches the padding mask, v "),
        ((PADDING,), "M switches the padding mask, v "),
    ],
)
def test_the_help_names_the_keys_that_there_are(monkeypatch, letters, told):
    monkeypatch.setattr(in_lecture.lecture, "has", lambda letter: letter in letters)
    assert in_lecture.help_text().startswith(told)


@pytest.mark.parametrize(("now", "by", "then"), [(None, 1, 0), (None, -1, -1), (0, 1, 1), (-1, 1, 0), (0, -1, -1)])
def test_keys_go_round_the_ready_experiments(monkeypatch, now, by, then):
    asked, at = [], EXPERIMENTS[now].name if now is not None else None
    monkeypatch.setattr(questions, "run", lambda known, view, sentence: asked.append((known, sentence)))
    in_lecture._try(in_lecture.View(experiment=at), list(EXPERIMENTS), "English", by)
    assert asked == [(EXPERIMENTS[then], EXPERIMENTS[then].sentence_in("English"))]


def test_what_cannot_be_asked_is_one_sentence():
    assert len(what_if(**{"try": "nonsense"}).faults) == 1
