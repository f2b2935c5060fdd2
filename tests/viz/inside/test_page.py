"""The parts "One head", "Tokens" and "Why there?" of the page Inside, without a browser."""

import base64
import json
import re
from itertools import pairwise

import numpy as np
import pytest

from model.config import CONTROL_TOKENS
from model.inference.request import Request
from model.io.numbers import probability
from model.trace import ATTENTION_KINDS, Site
from tests.support.component_helpers import Mounted, floats
from tests.support.viz_helpers import INSIDE, Lab, value
from viz import cache, computations, page_context
from viz.inside.stages import payload
from viz.inside.writers import SHOWN, WRITERS, leads_to
from viz.state import session
from viz.state.view import View

SENTENCE = "The dog sleeps under the table."


def inside(**link: str) -> Lab:
    return Lab(INSIDE, **({"text": SENTENCE} | link))


def made(site: Site, head: int, query: int, **request):
    """The payload of a head, all from 0."""
    asked = Request(SENTENCE, **request)
    unfolded = computations.result(asked, "auto", computations.UNFOLD(site, head, query))
    return payload(unfolded, cache.checkpoint("en-fr", "auto"), cache.analyse(asked, "auto").full_pass, "light")


@pytest.mark.parametrize(
    ("kind", "link"), [("encoder", {"token": "4"}), ("decoder", {"step": "4"}), ("cross", {"step": "4"})]
)
def test_the_link_names_head_query_and_stage(kind, link):
    page = inside(kind=kind, layer="2", head="3", stage="5", **link)
    expected = json.loads(json.dumps(made(Site(kind, 1), 2, 3))) | {"stage": 5, "component": "stages"}
    assert {name: each for name, each in page.stages.items() if name not in ("style", "picture", "terms")} == expected
    assert not page.warnings and not page.faults


def test_it_opens_at_the_softmax_of_the_word_that_the_step_looks_at_and_follows_a_chosen_cell():
    page = inside(step="2")  # chien
    assert (page.stages["queries"][page.stages["query"] - 1], page.stages["stage"]) == ("dog", 7)
    weights = floats(page.stages["stages"][6]["tables"][0]["values"])
    for key in (int(weights.argmax()), int(weights.argmin())):
        shown = inside(step="2", key=str(key + 1)).stages["stages"][6]
        assert shown["tables"][0]["marked"] == key and f"{probability(weights[key])} = " in shown["sentence"]
    assert shown["sentence"].endswith(f"number {len(weights)} of {len(weights)}.")


def test_heads_layers_and_kinds_are_in_the_link():
    page = inside(stage="7")
    assert (page.stages["kind"], page.stages["layer"], page.stages["head"]) == ("encoder", 3, 2)
    for kind in ATTENTION_KINDS[::-1]:
        assert page.pick("kind", kind).stages["kind"] == kind
    assert page.pick("layer", 0).stages["layer"] == 1
    assert page.pick("head", 7).stages["head"] == 8
    assert (page.link["layer"], page.link["head"], page.link["stage"]) == ("1", "8", "7")
    assert page.stages["stage"] == 7 and not page.warnings


@pytest.mark.parametrize(
    ("link", "shown", "said"),
    [
        ({"stage": "99", "kind": "decoder"}, {"stage": 11}, ["There is no stage 99: this head has 11, the last is shown."]),
        ({"layer": "40", "head": "70"}, {"layer": 4, "head": 1}, ["layer 40", "head 70"]),
        ({"token": "999"}, {"query": 9}, ["There is no token 999: this sentence has 9."]),
    ],
)
def test_what_is_out_of_range_shows_the_nearest(link, shown, said):
    page = inside(**link)
    assert {name: page.stages[name] for name in shown} == shown
    assert len(page.warnings) == len(said)
    assert all(text in warning for text, warning in zip(said, page.warnings, strict=True))
    assert not page.faults


@pytest.mark.parametrize(
    ("edits", "kind", "stage"),
    [("off_cross.3.2", "cross", "mix"), ("scaling-off", "encoder", "scale"), ("skip_dec.3.self", "decoder", "residual")],
)
def test_edits_show_at_their_stage(edits, kind, stage):
    page = inside(edits=edits, kind=kind)
    assert [each["name"] for each in page.stages["stages"] if each["edited"]] == [stage]
    assert not any(each["edited"] for each in inside(kind=kind).stages["stages"])


def steps(word: dict) -> list[list[int]]:
    """A word's pieces before any merge and after each, as the browser makes them."""
    found = [list(word["start"])]
    for at, token in word["merges"]:
        pieces = list(found[-1])
        pieces[at : at + 2] = [token]
        found.append(pieces)
    return found


def of(page: Lab, key: str) -> list[dict]:
    return [word for line in page.tokens["lines"] if line["key"] == key for word in line["words"]]


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        (SENTENCE, "🦉 unconstitutionally"),
        ("L'été 🦉 didn't </s> 12345 <script>alert(1)</script> e\u0301\u00a0世", "a" * 300),
        ("unconstitution" * 20, "<script>"),
    ],
)
def test_merges_end_at_the_tokens_of_the_model(text, typed):
    page = inside(part="tokens", text=text, split="off", cut_text=typed)
    assert not page.faults and json.dumps(page.tokens, allow_nan=False)
    assert not any("<script>" in markup for markup in page.html)
    loaded, trace = cache.checkpoint("en-fr", "auto"), cache.analyse(Request(text.strip()), "auto").trace
    ends = [token for word in of(page, "source") for token in steps(word)[-1]]
    assert ends == [token for token in trace.source.ids if token >= len(CONTROL_TOKENS)]
    (table,) = {line["side"] for line in page.tokens["lines"] if line["key"] == "source"}
    told = page.tokens["tables"][table]
    for word in of(page, "source") + of(page, "typed"):
        assert steps(word)[-1] == word["ids"]
        for pieces, (at, _) in zip(steps(word), word["merges"], strict=False):
            places = [told["ranks"].get(f"{a},{b}", 10**9) for a, b in pairwise(pieces)]
            assert at == places.index(min(places))
            assert all(str(token) in told["labels"] for token in pieces)
        rows = np.frombuffer(base64.b64decode(word["values"]), "<f4").reshape(len(word["ids"]), told["width"])
        np.testing.assert_array_equal(rows, loaded.model.source_embedding.table.weight[word["ids"]].detach().numpy())
        for token in word["ids"]:
            english, french = (loaded.token_counts[side][token] for side in ("source", "target"))
            assert f"{english:,} times in English" in told["seen"][str(token)] or english < 2
            assert f"{french:,} times in French" in told["seen"][str(token)] or french < 2


def test_the_link_names_word_and_merges():
    assert inside(part="tokens", cut="target", cut_word="2", cut_merges="3").tokens["at"] == ["target", 2, 3]
    page = inside(part="tokens")
    (key, word, done) = page.tokens["at"]
    words = of(page, "source")
    assert (key, done) == ("source", 0)
    most = max((len(each["ids"]), len(each["merges"])) for each in words)
    assert (len(words[word - 1]["ids"]), len(words[word - 1]["merges"])) == most


def test_a_word_is_tried_without_changing_the_sentence():
    page = inside(part="tokens", cut="target", cut_word="2", cut_merges="3")
    page.app_test.text_input(key="cut text").set_value(" owls ")
    page.run()
    assert page.box == SENTENCE and page.link == {"text": SENTENCE, "part": "tokens", "cut": "typed", "cut_text": "owls"}
    alone, spaced = of(page, "typed")
    tokenizer = cache.checkpoint("en-fr", "auto").source_tokenizer
    assert alone["ids"] == tokenizer.encode("owls") and spaced["ids"] == tokenizer.encode(" owls")
    assert page.tokens["at"][0] == "typed"
    page.app_test.text_input(key="cut text").set_value("")
    assert page.run().tokens["at"][0] == "source" and page.link == {"text": SENTENCE, "part": "tokens"}


@pytest.mark.parametrize(
    ("link", "said", "at"),
    [
        ({"cut_word": "99"}, "There is no word 99 here: word 7 is the last.", ["source", 7, 0]),
        ({"cut_word": "1", "cut_merges": "50"}, "There is no merge 50 here: this word has 2.", ["source", 1, 2]),
    ],
)
def test_a_word_or_merge_out_of_range_shows_the_nearest(link, said, at):
    page = inside(part="tokens", **link)
    assert page.warnings == [said] and page.tokens["at"] == at


@pytest.mark.parametrize(
    "link", [{}, {"kind": "decoder", "step": "4", "layer": "4"}, {"kind": "cross", "step": "4"}], ids=str
)
def test_the_writers_add_up_to_the_score(link):
    page = inside(part="writers", **link)
    shown = page.writers
    values = np.array(shown["values"])
    assert values.shape == (len(shown["rows"]), len(shown["columns"])) <= (SHOWN + 1, SHOWN + 1)
    assert values.sum() == pytest.approx(shown["score"], abs=1e-3)
    assert abs(value(shown["remainder"])) < 1e-4
    (told,) = page.sentences("lab-score")
    score, part = map(value, re.findall(r"[+−]?\d+\.\d+", told)[:2])
    row, column = shown["largest"]
    assert (score, part) == pytest.approx((shown["score"], values[row, column]), rel=6e-3)


def test_the_default_key_has_the_largest_weight():
    page = inside(part="writers", kind="cross", layer="3", head="2", step="3")
    pattern = cache.analyse(Request(SENTENCE), "auto").trace.patterns[Site("cross", 2)][1, 2]
    shown = page.writers
    assert shown["key"] == pattern.argmax() + 1
    assert [each["weight"] for each in shown["keys"]] == pytest.approx(pattern, abs=6e-4)
    other = inside(part="writers", kind="cross", layer="3", head="2", step="3", key="2")
    assert other.writers["key"] == 2 and other.link["key"] == "2"
    assert "key" not in other.type("Birds sing.").link


def test_a_head_that_wrote_opens_at_its_token():
    at = (2, 3)
    assert leads_to(*at, "asks", "decoder", 1, 4) == {"kind": "decoder", "layer": 1, "head": 4, "step": 2, "key": None}
    assert leads_to(*at, "answers", "encoder", 3, 0) == {"kind": "encoder", "layer": 3, "head": 0, "token": 3, "key": None}
    own = leads_to(5, 2, "answers", "cross", 0, 0)
    assert own == {"kind": "cross", "layer": 0, "head": 0, "step": 2, "key": None}


def test_events_of_writers_that_do_not_exist_are_ignored(monkeypatch):
    context = page_context.build(View(source=SENTENCE, part="writers", kind="cross", step=4, device="cpu"))
    found, browser, changes = WRITERS.result(context), Mounted(monkeypatch), []
    data = WRITERS.payload(context, found)
    monkeypatch.setattr(session, "change", lambda **fields: changes.append(fields))
    WRITERS.component.mount("writers", data, WRITERS.events(context, found))
    head = next(row["head"] for row in data["rows"] if row["head"])
    good = dict(zip(("kind", "layer", "head"), head, strict=True)) | {"side": "asks"}
    for bad in (None, 3, {}, good | {"side": "x"}, good | {"layer": 99}, good | {"kind": "enc"}):
        browser.report("writer", bad)
    browser.report("writer", good)
    browser.report("key", len(data["keys"]) + 1)
    browser.report("key", 1)
    kind, layer, number = head
    assert changes == [leads_to(found.query, found.key, "asks", kind, layer - 1, number - 1), {"key": 0}]
