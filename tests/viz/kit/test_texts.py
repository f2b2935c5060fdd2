"""Shared texts: terms, examples, reasons and scores."""

import ast
import html
import re

import numpy as np
import pytest

from model.decoding.strategy import Decoding
from model.edits.intervention import Intervention
from model.experiments.ready_questions import EXPERIMENTS
from model.inference.analyse import analyse
from model.inference.predictions import near_ties
from model.inference.request import Request
from tests.support.viz_helpers import ROOT
from viz.classroom.talk import ready_talks
from viz.examples import Reason, examples, lesson, read_examples
from viz.frame.sidebar import score_text
from viz.kit import glosses, terms
from viz.lessons.lessons import LESSONS
from viz.state.view import FIRST_SENTENCE

MARK = re.compile(r'<dfn class="lab-term" tabindex="0" data-tip="([^"]*)" aria-description="([^"]*)">([^<]*)</dfn>')
EVIL = "I <b>see</b> a head & a mask."
TAKERS = {"note", "label", "marked", "term"}  # functions of texts and terms that take names of terms


def test_a_term_is_marked_once_and_all_else_is_escaped():
    made = terms.marked('<b>Two heads</b>, a "head" & a log-probability', "head", "log-probability")
    assert [html.unescape(shown) for _, _, shown in MARK.findall(made)] == ["heads", "log-probability"]
    plain = MARK.sub(lambda match: match[3], made)
    assert plain == html.escape('<b>Two heads</b>, a "head" & a log-probability')
    assert terms.marked(EVIL) == html.escape(EVIL)


@pytest.mark.parametrize("name", terms.GLOSSARY)
def test_every_term_tells_one_or_two_sentences(name):
    ((tip, told, shown),) = MARK.findall(terms.term(name))
    assert html.unescape(tip) == html.unescape(told) == terms.GLOSSARY[name] and html.unescape(shown) == name
    assert tip.endswith(".") and 1 <= len(re.findall(r"\.(?: |$)", tip)) <= 2 and len(tip) < 200


def test_every_term_that_is_marked_anywhere_is_in_the_glossary():
    marked = set()
    for path in sorted((ROOT / "viz").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in TAKERS):
                continue
            owner = ast.unparse(node.func.value)
            if owner == "terms" or (owner == "site_texts" and node.func.attr != "marked"):  # that one marks changed words
                names = node.args[:1] if node.func.attr == "term" else node.args[1:]
                marked |= {name.value for name in names if isinstance(name, ast.Constant)}
    assert len(marked) > 5
    assert marked <= set(terms.GLOSSARY)


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_an_example_is_right_and_decided_where_it_teaches(shipped, example):
    for decoding in (Decoding(), Decoding("beam", width=4)):
        found = analyse(shipped, Request(example.sentence, decoding=decoding))
        assert found.translation in example.accepted
        pieces = [shipped.target_tokenizer.piece(token).removeprefix("·") for token in found.trace.outputs.ids]
        shown = [step for step, piece in enumerate(pieces) if piece == example.token]
        ties = near_ties(found.trace.log_probs)
        assert shown and [ties[step] for step in shown] == [None] * len(shown)


def test_the_first_screen_shows_an_example():
    assert examples()[0].sentence == FIRST_SENTENCE and lesson("Seven owls.") is None
    assert lesson(f" {FIRST_SENTENCE} ") == examples()[0].lesson


def test_a_line_that_lacks_something_is_named(tmp_path):
    path = tmp_path / "examples.txt"
    path.write_text("# what is what\nname\tA sentence.\tlesson\t\tUne phrase.\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"^examples\.txt, line 2, has 4 fields; expected 5 with a tab between$"):
        read_examples(path)


# Words of a claim about what the model goes by.
CLAIMS = r"masculine|feminine|agrees?|knows? that|refers?|plural|alone|with “?\w+”? hidden|so it is|it is the"
CLAIM = re.compile(rf"\b({CLAIMS})\b")
LEAST = 0.1  # of probability: an edit that changes less is no reason
TEXTS = [
    *((f"example {each.name}", each.sentence, each.lesson, each.reasons) for each in examples()),
    *((f"lesson {each.name}", each.view.source, f"{each.question} {each.task}", each.reasons) for each in LESSONS),
    *((f"question {each.name}", each.sentence_in("English") or "", each.question, ()) for each in EXPERIMENTS),
]
LINES = [(f"{name} {n}", stop) for name, talk in ready_talks().items() for n, stop in enumerate(talk.stops, 1)]
GIVEN = [(name, source, text, reason) for name, source, text, reasons in TEXTS for reason in reasons]


def change(checkpoint, source: str, reason: Reason) -> list[float]:
    """Measures the probability of a token, without the edits and with them."""
    edits = Intervention()
    for code in reason.edits.split("~"):
        edits = edits.with_edit(code)
    found = analyse(checkpoint, Request(source, intervention=edits))
    step = found.baseline.trace.outputs.labels.index(reason.token)
    return [float(each.trace.probabilities[step]) for each in (found.baseline, found)]


@pytest.mark.parametrize(("name", "source", "text", "reasons"), TEXTS, ids=[name for name, *_ in TEXTS])
def test_a_text_with_a_claim_carries_what_was_measured(name, source, text, reasons):
    assert bool(reasons) >= bool(CLAIM.search(text))
    stated = {float(number) for number in re.findall(r"(?<!<)\d\.\d+", text)}
    measured = {value for each in reasons for value in (each.before, each.after)}
    assert stated <= measured


@pytest.mark.parametrize(("name", "stop"), LINES, ids=[name for name, _ in LINES])
def test_a_line_of_a_talk_claims_nothing_without_an_edit(name, stop):
    assert stop.view.intervention or not CLAIM.search(stop.line)


@pytest.mark.parametrize(("name", "source", "text", "reason"), GIVEN, ids=[f"{n} {r.edits[-12:]}" for n, _, _, r in GIVEN])
def test_a_reason_is_what_its_edit_changes(shipped, name, source, text, reason):
    np.testing.assert_allclose(change(shipped, source, reason), [reason.before, reason.after], atol=0.006)
    assert f"{reason.after:.2f}" in text or abs(reason.after - reason.before) >= LEAST


def test_every_word_of_the_list_has_one_short_meaning():
    pairs = [entry.split(": ") for line in glosses.TEXT.splitlines() for entry in line.split("; ")]
    assert {len(pair) for pair in pairs} == {2} and len(glosses.meanings()) == len(pairs) > 1500
    assert not [w for w, m in pairs if [w, m] != [w.strip().lower(), m.strip()] or len(re.findall(r"\w+", m)) > 6]


def test_tokens_of_the_shipped_french_have_meanings(shipped):
    sources = (
        {each.sentence for each in examples()} | {each.view.source for each in LESSONS} | {s.view.source for _, s in LINES}
    )
    found = [analyse(shipped, Request(source)).trace.outputs for source in sources if source and source.isascii()]
    pairs = [pair for axis in found for pair in zip(axis.labels, glosses.words(axis, "French"), strict=True)]
    known = [word in glosses.meanings() for label, word in pairs if label.isalpha()]
    assert sum(known) >= 0.9 * len(known) > 100
    assert ("parce", "parce qu'") in pairs and ("qu'", "parce qu'") in pairs and glosses.words(found[0], "German") == []


SCORES = {
    "Not scored on a test set.": None,
    "51.5 BLEU on 2,003 test sentences.": {"bleu": 51.49, "sentences": 2003, "beam": 1},
    "51.5 BLEU on 2,003 test sentences, beam 4.": {"bleu": 51.49, "sentences": 2003, "beam": 4},
    "9.0 BLEU on 2 test sentences, all references.": {"bleu": 9, "sentences": 2, "references": "all"},
    "33.9% of the blanks right, on 661 test sentences.": {"accuracy": 0.3386, "sentences": 661, "words": {}},
    "77.9% of the labels right, on 1,000 test sentences.": {"accuracy": 0.779, "sentences": 1000, "labels": {}},
    "1.93 bits a character on 9,488 characters of test text.": {"bits_per_character": 1.934, "characters": 9488},
}


@pytest.mark.parametrize("told", SCORES)
def test_a_score_is_told_in_its_own_unit(told):
    assert score_text(SCORES[told]) == told
