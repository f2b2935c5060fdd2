"""The entry point: analyse(checkpoint, request) -> Analysis."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from model import checkpoint as checkpoints
from model import device as devices
from model.checkpoint import Checkpoint
from model.config import END, PAD
from model.decoding.hypotheses import Hypothesis, Tree
from model.edits.apply import Edits
from model.edits.intervention import BASELINE, Intervention
from model.edits.kinds import Block
from model.inference.analysis import Analysis
from model.inference.cautions import rare_words
from model.inference.request import Request
from model.inference.targets import decode, padding, shown, sources, target_of
from model.network import masks
from model.network.context import Pass, forced, shifted
from model.text.tokenizer import Tokenizer
from model.text.worth import read as read_worth
from model.trace import Axis, Probe, Site, Trace


def load(name: str = "en-fr", device: str = "auto") -> Checkpoint:
    """A checkpoint by name in `checkpoints/` or by the path of its folder, on `cpu`, `mps`, `cuda`, `cuda:1`, or `auto`.

    Raises CheckpointError for a damaged or missing checkpoint, ValueError for a device that is not there.
    """
    return checkpoints.load(name, devices.choose(device))


@torch.inference_mode()
def analyse(checkpoint: Checkpoint, request: Request) -> Analysis:
    """Translates, or reads the given target, and records every layer, head and step.

    A model without a decoder reads the source and says what stands at each place; one without an encoder goes on with it.
    Raises RequestError where the source, the target or the prefix is longer than the text limit.
    """
    edit = request.intervention
    added = padding(checkpoint, request)
    rows = sources(checkpoint, request, added)
    source = rows[0] if rows else None
    longest = len(source) if source is not None else 0
    edit.check(checkpoint.config, longest, bool(checkpoint.means))
    made = _Analyses(checkpoint, request, source, added)
    if "decoder" not in checkpoint.config.kinds:
        return made.read()
    tree, *others = target_of(checkpoint, request, rows)
    made.known["other_translations"] = tuple(checkpoint.target_tokenizer.decode(other[0].ids) for other in others)
    made.known["other_lengths"] = tuple(len(other[0].ids) for other in others)
    plain = shown(tree, request)
    if not edit and not checkpoint.config.causal and request.target is None:
        return made.stepwise(plain, tree, BASELINE)
    if not edit:
        (trace,) = teacher_force(checkpoint, source, plain.ids, [BASELINE])
        return made.of(plain, tree, trace)
    before, *after = teacher_force(checkpoint, source, plain.ids, [BASELINE, edit][: 1 + (request.mode == "given")])
    unedited = dataclasses.replace(request, intervention=BASELINE, pad=added)
    baseline = made.of(plain, tree, before, request=unedited)
    if after:
        return made.edited(plain, tree, after[0], baseline)
    again = decode(checkpoint, request, rows, edit)[0]
    path = shown(again, request)
    if edit.causal_mask and checkpoint.config.causal:
        (trace,) = teacher_force(checkpoint, source, path.ids, [edit])
        return made.edited(path, again, trace, baseline)
    return made.stepwise(path, again, edit, baseline=baseline, no_op_blocks=made.no_ops(path.ids))


class _Analyses:
    """Makes the analyses of one request: what all of them know, and how each is put together."""

    def __init__(self, checkpoint: Checkpoint, request: Request, source: list[int] | None, added: int) -> None:
        self.checkpoint, self.request, self.source, self.added = checkpoint, request, source, added
        real = [i for i in source or () if i not in (PAD, END)]
        words = checkpoint.seen.words if checkpoint.seen else {}
        self.known: dict[str, Any] = {
            "checkpoint": checkpoint.name,
            "rare_words": rare_words(checkpoint.source_tokenizer, real, words) if words else (),
            "seen": checkpoint.seen,
            "worth": read_worth(checkpoint.metrics),
            "batch_padding": source.count(PAD) - added if source is not None else 0,
        }

    def of(self, path: Hypothesis, tree: Tree, trace: Trace, **more: Any) -> Analysis:
        """The analysis of a path of a tree, which the trace has scored."""
        path = Hypothesis(path.ids, tuple(float(p) for p in trace.token_log_probs))
        text = self.checkpoint.target_tokenizer.decode(path.ids)
        tree = Tree((path,)) if self.request.target is not None else tree
        given = {"request": self.request, "translation": text, "trace": trace, "tree": tree, "hypothesis": path}
        return Analysis(**(given | self.known | more))

    def edited(self, path: Hypothesis, tree: Tree, trace: Trace, baseline: Analysis) -> Analysis:
        """The same under the edits, beside the baseline."""
        return self.of(path, tree, trace, baseline=baseline, no_op_blocks=self.no_ops(path.ids))

    def stepwise(self, path: Hypothesis, tree: Tree, edit: Intervention, **more: Any) -> Analysis:
        """Without a causal mask: one trace a step, each over the prefix that chose its token."""
        steps = tuple(
            teacher_force(self.checkpoint, self.source, path.ids[: t + 1], [edit])[0] for t in range(len(path.ids))
        )
        return self.of(path, tree, _gather(steps), steps=steps, **more)

    def read(self) -> Analysis:
        """Of a model without a decoder: one pass over the source, under the edits and without."""
        edit = self.request.intervention
        before, *after = teacher_force(self.checkpoint, self.source, None, [BASELINE, edit][: 1 + bool(edit)])
        unedited = dataclasses.replace(self.request, intervention=BASELINE, pad=self.added)
        plain = {"translation": "", "tree": None, "hypothesis": None} | self.known
        baseline = Analysis(request=unedited, trace=before, **plain)
        if not after:
            return dataclasses.replace(baseline, request=self.request)
        no_ops = self.no_ops(None)
        return Analysis(request=self.request, trace=after[0], baseline=baseline, no_op_blocks=no_ops, **plain)

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
    hidden = forced(checkpoint.model, _batch(source, rows, device), outputs, Pass(Edits(edits, checkpoint.means), probe))
    logits = checkpoint.model.project(hidden).float()  # [B,T,V]
    log_probs, totals = logits.log_softmax(-1).cpu().numpy(), logits.logsumexp(-1).cpu().numpy()  # [B,T,V], [B,T]
    axes = {
        "source": source and axis(checkpoint.source_tokenizer, source),
        "inputs": target and axis(checkpoint.target_tokenizer, shifted(outputs)[0].tolist()),
        "outputs": target and axis(checkpoint.target_tokenizer, target),
    }
    return [_trace(axes, probe, row, _frozen(log_probs[row]), _frozen(totals[row])) for row in range(rows)]


def _batch(ids: Sequence[int] | None, rows: int, device: torch.device | str = "cpu") -> torch.Tensor | None:
    """The same ids in every row, [B,T]; None for none."""
    return None if ids is None else torch.tensor([list(ids)] * rows, device=device)


def _trace(axes: dict[str, Axis | None], probe: Probe, row: int, log_probs: np.ndarray, totals: np.ndarray) -> Trace:
    """What one row of a batch recorded."""
    patterns, scores, found = (
        {site: probe.array(site, name, row) for site in probe.records} for name in ("pattern", "scores", "mask")
    )
    apart = {site: mask for site, mask in found.items() if mask.ndim == 3 and (mask != mask[:1]).any()}
    together = {site: mask if mask.ndim == 2 else _frozen(mask.any(axis=0)) for site, mask in found.items()}
    return Trace(
        **axes, patterns=patterns, scores=scores, masks=together, log_probs=log_probs, head_masks=apart, log_totals=totals
    )


def axis(tokenizer: Tokenizer, ids: Sequence[int]) -> Axis:
    """Ids with what is shown for them."""
    return Axis(tuple(ids), tokenizer.pieces(ids), tokenizer.words(ids))


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def _gather(steps: Sequence[Trace]) -> Trace:
    """The last row of every step, the one that chose a token, as one trace; what no step had yet is not allowed."""
    last = steps[-1]

    def rows(name: str, site: Site) -> np.ndarray:
        arrays = [_last_row(step, name, site) for step in steps]  # [H,S] or [S] each, S grows
        out = np.zeros((*arrays[-1].shape[:-1], len(arrays), arrays[-1].shape[-1]), arrays[-1].dtype)
        for t, row in enumerate(arrays):
            out[..., t, : row.shape[-1]] = row
        return _frozen(out)

    def gathered(name: str) -> dict[Site, np.ndarray]:
        return {s: a if s.of.queries == "source" else rows(name, s) for s, a in getattr(last, name).items()}

    log_probs = _frozen(np.stack([step.log_probs[-1] for step in steps]))
    maps = (gathered(name) for name in ("patterns", "scores", "masks"))
    totals = _frozen(np.stack([step.log_totals[-1] for step in steps]))
    return Trace(last.source, last.inputs, last.outputs, *maps, log_probs, gathered("head_masks"), totals)


def _last_row(step: Trace, name: str, site: Site) -> np.ndarray:
    """The last query's row of an array; of a site without masks of its own heads, the common one for each head."""
    if name == "head_masks" and site not in step.head_masks:
        return np.broadcast_to(step.masks[site][-1], (len(step.patterns[site]), step.masks[site].shape[-1]))
    return getattr(step, name)[site][..., -1, :]
