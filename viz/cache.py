"""Loaded checkpoints and analyses, shared by all sessions of the process.

Torch is imported on first use, so that the first text of a page appears at once. Results are frozen, with read-only arrays.
The cache has a limit in bytes, and concurrent equal requests share one computation.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import threading
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cachetools import TTLCache

from model.inference.request import Request
from model.task import TASKS, TRANSLATION, Task, task_of_family, task_of_kinds
from viz.state import uploads
from viz.state.result_cache import MAX_CACHE_BYTES, cached, clear_all
from viz.state.view import without_edits

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.export import Exported
    from model.inference.analysis import Analysis
    from model.io.folders import CheckpointList

MAX_BYTES = MAX_CACHE_BYTES
MAX_CHECKPOINTS = 4
LONG_TEXT = 800  # characters times hypotheses: sixteen words with a beam of 8
READ_SECONDS = 2  # s after which folders are read again
T = TypeVar("T")

_recent: TTLCache[Hashable, Any] = TTLCache(1000, READ_SECONDS)
_reading = threading.Lock()


def read_recently(read: Callable[..., T], *args: Hashable) -> T:
    """Returns `read(*args)`, at most READ_SECONDS old.

    All sessions share the results. Without them, each run would read the same folders several times.
    """
    key = (read, *args)
    with _reading, contextlib.suppress(KeyError):  # a test with `in` may find an entry that expires before it is read
        return _recent[key]
    result = read(*args)
    with _reading:
        _recent[key] = result
    return result


def checkpoint(name: str, device: str) -> Checkpoint:
    """Returns a loaded checkpoint. Raises as `model.load`, and CheckpointError for an upload of another session."""
    _check_owner(name)
    return _loaded(name, device)


def is_current(loaded: Checkpoint, device: str) -> bool:
    """True if this checkpoint is the cached one of its name, so cached results of the name belong to it."""
    return _loaded.known(loaded.name, device) is loaded


def _check_owner(name: str) -> None:
    """Raises CheckpointError for an upload of another session, even if it is cached."""
    if uploads.is_uploaded(name) and name not in checkpoint_names():
        from model.checkpoint_files import CheckpointError

        raise CheckpointError(uploads.unknown_message(name))


@cached(MAX_CHECKPOINTS, ledger=None)
def _loaded(name: str, device: str) -> Checkpoint:
    from model.checkpoint import CheckpointError, find_folder

    if name not in (known := checkpoint_names()):  # checked here, since a browser may send anything
        raise CheckpointError(f"There is no checkpoint {name[:60]!r}; expected one of {', '.join(known) or '(none found)'}.")
    import torch

    from model.inference.analyse import load

    torch.set_num_threads(1)  # best for single sentences and fair among visitors
    place = uploads.session_uploads().get(name) or find_folder(name)
    try:
        loaded = load(str(place), device)
        return dataclasses.replace(loaded, name=name, folder=None if uploads.is_uploaded(name) else loaded.folder)
    except ValueError as fault:  # hides the server's folders
        raise type(fault)(str(fault).replace(f"{place}/", f"{uploads.display_name(name)}/")) from fault
    except Exception as fault:
        raise CheckpointError(f"The checkpoint {name!r} cannot be read ({type(fault).__name__}).") from fault


def _is_long(request: Request, device: str) -> bool:
    """True for long work, by the characters of the text and the width of the search."""
    characters = sum(map(len, (request.source, request.second_sentence, *request.other_sentences)))
    return characters * request.decoding.paths > LONG_TEXT


@cached(MAX_BYTES, getsizeof=lambda analysis: analysis.nbytes, is_long=_is_long)
def analyse(request: Request, device: str) -> Analysis:
    """Returns the analysis of a request. Raises RequestError, CheckpointError or ValueError, also for one too large."""
    from model.inference.analyse import analyse as compute

    known = analyse(without_edits(request), device) if request.intervention else None
    return compute(checkpoint(request.checkpoint, device), request, MAX_BYTES // 2, known).without_scores()


@cached(MAX_BYTES // 8, getsizeof=lambda each: each.nbytes, is_long=_is_long)
def exported(request: Request, device: str) -> Exported:
    """Returns an analysis with its scores, which the cache leaves out, for a file; see `model.export`."""
    from model.export import Exported
    from model.inference.analyse import analyse as compute

    loaded = checkpoint(request.checkpoint, device)
    return Exported.of(loaded, compute(loaded, request, MAX_BYTES // 2))


_stamps: dict[str, tuple[tuple[str, int, int], ...]] = {}


def refresh(name: str) -> None:
    """Empties all caches if the files of a checkpoint have changed since the last call."""
    place = _list_checkpoints().folders.get(name)
    stamp = place and read_recently(_stamp, place)
    if stamp and _stamps.setdefault(name, stamp) != stamp:
        _stamps[name] = stamp
        clear_all()


def _stamp(place: Path) -> tuple[tuple[str, int, int], ...] | None:
    """Returns name, time of change and bytes of each file in a folder; None if a file disappears meanwhile."""
    try:
        return tuple((str(f), s.st_mtime_ns, s.st_size) for f in sorted(place.glob("*")) if (s := f.stat()))
    except OSError:
        return None


def _list_checkpoints() -> CheckpointList:
    from model.io.folders import list_checkpoints

    return read_recently(list_checkpoints)


def checkpoint_folders() -> dict[str, Path]:
    """Returns the folder of each available checkpoint; uploads of this session come last."""
    return {**_list_checkpoints().folders, **uploads.session_uploads()}


def _folder(name: str) -> Path | None:
    """Returns the folder of an available checkpoint, or None."""
    return _list_checkpoints().folders.get(name) or uploads.session_uploads().get(name)


def checkpoint_names() -> tuple[str, ...]:
    """Returns the available checkpoints; uploads of this session come last."""
    return tuple(checkpoint_folders())


def unusable() -> tuple[str, ...]:
    """Returns a sentence for each folder of CHECKPOINTS without a checkpoint."""
    return tuple(each.message() for each in _list_checkpoints().unusable)


def devices() -> tuple[str, ...]:
    """Returns the devices of this machine, the preferred one first."""
    from model.device import available_devices

    return available_devices()


def languages(name: str, device: str) -> tuple[str, str]:
    """Returns the source and target language of a checkpoint; generic names while it is not loaded."""
    loaded = _if_loaded(name, device)
    return loaded.languages if loaded else ("Sentence", "Translation")


def task(name: str, device: str) -> Task:
    """Returns the task of a checkpoint, from config.json while it is not loaded; translation if that is unreadable."""
    if loaded := _if_loaded(name, device):
        return task_of_kinds(loaded.config.kinds, loaded.config.classes, loaded.languages)
    family, classes = _declared(name, "family"), _declared(name, "classes")
    return (
        task_of_family(family, classes if isinstance(classes, list) else (), declared_languages(name))
        if isinstance(family, str) and family in TASKS
        else TRANSLATION
    )


def reads_two(name: str, device: str) -> bool:
    """True if a checkpoint reads two sentences (next-sentence prediction); reads config.json as `task` does."""
    loaded = _if_loaded(name, device)
    return loaded.config.follows if loaded else _declared(name, "follows") is True


def _declared(name: str, field: str) -> Any:
    """Returns a value of the model section of config.json, or None."""
    from model.io.folders import read_model_entry

    place = _folder(name)
    return read_recently(read_model_entry, place).get(field) if place else None


def declared_languages(name: str) -> tuple[str, str] | tuple[None, None]:
    """Returns the languages of a checkpoint without loading it; None if it names none."""
    place = _folder(name)
    return read_recently(_read_languages, place) if place else (None, None)


def small_task(name: str) -> str:
    """Returns the task of a small checkpoint (`train-small`) from its metrics.json; empty for another checkpoint."""
    place = _folder(name)
    return _read_small_task(place) if place else ""


@cached(1000, ledger=None)
def _read_small_task(place: Path) -> str:
    from model.io.files import MEGABYTE, FileError, read_json
    from model.workshop.small.small_tasks import TASKS

    try:
        task = read_json(place / "metrics.json", 4 * MEGABYTE)["training"]["task"]
    except (FileError, OSError, AttributeError, TypeError, KeyError, ValueError):  # loading reports the fault
        return ""
    return task if isinstance(task, str) and task in TASKS else ""


def _read_languages(place: Path) -> tuple[str, str] | tuple[None, None]:
    from model.io.files import MEGABYTE, FileError, read_json
    from model.io.folders import CONFIG

    try:
        source, target = read_json(place / CONFIG, MEGABYTE).get("languages") or ("source", "target")
    except (FileError, OSError, AttributeError, TypeError, ValueError):  # loading reports the fault
        return None, None
    unnamed = (("source", "target"), ("Text", "Text"))  # defaults of unnamed languages
    named = isinstance(source, str) and isinstance(target, str) and (source, target) not in unnamed
    return (source, target) if named else (None, None)


def usual_length(name: str, device: str) -> int | None:
    """Returns the usual maximum of tokens in training; None if unknown or not loaded."""
    loaded = _if_loaded(name, device)
    return loaded.corpus_stats.lengths["source"].usual_length if loaded and loaded.corpus_stats else None


def _if_loaded(name: str, device: str) -> Checkpoint | None:
    """Returns a checkpoint if it is loaded, else None."""
    return None if uploads.is_uploaded(name) and name not in uploads.session_uploads() else _loaded.known(name, device)


@cached(1000, ledger=None)
def fit_request(request: Request, device: str) -> tuple[Request, tuple[tuple[str, str], ...]]:
    """Returns the request with its possible edits, and code and reason of each skipped edit."""
    from model.inference.source_reading import build_donor, can_read_pairs, source_ids
    from model.inference.targets import build_source_rows, count_padding

    loaded = checkpoint(request.checkpoint, device)
    if request.second_sentence and not can_read_pairs(loaded.config):
        request = dataclasses.replace(request, second_sentence="")
    texts = ((request.source, request.second_sentence), *((text, "") for text in request.other_sentences))
    length = max(len(source_ids(loaded, *both)) for both in texts) + count_padding(loaded, request)
    edit, donor = request.intervention, None
    if edit.has_patches and edit.donor and (rows := build_source_rows(loaded, request, count_padding(loaded, request))):
        donor = build_donor(loaded, edit, rows[0])
    possible, aside = edit.possible_and_rejected(loaded.config, length, bool(loaded.mean_z), donor and donor.partners)
    return dataclasses.replace(request, intervention=possible), aside


def is_ready() -> bool:
    """True once torch is imported."""
    return "torch" in sys.modules
