"""What came of a request, as a value: text, trace, tree and notes."""

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
    """Probabilities before the edits and after them: of each of the baseline's tokens, of a classifier of each label."""

    labels: tuple[str, ...]
    before: np.ndarray  # [T]
    after: np.ndarray  # [comparable]: up to where the translations part


@dataclass(frozen=True)
class Analysis:
    """What came of a request. Where something was edited, `baseline` is the same request without the edits."""

    request: Request
    translation: str  # empty for a model that writes nothing
    trace: Trace
    tree: Tree | None  # None for a model that decodes nothing
    hypothesis: Hypothesis | None  # the path of the tree that the trace belongs to
    rare_words: tuple[RareWord, ...]  # words of the source that training hardly had; none where that is not known
    checkpoint: str  # name of the one that answered, whatever the request says
    other_translations: tuple[str, ...] = ()  # of the sentences of the same batch
    other_lengths: tuple[int, ...] = ()  # tokens of each of them
    begun: int = 0  # tokens of the text that a model without an encoder goes on with
    batch_padding: int = 0  # `<pad>` tokens that make the source as long as the longest of the batch
    baseline: Analysis | None = None
    no_op_blocks: tuple[Block, ...] = ()  # blocks of what the mask forbids already
    unpaired: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())  # tokens without a partner: own, of the other sentence
    seen: Seen | None = None  # what the checkpoint was trained on, where it says so
    worth: Signs | None = None  # how often translations with signs of doubt were bad, where that was measured
    follows: float | None = None  # the probability that the second sentence follows the first; None for one alone
    turned: float | None = None  # the same with both the other way round, without edits
    last: Trace | None = None  # decoded again without the causal mask: the pass of the last step, over the whole prefix

    @property
    def task(self) -> Task:
        """What the model does with the text."""
        return task_of(self.trace.kinds, self.trace.classes)

    @property
    def whole(self) -> Trace:
        """One pass over the whole target. Where each step was decoded over its own prefix, no page shows this pass: its rows
        are not those that chose the tokens, which `trace` has."""
        return self.trace if self.last is None else self.last

    @property
    def row_note(self) -> str:
        """Which pass the decoder's rows are of, where each step was decoded over its own prefix; else empty."""
        return "" if self.last is None else cautions.OF_EACH_STEP

    def key_count(self, site: Site, query: int) -> int:
        """Returns the number of keys in the pass that a row of a site comes from (query from 0)."""
        alone = self.last is not None and site.of.queries == site.of.keys == "target"
        return query + 1 if alone else len(self.trace.keys(site))

    def former_mask(self, site: Site, head: int | None = None) -> np.ndarray | None:
        """The baseline's mask at a site, where the axes of `trace` are still its own; None without a baseline."""
        if self.baseline is None:
            return None
        mask = self.baseline.trace.mask(site, head)
        return mask if mask.shape == self.trace.masks[site].shape else None

    @property
    def labels(self) -> Labels:
        """The tokens of both sides, for telling edits in words."""
        sides = (self.trace.source, self.trace.inputs, self.trace.outputs)
        return Labels(*(() if side is None else side.labels for side in sides))

    @cached_property
    def comparable(self) -> int:
        """How many steps may be compared with the baseline's, one by one: up to the first at which another token was chosen,
        this one included. After it the decoder reads other tokens."""
        if self.baseline is None:
            return len(self.trace.predicted)
        own, other = self.trace.predicted.ids, self.baseline.trace.predicted.ids
        split = first_difference(own, other)
        return len(own) if split is None else min(split + 1, len(own), len(other))

    @cached_property
    def baseline_token_log_probs(self) -> np.ndarray:
        """Log-probability, under the edits, of the baseline's token at each step that may be compared, [comparable]; in a
        blank of what the baseline fills it with."""
        ids = (self.baseline or self).trace.scored.ids[: self.comparable]
        return self.trace.log_probs[np.arange(len(ids)), list(ids)]

    @property
    def change(self) -> Change:
        """What the edits did to what is predicted; without edits nothing."""
        base = (self.baseline or self).trace
        if base.classes:
            return Change(base.classes, *(np.exp(each.log_probs[0]) for each in (base, self.trace)))
        if base.blanks:
            own = base.log_probs[np.arange(len(base.scored)), list(base.scored.ids)]
            return Change(base.scored.labels, np.exp(own), np.exp(self.baseline_token_log_probs))
        return Change(base.predicted.labels, base.probabilities, np.exp(self.baseline_token_log_probs))

    @property
    def log_prob(self) -> float:
        """Summed log-probability of the `scored_tokens`, in nats. A model that fills in is scored, under the edits too, on
        the baseline's tokens at the places that are `counted`, and a classifier on the baseline's label."""
        if self.trace.classes:
            return float(self.baseline_token_log_probs[0])
        if self.trace.filled is not None:
            return float(self.baseline_token_log_probs[list(self.trace.counted)].sum(dtype=np.float64))
        return float(self.trace.token_log_probs[self.begun :].sum(dtype=np.float64))

    @property
    def scored_tokens(self) -> str:
        """The name of the tokens that `log_prob` sums over; `head_effects` and `sweep` score the same ones."""
        return self.task.scored_tokens(bool(self.trace.blanks))

    @property
    def scored(self) -> str:
        """What `log_prob` is, in words."""
        return self.task.scored(bool(self.trace.blanks))

    @property
    def target_padding(self) -> int:
        """`<pad>` tokens that make the target as long as the longest of the batch, where all are read in one pass."""
        return max((0, *(length - len(self.trace.predicted) for length in self.other_lengths)))

    @property
    def how(self) -> str:
        """How the target came about, in a few words."""
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
        """The longest beginning from which decoding was made to go on and which the hypothesis has, as ids, or None."""
        if self.hypothesis is None or self.request.target is not None:
            return None
        taken = [branch for branch in self.request.branches if self.hypothesis.ids[: len(branch)] == branch]
        return max(taken, key=len, default=None)

    @property
    def _given_up(self) -> bool:
        return self.tree is not None and self.hypothesis.ids in {h.ids for h in self.tree.pruned}

    @property
    def rare(self) -> tuple[int, ...]:
        """Positions of the tokens of rare source words."""
        return tuple(i for word in self.rare_words for i in word.positions)

    @cached_property
    def unsure(self) -> tuple[int, ...]:
        """The steps, from 0, whose token had a low probability; of a text that is gone on with, those that were added."""
        return tuple(step for step in cautions.unsure(self.trace) if step >= self.begun)

    @cached_property
    def overlooked(self) -> tuple[Overlooked, ...]:
        """The source words at which no step looked; none for a model without cross-attention."""
        return cautions.overlooked(self.trace, self.seen)

    @property
    def source_length(self) -> int:
        """Tokens of the source, `</s>` included, padding not; 0 for a model that reads none."""
        return 0 if self.trace.source is None else sum(i != PAD for i in self.trace.source.ids)

    @cached_property
    def signs(self) -> dict[str, str]:
        """What makes the translation doubtful: a sentence for each kind of sign, by its name in `cautions.kinds`."""
        written = 0 if self.trace.outputs is None else len(self.trace.outputs)
        long = cautions.beyond(self.seen, self.source_length, written)
        told = {}
        for side, size in list(long.items())[:1]:
            told["long"] = cautions.length_sentence(side, size, self.seen.lengths[side], self.request.source)
        if self.rare_words:
            told["rare"] = cautions.rare_sentence(self.rare_words)
        if self.unsure:
            told["unsure"] = cautions.unsure_sentence(self.unsure, self.trace, self.begun)
        if self.overlooked:
            told["overlooked"] = cautions.overlooked_sentence(self.overlooked, len(self.trace.predicted))
        return told

    @property
    def measured(self) -> bool:
        """True where it was measured how often translations like this one are bad: the model's own, without edits."""
        asked = self.request
        chosen = asked.target is not None or asked.branches or asked.path or asked.decoding.is_random
        return self.worth is not None and self.baseline is None and not chosen

    @property
    def verdict(self) -> str:
        """How many signs of doubt there are, and how often such translations were bad, where that was measured."""
        number = len(self.signs)
        head = f"{number or 'No'} {'signs' if number > 1 else 'sign'} of doubt"
        told = self.worth.told(number) if self.measured else ""
        return f"{head}: {told}." if told else f"{head}."

    @property
    def cautions(self) -> tuple[str, ...]:
        """The verdict and what it stands on, a sentence each; nothing where there is no sign of doubt."""
        return (self.verdict, *self.signs.values()) if self.signs else ()

    @property
    def has_as_many_as_asked(self) -> bool:
        """Whether it stopped after the number of new tokens that was asked for, which is no reason to warn anybody."""
        asked, size = self.request.decoding, len(self.hypothesis.ids)
        return asked.more > 0 and size < min(MAX_TOKENS, asked.limit or MAX_TOKENS)

    @property
    def stopped(self) -> str:
        """Why nothing follows the last token, where it is not the end: a sentence."""
        size, more = len(self.hypothesis.ids), self.request.decoding.more
        if self.has_as_many_as_asked:
            after = " after the branch" if self.branch else ""
            return f"The {self.task.made} stopped after {more} new tokens{after}, as many as were asked for."
        counted = "" if self.task.reads else ", those of the text among them"
        return f"The {self.task.made} stopped at the limit of {size} tokens{counted}."

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that a reader of the translation should know."""
        notes = []
        if self._given_up:
            notes.append("This path was given up: the beam went on without it.")
        elif self.hypothesis is not None and not self.hypothesis.finished and not self.has_as_many_as_asked:
            notes.append(self.stopped)
        notes += self.cautions
        if waiting := self.request.intervention.waiting(len(self.trace.places)):
            told = "; ".join(edit.text(self.labels) for edit in waiting)
            notes.append(f"Waiting for a step that is not reached yet: {told}.")
        notes += self._unpaired
        if self.no_op_blocks:
            told = "; ".join(block.text(self.labels) for block in self.no_op_blocks)
            notes.append(f"The mask forbids this already, so it changes nothing: {told}.")
        if self.trace.fully_masked_rows and self.baseline is not None:
            rows = len({(site.kind, t) for site, t in self.trace.fully_masked_rows})
            what = "row sees" if rows == 1 else "rows see"
            notes.append(f"{rows} {what} nothing at all: where everything is blocked, the pattern is zeros.")
        if self.row_note:
            notes.append(self.row_note)
        return tuple(notes)

    def is_over(self, source: Sequence[int] | None, target: Sequence[int]) -> bool:
        """True where it is of just these ids."""
        own = self.trace.source and self.trace.source.ids
        return own == (source and tuple(source)) and self.trace.outputs.ids == tuple(target)

    @property
    def _unpaired(self) -> list[str]:
        """Which tokens cannot be patched, where all of the source are to be."""
        if not any(edit.takes == "source" and edit.position is None for edit in self.request.intervention.edits):
            return []
        told = ("Without a partner in the other sentence, so left as it was", "Without a partner here, so not put in")
        return [f"{what}: {', '.join(tokens)}." for what, tokens in zip(told, self.unpaired, strict=True) if tokens]

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays hold, those of the last step and of the baseline included; shared ones count once."""
        traces = (self.trace, self.whole, *((self.baseline.trace, self.baseline.whole) if self.baseline else ()))
        return sum({id(array): array.nbytes for trace in traces for array in trace.arrays}.values())

    def without_scores(self) -> Analysis:
        """The same without the scores before the mask, 3/10 of a long one's bytes, which no page draws from it."""
        last, baseline = self.last and self.last.without_scores(), self.baseline and self.baseline.without_scores()
        return dataclasses.replace(self, trace=self.trace.without_scores(), last=last, baseline=baseline)

    def to_dict(self) -> dict[str, Any]:
        """Text, tokens and probabilities, ready for JSON; maps are left out. Of a classifier its labels."""
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
        """The same of a classifier: the label, and the probability and the logit of each, the likeliest first."""
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
