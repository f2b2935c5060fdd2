"""Builds every mask: bool, True = may attend, broadcastable to [B,1,T,S].

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
    """The mask of each kind of attention; None for a kind that the model lacks."""

    encoder: Tensor | None = None  # [B,1,1|S,S]
    decoder: Tensor | None = None  # [B,1,T,T]
    cross: Tensor | None = None  # [B,1,1,S]


def padding_mask(ids: Tensor) -> Tensor:
    """Returns [B,1,1,S] for ids [B,S]: True for every key but `<pad>`."""
    return (ids != PAD)[:, None, None, :]


def causal_mask(queries: int, keys: int, device: torch.device | str = "cpu") -> Tensor:
    """Returns the causal mask [1,1,T,S]; the last query is at the position of the last key.

    Raises ValueError where there are more queries than keys.
    """
    return _query_key_distances(queries, keys, device) >= 0


def sliding_window(queries: int, keys: int, width: int | Tensor, device: torch.device | str = "cpu") -> Tensor:
    """Returns |i - j| < width, [1,1,T,S]; with `causal` it is 0 <= i - j < width. Widths [B,1,1,1] give [B,1,T,S].

    Raises ValueError for a width below 1.
    """
    if isinstance(width, int) and width < 1:
        raise ValueError(f"the window's width is {width}; expected at least 1, so that a query sees itself")
    return _query_key_distances(queries, keys, device).abs() < width


def unpadded_mask(length: int, is_causal: bool, width: int | None = None, device: torch.device | str = "cpu") -> Tensor:
    """Returns the mask [1,1,T,T] of a text without padding, causal or not, with a sliding window or not."""
    mask = sliding_window(length, length, length if width is None else width, device)
    return mask & causal_mask(length, length, device) if is_causal else mask


def window_blocks(length: int, width: int, is_causal: bool, device: torch.device | str = "cpu") -> Tensor:
    """Returns the sliding window of `ordered` in N blocks of W = `width` queries, [N,W,S].

    The keys are those of the previous block, of the same block and, unless causal, of the next one. Positions outside the
    text are False as queries and as keys.

    Raises ValueError for a width below 1.
    """
    if width < 1:
        raise ValueError(f"the window's width is {width}; expected at least 1, so that a query sees itself")
    first = torch.arange(0, length, width, device=device)[:, None, None]  # [N,1,1]
    i = first + torch.arange(width, device=device)[:, None]  # [N,W,1]
    j = first - width + torch.arange((2 if is_causal else 3) * width, device=device)  # [N,1,S]
    near = (i - j).abs() < width
    return near & (i < length) & (j >= 0) & (j < length) & (i >= j if is_causal else near)


def _query_key_distances(queries: int, keys: int, device: torch.device | str) -> Tensor:
    """Returns i - j for every query i and key j, [1,1,T,S]."""
    if queries > keys:
        raise ValueError(f"{queries} queries over {keys} keys; expected no more queries than keys")
    i = torch.arange(keys - queries, keys, device=device)
    j = torch.arange(keys, device=device)
    return (i[:, None] - j[None, :])[None, None]  # [1,1,T,S]


def encoder_mask(config: ModelConfig, source: Tensor, edits: Sequence[Intervention] = (BASELINE,)) -> Tensor:
    """Returns [B,1,1,S] for source ids [B,S], or [B,1,S,S] with a window; `edits` has one entry, or one a row."""
    mask = cross_mask(source, edits)  # [B,1,1,S]
    near = _window_mask(source.size(1), source.size(1), config.window, edits, source)
    return mask if near is None else mask & near  # [B,1,S,S]


def cross_mask(source: Tensor, edits: Sequence[Intervention] = (BASELINE,)) -> Tensor:
    """Returns [B,1,1,S] for source ids [B,S]."""
    padding_off = _per_row([not e.padding_mask for e in edits], source)
    return padding_mask(source) | padding_off


def decoder_mask(
    config: ModelConfig, target: Tensor, edits: Sequence[Intervention] = (BASELINE,), queries: int | None = None
) -> Tensor:
    """Returns [B,1,T,S] for decoder input ids [B,S]; T is `queries`, the number of last positions (default all).

    Without the padding mask a row also sees its own `<pad>`, where the causal mask allows it.
    """
    keys = target.size(1)
    queries = keys if queries is None else queries
    causal_off = _per_row([not (e.causal_mask and config.causal) for e in edits], target)
    padding_off = _per_row([not e.padding_mask for e in edits], target)
    mask = (padding_mask(target) | padding_off) & (causal_mask(queries, keys, target.device) | causal_off)  # [B,1,T,S]
    near = _window_mask(queries, keys, config.window, edits, target)
    return mask if near is None else mask & near


def _window_mask(queries: int, keys: int, window: int | None, edits: Sequence[Intervention], ids: Tensor) -> Tensor | None:
    """Returns the narrower window of the config and of the edits, [1|B,1,T,S]; None without a window."""
    if window is None and all(e.window is None for e in edits):
        return None
    widths = [min(w for w in (window, e.window, keys + queries) if w is not None) for e in edits]
    return sliding_window(queries, keys, _per_row(widths, ids), ids.device)


def site_mask(mask: Tensor, blocks: Sequence[tuple[slice, Edit]], sizes: tuple[int, int, int], start: int = 0) -> Tensor:
    """Returns the mask of a site [B,1,1|T,S] without its blocked cells: unchanged, or [B,H,T,S] with `sizes` B, H, T.

    Each block comes with its rows of the batch; `start` is the position of the first query.
    """
    if not blocks:
        return mask
    mask = mask.expand(*sizes, -1).clone()  # [B,H,T,S]
    for own, block in blocks:
        block.change_mask(mask[own], start)
    return mask


def no_op_blocks(masks: Masks, blocks: Sequence[Edit]) -> tuple[Edit, ...]:
    """Returns the blocks without effect: the masks [1,1,1|T,S] of one sentence forbid their cells already."""

    def has_effect(block: Edit) -> bool:
        place = block.place
        queries = (masks.encoder if site_kind(place.kind).query_side == "source" else masks.decoder).size(-1)
        before = getattr(masks, place.kind).expand(1, place.heads.stop or 1, queries, -1)  # [1,H,T,S]
        after = site_mask(before, [(slice(None), block)], (1, before.size(1), queries))
        return not after.equal(before)

    return tuple(block for block in blocks if not has_effect(block))


def build(
    config: ModelConfig, source: Tensor | None, target: Tensor | None, edits: Sequence[Intervention] = (BASELINE,)
) -> Masks:
    """Returns all masks for source ids [B,S] and decoder input ids [B,T]; None for a side that a family lacks.

    Raises ValueError where the number of interventions is neither 1 nor B.
    """
    return Masks(
        encoder=None if source is None else encoder_mask(config, source, edits),
        decoder=None if target is None else decoder_mask(config, target, edits),
        cross=None if source is None or target is None else cross_mask(source, edits),
    )


def _per_row(flags: Sequence[bool | int], ids: Tensor) -> Tensor:
    """Returns one value for all rows, or one a row, as [1|B,1,1,1]."""
    if len(flags) not in (1, ids.size(0)):
        raise ValueError(f"{len(flags)} interventions for {ids.size(0)} rows; expected 1 or {ids.size(0)}")
    return torch.tensor(flags, device=ids.device)[:, None, None, None]
