"""Measures what edits do to a given target: each edit is one row of a batch, and the first row is unedited.

All heads are ablated in one pass: the batch begins as one unedited row and grows by a row per head before each layer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from ..checkpoint import Checkpoint
from ..config import PAD
from ..decoding.search import choose_greedy
from ..edits.apply import BatchEdits
from ..edits.intervention import BASELINE, Intervention
from ..edits.kinds import Ablate, Place, Skip
from ..inference.analysis import Analysis
from ..inference.passes import scored_rows_and_tokens, target_log_probs, teacher_force
from ..inference.request import PAD_WHEN_UNMASKED, Request
from ..inference.scores import Score, scored_tokens
from ..inference.targets import build_source_rows, build_target_trees, fill_checkpoint, select_hypothesis
from ..network import masks
from ..network.attention import MultiHeadAttention
from ..network.context import EMPTY_PASS, Pass, shift_right
from ..network.layers import DecoderLayer, EncoderLayer, Residual
from ..trace import ATTENTION_KINDS, SITE_KINDS, Site, Trace

MAX_POSITIONS = 2048  # positions whose logits are computed at once: bounds memory for long sentences
MAX_LOGITS = MAX_POSITIONS * 8192  # and for large vocabularies


class _Batch:
    """Hidden states: the unedited row, and one row for each ablated head."""

    def __init__(self, checkpoint: Checkpoint, progress: Callable[[float], None], kinds: Collection[str]) -> None:
        self.model, self.heads, self.progress, self.kinds = checkpoint.model, checkpoint.config.heads, progress, kinds
        self.rows = [BASELINE]
        self.ablated: list[tuple[Site, int]] = []
        self.all = len(self._sites(self.model)) * self.heads

    def _sites(self, module: nn.Module) -> list[Site]:
        """Returns the sites of these kinds within a module."""
        attentions = (each for each in module.modules() if isinstance(each, MultiHeadAttention))
        return [each.site for each in attentions if each.site.kind in self.kinds]

    def grow(self, x: Tensor, layer: nn.Module) -> Tensor:
        """Returns x [B,T,D] with new rows for the heads of this layer. They are unedited below the layer."""
        new = [(site, head) for site in self._sites(layer) for head in range(self.heads)]
        self.ablated += new
        self.rows += [Intervention(edits=(Ablate(Place(*site, head)),)) for site, head in new]
        self.progress(len(self.ablated) / self.all / 2)
        return self.widen(x)

    def widen(self, x: Tensor) -> Tensor:
        """Returns x [B,T,D] with copies of its first row, one for each row of the batch."""
        return torch.cat((x, x[:1].expand(len(self.rows) - len(x), -1, -1)))


def ablate_each_head(
    checkpoint: Checkpoint,
    source: Sequence[int] | None,
    target: Sequence[int] | None,
    progress: Callable[[float], None] = lambda share: None,
    kinds: Collection[str] = SITE_KINDS,
) -> tuple[np.ndarray, list[tuple[Site, int]]]:
    """Ablates every head of these kinds in turn. Returns log-probabilities, and the N heads in the order of the rows.

    Row 0 is unedited. The shape is [1+N,T] for target tokens, [1+N,1] for the label of a classifier, and [1+N,C] for the
    `scored_rows` tokens of a model that fills in.
    """
    return _run(checkpoint, source, target, progress, kinds, False)[::2]


def ablate_each_head_greedy(
    checkpoint: Checkpoint, source: Sequence[int] | None, target: Sequence[int] | None
) -> tuple[np.ndarray, np.ndarray, list[tuple[Site, int]]]:
    """Returns also the token that greedy decoding chooses at each position, [1+N,T]; see `ablate_each_head`."""
    return _run(checkpoint, source, target, lambda share: None, SITE_KINDS, True)


@torch.inference_mode()
def _run(
    checkpoint: Checkpoint,
    source: Sequence[int] | None,
    target: Sequence[int] | None,
    progress: Callable[[float], None],
    kinds: Collection[str],
    is_chosen: bool,
) -> tuple[np.ndarray, np.ndarray, list[tuple[Site, int]]]:
    """Returns log-probabilities, the greedy tokens (empty unless `is_chosen`), and the heads."""
    model, batch = checkpoint.model, _Batch(checkpoint, progress, kinds)
    ids, outputs = (
        None if side is None else torch.tensor([list(side)], device=checkpoint.device) for side in (source, target)
    )
    inputs = None if outputs is None else shift_right(outputs)
    seen = masks.build(checkpoint.config, ids, inputs)
    x = memory = torch.empty(0)  # until a stack sets it
    if ids is not None:
        places, _ = EMPTY_PASS.positions("source", ids)
        x = model.source_embedding(ids, places)  # [1,S,D]
        for layer in model.encoder:
            x = layer(batch.grow(x, layer), seen.encoder, places, Pass(BatchEdits(batch.rows)))
        x = memory = model.encoder_norm(x)
    if inputs is not None:
        places, _ = EMPTY_PASS.positions("target", inputs)
        x = batch.widen(model.target_embedding(inputs, places))  # [B,T,D]
        for layer in model.decoder:
            x = batch.grow(x, layer)
            read = () if ids is None else (batch.widen(memory),)
            crossed = () if ids is None else (seen.cross,)
            x = layer(x, *read, seen.decoder, *crossed, places, Pass(BatchEdits(batch.rows)))
        x = model.decoder_norm(x)
    if outputs is None and not checkpoint.config.classes:
        chosen, tokens = scored_rows_and_tokens(checkpoint, source)
        x, outputs = x[:, list(chosen)], torch.tensor([tokens], device=x.device)
    return *_score(batch, x, ids, outputs, is_chosen), batch.ablated


def _score(
    batch: _Batch, x: Tensor, source: Tensor | None, outputs: Tensor | None, is_chosen: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Returns log-probabilities [B,T] of outputs [1,T] after hidden states [B,T,D], and the greedy tokens.

    Computes some rows at a time. A classifier is scored on the label that the first row gives the source.
    """
    config = batch.model.config
    tokens = batch.model.task_logits(x[:1], source).argmax(-1) if config.classes else outputs  # [1,T], of a classifier [1,1]
    assert tokens is not None, "only a classifier has no outputs"
    length, vocabulary = max(1, x.size(1)), len(config.classes) or config.target_vocab
    each, scores, likeliest = max(1, min(MAX_POSITIONS // length, MAX_LOGITS // (length * vocabulary))), [], [tokens[:0]]
    for first in range(0, len(x), each):
        rows = x[first : first + each]
        logits = batch.model.task_logits(rows, source if source is None else source.expand(len(rows), -1)).float()  # [b,T,V]
        logits -= logits.amax(-1, keepdim=True)  # else a probability near 1 is rounded to 1
        chosen = logits.gather(-1, tokens.expand(len(logits), -1)[..., None])[..., 0]  # [b,T]
        scores.append(chosen - logits.logsumexp(-1))
        if is_chosen:
            likeliest.append(logits.argmax(-1) if config.classes else choose_greedy(logits))
        batch.progress(0.5 + min(len(x), first + each) / len(x) / 2)
    return torch.cat(scores).cpu().numpy(), torch.cat(likeliest).cpu().numpy()


ROWS = 25  # of a batch: bounds memory for long sentences
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Effect:
    """Change of the probability of a given target under one intervention, compared with the unedited row of the batch."""

    intervention: Intervention
    pad: int  # `<pad>` tokens after the source
    labels: tuple[str, ...]  # the tokens that are scored
    before: np.ndarray  # log-probability of each token in nats, [T]
    after: np.ndarray  # under the intervention, [T]
    added: int = 0  # part of the padding that only the experiment adds
    unit: str = "token"  # has the probability: each token, or the label of the text
    scored_tokens: str = "target"  # which tokens these are; see `Task.scored_tokens`

    @property
    def change(self) -> float:
        """Change in the summed log-probability, in nats."""
        return float(self.after.sum() - self.before.sum())


def mask_effects(
    checkpoint: Checkpoint, request: Request, known: Sequence[int] | None = None, score: Score | None = None
) -> dict[str, Effect]:
    """Measures both masks of `checkpoint` switched off, on the target of the `request`, in one batch.

    Returns effects under the keys `causal_mask` (models with a decoder) and `padding_mask` (models with an encoder). Ignores
    the intervention of the request. The padding is that of `analyse`: of the batch and the request, else `PAD_WHEN_UNMASKED`
    tokens. `known` are the ids of a target that is not decoded again.
    `score` chooses the tokens; see `model.inference.scores`. Raises RequestError as `analyse` does.
    """
    source, target = tokens_of(checkpoint, request, known)
    edits, added = {}, 0
    if target is not None:
        edits["causal_mask"] = Intervention(causal_mask=False)
    if source is not None:
        added = 0 if PAD in source else PAD_WHEN_UNMASKED
        source = [*source, *[PAD] * added]
        edits["padding_mask"] = Intervention(padding_mask=False)
    pad = (source or []).count(PAD)
    scored = scored_tokens(checkpoint, request, source, target, score)
    before, *after = target_log_probs(checkpoint, source, target, [BASELINE, *edits.values()])[:, scored.places]
    words = {"unit": scored.unit, "scored_tokens": scored.name}
    return {
        name: Effect(edit, pad, labels=scored.labels, before=before, after=row, added=added, **words)
        for (name, edit), row in zip(edits.items(), after, strict=True)
    }


def tokens_of(
    checkpoint: Checkpoint, request: Request, known: Sequence[int] | None = None
) -> tuple[list[int] | None, Sequence[int] | None]:
    """Returns the source ids with the padding of the request, and the ids of its target without edits.

    The target is the `known` one, the given one, or the one that the model decodes. A side that the model lacks is None.
    """
    request = fill_checkpoint(checkpoint, request)
    rows = build_source_rows(checkpoint, request, request.extra_padding)
    source = rows[0] if rows else None
    if "decoder" not in checkpoint.config.kinds:
        return source, None
    if known is not None:
        return source, known
    return source, select_hypothesis(build_target_trees(checkpoint, request, rows)[0], request).ids


def effects(
    checkpoint: Checkpoint,
    request: Request,
    edits: Sequence[Intervention],
    progress: Progress = lambda share: None,
    known: Sequence[int] | None = None,
    score: Score | None = None,
) -> list[Effect]:
    """Measures each intervention on the target that the request has without edits.

    Runs batches, each with the unedited row. `progress` receives the share that is done. A `known` target is not decoded
    again. `score` chooses the tokens; see `model.inference.scores`.
    """
    source, target = tokens_of(checkpoint, request, known)
    scored, pad = scored_tokens(checkpoint, request, source, target, score), (source or []).count(PAD)
    unit, name = scored.unit, scored.name
    results: list[Effect] = []
    for first in range(0, len(edits), ROWS - 1):
        chosen = edits[first : first + ROWS - 1]
        before, *after = target_log_probs(checkpoint, source, target, [BASELINE, *chosen])[:, scored.places]
        pairs = zip(chosen, after, strict=True)
        results += [Effect(edit, pad, scored.labels, before, row, 0, unit, name) for edit, row in pairs]
        progress(len(results) / len(edits))
    return results


def sites(checkpoint: Checkpoint) -> Iterator[Site]:
    """Yields every site of a model in display order."""
    layers = checkpoint.config.layers
    yield from (Site(kind, layer) for kind in ATTENTION_KINDS if kind in layers for layer in range(layers[kind]))


@dataclass(frozen=True)
class HeadEffect:
    """Change of the log-probability when one head is ablated."""

    site: Site
    head: int
    change: float  # of the summed log-probability of the baseline's `scored_tokens`, in nats
    scored_tokens: str = "target"  # which tokens these are; see `Task.scored_tokens`

    @property
    def edit(self) -> Ablate:
        """The edit that ablates the head."""
        return Ablate(Place(self.site.kind, self.site.layer, self.head))


def head_effects(
    checkpoint: Checkpoint,
    request: Request,
    progress: Progress | None = None,
    known: Sequence[int] | None = None,
    kinds: Collection[str] = ATTENTION_KINDS,
    score: Score | None = None,
) -> tuple[HeadEffect, ...]:
    """Ablates each head of `checkpoint`, of all `kinds` of attention, in one batch. Returns the effects site by site.

    The change is that of `analyse` on `request` in mode `given`: `log_prob` with the head off minus the baseline's (nats).
    A language model is scored on the continuation, not on the prompt. `score` chooses other tokens; see
    `model.inference.scores`. `progress` receives the share done, 0 to 1. `known` are the ids of a target that is not decoded
    again.
    """
    source, target = tokens_of(checkpoint, request, known)
    scored = scored_tokens(checkpoint, request, source, target, score)
    rows, off = ablate_each_head(checkpoint, source, target, progress or (lambda share: None), kinds)
    before, *after = rows[:, scored.places]
    change = {head: float(row.sum() - before.sum()) for head, row in zip(off, after, strict=True)}
    heads = [(site, head) for site in sites(checkpoint) if site.kind in kinds for head in range(checkpoint.config.heads)]
    return tuple(HeadEffect(*head, change[head], scored.name) for head in heads)


def effects_of_heads(checkpoint: Checkpoint, analysis: Analysis, *kinds: str) -> tuple[HeadEffect, ...]:
    """Returns the `head_effects` on the request of an analysis without its edits (default: of all kinds)."""
    base = analysis.baseline or analysis
    request = dataclasses.replace(analysis.request, intervention=BASELINE, mode="given")
    target = None if base.trace.outputs is None else base.trace.outputs.ids
    every = (head_effects(checkpoint, request, known=target, kinds=(kind,)) for kind in kinds or base.trace.kinds)
    return tuple(effect for effects in every for effect in effects)  # kind by kind: bit for bit those of single kinds


def layer_skips(checkpoint: Checkpoint) -> dict[str, Intervention]:
    """Returns for every layer, by its name, the intervention that skips it."""
    skips = {}
    for module in checkpoint.model.modules():
        if isinstance(module, EncoderLayer | DecoderLayer):
            places = [residual.place for residual in module.residuals if isinstance(residual, Residual)]
            name = f"{places[0].stack} layer {places[0].layer + 1}"
            skips[name] = Intervention(edits=tuple(Skip(*place) for place in places))
    return skips


@dataclass(frozen=True)
class TargetPadding:
    """A target in its batch: T real tokens, and `pads` after them."""

    pads: int
    before: Trace  # without edits, over T + pads tokens
    trace: Trace  # under the edits
    change: float  # of the summed log-probability of the T tokens by the pads without the padding mask, in nats

    @property
    def nbytes(self) -> int:
        return self.before.nbytes + self.trace.nbytes


def target_padding(checkpoint: Checkpoint, analysis: Analysis) -> TargetPadding | None:
    """Reads the target with the padding of its batch in one pass, as in training. `change` keeps the other edits.

    Returns None without such padding, and where tokens are decoded one by one."""
    pads, edit = analysis.target_padding, analysis.request.intervention
    source, outputs, is_again = analysis.trace.source, analysis.trace.outputs, analysis.request.mode == "again"
    if not (pads and source and outputs) or (analysis.baseline is not None and is_again) or analysis.final_pass is not None:
        return None
    seen = dataclasses.replace(edit, padding_mask=False)
    before, trace, padded = teacher_force(checkpoint, source.ids, [*outputs.ids, *[PAD] * pads], [BASELINE, edit, seen])
    (plain,) = teacher_force(checkpoint, source.ids, outputs.ids, [seen])
    change = padded.token_log_probs[: len(outputs)].sum(dtype=float) - plain.token_log_probs.sum(dtype=float)
    return TargetPadding(pads, before, trace, float(change))
