"""Why: why this word, and not that one?"""

from __future__ import annotations

import streamlit as st

from viz.frame import show
from viz.kit import controls, site_texts
from viz.kit.panel import Layout
from viz.page_context import PageContext
from viz.state import session
from viz.state.page_fields import WHY
from viz.why import chosen_tokens, why_texts
from viz.why.readings_part import CURVES, READINGS_PANEL
from viz.why.sum_panel import SUM

PARTS = dict(zip(WHY, ("The sum", "Which reading is true?"), strict=True))


def _controls(context: PageContext) -> None:
    """Draws the choice of step, rival and part, and the answer."""
    choice, asked = chosen_tokens.choice(context), session.current_view().step
    if not context.analysis.task.is_classifier:
        labels = context.loaded.target_tokenizer.pieces(chosen_tokens.chosen_tokens(context))
        controls.step_slider(context.view, labels, chosen_tokens.stops(context))
    if note := why_texts.elsewhere(context, asked, choice.found):
        site_texts.note(note)
    with st.container(key="why_rival", horizontal=True, vertical_alignment="center", gap="small"):
        if blank := why_texts.which_blank(context, choice.found):
            site_texts.label(blank)
        site_texts.label("and not")
        chosen_tokens.choose(context, choice.others, choice.rival)
        if chosen_tokens.has_readings(context):
            st.space("stretch")
            st.segmented_control(
                "Part",
                WHY,
                required=True,
                format_func=PARTS.__getitem__,
                label_visibility="collapsed",
                **session.bind("why part", "why", context.view.why),
            )
    if complaint := session.complaint("rival"):
        site_texts.note(complaint[1], warn=True)
    site_texts.write(why_texts.answer(choice.found, choice.pair, choice.log_probs))


LAYOUT = Layout(((SUM,), (READINGS_PANEL,), (CURVES,)), _controls, choose_view=chosen_tokens.look)

if __name__ == "__main__":
    show.show("why")
