"""Why, which reading is true: the source as each reading colours it, and what becomes of the target where words go.

The readings, the best first: the source as each colours it, its area here, and over many sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from model.inference.request import Request
from model.readings.tokens.word_readings import READINGS
from model.text.faithfulness_result import RANDOM, FaithfulnessShares, Share
from viz import computations, theme
from viz.kit import controls, mount, site_texts
from viz.page_context import PageContext
from viz.state import session
from viz.state.page_fields import TESTED
from viz.state.result_cache import cached_figure
from viz.why import chosen_tokens, pieces, reading_texts
from viz.why.curves_figure import curves_chart

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from model.experiments.faithfulness import FaithfulnessResult


def payload(
    found: FaithfulnessResult,
    trust: FaithfulnessShares | None,
    scope: str,
    chosen: str,
    mode: theme.Mode,
    steps: tuple[int, int] = (0, 1),
    only: Sequence[int] = (),
    said: str = "",
) -> dict[str, Any]:
    """All that the browser needs, as JSON values. A row: its name, label and meaning, the share here (None where no order
    can be told from another), the words with what the reading says of each as a share of its largest number, and share and
    interval over many sentences, where they were measured. The random floor stands apart: the spread of its shares
    here. `steps`: the step and how many there are; `only`: those that have a choice, where not every one has.
    `said`: what stands above it where it fills the screen."""
    shares = trust.shares[scope] if trust else {}
    rows = []
    for name in found.shares if found.is_conclusive else READINGS:
        importance = found.importance[name]
        top = max(float(abs(importance).max()), 1e-12)
        rows.append(
            {
                "name": name,
                "label": READINGS[name].label,
                "meaning": READINGS[name].describe(found.kind),
                "share": round(found.shares[name], 4) if found.is_conclusive else None,
                "words": [
                    [label, round(float(value) / top, 4), f"{value:.3g}"]
                    for label, value in zip(found.words.labels, importance, strict=True)
                ],
                "many": _told(shares.get(name)),
            }
        )
    spread = round(float(found.random_shares.std()), 4) if found.is_conclusive else None
    return {
        "rows": rows,
        "random": {"share": spread, "many": _told(shares.get(RANDOM))},
        "many": f"{trust.sentences:,} dev sentences" if trust else None,
        "chosen": chosen,
        "scale": list(theme.diverging(mode)),
        "step": steps[0] + 1,
        "steps": steps[1],
        "only": [step + 1 for step in only],
        "text": "The text" if found.kind == "encoder" else "The source",
        "said": said,
    }


def _told(share: Share | None) -> list[float] | None:
    return None if share is None else [share.share, share.low, share.high]


_COMPONENT = mount.Component(
    __file__, '<div class="ranking"></div>', picture="What each reading says of each token", name="ranking"
)


def ranking(
    data: dict[str, Any], on_reading: Callable[[str], None], on_step: Callable[[int], None], key: str = "ranking"
) -> None:
    """Mounts the component; `on_reading` is called with the name of the reading that is clicked, `on_step` with the step to
    which an arrow key leads."""
    events = {"reading": (mount.one_of(tuple(READINGS)), on_reading), "step": (mount.from_one(data["steps"]), on_step)}
    _COMPONENT.mount(key, data, events)


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

    found: FaithfulnessResult
    scope: str  # what they are tested on, of `TESTED`
    at: tuple[int, int]  # step, from 0, and rival, as they are asked for
    what: str  # they are tested on, in words
    chosen: str  # the reading that is looked at


def tested(context: PageContext, rival: int) -> Test | None:
    """The test of this view; None, and a sentence, where there is nothing to test."""
    view, context = context.view, context
    scope = chosen_tokens.tested(view, context)
    at = (view.step, rival) if scope == "step" else (0, 0)  # of the whole one, no step is any other
    place = st.empty()

    def show(share: float) -> None:
        if share < 1:
            place.progress(share, "Words are taken away")

    try:
        found = computations.faithfulness(context.request, view.device, *at, scope, show)
    except ValueError as fault:
        place.empty()
        site_texts.fault(str(fault))
        return None
    place.empty()
    token = chosen_tokens.chosen_tokens(context)[view.step]
    (label,) = context.loaded.target_tokenizer.pieces([token])
    what = f"“{label}”" if scope == "step" else WHOLE[_of(context)]
    return Test(found, scope, at, what, view.reading or (found.best if found.is_conclusive else next(iter(READINGS))))


def _of(context: PageContext) -> str:
    """What the whole of what is predicted is: one of `WHOLE`."""
    return "target" if not chosen_tokens.fills_in(context) else "blanks" if chosen_tokens.blanks(context) else "text"


def choose_scope(context: PageContext) -> None:
    """Whether the token or the whole translation, or all blanks, is what readings are tested on."""
    names = dict(zip(TESTED, ON[_of(context)], strict=True))
    st.segmented_control(
        "Tested on",
        TESTED,
        required=True,
        format_func=names.__getitem__,
        label_visibility="collapsed",
        **session.bind("tested on", "tested", context.view.tested),
    )


def choose_reading(name: str) -> None:
    """Another reading; called from callbacks."""
    session.change(reading=name)


def draw(context: PageContext, rival: int) -> None:
    """What the test is; its result here and over many sentences; each reading in a row, and one reading's curves."""
    view, loaded = context.view, context.loaded
    with st.container(key="why_test", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.label(reading_texts.HOW)
        if len(chosen_tokens.stops(context)) > 1:
            site_texts.label("Tested on")
            choose_scope(context)
    test = tested(context, rival)
    if test is None:
        return
    found, chosen = test.found, test.chosen
    site_texts.write(reading_texts.verdict(found, test.what))
    steps = view.step, len(context.analysis.trace.predicted_axis)
    data = payload(found, loaded.faithfulness, test.scope, chosen, context.mode, steps, chosen_tokens.only(context))
    ranking(data, choose_reading, pieces.choose_step)
    fills_in = chosen_tokens.fills_in(context)
    site_texts.note(
        reading_texts.NO_MANY if fills_in else reading_texts.dev_verdict(loaded.faithfulness, test.scope, loaded.name)
    )
    _curves(context, test)


def _curves(context: PageContext, test: Test) -> None:
    view, reading = context.view, READINGS[test.chosen]
    with st.container(key="why_curves"):
        site_texts.write(reading_texts.curves_told(reading, test.found.kind, test.what))
        st.plotly_chart(
            drawn(context.request, view.device, *test.at, test.scope, test.chosen, context.mode),
            theme=None,
            key="curves",
            config=controls.chart_config(f"Tokens taken away: {reading.label}"),
            alt=reading_texts.curves_alt(test.found, reading),
        )
    site_texts.note(reading_texts.CARE)


@cached_figure
def drawn(request: Request, device: str, step: int, rival: int, scope: str, name: str, mode: theme.Mode) -> go.Figure:
    """The curves of one reading, with the random orders behind them."""
    found = computations.faithfulness(request, device, step, rival, scope, lambda share: None)  # type: ignore[arg-type]
    orders = {end: reading_texts.taken(found, name, end) for end in ("first", "last")}
    curves = found.curves[name]
    chance = [each for one in found.random for each in (one.first, one.last)]
    return curves_chart(found.grid, curves.first, curves.last, chance, (orders["first"], orders["last"]), mode, HEIGHT)
