"""The readings of the source in lecture mode: the curves of one of them, or all of them in rows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from model.readings.word_readings import READINGS
from viz import state, theme
from viz.shared.lecture import lecture, letters
from viz.why import curves, likely, pieces, ranking, readings_part, trust_texts

if TYPE_CHECKING:
    from viz.shared.shown import Shown
    from viz.why.choice import Choice
    from viz.why.readings_part import Test

READINGS_PICTURES = 2  # the curves of one, and all in rows


def draw_readings(shown: Shown, asked: Choice) -> None:
    """Which reading ranks the words best here, and the picture; another reading and the other picture by key."""
    view = shown.view
    test = readings_part.tested(shown, asked.rival)
    if test is None:
        return
    names = list(test.found.shares if test.found.is_told else READINGS)
    lecture.walk("the next reading", "the reading before", partial(_walk_readings, names, test.chosen))
    lecture.key(letters.INNER, "one reading, all readings", _turn_readings, quiet=True)
    if lecture.picture(view, READINGS_PICTURES) == 1:
        curves.curves(_payload(shown, test))
        return
    steps = view.step, len(shown.analysis.trace.predicted)
    trust = shown.page_data.loaded.trust
    only, said = likely.only(shown.page_data), trust_texts.said(test.found)
    data = ranking.payload(test.found, trust, test.scope, test.chosen, shown.mode, steps, only, said)
    ranking.ranking(data, readings_part.choose_reading, pieces.choose_step)


def _walk_readings(names: list[str], usual: str, by: int) -> None:
    """To the reading beside the one that is chosen now; called from callbacks."""
    readings_part.choose_reading(names[(names.index(state.current().reading or usual) + by) % len(names)])


def _turn_readings() -> None:
    state.change(large=lecture.picture(state.current(), READINGS_PICTURES) % READINGS_PICTURES + 1)


def _payload(shown: Shown, test: Test) -> dict[str, object]:
    found, name = test.found, test.chosen
    reading, own = READINGS[name], found.curves[name]
    importance = found.importance[name]
    top = max(float(abs(importance).max()), 1e-12)
    return {
        "said": trust_texts.said(found),
        "reading": f"{reading.label}{trust_texts.area(found, name)}",
        "meaning": reading.told(found.kind),
        "words": [[word, round(float(v) / top, 4)] for word, v in zip(found.words.labels, importance, strict=True)],
        "grid": [int(k) for k in found.grid],
        "lines": [
            {
                "end": end,
                "values": [round(float(v), 4) for v in values],
                "taken": trust_texts.taken(found, name, end),
            }
            for end, values in (("first", own.first), ("last", own.last))
        ],
        "chance": curves.spread([each for one in found.random for each in (one.first, one.last)]),
        "axis": f"log-probability of {test.what}",
        "scale": list(theme.diverging(shown.mode)),
    }
