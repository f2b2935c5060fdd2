"""What if in lecture mode without a browser: what was changed, both translations, its keys, the ready experiments."""

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


def test_an_experiment_of_a_link_can_be_made(monkeypatch):
    lab = what_if(**{"try": "order"})
    answer = {name: does for name, does, *_ in lab._mounted(".lecture")["keys"]}["a"]
    lab.click("hall edits")
    counterpart = {name: does for name, does, *_ in lab._mounted(".lecture")["keys"]}["a"]
    assert lab.link["edits"] == "source-positions_off"
    assert (answer, counterpart) == ("what the answer speaks of", "the counterpart of the experiment")
    lab.click("hall also")
    assert lab.link["text"] == "The girl likes the dog."
