"""Schemes of positions: which one the view asks for, whose table it is, and how long the training sentences were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from model.config import FAMILIES, SCHEMES
from model.trace import SITE_KINDS, site_kind
from viz import cache, computations
from viz.kit import button_groups
from viz.kit.button_groups import ButtonGroup
from viz.state.page_fields import MAX_PE_WIDTH
from viz.state.view import View

if TYPE_CHECKING:
    from model.readings.positions.position_numbers import PositionNumbers
    from model.text.corpus_stats import Lengths

NO_TABLE = "No checkpoint here has learned positions. Sinusoidal and rotary ones need none, because they are formulas."
NO_POSITIONS = "Without positions nothing is added and nothing is rotated: there is nothing to draw."
NO_CHARTS = "The scheme {} only adds a number to each score. The charts here show encodings and rotations."


@dataclass(frozen=True)
class Scheme:
    """Measured positions. A learned table belongs to a side of a checkpoint; it has its own width, and no base."""

    name: str
    count: int
    shift: int
    width: int = 0
    base: float = 0.0
    checkpoint: str = ""
    device: str = ""
    side: str = ""
    longest: int | None = None  # tokens of the longest training sentence, if known

    def numbers(self) -> PositionNumbers:
        if SCHEMES[self.name].has_table:
            return computations.learned_numbers(self.checkpoint, self.device, self.side, self.count, self.shift)
        return computations.position_numbers(self.name, self.count, self.width, self.base, self.shift)


def scheme_of(view: View) -> Scheme | str:
    """Returns the positions that the view asks for, or the sentence that says why there are none."""
    from model.network.positions import position_scheme
    from model.readings.positions.sentence_positions import learned_checkpoint

    view = with_scheme(view)
    acts = position_scheme(view.scheme)
    if not (acts.has_encoding or acts.has_rotation):
        return NO_CHARTS.format(view.scheme) if acts.has_score_bias else NO_POSITIONS
    if not SCHEMES[view.scheme].has_table:
        longest = lengths.max_length if (lengths := training_lengths(view)) else None
        width = view.pe_width or own_width(view)
        return Scheme(view.scheme, view.pe_count, view.pe_shift, width, view.pe_base, longest=longest)
    name = learned_checkpoint(view.checkpoint)
    if name is None:
        return NO_TABLE
    try:
        if name != view.checkpoint:
            cache.refresh(name)
        scheme = Scheme(view.scheme, view.pe_count, view.pe_shift, checkpoint=name, device=view.device, side=side_of(view))
        scheme.numbers()
    except ValueError as fault:
        return str(fault)
    return scheme


def with_scheme(view: View) -> View:
    """Returns the view with the name of its scheme: by default that of the checkpoint."""
    return view.with_fields(scheme=view.scheme or own_scheme(view))


def own_scheme(view: View) -> str:
    """Returns the scheme of the checkpoint; the paper's if the checkpoint cannot be read."""
    try:
        return cache.checkpoint(view.checkpoint, view.device).config.positions
    except ValueError:
        return next(iter(SCHEMES))


def own_width(view: View) -> int:
    """Returns the width of a formula in the checkpoint: d_model, or a head's width if it turns queries and keys.

    If the checkpoint cannot be read, it is that of the paper's base model, 64 or 512.
    """
    scheme = SCHEMES[view.scheme]
    try:
        config = cache.checkpoint(view.checkpoint, view.device).config
    except ValueError:
        return scheme.width(512, 64)
    width = scheme.width(config.d_model, config.head_dim)
    return max(2, min(MAX_PE_WIDTH, width - width % 2))


def training_lengths(view: View, learned: str = "") -> Lengths | None:
    """Returns the lengths of the training sentences: of the table's side in the checkpoint `learned`, else of the longer
    side of the view's checkpoint. The result is None if they are unknown or the checkpoint cannot be read."""
    try:
        stats = cache.checkpoint(learned or view.checkpoint, view.device).corpus_stats
    except ValueError:
        return None
    if stats is None:
        return None
    return stats.lengths[side_of(view)] if learned else max(stats.lengths.values(), key=lambda each: each.max_length)


def side_of(view: View) -> str:
    """Returns the side of the tokens and of the learned table: the source, or with the decoder the target."""
    own = FAMILIES[cache.task(view.checkpoint, view.device).family]
    return site_kind(view.kind if view.kind in own else own[0]).key_side


def side_choice(view: View) -> list[ButtonGroup]:
    """Returns the choice of a side; none if the checkpoint has one side."""
    own = FAMILIES[cache.task(view.checkpoint, view.device).family]
    kinds = {kind: of.query_side for kind, of in SITE_KINDS.items() if of.is_self and kind in own}
    side = side_of(view)
    options = {kind: name.capitalize() for kind, name in kinds.items()}
    chosen = next((kind for kind, name in kinds.items() if name == side), None)
    return [button_groups.choice("Side", "kind", options, chosen)] if len(kinds) > 1 else []
