"""The result of a request: text, trace, tree and notes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..config import PAD
from ..decoding.hypotheses import Hypothesis, Tree, first_difference
from ..edits.kinds import Edit, TokenLabels
from ..io.files import brief_repr
from ..task import Task, task_of_kinds
from ..text.corpus_stats import CorpusStats
from ..text.warning_calibration import Signs
from ..trace import Site, Trace
from . import cautions
from .cautions import OverlookedWord, RareWord
from .request import Request


@dataclass(frozen=True)
class ProbabilityChange:
    """Probabilities before and after the edits, of each token of the baseline or each label of a classifier."""

    labels: tuple[str, ...]
    before: np.ndarray  # [T]
    after: np.ndarray  # [comparable_steps]: up to the first difference of the translations


@dataclass(frozen=True, repr=False)
class Analysis:
    """The result of a request. With edits, `baseline` is the result of the request without them."""

    request: Request  # the one that is answered
    translation: str  # empty for a model without a decoder
    trace: Trace  # every layer, head and step
    tree: Tree | None = field(repr=False)  # None for a model without a decoder
    hypothesis: Hypothesis | None = field(repr=False)  # the path of the tree that the trace scores
    rare_words: tuple[RareWord, ...]  # rare source words; empty where their counts are unknown
    checkpoint: str  # name of the checkpoint that answered
    languages: tuple[str, str] = ("source", "target")  # of the checkpoint
    other_translations: tuple[str, ...] = ()  # of the other sentences of the batch
    other_lengths: tuple[int, ...] = ()  # tokens of each of them
    prompt_length: int = 0  # tokens of the prompt of a model without an encoder
    batch_padding: int = 0  # `<pad>` tokens up to the longest source of the batch
    baseline: Analysis | None = field(default=None, repr=False)  # the result without the edits; None if there are none
    no_op_blocks: tuple[Edit, ...] = ()  # blocks of positions that the mask forbids already
    unpaired_tokens: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())  # unpaired tokens: source, other sentence
    corpus_stats: CorpusStats | None = field(default=None, repr=False)  # counts of the training pairs, where known
    warning_calibration: Signs | None = field(default=None, repr=False)  # share of bad translations by number of warnings
    next_sentence_probability: float | None = None  # that the second sentence follows the first; None for one sentence
    swapped_probability: float | None = None  # with the sentences swapped, without edits
    final_pass: Trace | None = field(default=None, repr=False)  # without the causal mask: the pass of the last step

    __repr__ = brief_repr

    @cached_property
    def task(self) -> Task:
        """The task of the model."""
        return task_of_kinds(self.trace.kinds, self.trace.classes, self.languages)

    @property
    def full_pass(self) -> Trace:
        """The trace of one pass over the full target.

        Pages show `trace`: where each step was decoded over its own prefix, it has the rows that chose the tokens.
        """
        return self.trace if self.final_pass is None else self.final_pass

    @property
    def row_note(self) -> str:
        """The pass of the decoder rows, where each step was decoded over its own prefix; else empty."""
        return "" if self.final_pass is None else cautions.STEPWISE_NOTE

    def key_count(self, site: Site, query: int) -> int:
        """Returns the number of keys in the pass of a row of a site (query from 0)."""
        is_own_pass = self.final_pass is not None and site.spec.query_side == site.spec.key_side == "target"
        return query + 1 if is_own_pass else len(self.trace.keys(site))

    def baseline_mask(self, site: Site, head: int | None = None) -> np.ndarray | None:
        """Returns the mask of the baseline at a site; None without a baseline or where the axes differ."""
        if self.baseline is None:
            return None
        mask = self.baseline.trace.mask(site, head)
        return mask if mask.shape == self.trace.masks[site].shape else None

    @property
    def labels(self) -> TokenLabels:
        """The tokens of both sides, to describe edits."""
        sides = (self.trace.source, self.trace.inputs, self.trace.outputs)
        return TokenLabels(*(() if side is None else side.labels for side in sides))

    @cached_property
    def comparable_steps(self) -> int:
        """Number of steps that can be compared with the baseline, up to and including the first different token.

        After it the decoder reads other tokens.
        """
        if self.baseline is None:
            return len(self.trace.predicted_axis)
        own, other = self.trace.predicted_axis.ids, self.baseline.trace.predicted_axis.ids
        split = first_difference(own, other)
        return len(own) if split is None else min(split + 1, len(own), len(other))

    @cached_property
    def baseline_token_log_probs(self) -> np.ndarray:
        """Log-probability under the edits of each comparable baseline token (blanks filled in), [comparable_steps]."""
        ids = (self.baseline or self).trace.scored_axis.ids[: self.comparable_steps]
        return self.trace.log_probs[np.arange(len(ids)), list(ids)]

    @property
    def probability_change(self) -> ProbabilityChange:
        """The probabilities before and after the edits; equal without edits."""
        base = (self.baseline or self).trace
        if base.classes:
            return ProbabilityChange(base.classes, *(np.exp(each.log_probs[0]) for each in (base, self.trace)))
        if base.blank_positions:
            own = base.log_probs[np.arange(len(base.scored_axis)), list(base.scored_axis.ids)]
            return ProbabilityChange(base.scored_axis.labels, np.exp(own), np.exp(self.baseline_token_log_probs))
        return ProbabilityChange(base.predicted_axis.labels, base.probabilities, np.exp(self.baseline_token_log_probs))

    @property
    def log_prob(self) -> float:
        """Summed log-probability of the `scored_tokens`, in nats.

        Under edits, a masked language model is scored on the baseline tokens of `Trace.scored_rows`, and a classifier on the
        baseline label.
        """
        if self.trace.classes:
            return float(self.baseline_token_log_probs[0])
        if self.trace.filled_axis is not None:
            return float(self.baseline_token_log_probs[list(self.trace.scored_rows)].sum(dtype=np.float64))
        return float(self.trace.token_log_probs[self.prompt_length :].sum(dtype=np.float64))

    @property
    def scored_tokens(self) -> str:
        """The name of the tokens that `log_prob` sums over, as in `head_effects` and `sweep`."""
        return self.task.scored_tokens(bool(self.trace.blank_positions), self.prompt_length > 0)

    @property
    def score_label(self) -> str:
        """The description of `log_prob`."""
        return self.task.score_label(bool(self.trace.blank_positions), self.prompt_length > 0)

    @property
    def target_padding(self) -> int:
        """`<pad>` tokens up to the longest target of the batch, where all are read in one pass."""
        return max((0, *(length - len(self.trace.predicted_axis) for length in self.other_lengths)))

    @property
    def decoding_label(self) -> str:
        """The decoding method of the target, in a few words."""
        if self.tree is None or self.hypothesis is None:
            return "read, not decoded"
        if self.request.has_target and (self.baseline is None or self.request.mode == "given"):
            return "given target"
        how, ids = self.request.decoding.description, self.hypothesis.ids
        if self.branch:
            return f"{how}, branched off"
        rank = next((n for n, h in enumerate(self.tree, 1) if h.ids == ids), 1)
        return f"{how}, given up" if self._is_pruned else f"{how}, number {rank}" if rank > 1 else how

    @property
    def branch(self) -> tuple[int, ...] | None:
        """The longest requested branch that the hypothesis begins with, as ids, or None."""
        if self.hypothesis is None or self.request.has_target:
            return None
        branches = [branch for branch in self.request.branches if self.hypothesis.ids[: len(branch)] == branch]
        return max(branches, key=len, default=None)

    @property
    def _is_pruned(self) -> bool:
        return (
            self.tree is not None
            and self.hypothesis is not None
            and self.hypothesis.ids in {h.ids for h in self.tree.pruned}
        )

    @property
    def rare_positions(self) -> tuple[int, ...]:
        """Positions of the tokens of rare source words."""
        return tuple(i for word in self.rare_words for i in word.positions)

    @cached_property
    def unsure_steps(self) -> tuple[int, ...]:
        """Steps, from 0, of generated tokens with a low probability."""
        return tuple(step for step in cautions.unsure_steps(self.trace) if step >= self.prompt_length)

    @cached_property
    def overlooked_words(self) -> tuple[OverlookedWord, ...]:
        """Source words without a large attention weight at any step; empty without cross-attention."""
        return cautions.overlooked_words(self.trace, self.corpus_stats)

    @property
    def source_length(self) -> int:
        """Tokens of the source with `</s>` and without padding; 0 without an encoder."""
        return 0 if self.trace.source is None else sum(i != PAD for i in self.trace.source.ids)

    @cached_property
    def warnings(self) -> dict[str, str]:
        """The warnings, one sentence for each kind of `cautions.applicable_warnings`."""
        target_length = 0 if self.trace.outputs is None else len(self.trace.outputs)
        long_sides = cautions.overlong_sides(self.corpus_stats, self.source_length, target_length)
        warnings = {}
        for side, size in list(long_sides.items())[:1]:
            assert self.corpus_stats is not None, "lengths of the training data are known"
            warnings["long"] = cautions.length_sentence(side, size, self.corpus_stats.lengths[side], self.request.source)
        if self.rare_words:
            warnings["rare"] = cautions.rare_sentence(self.rare_words)
        if self.unsure_steps:
            warnings["unsure"] = cautions.unsure_sentence(self.unsure_steps, self.trace, self.prompt_length)
        if self.overlooked_words:
            warnings["overlooked"] = cautions.overlooked_sentence(self.overlooked_words, len(self.trace.predicted_axis))
        return warnings

    @property
    def has_measured_rate(self) -> bool:
        """True where the share of bad translations is known: for the model's own translation without edits."""
        request = self.request
        chosen = request.has_target or request.branches or request.path or request.decoding.is_random
        return self.warning_calibration is not None and self.baseline is None and not chosen

    @property
    def doubt_summary(self) -> str:
        """The number of warnings and, where measured, the share of such translations that were bad."""
        number = len(self.warnings)
        head = f"{number or 'No'} {'warning' if number == 1 else 'warnings'}"
        known = self.warning_calibration if self.has_measured_rate else None
        rate = "" if known is None else known.describe(number)
        return f"{head}. {rate}." if rate else f"{head}."

    @property
    def warning_sentences(self) -> tuple[str, ...]:
        """The `doubt_summary` and the warnings, one sentence each; empty without warnings."""
        return (self.doubt_summary, *self.warnings.values()) if self.warnings else ()

    @property
    def has_all_requested_tokens(self) -> bool:
        """True where decoding stopped after the requested number of new tokens, which needs no warning."""
        decoding, size = self.request.decoding, len(self.hypothesis.ids) if self.hypothesis else 0
        return decoding.max_new_tokens > 0 and size < decoding.max_total_tokens

    @property
    def stop_reason(self) -> str:
        """The reason why decoding stopped before `</s>`, one sentence."""
        size, more = len(self.hypothesis.ids) if self.hypothesis else 0, self.request.decoding.max_new_tokens
        if self.has_all_requested_tokens:
            after = " after the branch" if self.branch else ""
            return f"The {self.task.output_noun} stopped after {more} new tokens{after}, the requested limit."
        counted = "" if self.task.has_encoder else ", those of the text among them"
        return f"The {self.task.output_noun} stopped at the limit of {size} tokens{counted}."

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the translation, one sentence each."""
        notes = []
        if self._is_pruned:
            notes.append("This path was given up: the beam went on without it.")
        elif self.hypothesis is not None and not self.hypothesis.is_finished and not self.has_all_requested_tokens:
            notes.append(self.stop_reason)
        notes += self.warning_sentences
        if waiting := self.request.intervention.pending_edits(len(self.trace.step_axis)):
            edits = "; ".join(edit.text(self.labels) for edit in waiting)
            notes.append(f"Waiting for a step that is not reached yet: {edits}.")
        notes += self._unpaired_notes
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

    def has_ids(self, source: Sequence[int] | None, target: Sequence[int]) -> bool:
        """True where source and target have exactly these ids."""
        own, outputs = self.trace.source and self.trace.source.ids, self.trace.outputs
        return own == (source and tuple(source)) and outputs is not None and outputs.ids == tuple(target)

    @property
    def _unpaired_notes(self) -> list[str]:
        """Sentences on the tokens that cannot be patched, where all source positions are patched."""
        edits = (edit for edit in self.request.intervention.edits if edit.donor_side == "source")
        if not any(getattr(edit, "position", None) is None for edit in edits):
            return []
        reasons = ("Not changed, no match in the other sentence", "Not used, no match in this sentence")
        return [
            f"{what}: {', '.join(tokens)}." for what, tokens in zip(reasons, self.unpaired_tokens, strict=True) if tokens
        ]

    @property
    def nbytes(self) -> int:
        """Size of all arrays in bytes, with those of `final_pass` and the baseline; shared arrays count once."""
        traces = (self.trace, self.full_pass, *((self.baseline.trace, self.baseline.full_pass) if self.baseline else ()))
        return sum({id(array): array.nbytes for trace in traces for array in trace.arrays}.values())

    def without_scores(self) -> Analysis:
        """Returns a copy without the scores before the mask: 3/10 of the bytes of a long text, which no page reads."""
        last, baseline = (
            self.final_pass and self.final_pass.without_scores(),
            self.baseline and self.baseline.without_scores(),
        )
        return dataclasses.replace(self, trace=self.trace.without_scores(), final_pass=last, baseline=baseline)

    def to_dict(self) -> dict[str, Any]:
        """Returns text, tokens and probabilities as JSON values, without maps; of a classifier its labels."""
        if self.trace.classes:
            return self._label_dict()
        second, follows = self.request.second_sentence, self.next_sentence_probability
        pair = {"second_sentence": second, "follows": follows, "turned": self.swapped_probability}
        return {
            "checkpoint": self.checkpoint,
            "source": self.request.source,
            **(pair if second else {}),
            "translation": self.translation,
            "log_prob": round(self.log_prob, 6),
            "scored_tokens": self.scored_tokens,
            "finished": self.hypothesis is None or self.hypothesis.is_finished,
            "source_tokens": [] if self.trace.source is None else list(self.trace.source.labels),
            "tokens": [
                {"token": label, "log_prob": round(float(p), 6)}
                for label, p in zip(self.trace.predicted_axis.labels, self.trace.token_log_probs, strict=True)
            ],
            "notes": list(self.notes),
        }

    def _label_dict(self) -> dict[str, Any]:
        """Returns the top label of a classifier, and probability and logit of all labels, sorted."""
        trace = self.trace
        order = np.argsort(-trace.log_probs[0], kind="stable").tolist()
        probabilities, logits = np.exp(trace.log_probs[0].astype(float)), trace.logits[0]
        pairs = {n: (round(float(probabilities[n]), 6), round(float(logits[n]), 6)) for n in order}
        named = {trace.classes[n]: dict(zip(("probability", "logit"), pair, strict=True)) for n, pair in pairs.items()}
        return {
            "checkpoint": self.checkpoint,
            "source": self.request.source,
            "label": trace.predicted_axis.labels[0],
            "probability": named[trace.predicted_axis.labels[0]]["probability"],
            "labels": named,
            "source_tokens": list(trace.step_axis.labels),
            "notes": list(self.notes),
        }
