"""The passes of the leak test: each changes what a position must not see, and measures the shift of all residual streams."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from ..checkpoint import Checkpoint
from ..config import CONTROL_TOKENS, PAD
from ..decoding.search import stepwise_log_probs
from ..edits.apply import BatchEdits
from ..edits.kinds import Positions
from ..network.context import Pass, teacher_forced_states
from ..trace import Probe, Site
from .leak_report import BATCH_PADS, check_noise, relative_shift


def shift_by_later(
    checkpoint: Checkpoint, source: Sequence[int] | None, target: Sequence[int], edits: BatchEdits
) -> tuple[np.ndarray, dict[Site, np.ndarray], float]:
    """Returns the shift of every position by each changed decoder input [layers,T changed,T moved], the largest weight of
    each head on a later position, and the noise.

    Rows 0 and 1 of the batch are the same input. Row j + 1 has another token at input j. Input 0 is `<s>`, and stays.
    """
    rows = [[*target[:j], other_token(target[j], checkpoint), *target[j + 1 :]] for j in range(len(target) - 1)]
    outputs = torch.tensor([list(target), list(target), *rows], device=checkpoint.device)
    ids = None if source is None else torch.tensor([list(source)] * len(outputs), device=checkpoint.device)
    probe = _record(checkpoint, ids, ids, outputs, edits)
    streams = _streams(probe)["decoder"]
    later = relative_shift(streams).astype(np.float32)  # [layers,T,T]
    noise = check_noise(later[:, 0])
    later[:, 0] = 0
    places = torch.arange(len(target), device=checkpoint.device)
    return later, _forbidden_weights(probe, {"decoder": places > places[:, None]}), noise


def shift_by_padding(
    checkpoint: Checkpoint, plain: list[int], pads: int, target: Sequence[int] | None, edits: BatchEdits
) -> tuple[dict[str, np.ndarray], dict[Site, np.ndarray], float]:
    """Returns the shift of every position of each stack, [layers,S] and [layers,T], by other tokens in the padding, the
    largest weight of each head on padding, and the noise.

    Rows 0 and 1 of the batch are the same input.
    """
    padded = torch.tensor([[*plain, *[PAD] * pads]] * 3, device=checkpoint.device)
    filled = padded.clone()  # no row has `<pad>`: shuffled positions count the other tokens
    filled[:2, len(plain) :] = torch.tensor((plain * pads)[:pads])
    filled[2, len(plain) :] = torch.tensor([other_token(i, checkpoint) for i in (plain * pads)[:pads]])
    targets = None if target is None else torch.tensor([list(target)] * 3, device=checkpoint.device)
    probe = _record(checkpoint, filled, padded, targets, edits)
    differences = {stack: relative_shift(x) for stack, x in _streams(probe).items()}
    noise = max(check_noise(each[:, 0]) for each in differences.values())
    shifts = {stack: each[:, 1] for stack, each in differences.items()}
    padding = torch.arange(padded.size(1), device=checkpoint.device) >= len(plain)  # [S]
    looks = _forbidden_weights(probe, {"encoder": padding & ~padding[:, None], "cross": padding[None]})
    return shifts | {"encoder": shifts["encoder"][:, : len(plain)]}, looks, noise


def shift_by_batch(
    checkpoint: Checkpoint, plain: list[int] | None, target: Sequence[int] | None, edits: BatchEdits
) -> tuple[dict[str, np.ndarray], dict[Site, np.ndarray], tuple[int, int], float]:
    """Returns the shift of every position of each stack, and of the logits, by a longer sentence in the same batch.

    The sentence is row 1 of 3, so that a mask of the first or the last row that is used for all rows shows. Returns also the
    largest weight of each head on padding, the padding of source and target, and the rounding: the difference of the
    sentence alone and twice in a batch.
    """
    source_pads, target_pads = (
        _batch_pads(checkpoint, ids, edits, side) for ids, side in ((plain, "source"), (target, "target"))
    )
    alone = _results(checkpoint, [plain], [target], edits)[1]
    twice = _results(checkpoint, [plain] * 2, [target] * 2, edits)[1]
    rounding = max(float(_pair_shift(alone[name][:, 0], twice[name][:, 1]).max()) for name in alone)
    rounding = max(rounding, torch.finfo(next(checkpoint.model.parameters()).dtype).eps)
    sources, targets = _batch_rows(checkpoint, plain, source_pads), _batch_rows(checkpoint, target, target_pads)
    probe, batch = _results(checkpoint, sources, targets, edits)
    shifts = {name: _pair_shift(x[:, 0], batch[name][:, 1, : x.shape[2]]).astype(np.float32) for name, x in alone.items()}
    keys = torch.arange(len(plain or ()) + source_pads, device=checkpoint.device) >= len(plain or ())  # [S]
    own_keys = torch.arange(len(target or ()) + target_pads, device=checkpoint.device) >= len(target or ())  # [T]
    forbidden = {
        "encoder": keys & ~keys[:, None],
        "cross": keys & ~own_keys[:, None],
        "decoder": own_keys & ~own_keys[:, None],
    }
    return shifts, _forbidden_weights(probe, forbidden, row=1), (source_pads, target_pads), rounding


def _batch_pads(checkpoint: Checkpoint, ids: Sequence[int] | None, edits: BatchEdits, side: str) -> int:
    """Returns the padding of a side in the batch: fewer tokens where a table of positions ends; 0 for a missing side."""
    if ids is None:
        return 0
    shifts = (e.amount for row in edits.rows for e in row.edits if isinstance(e, Positions) and e.side == side)
    last = len(ids) + max(shifts, default=0)
    return max(0, checkpoint.config.clamp_length(last + BATCH_PADS) - last)


def _batch_rows(checkpoint: Checkpoint, ids: Sequence[int] | None, pads: int) -> list[Sequence[int] | None]:
    """Returns ids with `pads` tokens of padding as the middle one of three rows; the others are longer."""
    if ids is None:
        return [None] * 3
    longer = [*(other_token(token, checkpoint) for token in ([*ids] * pads)[:pads]), *ids]
    return [longer, [*ids, *[PAD] * pads], longer]


def _results(
    checkpoint: Checkpoint,
    sources: Sequence[Sequence[int] | None],
    targets: Sequence[Sequence[int] | None],
    edits: BatchEdits,
) -> tuple[Probe, dict[str, np.ndarray]]:
    """Returns the recordings of a pass, its streams [layers,B,T,D] by stack, and its logits [1,B,T,V]."""
    source, target = (
        None if rows[0] is None else torch.tensor([list(row or ()) for row in rows], device=checkpoint.device)
        for rows in (sources, targets)
    )
    probe = Probe("full")
    hidden = teacher_forced_states(checkpoint.model, source, target, Pass(edits, probe))
    return probe, {**_streams(probe), "logits": _numbers(checkpoint.model.task_logits(hidden, source)[None])}


def _pair_shift(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Returns the shift between two results [layers,T,D], as a share of the largest entry of the first: [layers,T]."""
    return relative_shift(np.stack([first, second], axis=1))[:, 0]


def shift_by_cache(
    checkpoint: Checkpoint, source: Sequence[int] | None, target: Sequence[int], edits: BatchEdits
) -> dict[str, np.ndarray]:
    """Returns the shift of the log-probabilities of each step, [T], between decoding with a cache and one full pass.

    "steps" computes each step alone. "prefix" computes the first half of the steps in one pass, nan there, as decoding does
    after a forced prefix. Empty where decoding has no cache.
    """
    ids = None if source is None else torch.tensor([list(source)], device=checkpoint.device)
    outputs = torch.tensor([list(target)], device=checkpoint.device)
    hidden = teacher_forced_states(checkpoint.model, ids, outputs, Pass(edits))
    full = _numbers(checkpoint.model.project(hidden).float().log_softmax(-1))  # [1,T,V]
    shifts = {}
    for name, prefilled in (("steps", 0), ("prefix", len(target) // 2)):
        steps = stepwise_log_probs(checkpoint.model, ids, target, edits, prefilled)
        if steps is None:
            return {}
        first = len(target) - len(steps)
        shifts[name] = np.full(len(target), np.nan, np.float32)
        shifts[name][first:] = _pair_shift(full[:, first:], _numbers(steps[None]))[0]
    return shifts


def other_token(token: int, checkpoint: Checkpoint) -> int:
    """Returns another token that is no control token."""
    first, size = len(CONTROL_TOKENS), min(checkpoint.config.source_vocab, checkpoint.config.target_vocab)
    return first + (token - first + 7) % (size - first)


def _record(
    checkpoint: Checkpoint,
    source: torch.Tensor | None,
    masked_by: torch.Tensor | None,
    outputs: torch.Tensor | None,
    edits: BatchEdits,
) -> Probe:
    """Runs a pass whose masks follow other ids. Returns its recordings."""
    probe = Probe("full")
    teacher_forced_states(checkpoint.model, source, outputs, Pass(edits, probe), masked_by)
    return probe


def _forbidden_weights(probe: Probe, forbidden: dict[str, torch.Tensor], row: int = 0) -> dict[Site, np.ndarray]:
    """Returns the largest weight [H] of each head on a forbidden cell [T,S], by site, in one row of the batch.

    Queries with an unused z do not count.
    """
    weights = {}
    for site, record in probe.records.items():
        if site.kind in forbidden:
            used = (record["z"][row] != 0).any(-1, keepdim=True)  # [H,T,1]
            weight = record["pattern"][row] * (used & forbidden[site.kind])  # [H,T,S]
            weights[site] = weight.amax((1, 2)).float().cpu().numpy()
    return weights


def _streams(probe: Probe) -> dict[str, np.ndarray]:
    """Returns the residual stream after every layer of each stack, [layers,B,T,D]."""
    last = {place: streams.after for place, streams in probe.streams.items() if place.part == "ff"}
    stacks = dict.fromkeys(place.stack for place in last)
    return {
        stack: _numbers(torch.stack([last[place] for place in sorted(last) if place.stack == stack])) for stack in stacks
    }


def _numbers(x: torch.Tensor) -> np.ndarray:
    """Returns a tensor as float32, or as float64 where it is: numpy has no bfloat16."""
    return np.asarray((x if x.dtype == torch.float64 else x.float()).cpu())
