"""Train one: what to do with a training that has ended, and its result as a sentence."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING, Any

import streamlit as st

from model.io.folders import FILES
from viz.kit import site_texts
from viz.state import navigation, session, trainings
from viz.state.session_data import data
from viz.state.trainings import Training
from viz.state.view import View
from viz.training.train_one import ending, result, verdict

if TYPE_CHECKING:
    from collections.abc import Callable

NO_CROSS = "Without cross-attention nothing of the input reaches the output. The maps show weights that have no effect."
KEPT = "A reload of this tab keeps it. Two minutes after you close the tab it is deleted, unless you save it as a zip."


def draw_result(training: Training) -> None:
    every = trainings.of_session()
    if training.fault:
        site_texts.fault(training.fault)
    with st.container(key="train_result", horizontal=True, vertical_alignment="center", gap="small"):
        if len(every) > 1:
            labels = {each.name: _label(each) for each in every}
            st.selectbox(
                "Training",
                list(labels),
                list(labels).index(training.name),
                format_func=labels.get,
                label_visibility="collapsed",
                key=f"shown training {training.name} {len(every)}",
                on_change=callback(lambda: _choose(list(labels), f"shown training {training.name} {len(every)}")),
            )
        else:
            site_texts.label(training.title)
        _buttons(every, training)
    if training.reports:
        no_cross = "" if training.config.get("cross_attention", True) else NO_CROSS
        notes = (ending(training), verdict(training), no_cross, KEPT if training.is_saved else "")
        note = site_texts.note_markup(" ".join(filter(None, notes)))
        site_texts.write(f'<p class="lab-training-now">{result(training)}</p>{note}')


def _label(training: Training) -> str:
    return f"{training.title}: {training.accuracy:.0%} right" if training.reports else training.title


def _choose(names: list[str], key: str) -> None:
    if (name := st.session_state[key]) in names:
        data().training.chosen = name


def _buttons(every: list[Training], training: Training) -> None:
    """Draws what can be done with a training that has ended."""
    if training.is_saved:
        st.button("Open it", key="open small", type="primary", on_click=_open, args=(training, "translate"))
        st.button("Its film", key="film of small", on_click=_open, args=(training, "training"))
        others = [each for each in every if each is not training and each.is_saved and _is_same_task(each, training)]
        if others:
            other = others[-1]
            st.button(f"Compare with “{other.title}”", key="compare small", on_click=_compare, args=(training, other))
        if not training.has_learned:
            st.button("Go on", key="continue small", on_click=callback(lambda: trainings.go_on(training)))
        st.download_button(
            "Save as zip",
            lambda: _zip(training),
            f"{training.title}.zip",
            "application/zip",
            key="zip small",
            on_click="ignore",
        )
    if training.state == "failed":
        st.button("Train again", key="train again", on_click=_again, args=(training, 0))
    st.button("Another seed", key="another seed", on_click=_again, args=(training, 1))
    st.button("Delete", key="delete small", type="tertiary", on_click=_delete, args=(training,))


def callback(change: Callable[[], Any]) -> Callable[[], None]:
    """Returns a callback; a sentence of a ValueError is shown under the form."""

    def called() -> None:
        session.mark_user_event()
        try:
            change()
        except ValueError as fault:
            data().training.fault = str(fault)

    return called


def _open(training: Training, page: str) -> None:
    """Shows the checkpoint of a training on a page; a callback."""
    session.change(
        checkpoint=training.name, source=training.examples[0]["source_text"], run="", of_training="history", head=0
    )
    navigation.go_to(page)


def _compare(training: Training, other: Training) -> None:
    """Shows two trainings side by side; a callback."""
    source = training.examples[0]["source_text"]
    session.change(checkpoint=training.name, source=source, differs="checkpoint", other_checkpoint=other.name, kind="cross")
    navigation.go_to("compare")


def _is_same_task(one: Training, other: Training) -> bool:
    return all(one.config.get(name) == other.config.get(name) for name in ("task", "pairs"))


def _again(training: Training, further: int) -> None:
    """Trains the same with the same or the next seed, under the same prediction; a callback."""
    config = training.config | {"seed": training.config["seed"] + further}
    session.mark_user_event()
    title = training.title.partition(", seed")[0] + (f", seed {config['seed']}" if config["seed"] > 1 else "")
    try:
        trainings.start(config, title, training.guess)
        data().training.chosen = ""
    except ValueError as fault:
        data().training.fault = str(fault)


def _delete(training: Training) -> None:
    """Deletes a training; a callback."""
    if session.current_view().checkpoint == training.name:
        session.change(checkpoint=View.checkpoint)
    trainings.delete(training)
    session.mark_user_event()


def draw_undo() -> None:
    """Draws the way back from a deletion."""
    if (training := trainings.deleted()) is not None:
        with st.container(key="train_deleted", horizontal=True, vertical_alignment="center", gap="small"):
            site_texts.label(f"“{training.title}” is deleted.")
            st.button("Undo", key="undo delete", on_click=callback(lambda: _restore(training)))


def _restore(training: Training) -> None:
    trainings.restore(training)
    data().training.chosen = training.name


def _zip(training: Training) -> bytes:
    """Returns the checkpoint as a zip."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(training.folder.iterdir()):
            if path.name in FILES:
                archive.write(path, path.name)
    return packed.getvalue()
