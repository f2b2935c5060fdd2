"""The context of one run of a page, on the server, in an exported file and in a notebook."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from model.config import END
from model.readings.heads.head_maps import step_links
from viz import cache, theme
from viz.examples import token_of
from viz.state.result_cache import kept_with
from viz.state.view import View

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis
    from model.inference.request import Request
    from model.trace import Site, Trace


_kept_step_links = kept_with(step_links)  # of a trace, by step
Place = AbstractContextManager[object]
END_OF_PAGE: Place = nullcontext()


@dataclass(frozen=True)
class Places:
    """The places of a page's notes and of its body."""

    notes: Place = END_OF_PAGE
    body: Place = END_OF_PAGE


@dataclass(frozen=True)
class LecturePlaces(Places):
    """The places in lecture mode, with a bar for controls at the top."""

    bar: Place = END_OF_PAGE


@dataclass(frozen=True)
class PageContext:
    """Everything that a page draws from: view, checkpoint, request and analysis, theme and places."""

    view: View  # clamped to its checkpoint, and on a page to its steps
    loaded: Checkpoint
    request: Request
    recall: Callable[[], Analysis]  # a function, since widgets keep this record between runs and must not keep the arrays
    skipped_edits: tuple[tuple[str, str], ...] = ()  # code and reason of impossible edits
    faults: tuple[str, ...] = ()  # a sentence for each fault of the link and each clamped value
    mode: theme.Mode = "light"
    places: Places | None = None  # on a page of the server
    is_shared: bool = True  # the caches of the server have results of this checkpoint
    opening_step: int = 0
    is_opening: bool = False  # the view had no step

    @property
    def has_checkpoint(self) -> bool:
        return self.loaded is not None

    @property
    def analysis(self) -> Analysis:
        return self.recall()

    @property
    def layers(self) -> int:
        """The layers that can be chosen: those of the larger stack."""
        return _count_layers(self.loaded)


class AnalysisReference:
    """A weak reference to an analysis, which computes it again after eviction."""

    def __init__(self, request: Request, device: str, analysis: Analysis) -> None:
        self._request, self._device, self._analysis = request, device, weakref.ref(analysis)

    def __call__(self) -> Analysis:
        return self._analysis() or cache.analyse(self._request, self._device)


def without_checkpoint(view: View, mode: theme.Mode, places: Places) -> PageContext:
    """Returns the context of panels that need neither sentence nor checkpoint."""
    nothing: Any = None
    return PageContext(view, nothing, nothing, nothing, mode=mode, places=places)


def _count_layers(loaded: Checkpoint) -> int:
    return max(loaded.config.encoder_layers, loaded.config.decoder_layers)


def fit(
    view: View, loaded: Checkpoint, steps: int | None = None, step_name: str = "step", first: int = 1
) -> tuple[View, tuple[str, ...]]:
    """Clamps a view to its checkpoint, and to the steps of its text if they are known; arguments as in `View.fit`."""
    size, config = loaded.target_tokenizer.size, loaded.config
    return _fit(view, _count_layers(loaded), config.heads, size, config.kinds, steps, step_name, first)


@lru_cache(256)
def _fit(view: View, *limits: Any) -> tuple[View, tuple[str, ...]]:
    return view.fit(*limits)


@lru_cache(256)
def _request(view: View) -> Request:
    return view.request()


def build(view: View) -> PageContext:
    """Loads the checkpoint, clamps the view and analyses the request. Raises ValueError with one sentence."""
    cache.refresh(view.checkpoint)
    loaded = cache.checkpoint(view.checkpoint, view.device)
    view, faults = fit(view, loaded)
    request, aside = cache.fit_request(_request(view), view.device)
    if view.second.strip() and not request.second_sentence:
        faults = (*faults, "This checkpoint reads one sentence. The second one is left out.")
    analysis = cache.analyse(request, view.device)
    if request.path and (analysis.tree is None or analysis.tree.find(request.path) is None):
        faults = (*faults, "The chosen path is not in this tree. The best one is shown.")
        view = view.with_fields(path=())
    recall = AnalysisReference(request, view.device, analysis)
    opening, is_opening = opening_step(analysis, loaded), view.step is None
    if is_opening:
        view = view.at_step(opening)
    faults = (*faults, *(reason for _, reason in aside))
    return PageContext(view, loaded, request, recall, aside, faults, opening_step=opening, is_opening=is_opening)


def at_a_step(context: PageContext, steps: int) -> PageContext:
    """Returns the context with a view at one of these steps: its own, or the opening step."""
    view = context.view
    if view.step is None:
        view = view.at_step(opening_step(context.analysis, context.loaded))
    return dataclasses.replace(context, view=view.within(steps))


def opening_step(analysis: Analysis, loaded: Checkpoint) -> int:
    """Returns the step of a view without one, from 0: the token that the example is about, else the least probable token.

    Edits do not count. Without a decoder: the first blank, else the first word.
    """
    trace = (analysis.baseline or analysis).trace
    if trace.outputs is None:
        from model.inference.source_reading import blank_positions  # imports torch

        words = (n for n, token in enumerate(trace.step_axis.ids) if token > END)
        return next(iter(blank_positions(analysis, loaded)), next(words, 0))
    begin, labels = analysis.prompt_length, trace.outputs.labels
    shown = token_of(analysis.request.source)
    return labels.index(shown, begin) if shown in labels[begin:] else least_sure_step(analysis.baseline or analysis)


def least_sure_step(analysis: Analysis) -> int:
    """Returns the step, from 0, whose written token is least probable. `</s>` counts only if nothing else was written."""
    trace, begin = analysis.trace, analysis.prompt_length
    labels = trace.outputs.labels
    written = [n for n in range(begin, len(labels)) if trace.outputs.ids[n] != END] or [min(begin, len(labels) - 1)]
    return min(written, key=lambda n: trace.token_log_probs[n])


def query_of(view: View, trace: Trace, site: Site) -> int:
    """Returns the query of a view at a site, from 0, which may not exist.

    In the encoder it is the chosen source token, else the word that cross-attention looks at most at the view's step, on
    average over all heads. Without a decoder it is then the step.
    """
    if site.spec.query_side == "target" or (view.token is None and trace.outputs is None):
        return view.step
    if view.token is not None:
        return view.token
    (link,) = _kept_step_links(trace, view.step)
    return link.word or 0
