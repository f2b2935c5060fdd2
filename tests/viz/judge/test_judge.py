"""Every page on a classifier: the first judges, and none speaks of blanks, a translation, or a decoder that is not there."""

import re

import numpy as np
import pytest

from model import checkpoint as checkpoints
from model.task import CLASSIFICATION
from tests.support import tiny
from tests.support.save_helpers import make_offers
from tests.support.viz_helpers import COMPARE, HEADS, INSIDE, LESSONS, POSITIONS, WHAT_IF, WHY, Lab
from viz import pages
from viz.examples import judged_examples
from viz.variants.variant_texts import read_record

TEXT = "The red fox sees a lamp."
SAVED = ("What is shown, as CSV", "One HTML file, works offline", "Whole analysis, JSON", "Python", "Checks")
WHOLE = ("translate", "why")  # pages whose offers are all made; of the others the numbers alone
OTHER = {"differs": "sentence", "other_text": "The old king paints a boat."}
VIEWS = (
    *((None, {"lecture": "on", "large": large}) for large in "123"),
    (None, {"show": "mask", "pad": "3"}),
    (None, {"padmask": "off"}),
    (HEADS, {}),
    (HEADS, {"lecture": "on"}),
    *((INSIDE, {"part": part}) for part in ("stages", "writers", "map", "scale", "lens", "tokens", "embeddings")),
    (INSIDE, {"part": "lens", "lecture": "on"}),
    (INSIDE, {"part": "embeddings", "lecture": "on"}),
    (POSITIONS, {}),
    (WHAT_IF, {"edits": "off_enc.1", "mode": "again"}),
    *((WHAT_IF, {"edits": "off_enc.1", "lecture": "on", "large": large}) for large in "13"),
    *((WHY, {"lecture": "on", "large": large}) for large in "123"),
    (WHY, {"why": "readings", "piece": "source", "key": "3"}),
    (COMPARE, OTHER),
    (COMPARE, {"differs": "word"}),
    (COMPARE, {"differs": "head", "lecture": "on"}),
    (COMPARE, OTHER | {"compare": "patching"}),
    (LESSONS, {}),
)
UNTRUE = re.compile(
    r"(a|the) blank|fills? in|translation|translates|the token that stands there|decoder (reads|says|would)|of \d+ places"
)


@pytest.fixture(scope="module", autouse=True)
def folder(tokenizer, tmp_path_factory):
    """A folder with a classifier of each kind of pooling."""
    home = tmp_path_factory.mktemp("judges")
    for pooling in ("mean", "first"):
        checkpoints.save(tiny.classifier(tokenizer, pooling=pooling), home / pooling)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CHECKPOINTS", str(home))
        yield home


def opened(page=None, checkpoint="mean", **link) -> Lab:
    return Lab(page, **({"checkpoint": checkpoint, "text": TEXT} | link))


def test_every_page_opens_without_missing_parts():
    wrong = []
    for page, link in VIEWS:
        lab = opened(page, **link)
        if len(lab.faults) > (page == COMPARE or "padmask" in link):
            wrong.append((page, link, lab.faults))
        if page != LESSONS and (found := UNTRUE.search(text := lab.text.lower())):
            wrong.append((page, link, text[max(0, found.start() - 60) : found.end() + 60]))
    assert wrong == []


@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_the_first_page_judges(pooling):
    lab = opened(checkpoint=pooling)
    text, words = lab._mounted(".judged"), lab._mounted(".word_table")
    assert pages.for_task(CLASSIFICATION)[0].question in " ".join(lab.html)
    assert lab.app_test.text_input(key="source").label == CLASSIFICATION.input_label
    assert lab.app_test.button(key="translate").label == CLASSIFICATION.action_label
    assert lab.timeline is None and lab._mounted(".candidates") is None
    assert {f"example {each.sentence}" for each in judged_examples()[:3]} <= set(lab.buttons)
    odds = [each["p"] for each in text["labels"]]
    assert sum(odds) == pytest.approx(1, abs=1e-5) and odds == sorted(odds, reverse=True) and len(odds) == 3
    assert sum(text["weights"]) == pytest.approx(1, abs=1e-3) and len(text["weights"]) == len(text["tokens"])
    assert text["tokens"][0]["t"] == "<s>"
    assert ("mean of the states of all" in text["pooled"]) is (pooling == "mean")
    occlusion, own, *others = words["rows"]
    first = int(np.abs(occlusion["values"]).argmax())  # the word that is looked at first
    assert text["step"] == words["places"].index(first) + 1
    assert (occlusion["is"], own["is"], len(others)) == ("occlusion", "head", 6)
    assert all(len(row["values"]) == len(words["words"]) == 7 for row in words["rows"])
    first = text["labels"][0]
    assert words["label"] == first["name"] and words["before"][0] == pytest.approx(first["p"], abs=1e-4)
    assert all(row["rho"] and not row["undefined"] for row in words["rows"][1:] if np.ptp(row["values"]))


def test_a_chosen_rival_label_is_compared():
    lab = opened()
    label, *_, last = lab._mounted(".judged")["labels"]
    other = opened(rival=str(last["label"]))
    words, table = lab._mounted(".word_table"), other._mounted(".word_table")
    assert other._mounted(".judged")["rival"] == last["label"] and table["rival"] == last["name"]
    assert table["label"] == label["name"] and table["rows"][0]["values"] != words["rows"][0]["values"]
    two = opened(text="Lamp boat")._mounted(".word_table")
    assert {row["undefined"] for row in two["rows"][1:]} == {"undefined: 2 words"}


def test_why_splits_the_difference_of_two_labels():
    lab = opened(WHY, why="sum")
    shown, labels = lab.sum, opened()._mounted(".judged")["labels"]
    assert sum(row["value"] for row in shown["rows"]) + shown["rest"][1] == pytest.approx(shown["total"], abs=2e-4)
    assert shown["total"] == pytest.approx(labels[0]["logit"] - labels[1]["logit"], abs=2e-3) and shown["unit"] == "label"
    assert "Why this label" in " ".join(lab.html)
    (sentence,) = shown["tokens"]
    assert np.sum(shown["grids"][0]["values"]) == pytest.approx(sum(sentence["values"]), abs=1e-3)


def test_every_page_is_saved_as_what_it_is():
    for name in (page.name for page in pages.PAGES):
        lab = opened(f"viz/{name.replace('-', '_')}/page.py" if name != "translate" else None, **OTHER)
        numbers = name != "lessons" and (name != "variants" or read_record().record is not None)
        wanted = SAVED if name in WHOLE else SAVED[:numbers]
        make_offers(lab, name, CLASSIFICATION, wanted, ("judged", "word_table"))
