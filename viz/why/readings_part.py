"""Why, which reading is true: the source as each reading colours it, and what becomes of the target where words go.

The readings, the best first: the source as each colours it, its area here, and over many sentences."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from model.export.csv_tables import Table
from model.readings.tokens.word_readings import READINGS
from model.text.measurements import RANDOM, FaithfulnessShares, Share
from viz import computations, theme
from viz.classroom import lecture
from viz.kit import mount, site_texts
from viz.kit.panel import FileOptions, Panel, Picture
from viz.page_context import PageContext
from viz.state import session
from viz.state.page_fields import TESTED
from viz.why import chosen_tokens, pieces, reading_texts
from viz.why.reading_texts import curves_chart
from viz.why.sum_panel import bar, limit_steps

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from model.experiments.faithfulness import FaithfulnessResult
    from model.export.code import Code
    from viz.computations import Call


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
                    [label, round(float(value) / top, 4), float(f"{value:.3g}")]
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


COMPONENT = mount.Component(__file__, '<div class="ranking"></div>', name="ranking")


ON = {  # what readings are tested on: of a target, of blanks, and of a text without any
    "target": ("This token", "The whole translation"),
    "blanks": ("This blank", "All blanks"),
    "text": ("This token", "The whole text"),
}
WHOLE = {"target": "the translation", "blanks": "what all blanks are filled with", "text": "the text"}
HEIGHT = 236


@dataclass(frozen=True)
class Scope:
    """What the readings are tested on, and the selected reading."""

    name: str  # of `TESTED`
    text: str
    reading: str


def scope(context: PageContext, found: FaithfulnessResult) -> Scope:
    """Returns what the view tests the readings on."""
    view, name = context.view, chosen_tokens.tested(context.view, context)
    (label,) = context.loaded.target_tokenizer.pieces([chosen_tokens.chosen_tokens(context)[view.step]])
    first = found.best if found.is_conclusive else next(iter(READINGS))
    return Scope(name, f"“{label}”" if name == "step" else WHOLE[_of(context)], view.reading or first)


def call(context: PageContext) -> Call:
    """Returns the test of all readings, on one step or on the full target."""
    if (name := chosen_tokens.tested(context.view, context)) == "step":
        return computations.FAITHFULNESS(context.view.step, chosen_tokens.chosen(context.view, context), name)
    return computations.FAITHFULNESS(0, 0, name)


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


def _controls(context: PageContext, found: FaithfulnessResult) -> None:
    with st.container(key="why_test", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.label(reading_texts.HOW)
        if len(chosen_tokens.stops(context)) > 1:
            site_texts.label("Tested on")
            choose_scope(context)


def _payload(context: PageContext, found: FaithfulnessResult, said: str = "") -> dict[str, Any]:
    tested = scope(context, found)
    steps = context.view.step, len(context.analysis.trace.predicted_axis)
    only, trust = chosen_tokens.only(context), context.loaded.faithfulness
    return payload(found, trust, tested.name, tested.reading, context.mode, steps, only, said)


def _events(context: PageContext, found: FaithfulnessResult) -> dict[str, mount.Event]:
    steps = len(context.analysis.trace.predicted_axis)
    return {"reading": (mount.one_of(tuple(READINGS)), choose_reading), "step": (mount.from_one(steps), pieces.choose_step)}


def _tables(context: PageContext, found: FaithfulnessResult) -> tuple[Table, ...]:
    shares = found.shares if found.is_conclusive else dict.fromkeys(READINGS)
    rows = [
        (READINGS[name].label, shares[name], place, word, float(value))
        for name in shares
        for place, (word, value) in enumerate(zip(found.words.labels, found.importance[name], strict=True), 1)
    ]
    return (Table("readings", ("reading", "area", "position", "word", "importance"), tuple(rows)),)


def _code(code: Code, context: PageContext, found: FaithfulnessResult) -> None:
    code.add("importance, shares = result.importance, result.shares", "of result.words, by the name of the reading")


def _figure(context: PageContext, found: FaithfulnessResult) -> go.Figure:
    """Draws the curves of the selected reading in front of those of random orders."""
    name = scope(context, found).reading
    curves, ends = found.curves[name], (reading_texts.taken(found, name, end) for end in ("first", "last"))
    chance = [each for one in found.random for each in (one.first, one.last)]
    return curves_chart(found.grid, curves.first, curves.last, chance, tuple(ends), context.mode, HEIGHT)


def _curves_text(context: PageContext, found: FaithfulnessResult) -> str:
    tested = scope(context, found)
    note = f'<p class="lab-note">{html.escape(reading_texts.CARE)}</p>'
    return reading_texts.curves_told(READINGS[tested.reading], found.kind, tested.text) + note


def _large_text(context: PageContext, found: FaithfulnessResult) -> str:
    tested = scope(context, found)
    line = f"{READINGS[tested.reading].label}{reading_texts.area(found, tested.reading)}. Log-probability of {tested.text}."
    return f'<p class="lab-note">{html.escape(line)}</p>{reading_texts.LEGEND}'


def _verdict(context: PageContext, found: FaithfulnessResult) -> str:
    loaded, tested = context.loaded, scope(context, found)
    many = reading_texts.dev_verdict(loaded.faithfulness, tested.name, loaded.name)
    note = reading_texts.NO_MANY if chosen_tokens.fills_in(context) else many
    return f'{reading_texts.verdict(found, tested.text)}<p class="lab-note">{html.escape(note)}</p>'


def _keys(context: PageContext, found: FaithfulnessResult) -> None:
    limit_steps(context)
    names = list(found.shares if found.is_conclusive else READINGS)
    lecture.add_walk_keys("the next reading", "the reading before", partial(_walk, names, scope(context, found).reading))


def _walk(names: list[str], usual: str, by: int) -> None:
    """Chooses the next or previous reading. For callbacks."""
    choose_reading(names[(names.index(session.current_view().reading or usual) + by) % len(names)])


def _is_visible(context: PageContext) -> bool:
    return chosen_tokens.shows_readings(context.view, context)


READINGS_PANEL = Panel(
    "why.readings",
    "What each reading says of each token",
    COMPONENT,
    _payload,
    _events,
    call=call,
    controls=_controls,
    text=_verdict,
    tables=_tables,
    code=_code,
    is_visible=_is_visible,
    pictures=(
        Picture(
            "Readings", data=lambda context, found: {"said": reading_texts.said(found)}, fields={"why": "readings"}, number=2
        ),
    ),
    bar=bar,
    keys=_keys,
    file=FileOptions(default_view=lambda context: chosen_tokens.look(context.view, context)),
)
CURVES = Panel(
    "why.curves",
    "Tokens removed, by one reading",
    figure=_figure,
    call=call,
    text=_curves_text,
    is_visible=_is_visible,
    pictures=(Picture("Curves", fields={"why": "readings"}, text=_large_text, number=1),),
    bar=bar,
    keys=_keys,
)
