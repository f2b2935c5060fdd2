"""The parts of the page Training: which run, a sentence along its steps, the curves, the learning rate."""

from __future__ import annotations

from functools import partial

import streamlit as st

from model.workshop.training import run_listing
from model.workshop.training.history import History
from viz import pages
from viz.kit import site_texts
from viz.page_context import PageContext, Places
from viz.state import session, uploads
from viz.state.view import View
from viz.theme import Mode
from viz.training import curves_part, histories, player, rates


def head(view: View, page: pages.Page) -> Places:
    """The title, and whose training it is."""
    with st.container(key="training_head", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.heading(page.title, page.question)
        st.space("stretch")
        site_texts.label("Training of")
        run_pick(view)
    body = st.container()
    return Places(body, body)


def run_pick(view: View) -> None:
    """Which training is looked at: that of a checkpoint, or a run in the folder of runs."""
    known, now = histories.places(), histories.chosen(view)
    names = list(known) if now in known else [*known, now]

    def told(name: str) -> str:
        place, is_run = known.get(name, (None, False))
        says_more = place is None or not place.name.startswith(name)  # in which folder it lies
        return f"{uploads.display_name(name)} (run)" if is_run and not says_more else uploads.display_name(name)

    st.selectbox(
        "Run",
        names,
        format_func=told,
        label_visibility="collapsed",
        **session.bind("training run", "run", now, write=_choose),
    )


def _choose(name: str) -> None:
    session.change(run="" if name == session.current_view().checkpoint else name)


def draw(context: PageContext) -> None:
    """All parts, one below the other."""
    with context.places.body:
        site_texts.sentence_notes((), context.faults)
        _namesake(context.view)
        found = open_history(context.view)
        if found is None:
            return
        _learned(context.view, context.mode, *found)


def _namesake(view: View) -> None:
    """The way to a run that has the name of the checkpoint whose training is shown."""
    name = histories.chosen(view)
    for run in histories.namesakes(name):
        if not (differs := histories.differs(name, run)):
            continue
        told = f"There is also a run named {uploads.display_name(name)}, {differs}: open it"
        st.button(told, key=f"open run {run}", type="tertiary", on_click=_choose, args=(run,))


def without_sentence(view: View, places: Places) -> None:
    """A training needs no sentence of the visitor's. Of a checkpoint that there is not, all is said."""
    if not view.run and view.checkpoint not in histories.places():
        return
    with places.body:
        if found := open_history(view):
            _learned(view, session.theme_mode(), *found)


def open_history(view: View) -> tuple[History, histories.Stamp] | None:
    """The history that a view looks at; None, and a sentence, where there is none. What RUNS names in vain is told."""
    for sentence in run_listing.unusable_folders():
        site_texts.note(sentence)
    try:
        return histories.history(histories.chosen(view))
    except ValueError as fault:
        site_texts.fault(str(fault))
        return None


def _learned(view: View, mode: Mode, history: History, stamp: histories.Stamp) -> None:
    name = histories.chosen(view)
    if history.is_running:
        histories.sign(name, stamp)
    elif history.steps:
        site_texts.note(ended(history))
    if history.recording is not None:
        site_texts.write('<h2 class="lab-label">One sentence along the training</h2>')
        sentence_pick(view, history)
        slider(view, mode, history, stamp)
    for sentence in history.notices:
        site_texts.note(sentence)
    site_texts.write('<h2 class="lab-label lab-rule">Curves</h2>')
    if history.is_of_another_run:
        site_texts.note(told_apart(history))
    curves_part.three(name, history, stamp, mode)
    if history.recording is not None:
        curves_part.heads(view, mode, history, stamp)
    rates.schedule(name, mode, history, stamp)


def told_apart(history: History) -> str:
    """Why the slider's line does not stand in the curves."""
    assert history.recording is not None
    last = max(int(entries[-1]["step"]) for entries in (history.steps, history.validations) if entries)
    return (
        f"The sentences were recorded up to step {history.recording.steps[-1]:,}. The curves are of another training, which "
        f"counts its own steps from 0 to {last:,}: the slider’s step is not marked in them."
    )


def ended(history: History) -> str:
    """How a run that is not going on came to its end."""
    progress = history.progress
    assert progress is not None
    where = f"step {progress.step:,}" + ("" if progress.total is None else f" of {progress.total:,}")
    if not history.is_over:
        return f"It stopped at {where}: the same command goes on with it."
    early = progress.total is not None and progress.step < progress.total
    return f"It ended at {where}{', for the dev loss fell no more' if early else ''}."


def sentence_pick(view: View, history: History) -> None:
    """Which of the sentences that were watched."""
    assert history.recording is not None
    sentences, now = history.recording.sentences, number(view, history)
    names = {n: s.source_text or s.target_text for n, s in enumerate(sentences)}
    st.selectbox(
        "Sentence",
        list(names),
        format_func=lambda n: names.get(n, ""),
        label_visibility="collapsed",
        **session.bind("training sentence", "probe", now, text=names[now]),
    )


def number(view: View, history: History) -> int:
    """The sentence of a view; the first where the recording has fewer."""
    assert history.recording is not None
    return view.probe if view.probe < len(history.recording.sentences) else 0


def slider(
    view: View,
    mode: Mode,
    history: History,
    stamp: histories.Stamp,
    shows: tuple[str, ...] = player.PARTS,
    large: bool = False,
) -> None:
    """The sentence along the recorded steps."""
    recording = history.recording
    assert recording is not None
    steps = recording.steps
    at = histories.nearest(steps, view.trained)
    if view.trained is not None and steps[at] != view.trained:
        site_texts.note(f"Step {view.trained:,} was not recorded; the nearest is {steps[at]:,}.")
    of = histories.chosen(view), run_listing.recording_stamps(stamp), number(view, history)
    pieces = [player.piece(*of, *ends) for ends in player.parted(len(steps), history.is_running)]
    data = player.payload(*of, mode, None if history.is_of_another_run else history.total)
    player.mounted(data, pieces, at, (view.layer, view.head), shows, partial(_rest, steps), _head, large)


def _rest(steps: tuple[int, ...], at: int) -> None:
    session.change(trained=None if at == len(steps) - 1 else steps[at])


def _head(kind: str, layer: int, head: int) -> None:
    session.change(kind=kind, layer=layer, head=head)
