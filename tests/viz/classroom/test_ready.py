"""The ready talks: each stop opens, each number of a line is measured, and what a line says besides is true."""

import re

import numpy as np
import pytest

from model import Request, analyse
from model.edits.intervention import BASELINE
from viz import page_context, pages
from viz.classroom import line_fields
from viz.classroom.talk import READY, ready_talks
from viz.state.page_fields import PARTS

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
    tired = analyse(context_of("20-minutes", 10).loaded, Request("The dog didn't eat the apple because it was too tired."))
    assert tired.trace.outputs.labels[10] == "il"
    peeking = context_of("masks", 7).analysis
    assert len(peeking.trace.outputs) == 1
    neighbours = line_fields._tables(pages.find("inside"), context_of("tokens-to-translation", 3))
    (table,) = (table for table in neighbours if table.name == "neighbours")
    assert {row[3] for row in table.rows if row[2] == 1} == {"·Car"}


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
