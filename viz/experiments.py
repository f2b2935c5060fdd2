"""What becomes of an answer where something is hidden, padded, patched or switched off, computed once for all sessions of
the process.

Torch is imported here, on first use, as in `viz.cache`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from model.inference.request import Request
from viz import cache
from viz.keep import kept

if TYPE_CHECKING:
    from model.experiments.effects import Effect, HeadEffect
    from model.experiments.faithfulness import Scope, Tested
    from model.experiments.label_test import LabelTest
    from model.experiments.leaks import LeakReport
    from model.experiments.patching import Patching, Question
    from model.experiments.ready import Answer
    from model.experiments.target_padding import TargetPadding
    from model.readings.sentence_positions import Positions, Variant


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
    """What each edit of positions would do to a request without edits; see `model.readings.sentence_positions`."""
    from model.readings.sentence_positions import sides_of, try_variants, variants

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
    from model.experiments.ready import EXPERIMENTS

    for known in EXPERIMENTS:
        if known.name == name:
            return known.run(cache.checkpoint(request.checkpoint, device), request)
    names = ", ".join(known.name for known in EXPERIMENTS)
    raise ValueError(f"There is no experiment {name!r}; expected one of {names}.")
