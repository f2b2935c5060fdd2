"""The result of a request: text, trace, tree and notes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..config import MAX_TOKENS, PAD
from ..decoding.hypotheses import Hypothesis, Tree
from ..edits.kinds import Block, Labels
from ..task import Task, task_of
from ..text.corpus_stats import Seen
from ..text.warning_calibration import Signs
from ..trace import Site, Trace
from . import cautions
from .cautions import Overlooked, RareWord
from .predictions import first_difference
from .request import Request


@dataclass(frozen=True)
class Change:
    """Probabilities before and after the edits, of each token of the baseline or each label of a classifier."""

    labels: tuple[str, ...]
    before: np.ndarray  # [T]
    after: np.ndarray  # [comparable]: up to the first difference of the translations


@dataclass(frozen=True)
class Analysis:
    """The result of a request. With edits, `baseline` is the result of the request without them."""

    request: Request
    translation: str  # empty for a model without a decoder
    trace: Trace
    tree: Tree | None  # None for a model without a decoder
    hypothesis: Hypothesis | None  # the path of the tree that the trace scores
    rare_words: tuple[RareWord, ...]  # rare source words; empty where their counts are unknown
    checkpoint: str  # name of the checkpoint that answered
    other_translations: tuple[str, ...] = ()  # of the other sentences of the batch
    other_lengths: tuple[int, ...] = ()  # tokens of each of them
    begun: int = 0  # tokens of the prompt of a model without an encoder
    batch_padding: int = 0  # `<pad>` tokens up to the longest source of the batch
    baseline: Analysis | None = None
    no_op_blocks: tuple[Block, ...] = ()  # blocks of positions that the mask forbids already
    unpaired: tuple[tuple[str, ...], tuple[str, ...]] = (
        (),
        (),
    )  # unpaired tokens: source, other sentence
    seen: Seen | None = None  # counts of the training pairs, where known
    worth: Signs | None = None  # measured share of bad translations by number of warnings
    follows: float | None = None  # that the second sentence follows the first; None for one sentence
    turned: float | None = None  # with the sentences swapped, without edits
    last: Trace | None = None  # without the causal mask: the pass of the last step

    @property
    def task(self) -> Task:
        """The task of the model."""
        return task_of(self.trace.kinds, self.trace.classes)

    @property
    def whole(self) -> Trace:
        """The trace of one pass over the full target.

        Pages show `trace`: where each step was decoded over its own prefix, it has the rows that chose the tokens.
        """
        return self.trace if self.last is None else self.last

    @property
    def row_note(self) -> str:
        """The pass of the decoder rows, where each step was decoded over its own prefix; else empty."""
        return "" if self.last is None else cautions.OF_EACH_STEP

    def key_count(self, site: Site, query: int) -> int:
        """Returns the number of keys in the pass of a row of a site (query from 0)."""
        alone = self.last is not None and site.of.queries == site.of.keys == "target"
        return query + 1 if alone else len(self.trace.keys(site))

    def former_mask(self, site: Site, head: int | None = None) -> np.ndarray | None:
        """Returns the mask of the baseline at a site; None without a baseline or where the axes differ."""
        if self.baseline is None:
            return None
        mask = self.baseline.trace.mask(site, head)
        return mask if mask.shape == self.trace.masks[site].shape else None

    @property
    def labels(self) -> Labels:
        """The tokens of both sides, to describe edits."""
        sides = (self.trace.source, self.trace.inputs, self.trace.outputs)
        return Labels(*(() if side is None else side.labels for side in sides))

    @cached_property
    def comparable(self) -> int:
        """Number of steps that can be compared with the baseline, up to and including the first different token.

        After it the decoder reads other tokens.
        """
        if self.baseline is None:
            return len(self.trace.predicted)
        own, other = self.trace.predicted.ids, self.baseline.trace.predicted.ids
        split = first_difference(own, other)
        return len(own) if split is None else min(split + 1, len(own), len(other))

    @cached_property
    def baseline_token_log_probs(self) -> np.ndarray:
        """Log-probability under the edits of each comparable baseline token (blanks filled in), [comparable]."""
        ids = (self.baseline or self).trace.scored.ids[: self.comparable]
        return self.trace.log_probs[np.arange(len(ids)), list(ids)]

    @property
    def change(self) -> Change:
        """The probabilities before and after the edits; equal without edits."""
        base = (self.baseline or self).trace
        if base.classes:
            return Change(base.classes, *(np.exp(each.log_probs[0]) for each in (base, self.trace)))
        if base.blanks:
            own = base.log_probs[np.arange(len(base.scored)), list(base.scored.ids)]
            return Change(base.scored.labels, np.exp(own), np.exp(self.baseline_token_log_probs))
        return Change(base.predicted.labels, base.probabilities, np.exp(self.baseline_token_log_probs))

    @property
    def log_prob(self) -> float:
        """Summed log-probability of the `scored_tokens`, in nats.

        Under edits, a masked language model is scored on the baseline tokens of `Trace.scored_rows`, and a classifier on the
        baseline label.
        """
        if self.trace.classes:
            return float(self.baseline_token_log_probs[0])
        if self.trace.filled is not None:
            return float(self.baseline_token_log_probs[list(self.trace.counted)].sum(dtype=np.float64))
        return float(self.trace.token_log_probs[self.begun :].sum(dtype=np.float64))

    @property
    def scored_tokens(self) -> str:
        """The name of the tokens that `log_prob` sums over, as in `head_effects` and `sweep`."""
        return self.task.scored_tokens(bool(self.trace.blanks))

    @property
    def scored(self) -> str:
        """The description of `log_prob`."""
        return self.task.scored(bool(self.trace.blanks))

    @property
    def target_padding(self) -> int:
        """`<pad>` tokens up to the longest target of the batch, where all are read in one pass."""
        return max((0, *(length - len(self.trace.predicted) for length in self.other_lengths)))

    @property
    def how(self) -> str:
        """The decoding method of the target, in a few words."""
        if self.tree is None or self.hypothesis is None:
            return "read, not decoded"
        if self.request.target is not None and (self.baseline is None or self.request.mode == "given"):
            return "given target"
        how, ids = self.request.decoding.told, self.hypothesis.ids
        if self.branch:
            return f"{how}, branched off"
        rank = next((n for n, h in enumerate(self.tree, 1) if h.ids == ids), 1)
        return f"{how}, given up" if self._given_up else f"{how}, number {rank}" if rank > 1 else how

    @property
    def branch(self) -> tuple[int, ...] | None:
        """The longest requested branch that the hypothesis begins with, as ids, or None."""
        if self.hypothesis is None or self.request.target is not None:
            return None
        branches = [branch for branch in self.request.branches if self.hypothesis.ids[: len(branch)] == branch]
        return max(branches, key=len, default=None)

    @property
    def _given_up(self) -> bool:
        return self.tree is not None and self.hypothesis.ids in {h.ids for h in self.tree.pruned}

    @property
    def rare(self) -> tuple[int, ...]:
        """Positions of the tokens of rare source words."""
        return tuple(i for word in self.rare_words for i in word.positions)

    @cached_property
    def unsure(self) -> tuple[int, ...]:
        """Steps, from 0, of generated tokens with a low probability."""
        return tuple(step for step in cautions.unsure(self.trace) if step >= self.begun)

    @cached_property
    def overlooked(self) -> tuple[Overlooked, ...]:
        """Source words without a large attention weight at any step; empty without cross-attention."""
        return cautions.overlooked(self.trace, self.seen)

    @property
    def source_length(self) -> int:
        """Tokens of the source with `</s>` and without padding; 0 without an encoder."""
        return 0 if self.trace.source is None else sum(i != PAD for i in self.trace.source.ids)

    @cached_property
    def signs(self) -> dict[str, str]:
        """The warnings, one sentence for each kind of `cautions.kinds`."""
        written = 0 if self.trace.outputs is None else len(self.trace.outputs)
        long = cautions.beyond(self.seen, self.source_length, written)
        warnings = {}
        for side, size in list(long.items())[:1]:
            warnings["long"] = cautions.length_sentence(side, size, self.seen.lengths[side], self.request.source)
        if self.rare_words:
            warnings["rare"] = cautions.rare_sentence(self.rare_words)
        if self.unsure:
            warnings["unsure"] = cautions.unsure_sentence(self.unsure, self.trace, self.begun)
        if self.overlooked:
            warnings["overlooked"] = cautions.overlooked_sentence(self.overlooked, len(self.trace.predicted))
        return warnings

    @property
    def measured(self) -> bool:
        """True where the share of bad translations is known: for the model's own translation without edits."""
        request = self.request
        chosen = request.target is not None or request.branches or request.path or request.decoding.is_random
        return self.worth is not None and self.baseline is None and not chosen

    @property
    def verdict(self) -> str:
        """The number of warnings and, where measured, the share of such translations that were bad."""
        number = len(self.signs)
        head = f"{number or 'No'} {'warning' if number == 1 else 'warnings'}"
        rate = self.worth.told(number) if self.measured else ""
        return f"{head}. {rate}." if rate else f"{head}."

    @property
    def cautions(self) -> tuple[str, ...]:
        """The `doubt_summary` and the warnings, one sentence each; empty without warnings."""
        return (self.verdict, *self.signs.values()) if self.signs else ()

    @property
    def has_as_many_as_asked(self) -> bool:
        """True where decoding stopped after the requested number of new tokens, which needs no warning."""
        decoding, size = self.request.decoding, len(self.hypothesis.ids)
        return decoding.more > 0 and size < min(MAX_TOKENS, decoding.limit or MAX_TOKENS)

    @property
    def stopped(self) -> str:
        """The reason why decoding stopped before `</s>`, one sentence."""
        size, more = len(self.hypothesis.ids), self.request.decoding.more
        if self.has_as_many_as_asked:
            after = " after the branch" if self.branch else ""
            return f"The {self.task.made} stopped after {more} new tokens{after}, as many as were asked for."
        counted = "" if self.task.reads else ", those of the text among them"
        return f"The {self.task.made} stopped at the limit of {size} tokens{counted}."

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the translation, one sentence each."""
        notes = []
        if self._given_up:
            notes.append("This path was given up: the beam went on without it.")
        elif self.hypothesis is not None and not self.hypothesis.finished and not self.has_as_many_as_asked:
            notes.append(self.stopped)
        notes += self.cautions
        if waiting := self.request.intervention.waiting(len(self.trace.places)):
            edits = "; ".join(edit.text(self.labels) for edit in waiting)
            notes.append(f"Waiting for a step that is not reached yet: {edits}.")
        notes += self._unpaired
        if self.no_op_blocks:
            blocks = "; ".join(block.text(self.labels) for block in self.no_op_blocks)
            notes.append(f"The mask forbids this already, so it changes nothing: {blocks}.")
        if self.trace.fully_masked_rows and self.baseline is not None:
            rows = len({(site.kind, t) for site, t in self.trace.fully_masked_rows})
            what = "row sees" if rows == 1 else "rows see"
            notes.append(f"{rows} {what} nothing at all: where everything is blocked, the pattern is zeros.")
        if self.row_note:
            notes.append(self.row_note)
        return tuple(notes)

    def is_over(self, source: Sequence[int] | None, target: Sequence[int]) -> bool:
        """True where source and target have exactly these ids."""
        own = self.trace.source and self.trace.source.ids
        return own == (source and tuple(source)) and self.trace.outputs.ids == tuple(target)

    @property
    def _unpaired(self) -> list[str]:
        """Sentences on the tokens that cannot be patched, where all source positions are patched."""
        if not any(edit.takes == "source" and edit.position is None for edit in self.request.intervention.edits):
            return []
        reasons = ("Not changed, no match in the other sentence", "Not used, no match in this sentence")
        return [f"{what}: {', '.join(tokens)}." for what, tokens in zip(reasons, self.unpaired, strict=True) if tokens]

    @property
    def nbytes(self) -> int:
        """Size of all arrays in bytes, with those of `final_pass` and the baseline; shared arrays count once."""
        traces = (self.trace, self.whole, *((self.baseline.trace, self.baseline.whole) if self.baseline else ()))
        return sum({id(array): array.nbytes for trace in traces for array in trace.arrays}.values())

    def without_scores(self) -> Analysis:
        """Returns a copy without the scores before the mask: 3/10 of the bytes of a long text, which no page reads."""
        last, baseline = self.last and self.last.without_scores(), self.baseline and self.baseline.without_scores()
        return dataclasses.replace(self, trace=self.trace.without_scores(), last=last, baseline=baseline)

    def to_dict(self) -> dict[str, Any]:
        """Returns text, tokens and probabilities as JSON values, without maps; of a classifier its labels."""
        if self.trace.classes:
            return self._judged()
        pair = {"second": self.request.second, "follows": self.follows, "turned": self.turned}
        return {
            "checkpoint": self.checkpoint,
            "source": self.request.source,
            **(pair if self.request.second else {}),
            "translation": self.translation,
            "log_prob": round(self.log_prob, 6),
            "scored_tokens": self.scored_tokens,
            "finished": self.hypothesis is None or self.hypothesis.finished,
            "source_tokens": [] if self.trace.source is None else list(self.trace.source.labels),
            "tokens": [
                {"token": label, "log_prob": round(float(p), 6)}
                for label, p in zip(self.trace.predicted.labels, self.trace.token_log_probs, strict=True)
            ],
            "notes": list(self.notes),
        }

    def _judged(self) -> dict[str, Any]:
        """Returns the top label of a classifier, and probability and logit of all labels, sorted."""
        trace = self.trace
        order = np.argsort(-trace.log_probs[0], kind="stable").tolist()
        probabilities, logits = np.exp(trace.log_probs[0].astype(float)), trace.logits[0]
        named = {
            trace.classes[n]: {"probability": round(float(probabilities[n]), 6), "logit": round(float(logits[n]), 6)}
            for n in order
        }
        return {
            "checkpoint": self.checkpoint,
            "source": self.request.source,
            "label": trace.predicted.labels[0],
            "probability": named[trace.predicted.labels[0]]["probability"],
            "labels": named,
            "source_tokens": list(trace.places.labels),
            "notes": list(self.notes),
        }
