"""What is read off an analysis or off a checkpoint's weights, computed once for all sessions of the process.

Torch is imported here, on first use, as in `viz.cache`.

What becomes of an answer where something is hidden, padded, patched or switched off, computed once for all sessions of
the process.

Torch is imported here, on first use, as in `viz.cache`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from model.inference.request import Request
from viz import cache
from viz.state.result_cache import kept

if TYPE_CHECKING:
    import numpy as np

    from model.experiments.effects import Effect, HeadEffect
    from model.experiments.faithfulness import Scope, Tested
    from model.experiments.label_test import LabelTest
    from model.experiments.leaks import LeakReport
    from model.experiments.patching import Patching, Question
    from model.experiments.ready_questions import Answer
    from model.experiments.target_padding import TargetPadding
    from model.readings.logits.direct_logits import DirectLogits
    from model.readings.logits.logit_lens import Lens
    from model.readings.logits.score_writers import ScoreWriters
    from model.readings.positions.position_numbers import PositionNumbers
    from model.readings.positions.sentence_positions import Positions, SentencePositions, Variant
    from model.readings.stages.cache_sizes import KeyValues
    from model.readings.stages.other_patterns import OtherPatterns
    from model.readings.stages.scaling import Scaling
    from model.readings.stages.unfold import Unfolded
    from model.readings.tokens.neighbours import Analogy, Neighbour, Side, Survey
    from model.trace import Site


@kept(512)
def value_norms(request: Request, device: str) -> dict[Site, np.ndarray]:
    """The norm of every head's value of every key after W_O; see `model.readings.tokens.token_attribution`."""
    from model.readings.tokens.token_attribution import value_norms as compute

    return compute(cache.checkpoint(request.checkpoint, device), cache.analyse(request, device))


@kept(256)
def unfold(request: Request, device: str, site: Site, head: int, query: int) -> Unfolded:
    """One query of one head, stage by stage; see `model.readings.stages.unfold`."""
    from model.readings.stages.unfold import unfold as compute

    return compute(cache.checkpoint(request.checkpoint, device), cache.analyse(request, device), site, head, query)


@kept(512)
def score_writers(request: Request, device: str, site: Site, head: int, query: int, key: int) -> ScoreWriters:
    """One score of a head, split over who wrote what asks and what answers; see `model.readings.logits.score_writers`."""
    from model.readings.logits.score_writers import score_writers as compute

    return compute(cache.checkpoint(request.checkpoint, device), cache.analyse(request, device), site, head, query, key)


@kept(512)
def scaling(request: Request, device: str, site: Site) -> Scaling:
    """The heads of a site with the division by sqrt(d_k) and without; see `model.readings.stages.scaling`."""
    from model.readings.stages.scaling import of_site as compute

    return compute(cache.checkpoint(request.checkpoint, device), cache.analyse(request, device), site)


@kept(64)
def other_patterns(request: Request, device: str, site: Site, width: int) -> OtherPatterns:
    """What linear attention and a window would look at; see `model.readings.stages.other_patterns`."""
    from model.readings.stages.other_patterns import other_patterns as compute

    return compute(cache.checkpoint(request.checkpoint, device), cache.analyse(request, device), site, width)


@kept(128)
def key_values(request: Request, device: str) -> KeyValues:
    """What every layer keeps of the text so far, and what that saves; see `model.readings.stages.cache_sizes`."""
    from model.readings.stages.cache_sizes import key_values as compute

    return compute(cache.checkpoint(request.checkpoint, device), cache.analyse(request, device))


@kept(256)
def random_scaling(keys: int, width: int) -> Scaling:
    """The same of random vectors over so many keys, a given width among those that are drawn."""
    from model.readings.stages.scaling import WIDTHS, drawn

    return drawn(keys, widths=tuple(sorted({*WIDTHS, width})))


@kept(cache.MAX_BYTES // 2, weigh=lambda lens: lens.nbytes)
def lens(request: Request, device: str) -> Lens:
    """What each decoder layer would say, RequestError where that is too large; see `model.readings.logits.logit_lens`."""
    from model.readings.logits.logit_lens import lens as compute

    return compute(cache.checkpoint(request.checkpoint, device), cache.analyse(request, device), cache.MAX_BYTES)


@kept(512)
def direct_logits(request: Request, device: str, step: int, token: int, rival: int) -> DirectLogits:
    """What wrote the difference of two logits at a step (from 0), or of two labels; see `choice_logits`."""
    from model.readings.logits.choice_logits import of_choice as compute

    return compute(cache.checkpoint(request.checkpoint, device), cache.analyse(request, device), step, token, rival)


@kept(1024)
def neighbours(name: str, device: str, token: int, side: Side) -> dict[str, tuple[Neighbour, ...]]:
    """The nearest tokens in each language that shares a table; see `model.readings.tokens.neighbours`."""
    from model.readings.tokens.neighbours import nearest as compute

    return compute(cache.checkpoint(name, device), token, side)


@kept(16)
def analogy(name: str, device: str) -> Analogy:
    """The famous sum of words in a checkpoint's table; see `model.readings.tokens.neighbours`."""
    from model.readings.tokens.neighbours import analogy as compute

    return compute(cache.checkpoint(name, device))


@kept(16)
def survey(name: str, device: str, side: Side) -> Survey | None:
    """How far a joint table keeps its languages apart; see `model.readings.tokens.neighbours`."""
    from model.readings.tokens.neighbours import survey as compute

    return compute(cache.checkpoint(name, device), side)


@kept(64)
def position_numbers(scheme: str, count: int, width: int, base: float, shift: int) -> PositionNumbers:
    """Sinusoidal or rotary positions, measured; see `model.readings.positions.position_numbers`."""
    from model.readings.positions.position_numbers import scheme_numbers as compute

    return compute(scheme, count, width, base, shift)


@kept(64)
def learned_numbers(name: str, device: str, side: str, count: int, shift: int) -> PositionNumbers:
    """The learned positions of one side of a checkpoint, measured; see `model.readings.positions.position_numbers`."""
    from model.readings.positions.position_numbers import learned_numbers as compute
    from model.readings.positions.sentence_positions import learned_table

    loaded = cache.checkpoint(name, device)
    return compute(learned_table(loaded, side), count, shift, loaded.seen and loaded.seen.lengths[side].longest)


@kept(256)
def sentence_positions(request: Request, device: str, side: str) -> SentencePositions:
    """What positions do to the likeness of a sentence's tokens; see `model.readings.positions.sentence_positions`."""
    from model.readings.positions.sentence_positions import sentence_positions as compute

    return compute(cache.checkpoint(request.checkpoint, device), cache.analyse(request, device), side)


LONG_TO_HIDE = 200  # characters whose words are hidden one by one: forty words, which are some 2,000 tokens


def _hides_much(request: Request, *args: Any) -> bool:
    """True where hiding each word reads thousands of tokens: their number grows with the square of the text."""
    return len(request.source) > LONG_TO_HIDE


@kept(512, is_long=_hides_much)
def label_test(request: Request, device: str, label: int, rival: int) -> LabelTest:
    """What hiding each word does to the label of a text, and what other readings say; see `model.experiments.label_test`."""
    from model.experiments.label_test import label_test as compute

    return compute(cache.checkpoint(request.checkpoint, device), cache.analyse(request, device), label, rival)


@kept(256, beside=("progress",), is_long=lambda *args: True)
def faithfulness(
    request: Request, device: str, step: int, rival: int, scope: Scope, progress: Callable[[float], None]
) -> Tested:
    """Which reading of the source words is true of a step (from 0), or of the whole target; see
    `model.experiments.faithfulness`. `progress` hears the share that is done, where it is not kept already."""
    from model.experiments.faithfulness import tested as compute

    return compute(
        cache.checkpoint(request.checkpoint, device), cache.analyse(request, device), step, rival, scope, progress
    )


@kept(1024)
def position_variants(request: Request, device: str, shift: int) -> tuple[tuple[Positions, Variant | ValueError], ...]:
    """What each edit of positions would do to a request without edits; see `model.readings.positions.sentence_positions`."""
    from model.readings.positions.sentence_positions import sides_of, try_variants, variants

    edits = variants(shift, sides_of(cache.analyse(request, device).trace))
    found = try_variants(cache.checkpoint(request.checkpoint, device), request, cache.analyse(request, device), edits)
    return tuple(zip(edits, found, strict=True))


def _target(request: Request, device: str) -> tuple[int, ...] | None:
    """The target of a request without edits, which the page has decoded already; None for a model without a decoder."""
    outputs = cache.analyse(request, device).trace.outputs
    return None if outputs is None else outputs.ids


@kept(2048)
def mask_effects(request: Request, device: str) -> dict[str, Effect]:
    """What each mask switch would do to a request without edits; see `model.experiments.effects`."""
    from model.experiments.effects import mask_effects as compute

    return compute(cache.checkpoint(request.checkpoint, device), request, _target(request, device))


@kept(cache.MAX_BYTES // 8, weigh=lambda found: found.nbytes if found else 1)
def target_padding(request: Request, device: str) -> TargetPadding | None:
    """The target with the padding of its batch; see `model.experiments.target_padding`."""
    from model.experiments.target_padding import target_padding as compute

    return compute(cache.checkpoint(request.checkpoint, device), cache.analyse(request, device))


@kept(512, beside=("progress",), is_long=lambda *args: True)
def head_effects(request: Request, device: str, progress: Callable[[float], None]) -> tuple[HeadEffect, ...]:
    """What it costs to switch each head off; `progress` hears the share that is done, where it is not kept already."""
    from model.experiments.effects import head_effects as compute

    return compute(cache.checkpoint(request.checkpoint, device), request, progress, _target(request, device))


@kept(256)
def patch_question(request: Request, other: Request, device: str, step: int | None) -> Question:
    """What patching measures between two requests without edits, at a step from 0; see `model.experiments.patching`."""
    from model.experiments.patching import ask

    ids = cache.analyse(request, device).trace.source
    targets = [_target(each, device) or () for each in (request, other)]
    return ask(cache.checkpoint(request.checkpoint, device), ids.ids if ids else (), other.source, *targets, step)


@kept(64, beside=("progress",), is_long=lambda *args: True)
def patching(request: Request, other: Request, device: str, step: int | None, progress: Callable[[float], None]) -> Patching:
    """What every single patch does; `progress` hears the share that is done, where it is not kept already."""
    from model.experiments.patching import patch_all

    question = patch_question(request, other, device, step)
    return patch_all(cache.checkpoint(request.checkpoint, device), question, progress)


@kept(256, is_long=lambda *args: True)
def leak_test(request: Request, device: str) -> LeakReport:
    """Whether anything sees what it must not; see `model.experiments.leaks`."""
    from model.experiments.leaks import leak_test as compute

    return compute(cache.checkpoint(request.checkpoint, device), request)


@kept(256, is_long=lambda *args: True)
def answer(name: str, request: Request, device: str) -> Answer:
    """The measured answer of a ready experiment; ValueError where there is none of this name."""
    from model.experiments.ready_questions import EXPERIMENTS

    for known in EXPERIMENTS:
        if known.name == name:
            return known.run(cache.checkpoint(request.checkpoint, device), request)
    names = ", ".join(known.name for known in EXPERIMENTS)
    raise ValueError(f"There is no experiment {name!r}; expected one of {names}.")
