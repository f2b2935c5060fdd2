"""Histories of checkpoints and runs, and the progress of a running training.

The page runs again when a running training has written something. The files of other histories are not watched."""

from __future__ import annotations

import html
import time
from collections.abc import Hashable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from model.workshop.training import run_listing
from model.workshop.training.history import History, is_running, load_checkpoint_history, load_run_history
from model.workshop.training.recording import Recording
from viz import cache
from viz.kit import site_texts
from viz.state import session, uploads
from viz.state.result_cache import cached
from viz.state.view import View

if TYPE_CHECKING:
    import numpy as np

    from viz.page_context import PageContext

MAX_BYTES = cache.MAX_BYTES // 4
Stamp = tuple[tuple[int, int], ...]


def places() -> dict[str, tuple[Path, bool]]:
    """The folder of each history by its name, and whether it is that of a run: checkpoints first, as they are offered."""
    folders = {name: (place, False) for name, place in cache.checkpoint_folders().items()}
    for name, place in cache.read_recently(run_listing.find_runs).items():
        folders[name if name not in folders else _beside(name, place)] = (place, True)
    return folders


def _beside(name: str, place: Path) -> str:
    """What a run is called that has the name of a checkpoint."""
    return f"{name} ({place.parent.name})"


def namesakes(name: str) -> list[str]:
    """The run that has the name of a checkpoint whose history is offered, by what it is called beside it."""
    run = cache.read_recently(run_listing.find_runs).get(name)
    known = places()
    return [each for each in [run and _beside(name, run)] if each and each in known and not known[name][1]]


def differs(name: str, run: str) -> str:
    """Returns the difference of a run to the checkpoint of its name; empty if both have the same steps."""
    of_checkpoint, of_run = (history(each).history for each in (name, run))
    if of_run.is_running:
        return "which goes on now"
    saved, own = (_steps(each) for each in (of_checkpoint, of_run))
    if saved == own:
        return ""
    parts = ("the steps of its log", "its validations", "the sentences of its recording")
    others = [what for what, mine, theirs in zip(parts, saved, own, strict=True) if mine != theirs]
    return f"and {' and '.join(others)} are not those that the checkpoint kept"


def _steps(history: History) -> tuple[object, ...]:
    """The steps of its log and of its validations, and what was recorded at which."""
    recording = history.recording
    log, validations = (tuple(entry["step"] for entry in each) for each in (history.steps, history.validations))
    return log, validations, recording and (recording.steps, tuple(each.name for each in recording.sentences))


def chosen(view: View) -> str:
    """The name of the history that a view looks at: of its run, else of its checkpoint."""
    return view.run or view.checkpoint


@dataclass(frozen=True)
class OpenHistory:
    """A history as it is now. `stamp` is that of its files, which tells it from a later one."""

    name: str
    place: Path
    is_run: bool
    history: History
    stamp: Stamp

    @property
    def key(self) -> tuple[Hashable, ...]:
        """Identifies the history in a cache."""
        return self.name, self.stamp, self.history.is_running

    @property
    def recording_key(self) -> tuple[Hashable, ...]:
        """Identifies the recording in a cache; lines of the log do not change it."""
        return self.name, run_listing.recording_stamps(self.stamp)

    @property
    def recording(self) -> Recording:
        assert self.history.recording is not None
        return self.history.recording


def open_history(context: PageContext) -> OpenHistory:
    """Returns the history that a context looks at. Raises ValueError for an unknown name, and for a model in memory."""
    if context.is_shared or context.view.run:
        return history(chosen(context.view))
    if context.loaded.folder is None:
        raise ValueError("This checkpoint is in memory only, without the history of a training.")
    return _open(context.view.checkpoint, Path(context.loaded.folder), False)


def find_history(context: PageContext) -> OpenHistory | None:
    """Returns the history that a context looks at, or None for an unknown name."""
    try:
        return open_history(context)
    except ValueError:
        return None


def history(name: str) -> OpenHistory:
    """Returns the history of a name. Raises ValueError with one sentence for an unknown name."""
    known = places()
    if name not in known:
        raise ValueError(
            f"There is no run {name[:60]!r} here: choose another one, or name its folder by RUNS when the lab is started."
        )
    return _open(name, *known[name])


def _open(name: str, place: Path, is_run: bool) -> OpenHistory:
    """Reads the files of a checkpoint at most every two seconds, for all visitors; those of a run in each call."""
    stamp = run_listing.file_stamps(place) if is_run else cache.read_recently(run_listing.file_stamps, place)
    loaded = _history(str(place), uploads.display_name(name), is_run, stamp)
    if is_run:
        loaded = replace(loaded, is_running=is_running(place, loaded))
    return OpenHistory(name, place, is_run, loaded, stamp)


def _loaded(path: Path) -> Recording:
    """A recording, read once for as long as its file stays as it is: the log beside it grows every few seconds."""
    status = path.stat()
    return _recording(str(path), (status.st_mtime_ns, status.st_size))


@cached(MAX_BYTES, getsizeof=lambda history: history.nbytes + 1, replace_on="stamp")
def _recording(path: str, stamp: tuple[int, int]) -> Recording:
    return Recording.load(Path(path))


@cached(MAX_BYTES, getsizeof=lambda history: history.nbytes + 1, replace_on="stamp")
def _history(place: str, name: str, is_run: bool, stamp: Stamp) -> History:
    loaded = (load_run_history if is_run else load_checkpoint_history)(Path(place), name, _loaded)
    if (
        loaded.recording is None
        or loaded.recording.sentences[0].target_tokens
        or loaded.recording.sentences[0].source_tokens
    ):
        return loaded
    return _with_tokens(loaded, Path(place) / "checkpoint" if is_run else Path(place))


def _with_tokens(loaded: History, place: Path) -> History:
    """Older recordings have ids alone: the tokens are those of the vocabulary beside them; ids where it cannot be read."""
    from model.text.tokenizer import Tokenizer

    sides = {}
    for side in ("source", "target"):
        own = place / f"tokenizer.{side}.json"
        try:
            sides[side] = Tokenizer.load(own if own.exists() else place / "tokenizer.json").pieces
        except (OSError, ValueError):
            sides[side] = lambda ids: tuple(map(str, ids))
    recording = loaded.recording
    assert recording is not None
    try:
        sentences = tuple(
            replace(s, source_tokens=tuple(sides["source"](s.source)), target_tokens=tuple(sides["target"](s.target)))
            for s in recording.sentences
        )
    except ValueError:  # ids of another vocabulary
        return replace(
            loaded, notices=(*loaded.notices, f"The tokens of {loaded.name}'s recording are not those of its vocabulary.")
        )
    return replace(loaded, recording=replace(recording, sentences=sentences))


def scores(opened: OpenHistory, kind: str, metric: str) -> np.ndarray:
    """Returns a metric of every head at every recorded step: [N,L,H]; see `model.workshop.training.recording`."""
    return _scores(opened.recording_key, kind, metric, opened.recording)


@cached(256, ignore=("recording",))
def _scores(key: tuple[Hashable, ...], kind: str, metric: str, recording: Recording) -> np.ndarray:
    from model.workshop.training.recording import head_scores as compute

    return compute(recording, kind, metric)


def nearest(steps: tuple[int, ...], wanted: int | None, is_running: bool = False) -> int:
    """Returns the place of the nearest recorded step. If none is wanted: the first, in a running training the last."""
    if wanted is None:
        return len(steps) - 1 if is_running else 0
    return min(range(len(steps)), key=lambda n: abs(steps[n] - wanted))


EVERY = "4s"  # how often its files are looked at: at their times and sizes alone


def sign(name: str, seen: Stamp) -> None:
    """How far the run of a name is, and when it last wrote. Once its files are no longer those that the page was drawn of
    (`seen`), or it goes on no more, the whole page is run."""
    st.fragment(run_every=EVERY)(_watch)(name, seen)


def _watch(name: str, seen: Stamp) -> None:
    try:
        latest = history(name)
    except ValueError:
        _again()
    if not latest.history.is_running or latest.stamp != seen:
        _again()
    progress = latest.history.progress
    far = "It has begun: the first line of its log comes after the first steps." if progress is None else progress.describe()
    site_texts.write(
        f'<p class="lab-training-now" aria-live="off"><i>Live</i> {html.escape(far)} '
        f"<small>{describe_age(time.time() - run_listing.last_change(latest.stamp))}</small></p>"
    )


def _again() -> None:
    """The whole page; the browser may not have heard of the last link yet."""
    session.mark_user_event()
    st.rerun()


def describe_age(seconds: float) -> str:
    """Returns the time since the last write, as a sentence."""
    if seconds < 5:
        return "Written just now."
    if seconds < 90:
        return f"Written {round(seconds)} seconds ago."
    return f"Written {round(seconds / 60)} minutes ago."
