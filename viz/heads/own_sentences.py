"""The visitor's own sentences on Heads: how they are entered, and their measurement, which waits in the long queue."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from model.config import MAX_CHARACTERS
from viz import cache
from viz.kit import site_texts
from viz.state import session
from viz.state.result_cache import cached
from viz.state.session_data import data, store_from_event

if TYPE_CHECKING:
    from model.experiments.head_survey import MeasuredHeads
    from model.experiments.sweep import Sentence
    from model.trace import Site
    from viz.page_context import PageContext

MAX_SENTENCES = 500
MAX_TYPED = 200_000  # characters
MAX_UPLOAD_MB = 1
HEIGHT = 150  # px of the field
NAME = "your sentences"
PLACEHOLDER = "One sentence per line; or a sentence, a tab and its translation."
Progress = Callable[[float], None]


def read_sentences(text: str, has_target: bool) -> dict[Sentence, int]:
    """Returns the distinct sentences of a text and the line of each, from 1; with a tab and `has_target`, pairs.

    Raises ValueError with one sentence.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    found: dict[Sentence, int] = {}
    for number, line in enumerate(lines, 1):
        source, _, target = (part.strip() for part in line.partition("\t"))
        if not line.strip():
            continue
        if not source:
            raise ValueError(f"Line {number} begins with a tab; expected a sentence before it.")
        if max(len(source), len(target)) > MAX_CHARACTERS:
            raise ValueError(f"Line {number} has more than {MAX_CHARACTERS:,} characters; expected one sentence a line.")
        found.setdefault((source, target) if target and has_target else source, number)
    if not found:
        raise ValueError("There is no sentence; type or paste one sentence a line.")
    if len(found) > MAX_SENTENCES:
        raise ValueError(f"These are {len(found):,} sentences; expected at most {MAX_SENTENCES}. Leave some out.")
    return found


def source_of(sentence: Sentence) -> str:
    return sentence if isinstance(sentence, str) else sentence[0]


@cached(8, ignore=("progress",), is_long=lambda *arguments: True)
def measured(
    name: str, device: str, sentences: tuple[Sentence, ...], progress: Progress = lambda share: None
) -> MeasuredHeads:
    """Returns all heads of a checkpoint over sentences, from the cache of the server or computed."""
    from model.experiments.head_survey import measure_heads

    progress(0.0)  # the bar hides the former result
    return measure_heads(cache.checkpoint(name, device), sentences, progress, name=NAME)


@cached(64, ignore=("progress",), is_long=lambda *arguments: True)
def effect(
    name: str, device: str, sentences: tuple[Sentence, ...], site: Site, head: int, progress: Progress = lambda share: None
) -> np.ndarray:
    """Returns the change of the log-probability of each measured sentence without one head."""
    from model.experiments.head_survey import effect_of_head

    progress(0.0)
    return effect_of_head(cache.checkpoint(name, device), measured(name, device, sentences), site, head, progress)


@cached(64)
def count_usable(name: str, device: str, sentences: tuple[Sentence, ...]) -> int:
    """Returns the number of sentences within the text limit of a checkpoint."""
    from model.experiments.head_survey import is_within_limit

    return sum(is_within_limit(cache.checkpoint(name, device), each) for each in sentences)


def label(context: PageContext) -> str:
    """Returns the name of the visitor's sentences on a button, with the number of those that are measured."""
    count = count_usable(context.view.checkpoint, context.view.device, tuple(data().head_texts.sentences))
    return "Your sentence" if count == 1 else f"Your {count:,} sentences" if count else "Your sentences"


def of_session() -> dict[Sentence, int]:
    """Returns the sentences that the visitor has given, and their lines; none while the stored corpus is shown."""
    own = data().head_texts
    return own.sentences if own.is_shown else {}


def draw(context: PageContext) -> None:
    """Draws the field, the upload and the button."""
    own = data().head_texts
    has_target = context.loaded.config.family == "encoder-decoder"
    st.text_area("Your sentences", own.typed, HEIGHT, MAX_TYPED, key="head texts", placeholder=PLACEHOLDER)
    file = st.file_uploader(
        "or a text file",
        type=["txt", "tsv"],
        max_upload_size=MAX_UPLOAD_MB,
        key=f"head file {own.tried}",
        on_change=session.mark_user_event,
    )
    site_texts.note(f"At most {MAX_SENTENCES} sentences. They stay in this visit.")

    def measure() -> None:
        from model.experiments.head_survey import none_within_limit

        typed = str(st.session_state.get("head texts", ""))[:MAX_TYPED]
        try:
            content = _decoded(file.getvalue()) if file is not None else typed
            sentences = read_sentences(content, has_target)
            if not count_usable(context.view.checkpoint, context.view.device, tuple(sentences)):
                raise ValueError(none_within_limit(context.loaded))
        except ValueError as fault:
            store_from_event(own, typed=typed, fault=str(fault))
            return
        store_from_event(own, typed=typed, fault="", sentences=sentences, is_shown=True, tried=own.tried + 1)

    st.button("Measure", key="measure heads", type="primary", on_click=measure)
    if own.fault:
        site_texts.fault(own.fault)


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("The file is no text in UTF-8; save it as UTF-8 and choose it again.") from None
