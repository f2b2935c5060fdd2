"""The ready talks: each stop opens, each number of a line is measured, and what a line says besides is true."""

import dataclasses
import re

import numpy as np
import pytest

from model import Request, analyse
from model.edits.intervention import BASELINE
from model.readings.tokens.neighbours import nearest
from viz import page_context, pages
from viz.classroom import line_fields, talk_time
from viz.classroom.talk import MAX_LINK_TEXT, READY, pack, ready_talks
from viz.state import links
from viz.state.page_fields import PARTS

SHORTEST, LONGEST = 0.8, 1.1  # of the minutes in a title
APPLE, CAR = (
    "The dog didn't eat the apple because it was too hard.",
    "The car didn't cross the bridge because it was too {}.",
)
MAX_SHOWN = 105  # characters of a line in lecture mode, in a window of 1280 pixels
STOPS = {stop: f"{name} {n}" for name, talk in ready_talks().items() for n, stop in enumerate(talk.stops, 1)}


@pytest.mark.parametrize("stop", STOPS, ids=STOPS.values())
def test_a_stop_opens_and_each_number_of_its_line_is_measured(stop):
    view, data = stop.view, page_context.build(stop.view)
    assert stop.faults == () and data.faults == () and stop.line
    assert view.within(len(data.analysis.trace.predicted_axis)) == view
    assert stop.place in pages.PAGES and view.part in PARTS
    assert (view.intervention == BASELINE) == (data.analysis.baseline is None)
    filled = line_fields.fill(stop.place, view, stop.line)
    assert filled.faults == () and line_fields.UNFILLED not in filled.text
    assert not line_fields.warning(stop.line) and len(filled.text) <= MAX_SHOWN


def context_of(name: str, number: int):
    return page_context.build(ready_talks()[name].stop(number).view)


@pytest.mark.parametrize(
    ("name", "number", "word", "mean"), [("20-minutes", 3, "apple", "it"), ("tokens-to-translation", 8, "car", "a")]
)
def test_the_largest_weights_are_on_the_words_that_a_line_names(name, number, word, mean):
    context = context_of(name, number)
    trace, step, view = context.analysis.trace, context.view.step, context.view
    labels = trace.source.labels
    sites = trace.sites("cross")
    assert labels[int(trace.patterns[sites[view.layer]][view.head, step].argmax())] == word
    assert labels[int(np.mean([trace.patterns[each][:, step] for each in sites], (0, 1)).argmax())] == mean


def test_what_lines_say_of_edits_is_so():
    without = context_of("masks", 6).analysis
    assert without.translation == without.baseline.translation
    before, after = (
        each.trace.log_probs for each in (context_of("masks", 5).analysis.baseline, context_of("masks", 5).analysis)
    )
    assert after[2].max() < before[2].max()
    written = list(context_of("masks", 5).analysis.trace.outputs.ids)
    assert (int((after.argmax(1) != written).sum()), len(written)) == (6, 10)  # at these steps another token wins
    tired = analyse(context_of("20-minutes", 10).loaded, Request("The dog didn't eat the apple because it was too tired."))
    assert tired.trace.outputs.labels[10] == "il"
    peeking = context_of("masks", 7).analysis
    assert len(peeking.trace.outputs) == 1
    loaded = context_of("tokens-to-translation", 3).loaded
    neighbours = nearest(loaded, loaded.source_tokenizer.encode("red car")[-1], "source")
    filled = {
        side: [loaded.source_tokenizer.piece(each.id) for each in row if each.stands_out] for side, row in neighbours.items()
    }
    assert filled == {"source": ["·Car"], "target": ["·Car", "Comme"]}


def test_each_talk_has_several_pages_and_ends_with_a_conclusion():
    for name, talk in ready_talks().items():
        assert len({stop.page for stop in talk.stops}) >= 3
        last = talk.stops[-1]
        assert last.line.startswith("Conclusion: ")
        assert re.search(r"\d\.\d\d", line_fields.fill(last.place, last.view, last.line).text)
        minutes = re.match(r"\d+", name)
        assert minutes is None or int(minutes[0]) / 3 <= len(talk.stops) <= int(minutes[0])
    shown = {stop.page for talk in ready_talks().values() for stop in talk.stops}
    assert shown >= {"translate", "heads", "inside", "positions", "what-if", "why", "compare"}
    assert list(ready_talks()) == list(READY)


def test_each_lecture_takes_the_minutes_of_its_title():
    lectures = {name: talk for name, talk in ready_talks().items() if talk_time.advertised_minutes(talk)}
    assert len(lectures) == 3
    for name, talk in lectures.items():
        part = talk_time.total_time(talk).seconds / 60 / talk_time.advertised_minutes(talk)
        assert SHORTEST <= part <= LONGEST, (name, part)
    for talk in ready_talks().values():
        ends = talk_time.planned_ends(talk)
        assert len(ends) == len(talk.stops) and ends == sorted(ends)
        assert not line_fields.warning("".join(stop.notes for stop in talk.stops))
        assert len(pack(talk.titled("A copy"))) < MAX_LINK_TEXT  # of each one, a lecturer can make a copy


def translation(text: str, **parameters: str) -> str:
    view, faults = links.parse({"text": text, "step": "11", "mode": "again", **parameters})
    assert faults == ()
    return page_context.build(view).analysis.translation


def test_what_notes_say_of_words_is_so():
    assert "qu'il" in translation(CAR.format("narrow")) and "qu'elle" in translation(CAR.format("weak"))
    assert translation("The boy eats the apple.", step="1", edits="source-positions_off") == "Le garçon mange la pomme."
    assert "qu'elle" in translation(APPLE, edits="block_cross_11-7")  # the noun is not enough, and its article is
    assert "qu'il" in translation(APPLE, edits="block_dec_11-8")
    assert "qu'il" in translation(APPLE, edits="off_cross.1~off_cross.2")
    trace = context_of("20-minutes", 4).analysis.trace  # the head of the stop is the sixth of those at “apple”
    weights = np.array([trace.patterns[site][:, 8, 6] for site in trace.sites("encoder")])
    assert (weights > weights[2, 1]).sum() == 5
    route = dict(_rows("20-minutes", 9, "route"))
    cuts = [cells[6] for cells in _rows("20-minutes", 9, "links") if cells[0] == 1]
    assert [-cut > route["difference"] > 0 for cut in sorted(cuts)] == [True, True, False]  # two stand out
    assert route["only these links kept"] > 0 > route["all links cut"]
    peeking = context_of("masks", 8)
    view = dataclasses.replace(peeking.view, target="Le chat blanc dort sur la vieille chaise.")
    assert page_context.build(view).analysis.log_prob > -1  # it copies what it sees


def _rows(name: str, number: int, table: str):
    page = ready_talks()[name].stop(number).place
    return next(each.rows for each in line_fields._tables(page, context_of(name, number)) if each.name == table)


@pytest.mark.long
def test_no_single_head_changes_the_translation_as_a_note_says():
    heads = [f"{kind}.{layer}.{head}" for kind in ("enc", "dec", "cross") for layer in range(1, 5) for head in range(1, 9)]
    assert {translation(APPLE, edits=f"off_{head}") for head in heads} == {translation(APPLE)}


def test_notes_name_the_heads_of_neighbours():
    trace = context_of("tokens-to-translation", 6).analysis.trace
    patterns = [trace.patterns[site] for site in trace.sites("encoder")]
    for diagonal, head in ((-1, 0), (1, 6)):  # layer two: the first head and the seventh
        means = [[pattern[h].diagonal(diagonal).mean() for h in range(8)] for pattern in patterns]
        assert np.unravel_index(np.argmax(means), (4, 8)) == (1, head)
