"""What a visitor may type or follow, in a real Chromium: one answer or one sentence, never a traceback."""

from __future__ import annotations

import re

from tests.browser.conftest import translation, type_sentence
from viz.pages import unknown_address

TAGS = ("<script>alert(1)</script>", "</s> <pad> <s>")


ODD = [
    "",
    "   ",
    "word " * 1000,
    "😀 👩‍👩‍👧 🇫🇷",
    "שלום עולם",
    "a\u0007b\u200bc",
    "<script>alert(1)</script>",
    "</s> <pad> <s>",
]


def test_odd_sentences_get_an_answer_and_stay_in_the_box(visit):
    page = visit()
    for text in ODD:
        type_sentence(page, text)
        assert page.get_by_role("textbox", name="Sentence to translate").input_value() == text
        assert page.locator("[data-testid=stException]").count() == 0
        if not text.strip() or len(text) > 1000:
            sentence = page.locator(".lab-fault").inner_text()
            assert sentence.startswith("The sentence is empty" if not text.strip() else "The sentence has 10")
        else:
            assert page.locator(".lab-fault").count() == 0
            shown = page.locator(".source .chip").all_inner_texts()
            assert shown[-1].strip() == "</s>" and [chip.strip() for chip in shown].count("</s>") == 1


def test_a_nonsense_link_gets_a_sentence_for_each_fault(visit):
    page = visit("?step=-4&layer=99&head=x&pad=1e9&causal=perhaps&unknown=1")
    notes = page.locator(".lab-note.warn").all_inner_texts()
    assert [re.search(r"(step|layer|head|pad|causal)", note).group(1) for note in notes] == [
        "step",
        "head",
        "pad",
        "causal",
        "layer",
    ]
    assert len(translation(page)) > 10


def test_a_checkpoint_that_is_not_there_is_named(visit):
    page = visit("?checkpoint=nothere", wait=False)
    fault = page.locator(".lab-fault")
    fault.wait_for()
    assert "There is no checkpoint 'nothere'" in fault.inner_text() and "en-fr" in fault.inner_text()


def test_an_address_that_is_no_page_s_is_told_and_the_first_page_shown(visit):
    page = visit("nonsense?step=3")
    note = page.locator(".lab-note.warn")
    assert note.inner_text() == unknown_address("nonsense")
    assert page.locator("h1").inner_text() == "Translate"
    assert page.get_by_role("dialog").count() == 0
    page.wait_for_url("**/?step=3")
