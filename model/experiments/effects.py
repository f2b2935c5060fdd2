"""What edits do to a given target: every candidate edit as a row of one batch, beside the unedited row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from model.checkpoint import Checkpoint
from model.config import PAD
from model.edits.intervention import BASELINE, Intervention
from model.edits.kinds import Ablate, Place, Skip
from model.experiments.each_head_off import each_head_off
from model.inference.passes import counted, log_probs, target_log_probs
from model.inference.request import PAD_WHEN_UNMASKED, Request
from model.inference.targets import begun, fill_checkpoint, shown, sources, target_of
from model.network.layers import DecoderLayer, EncoderLayer
from model.task import task_of
from model.trace import Site

ROWS = 25  # of a batch: memory stays bounded for the longest sentences
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Effect:
    """What one intervention does to the probability of a given target, beside the unedited row of the batch."""

    intervention: Intervention
    pad: int  # `<pad>` tokens after the source, whoever put them there
    labels: tuple[str, ...]  # the tokens that are scored
    before: np.ndarray  # log-probability of each token in nats, [T]
    after: np.ndarray  # the same under the intervention
    added: int = 0  # of the padding: what is there for the experiment alone
    unit: str = "token"  # what is probable: each token, or the label of the whole text
    scored_tokens: str = "target"  # which tokens these are; see `Task.scored_tokens`

    @property
    def change(self) -> float:
        """Change in the summed log-probability, in nats."""
        return float(self.after.sum() - self.before.sum())

    def losses(self, least: float = 0.1) -> tuple[int, ...]:
        """Steps whose probability falls by more than `least`, the largest fall first."""
        fall = np.exp(self.before) - np.exp(self.after)
        return tuple(int(i) for i in np.argsort(-fall, kind="stable") if fall[i] > least)


def mask_effects(checkpoint: Checkpoint, request: Request, known: Sequence[int] | None = None) -> dict[str, Effect]:
    """What switching off the causal mask, and the padding mask, would do to the target of the request: one batch.

    Keys `causal_mask` and `padding_mask`; a model without a decoder has no causal mask, one without an encoder reads no
    padding. The request's own intervention does not matter. The padding is what `analyse`
    puts there: that of the batch and of the request, or, where there is none, `PAD_WHEN_UNMASKED`. A target that is `known`
    already is not decoded anew. Raises RequestError as `analyse` does.
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
    first = first_scored(checkpoint, request)
    before, *after = target_log_probs(checkpoint, source, target, [BASELINE, *edits.values()])[:, first:]
    named = _named(checkpoint, source, target)[first:]
    words = {"unit": _unit(checkpoint), "scored_tokens": scored_tokens(checkpoint, source)}
    return {
        name: Effect(edit, pad, labels=named, before=before, after=row, added=added, **words)
        for (name, edit), row in zip(edits.items(), after, strict=True)
    }


def first_scored(checkpoint: Checkpoint, request: Request) -> int:
    """The index of the first scored token of a target: it follows the prompt of a language model, elsewhere it is 0."""
    return len(begun(checkpoint, request))


def scored_tokens(checkpoint: Checkpoint, source: Sequence[int] | None) -> str:
    """Names the tokens whose log-probabilities are summed, as `Analysis.scored_tokens` does."""
    task = task_of(checkpoint.config.kinds, checkpoint.config.classes)
    return task.scored_tokens(checkpoint.source_tokenizer.mask in (source or ()))


def _unit(checkpoint: Checkpoint) -> str:
    return "label" if checkpoint.config.classes else "token"


def _named(checkpoint: Checkpoint, source: Sequence[int] | None, target: Sequence[int] | None) -> tuple[str, ...]:
    """The tokens whose probabilities are told; of a classifier the label that the source has."""
    if checkpoint.config.classes:
        return checkpoint.answers.pieces(log_probs(checkpoint, source, target, [BASELINE])[0].argmax(-1).tolist())
    if target is None:
        return checkpoint.source_tokenizer.pieces(counted(checkpoint, source)[1])
    return checkpoint.target_tokenizer.pieces(target)


def tokens_of(
    checkpoint: Checkpoint, request: Request, known: Sequence[int] | None = None
) -> tuple[list[int] | None, Sequence[int] | None]:
    """Source ids with the request's padding, and the ids of its target without edits: those that are `known`, the one given,
    or the model's own; None for a side that the model does not have."""
    request = fill_checkpoint(checkpoint, request)
    rows = sources(checkpoint, request, request.pad)
    source = rows[0] if rows else None
    if "decoder" not in checkpoint.config.kinds:
        return source, None
    if known is not None:
        return source, known
    return source, shown(target_of(checkpoint, request, rows)[0], request).ids


def effects(
    checkpoint: Checkpoint,
    request: Request,
    edits: Sequence[Intervention],
    progress: Progress = lambda share: None,
    known: Sequence[int] | None = None,
) -> list[Effect]:
    """What each intervention does to the target that the request has without edits: batches, each with the unedited row.

    `progress` hears the share that is done. A target that is `known` already is not decoded anew.
    """
    source, target = tokens_of(checkpoint, request, known)
    start = first_scored(checkpoint, request)
    labels, pad = _named(checkpoint, source, target)[start:], (source or []).count(PAD)
    words = {"unit": _unit(checkpoint), "scored_tokens": scored_tokens(checkpoint, source)}
    found: list[Effect] = []
    for first in range(0, len(edits), ROWS - 1):
        chosen = edits[first : first + ROWS - 1]
        before, *after = target_log_probs(checkpoint, source, target, [BASELINE, *chosen])[:, start:]
        found += [Effect(edit, pad, labels, before, row, **words) for edit, row in zip(chosen, after, strict=True)]
        progress(len(found) / len(edits))
    return found


def sites(checkpoint: Checkpoint) -> Iterator[Site]:
    """Every site of a model, in the order in which they are shown."""
    for kind, layers in checkpoint.config.layers.items():
        yield from (Site(kind, layer) for layer in range(layers))


@dataclass(frozen=True)
class HeadEffect:
    """What it costs to switch one head off."""

    site: Site
    head: int
    change: float  # of the summed log-probability of the baseline's `scored_tokens`, in nats
    scored_tokens: str = "target"  # which tokens these are; see `Task.scored_tokens`

    @property
    def edit(self) -> Ablate:
        return Ablate(Place(self.site.kind, self.site.layer, self.head))


def head_effects(
    checkpoint: Checkpoint,
    request: Request,
    progress: Progress = lambda share: None,
    known: Sequence[int] | None = None,
) -> tuple[HeadEffect, ...]:
    """Every head switched off in turn, site by site: one batch, not single runs; see `each_head_off`.

    The change is that of `analyse(...)` in mode `given`: `log_prob` with the head off minus the baseline's. A language model
    is scored on the continuation, not on the prompt.
    """
    source, target = tokens_of(checkpoint, request, known)
    rows, off = each_head_off(checkpoint, source, target, progress)
    before, *after = rows[:, first_scored(checkpoint, request) :]
    change = {head: float(row.sum() - before.sum()) for head, row in zip(off, after, strict=True)}
    heads = [(site, head) for site in sites(checkpoint) for head in range(checkpoint.config.heads)]
    scored = scored_tokens(checkpoint, source)
    return tuple(HeadEffect(*head, change[head], scored) for head in heads)


def layer_skips(checkpoint: Checkpoint) -> dict[str, Intervention]:
    """For every layer the intervention that skips all of it, by its name."""
    made = {}
    for module in checkpoint.model.modules():
        if isinstance(module, EncoderLayer | DecoderLayer):
            places = [residual.place for residual in module.residuals]
            name = f"{places[0].stack} layer {places[0].layer + 1}"
            made[name] = Intervention(edits=tuple(Skip(*place) for place in places))
    return made
