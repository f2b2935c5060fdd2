"""The entry point: analyse(checkpoint, request) -> Analysis.

Of two sentences: whether the second follows the first, as a model with such a head says."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from ..checkpoint import Checkpoint


@torch.inference_mode()
def following(checkpoint: Checkpoint, source: Sequence[int], edits: Sequence[Intervention] = (BASELINE,)) -> list[float]:
    """The probability that the second of two sentences follows the first, under each of some interventions; `source` are
    the ids of both, and may end in padding."""
    ids = torch.tensor([list(source)] * len(edits), device=checkpoint.device)  # [N,S]
    hidden = forced(checkpoint.model, ids, None, Pass(edits_of(checkpoint, source, edits)))  # [N,S,D]
    return checkpoint.model.following(hidden, ids).double().log_softmax(-1).exp()[:, 0].tolist()


def turned(source: Sequence[int]) -> list[int]:
    """The ids of two sentences with the second one first; padding is left out."""
    real = [token for token in source if token != PAD]
    middle, last = (n for n, token in enumerate(real) if token == END)
    start = int(real[0] == START)
    return [*real[:start], *real[middle + 1 : last], END, *real[start:middle], END]


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
    A request that names no checkpoint gets the name of this one.
    Raises RequestError where the request names another checkpoint, where the source, the target or the prefix is longer than
    the text limit, and where the arrays would take more than `most` bytes.
    """
    request = fill_checkpoint(checkpoint, request)
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
        source = batch(self.source, 1, self.checkpoint.device)
        steps = [step_of(probe, logits) for probe, logits in uncached.passes(model, source, path.ids, edits)]
        (last,) = teacher_force(self.checkpoint, self.source, path.ids, [edit])
        return self.of(path, tree, gathered(steps, last), last=last, **more)

    def check_size(self, path: Hypothesis | None, traces: int) -> None:
        """Raises RequestError where so many traces over a path are too large."""
        passes.check(self.checkpoint.config, len(self.source or ()), len(path.ids) if path else 0, traces, self.most)

    def read(self) -> Analysis:
        """Of a model without a decoder: one pass over the source, under the edits and without."""
        edit = self.request.intervention
        self.check_size(None, 1 + bool(edit))
        before, *after = teacher_force(self.checkpoint, self.source, None, [BASELINE, edit][: 1 + bool(edit)])
        unedited = dataclasses.replace(self.request, intervention=BASELINE, pad=self.added)
        plain: dict[str, Any] = {"translation": "", "tree": None, "hypothesis": None} | self.known
        told: list[float | None] = [None, None] if edit else [None]
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
        source, outputs = batch(self.source, 1), batch(target, 1)
        inputs = None if outputs is None else shifted(outputs)
        return masks.no_op_blocks(masks.build(self.checkpoint.config, source, inputs, [edit]), blocks)
