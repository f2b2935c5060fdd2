"""One pass over a given target, as one batch under some interventions: its traces, or how likely each token is; and the
trace of many passes of which each chose one token.

How much memory an analysis takes, before it is made."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ..checkpoint import Checkpoint
from ..config import ModelConfig
from ..decoding.uncached import Recorder
from ..edits.intervention import BASELINE, Intervention
from ..network.context import Pass, forced, shifted
from ..text.tokenizer import Tokenizer
from ..trace import SITE_KINDS, Axis, Probe, Site, Trace
from .request import RequestError
from .source_reading import edits_of, filled

LOGITS = 1 << 25  # that are computed at once where a few of them are kept: memory stays bounded for large vocabularies


@torch.inference_mode()
def teacher_force(
    checkpoint: Checkpoint, source: Sequence[int] | None, target: Sequence[int] | None, edits: Sequence[Intervention]
) -> list[Trace]:
    """One pass over a given target under each of the interventions, as one batch; a trace for each.

    `source` may end in padding; `target` is what is predicted, without `<s>`. None for a side that the model does not have.
    """
    rows, device = len(edits), checkpoint.device
    probe, outputs = Probe("maps"), batch(target, rows, device)
    at = Pass(edits_of(checkpoint, source, edits), probe)
    ids = batch(source, rows, device)
    hidden = forced(checkpoint.model, ids, outputs, at)
    return _traces(checkpoint, source, target, probe, checkpoint.model.answer(hidden, ids).float())


@torch.inference_mode()
def log_probs(
    checkpoint: Checkpoint, source: Sequence[int] | None, target: Sequence[int] | None, edits: Sequence[Intervention]
) -> torch.Tensor:
    """The same pass without a record: of every token at each place, under each intervention, [N,T,V]; of a classifier of
    each label, [N,1,C]."""
    hidden = _hidden(checkpoint, source, target, edits)
    return checkpoint.model.answer(hidden, batch(source, len(edits), checkpoint.device)).float().log_softmax(-1)


def _hidden(
    checkpoint: Checkpoint, source: Sequence[int] | None, target: Sequence[int] | None, edits: Sequence[Intervention]
) -> torch.Tensor:
    """What is projected, [N,T,D]."""
    rows, device = len(edits), checkpoint.device
    at = Pass(edits_of(checkpoint, source, edits))
    return forced(checkpoint.model, batch(source, rows, device), batch(target, rows, device), at)


@torch.inference_mode()
def target_log_probs(
    checkpoint: Checkpoint, source: Sequence[int] | None, target: Sequence[int] | None, edits: Sequence[Intervention]
) -> np.ndarray:
    """Log-probability of each target token under each intervention, [N,T]; of a classifier that of the label that the first
    one gives, [N,1]; of a model that fills in that of each token of `counted`, [N,C]."""
    if checkpoint.config.classes:
        logs = log_probs(checkpoint, source, target, edits)[:, 0]  # [N,C]
        return _frozen(logs[:, logs[0].argmax(), None].cpu().numpy())
    hidden = _hidden(checkpoint, source, target, edits)  # [N,T,D]
    tokens = target
    if target is None:
        places, tokens = counted(checkpoint, source)
        hidden = hidden[:, list(places)]
    chosen = batch(tokens, len(edits), checkpoint.device)[..., None]  # [N,T,1]
    config = checkpoint.config
    each = max(1, LOGITS // (max(1, hidden.size(1)) * (config.source_vocab if target is None else config.target_vocab)))
    found = [
        checkpoint.model.project(rows).float().log_softmax(-1).gather(-1, ids)[..., 0]
        for rows, ids in zip(hidden.split(each), chosen.split(each), strict=True)
    ]
    return _frozen(torch.cat(found).cpu().numpy())


def counted(checkpoint: Checkpoint, source: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Of a model that fills in, without edits: the places of a source whose log-probabilities are summed, from 0, and the
    tokens there, as `Trace.counted` and `Trace.scored` have them."""
    (trace,) = teacher_force(checkpoint, source, None, [BASELINE])
    return trace.counted, tuple(trace.scored.ids[place] for place in trace.counted)


def recorded(
    checkpoint: Checkpoint, source: Sequence[int] | None, target: tuple[int, ...], recorder: Recorder
) -> Trace | None:
    """What decoding recorded of a target; None where it did not."""
    found = recorder.read(checkpoint.config, source, target)
    return None if found is None else _traces(checkpoint, source, target, *found)[0]


def _traces(
    checkpoint: Checkpoint,
    source: Sequence[int] | None,
    target: Sequence[int] | None,
    probe: Probe,
    logits: torch.Tensor,
) -> list[Trace]:
    """One for each row of what a probe recorded, with its logits [B,T,V]."""
    log_probs, totals = logits.log_softmax(-1).cpu().numpy(), logits.logsumexp(-1).cpu().numpy()  # [B,T,V], [B,T]
    inputs = target and shifted(torch.tensor([list(target)]))[0].tolist()
    axes = {
        "source": source and axis(checkpoint.source_tokenizer, source),
        "inputs": target and axis(checkpoint.target_tokenizer, inputs),
        "outputs": target and axis(checkpoint.target_tokenizer, target),
    }
    rows, classes = range(len(logits)), checkpoint.config.classes
    made = [_trace(axes, probe, row, _frozen(log_probs[row]), _frozen(totals[row]), classes) for row in rows]
    if target is not None or classes:
        return made
    tokenizer = checkpoint.source_tokenizer
    return [
        dataclasses.replace(each, filled=axis(tokenizer, filled(source, each.log_probs, tokenizer.mask))) for each in made
    ]


def batch(ids: Sequence[int] | None, rows: int, device: torch.device | str = "cpu") -> torch.Tensor | None:
    """The same ids in every row, [B,T]; None for none."""
    return None if ids is None else torch.tensor([list(ids)] * rows, device=device)


def _trace(
    axes: dict[str, Axis | None],
    probe: Probe,
    row: int,
    log_probs: np.ndarray,
    totals: np.ndarray,
    classes: tuple[str, ...],
) -> Trace:
    """What one row of a batch recorded."""
    patterns, scores, found = (
        {site: probe.array(site, name, row) for site in probe.records} for name in ("pattern", "scores", "mask")
    )
    apart = {site: mask for site, mask in found.items() if mask.ndim == 3 and (mask != mask[:1]).any()}
    together = {site: mask if mask.ndim == 2 else _frozen(mask.any(axis=0)) for site, mask in found.items()}
    return Trace(
        **axes,
        patterns=patterns,
        scores=scores,
        masks=together,
        log_probs=log_probs,
        head_masks=apart,
        log_totals=totals,
        classes=classes,
    )


def axis(tokenizer: Tokenizer, ids: Sequence[int]) -> Axis:
    """Ids with what is shown for them."""
    return Axis(tuple(ids), tokenizer.pieces(ids), tokenizer.words(ids))


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


@dataclass(frozen=True)
class Step:
    """What one step leaves behind: copies of its last query's rows, so that the rest of its pass can go."""

    rows: dict[str, dict[Site, np.ndarray]]  # by the name of the trace's field: [H,S], masks [S]; S grows with the steps
    log_probs: np.ndarray  # [V]
    log_total: np.ndarray  # []


def step_of(probe: Probe, logits: torch.Tensor) -> Step:
    """Of a pass over a prefix, with the logits [V] of its last query."""
    rows: dict[str, dict[Site, np.ndarray]] = {"patterns": {}, "scores": {}, "masks": {}, "head_masks": {}}
    for site in probe.records:
        if site.of.queries == "source":
            continue
        pattern, scores, mask = (probe.array(site, name)[..., -1, :].copy() for name in ("pattern", "scores", "mask"))
        rows["patterns"][site], rows["scores"][site] = pattern, scores
        rows["head_masks"][site] = mask if mask.ndim == 2 else np.tile(mask, (len(pattern), 1))
        rows["masks"][site] = rows["head_masks"][site].any(axis=0)
    return Step(rows, logits.log_softmax(-1).cpu().numpy(), logits.logsumexp(-1).cpu().numpy())


def gathered(steps: Sequence[Step], last: Trace) -> Trace:
    """The rows that chose the tokens as one trace; what no step had yet is not allowed."""

    def together(name: str, site: Site) -> np.ndarray:
        arrays = [step.rows[name][site] for step in steps]
        out = np.zeros((*arrays[-1].shape[:-1], len(arrays), arrays[-1].shape[-1]), arrays[-1].dtype)
        for t, row in enumerate(arrays):
            out[..., t, : row.shape[-1]] = row
        return _frozen(out)

    def taken(name: str) -> dict[Site, np.ndarray]:
        return {s: a if s.of.queries == "source" else together(name, s) for s, a in getattr(last, name).items()}

    log_probs, totals = (_frozen(np.stack([getattr(step, name) for step in steps])) for name in ("log_probs", "log_total"))
    maps = (taken(name) for name in ("patterns", "scores", "masks"))
    return Trace(last.source, last.inputs, last.outputs, *maps, log_probs, taken("head_masks"), totals)


FLOAT = 4  # bytes
MEGABYTE = 10**6


def trace_bytes(config: ModelConfig, source: int, target: int) -> int:
    """Bytes of a trace over so many tokens of each side: patterns and scores [H,T,S] of every site, and [T,V] or [1,C]."""
    size = {"source": source, "target": target}
    cells = sum(n * size[SITE_KINDS[kind].queries] * size[SITE_KINDS[kind].keys] for kind, n in config.layers.items())
    predicted = len(config.classes) or (target or source) * config.target_vocab
    return FLOAT * (2 * config.heads * cells + predicted)


def check(config: ModelConfig, source: int, target: int, traces: int, most: int | None) -> None:
    """Raises RequestError, one sentence, where so many traces together are larger than `most` bytes."""
    found = traces * trace_bytes(config, source, target)
    if most is not None and found > most:
        raise RequestError(
            f"The maps of {source} source and {target} target tokens would take {found / MEGABYTE:,.0f} MB; expected at "
            f"most {most / MEGABYTE:,.0f}. Shorten the sentence or its translation."
        )
