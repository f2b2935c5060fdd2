"""Teacher-forced passes over a batch of interventions, traces of stepwise decoding, and the memory of an analysis."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ..checkpoint import Checkpoint
from ..config import ModelConfig
from ..decoding.uncached import Recorder
from ..edits.apply import ActivationEdit
from ..edits.intervention import BASELINE, Intervention
from ..network.context import Pass, shift_right, teacher_forced_states
from ..text.tokenizer import Tokenizer
from ..trace import SITE_KINDS, Axis, Probe, Site, Trace
from .request import RequestError
from .source_reading import build_edits, fill_mask

MAX_LOGITS = 1 << 25  # computed at once, to bound memory for large vocabularies


@torch.inference_mode()
def teacher_force(
    checkpoint: Checkpoint,
    source: Sequence[int] | None,
    target: Sequence[int] | None,
    edits: Sequence[Intervention],
    callback: ActivationEdit | None = None,
) -> list[Trace]:
    """Returns the trace of a pass over a given target under each intervention, computed as one batch.

    `source` may end in padding; `target` has no `<s>`. A side that the model does not have is None. A `callback` edits the
    activations of one intervention.
    """
    rows, device = len(edits), checkpoint.device
    probe, outputs = Probe("maps"), batch(target, rows, device)
    context = Pass(build_edits(checkpoint, source, edits, callback), probe)
    ids = batch(source, rows, device)
    hidden = teacher_forced_states(checkpoint.model, ids, outputs, context)
    return _traces(checkpoint, source, target, probe, checkpoint.model.task_logits(hidden, ids).float())


@torch.inference_mode()
def log_probs(
    checkpoint: Checkpoint, source: Sequence[int] | None, target: Sequence[int] | None, edits: Sequence[Intervention]
) -> torch.Tensor:
    """Returns the log-probabilities of all tokens under each intervention, [N,T,V]; of a classifier [N,1,C]."""
    hidden = _hidden(checkpoint, source, target, edits)
    return checkpoint.model.task_logits(hidden, batch(source, len(edits), checkpoint.device)).float().log_softmax(-1)


def _hidden(
    checkpoint: Checkpoint, source: Sequence[int] | None, target: Sequence[int] | None, edits: Sequence[Intervention]
) -> torch.Tensor:
    """Returns the final hidden states, [N,T,D]."""
    rows, device = len(edits), checkpoint.device
    context = Pass(build_edits(checkpoint, source, edits))
    return teacher_forced_states(checkpoint.model, batch(source, rows, device), batch(target, rows, device), context)


@torch.inference_mode()
def target_log_probs(
    checkpoint: Checkpoint, source: Sequence[int] | None, target: Sequence[int] | None, edits: Sequence[Intervention]
) -> np.ndarray:
    """Returns the log-probability of each target token under each intervention, [N,T].

    A classifier has that of the top label of the first intervention, [N,1]. A masked language model has those of the tokens
    of `scored_rows`, [N,C].
    """
    if checkpoint.config.classes:
        logs = log_probs(checkpoint, source, target, edits)[:, 0]  # [N,C]
        return _freeze(logs[:, logs[0].argmax(), None].cpu().numpy())
    hidden = _hidden(checkpoint, source, target, edits)  # [N,T,D]
    tokens = target
    if target is None:
        places, tokens = scored_rows_and_tokens(checkpoint, source)
        hidden = hidden[:, list(places)]
    chosen = batch(tokens, len(edits), checkpoint.device)[..., None]  # [N,T,1]
    config = checkpoint.config
    chunk_size = max(
        1, MAX_LOGITS // (max(1, hidden.size(1)) * (config.source_vocab if target is None else config.target_vocab))
    )
    chunks = [
        checkpoint.model.project(rows).float().log_softmax(-1).gather(-1, ids)[..., 0]
        for rows, ids in zip(hidden.split(chunk_size), chosen.split(chunk_size), strict=True)
    ]
    return _freeze(torch.cat(chunks).cpu().numpy())


def scored_rows_and_tokens(checkpoint: Checkpoint, source: Sequence[int] | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the scored rows, from 0, and their tokens for a masked language model without edits.

    They are those of `Trace.scored_rows` and `Trace.scored_axis`.
    """
    (trace,) = teacher_force(checkpoint, source, None, [BASELINE])
    return trace.scored_rows, tuple(trace.scored_axis.ids[place] for place in trace.scored_rows)


def recorded_trace(
    checkpoint: Checkpoint, source: Sequence[int] | None, target: tuple[int, ...], recorder: Recorder
) -> Trace | None:
    """Returns the trace that decoding recorded for a target; None where it recorded none."""
    record = recorder.recorded_pass(checkpoint.config, source, target)
    return None if record is None else _traces(checkpoint, source, target, *record)[0]


def _traces(
    checkpoint: Checkpoint, source: Sequence[int] | None, target: Sequence[int] | None, probe: Probe, logits: torch.Tensor
) -> list[Trace]:
    """Returns one trace for each row of a probe, with its logits [B,T,V]."""
    log_probs, totals = logits.log_softmax(-1).cpu().numpy(), logits.logsumexp(-1).cpu().numpy()  # [B,T,V], [B,T]
    inputs = target and shift_right(torch.tensor([list(target)]))[0].tolist()
    axes = {
        "source": source and build_axis(checkpoint.source_tokenizer, source),
        "inputs": target and build_axis(checkpoint.target_tokenizer, inputs),
        "outputs": target and build_axis(checkpoint.target_tokenizer, target),
    }
    rows, classes = range(len(logits)), checkpoint.config.classes
    traces = [_trace(axes, probe, row, _freeze(log_probs[row]), _freeze(totals[row]), classes) for row in rows]
    if target is not None or classes:
        return traces
    tokenizer = checkpoint.source_tokenizer
    return [
        dataclasses.replace(each, filled_axis=build_axis(tokenizer, fill_mask(source, each.log_probs, tokenizer.mask)))
        for each in traces
    ]


def batch(ids: Sequence[int] | None, rows: int, device: torch.device | str = "cpu") -> torch.Tensor | None:
    """Returns a batch with these ids in every row, [B,T]; None for None."""
    return None if ids is None else torch.tensor([list(ids)] * rows, device=device)


def _trace(
    axes: dict[str, Axis | None], probe: Probe, row: int, log_probs: np.ndarray, totals: np.ndarray, classes: tuple[str, ...]
) -> Trace:
    """Returns the trace of one row of a batch."""
    patterns, scores, all_masks = (
        {site: probe.array(site, name, row) for site in probe.records} for name in ("pattern", "scores", "mask")
    )
    head_masks = {site: mask for site, mask in all_masks.items() if mask.ndim == 3 and (mask != mask[:1]).any()}
    any_head_masks = {site: mask if mask.ndim == 2 else _freeze(mask.any(axis=0)) for site, mask in all_masks.items()}
    return Trace(
        **axes,
        patterns=patterns,
        scores=scores,
        masks=any_head_masks,
        log_probs=log_probs,
        head_masks=head_masks,
        logit_normalizers=totals,
        classes=classes,
    )


def build_axis(tokenizer: Tokenizer, ids: Sequence[int]) -> Axis:
    """Returns an axis: ids with labels and words."""
    return Axis(tuple(ids), tokenizer.pieces(ids), tokenizer.word_numbers(ids))


def _freeze(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


@dataclass(frozen=True)
class StepRows:
    """The rows of the last query of a step, copied so that the rest of the pass can be freed."""

    rows: dict[str, dict[Site, np.ndarray]]  # by the name of the trace's field: [H,S], masks [S]; S grows with the steps
    log_probs: np.ndarray  # [V]
    log_total: np.ndarray  # []


def build_step(probe: Probe, logits: torch.Tensor) -> StepRows:
    """Returns the step of a pass over a prefix, with the logits [V] of its last query."""
    rows: dict[str, dict[Site, np.ndarray]] = {"patterns": {}, "scores": {}, "masks": {}, "head_masks": {}}
    for site in probe.records:
        if site.spec.query_side == "source":
            continue
        pattern, scores, mask = (probe.array(site, name)[..., -1, :].copy() for name in ("pattern", "scores", "mask"))
        rows["patterns"][site], rows["scores"][site] = pattern, scores
        rows["head_masks"][site] = mask if mask.ndim == 2 else np.tile(mask, (len(pattern), 1))
        rows["masks"][site] = rows["head_masks"][site].any(axis=0)
    return StepRows(rows, logits.log_softmax(-1).cpu().numpy(), logits.logsumexp(-1).cpu().numpy())


def gather_steps(steps: Sequence[StepRows], final_pass: Trace) -> Trace:
    """Returns one trace with the rows that chose the tokens; later keys are masked."""

    def stack_rows(name: str, site: Site) -> np.ndarray:
        arrays = [step.rows[name][site] for step in steps]
        out = np.zeros((*arrays[-1].shape[:-1], len(arrays), arrays[-1].shape[-1]), arrays[-1].dtype)
        for t, row in enumerate(arrays):
            out[..., t, : row.shape[-1]] = row
        return _freeze(out)

    def stack_maps(name: str) -> dict[Site, np.ndarray]:
        return {s: a if s.spec.query_side == "source" else stack_rows(name, s) for s, a in getattr(final_pass, name).items()}

    log_probs, totals = (_freeze(np.stack([getattr(step, name) for step in steps])) for name in ("log_probs", "log_total"))
    maps = (stack_maps(name) for name in ("patterns", "scores", "masks"))
    return Trace(
        final_pass.source, final_pass.inputs, final_pass.outputs, *maps, log_probs, stack_maps("head_masks"), totals
    )


FLOAT_BYTES = 4  # bytes
MEGABYTE = 10**6


def trace_bytes(config: ModelConfig, source: int, target: int) -> int:
    """Returns the bytes of a trace: patterns and scores [H,T,S] of every site, and log-probabilities [T,V] or [1,C]."""
    size = {"source": source, "target": target}
    cells = sum(n * size[SITE_KINDS[kind].query_side] * size[SITE_KINDS[kind].key_side] for kind, n in config.layers.items())
    predicted = len(config.classes) or (target or source) * config.target_vocab
    return FLOAT_BYTES * (2 * config.heads * cells + predicted)


def check_trace_size(config: ModelConfig, source: int, target: int, traces: int, max_bytes: int | None) -> None:
    """Raises RequestError where this number of traces takes more than `max_bytes` bytes."""
    needed = traces * trace_bytes(config, source, target)
    if max_bytes is not None and needed > max_bytes:
        raise RequestError(
            f"The maps of {source} source and {target} target tokens would take {needed / MEGABYTE:,.0f} MB; expected at "
            f"most {max_bytes / MEGABYTE:,.0f}. Shorten the sentence or its translation."
        )
