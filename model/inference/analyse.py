"""The entry point: analyse(checkpoint, request) -> Analysis."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from model import checkpoint as checkpoints
from model import device as devices
from model.checkpoint import Checkpoint
from model.config import PAD, START
from model.decoding.hypotheses import Hypothesis, Tree
from model.edits.apply import Edits
from model.edits.intervention import BASELINE, Intervention
from model.edits.kinds import Block, Labels
from model.inference.predictions import first_difference, rare_positions
from model.inference.request import Request
from model.inference.targets import decode, shown, sources, target_of
from model.network import masks
from model.text.tokenizer import Tokenizer
from model.trace import Axis, Probe, Site, Trace


def load(name: str = "en-fr", device: str = "auto") -> Checkpoint:
    """A checkpoint by name in `checkpoints/` or by the path of its folder, on `cpu`, `mps`, `cuda`, `cuda:1`, or `auto`.

    Raises CheckpointError for a damaged or missing checkpoint, ValueError for a device that is not there.
    """
    return checkpoints.load(name, devices.choose(device))


@dataclass(frozen=True)
class Analysis:
    """What came of a request. Where something was edited, `baseline` is the same request without the edits."""

    request: Request
    translation: str
    trace: Trace
    tree: Tree
    hypothesis: Hypothesis  # the path of the tree that the trace belongs to
    rare: tuple[int, ...]  # positions of source tokens that were hardly trained on
    rare_words: tuple[str, ...]  # the words that they belong to, each once
    checkpoint: str  # name of the one that answered, whatever the request says
    other_translations: tuple[str, ...] = ()  # of the sentences of the same batch
    baseline: Analysis | None = None
    no_op_blocks: tuple[Block, ...] = ()  # blocks of what the mask forbids already
    steps: tuple[Trace, ...] = ()  # decoded again without the causal mask: one trace a step, each over its own prefix

    @property
    def whole(self) -> Trace:
        """One pass over the whole target; without the causal mask this is not what `trace` has gathered step by step."""
        return self.steps[-1] if self.steps else self.trace

    def former_mask(self, site: Site, head: int | None = None) -> np.ndarray | None:
        """The baseline's mask at a site, where the axes of `whole` are still its own; None without a baseline."""
        if self.baseline is None:
            return None
        mask = self.baseline.trace.mask(site, head)
        return mask if mask.shape == self.whole.masks[site].shape else None

    @property
    def labels(self) -> Labels:
        """The tokens of both sides, for telling edits in words."""
        return Labels(self.trace.source.labels, self.trace.inputs.labels, self.trace.outputs.labels)

    @cached_property
    def comparable(self) -> int:
        """How many first steps may be compared with the baseline's: their inputs are equal up to there."""
        if self.baseline is None:
            return len(self.trace.outputs)
        own, other = self.trace.outputs.ids, self.baseline.trace.outputs.ids
        split = first_difference(own, other)
        return len(own) if split is None else min(split + 1, len(own), len(other))

    @cached_property
    def baseline_token_log_probs(self) -> np.ndarray:
        """Log-probability, under the edits, of the baseline's token at each step that may be compared, [comparable]."""
        ids = (self.baseline or self).trace.outputs.ids[: self.comparable]
        return self.trace.log_probs[np.arange(len(ids)), list(ids)]

    @property
    def how(self) -> str:
        """How the target came about, in a few words."""
        asked = self.request.decoding
        if self.request.target is not None and (self.baseline is None or self.request.mode == "given"):
            return "given target"
        ways = {"greedy": "greedy", "beam": f"beam of {asked.width}", "sample": f"sampled, seed {asked.seed}"}
        how, ids = ways[asked.strategy], self.hypothesis.ids
        if any(ids[: len(branch)] == branch for branch in self.request.branches):
            return f"{how}, branched off"
        rank = next((n for n, h in enumerate(self.tree, 1) if h.ids == ids), 1)
        return f"{how}, given up" if self._given_up else f"{how}, number {rank}" if rank > 1 else how

    @property
    def _given_up(self) -> bool:
        return self.hypothesis.ids in {h.ids for h in self.tree.pruned}

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that a reader of the translation should know."""
        notes = []
        if self._given_up:
            notes.append("This path was given up: the beam went on without it.")
        elif not self.hypothesis.finished:
            notes.append(f"The translation stopped at the limit of {len(self.hypothesis.ids)} tokens.")
        if self.rare:
            more = f" and {len(self.rare_words) - 6} more" if len(self.rare_words) > 6 else ""
            shown = ", ".join(self.rare_words[:6]) + more
            notes.append(f"Unlike its training data: {shown}. Expect little of the translation there.")
        if waiting := self.request.intervention.waiting(len(self.hypothesis.ids)):
            told = "; ".join(edit.text(self.labels) for edit in waiting)
            notes.append(f"Waiting for a step that is not reached: {told}.")
        if self.no_op_blocks:
            told = "; ".join(block.text(self.labels) for block in self.no_op_blocks)
            notes.append(f"The mask forbids it already, so nothing changes: {told}.")
        if self.trace.fully_masked_rows and self.baseline is not None:
            rows = len({(site.kind, t) for site, t in self.trace.fully_masked_rows})
            what = "row sees" if rows == 1 else "rows see"
            notes.append(f"{rows} {what} nothing at all: where everything is blocked, the pattern is zeros.")
        return tuple(notes)

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays hold, those of the baseline and of the steps included."""
        return self.trace.nbytes + sum(t.nbytes for t in self.steps) + (self.baseline.nbytes if self.baseline else 0)

    def to_dict(self) -> dict[str, Any]:
        """Text, tokens and probabilities, ready for JSON; maps are left out."""
        return {
            "checkpoint": self.checkpoint,
            "source": self.request.source,
            "translation": self.translation,
            "log_prob": round(self.hypothesis.score, 6),
            "finished": self.hypothesis.finished,
            "source_tokens": list(self.trace.source.labels),
            "tokens": [
                {"token": label, "log_prob": round(float(p), 6)}
                for label, p in zip(self.trace.outputs.labels, self.trace.token_log_probs, strict=True)
            ],
            "notes": list(self.notes),
        }


@torch.inference_mode()
def analyse(checkpoint: Checkpoint, request: Request) -> Analysis:
    """Translates, or reads the given target, and records every layer, head and step.

    Raises RequestError where the source, the target or the prefix is longer than the text limit.
    """
    rows = sources(checkpoint, request, request.padding)
    padded, edit = rows[0], request.intervention
    edit.check(checkpoint.config, len(padded), bool(checkpoint.means))
    tree, *others = target_of(checkpoint, request, rows)
    plain = shown(tree, request)
    source = [i for i in padded if i != PAD]
    rare = rare_positions(source, checkpoint.counts["source"]) if "source" in checkpoint.counts else ()
    known = {
        "checkpoint": checkpoint.name,
        "rare": rare,
        "rare_words": _words_at(checkpoint.source_tokenizer, source, rare),
        "other_translations": tuple(checkpoint.target_tokenizer.decode(other[0].ids) for other in others),
    }

    def analysis(path: Hypothesis, of: Tree, trace: Trace, asked: Request = request, **more: Any) -> Analysis:
        path = Hypothesis(path.ids, tuple(float(p) for p in trace.token_log_probs))
        text = checkpoint.target_tokenizer.decode(path.ids)
        of = Tree((path,)) if asked.target is not None else of
        return Analysis(asked, text, trace, of, path, **known, **more)

    if not edit and not checkpoint.config.causal and request.target is None:
        steps = _steps(checkpoint, padded, plain.ids, BASELINE)
        return analysis(plain, tree, _gather(steps), steps=steps)
    if not edit:
        (trace,) = teacher_force(checkpoint, padded, plain.ids, [BASELINE])
        return analysis(plain, tree, trace)
    before, *after = teacher_force(checkpoint, padded, plain.ids, [BASELINE, edit][: 1 + (request.mode == "given")])
    baseline = analysis(plain, tree, before, dataclasses.replace(request, intervention=BASELINE, pad=request.padding))
    if after:
        return analysis(
            plain, tree, after[0], baseline=baseline, no_op_blocks=_no_op_blocks(checkpoint, padded, plain.ids, edit)
        )
    again = decode(checkpoint, request, rows, edit)[0]
    path = shown(again, request)
    no_ops = _no_op_blocks(checkpoint, padded, path.ids, edit)
    if edit.causal_mask and checkpoint.config.causal:
        (trace,) = teacher_force(checkpoint, padded, path.ids, [edit])
        return analysis(path, again, trace, baseline=baseline, no_op_blocks=no_ops)
    steps = _steps(checkpoint, padded, path.ids, edit)
    return analysis(path, again, _gather(steps), baseline=baseline, no_op_blocks=no_ops, steps=steps)


@torch.inference_mode()
def teacher_force(
    checkpoint: Checkpoint, source: Sequence[int], target: Sequence[int], edits: Sequence[Intervention]
) -> list[Trace]:
    """One pass over a given target under each of the interventions, as one batch; a trace for each.

    `source` may end in padding; `target` is what is predicted, without `<s>`.
    """
    model, rows = checkpoint.model, len(edits)
    source_ids = torch.tensor([list(source)] * rows, device=checkpoint.device)  # [B,S]
    inputs = torch.tensor([[START, *target[:-1]]] * rows, device=checkpoint.device)  # [B,T]
    seen = masks.build(source_ids, inputs, checkpoint.config.window, edits, checkpoint.config.causal)
    probe = Probe("maps")
    logits = model(source_ids, inputs, seen, probe, Edits(edits, checkpoint.means)).float()  # [B,T,V]
    log_probs, totals = logits.log_softmax(-1).cpu().numpy(), logits.logsumexp(-1).cpu().numpy()  # [B,T,V], [B,T]
    axes = {
        "source": axis(checkpoint.source_tokenizer, source),
        "inputs": axis(checkpoint.target_tokenizer, [START, *target[:-1]]),
        "outputs": axis(checkpoint.target_tokenizer, target),
    }
    return [_trace(axes, probe, row, _frozen(log_probs[row]), _frozen(totals[row])) for row in range(rows)]


def _no_op_blocks(
    checkpoint: Checkpoint, source: Sequence[int], target: Sequence[int], edit: Intervention
) -> tuple[Block, ...]:
    """Blocks that change nothing, for the mask forbids what they name; those that wait for their step are left out."""
    waiting = edit.waiting(len(target))
    blocks = [each for each in edit.edits if isinstance(each, Block) and each not in waiting]
    if not blocks:
        return ()
    ids, inputs = torch.tensor([list(source)]), torch.tensor([[START, *target[:-1]]])
    config = checkpoint.config
    return masks.no_op_blocks(masks.build(ids, inputs, config.window, [edit], config.causal), blocks)


def _trace(axes: dict[str, Axis], probe: Probe, row: int, log_probs: np.ndarray, totals: np.ndarray) -> Trace:
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


def _words_at(tokenizer: Tokenizer, ids: Sequence[int], positions: Sequence[int]) -> tuple[str, ...]:
    """The words at some positions as text, each once; what cannot be seen, as its label."""
    numbers = tokenizer.words(ids)
    found = []
    for word in dict.fromkeys(numbers[i] for i in positions):
        pieces = [i for i, number in zip(ids, numbers, strict=True) if number == word]
        text = tokenizer.decode(pieces).strip()
        found.append(text if text.isprintable() and text else "".join(tokenizer.pieces(pieces)))
    return tuple(dict.fromkeys(found))


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def _steps(checkpoint: Checkpoint, source: list[int], ids: Sequence[int], edit: Intervention) -> tuple[Trace, ...]:
    """Without a causal mask: one trace a step, each over the prefix that chose its token."""
    return tuple(teacher_force(checkpoint, source, ids[: t + 1], [edit])[0] for t in range(len(ids)))


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
        return {s: a if s.kind == "encoder" else rows(name, s) for s, a in getattr(last, name).items()}

    log_probs = _frozen(np.stack([step.log_probs[-1] for step in steps]))
    maps = (gathered(name) for name in ("patterns", "scores", "masks"))
    totals = _frozen(np.stack([step.log_totals[-1] for step in steps]))
    return Trace(last.source, last.inputs, last.outputs, *maps, log_probs, gathered("head_masks"), totals)


def _last_row(step: Trace, name: str, site: Site) -> np.ndarray:
    """The last query's row of an array; of a site without masks of its own heads, the common one for each head."""
    if name == "head_masks" and site not in step.head_masks:
        return np.broadcast_to(step.masks[site][-1], (len(step.patterns[site]), step.masks[site].shape[-1]))
    return getattr(step, name)[site][..., -1, :]
