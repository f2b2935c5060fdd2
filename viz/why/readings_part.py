"""Why, which reading is true: the source as each reading colours it, and what becomes of the target where words go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from model.inference.request import Request
from model.readings.word_readings import READINGS
from viz import cache, experiments, state, theme
from viz.keep import cached_figure
from viz.page_fields import TESTED
from viz.shared import controls
from viz.shared import texts as shared_texts
from viz.shared.shown import Shown
from viz.why import likely, pieces, ranking, trust_texts
from viz.why.curves_figure import curves_chart

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from model.experiments.faithfulness import Tested

ON = {  # what readings are tested on: of a target, of blanks, and of a text without any
    "target": ("This token", "The whole translation"),
    "blanks": ("This blank", "All blanks"),
    "text": ("This token", "The whole text"),
}
WHOLE = {"target": "the translation", "blanks": "what all blanks are filled with", "text": "the text"}
HEIGHT = 236


@dataclass(frozen=True)
class Test:
    """The readings, tested."""

    found: Tested
    scope: str  # what they are tested on, of `TESTED`
    at: tuple[int, int]  # step, from 0, and rival, as they are asked for
    what: str  # they are tested on, in words
    chosen: str  # the reading that is looked at


def tested(shown: Shown, rival: int) -> Test | None:
    """The test of this view; None, and a sentence, where there is nothing to test."""
    view, page_data = shown.view, shown.page_data
    scope = likely.tested(view, page_data)
    at = (view.step - 1, rival) if scope == "step" else (0, 0)  # of the whole one, no step is any other
    place = st.empty()

    def show(share: float) -> None:
        if share < 1:
            place.progress(share, "Words are taken away")

    try:
        found = experiments.faithfulness(page_data.request, view.device, *at, scope, show)
    except ValueError as fault:
        place.empty()
        shared_texts.fault(str(fault))
        return None
    place.empty()
    token = likely.chosen_tokens(page_data)[view.step - 1]
    (label,) = page_data.loaded.target_tokenizer.pieces([token])
    what = f"“{label}”" if scope == "step" else WHOLE[_of(page_data)]
    return Test(found, scope, at, what, view.reading or (found.best if found.is_told else next(iter(READINGS))))


def _of(page_data: cache.PageData) -> str:
    """What the whole of what is predicted is: one of `WHOLE`."""
    return "target" if not likely.fills_in(page_data) else "blanks" if likely.blanks(page_data) else "text"


def choose_scope(shown: Shown) -> None:
    """Whether the token or the whole translation, or all blanks, is what readings are tested on."""
    names = dict(zip(TESTED, ON[_of(shown.page_data)], strict=True))
    st.segmented_control(
        "Tested on",
        TESTED,
        required=True,
        format_func=names.__getitem__,
        label_visibility="collapsed",
        **state.bind("tested on", "tested", shown.view.tested),
    )


def choose_reading(name: str) -> None:
    """Another reading; called from callbacks."""
    state.change(reading=name)


def draw(shown: Shown, rival: int) -> None:
    """What the test is; its result here and over many sentences; each reading in a row, and one reading's curves."""
    view, loaded = shown.view, shown.page_data.loaded
    with st.container(key="why_test", horizontal=True, vertical_alignment="center", gap="small"):
        shared_texts.label(trust_texts.HOW)
        if len(likely.stops(shown.page_data)) > 1:
            shared_texts.label("Tested on")
            choose_scope(shown)
    test = tested(shown, rival)
    if test is None:
        return
    found, chosen = test.found, test.chosen
    shared_texts.write(trust_texts.verdict(found, test.what))
    steps = view.step, len(shown.analysis.trace.predicted)
    data = ranking.payload(found, loaded.trust, test.scope, chosen, shown.mode, steps, likely.only(shown.page_data))
    ranking.ranking(data, choose_reading, pieces.choose_step)
    fills_in = likely.fills_in(shown.page_data)
    shared_texts.note(trust_texts.NO_MANY if fills_in else trust_texts.dev_verdict(loaded.trust, test.scope, loaded.name))
    _curves(shown, test)


def _curves(shown: Shown, test: Test) -> None:
    view, reading = shown.view, READINGS[test.chosen]
    with st.container(key="why_curves"):
        shared_texts.write(trust_texts.curves_told(reading, test.found.kind, test.what))
        st.plotly_chart(
            drawn(shown.page_data.request, view.device, *test.at, test.scope, test.chosen, shown.mode),
            theme=None,
            key="curves",
            config=controls.picture(f"Tokens taken away: {reading.label}"),
            alt=trust_texts.curves_alt(test.found, reading),
        )
    shared_texts.note(trust_texts.CARE)


@cached_figure
def drawn(request: Request, device: str, step: int, rival: int, scope: str, name: str, mode: theme.Mode) -> go.Figure:
    """The curves of one reading, with the random orders behind them."""
    found = experiments.faithfulness(request, device, step, rival, scope, lambda share: None)  # type: ignore[arg-type]
    orders = {end: trust_texts.taken(found, name, end) for end in ("first", "last")}
    curves = found.curves[name]
    chance = [each for one in found.random for each in (one.first, one.last)]
    return curves_chart(found.grid, curves.first, curves.last, chance, (orders["first"], orders["last"]), mode, HEIGHT)
