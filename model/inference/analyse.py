"""The entry point: analyse(checkpoint, request) -> Analysis."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from model import checkpoint as checkpoints
from model import device as devices
from model.checkpoint import Checkpoint
from model.config import END, PAD, START
from model.decoding import whole
from model.decoding.hypotheses import Hypothesis, Tree
from model.decoding.recorder import Recorder
from model.edits.intervention import BASELINE, Intervention
from model.edits.kinds import Block
from model.inference import size
from model.inference.analysis import Analysis
from model.inference.cautions import rare_words
from model.inference.donors import donor_of, edits_of, unpaired
from model.inference.following import following, turned
from model.inference.request import Request
from model.inference.targets import begun, decode, padding, shown, sources, target_of
from model.network import masks
from model.network.context import Pass, forced, shifted
from model.text.tokenizer import Tokenizer
from model.text.worth import read_signs
from model.trace import Axis, Probe, Site, Trace

LOGITS = 1 << 25  # that are computed at once where a few of them are kept: memory stays bounded for large vocabularies


def load(name: str = "en-fr", device: str = "auto") -> Checkpoint:
    """A checkpoint by name in `checkpoints/` or by the path of its folder, on `cpu`, `mps`, `cuda`, `cuda:1`, or `auto`.

    Raises CheckpointError for a damaged or missing checkpoint, ValueError for a device that is not there.
    """
    return checkpoints.load(name, devices.choose(device))


@torch.inference_mode()
def analyse(checkpoint: Checkpoint, request: Request, most: int | None = None, known: Analysis | None = None) -> Analysis:
    """Translates, or reads the given target, and records every layer, head and step.

    Where the same request without edits has been analysed, what was decoded in it is `known` and not decoded anew.

    A model without a decoder reads the source and says what stands at each place, or which label it has; one without an
    encoder goes on with it.
    Raises RequestError where the source, the target or the prefix is longer than the text limit, and where the arrays would
    take more than `most` bytes.
    """
    edit = request.intervention
    added = padding(checkpoint, request)
    rows = sources(checkpoint, request, added)
    source = rows[0] if rows else None
    longest = len(source) if source is not None else 0
    donor = donor_of(checkpoint, edit, source)
    edit.check(checkpoint.config, longest, bool(checkpoint.means), donor and donor.partners)
    made = _Analyses(checkpoint, request, source, added, most)
    if donor is not None:
        made.known["unpaired"] = unpaired(checkpoint, source, donor)
    if "decoder" not in checkpoint.config.kinds:
        return made.read()
    recorder = Recorder()
    if known is None:
        tree, *others = target_of(checkpoint, request, rows, recorder)
        made.known["other_translations"] = tuple(checkpoint.target_tokenizer.decode(other[0].ids) for other in others)
        made.known["other_lengths"] = tuple(len(other[0].ids) for other in others)
    else:
        tree = known.tree
        made.known |= {name: getattr(known, name) for name in ("other_translations", "other_lengths")}
    plain = shown(tree, request)
    made.check_size(plain, 2 if edit else 1)
    stepwise = not checkpoint.config.causal and request.target is None
    if not edit:
        return made.unedited(plain, tree, recorder, stepwise, request)
    unedited = dataclasses.replace(request, intervention=BASELINE, pad=added)
    if request.mode == "given":
        before, after = teacher_force(checkpoint, source, plain.ids, [BASELINE, edit])
        return made.edited(plain, tree, after, made.of(plain, tree, before, request=unedited))
    recorder_again = Recorder()
    again = decode(checkpoint, request, rows, edit, recorder_again)[0]
    path = shown(again, request)
    made.check_size(path, 3 if checkpoint.config.causal else 4)
    if known is not None and known.is_over(source, plain.ids) and (stepwise or checkpoint.config.causal):
        baseline = dataclasses.replace(known, request=unedited)
    else:  # compared with tokens that were chosen one by one, nothing that follows seen
        baseline = made.unedited(plain, tree, recorder, not checkpoint.config.causal, unedited)
    if edit.causal_mask and checkpoint.config.causal:
        return made.edited(path, again, made.whole(path, edit, recorder_again), baseline)
    return made.stepwise(path, again, edit, baseline=baseline, no_op_blocks=made.no_ops(path.ids))


class _Analyses:
    """Makes the analyses of one request: what all of them know, and how each is put together."""

    def __init__(
        self, checkpoint: Checkpoint, request: Request, source: list[int] | None, added: int, most: int | None
    ) -> None:
        self.checkpoint, self.request, self.source, self.added, self.most = checkpoint, request, source, added, most
        real = [i for i in source or () if i not in (PAD, START, END)]
        words = checkpoint.seen.words if checkpoint.seen else {}
        self.known: dict[str, Any] = {
            "checkpoint": checkpoint.name,
            "begun": len(begun(checkpoint, request)),
            "rare_words": rare_words(checkpoint.source_tokenizer, real, words) if words else (),
            "seen": checkpoint.seen,
            "worth": read_signs(checkpoint.metrics),
            "batch_padding": source.count(PAD) - added if source is not None else 0,
        }

    def of(self, path: Hypothesis, tree: Tree, trace: Trace, **more: Any) -> Analysis:
        """The analysis of a path of a tree, which the trace has scored."""
        path = Hypothesis(path.ids, tuple(float(p) for p in trace.token_log_probs))
        text = self.checkpoint.target_tokenizer.decode(path.ids)
        tree = Tree((path,)) if self.request.target is not None else tree
        given = {"request": self.request, "translation": text, "trace": trace, "tree": tree, "hypothesis": path}
        return Analysis(**(given | self.known | more))

    def whole(self, path: Hypothesis, edit: Intervention, recorder: Recorder) -> Trace:
        """The trace over a path: what decoding recorded of it, else that of a pass over it."""
        found = recorded(self.checkpoint, self.source, path.ids, recorder)
        return found or teacher_force(self.checkpoint, self.source, path.ids, [edit])[0]

    def unedited(self, path: Hypothesis, tree: Tree, recorder: Recorder, stepwise: bool, request: Request) -> Analysis:
        """The analysis without edits, of a request that may differ; `stepwise` where no step may see what follows it."""
        if stepwise:
            return self.stepwise(path, tree, BASELINE, request=request)
        return self.of(path, tree, self.whole(path, BASELINE, recorder), request=request)

    def edited(self, path: Hypothesis, tree: Tree, trace: Trace, baseline: Analysis) -> Analysis:
        """The same under the edits, beside the baseline."""
        return self.of(path, tree, trace, baseline=baseline, no_op_blocks=self.no_ops(path.ids))

    def stepwise(self, path: Hypothesis, tree: Tree, edit: Intervention, **more: Any) -> Analysis:
        """Without a causal mask: one pass a step, each over the prefix that chose its token. The rows that chose stay."""
        model, edits = self.checkpoint.model, edits_of(self.checkpoint, self.source, [edit])
        source = _batch(self.source, 1, self.checkpoint.device)
        steps = [_step(probe, logits) for probe, logits in whole.passes(model, source, path.ids, edits)]
        (last,) = teacher_force(self.checkpoint, self.source, path.ids, [edit])
        return self.of(path, tree, _gather(steps, last), last=last, **more)

    def check_size(self, path: Hypothesis | None, traces: int) -> None:
        """Raises RequestError where so many traces over a path are too large."""
        size.check(self.checkpoint.config, len(self.source or ()), len(path.ids) if path else 0, traces, self.most)

    def read(self) -> Analysis:
        """Of a model without a decoder: one pass over the source, under the edits and without."""
        edit = self.request.intervention
        self.check_size(None, 1 + bool(edit))
        before, *after = teacher_force(self.checkpoint, self.source, None, [BASELINE, edit][: 1 + bool(edit)])
        unedited = dataclasses.replace(self.request, intervention=BASELINE, pad=self.added)
        plain: dict[str, Any] = {"translation": "", "tree": None, "hypothesis": None} | self.known
        told: list[float | None] = [None] * (1 + bool(edit))
        if self.request.second:
            told = [*following(self.checkpoint, self.source, [BASELINE, edit][: 1 + bool(edit)])]
            plain["turned"] = following(self.checkpoint, turned(self.source))[0]
        baseline = Analysis(request=unedited, trace=before, follows=told[0], **plain)
        if not after:
            return dataclasses.replace(baseline, request=self.request)
        more = {"no_op_blocks": self.no_ops(None), "follows": told[1]}
        return Analysis(request=self.request, trace=after[0], baseline=baseline, **more, **plain)

    def no_ops(self, target: Sequence[int] | None) -> tuple[Block, ...]:
        """Blocks that change nothing, for the mask forbids what they name; those that wait for their step are left out."""
        edit = self.request.intervention
        waiting = edit.waiting(len(target or ()))
        blocks = [each for each in edit.edits if "change_mask" in each.hooks and each not in waiting]
        if not blocks:
            return ()
        source, outputs = _batch(self.source, 1), _batch(target, 1)
        inputs = None if outputs is None else shifted(outputs)
        return masks.no_op_blocks(masks.build(self.checkpoint.config, source, inputs, [edit]), blocks)


@torch.inference_mode()
def teacher_force(
    checkpoint: Checkpoint, source: Sequence[int] | None, target: Sequence[int] | None, edits: Sequence[Intervention]
) -> list[Trace]:
    """One pass over a given target under each of the interventions, as one batch; a trace for each.

    `source` may end in padding; `target` is what is predicted, without `<s>`. None for a side that the model does not have.
    """
    rows, device = len(edits), checkpoint.device
    probe, outputs = Probe("maps"), _batch(target, rows, device)
    at = Pass(edits_of(checkpoint, source, edits), probe)
    ids = _batch(source, rows, device)
    hidden = forced(checkpoint.model, ids, outputs, at)
    return _traces(checkpoint, source, target, probe, checkpoint.model.answer(hidden, ids).float())


@torch.inference_mode()
def log_probs(
    checkpoint: Checkpoint, source: Sequence[int] | None, target: Sequence[int] | None, edits: Sequence[Intervention]
) -> torch.Tensor:
    """The same pass without a record: of every token at each place, under each intervention, [N,T,V]; of a classifier of
    each label, [N,1,C]."""
    hidden = _hidden(checkpoint, source, target, edits)
    return checkpoint.model.answer(hidden, _batch(source, len(edits), checkpoint.device)).float().log_softmax(-1)


def _hidden(
    checkpoint: Checkpoint, source: Sequence[int] | None, target: Sequence[int] | None, edits: Sequence[Intervention]
) -> torch.Tensor:
    """What is projected, [N,T,D]."""
    rows, device = len(edits), checkpoint.device
    at = Pass(edits_of(checkpoint, source, edits))
    return forced(checkpoint.model, _batch(source, rows, device), _batch(target, rows, device), at)


@torch.inference_mode()
def target_log_probs(
    checkpoint: Checkpoint, source: Sequence[int] | None, target: Sequence[int] | None, edits: Sequence[Intervention]
) -> np.ndarray:
    """Log-probability of each target token, without a decoder of each source token, under each intervention: [N,T]; of a
    classifier that of the label that the first one gives, [N,1]."""
    if checkpoint.config.classes:
        logs = log_probs(checkpoint, source, target, edits)[:, 0]  # [N,C]
        return _frozen(logs[:, logs[0].argmax(), None].cpu().numpy())
    hidden = _hidden(checkpoint, source, target, edits)  # [N,T,D]
    chosen = _batch(source if target is None else target, len(edits), checkpoint.device)[..., None]  # [N,T,1]
    config = checkpoint.config
    each = max(1, LOGITS // (hidden.size(1) * (config.source_vocab if target is None else config.target_vocab)))
    found = [
        checkpoint.model.project(rows).float().log_softmax(-1).gather(-1, ids)[..., 0]
        for rows, ids in zip(hidden.split(each), chosen.split(each), strict=True)
    ]
    return _frozen(torch.cat(found).cpu().numpy())


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
    return [_trace(axes, probe, row, _frozen(log_probs[row]), _frozen(totals[row]), classes) for row in rows]


def _batch(ids: Sequence[int] | None, rows: int, device: torch.device | str = "cpu") -> torch.Tensor | None:
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
class _Step:
    """What one step leaves behind: copies of its last query's rows, so that the rest of its pass can go."""

    rows: dict[str, dict[Site, np.ndarray]]  # by the name of the trace's field: [H,S], masks [S]; S grows with the steps
    log_probs: np.ndarray  # [V]
    log_total: np.ndarray  # []


def _step(probe: Probe, logits: torch.Tensor) -> _Step:
    """Of a pass over a prefix, with the logits [V] of its last query."""
    rows: dict[str, dict[Site, np.ndarray]] = {"patterns": {}, "scores": {}, "masks": {}, "head_masks": {}}
    for site in probe.records:
        if site.of.queries == "source":
            continue
        pattern, scores, mask = (probe.array(site, name)[..., -1, :].copy() for name in ("pattern", "scores", "mask"))
        rows["patterns"][site], rows["scores"][site] = pattern, scores
        rows["head_masks"][site] = mask if mask.ndim == 2 else np.tile(mask, (len(pattern), 1))
        rows["masks"][site] = rows["head_masks"][site].any(axis=0)
    return _Step(rows, logits.log_softmax(-1).cpu().numpy(), logits.logsumexp(-1).cpu().numpy())


def _gather(steps: Sequence[_Step], last: Trace) -> Trace:
    """The rows that chose the tokens as one trace; what no step had yet is not allowed."""

    def together(name: str, site: Site) -> np.ndarray:
        arrays = [step.rows[name][site] for step in steps]
        out = np.zeros((*arrays[-1].shape[:-1], len(arrays), arrays[-1].shape[-1]), arrays[-1].dtype)
        for t, row in enumerate(arrays):
            out[..., t, : row.shape[-1]] = row
        return _frozen(out)

    def gathered(name: str) -> dict[Site, np.ndarray]:
        return {s: a if s.of.queries == "source" else together(name, s) for s, a in getattr(last, name).items()}

    log_probs, totals = (_frozen(np.stack([getattr(step, name) for step in steps])) for name in ("log_probs", "log_total"))
    maps = (gathered(name) for name in ("patterns", "scores", "masks"))
    return Trace(last.source, last.inputs, last.outputs, *maps, log_probs, gathered("head_masks"), totals)
