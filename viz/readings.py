"""What is read off an analysis or off a checkpoint's weights, computed once for all sessions of the process.

Torch is imported here, on first use, as in `viz.cache`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from model.inference.request import Request
from viz import cache
from viz.keep import kept

if TYPE_CHECKING:
    import numpy as np

    from model.readings.analogies import Analogy
    from model.readings.direct_logits import DirectLogits
    from model.readings.key_values import KeyValues
    from model.readings.logit_lens import Lens
    from model.readings.neighbours import Neighbour, Side, Survey
    from model.readings.other_patterns import OtherPatterns
    from model.readings.position_numbers import PositionNumbers
    from model.readings.scaling import Scaling
    from model.readings.score_writers import ScoreWriters
    from model.readings.sentence_positions import SentencePositions
    from model.readings.unfold import Unfolded
    from model.trace import Site


@kept(512)
def value_norms(request: Request, device: str) -> dict[Site, np.ndarray]:
    """The norm of every head's value of every key after W_O; see `model.readings.contributions`."""
    from model.readings.contributions import value_norms as compute

    return compute(cache.checkpoint(request.checkpoint, device), cache.analyse(request, device))


@kept(256)
def unfold(request: Request, device: str, site: Site, head: int, query: int) -> Unfolded:
    """One query of one head, stage by stage; see `model.readings.unfold`."""
    from model.readings.unfold import unfold as compute

    return compute(cache.checkpoint(request.checkpoint, device), cache.analyse(request, device), site, head, query)


@kept(512)
def score_writers(request: Request, device: str, site: Site, head: int, query: int, key: int) -> ScoreWriters:
    """One score of a head, split over who wrote what asks and what answers; see `model.readings.score_writers`."""
    from model.readings.score_writers import score_writers as compute

    return compute(cache.checkpoint(request.checkpoint, device), cache.analyse(request, device), site, head, query, key)


@kept(512)
def scaling(request: Request, device: str, site: Site) -> Scaling:
    """The heads of a site with the division by sqrt(d_k) and without; see `model.readings.scaling`."""
    from model.readings.scaling import of_site as compute

    return compute(cache.checkpoint(request.checkpoint, device), cache.analyse(request, device), site)


@kept(64)
def other_patterns(request: Request, device: str, site: Site, width: int) -> OtherPatterns:
    """What linear attention and a window would look at; see `model.readings.other_patterns`."""
    from model.readings.other_patterns import other_patterns as compute

    return compute(cache.checkpoint(request.checkpoint, device), cache.analyse(request, device), site, width)


@kept(128)
def key_values(request: Request, device: str) -> KeyValues:
    """What every layer keeps of the text so far, and what that saves; see `model.readings.key_values`."""
    from model.readings.key_values import key_values as compute

    return compute(cache.checkpoint(request.checkpoint, device), cache.analyse(request, device))


@kept(256)
def random_scaling(keys: int, width: int) -> Scaling:
    """The same of random vectors over so many keys, a given width among those that are drawn."""
    from model.readings.scaling import WIDTHS, drawn

    return drawn(keys, widths=tuple(sorted({*WIDTHS, width})))


@kept(cache.MAX_BYTES // 2, weigh=lambda lens: lens.nbytes)
def lens(request: Request, device: str) -> Lens:
    """What each decoder layer would say, RequestError where that is too large; see `model.readings.logit_lens`."""
    from model.readings.logit_lens import lens as compute

    return compute(cache.checkpoint(request.checkpoint, device), cache.analyse(request, device), cache.MAX_BYTES)


@kept(512)
def direct_logits(request: Request, device: str, step: int, token: int, rival: int) -> DirectLogits:
    """What wrote the difference of two logits at a step (from 0), or of two labels; see `model.readings.choices`."""
    from model.readings.choices import of_choice as compute

    return compute(cache.checkpoint(request.checkpoint, device), cache.analyse(request, device), step, token, rival)


@kept(1024)
def neighbours(name: str, device: str, token: int, side: Side) -> dict[str, tuple[Neighbour, ...]]:
    """The nearest tokens in each language that shares a table; see `model.readings.neighbours`."""
    from model.readings.neighbours import nearest as compute

    return compute(cache.checkpoint(name, device), token, side)


@kept(16)
def analogy(name: str, device: str) -> Analogy:
    """The famous sum of words in a checkpoint's table; see `model.readings.analogies`."""
    from model.readings.analogies import analogy as compute

    return compute(cache.checkpoint(name, device))


@kept(16)
def survey(name: str, device: str, side: Side) -> Survey | None:
    """How far a joint table keeps its languages apart; see `model.readings.neighbours`."""
    from model.readings.neighbours import survey as compute

    return compute(cache.checkpoint(name, device), side)


@kept(64)
def position_numbers(scheme: str, count: int, width: int, base: float, shift: int) -> PositionNumbers:
    """Sinusoidal or rotary positions, measured; see `model.readings.position_numbers`."""
    from model.readings.position_numbers import scheme_numbers as compute

    return compute(scheme, count, width, base, shift)


@kept(64)
def learned_numbers(name: str, device: str, side: str, count: int, shift: int) -> PositionNumbers:
    """The learned positions of one side of a checkpoint, measured; see `model.readings.position_numbers`."""
    from model.readings.position_numbers import learned_numbers as compute
    from model.readings.sentence_positions import learned_table

    loaded = cache.checkpoint(name, device)
    return compute(learned_table(loaded, side), count, shift, loaded.seen and loaded.seen.lengths[side].longest)


@kept(256)
def sentence_positions(request: Request, device: str, side: str) -> SentencePositions:
    """What positions do to the likeness of a sentence's tokens; see `model.readings.sentence_positions`."""
    from model.readings.sentence_positions import sentence_positions as compute

    return compute(cache.checkpoint(request.checkpoint, device), cache.analyse(request, device), side)
