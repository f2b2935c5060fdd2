"""Training in lecture mode: the maps at a step, all heads, or one of the curves, over the whole page."""

from __future__ import annotations

import html

from model.workshop.training import run_listing
from viz.classroom import lecture
from viz.kit import site_texts
from viz.page_context import PageContext
from viz.training import curves_part, histories, loss_curves, rates, training_parts

LARGE = ("Maps", "All heads", "Loss", "Heads", "Rate")
HALL = 1.9  # how many times as large a chart is drawn
SIGN = 50  # px at 720 lines of the sign of a run that goes on, with what is between it and the title
LEFT = 404  # px at 720 lines for a chart below its title, a sentence, what its lines are and the slider


def draw(context: PageContext) -> None:
    """One picture, and the keys."""
    view, large = context.view, lecture.picture(context.view, len(LARGE))
    with context.places.bar:
        lecture.picture_buttons(LARGE, large)
    lecture.add_key(lecture.PICTURE, "the next picture", lambda: lecture.next_picture(len(LARGE)), quiet=True)
    with context.places.notes:
        site_texts.sentence_notes((), context.faults)
    with context.places.body:
        found = training_parts.open_history(view)
        if found is not None and found[0].is_running:
            histories.sign(histories.chosen(view), found[1])
        if found is not None:
            _picture(context, LARGE[large - 1], *found)


def _picture(context: PageContext, what: str, history, stamp: histories.Stamp) -> None:
    view, mode = context.view, context.mode
    if what in ("Maps", "All heads", "Heads", "Loss") and history.recording is not None:
        lecture.list_component_keys("←, →, Home, End", "one recorded step back or on, the first, the last")
        lecture.list_component_keys("space", "play, and stop")
        shows = {"Maps": ("said", "maps"), "All heads": ("said", "all")}.get(what, ())
        if shows:
            training_parts.sentence_pick(view, history)
        training_parts.slider(view, mode, history, stamp, shows, large=True)
    elif what in ("Maps", "All heads", "Heads"):
        for sentence in history.notices:
            site_texts.note(sentence)
    name, height = histories.chosen(view), lecture.chart_height(LEFT - SIGN * history.is_running, HALL)
    if what == "Loss":
        found = loss_curves.curve(history, "loss")
        _titled(found.title, found.told)
        if history.is_of_another_run:
            site_texts.note(training_parts.told_apart(history))
        if found.lines:
            _chart("Loss", loss_curves.figure(name, history, stamp, "loss", mode, height), found.told)
    elif what == "Heads" and history.recording is not None:
        _titled(
            "Every head, over the steps", " ".join(each.told for each in loss_curves.appeared(name, stamp, view.reach)[:1])
        )
        site_texts.write(curves_part.kinds_legend(history, view.grown))
        chosen = curves_part.chosen(view, history)
        figure = loss_curves.heads_figure(
            name, run_listing.recording_stamps(stamp), view.grown, chosen, view.reach, mode, height
        )
        _chart("Every head", figure, "A line a head")
    elif what == "Rate":
        _titled("The learning rate", "" if rates.lines(history) else rates.UNKNOWN)
        if found := rates.lines(history):
            site_texts.write(curves_part.legend(found))
            figure = rates.schedule_figure(name, history, stamp, mode, height, marked=False)  # there is no slider
            _chart("Learning rate", figure, "The run’s own rate")


def _titled(title: str, reading: str) -> None:
    site_texts.write(f'<h2 class="lab-large-title">{html.escape(title)}</h2>')
    if reading:
        site_texts.write(f'<p class="lab-large">{html.escape(reading)}</p>')


def _chart(title: str, figure, alt: str) -> None:
    with lecture.chart_container(HALL):
        lecture.draw_chart(title, f"training large {title}", figure, alt)
