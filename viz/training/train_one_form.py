"""Train one: the form, the prediction before the training, and its progress. `train_one_result.py` draws the result."""

from __future__ import annotations

from typing import Any

import streamlit as st

from model.io.package_names import COMMAND
from model.workshop.small import small_tasks
from model.workshop.small.small_tasks import MAX_PAIRS, OWN_PAIRS, TASKS, read_pairs
from viz.kit import site_texts
from viz.kit.panel import Panel
from viz.page_context import PageContext
from viz.state import session, trainings
from viz.state.session_data import data, store_from_event
from viz.state.trainings import Training
from viz.state.view import View
from viz.training.train_one import (
    COMPONENT,
    IS_TRAIN_ONE,
    LEARNED,
    chosen,
    config_of,
    payload,
    question,
    result,
    short_result,
)
from viz.training.train_one_result import callback, draw_result, draw_undo

EVERY = 0.5  # seconds between two looks at a training that is in progress
SURE = (50, 70, 90, 99)  # per cent
MAX_TYPED = 200_000  # characters of own pairs
PAIRS_HEIGHT = 160  # px
OWN_PLACEHOLDER = "hello = olleh\n(one pair a line, a tab or “ = ” between both texts)"
LEFT_OUT = {
    "No positions": "train_positions",
    "No causal mask": "train_causal",
    "No cross-attention": "train_cross",
    "No scaling": "train_scaling",
}
STATES = {
    "starting": "The training starts, which takes some seconds.",
    "stopping": "It stops and saves what it has learned.",
}


def _draw(context: PageContext, training: Training | None) -> None:
    view = context.view
    if not trainings.is_enabled():
        site_texts.note(
            f"This server trains no models. On your own machine: {COMMAND} train-small reverse --out runs/reverse"
        )
        return
    if training is not None and training.is_active:
        _progress(training)
        st.fragment(run_every=EVERY)(_live)(training, context.mode)
        return
    _form(view)
    draw_undo()
    if training is not None:
        draw_result(training)
        if training.reports:
            _mount(training, context.mode)


def _mount(training: Training, mode: Any) -> None:
    COMPONENT.mount("training.train_one", payload(training, mode))


# -- before the training -----------------------------------------------------------------------------------------------


def _form(view: View) -> None:
    """Draws task, size, switches, prediction and the button."""
    with st.container(key="train_form", horizontal=True, vertical_alignment="bottom", gap="small"):
        titles = {name: task.title for name, task in TASKS.items()} | {OWN_PAIRS: "Your own pairs"}
        st.selectbox(
            "Task", list(titles), format_func=titles.get, **session.bind("train task", "train_task", view.train_task)
        )
        with st.popover(_size_text(view), key="train size"):
            for name, label in (("layers", "Layers"), ("heads", "Heads"), ("width", "Dimensions")):
                options = small_tasks.SIZES["d_model" if name == "width" else name]
                field = f"train_{name}"
                value = getattr(view, field)
                st.segmented_control(label, options, required=True, **session.bind(f"train {name}", field, value))
        for label, field in LEFT_OUT.items():
            bound = session.bind(f"without {field}", field, not getattr(view, field), read=lambda left_out: not left_out)
            st.toggle(label, **bound)
    if view.train_task == OWN_PAIRS:
        _own_pairs()
    own = data().training
    with st.container(key="train_guess", horizontal=True, vertical_alignment="bottom", gap="small"):
        _choice(f"Predict first. {question(view.train_task)}", "guess", {True: "Yes", False: "No"})
        _choice("How sure?", "sure", {each: f"{each}%" for each in SURE})
        is_ready = own.guess is not None and own.sure is not None
        help = None if is_ready else "Predict first."
        kind = "primary" if is_ready else "secondary"
        st.button("Train", key="train", type=kind, disabled=not is_ready, help=help, on_click=_train)
    site_texts.note(f"{_example(view)}Yes means: at least {LEARNED:.0%} of the answers to new texts will be exactly right.")
    fault, own.fault = own.fault, ""
    if fault:
        site_texts.fault(fault)


def _example(view: View) -> str:
    if view.train_task == OWN_PAIRS:
        return ""
    source, target = small_tasks.examples(view.train_task)[0]
    return f"For example {source} → {target}. "


def _size_text(view: View) -> str:
    layers = "1 layer" if view.train_layers == 1 else f"{view.train_layers} layers"
    heads = "1 head" if view.train_heads == 1 else f"{view.train_heads} heads"
    return f"{layers}, {heads}, {view.train_width} dimensions"


def _own_pairs() -> None:
    def store() -> None:
        store_from_event(data().training, pairs=str(st.session_state["own pairs"])[:MAX_TYPED])

    limit = f"each text with at most {small_tasks.MAX_LENGTH} characters, fewer with accents"
    label = f"20 to {MAX_PAIRS:,} pairs, {limit}. A tenth of them only measures."
    typed = data().training.pairs
    st.text_area(label, typed, PAIRS_HEIGHT, MAX_TYPED, key="own pairs", placeholder=OWN_PLACEHOLDER, on_change=store)


def _choice(label: str, name: str, options: dict[Any, str]) -> None:
    """Draws buttons for a part of the prediction, which stays in the visit."""
    key = f"train {name} {len(trainings.of_session())}"  # a new prediction for each training

    def store() -> None:
        value = st.session_state[key]
        store_from_event(data().training, **{name: value if value in options else None})

    current = getattr(data().training, name)
    st.segmented_control(label, list(options), default=current, format_func=options.get, key=key, on_change=store)


def _train() -> None:
    """Starts a training with the values of the form; a callback."""
    view, own = session.current_view(), data().training
    config = config_of(view)
    guess = None if own.guess is None or own.sure is None else (own.guess, own.sure)
    try:
        if view.train_task == OWN_PAIRS:
            config |= {"task": next(iter(TASKS)), "pairs": read_pairs(own.pairs)}
        trainings.start(config, _title(view), guess)
    except ValueError as fault:
        store_from_event(own, fault=str(fault))
        return
    store_from_event(own, guess=None, sure=None, chosen="")


def _title(view: View) -> str:
    """Names a training by what differs from the default."""
    first = TASKS[view.train_task].title if view.train_task in TASKS else "Own pairs"
    more = [
        f"{view.train_layers} layers" if view.train_layers > 1 else "",
        f"{view.train_heads} heads" if view.train_heads != View.train_heads else "",
        f"{view.train_width} dim" if view.train_width != View.train_width else "",
        *("" if getattr(view, field) else label[:1].lower() + label[1:] for label, field in LEFT_OUT.items()),
        f"seed {view.train_seed}" if view.train_seed > 1 else "",
    ]
    return ", ".join(filter(None, (first, *more)))


# -- the training ------------------------------------------------------------------------------------------------------


def _progress(training: Training) -> None:
    """Draws what is trained, and the button that stops it."""
    with st.container(key="train_progress", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.label(training.title)
        if training.guess is not None:
            said, sure = training.guess
            site_texts.label(f"You predicted “{'yes' if said else 'no'}”, {sure}% sure.")
        st.button("Stop", key="stop training", on_click=callback(lambda: trainings.stop(training)))


def _live(training: Training, mode: Any) -> None:
    """Draws the progress; once the training has ended, the whole page runs again."""
    if not training.is_active:
        session.mark_user_event()
        st.rerun()
    live = "" if training.state == "waiting" else "<i>Live</i> "
    site_texts.write(f'<p class="lab-training-now" aria-live="off">{live}{_state_text(training)}</p>')
    if training.reports:
        _mount(training, mode)


def _state_text(training: Training) -> str:
    if training.state == "waiting":
        if not training.ahead:
            return "It waits for its turn."
        return f"It waits: {training.ahead} before you, at most {training.ahead * trainings.MINUTES} minutes."
    if not training.reports or training.state == "stopping":
        return STATES.get(training.state, "The first steps.")
    return f"{result(training)} It ends after about {training.latest_end:.0f} s at the latest."


def follow_in_lecture() -> None:
    """Runs the page of lecture mode again while a training is in progress."""
    training = chosen()
    if training is not None and training.is_active:
        st.fragment(run_every=2 * EVERY)(_follow)(training, len(training.reports))
    elif training is not None:
        site_texts.write(f'<p class="lab-training-now">{training.title}: {short_result(training)}</p>')


def _follow(training: Training, seen: int) -> None:
    if len(training.reports) != seen or not training.is_active:
        session.mark_user_event()
        st.rerun()
    text = f"{training.title}: {short_result(training)}"
    site_texts.write(f'<p class="lab-training-now" aria-live="off"><i>Live</i> {text}</p>')


TRAIN_ONE_FORM = Panel(
    "training.train_one_form",
    "Train one",
    compute=lambda context: chosen(),
    details=_draw,
    is_visible=IS_TRAIN_ONE,
    is_independent=True,
)
