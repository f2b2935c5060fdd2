"""The ready talks: each stop opens without a fault, and each number in its line is measured on its view."""

import re

import numpy as np
import pytest

from model.edits.intervention import BASELINE
from model.trace import Site
from viz import computations, page_context, pages
from viz.classroom.talk import READY, ready_talks
from viz.compare.pair import pair
from viz.state.page_fields import PARTS

STOPS = [(name, number) for name in READY for number in range(1, len(ready_talks()[name].stops) + 1)]
HIDDEN = [("20-minutes", 1)]  # the class guesses: the numbers are not named


def decimals(line: str) -> list[tuple[float, float]]:
    """The decimals of a line, each with the tolerance of its last digit."""
    found = re.findall(r"(?<!cross )([+−]?)(\d+\.(\d+))", line)
    return [(-float(n) if sign == "−" else float(n), 10.0 ** -len(digits)) for sign, n, digits in found]


def measured(page, view, data) -> np.ndarray:
    """The numbers that a line may name: of the step, of the chosen row, of the sum, and of the second side."""
    found, analyses, step = [], [data.analysis], view.step
    if data.analysis.baseline is not None:
        analyses.append(data.analysis.baseline)
        found.append(np.exp(data.analysis.baseline_token_log_probs))
    if page == "compare":
        sides = pair(view, data)
        analyses += [sides.first.analysis, sides.second.analysis]
    for analysis in analyses:
        trace, head = analysis.full_pass, view.head or 0
        found += [np.sort(np.exp(analysis.trace.log_probs[step]))[-2:], [analysis.trace.token_log_probs.sum()]]
        found.append(analysis.trace.probabilities)
        found.append(np.mean([p[:, step] for s, p in trace.patterns.items() if s.kind == "cross"], (0, 1)))
        for site in {Site(kind, view.layer) for kind in trace.kinds} & set(trace.patterns):
            found.append(trace.patterns[site][head])
            if site.kind == view.kind:
                unfolded = computations.run(computations.UNFOLD(site, head, page_context.query_of(view, trace, site)), data)
                found.append(unfolded["products"].tables[0].totals)
    trace = data.analysis.trace
    first, second = np.argsort(-trace.log_probs[step])[:2].tolist()
    sums = computations.result(data.request, view.device, computations.DIRECT_LOGITS(step, first, second))
    assert abs(sums.remainder) < 1e-3
    if page == "why" and view.why == "route":
        route = computations.result(data.request, view.device, computations.ROUTE(step, first, second))
        found.append([link.effect for link in route.links])
    return np.concatenate([np.ravel(each) for each in [*found, [sums.difference, -sums.difference]]])


@pytest.mark.parametrize(("name", "number"), STOPS)
def test_a_stop_shows_the_numbers_of_its_line(name, number):
    stop = ready_talks()[name].stop(number)
    view, data = stop.view, page_context.build(stop.view)
    assert stop.faults == () and data.faults == () and stop.line
    assert view.within(len(data.analysis.trace.predicted_axis)) == view
    assert stop.place in pages.PAGES and view.part in PARTS
    assert (view.intervention == BASELINE) == (data.analysis.baseline is None)
    if (name, number) not in HIDDEN and decimals(stop.line):
        numbers = measured(stop.page, view, data)
        for value, digit in decimals(stop.line):
            assert np.abs(numbers - value).min() <= digit, (value, stop.line)


def test_each_talk_has_several_pages_and_about_twelve_stops():
    for talk in ready_talks().values():
        assert 10 <= len(talk.stops) <= 12 and len({stop.page for stop in talk.stops}) >= 3
    shown = {stop.page for talk in ready_talks().values() for stop in talk.stops}
    assert shown >= {"translate", "heads", "inside", "positions", "what-if", "why", "compare"}
