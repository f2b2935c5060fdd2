"""The part "Tokens" of the page Inside, without a browser."""

import base64
import json
from itertools import pairwise

import numpy as np
import pytest

from model.config import CONTROL_TOKENS
from model.inference.request import Request
from tests.support.viz_helpers import INSIDE, Lab
from viz import cache

SENTENCE = "The dog sleeps under the table."


def inside(**link: str) -> Lab:
    return Lab(INSIDE, **({"text": SENTENCE, "part": "tokens"} | link))


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
    page = inside(text=text, split="off", cut_text=typed)
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
            english, french = (loaded.counts[side][token] for side in ("source", "target"))
            assert f"{english:,} times in English" in told["seen"][str(token)] or english < 2
            assert f"{french:,} times in French" in told["seen"][str(token)] or french < 2


def test_the_link_names_word_and_merges():
    assert inside(cut="target", cut_word="2", cut_merges="3").tokens["at"] == ["target", 2, 3]
    page = inside()
    (key, word, done) = page.tokens["at"]
    words = of(page, "source")
    assert (key, done) == ("source", 0)
    most = max((len(each["ids"]), len(each["merges"])) for each in words)
    assert (len(words[word - 1]["ids"]), len(words[word - 1]["merges"])) == most


def test_a_word_is_tried_without_changing_the_sentence():
    page = inside(cut="target", cut_word="2", cut_merges="3")
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
def test_what_is_out_of_range_shows_the_nearest(link, said, at):
    page = inside(**link)
    assert page.warnings == [said] and page.tokens["at"] == at
