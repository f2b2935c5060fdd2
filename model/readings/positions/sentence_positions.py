"""Effect of positions on one sentence: the similarity of its tokens, and the translation under edits of positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ...checkpoint import Checkpoint, find_folder, list_names
from ...config import PAD, SCHEMES, ModelConfig
from ...decoding.hypotheses import first_difference
from ...edits.intervention import BASELINE, Intervention
from ...edits.kinds import Positions
from ...inference.analysis import Analysis
from ...inference.passes import log_probs, teacher_force
from ...inference.predictions import changed_words, token_change
from ...inference.request import Request
from ...inference.targets import decode_each_edit, select_hypothesis
from ...io.folders import family_and_task, read_model_entry
from ...trace import SITE_KINDS, Site, Trace

SIDES = ("source", "target")
SEED = 1  # of the shuffled positions
FAR = 200  # a shift beyond every training sentence


@dataclass(frozen=True)
class SentencePositions:
    """The T tokens of one side, with cosines [T,T] of their embeddings, of their positions, and of the sums.

    For rotary positions, `positions` and `both` are None. Instead there are the first layer's self-attention scores without
    and with positions, the mean over heads [T,T].
    """

    labels: tuple[str, ...]
    alone: np.ndarray
    positions: np.ndarray | None
    both: np.ndarray | None
    scores_without: np.ndarray | None
    scores_with: np.ndarray | None
    lengths: tuple[float, float]  # mean norm of an embedding (times sqrt(D), as added) and of a position
    repeated: tuple[tuple[int, int], ...]  # pairs of a token's position and its next occurrence


@torch.inference_mode()
def sentence_positions(checkpoint: Checkpoint, analysis: Analysis, side: str) -> SentencePositions:
    """Returns the cosines of the source, or of the decoder's inputs, without edits and without padding."""
    trace = (analysis.baseline or analysis).trace
    axis = trace.axis(side)  # type: ignore[arg-type]
    real = [i for i, token in enumerate(axis.ids) if token != PAD]
    ids, labels = [axis.ids[i] for i in real], tuple(axis.labels[i] for i in real)
    embedding = getattr(checkpoint.model, f"{side}_embedding")
    tokens, places = torch.tensor([ids], device=checkpoint.device), torch.arange(len(ids), device=checkpoint.device)
    alone = embedding.embedding_sum(tokens, places, torch.zeros(1, 1, 1, device=checkpoint.device))[0]  # [T,D]
    added = embedding.positional(torch.zeros_like(alone)[None], places)[0]  # [T,D], zeros for rotary positions
    both = embedding.embedding_sum(tokens, places)[0]  # [T,D]
    repeated = tuple((i, ids.index(token, i + 1)) for i, token in enumerate(ids) if token in ids[i + 1 :])
    lengths = float(alone.norm(dim=-1).mean()), float(added.norm(dim=-1).mean())
    without = with_ = None
    is_added = bool(checkpoint.config.scheme.embedding_effect)
    if not is_added:
        edits = [BASELINE, Intervention(edits=(Positions(side, "off"),))]
        site = next(Site(kind, 0) for kind, of in SITE_KINDS.items() if of.is_self and of.query_side == side)
        source = trace.source and [t for t in trace.source.ids if t != PAD]
        traces = teacher_force(checkpoint, source, trace.outputs and trace.outputs.ids, edits)
        with_, without = (each.scores[site].mean(0) for each in traces)
    maps = (_cosines(added), _cosines(both)) if is_added else (None, None)
    return SentencePositions(labels, _cosines(alone), *maps, without, with_, lengths, repeated)


def _cosines(x: torch.Tensor) -> np.ndarray:
    """Returns the cosines between rows [T,D], float32 [T,T]."""
    unit = x.double() / x.double().norm(dim=-1, keepdim=True).clamp(min=1e-12)
    cosines = (unit @ unit.T).float().cpu().numpy()
    cosines.flags.writeable = False
    return cosines


def sides_of(trace: Trace) -> tuple[str, ...]:
    """Returns the sides whose tokens the model reads."""
    return tuple(side for side, axis in zip(SIDES, (trace.source, trace.inputs), strict=True) if axis is not None)


def position_edits(shift: int, sides: Sequence[str] = SIDES) -> tuple[Positions, ...]:
    """Returns the edits of positions to try on each side: off, shuffled, shifted by `shift` or 1, and shifted by `FAR`."""
    kinds = (("off", 0), ("shuffled", SEED), ("shifted", max(1, shift)), ("shifted", FAR))
    return tuple(Positions(side, how, amount) for side in sides for how, amount in kinds)


def is_beyond(edit: Positions, config: ModelConfig) -> bool:
    """Returns True where an edit shifts even the first token beyond the learned table."""
    limit = config.scheme.max_length(config.max_positions)
    return limit is not None and edit.how == "shifted" and edit.amount >= limit


@dataclass(frozen=True)
class Variant:
    """The effect of one edit of positions on a sentence."""

    words: tuple[str, ...]  # of the new translation; without a decoder the top token at each place, or the label
    changed: tuple[bool, ...]  # True for a word that differs from the baseline
    same: bool  # the translation equals the baseline's
    change: float  # of the summed log-probability of the baseline's scored tokens, in nats
    near_tie: str = ""  # a sentence about the first different step, if it was a near-tie


def try_variants(
    checkpoint: Checkpoint, request: Request, base: Analysis, edits: Sequence[Positions]
) -> list[Variant | ValueError]:
    """Returns the effect of each edit of positions on a sentence, decoded and read as one batch.

    `base` is the analysis without edits. An edit beyond a learned table gives a ValueError in place of its result.
    """
    if not edits:
        return []
    try:
        return _variants(checkpoint, request, base, [Intervention(edits=(edit,)) for edit in edits])
    except ValueError as fault:
        if len(edits) == 1:
            return [fault]
    return [result for edit in edits for result in try_variants(checkpoint, request, base, [edit])]


def _variants(
    checkpoint: Checkpoint, request: Request, base: Analysis, edits: Sequence[Intervention]
) -> list[Variant | ValueError]:
    if base.trace.outputs is None:
        return _read_variants(checkpoint, base, edits)
    source, ids = base.trace.source and base.trace.source.ids, base.trace.outputs.ids
    tokenizer = checkpoint.target_tokenizer
    trees = decode_each_edit(checkpoint, request, source, edits)
    read = log_probs(checkpoint, source, ids, [BASELINE, *edits])  # [1+N,T,V]
    chosen = read[:, torch.arange(len(ids)), list(ids)].cpu().numpy()  # [1+N,T]
    before, words = (
        base.translation.split(),
        [tokenizer.decode(select_hypothesis(tree, request).ids).split() for tree in trees],
    )
    results = []
    for n, (tree, now) in enumerate(zip(trees, words, strict=True), 1):
        own = select_hypothesis(tree, request).ids
        split = first_difference(own, ids)
        tipped = ""
        if split is not None and split < min(len(own), len(ids)):
            pair = read[[0, n], split]  # both have the same prefix
            if not checkpoint.config.causal:  # each step was chosen without the later ones
                pair = log_probs(checkpoint, source, ids[: split + 1], [BASELINE, edits[n - 1]])[:, -1]
            parted = token_change(split, ids[split], own[split], *pair.cpu().numpy())
            tipped = parted.describe(tokenizer.piece) if parted.is_tie else ""
        change = float(chosen[n, base.prompt_length :].sum() - chosen[0, base.prompt_length :].sum())
        results.append(Variant(tuple(now), changed_words(before, now)[1], now == before, change, tipped))
    return results


def _read_variants(checkpoint: Checkpoint, base: Analysis, edits: Sequence[Intervention]) -> list[Variant | ValueError]:
    """Returns the effects for a model without a decoder: its predictions at each place, or for the full text."""
    scored, rows = base.trace.scored_axis.ids, list(base.trace.scored_rows)
    read = log_probs(checkpoint, base.trace.source.ids, None, [BASELINE, *edits])  # [1+N,S,V] or [1+N,1,C]
    chosen = read[:, rows, [scored[row] for row in rows]].sum(-1).tolist()  # [1+N]
    before, *after = (
        checkpoint.output_vocabulary.pieces(row.tolist()) for row in read[:, list(base.trace.scorable_rows)].argmax(-1)
    )
    return [
        Variant(words, tuple(a != b for a, b in zip(before, words, strict=True)), words == before, change - chosen[0])
        for words, change in zip(after, chosen[1:], strict=True)
    ]


def learned_table(checkpoint: Checkpoint, side: str) -> np.ndarray:
    """Returns the learned positions of one side, or of the only one, float32 [R,D]. Raises ValueError without any."""
    if not checkpoint.config.scheme.has_table:
        raise ValueError(
            f"The checkpoint {checkpoint.name!r} has {checkpoint.config.positions} positions; expected learned."
        )
    sides = (side, *(other for other in SIDES if other != side))
    own = next(
        getattr(checkpoint.model, f"{each}_embedding") for each in sides if hasattr(checkpoint.model, f"{each}_embedding")
    )
    return own.positional.table.weight.detach().float().cpu().numpy()


def learned_checkpoint(current: str, home: Path | None = None) -> str | None:
    """Returns the current checkpoint if its positions are learned, else another such one, preferably of the same family.

    The result is None without one.
    """
    known = list_names(home)
    models = {name: read_model_entry(find_folder(name, home)) for name in known}
    learned = [name for name in known if _is_trained(models[name])]
    own = family_and_task(models.get(current, {}))
    return min(learned, key=lambda name: (name != current, family_and_task(models[name]) != own), default=None)


def _is_trained(model: dict[str, Any]) -> bool:
    """Returns True for a model with learned positions."""
    scheme = model.get("positions")
    return isinstance(scheme, str) and scheme in SCHEMES and SCHEMES[scheme].has_table
