"""Cached readings and experiments of all pages, shared by all sessions of the process.

A `Reading` names a function of `model`. The cache, the copied Python and prefetch follow from it. Torch is imported on first
use, as in `viz.cache`.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from model.export.code import Code
from model.inference.request import Request
from model.io.package_names import module_name
from viz import cache
from viz.state.result_cache import cached
from viz.state.view import without_edits

if TYPE_CHECKING:
    from model.experiments.effects import Effect
    from model.experiments.leak_report import LeakReport
    from model.experiments.ready_questions import Answer
    from model.readings.logits.direct_logits import Lens
    from model.readings.positions.position_numbers import PositionNumbers
    from model.readings.positions.sentence_positions import Positions, Variant
    from model.readings.stages.scaling import Scaling
    from model.readings.tokens.neighbours import Analogy, NeighbourSurvey, Side
    from viz.page_context import PageContext


@dataclass(frozen=True)
class Reading:
    """A function of `model` with the arguments checkpoint, analysis, others and, if it reports, `progress`.

    Fields:
        path: the dotted path of the function in the repository.
        note: a comment behind the line of copied Python.
        is_long: True for work of the long queue, or a function of the request that returns it.
        has_progress: True if the last argument gets the share done.
        ignores_edits: True if requests that differ only in their edits have one result.
    """

    path: str
    note: str = ""
    is_long: bool | Callable[[Request], bool] = False
    has_progress: bool = False
    ignores_edits: bool = False

    def __call__(self, *arguments: Hashable) -> Call:
        return Call(self, arguments)


@dataclass(frozen=True)
class Call:
    """A reading with its arguments after checkpoint and analysis."""

    reading: Reading
    arguments: tuple[Hashable, ...] = ()

    def compute(self, loaded: Any, analysis: Any, progress: Callable[[float], None]) -> Any:
        more = (progress,) if self.reading.has_progress else ()
        return pkgutil.resolve_name(module_name(self.reading.path))(loaded, analysis, *self.arguments, *more)

    def add_to(self, code: Code) -> None:
        """Adds the line of Python that computes `result`."""
        module, _, name = self.reading.path.rpartition(".")
        arguments = "".join(f", {code.literal(each)}" for each in self.arguments)
        line = f"result = {name}(checkpoint, analysis{arguments})"
        code.add(line, self.reading.note, **{module.replace(".", "__"): (name,)})


def run(call: Call, context: PageContext, progress: Callable[[float], None] = lambda share: None) -> Any:
    """Returns the result of a call for a context: from the cache of the server, else computed."""
    if context.is_shared:
        return result(request_of(call, context), context.view.device, call, progress)
    return call.compute(context.loaded, context.analysis, progress)


def _is_long(request: Request, device: str, call: Call, *progress: Callable[[float], None]) -> bool:
    is_long = call.reading.is_long
    return is_long if isinstance(is_long, bool) else is_long(request)


def is_known(call: Call, context: PageContext) -> bool:
    """True if the cache of the server has the result of a call."""
    return context.is_shared and result.known(request_of(call, context), context.view.device, call, None) is not None


def request_of(call: Call, context: PageContext) -> Request:
    """Returns the request that a result is cached for."""
    return without_edits(context.request) if call.reading.ignores_edits else context.request


@cached(4096, ignore=("progress",), is_long=_is_long)
def result(request: Request, device: str, call: Call, progress: Callable[[float], None] = lambda share: None) -> Any:
    """Returns the cached result of a call for a request. `progress` gets the share done, if not cached."""
    return call.compute(cache.checkpoint(request.checkpoint, device), cache.analyse(request, device), progress)


DIRECT_LOGITS = Reading(
    "model.readings.logits.direct_logits.choice_logits", "step from 0, ids of the token and its rival; of a label 0"
)
SENTENCE_POSITIONS = Reading("model.readings.positions.sentence_positions.sentence_positions", "cosines of the tokens")
MAX_SHORT_TEXT = 200  # characters: forty words, hidden one by one, are about 2,000 tokens
LABEL_TEST = Reading(
    "model.experiments.label_test.label_test",
    "numbers of the label and its rival",
    is_long=lambda request: len(request.source) > MAX_SHORT_TEXT,
)
CACHE_SIZES = Reading("model.experiments.caching.cache_sizes", "bytes after a step, from 1: result.nbytes(step)")
TARGET_PADDING = Reading("model.experiments.effects.target_padding", "the target with the padding of its batch")
VALUE_NORMS = Reading("model.readings.tokens.token_attribution.value_norms", "norms of values after W_O")
HEAD_EFFECTS = Reading("model.experiments.effects.effects_of_heads", "each head off alone", is_long=True, ignores_edits=True)
UNFOLD = Reading("model.readings.stages.unfold.unfold", "head and query from 0")
SCORE_WRITERS = Reading("model.readings.logits.score_writers.score_writers", "head, query and key from 0")
SCALING = Reading("model.readings.stages.scaling.site_scaling", "all heads of the layer")
OTHER_PATTERNS = Reading("model.readings.stages.layer_inputs.other_patterns", "all heads, and a window of that width")
LENS = Reading("model.readings.logits.direct_logits.lens")
SUBLAYER_LENS = Reading("model.readings.logits.direct_logits.sublayer_lens")
BLUEPRINT = Reading("model.readings.stages.blueprint.sentence_blueprint")
SENTENCE_WORDS = Reading("model.readings.tokens.sentence_tokens.sentence_words")
LOOK_UP = Reading("model.readings.tokens.sentence_tokens.look_up", "a word, or the token of a step from 0")
ROUTE = Reading(
    "model.experiments.routes.find_route",
    "step from 0, ids of the token and its rival",
    is_long=lambda request: len(request.source) > MAX_SHORT_TEXT,
    has_progress=True,
    ignores_edits=True,
)
PATCHING = Reading(
    "model.experiments.patching.patch_between",
    "the step from 0; None: where the translations part",
    is_long=True,
    has_progress=True,
    ignores_edits=True,
)
FAITHFULNESS = Reading(
    "model.experiments.faithfulness.faithfulness_test", "step from 0, id of the rival", is_long=True, has_progress=True
)


@cached(256)
def random_scaling(keys: int, width: int) -> Scaling:
    """Returns the scaling of random vectors over `keys` keys, for several widths and `width`."""
    from model.readings.stages.scaling import WIDTHS, simulate_scaling

    return simulate_scaling(keys, widths=tuple(sorted({*WIDTHS, width})))


@cached(cache.MAX_BYTES // 2, getsizeof=lambda lens: lens.nbytes)
def lens(request: Request, device: str, by_sublayer: bool = False) -> Lens:
    """Returns the logit lens of each layer, or of each sub-layer. Raises RequestError if it is too large."""
    from model.readings.logits import direct_logits

    compute = direct_logits.sublayer_lens if by_sublayer else direct_logits.lens
    return compute(cache.checkpoint(request.checkpoint, device), cache.analyse(request, device), cache.MAX_BYTES)


@cached(16)
def analogy(name: str, device: str) -> Analogy:
    """Returns the classic word analogy in a checkpoint's table."""
    from model.readings.tokens.neighbours import analogy as compute

    return compute(cache.checkpoint(name, device))


@cached(16)
def survey(name: str, device: str, side: Side) -> NeighbourSurvey | None:
    """Returns how far a joint table separates its languages."""
    from model.readings.tokens.neighbours import survey as compute

    return compute(cache.checkpoint(name, device), side)


@cached(64)
def position_numbers(scheme: str, count: int, width: int, base: float, shift: int) -> PositionNumbers:
    """Returns measurements of sinusoidal or rotary positions."""
    from model.readings.positions.position_numbers import scheme_numbers as compute

    return compute(scheme, count, width, base, shift)


@cached(64)
def learned_numbers(name: str, device: str, side: str, count: int, shift: int) -> PositionNumbers:
    """Returns measurements of the learned positions of one side of a checkpoint."""
    from model.readings.positions.position_numbers import learned_numbers as compute
    from model.readings.positions.sentence_positions import learned_table

    loaded = cache.checkpoint(name, device)
    return compute(
        learned_table(loaded, side), count, shift, loaded.corpus_stats and loaded.corpus_stats.lengths[side].max_length
    )


@cached(1024)
def position_variants(
    request: Request, device: str, edits: tuple[Positions, ...]
) -> tuple[tuple[Positions, Variant | ValueError], ...]:
    """Returns the effect of each of these edits of positions on a request without edits."""
    from model.readings.positions.sentence_positions import try_variants

    results = try_variants(cache.checkpoint(request.checkpoint, device), request, cache.analyse(request, device), edits)
    return tuple(zip(edits, results, strict=True))


def _target(request: Request, device: str) -> tuple[int, ...] | None:
    """Returns the target of a request without edits; None for a model without a decoder."""
    outputs = cache.analyse(request, device).trace.outputs
    return None if outputs is None else outputs.ids


@cached(2048)
def mask_effects(request: Request, device: str) -> dict[str, Effect]:
    """Returns the effect of each mask switch on a request without edits."""
    from model.experiments.effects import mask_effects as compute

    return compute(cache.checkpoint(request.checkpoint, device), request, _target(request, device))


@cached(256, is_long=lambda *args: True)
def leak_test(request: Request, device: str) -> LeakReport:
    """Returns the leak test of a request."""
    from model.experiments.leaks import leak_test as compute

    return compute(cache.checkpoint(request.checkpoint, device), request)


@cached(256, is_long=lambda *args: True)
def answer(name: str, request: Request, device: str) -> Answer:
    """Returns the measured answer of a ready experiment. Raises ValueError for an unknown name."""
    from model.experiments.ready_questions import EXPERIMENTS

    for known in EXPERIMENTS:
        if known.name == name:
            return known.run(cache.checkpoint(request.checkpoint, device), request)
    names = ", ".join(known.name for known in EXPERIMENTS)
    raise ValueError(f"There is no experiment {name!r}; expected one of {names}.")
