"""What if in lecture mode without a browser: what was changed, both translations, its keys, the ready experiments."""

from __future__ import annotations

import pytest

from tests.support.viz_helpers import WHAT_IF, Lab

SENTENCE = "The dog likes the girl."


def what_if(**link: str) -> Lab:
    return Lab(WHAT_IF, **({"lecture": "on", "text": SENTENCE} | link))


def keys(lab: Lab) -> list[str]:
    return [name for name, *_ in lab._mounted(".lecture")["keys"]]


def test_changes_are_listed_beside_both_translations():
    lab = what_if(edits="off_cross.3.5", causal="off", mode="again", pad="2")
    words = next(text for text in lab.html if "lab-hall-changes" in text)
    assert [part in words for part in ("Causal mask off", "head 5: off", "2 pads after the source")] == [True] * 3
    assert any("lab-both" in text for text in lab.html) and lab.sentences("lab-verdict")
    told = lab._mounted(".file_change")
    assert told["large"] and told["edited"] and len(told["before"]) == len(told["labels"]) >= len(told["after"])


@pytest.mark.parametrize(("link", "names"), [({}, 1), ({"edits": "off_cross.3.5"}, 2)])
def test_maps_are_one_or_before_and_after(link, names):
    maps = what_if(large="2", kind="cross", **link)._mounted(".file_maps")["maps"]
    assert len(maps) == names and {each["kind"] for each in maps} == {"cross"}


def test_the_switches_are_those_of_one_kind():
    lab = what_if(large="3", kind="decoder", edits="off_dec.2.3").look()
    (grid,) = lab._mounted(".switchboard")["grids"]
    assert grid["off"][1][2] and sum(map(sum, grid["off"])) == 1
    assert "Decoder" in lab._mounted(".switchboard")["title"] and keys(lab)[-2:] == ["z", "k"]


def test_an_experiment_of_a_link_can_be_made(monkeypatch):
    lab = what_if(**{"try": "order"})
    answer = {name: does for name, does, *_ in lab._mounted(".lecture")["keys"]}["a"]
    lab.click("hall edits")
    counterpart = {name: does for name, does, *_ in lab._mounted(".lecture")["keys"]}["a"]
    assert lab.link["edits"] == "source-positions_off"
    assert (answer, counterpart) == ("what the answer speaks of", "the counterpart of the experiment")
    lab.click("hall also")
    assert lab.link["text"] == "The girl likes the dog."
