"""The control under the choice of a checkpoint: what cannot be chosen and why, and a checkpoint of one's own as a zip."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import streamlit as st

from viz import cache, state, uploads
from viz.shared import texts
from viz.view import View

if TYPE_CHECKING:
    from streamlit.runtime.uploaded_file_manager import UploadedFile

SHOWN_UNUSABLE = 3
WIDTH = 380  # of what opens
TRIED, GOOD, FAULT = "zips tried", "zips brought", "fault of a zip"  # kept for the session


def control(view: View) -> None:
    """What CHECKPOINTS names in vain, and, where the server takes uploads, the way to bring one."""
    unusable = cache.unusable()
    for sentence in unusable[:SHOWN_UNUSABLE]:
        texts.note(sentence, warn=True)
    if len(unusable) > SHOWN_UNUSABLE:
        texts.note(f"And {len(unusable) - SHOWN_UNUSABLE} more.", warn=True)
    if view.checkpoint in uploads.mine():
        texts.note("Seen by this session alone, and gone with it. Whoever opens your link has to bring the same zip there.")
        st.button("Take it away", key="take away", type="tertiary", on_click=_take_away, args=(view.checkpoint,))
    if not uploads.is_on():
        return
    brought = state.kept(GOOD) or 0  # another popover after each that was good: it is closed
    most = uploads.most_mb()
    with st.popover("Bring your own …", type="tertiary", key=f"bring {brought}"), st.container(width=WIDTH):
        if fault := state.kept(FAULT):
            texts.fault(fault)
        file = st.file_uploader(
            f"A checkpoint as a zip, up to {most} MB",
            type="zip",
            max_upload_size=most,
            key=f"zip {state.kept(TRIED) or 0}",
            on_change=state.hear,
        )
        texts.note(
            "The folder of a trained or converted model: config.json, tokenizer, model.safetensors. Only you see it, and "
            "it is gone when you leave."
        )
    if file is not None:
        _bring(view, file)


def _bring(view: View, file: UploadedFile) -> None:
    """Unpacks and loads what has been uploaded, and shows it; where that fails says why. Both begin a new run."""
    with st.spinner("Unpacking and checking"):
        name, fault = _tried(file, view.device)
    _forget_bytes(file)
    state.keep(TRIED, (state.kept(TRIED) or 0) + 1)  # a new widget, which holds no file
    state.keep(FAULT, fault)
    if not fault:
        state.keep(GOOD, (state.kept(GOOD) or 0) + 1)
        state.change(checkpoint=name)
    state.hear()
    st.rerun()


def _tried(file: UploadedFile, device: str) -> tuple[str, str]:
    """The name of the checkpoint in a zip, or why there is none."""
    name = ""
    try:
        name = uploads.bring(file, file.name)
        cache.checkpoint(name, device)
    except ValueError as fault:
        uploads.drop(name)
        return "", str(fault).replace(f"{uploads.shown(name)}/", f"{file.name[-90:]}: ")
    except OSError as fault:
        uploads.drop(name)
        return "", f"{file.name[-90:]} cannot be unpacked ({fault.strerror or type(fault).__name__})."
    return name, ""


def _forget_bytes(file: UploadedFile) -> None:
    """Frees what Streamlit holds of a file: it would keep it as long as the session."""
    from streamlit import runtime
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    with contextlib.suppress(AttributeError, KeyError):
        if runtime.exists() and (context := get_script_run_ctx()):
            runtime.get_instance().uploaded_file_mgr.remove_file(context.session_id, file.file_id)


def _take_away(name: str) -> None:
    """Goes back to the first checkpoint, and takes one away that was brought; a callback."""
    state.change(checkpoint=View.checkpoint)
    uploads.drop(name)
