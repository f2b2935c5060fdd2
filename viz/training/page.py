"""Training: how did it learn this?"""

from __future__ import annotations

import dataclasses

import streamlit as st

from viz import pages
from viz.frame import show
from viz.kit import site_texts
from viz.kit.panel import Layout, Panel, where
from viz.page_context import PageContext, Places
from viz.state import page_fields, session, uploads
from viz.state.view import View
from viz.training import histories
from viz.training.head_curves import HEADS
from viz.training.loss_curves import CURVES
from viz.training.player import PLAYER
from viz.training.rates import RATE
from viz.training.run_panel import RUN, draw_live
from viz.training.train_one import IS_TRAIN_ONE, TRAIN_ONE
from viz.training.train_one_form import TRAIN_ONE_FORM, follow_in_lecture


def _head(view: View, page: pages.Page) -> Places:
    """Draws the title, and the choice of the training: of a checkpoint, or a run in the folder of runs."""
    known, current = histories.places(), histories.chosen(view)
    is_train_one = view.of_training == "train_one"

    def label(name: str) -> str:
        place, is_run = known.get(name, (None, False))
        is_alone = place is not None and place.name.startswith(name)  # else its folder is in the name
        return f"{uploads.display_name(name)} (run)" if is_run and is_alone else uploads.display_name(name)

    with st.container(key="training_head", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.heading(page.question)
        st.space("stretch")
        if not is_train_one:
            site_texts.label("Training of")
            st.selectbox(
                "Run",
                list(known) if current in known else [*known, current],
                format_func=label,
                label_visibility="collapsed",
                **session.bind("training run", "run", current, write=_choose),
            )
        st.segmented_control(
            "Part",
            page_fields.OF_TRAINING,
            required=True,
            format_func={"history": "History", "train_one": "Train one"}.get,
            label_visibility="collapsed",
            **session.bind("training part", "of_training", view.of_training),
        )
    return Places()


def _choose(name: str) -> None:
    session.change(run="" if name == session.current_view().checkpoint else name)


def _controls(context: PageContext) -> None:
    """Draws the progress of a running training, and a button for another run with the name of the checkpoint."""
    if IS_TRAIN_ONE(context):
        return
    draw_live(context)
    name = histories.chosen(context.view)
    for run in histories.namesakes(name):
        if difference := histories.differs(name, run):
            text = f"There is also a run named {uploads.display_name(name)}, {difference}: open it"
            st.button(text, key=f"open run {run}", type="tertiary", on_click=_choose, args=(run,))


def _bar(context: PageContext) -> None:
    """Draws the progress of a training in the bar of lecture mode."""
    if IS_TRAIN_ONE(context):
        follow_in_lecture()
    else:
        draw_live(context)


def _in_history(panel: Panel) -> Panel:
    """Returns a panel that is visible only in the part *History*."""
    is_there = where(of_training="history")
    return dataclasses.replace(panel, is_visible=lambda context: is_there(context) and panel.is_visible(context))


HISTORY = tuple(map(_in_history, (RUN, PLAYER, CURVES, HEADS, RATE)))
LAYOUT = Layout(
    ((TRAIN_ONE_FORM,), (TRAIN_ONE,), *((panel,) for panel in HISTORY)),
    _controls,
    notes=lambda context: site_texts.sentence_notes((), context.faults),
    bar=_bar,
    head=_head,
    has_sentence=lambda view: False,
)

if __name__ == "__main__":
    show.show("training")
