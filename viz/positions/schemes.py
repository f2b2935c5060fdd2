"""Which positions the view asks for, whose they are, and how long the sentences of their training were."""

from __future__ import annotations

from typing import TYPE_CHECKING

from model.config import FAMILIES, SCHEMES
from model.trace import site_kind
from viz import cache
from viz.page_fields import MAX_PE_WIDTH
from viz.positions.drawn import Scheme
from viz.shared import texts
from viz.view import View

if TYPE_CHECKING:
    from model.text.seen import Lengths


def side_of(view: View) -> str:
    """Whose tokens and whose learned table are shown: the source's, or the target's with the decoder."""
    own = FAMILIES[cache.task(view.checkpoint, view.device).family]
    return site_kind(view.kind if view.kind in own else own[0]).keys


def of_formula(view: View) -> Scheme:
    """The positions of a formula, as the view asks for them."""
    known = {"longest": lengths.longest} if (lengths := lengths_seen(view)) else {}
    return Scheme(view.scheme, view.pe_count, view.pe_shift, view.pe_width or own_width(view), view.pe_base, **known)


def own_scheme(view: View) -> str:
    """The checkpoint's own positions; the paper's where it cannot be read."""
    try:
        return cache.checkpoint(view.checkpoint, view.device).config.positions
    except ValueError:
        return next(iter(SCHEMES))


def own_width(view: View) -> int:
    """How wide the positions of a formula would be in the checkpoint: a head's width where they turn queries and keys, else
    d_model. That of the paper's base model, 64 or 512, where the checkpoint cannot be read."""
    scheme = SCHEMES[view.scheme]
    try:
        config = cache.checkpoint(view.checkpoint, view.device).config
    except ValueError:
        return scheme.width(512, 64)
    width = scheme.width(config.d_model, config.head_dim)
    return max(2, min(MAX_PE_WIDTH, width - width % 2))


def lengths_seen(view: View, learned: str = "") -> Lengths | None:
    """How long the training sentences were: of the side of the checkpoint whose table is shown, else of the longer side of
    the one that answers; None where it does not say so, or cannot be loaded."""
    try:
        seen = cache.checkpoint(learned or view.checkpoint, view.device).seen
    except ValueError:
        return None
    if seen is None:
        return None
    return seen.lengths[side_of(view)] if learned else max(seen.lengths.values(), key=lambda known: known.longest)


def learned(view: View) -> Scheme | None:
    """The learned table that is shown, once it is measured; None, and a sentence, where there is none."""
    from model.readings.sentence_positions import learned_checkpoint

    name = learned_checkpoint(view.checkpoint)
    if name is None:
        texts.note("No checkpoint here has learned positions; sinusoidal and rotary ones need none, they are formulas.")
        return None
    try:
        if name != view.checkpoint:
            cache.refresh(name)
        scheme = Scheme(view.scheme, view.pe_count, view.pe_shift, checkpoint=name, device=view.device, side=side_of(view))
        scheme.numbers()
    except ValueError as fault:
        texts.fault(str(fault))
        return None
    return scheme


def followed(view: View, width: int) -> int:
    """The pair that is followed, or the last where the width has fewer."""
    return min(view.pe_pair, width // 2 - 1)
