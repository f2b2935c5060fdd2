"""Heads over many sentences: every statement follows from the numbers, and the visitor's own sentences are ranked."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.config import MAX_CHARACTERS
from model.experiments.head_survey import measure_heads
from model.io.numbers import signed
from model.text.findings import ClaimResult, Findings
from model.text.head_statistics import Mean
from model.text.measurements import AlignmentRates, Rate
from model.trace import Site
from tests.support import tiny
from tests.support.viz_helpers import HEADS, Lab
from viz import cache
from viz.heads import claims_panel, corpus, corpus_panel, own_sentences
from viz.heads.corpus import Corpus
from viz.heads.own_sentences import MAX_SENTENCES, read_sentences
from viz.kit.panel import NotChosenError
from viz.state.view import View

TEXTS = ("The old fox sees the lamp.", "The red king takes the old boat.", "The fox sees the boat.")
LINES_OF_TEXTS = dict(zip(TEXTS, (2, 3, 5), strict=True))


@pytest.fixture(scope="module")
def measured(tokenizer):
    return measure_heads(tiny.checkpoint(tokenizer), TEXTS, effects=True, name="three")


def payload_for(measured, own: bool = False, **view) -> dict:
    more = (LINES_OF_TEXTS, measured, None) if own else ()
    return corpus.payload(Corpus(measured.statistics, None, None, *more), View(**view))


def test_the_payload_says_what_the_statistics_say(measured):
    for head in measured.statistics.heads:
        data = payload_for(measured, kind=head.site, layer=head.layer, head=head.head, over_metric="entropy")
        assert (data["kind"], data["layer"], data["head"]) == (head.site, head.layer + 1, head.head + 1)
        name, share = max(head.places.items(), key=lambda each: each[1])
        places = corpus.PLACES | ({"word": "a source word"} if head.site == "cross" else {})
        assert data["answer"].startswith(
            f"In {share:.0%} of the rows, the largest weight of {head.name} is on {places[name]}."
        )
        assert signed(head.change.value) in data["answer"]
        assert ("the interval contains 0" in data["answer"]) == (head.change.low <= 0 <= head.change.high)
        assert sum(data["metric"]["counts"]) == data["metric"]["sentences"] == 3
        assert [data["layer"], data["head"]] in data["names"] and len(data["points"]) == len(data["names"])
        assert all(value <= other for (*_, value), (*_, other) in zip(data["similar"], data["similar"][1:], strict=False))
    assert (
        sorted(payload_for(measured, kind=h.site, layer=h.layer, head=h.head)["rank"][0] for h in measured.statistics.heads)[
            0
        ]
        == 1
    )


def test_a_head_without_a_row_of_two_keys_says_so(measured):
    head = dataclasses.replace(measured.statistics.heads[0], places=dict.fromkeys(corpus.PLACES, 0.0))
    assert corpus.answer(Corpus(measured.statistics), head).startswith(f"No row of {head.name} has two keys or more.")


def test_an_effect_in_the_link_of_a_stored_corpus_shows_another_number(measured):
    data = payload_for(measured, kind="encoder", head=0, over_metric="effect")
    assert data["metric"]["name"] == "largest" and "effect" not in dict(data["metrics"])


def test_rows_are_named_after_the_word_that_was_chosen(measured):
    for rows in ("read", "written"):
        data = payload_for(measured, kind="cross", head=0, rows_named=rows)
        pairs = getattr(measured.statistics.head("cross", View.layer if View.layer < 2 else 1, 0), f"{rows}_pairs")
        assert data["rows"] == rows and data["pairs"] == [list(pair) for pair in pairs]
    assert payload_for(measured, kind="encoder", rows_named="written")["rows"] is None


def planted_rates(layers) -> AlignmentRates:
    rates = {
        name: tuple(tuple(Rate(error, error - 0.01, error + 0.01, 0.5, 0.5) for error in row) for row in rows)
        for name, rows in layers.items()
    }
    return AlignmentRates(447, 0, 9, 10, 1, Rate(0.5, 0.4, 0.6, 0.5, 0.5), rates)


def test_rate_of_the_shown_head_follows_the_word_of_a_row(measured):
    rates = planted_rates({"predicts": [[0.7, 0.7], [0.3, 0.35]], "reads": [[0.25, 0.4], [0.7, 0.34]]})
    found = Corpus(measured.statistics, None, rates)
    data = {
        rows: corpus.payload(found, View(kind="cross", layer=0, head=1, rows_named=rows))["alignment"]
        for rows in ("read", "written")
    }
    assert data["read"]["rate"] == "0.40 (95%: 0.39 to 0.41)" and data["written"]["rate"] == "0.70 (95%: 0.69 to 0.71)"
    assert corpus.REASON in data["read"]["reason"]
    assert data["read"]["measured"] == (
        "This checkpoint does not show the contrast in most heads of both layers (95% intervals apart): "
        "layer 1: 2 of 2 heads better for the word read, 0 for the word written; "
        "layer 2: 0 of 2 heads better for the word read, 1 for the word written."
    )
    assert corpus.payload(found, View(kind="decoder", rows_named="read"))["alignment"] is None
    other = planted_rates({"predicts": [[0.7]], "reads": [[0.25]]})  # metrics of another model
    assert corpus.payload(Corpus(measured.statistics, None, other), View(kind="cross"))["alignment"] is None


def test_a_contrast_of_most_heads_is_said(measured):
    rates = planted_rates({"predicts": [[0.7, 0.7], [0.3, 0.3]], "reads": [[0.25, 0.4], [0.7, 0.6]]})
    said = corpus.payload(Corpus(measured.statistics, None, rates), View(kind="cross"))["alignment"]["measured"]
    assert said.startswith("This checkpoint shows the contrast in most heads of both layers")


def test_roles_carry_share_interval_and_count(measured):
    head = measured.statistics.head("encoder", 0, 0)
    metric = dataclasses.replace(head.metrics["previous_peak"], mean=Mean(0.93, 0.91, 0.95))
    planted = dataclasses.replace(head, metrics=head.metrics | {"previous_peak": metric})
    found = dict(corpus.roles(Corpus(measured.statistics), planted))
    assert "In 93% (91 to 95) of the rows that have a token before, over 3 sentences," in found["previous-token head"]
    lower = dataclasses.replace(metric, mean=Mean(0.89, 0.88, 0.9))
    planted = dataclasses.replace(head, metrics=head.metrics | {"previous_peak": lower})
    assert "previous-token head" not in dict(corpus.roles(Corpus(measured.statistics), planted))


def test_own_sentences_are_ranked_by_the_chosen_number(measured):
    data = payload_for(measured, own=True, kind="encoder", head=1, over_metric="entropy")
    values = measured.of_head(Site("encoder", data["layer"] - 1), 1, "entropy")
    assert [line for line, *_ in data["strongest"]] == [(2, 3, 5)[n] for n in np.argsort(-values, kind="stable")]
    assert {text for _, text, _ in data["strongest"]} == set(TEXTS)


LINES = st.lists(st.text(alphabet="ab .\t<>&é😀", max_size=12), max_size=8)


@settings(deadline=None, derandomize=True)
@given(LINES)
def test_typed_sentences_are_read_or_refused_with_one_sentence(lines):
    try:
        found = read_sentences("\n".join(lines), True)
    except ValueError as fault:
        assert re.fullmatch(r"[A-Z].+\.", str(fault))
        return
    assert 0 < len(found) == len(set(found)) <= len(lines)
    assert all(own_sentences.source_of(each).strip() for each in found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "no sentence"),
        ("\n \n", "no sentence"),
        ("I am.\n\tJe suis.", "Line 2 begins with a tab"),
        ("x" * (MAX_CHARACTERS + 1), f"Line 1 has more than {MAX_CHARACTERS:,}"),
        ("\n".join(f"I am {n}." for n in range(MAX_SENTENCES + 1)), f"at most {MAX_SENTENCES}"),
    ],
)
def test_bad_input_says_what_is_expected(text, expected):
    with pytest.raises(ValueError, match=re.escape(expected)):
        read_sentences(text, True)


def test_a_tab_divides_a_sentence_from_its_translation():
    assert read_sentences("I am tired.\tJe suis fatigué.", True) == {("I am tired.", "Je suis fatigué."): 1}
    assert read_sentences("I am tired.\tJe suis fatigué.", False) == {"I am tired.": 1}


def test_a_visitor_measures_own_sentences_and_opens_one():
    page = Lab(HEADS, text="The dog sleeps.", over="corpus")
    own = page.data.head_texts
    own.sentences, own.is_shown = read_sentences("The cat sleeps.\n\nThe cat sleeps.\nI see <b>you</b>.", True), True
    page.run()
    data = payload_of(page)
    assert "2 sentences" in data["about"]
    assert {text for _, text, _ in data["strongest"]} == {"The cat sleeps.", "I see <b>you</b>."}
    proto = next(c.proto for c in page.app_test.get("bidi_component") if c.proto.component_name.endswith(".corpus_view"))
    page.report(proto, "open", 4)
    assert page.link["text"] == "I see <b>you</b>." and "over" not in page.link


def payload_of(page: Lab) -> dict:
    (proto,) = (c.proto for c in page.app_test.get("bidi_component") if c.proto.component_name.endswith(".corpus_view"))
    return page.payload(proto)


def test_a_checkpoint_without_statistics_says_how_to_get_them():
    class Context:
        view, loaded = (
            View(),
            dataclasses.replace(cache.checkpoint("sentiment", "auto"), head_statistics=None, findings=None),
        )

    for panel, command in ((corpus_panel, "report heads"), (claims_panel, "report findings")):
        with pytest.raises(NotChosenError, match=command):
            panel.compute(Context)


def test_sentences_over_the_text_limit_are_one_fault():
    page = Lab(HEADS, text="The dog sleeps.", over="corpus", over_by="effect")
    own = page.data.head_texts
    own.sentences, own.is_shown = {"word " * 300: 1}, True
    page.run()
    assert any("No sentence is within the text limit of 128 tokens; expected" in text for text in page.html)


def test_long_sentences_are_refused_before_the_corpus_is_left():
    page = Lab(HEADS, text="The dog sleeps.", over="corpus")
    before = payload_of(page)
    page.open("own sentences 0")
    page.app_test.text_area(key="head texts").set_value("word " * 300)
    page.click("measure heads")
    assert page.faults == [
        "No sentence is within the text limit of 128 tokens; expected at least one. Shorten the sentences."
    ]
    assert page.app_test.text_area(key="head texts").value == "word " * 300
    assert payload_of(page) == before and page.data.head_texts.sentences == {}


@pytest.mark.parametrize(("count", "label"), [(0, "Your sentences"), (1, "Your sentence"), (2, "Your 2 sentences")])
def test_the_button_counts_the_sentences_within_the_limit(count, label):
    page = Lab(HEADS, text="The dog sleeps.", over="corpus")
    page.data.head_texts.sentences = {"word " * 300: 1} | {f"I see {n} cats.": n + 2 for n in range(count)}
    page.run()
    assert page.grouped["own True"][0] == label


def test_claims_are_shown_as_they_are_stored():
    found = Findings(
        "x", 9, (ClaimResult("A 2019", "a < b", "1 of 2", "one", True, "cmd"), ClaimResult("B", "c", "d", "e", False, "f"))
    )
    text = claims_panel._text(None, found)
    assert "1 of 2 published claims are reproduced on this model. BLEU is measured on 9 sentences." in text
    assert "a &lt; b" in text and text.count("<b>reproduced</b>") == text.count("<b>not reproduced</b>") == 1
    assert Findings.from_dict(found.to_dict()) == found
    (table,) = claims_panel._tables(None, found)
    assert [row[4] for row in table.rows] == ["reproduced", "not reproduced"]
    for faulty in (
        {},
        found.to_dict() | {"findings": []},
        found.to_dict() | {"sentences": 0},
        found.to_dict() | {"schema": 2},
    ):
        with pytest.raises(ValueError, match=r"'[a-z]+' is .*; expected"):
            Findings.from_dict(faulty)


def test_tables_hold_all_heads_and_own_sentences(measured):
    class Context:
        view = View(kind="encoder", head=0, over_metric="entropy")

    result = Corpus(measured.statistics, None, None, LINES_OF_TEXTS, measured)
    heads, pairs, own = corpus_panel._tables(Context, result)
    assert len(heads.rows) == len(measured.statistics.heads) and len({len(row) for row in (heads.columns, *heads.rows)}) == 1
    assert own.columns[0] == "line" and [row[0] for row in own.rows] == [2, 3, 5]
    assert pairs.columns == ("row_is", "query", "key", "linked", "possible")
