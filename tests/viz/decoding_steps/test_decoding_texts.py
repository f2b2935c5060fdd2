"""On the pages: a translation of one's own, several sentences as a batch, guessing; and What if with all of decoding."""

import html

import numpy as np
import pytest

from model.inference.request import MAX_SENTENCES, Request
from tests.support.viz_helpers import WHAT_IF, Lab, numbers
from viz import cache

SENTENCE = "Seven owls sat on the roof."
TWO = ("The dog bites the man and runs away.", "Seven owls.")
OWN = "Sept chouettes étaient assises."


def lab(**link: str) -> Lab:
    return Lab(**({"text": SENTENCE, "show": "decoding"} | link))


def analysed(source: str = SENTENCE, **asked):
    return cache.analyse(Request(source, **asked), "auto")


def tree(page: Lab) -> dict | None:
    return page._mounted("beam_tree")


def field(page: Lab, name: str, typed: str | None = None):
    """What stands in a field, after it was typed into where `typed` says so."""
    if typed is not None:
        page.app_test.text_input(key=name).set_value(typed)
        page.run()
    return page.app_test.text_input(key=name).value


def test_a_typed_translation_is_scored():
    page = lab().pick("strategy", "yours")
    assert (page.link["decode"], page.timeline["how"], tree(page)) == ("yours", "greedy", None)
    own = analysed().trace.token_log_probs.sum()
    field(page, "target", OWN)
    assert (page.translation, page.timeline["how"], page.link["target"]) == (OWN, "given target", OWN)
    found = analysed(target=OWN).trace
    bits = -found.token_log_probs / np.log(2)
    (told,) = [text for text in page.sentences("lab-note") if text.startswith("Summed")]
    for number in (f"{found.token_log_probs.sum():.2f}", f"translation has {own:.2f}".replace("-", "−")):
        assert number.replace("-", "−") in told
    assert f"Surprise {bits.mean():.2f} bits a token; most at step {bits.argmax() + 1}, " in told
    assert len(page.charts) == 1
    np.testing.assert_allclose(numbers(page.charts[0]["data"][0]["y"]), bits, atol=1e-4)


@pytest.mark.parametrize("typed", ["   "])
def test_an_empty_translation_is_one_warning(typed):
    page = lab(decode="yours", target=OWN)
    before, link = page.timeline, page.link
    assert field(page, "target", typed) == typed
    assert (page.timeline, page.link, page.faults) == (before, link, [])
    (sentence,) = page.warnings
    assert "empty" in sentence
    assert (field(page, "target", "Sept."), page.warnings, page.translation) == ("Sept.", [], "Sept.")


@pytest.mark.parametrize("way", [("beam",), ("sample", "greedy")], ids="-".join)
def test_a_typed_translation_comes_back(way):
    page = lab(decode="yours", target=OWN)
    for name in way:
        page.pick("strategy", name)
        assert ("target" in page.link, page.timeline["how"].split()[0]) == (False, {"sample": "sampled,"}.get(name, name))
    page.pick("strategy", "yours")
    assert (page.link["target"], page.translation, field(page, "target")) == (OWN, OWN, OWN)


def pairs(page: Lab) -> list[str]:
    return page.sentences("lab-pair(?: chosen)?")


def test_the_sentences_of_a_text_are_listed_and_one_is_chosen():
    page = lab(text=" ".join(TWO))
    said = [
        analysed(TWO[0], other_sentences=TWO[1:]).translation,
        *analysed(TWO[0], other_sentences=TWO[1:]).other_translations,
    ]
    assert pairs(page) == [f"{text} → {out}" for text, out in zip(TWO, said, strict=True)]
    assert said == [analysed(text).translation for text in TWO]  # a batch changes nothing
    assert page.sentences("lab-pair chosen") == pairs(page)[:1]
    assert not any(token["pad"] for token in page.timeline["source"])
    assert any(text.endswith("none is longer than this one, so it has no padding.") for text in page.sentences("lab-note"))
    page.click("sentence 2")
    assert (page.link["sentence"], page.translation) == ("2", said[1])
    assert page.sentences("lab-pair chosen") == pairs(page)[1:]
    pads = sum(token["pad"] for token in page.timeline["source"])
    assert pads == len(analysed(TWO[0]).trace.source) - len(analysed(TWO[1]).trace.source) > 0
    told = f"2 sentences, decoded as one batch: {pads} pads fill this one up to the length of the longest."
    assert told in page.sentences("lab-note")


@pytest.mark.parametrize("at", [WHAT_IF])
def test_too_many_sentences_have_a_way_out(at):
    page = Lab(at, text="Owl. " * (MAX_SENTENCES + 1))
    assert page.faults == [f"There are {MAX_SENTENCES + 1} sentences; expected at most {MAX_SENTENCES}."]
    (way,) = [button for button in page.app_test.button if button.label == "Read the text as one sentence"]
    way.click()
    assert (page.run().faults, page.link["split"]) == ([], "off")
    assert len(page.charts) >= 3
    assert Lab(at, text="Owl. " * MAX_SENTENCES).faults == []
    long = Lab(at, text="The cat sat. " * 60)  # joined it is too long
    assert long.faults and "Read the text as one sentence" not in [button.label for button in long.app_test.button]


@pytest.mark.parametrize("show", ["attention", "decoding"])
def test_guessing_hides_the_translation(show):
    page = lab(text=" ".join(TWO), show=show, guess="first")
    said = analysed(TWO[0], other_sentences=TWO[1:]).translation
    assert (page.charts, tree(page), page.timeline["guess"], page._mounted("candidates")["guess"]) == ([], None, True, True)
    assert not any(said in html.unescape(text) for text in page.html)
    assert pairs(page)[0] == f"{TWO[0]} → …"
    assert pairs(page)[1].startswith(TWO[1])
    assert "strategy" not in [group.key for group in page.app_test.button_group]
    page.click("stop_guessing")
    assert ("guess" in page.link, pairs(page)[0]) == (False, f"{TWO[0]} → {said}")
    assert (tree(page) is not None, len(page.charts)) == ((True, 0) if show == "decoding" else (False, 3))
