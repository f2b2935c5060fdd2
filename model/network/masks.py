"""Every mask is built here: bool, True = may attend, broadcastable to [B,1,T,S].

A query that may attend to nothing is allowed; `attention` gives it a pattern of zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..config import PAD, ModelConfig
from ..edits.intervention import BASELINE, Intervention
from ..edits.kinds import Edit
from ..trace import site_kind


@dataclass(frozen=True)
class Masks:
    """Who may attend to whom, for each kind of attention; None for one that the model does not have."""

    encoder: Tensor | None = None  # [B,1,1|S,S]
    decoder: Tensor | None = None  # [B,1,T,T]
    cross: Tensor | None = None  # [B,1,1,S]


def padding(ids: Tensor) -> Tensor:
    """Ids [B,S] to [B,1,1,S]: every key but `<pad>` may be attended to."""
    return (ids != PAD)[:, None, None, :]


def causal(queries: int, keys: int, device: torch.device | str = "cpu") -> Tensor:
    """[1,1,T,S]: a query sees itself and what is before it. The last query stands at the last key.

    Raises ValueError where there are more queries than keys.
    """
    return _distance(queries, keys, device) >= 0


def sliding_window(queries: int, keys: int, width: int | Tensor, device: torch.device | str = "cpu") -> Tensor:
    """[1,1,T,S]: |i - j| < width; together with `causal` it is 0 <= i - j < width. Widths [B,1,1,1] give [B,1,T,S].

    Raises ValueError for a width below 1.
    """
    if isinstance(width, int) and width < 1:
        raise ValueError(f"the window's width is {width}; expected at least 1, so that a query sees itself")
    return _distance(queries, keys, device).abs() < width


def ordered(length: int, is_causal: bool, width: int | None = None, device: torch.device | str = "cpu") -> Tensor:
    """[1,1,T,T] over a text without padding: causal or not, within a sliding window or not."""
    mask = sliding_window(length, length, length if width is None else width, device)
    return mask & causal(length, length, device) if is_causal else mask


def window_blocks(length: int, width: int, is_causal: bool, device: torch.device | str = "cpu") -> Tensor:
    """The sliding window of `ordered` cut into N blocks of W = `width` queries, [N,W,S]: the keys are those of the block
    before, of the same one and, unless causal, of the next. What lies beyond the text neither asks nor answers.

    Raises ValueError for a width below 1.
    """
    if width < 1:
        raise ValueError(f"the window's width is {width}; expected at least 1, so that a query sees itself")
    first = torch.arange(0, length, width, device=device)[:, None, None]  # [N,1,1]
    i = first + torch.arange(width, device=device)[:, None]  # [N,W,1]
    j = first - width + torch.arange((2 if is_causal else 3) * width, device=device)  # [N,1,S]
    near = (i - j).abs() < width
    return near & (i < length) & (j >= 0) & (j < length) & (i >= j if is_causal else near)


def _distance(queries: int, keys: int, device: torch.device | str) -> Tensor:
    """i - j for every query i and key j: [1,1,T,S]."""
    if queries > keys:
        raise ValueError(f"{queries} queries over {keys} keys; expected no more queries than keys")
    i = torch.arange(keys - queries, keys, device=device)
    j = torch.arange(keys, device=device)
    return (i[:, None] - j[None, :])[None, None]  # [1,1,T,S]


def encoder_mask(config: ModelConfig, source: Tensor, edits: Sequence[Intervention] = (BASELINE,)) -> Tensor:
    """Source ids [B,S] to [B,1,1,S], or [B,1,S,S] with a window. One intervention for all rows, or one a row."""
    mask = cross_mask(source, edits)  # [B,1,1,S]
    near = _near(source.size(1), source.size(1), config.window, edits, source)
    return mask if near is None else mask & near  # [B,1,S,S]


def cross_mask(source: Tensor, edits: Sequence[Intervention] = (BASELINE,)) -> Tensor:
    """Source ids [B,S] to [B,1,1,S]."""
    off = _rows([not e.padding_mask for e in edits], source)
    return padding(source) | off


def decoder_mask(
    config: ModelConfig, target: Tensor, edits: Sequence[Intervention] = (BASELINE,), queries: int | None = None
) -> Tensor:
    """Decoder input ids [B,S] to [B,1,T,S]; `queries` (default all) counts the last positions that ask. Without its padding
    mask a row sees its own `<pad>` as well, where the causal mask lets it."""
    keys = target.size(1)
    queries = keys if queries is None else queries
    off = _rows([not (e.causal_mask and config.causal) for e in edits], target)
    unpadded = _rows([not e.padding_mask for e in edits], target)
    mask = (padding(target) | unpadded) & (causal(queries, keys, target.device) | off)  # [B,1,T,S]
    near = _near(queries, keys, config.window, edits, target)
    return mask if near is None else mask & near


def _near(queries: int, keys: int, window: int | None, edits: Sequence[Intervention], ids: Tensor) -> Tensor | None:
    """The model's own window and those of the edits together, the narrower one, [1|B,1,T,S], or None."""
    if window is None and all(e.window is None for e in edits):
        return None
    widths = [min(w for w in (window, e.window, keys + queries) if w is not None) for e in edits]
    return sliding_window(queries, keys, _rows(widths, ids), ids.device)


def at_site(mask: Tensor, blocks: Sequence[tuple[slice, Edit]], sizes: tuple[int, int, int], start: int = 0) -> Tensor:
    """The mask of a site [B,1,1|T,S] without the cells that are blocked there: the same, or [B,H,T,S] of `sizes` B, H, T.

    Each block comes with the rows of the batch that it belongs to; the first query stands at position `start`.
    """
    if not blocks:
        return mask
    mask = mask.expand(*sizes, -1).clone()  # [B,H,T,S]
    for own, block in blocks:
        block.change_mask(mask[own], start)
    return mask


def no_op_blocks(masks: Masks, blocks: Sequence[Edit]) -> tuple[Edit, ...]:
    """Those of the blocks that close nothing: the masks [1,1,1|T,S] of one sentence forbid all that they name already."""

    def closes(block: Edit) -> bool:
        place = block.place
        queries = (masks.encoder if site_kind(place.kind).queries == "source" else masks.decoder).size(-1)
        before = getattr(masks, place.kind).expand(1, place.heads.stop or 1, queries, -1)  # [1,H,T,S]
        after = at_site(before, [(slice(None), block)], (1, before.size(1), queries))
        return not after.equal(before)

    return tuple(block for block in blocks if not closes(block))


def build(
    config: ModelConfig, source: Tensor | None, target: Tensor | None, edits: Sequence[Intervention] = (BASELINE,)
) -> Masks:
    """All masks for source ids [B,S] and decoder input ids [B,T], of which a family may lack one.

    Raises ValueError where the number of interventions is neither 1 nor B.
    """
    return Masks(
        encoder=None if source is None else encoder_mask(config, source, edits),
        decoder=None if target is None else decoder_mask(config, target, edits),
        cross=None if source is None or target is None else cross_mask(source, edits),
    )


def _rows(flags: Sequence[bool | int], ids: Tensor) -> Tensor:
    """One value for all rows or one a row, as [1|B,1,1,1]."""
    if len(flags) not in (1, ids.size(0)):
        raise ValueError(f"{len(flags)} interventions for {ids.size(0)} rows; expected 1 or {ids.size(0)}")
    return torch.tensor(flags, device=ids.device)[:, None, None, None]
