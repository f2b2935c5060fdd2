"""The one door: analyse(checkpoint, request) -> Analysis."""

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
from model import masks
from model.analysis import first_difference, rare_positions
from model.checkpoint import Checkpoint
from model.config import END, MAX_TOKENS, PAD, START
from model.decoding import Hypothesis, Tree, beam, greedy
from model.intervention import BASELINE, Intervention
from model.request import PAD_WHEN_UNMASKED, Request, RequestError
from model.tokenizer import Tokenizer
from model.trace import Axis, Probe, Site, Trace


def load(name: str = "en-fr", device: str = "cpu") -> Checkpoint:
    """A checkpoint by name in `checkpoints/` or by the path of its folder, on `cpu`, `cuda`, `mps` or `auto`.

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
    rare: tuple[int, ...]  # positions of source tokens that were hardly trained on
    rare_words: tuple[str, ...]  # the words that they belong to, each once
    baseline: Analysis | None = None
    steps: tuple[Trace, ...] = ()  # decoded again without the causal mask: one trace a step, each over its own prefix

    @property
    def hypothesis(self) -> Hypothesis:
        return self.tree.hypotheses[0]

    @property
    def whole(self) -> Trace:
        """One pass over the whole target; without the causal mask this is not what `trace` has gathered step by step."""
        return self.steps[-1] if self.steps else self.trace

    def former_mask(self, site: Site) -> np.ndarray | None:
        """The baseline's mask at a site, where the axes of `whole` are still its own; None without a baseline."""
        if self.baseline is None:
            return None
        mask = self.baseline.trace.masks[site]
        return mask if mask.shape == self.whole.masks[site].shape else None

    @cached_property
    def comparable(self) -> int:
        """How many first steps may be compared with the baseline's: their inputs are equal up to there."""
        if self.baseline is None:
            return len(self.trace.outputs)
        own, other = self.trace.outputs.ids, self.baseline.trace.outputs.ids
        split = first_difference(own, other)
        return len(own) if split is None else min(split + 1, len(own), len(other))

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that a reader of the translation should know."""
        notes = []
        if not self.hypothesis.finished:
            notes.append(f"The translation stopped at the limit of {len(self.hypothesis.ids)} tokens.")
        if self.rare:
            more = f" and {len(self.rare_words) - 6} more" if len(self.rare_words) > 6 else ""
            shown = ", ".join(self.rare_words[:6]) + more
            notes.append(f"Unlike its training data: {shown}. Expect little of the translation there.")
        return tuple(notes)

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays hold, those of the baseline and of the steps included."""
        return self.trace.nbytes + sum(t.nbytes for t in self.steps) + (self.baseline.nbytes if self.baseline else 0)

    def to_dict(self) -> dict[str, Any]:
        """Text, tokens and probabilities, ready for JSON; maps are left out."""
        return {
            "checkpoint": self.request.checkpoint,
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
    source = [*_encode(checkpoint.source_tokenizer, request.source, "sentence"), END]
    padded = [*source, *[PAD] * request.padding]
    found = _target(checkpoint, request, padded)
    plain = found[0]
    rare = rare_positions(source, checkpoint.counts["source"]) if "source" in checkpoint.counts else ()
    rare_words = _words_at(checkpoint.source_tokenizer, source, rare)
    edit = request.intervention

    def analysis(paths: Sequence[Hypothesis], trace: Trace, asked: Request = request, **more: Any) -> Analysis:
        text = checkpoint.target_tokenizer.decode(paths[0].ids)
        return Analysis(asked, text, trace, Tree(tuple(paths)), rare, rare_words, **more)

    unedited = dataclasses.replace(request, intervention=BASELINE, pad=request.padding)

    if not edit:
        (trace,) = teacher_force(checkpoint, padded, plain.ids, [BASELINE])
        return analysis(_scored(found, trace), trace)
    if request.mode == "given":
        before, after = teacher_force(checkpoint, padded, plain.ids, [BASELINE, edit])
        baseline = analysis(_scored(found, before), before, unedited)
        return analysis(_scored([plain], after), after, baseline=baseline)
    (before,) = teacher_force(checkpoint, padded, plain.ids, [BASELINE])
    baseline = analysis(_scored(found, before), before, unedited)
    again = _decode(checkpoint, request, padded, edit)
    if edit.causal_mask:
        (trace,) = teacher_force(checkpoint, padded, again[0].ids, [edit])
        return analysis(again, trace, baseline=baseline)
    ids = again[0].ids
    steps = tuple(teacher_force(checkpoint, padded, ids[: t + 1], [edit])[0] for t in range(len(ids)))
    return analysis(again, _gather(steps), baseline=baseline, steps=steps)


@dataclass(frozen=True)
class Effect:
    """What switching one thing off does to the probability of a given target, beside the unedited row of the batch."""

    intervention: Intervention
    pad: int
    labels: tuple[str, ...]  # the target's tokens
    before: np.ndarray  # log-probability of each token in nats, [T]
    after: np.ndarray  # the same under the intervention

    @property
    def change(self) -> float:
        """Change in the summed log-probability, in nats."""
        return float(self.after.sum() - self.before.sum())

    def losses(self, least: float = 0.1) -> tuple[int, ...]:
        """Steps whose probability falls by more than `least`, the largest fall first."""
        fall = np.exp(self.before) - np.exp(self.after)
        return tuple(int(i) for i in np.argsort(-fall, kind="stable") if fall[i] > least)


@torch.inference_mode()
def mask_effects(checkpoint: Checkpoint, request: Request) -> dict[str, Effect]:
    """What switching off the causal mask, and the padding mask, would do to the target of the request: one batch.

    Keys `causal_mask` and `padding_mask`. The request's own intervention does not matter; without padding there are 4.
    Raises RequestError as `analyse` does.
    """
    source = [*_encode(checkpoint.source_tokenizer, request.source, "sentence"), END]
    pad = request.pad or PAD_WHEN_UNMASKED
    target = _target(checkpoint, request, [*source, *[PAD] * request.pad])[0].ids
    edits = {"causal_mask": Intervention(causal_mask=False), "padding_mask": Intervention(padding_mask=False)}
    before, *after = teacher_force(checkpoint, [*source, *[PAD] * pad], target, [BASELINE, *edits.values()])
    return {
        name: Effect(edit, pad, before.outputs.labels, before.token_log_probs, trace.token_log_probs)
        for (name, edit), trace in zip(edits.items(), after, strict=True)
    }


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
    seen = masks.build(source_ids, inputs, checkpoint.config.window, edits)
    probe = Probe("maps")
    log_probs = model(source_ids, inputs, seen, probe).float().log_softmax(-1)  # [B,T,V]
    axes = {
        "source": axis(checkpoint.source_tokenizer, source),
        "inputs": axis(checkpoint.target_tokenizer, [START, *target[:-1]]),
        "outputs": axis(checkpoint.target_tokenizer, target),
    }
    return [
        Trace(
            **axes,
            patterns={site: probe.array(site, "pattern", row) for site in probe.records},
            scores={site: probe.array(site, "scores", row) for site in probe.records},
            masks={site: probe.array(site, "mask", row) for site in probe.records},
            log_probs=_frozen(log_probs[row].cpu().numpy()),
        )
        for row in range(rows)
    ]


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


def _encode(tokenizer: Tokenizer, text: str, what: str) -> list[int]:
    ids = tokenizer.encode(text.strip())
    if len(ids) + 1 > MAX_TOKENS:
        raise RequestError(
            f"The {what} has {len(ids) + 1} tokens, </s> included; expected at most {MAX_TOKENS}. Shorten it."
        )
    return ids


def _prefix(checkpoint: Checkpoint, request: Request) -> list[int]:
    ids, limit = _encode(checkpoint.target_tokenizer, request.prefix, "prefix"), request.decoding.limit
    if len(ids) >= limit:
        raise RequestError(f"The prefix has {len(ids)} tokens; expected fewer than the limit of {limit}. Shorten it.")
    return ids


def _target(checkpoint: Checkpoint, request: Request, source: list[int]) -> Sequence[Hypothesis]:
    """The target without edits, the best first: the one given, else the model's own."""
    if request.target is not None:
        ids = (*_encode(checkpoint.target_tokenizer, request.target, "target"), END)
        return (Hypothesis(ids, (0.0,) * len(ids)),)  # scored by the pass that follows
    return _decode(checkpoint, request, source, BASELINE)


def _decode(checkpoint: Checkpoint, request: Request, source: list[int], edit: Intervention) -> Sequence[Hypothesis]:
    """What decoding finds under an intervention, the best first."""
    prefix, asked = _prefix(checkpoint, request), request.decoding
    ids = torch.tensor([source], device=checkpoint.device)
    if asked.strategy == "beam":
        return beam(checkpoint.model, ids, asked.width, asked.alpha, [edit], prefix, asked.limit)[0]
    return greedy(checkpoint.model, ids, [edit], prefix, asked.limit)


def _scored(paths: Sequence[Hypothesis], trace: Trace) -> Sequence[Hypothesis]:
    """The same, the first with the log-probabilities of its trace."""
    return (Hypothesis(paths[0].ids, tuple(float(p) for p in trace.token_log_probs)), *paths[1:])


def _gather(steps: Sequence[Trace]) -> Trace:
    """The last row of every step, the one that chose a token, as one trace; what no step had yet is not allowed."""
    last = steps[-1]

    def rows(name: str, site: Site) -> np.ndarray:
        arrays = [getattr(step, name)[site][..., -1, :] for step in steps]  # [H,S] or [S] each, S grows
        out = np.zeros((*arrays[-1].shape[:-1], len(arrays), arrays[-1].shape[-1]), arrays[-1].dtype)
        for t, row in enumerate(arrays):
            out[..., t, : row.shape[-1]] = row
        return _frozen(out)

    def gathered(name: str) -> dict[Site, np.ndarray]:
        return {s: a if s.kind == "encoder" else rows(name, s) for s, a in getattr(last, name).items()}

    log_probs = _frozen(np.stack([step.log_probs[-1] for step in steps]))
    return Trace(
        last.source, last.inputs, last.outputs, gathered("patterns"), gathered("scores"), gathered("masks"), log_probs
    )
