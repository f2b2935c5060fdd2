"""The entry point: analyse(checkpoint, request) -> Analysis. Also next-sentence prediction."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import torch

from .. import checkpoint as checkpoints
from .. import device as devices
from ..checkpoint import Checkpoint
from ..config import END, PAD, START
from ..decoding import uncached
from ..decoding.hypotheses import Hypothesis, Tree
from ..decoding.uncached import Recorder
from ..edits.intervention import BASELINE, Intervention
from ..edits.kinds import Block
from ..network import masks
from ..network.context import Pass, forced, shifted
from ..text.warning_calibration import read_signs
from ..trace import Trace
from . import passes
from .analysis import Analysis
from .cautions import rare_words
from .passes import batch, gathered, recorded, step_of, teacher_force
from .request import Request
from .source_reading import donor_of, edits_of, unpaired
from .targets import begun, decode, fill_checkpoint, padding, shown, sources, target_of


@torch.inference_mode()
def following(checkpoint: Checkpoint, source: Sequence[int], edits: Sequence[Intervention] = (BASELINE,)) -> list[float]:
    """Returns the probability that the second sentence follows the first, under each intervention.

    `source` has the ids of both sentences and may end in padding.
    """
    ids = torch.tensor([list(source)] * len(edits), device=checkpoint.device)  # [N,S]
    hidden = forced(checkpoint.model, ids, None, Pass(edits_of(checkpoint, source, edits)))  # [N,S,D]
    return checkpoint.model.following(hidden, ids).double().log_softmax(-1).exp()[:, 0].tolist()


def turned(source: Sequence[int]) -> list[int]:
    """Returns the ids of two sentences in swapped order, without padding."""
    real = [token for token in source if token != PAD]
    middle, last = (n for n, token in enumerate(real) if token == END)
    start = int(real[0] == START)
    return [*real[:start], *real[middle + 1 : last], END, *real[start:middle], END]


def load(name: str = "en-fr", device: str = "auto") -> Checkpoint:
    """Returns a checkpoint by name or folder, on `cpu`, `mps`, `cuda`, `cuda:1` or `auto`.

    Raises CheckpointError for a damaged or missing checkpoint, ValueError for a device that is not available.
    """
    return checkpoints.load(name, devices.choose(device))


@torch.inference_mode()
def analyse(checkpoint: Checkpoint, request: Request, most: int | None = None, known: Analysis | None = None) -> Analysis:
    """Translates, or reads the given target, and records every layer, head and step.

    A model without a decoder predicts each source token or the label; a model without an encoder continues the text.
    `known` is an analysis of the same request without edits, whose decoding is reused.
    A request that names no checkpoint gets the name of this one.

    Raises RequestError where the request names another checkpoint, where the source, the target or the prefix exceeds the
    text limit, and where the arrays would take more than `max_bytes` bytes.
    """
    request = fill_checkpoint(checkpoint, request)
    edit = request.intervention
    added = padding(checkpoint, request)
    rows = sources(checkpoint, request, added)
    source = rows[0] if rows else None
    longest = len(source) if source is not None else 0
    donor = donor_of(checkpoint, edit, source)
    edit.check(checkpoint.config, longest, bool(checkpoint.means), donor and donor.partners)
    builder = _AnalysisBuilder(checkpoint, request, source, added, most)
    if donor is not None:
        builder.known["unpaired"] = unpaired(checkpoint, source, donor)
    if "decoder" not in checkpoint.config.kinds:
        return builder.read()
    recorder = Recorder()
    if known is None:
        tree, *others = target_of(checkpoint, request, rows, recorder)
        builder.known["other_translations"] = tuple(checkpoint.target_tokenizer.decode(other[0].ids) for other in others)
        builder.known["other_lengths"] = tuple(len(other[0].ids) for other in others)
    else:
        tree = known.tree
        builder.known |= {name: getattr(known, name) for name in ("other_translations", "other_lengths")}
    plain = shown(tree, request)
    builder.check_size(plain, 2 if edit else 1)
    stepwise = not checkpoint.config.causal and request.target is None
    if not edit:
        return builder.unedited(plain, tree, recorder, stepwise, request)
    unedited = dataclasses.replace(request, intervention=BASELINE, pad=added)
    if request.mode == "given":
        before, after = teacher_force(checkpoint, source, plain.ids, [BASELINE, edit])
        return builder.edited(plain, tree, after, builder.build(plain, tree, before, request=unedited))
    recorder_again = Recorder()
    again = decode(checkpoint, request, rows, edit, recorder_again)[0]
    path = shown(again, request)
    builder.check_size(path, 3 if checkpoint.config.causal else 4)
    if known is not None and known.is_over(source, plain.ids) and (stepwise or checkpoint.config.causal):
        baseline = dataclasses.replace(known, request=unedited)
    else:  # compared with tokens that were chosen without later ones
        baseline = builder.unedited(plain, tree, recorder, not checkpoint.config.causal, unedited)
    if edit.causal_mask and checkpoint.config.causal:
        return builder.edited(path, again, builder.full_trace(path, edit, recorder_again), baseline)
    return builder.stepwise(path, again, edit, baseline=baseline, no_op_blocks=builder.no_ops(path.ids))


class _AnalysisBuilder:
    """Builds the analyses of one request from their common fields."""

    def __init__(
        self, checkpoint: Checkpoint, request: Request, source: list[int] | None, added: int, max_bytes: int | None
    ) -> None:
        self.checkpoint, self.request, self.source = checkpoint, request, source
        self.added, self.max_bytes = added, max_bytes
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

    def build(self, path: Hypothesis, tree: Tree, trace: Trace, **more: Any) -> Analysis:
        """Returns the analysis of a path of a tree, scored by the trace."""
        path = Hypothesis(path.ids, tuple(float(p) for p in trace.token_log_probs))
        text = self.checkpoint.target_tokenizer.decode(path.ids)
        tree = Tree((path,)) if self.request.target is not None else tree
        fields = {"request": self.request, "translation": text, "trace": trace, "tree": tree, "hypothesis": path}
        return Analysis(**(fields | self.known | more))

    def full_trace(self, path: Hypothesis, edit: Intervention, recorder: Recorder) -> Trace:
        """Returns the trace over a path, recorded by decoding or else by a teacher-forced pass."""
        trace = recorded(self.checkpoint, self.source, path.ids, recorder)
        return trace or teacher_force(self.checkpoint, self.source, path.ids, [edit])[0]

    def unedited(self, path: Hypothesis, tree: Tree, recorder: Recorder, stepwise: bool, request: Request) -> Analysis:
        """Returns the analysis without edits; with `stepwise`, no step attends to later tokens."""
        if stepwise:
            return self.stepwise(path, tree, BASELINE, request=request)
        return self.build(path, tree, self.full_trace(path, BASELINE, recorder), request=request)

    def edited(self, path: Hypothesis, tree: Tree, trace: Trace, baseline: Analysis) -> Analysis:
        """Returns the analysis under the edits, with its baseline."""
        return self.build(path, tree, trace, baseline=baseline, no_op_blocks=self.no_ops(path.ids))

    def stepwise(self, path: Hypothesis, tree: Tree, edit: Intervention, **more: Any) -> Analysis:
        """Returns the analysis without a causal mask: one pass a step, over the prefix that chose its token."""
        model, edits = self.checkpoint.model, edits_of(self.checkpoint, self.source, [edit])
        source = batch(self.source, 1, self.checkpoint.device)
        steps = [step_of(probe, logits) for probe, logits in uncached.passes(model, source, path.ids, edits)]
        (last,) = teacher_force(self.checkpoint, self.source, path.ids, [edit])
        return self.build(path, tree, gathered(steps, last), last=last, **more)

    def check_size(self, path: Hypothesis | None, traces: int) -> None:
        """Raises RequestError where this number of traces over a path is too large."""
        passes.check(self.checkpoint.config, len(self.source or ()), len(path.ids) if path else 0, traces, self.max_bytes)

    def read(self) -> Analysis:
        """Returns the analysis of a model without a decoder: one pass over the source, with and without the edits."""
        edit = self.request.intervention
        self.check_size(None, 1 + bool(edit))
        before, *after = teacher_force(self.checkpoint, self.source, None, [BASELINE, edit][: 1 + bool(edit)])
        unedited = dataclasses.replace(self.request, intervention=BASELINE, pad=self.added)
        plain: dict[str, Any] = {"translation": "", "tree": None, "hypothesis": None} | self.known
        probabilities: list[float | None] = [None, None] if edit else [None]
        if self.request.second:
            probabilities = [*following(self.checkpoint, self.source, [BASELINE, edit][: 1 + bool(edit)])]
            plain["turned"] = following(self.checkpoint, turned(self.source))[0]
        baseline = Analysis(request=unedited, trace=before, follows=probabilities[0], **plain)
        if not after:
            return dataclasses.replace(baseline, request=self.request)
        more = {"no_op_blocks": self.no_ops(None), "follows": probabilities[1]}
        return Analysis(request=self.request, trace=after[0], baseline=baseline, **more, **plain)

    def no_ops(self, target: Sequence[int] | None) -> tuple[Block, ...]:
        """Returns the blocks of positions that the mask forbids already, without blocks that wait for their step."""
        edit = self.request.intervention
        waiting = edit.waiting(len(target or ()))
        blocks = [each for each in edit.edits if "change_mask" in each.hooks and each not in waiting]
        if not blocks:
            return ()
        source, outputs = batch(self.source, 1), batch(target, 1)
        inputs = None if outputs is None else shifted(outputs)
        return masks.no_op_blocks(masks.build(self.checkpoint.config, source, inputs, [edit]), blocks)
