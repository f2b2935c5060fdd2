"""The sidebar: choice, facts and upload of checkpoints."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import streamlit as st

from viz import cache
from viz.kit import lazy, site_texts, terms
from viz.state import navigation, session, trainings, uploads
from viz.state.result_cache import kept_with
from viz.state.session_data import data
from viz.state.view import View

if TYPE_CHECKING:
    from streamlit.runtime.uploaded_file_manager import UploadedFile

    from model.checkpoint import Checkpoint
    from viz.state.trainings import Training

SHOWN_UNUSABLE = 3
WIDTH = 380  # of what opens
TRAINING_SECONDS = 3.0  # between two looks at a training that is in progress


def _upload_panel(view: View) -> None:
    """Draws the upload of a checkpoint, if uploads are enabled, and the removal of the visitor's own."""
    if view.checkpoint in uploads.session_uploads():
        site_texts.note("Only this session sees it. Others must upload the same zip to open your link.")
        st.button("Remove it", key="take away", type="tertiary", on_click=_remove, args=(view.checkpoint,))
    if uploads.is_enabled() and (file := _choose_file()) is not None:
        _upload(view, file)


def _choose_file() -> UploadedFile | None:
    """Draws the box for a zip and returns the file in it, if any."""
    max_mb = uploads.max_mb()
    if fault := data().uploads.fault:
        site_texts.fault(fault)
    file = st.file_uploader(
        f"Your own checkpoint as a zip, up to {max_mb} MB",
        type="zip",
        max_upload_size=max_mb,
        key=f"zip {data().uploads.tried}",
        on_change=session.mark_user_event,
    )
    site_texts.note("Zip the folder with config.json, tokenizer and model.safetensors. Only you see it, until you leave.")
    return file


def _upload(view: View, file: UploadedFile) -> None:
    """Unpacks, loads and shows an upload, or stores the error message; then starts a new run."""
    with st.spinner("Unpacking and checking"):
        name, fault = _load_zip(file, view.device)
    _forget_bytes(file)
    results = data().uploads
    results.tried += 1  # a new, empty widget
    results.fault = fault
    if not fault:
        results.loaded += 1
        session.change(checkpoint=name)
    session.mark_user_event()
    st.rerun()


def _load_zip(file: UploadedFile, device: str) -> tuple[str, str]:
    """Returns the name of the checkpoint in a zip and an error message; one of them is empty."""
    name = ""
    try:
        name = uploads.upload(file, file.name)
        cache.checkpoint(name, device)
    except ValueError as fault:
        uploads.remove(name)
        return "", str(fault).replace(f"{uploads.display_name(name)}/", f"{file.name[-90:]}: ")
    except OSError as fault:
        uploads.remove(name)
        return "", f"{file.name[-90:]} cannot be unpacked ({fault.strerror or type(fault).__name__})."
    return name, ""


def _forget_bytes(file: UploadedFile) -> None:
    """Frees the bytes that Streamlit would keep as long as the session."""
    from streamlit import runtime
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    with contextlib.suppress(AttributeError, KeyError):
        if runtime.exists() and (context := get_script_run_ctx()):
            runtime.get_instance().uploaded_file_mgr.remove_file(context.session_id, file.file_id)


def _remove(name: str) -> None:
    """Deletes an upload and returns to the default checkpoint; a callback."""
    session.change(checkpoint=View.checkpoint)
    uploads.remove(name)


def checkpoint_menu() -> None:
    """Draws the menu of checkpoints: choice, device and upload. A choice or an upload closes it, since its key changes."""
    view = session.current_view()
    _note_unusable()
    key = f"checkpoint {view.checkpoint} {view.device} {data().uploads.loaded}"
    with lazy.popover(uploads.display_name(view.checkpoint), key, width="stretch") as is_open:
        if is_open:
            _checkpoint_choices(view)


def _checkpoint_choices(view: View) -> None:
    """Draws the choices of checkpoint and device, and the upload."""
    with st.container(width=WIDTH):
        folders, devices = cache.checkpoint_names(), ("auto", *cache.devices())
        if folders != (view.checkpoint,):
            options = tuple(dict.fromkeys((*folders, view.checkpoint)))  # includes a missing one, so that it can be left
            bound = session.bind("checkpoint", "checkpoint", view.checkpoint)
            st.selectbox("Checkpoint", options, format_func=uploads.display_name, **bound)
        if len(devices) > 2 or view.device not in devices:
            options = tuple(dict.fromkeys((*devices, view.device)))
            st.selectbox("Device", options, **session.bind("device", "device", view.device))
        _upload_panel(view)


def training_line() -> None:
    """Draws the visitor's training while it is in progress, with the way to it. A visit without one draws nothing."""
    view = session.current_view()
    is_there = navigation.current_page() == "training" and view.of_training == "train_one"
    active = [] if is_there or view.lecture else [each for each in trainings.of_session() if each.is_active]
    if active:
        st.fragment(run_every=TRAINING_SECONDS)(_training_line)(active[0])


def _training_line(training: Training) -> None:
    if st.button(_progress(training), key="running training", type="tertiary", on_click=_open_training):
        st.rerun()  # a click runs this line alone


def _progress(training: Training) -> str:
    """Returns where a training is, in a few words."""
    if training.state == "waiting":
        return f"Training: {training.title}, waiting"
    if training.state == "failed":
        return f"Training: {training.title} failed"
    if not training.reports:
        return f"Training: {training.title}, starting"
    last = training.reports[-1]
    state = f"step {last['step']:,.0f}" if training.is_active else "done"
    return f"Training: {training.title}, {state}, {last['accuracy']:.0%} right"


def _open_training() -> None:
    session.change(of_training="train_one")
    navigation.go_to("training")


def _note_unusable() -> None:
    """Writes a sentence for each unusable folder of CHECKPOINTS."""
    unusable = cache.unusable()
    for sentence in unusable[:SHOWN_UNUSABLE]:
        site_texts.note(sentence, warn=True)
    if len(unusable) > SHOWN_UNUSABLE:
        site_texts.note(f"And {len(unusable) - SHOWN_UNUSABLE} more.", warn=True)


def describe_facts() -> dict[str, Any]:
    """Returns name, size, score and device of the checkpoint for the script; none if it cannot be loaded."""
    view = session.current_view()
    try:
        loaded = cache.checkpoint(view.checkpoint, view.device)
    except Exception:  # the page reports the fault
        return {"facts": None}
    return {"facts": _facts(loaded)}


@kept_with
def _facts(loaded: Checkpoint) -> dict[str, Any]:
    parts = terms.split(_size_and_score(loaded), "layer", "head", "BLEU", "bits")
    return {"name": uploads.display_name(loaded.name), "text": parts, "device": f"Runs on {loaded.device.type.upper()}"}


def _size_and_score(loaded: Checkpoint) -> str:
    """Returns size and score of a checkpoint as a sentence."""
    config, metrics = loaded.config, loaded.metrics
    score = score_text(metrics.get("test_all_references") or metrics.get("test"))
    count = loaded.model.parameter_count
    size = f"{count / 1e6:.1f} M" if count >= 1e5 else f"{count:,}"
    stacks = " + ".join(str(count) for count in (config.encoder_layers, config.decoder_layers) if count)
    heads = "1 head" if config.heads == 1 else f"{config.heads} heads"
    return f"{stacks} layers, {heads}, {size} parameters. {score}"


def score_text(test: dict[str, Any] | None) -> str:
    """Returns the test score of a checkpoint as a sentence."""
    if not test:
        return "Not scored on a test set."
    if "answers_right" in test:
        return f"{test['answers_right']:.1%} of {test['sentences']:,} held-out answers exactly right."
    if "accuracy" in test:
        what = "labels" if "labels" in test else "blanks"
        return f"{test['accuracy']:.1%} of the {what} right, on {test['sentences']:,} test sentences."
    if "bits_per_character" in test:
        return f"{test['bits_per_character']:.2f} bits a character on {test['characters']:,} characters of test text."
    how = f", beam {test['beam']}" if test.get("beam", 1) > 1 else ""
    against = ", all references" if test.get("references") == "all" else ""
    return f"{test['bleu']:.1f} BLEU on {test['sentences']:,} test sentences{how}{against}."
