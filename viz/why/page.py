"""Why: why this word, and not that one?"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import streamlit as st

from viz.compare.patching_panel import PATCHES
from viz.frame import show
from viz.kit import controls, site_texts
from viz.kit.panel import Layout, Picture, where
from viz.page_context import PageContext
from viz.state import session
from viz.state.page_fields import WHY
from viz.why import chosen_tokens, why_texts
from viz.why.readings_part import CURVES, READINGS_PANEL
from viz.why.route_panel import CUT, ROUTE
from viz.why.sum_panel import SUM

if TYPE_CHECKING:
    from model.inference.analysis import Analysis
    from model.trace import Trace

EDITED = "With the edits; Route shows the choice without them."
DIRECT = "Only what each part wrote directly. A cut on Route also changes what later layers do with it."
PARTS = dict(zip(WHY, ("Route", "Parts", "Patching", "Which reading is true?"), strict=True))
PATCHING = dataclasses.replace(PATCHES, name="why.patching", is_visible=where(why="patching"), pictures=(Picture(""),))


def _controls(context: PageContext) -> None:
    """Draws the choice of step, rival and part, and the answer."""
    edited = context
    if context.view.why == "route":
        context = chosen_tokens.baseline_context(context)
    choice, view_step = chosen_tokens.choice(context), session.current_view().step
    if not context.analysis.task.is_classifier:
        labels = context.loaded.target_tokenizer.pieces(chosen_tokens.chosen_tokens(context))
        controls.step_slider(context.view, labels, chosen_tokens.stops(context))
    if note := why_texts.elsewhere(context, view_step, choice.found):
        site_texts.note(note)
    with st.container(key="why_rival", horizontal=True, vertical_alignment="center", gap="small"):
        if blank := why_texts.which_blank(context, choice.found):
            site_texts.label(blank)
        chosen_tokens.choose(context, choice.others, choice.rival)
        st.segmented_control(
            "Part",
            chosen_tokens.parts(edited),
            required=True,
            format_func=PARTS.__getitem__,
            label_visibility="collapsed",
            **session.bind("why part", "why", context.view.why),
        )
    if complaint := session.complaint("rival"):
        site_texts.note(complaint[1], warn=True)
    if context.view.why in ("sum", "readings"):
        site_texts.write(why_texts.answer(choice.found, choice.pair, choice.log_probs))
        notes = {EDITED: context.analysis.baseline is not None, DIRECT: context.view.why == "sum"}
        if shown := " ".join(text for text, is_true in notes.items() if is_true):
            site_texts.note(shown)


def _longer_trace(analysis: Analysis) -> Trace:
    """Returns the trace with more steps: the route has those of the baseline, the other parts those of the edited text."""
    return max((analysis.trace, (analysis.baseline or analysis).trace), key=lambda trace: len(trace.step_axis))


LAYOUT = Layout(
    ((ROUTE,), (CUT,), (SUM,), (PATCHING,), (READINGS_PANEL,), (CURVES,)),
    _controls,
    steps_of=_longer_trace,
    choose_view=chosen_tokens.look,
)

if __name__ == "__main__":
    show.show("why")
