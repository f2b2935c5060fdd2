"""Loaded checkpoints and computed analyses, shared by all sessions of the process.

Torch is imported here, on first use, so that the page's first text does not wait for it. Results are frozen values with
read-only arrays; they are kept up to a number of bytes, and two visitors who ask the same at once share one computation.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from model.inference.request import Request
from model.task import TASKS, TRANSLATES, Task, task_in, task_of
from viz.state import uploads
from viz.state.result_cache import MAX_KEPT, forget, kept
from viz.state.view import View, unedited

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.export import Exported
    from model.inference.analysis import Analysis

MAX_BYTES = MAX_KEPT
MAX_CHECKPOINTS = 4
LONG_TEXT = 800  # characters times hypotheses: sixteen words with a beam of 8


def checkpoint(name: str, device: str) -> Checkpoint:
    """A loaded checkpoint; CheckpointError or ValueError as `model.load`. What another session has brought is not there."""
    _check_owner(name)
    return _loaded(name, device)


def holds(loaded: Checkpoint, device: str) -> bool:
    """True for a checkpoint that is kept here under its name: what is kept of that name is of this one."""
    return _loaded.known(loaded.name, device) is loaded


def _check_owner(name: str) -> None:
    """CheckpointError for what was brought, and not by this session: also where it is kept already."""
    if uploads.is_uploaded(name) and name not in checkpoint_names():
        from model.checkpoint_files import CheckpointError

        raise CheckpointError(uploads.unknown(name))


@kept(MAX_CHECKPOINTS, ledger=None)
def _loaded(name: str, device: str) -> Checkpoint:
    from model.checkpoint import CheckpointError, find

    if name not in (known := checkpoint_names()):  # asked here, where it is used: what a browser sends may be anything
        raise CheckpointError(f"There is no checkpoint {name[:60]!r}; expected one of {', '.join(known) or '(none found)'}.")
    import torch

    from model.inference.analyse import load

    torch.set_num_threads(1)  # best for single sentences, and fair where many visitors compute at once
    place = uploads.mine().get(name) or find(name)
    try:
        loaded = load(str(place), device)
        return dataclasses.replace(loaded, name=name, folder=None if uploads.is_uploaded(name) else loaded.folder)
    except ValueError as fault:  # a visitor need not know where the lab lies
        raise type(fault)(str(fault).replace(f"{place}/", f"{uploads.shown(name)}/")) from fault
    except Exception as fault:
        raise CheckpointError(f"The checkpoint {name!r} cannot be read ({type(fault).__name__}).") from fault


def _is_long(request: Request, device: str) -> bool:
    """True where an analysis takes many times what a usual sentence takes: by its characters and the width of the search."""
    characters = sum(map(len, (request.source, request.second, *request.other_sentences)))
    return characters * request.decoding.paths > LONG_TEXT


@kept(MAX_BYTES, weigh=lambda analysis: analysis.nbytes, is_long=_is_long)
def analyse(request: Request, device: str) -> Analysis:
    """The analysis of a request; RequestError, CheckpointError or ValueError where there can be none, or one too large to be
    kept."""
    from model.inference.analyse import analyse as compute

    known = analyse(unedited(request), device) if request.intervention else None
    return compute(checkpoint(request.checkpoint, device), request, MAX_BYTES // 2, known).without_scores()


@kept(MAX_BYTES // 8, weigh=lambda found: found.nbytes, is_long=_is_long)
def exported(request: Request, device: str) -> Exported:
    """All of an analysis, with the scores that none here keeps, for a file; see `model.export`."""
    from model.export import Exported
    from model.inference.analyse import analyse as compute

    loaded = checkpoint(request.checkpoint, device)
    return Exported.of(loaded, compute(loaded, request, MAX_BYTES // 2))


_stamps: dict[str, tuple[tuple[str, int, int], ...]] = {}


def refresh(name: str) -> None:
    """Forgets all that was computed where the files of a checkpoint have changed since they were last looked at."""
    from model.io.folders import survey

    place = survey().places.get(name)
    if place is None:
        return
    try:
        stamp = tuple((str(f), s.st_mtime_ns, s.st_size) for f in sorted(place.glob("*")) if (s := f.stat()))
    except OSError:  # a file went away while it was looked at: the next look will see
        return
    if _stamps.setdefault(name, stamp) != stamp:
        _stamps[name] = stamp
        forget()


def checkpoint_names() -> tuple[str, ...]:
    """Checkpoints that can be chosen; those that this run's session has brought come last."""
    from model.io.folders import survey

    return (*survey().places, *uploads.mine())


def unusable() -> tuple[str, ...]:
    """What of CHECKPOINTS holds no checkpoint, a sentence each."""
    from model.io.folders import survey

    return tuple(each.told() for each in survey().unusable)


def devices() -> tuple[str, ...]:
    """Devices of this machine, the preferred one first."""
    from model.device import available

    return available()


def languages(name: str, device: str) -> tuple[str, str]:
    """What a checkpoint translates from and to, without waiting for one that is not loaded yet."""
    loaded = _at_hand(name, device)
    return loaded.languages if loaded else ("Sentence", "Translation")


def task(name: str, device: str) -> Task:
    """What a checkpoint does with a text, without waiting for one that is not loaded yet: then its config.json says it, and
    where that cannot be read it is taken for a translator."""
    if loaded := _at_hand(name, device):
        return task_of(loaded.config.kinds, loaded.config.classes)
    family, classes = _declared(name, "family"), _declared(name, "classes")
    return (
        task_in(family, classes if isinstance(classes, list) else ())
        if isinstance(family, str) and family in TASKS
        else TRANSLATES
    )


def reads_two(name: str, device: str) -> bool:
    """Whether a checkpoint tells of two sentences whether the second follows the first; without waiting, as `task`."""
    loaded = _at_hand(name, device)
    return loaded.config.follows if loaded else _declared(name, "follows") is True


def _declared(name: str, field: str) -> Any:
    """What config.json has under a name of the model's; None where it has nothing, or cannot be read."""
    from model.io.folders import CONFIG, survey

    place = {**survey().places, **uploads.mine()}.get(name)
    try:
        return json.loads((place / CONFIG).read_text(encoding="utf-8"))["model"].get(field) if place else None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def declared_languages(name: str) -> tuple[str, str] | tuple[None, None]:
    """The names that a checkpoint has for its languages, read without loading it; None where it names none."""
    from model.io.files import MEGABYTE, FileError, read_json
    from model.io.folders import CONFIG, survey

    place = uploads.mine().get(name) or survey().places.get(name)
    try:
        found = read_json(place / CONFIG, MEGABYTE).get("languages") if place else None
        source, target = found or ("source", "target")
    except (FileError, OSError, AttributeError, TypeError, ValueError):  # its loading says what is wrong with it
        return None, None
    unnamed = (("source", "target"), ("Text", "Text"))  # as they are called where nobody named them
    named = isinstance(source, str) and isinstance(target, str) and (source, target) not in unnamed
    return (source, target) if named else (None, None)


def usual_length(name: str, device: str) -> int | None:
    """How many tokens nearly all training sentences had at most; None where that is not known, or not without waiting."""
    loaded = _at_hand(name, device)
    return loaded.seen.lengths["source"].most if loaded and loaded.seen else None


def _at_hand(name: str, device: str) -> Checkpoint | None:
    """A checkpoint that is loaded already."""
    return None if uploads.is_uploaded(name) and name not in uploads.mine() else _loaded.known(name, device)


def fitted(request: Request, device: str) -> tuple[Request, tuple[tuple[str, str], ...]]:
    """The request with the edits that can be made on its sentence and checkpoint; code and reason of those set aside."""
    from model.inference.source_reading import donor_of, reads_two, source_ids
    from model.inference.targets import padding, sources

    loaded = checkpoint(request.checkpoint, device)
    if request.second and not reads_two(loaded.config):
        request = dataclasses.replace(request, second="")
    texts = ((request.source, request.second), *((text, "") for text in request.other_sentences))
    length = max(len(source_ids(loaded, *both)) for both in texts) + padding(loaded, request)
    edit, donor = request.intervention, None
    if edit.takes and edit.donor and (rows := sources(loaded, request, padding(loaded, request))):
        donor = donor_of(loaded, edit, rows[0])
    made, aside = edit.fitted(loaded.config, length, bool(loaded.means), donor and donor.partners)
    return dataclasses.replace(request, intervention=made), aside


@dataclass(frozen=True)
class PageData:
    """A view with all that a page draws from it."""

    view: View  # fitted to its checkpoint
    loaded: Checkpoint
    request: Request
    recall: Callable[[], Analysis]  # widgets hold this record between runs, and must not hold the arrays
    layers: int
    aside: tuple[tuple[str, str], ...]  # code and reason of edits that cannot be made here
    faults: tuple[str, ...]  # what of the view does not fit, a sentence each

    @property
    def analysis(self) -> Analysis:
        return self.recall()


class _Kept:
    """An analysis while it is kept, or in use; after that it is computed again."""

    def __init__(self, request: Request, device: str, analysis: Analysis) -> None:
        self._request, self._device, self._analysis = request, device, weakref.ref(analysis)

    def __call__(self) -> Analysis:
        return self._analysis() or analyse(self._request, self._device)


def page_data(view: View) -> PageData:
    """Loads, fits and analyses; ValueError, one sentence, where it cannot be done."""
    _check_owner(view.checkpoint)
    refresh(view.checkpoint)
    loaded = checkpoint(view.checkpoint, view.device)
    layers = max(loaded.config.encoder_layers, loaded.config.decoder_layers)
    view, faults = view.fit(layers, loaded.config.heads, loaded.target_tokenizer.size, loaded.config.kinds)
    request, aside = fitted(view.request(), view.device)
    if view.second.strip() and not request.second:
        faults = (*faults, "This checkpoint reads one sentence: the second one is left out.")
    analysis = analyse(request, view.device)
    if request.path and (analysis.tree is None or analysis.tree.find(request.path) is None):
        faults = (*faults, "The path that was chosen is not in this tree: the best one is shown.")
        view = dataclasses.replace(view, path=())
    recall = _Kept(request, view.device, analysis)
    return PageData(view, loaded, request, recall, layers, aside, (*faults, *(reason for _, reason in aside)))


def is_ready() -> bool:
    """True once torch is imported: what follows will not take seconds."""
    return "torch" in sys.modules
