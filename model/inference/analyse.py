"""The entry point: analyse(checkpoint, request) -> Analysis. Also next-sentence prediction."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import torch

from .. import checkpoint as checkpoints
from ..checkpoint import Checkpoint
from ..config import END, MAX_GIVEN_TOKENS, MAX_TOKENS, PAD, START
from ..decoding import uncached
from ..decoding.hypotheses import Hypothesis, Tree
from ..decoding.strategy import RequestError
from ..decoding.uncached import Recorder
from ..device import available_memory, choose
from ..edits.apply import ActivationEdit
from ..edits.intervention import BASELINE, Intervention
from ..edits.kinds import Edit
from ..network import masks
from ..network.context import Pass, shift_right, teacher_forced_states
from ..network.transformer import EncoderOnly
from ..text.warning_calibration import read_signs
from ..trace import Trace
from . import passes
from .analysis import Analysis
from .cautions import rare_words
from .passes import batch, build_step, gather_steps, recorded_trace, teacher_force
from .request import Request
from .source_reading import build_donor, build_edits, unpaired_tokens
from .targets import (
    build_source_rows,
    build_target_trees,
    count_padding,
    decode,
    fill_checkpoint,
    prompt_ids,
    select_hypothesis,
)


@torch.inference_mode()
def next_sentence_probabilities(
    checkpoint: Checkpoint, source: Sequence[int], edits: Sequence[Intervention] = (BASELINE,)
) -> list[float]:
    """Returns the probability that the second sentence follows the first, under each intervention.

    `source` has the ids of both sentences and may end in padding.
    """
    ids = torch.tensor([list(source)] * len(edits), device=checkpoint.device)  # [N,S]
    hidden = teacher_forced_states(checkpoint.model, ids, None, Pass(build_edits(checkpoint, source, edits)))  # [N,S,D]
    assert isinstance(checkpoint.model, EncoderOnly), "only an encoder predicts the next sentence"
    probabilities = checkpoint.model.next_sentence_logits(hidden, ids).double().log_softmax(-1).exp()  # [N,2]
    return [float(probability) for probability in probabilities[:, 0]]


def swap_sentences(source: Sequence[int]) -> list[int]:
    """Returns the ids of two sentences in swapped order, without padding."""
    real = [token for token in source if token != PAD]
    middle, last = (n for n, token in enumerate(real) if token == END)
    start = int(real[0] == START)
    return [*real[:start], *real[middle + 1 : last], END, *real[start:middle], END]


def load(name: str = "en-fr", device: str = "auto") -> Checkpoint:
    """Returns a checkpoint. Its weights are float32 and frozen.

    Args:
        name: name of a shipped checkpoint or of one in CHECKPOINTS, or the path of a folder.
        device: `cpu`, `mps`, `cuda`, `cuda:1` or `auto`, which takes the best one of the machine.

    Raises CheckpointError for a damaged or missing checkpoint, ValueError for a device that is not available.
    """
    return checkpoints.load(name, choose(device))


@torch.inference_mode()
def analyse(
    checkpoint: Checkpoint, request: Request, max_bytes: int | None = None, cached_baseline: Analysis | None = None
) -> Analysis:
    """Translates, or reads the given target, and records every layer, head and step.

    A model without a decoder predicts each source token or the label; a model without an encoder continues the text.
    Weights have the shape [H,T,S], log-probabilities [T,V] in nats. Layers, heads and steps count from 0.

    Args:
        checkpoint: the model, as `load` returns it.
        request: the source, its decoding and its edits. One that names no checkpoint gets the name of this one.
        max_bytes: limit of the arrays in bytes; None sets no limit.
        cached_baseline: an analysis of the same request without edits, whose decoding is reused.

    Raises RequestError where the request names another checkpoint, where the source, the target or the prefix exceeds
    `request.max_tokens`, and where the arrays would take more than `max_bytes` bytes. Above 128 tokens the default is the
    available memory.
    """
    request = fill_checkpoint(checkpoint, request)
    if max_bytes is None and request.max_tokens > MAX_TOKENS:
        max_bytes = available_memory()
    edit = request.intervention
    added_padding = count_padding(checkpoint, request)
    rows = build_source_rows(checkpoint, request, added_padding)
    source = rows[0] if rows else None
    longest = len(source) if source is not None else 0
    donor = build_donor(checkpoint, edit, source)
    edit.check(checkpoint.config, longest, bool(checkpoint.mean_z), None if donor is None else donor.partners)
    builder = _AnalysisBuilder(checkpoint, request, source, added_padding, max_bytes)
    if donor is not None and source is not None:
        builder.common_fields["unpaired_tokens"] = unpaired_tokens(checkpoint, source, donor)
    if "decoder" not in checkpoint.config.kinds:
        return builder.build_without_decoder()
    recorder = Recorder()
    if cached_baseline is None:
        tree, *others = build_target_trees(checkpoint, request, rows, recorder)
        builder.common_fields["other_translations"] = tuple(
            checkpoint.target_tokenizer.decode(other[0].ids) for other in others
        )
        builder.common_fields["other_lengths"] = tuple(len(other[0].ids) for other in others)
    else:
        assert cached_baseline.tree is not None, "a model with a decoder has a tree"
        tree = cached_baseline.tree
        builder.common_fields |= {name: getattr(cached_baseline, name) for name in ("other_translations", "other_lengths")}
    baseline_path = select_hypothesis(tree, request)
    builder.check_size(baseline_path, 2 if edit else 1)
    is_stepwise = not checkpoint.config.causal and not request.has_target
    if not edit:
        return builder.build_baseline(baseline_path, tree, recorder, is_stepwise, request)
    unedited = dataclasses.replace(request, intervention=BASELINE, extra_padding=added_padding)
    if request.mode == "given":
        before, after = teacher_force(checkpoint, source, baseline_path.ids, [BASELINE, edit])
        return builder.build_edited(baseline_path, tree, after, builder.build(baseline_path, tree, before, request=unedited))
    edited_recorder = Recorder()
    edited_tree = decode(checkpoint, request, rows, edit, edited_recorder)[0]
    edited_path = select_hypothesis(edited_tree, request)
    builder.check_size(edited_path, 3 if checkpoint.config.causal else 4)
    if (
        cached_baseline is not None
        and cached_baseline.has_ids(source, baseline_path.ids)
        and (is_stepwise or checkpoint.config.causal)
    ):
        baseline = dataclasses.replace(cached_baseline, request=unedited)
    else:  # compared with tokens that were chosen without later ones
        baseline = builder.build_baseline(baseline_path, tree, recorder, not checkpoint.config.causal, unedited)
    if edit.causal_mask and checkpoint.config.causal:
        return builder.build_edited(
            edited_path, edited_tree, builder.trace_path(edited_path, edit, edited_recorder), baseline
        )
    return builder.build_stepwise(
        edited_path, edited_tree, edit, baseline=baseline, no_op_blocks=builder.find_no_op_blocks(edited_path.ids)
    )


def run(
    checkpoint: Checkpoint,
    text: str = "",
    *,
    ids: Sequence[int] = (),
    target: str | None = None,
    target_ids: Sequence[int] = (),
    second_sentence: str = "",
    intervention: Intervention = BASELINE,
    extra_padding: int = 0,
    max_tokens: int = MAX_GIVEN_TOKENS,
    max_bytes: int | None = None,
    edit: ActivationEdit | None = None,
) -> Analysis:
    """Computes given tokens in one pass, and records every layer, head and position. Nothing is decoded.

    An encoder-decoder needs a target. A model without an encoder predicts each token of the text, or of the target after
    the text. A model without a decoder reads the text.

    Args:
        checkpoint: The model.
        text: The source, or the text of a model without an encoder. `</s>` is added.
        ids: All ids of the source instead of a text, with `</s>` where the model expects it.
        target: The target. `</s>` is added.
        target_ids: All ids of the target instead of a text.
        second_sentence: The second sentence of next-sentence prediction.
        intervention: The edits. Then `baseline` of the result is the pass without them.
        extra_padding: `<pad>` tokens after the source.
        max_tokens: The largest number of tokens on each side, at most 1024. Learned positions may end earlier.
        max_bytes: The largest size of all arrays; default: the available memory.
        edit: A function of place, name and activation for edits that `Intervention` does not declare. It receives each
            activation without the batch axis: at a `Site` q, k, v, scores, pattern and z of all heads, at a
            `model.trace.Sublayer` the residual stream after it. It returns another tensor, or None to keep it. Not cached.

    Returns:
        The analysis. Row t of a decoder map reads token t-1 (`<s>` first) and predicts token t.

    Raises:
        RequestError: No text or no target is given, one is given twice, an id is not in the vocabulary, or a limit is
            exceeded.
    """
    request = given_request(checkpoint, text, ids, target, target_ids)
    request = dataclasses.replace(
        request,
        second_sentence=second_sentence,
        extra_padding=extra_padding,
        intervention=intervention,
        max_tokens=max_tokens,
    )
    plain = analyse(checkpoint, request, max_bytes=max_bytes)
    if edit is None:
        return plain
    source, outputs = (None if side is None else side.ids for side in (plain.trace.source, plain.trace.outputs))
    (trace,) = teacher_force(checkpoint, source, outputs, [intervention], edit)
    path = None if outputs is None else Hypothesis(outputs, tuple(trace.token_log_probs.tolist()))
    tree = None if path is None else Tree((path,))
    return dataclasses.replace(plain, trace=trace, hypothesis=path, tree=tree, baseline=plain.baseline or plain)


def given_request(
    checkpoint: Checkpoint, text: str, ids: Sequence[int], target: str | None, target_ids: Sequence[int]
) -> Request:
    """Returns the request of given tokens, which decodes nothing; see `run`."""
    kinds, given = checkpoint.config.kinds, target is not None or len(target_ids) > 0
    if text.strip() and len(ids):
        raise RequestError("A text and ids are given; expected one of the two.")
    if "decoder" in kinds and not given:
        if "encoder" in kinds:
            raise RequestError("No target is given; expected target= or target_ids=. `analyse` decodes one.")
        text, target, ids, target_ids = "", text.strip() or None, (), ids
    return Request(text, target=target, source_ids=tuple(ids), target_ids=tuple(target_ids), max_tokens=MAX_GIVEN_TOKENS)


class _AnalysisBuilder:
    """Builds the analyses of one request from their common fields."""

    def __init__(
        self, checkpoint: Checkpoint, request: Request, source: list[int] | None, added_padding: int, max_bytes: int | None
    ) -> None:
        self.checkpoint, self.request, self.source = checkpoint, request, source
        self.added_padding, self.max_bytes = added_padding, max_bytes
        real = [i for i in source or () if i not in (PAD, START, END)]
        words = checkpoint.corpus_stats.words if checkpoint.corpus_stats else {}
        self.common_fields: dict[str, Any] = {
            "checkpoint": checkpoint.name,
            "languages": checkpoint.languages,
            "prompt_length": len(prompt_ids(checkpoint, request)),
            "rare_words": rare_words(checkpoint.source_tokenizer, real, words) if words else (),
            "corpus_stats": checkpoint.corpus_stats,
            "warning_calibration": read_signs(checkpoint.metrics),
            "batch_padding": source.count(PAD) - added_padding if source is not None else 0,
        }

    def build(self, path: Hypothesis, tree: Tree, trace: Trace, **extra_fields: Any) -> Analysis:
        """Returns the analysis of a path of a tree, scored by the trace."""
        path = Hypothesis(path.ids, tuple(float(p) for p in trace.token_log_probs))
        text = self.checkpoint.target_tokenizer.decode(path.ids)
        tree = Tree((path,)) if self.request.has_target else tree
        fields: dict[str, Any] = {
            "request": self.request,
            "translation": text,
            "trace": trace,
            "tree": tree,
            "hypothesis": path,
        }
        return Analysis(**(fields | self.common_fields | extra_fields))

    def trace_path(self, path: Hypothesis, edit: Intervention, recorder: Recorder) -> Trace:
        """Returns the trace over a path, recorded by decoding or else by a teacher-forced pass."""
        trace = recorded_trace(self.checkpoint, self.source, path.ids, recorder)
        return trace or teacher_force(self.checkpoint, self.source, path.ids, [edit])[0]

    def build_baseline(
        self, path: Hypothesis, tree: Tree, recorder: Recorder, is_stepwise: bool, request: Request
    ) -> Analysis:
        """Returns the analysis without edits; with `is_stepwise`, no step attends to later tokens."""
        if is_stepwise:
            return self.build_stepwise(path, tree, BASELINE, request=request)
        return self.build(path, tree, self.trace_path(path, BASELINE, recorder), request=request)

    def build_edited(self, path: Hypothesis, tree: Tree, trace: Trace, baseline: Analysis) -> Analysis:
        """Returns the analysis under the edits, with its baseline."""
        return self.build(path, tree, trace, baseline=baseline, no_op_blocks=self.find_no_op_blocks(path.ids))

    def build_stepwise(self, path: Hypothesis, tree: Tree, edit: Intervention, **extra_fields: Any) -> Analysis:
        """Returns the analysis without a causal mask: one pass a step, over the prefix that chose its token."""
        model, edits = self.checkpoint.model, build_edits(self.checkpoint, self.source, [edit])
        source = batch(self.source, 1, self.checkpoint.device)
        steps = [build_step(probe, logits) for probe, logits in uncached.prefix_passes(model, source, path.ids, edits)]
        (final_pass,) = teacher_force(self.checkpoint, self.source, path.ids, [edit])
        return self.build(path, tree, gather_steps(steps, final_pass), final_pass=final_pass, **extra_fields)

    def check_size(self, path: Hypothesis | None, traces: int) -> None:
        """Raises RequestError where this number of traces over a path is too large."""
        passes.check_trace_size(
            self.checkpoint.config, len(self.source or ()), len(path.ids) if path else 0, traces, self.max_bytes
        )

    def build_without_decoder(self) -> Analysis:
        """Returns the analysis of a model without a decoder: one pass over the source, with and without the edits."""
        edit = self.request.intervention
        self.check_size(None, 1 + bool(edit))
        before, *after = teacher_force(self.checkpoint, self.source, None, [BASELINE, edit][: 1 + bool(edit)])
        unedited = dataclasses.replace(self.request, intervention=BASELINE, extra_padding=self.added_padding)
        plain: dict[str, Any] = {"translation": "", "tree": None, "hypothesis": None} | self.common_fields
        probabilities: list[float | None] = [None, None] if edit else [None]
        if self.request.second_sentence and self.source is not None:
            probabilities = [*next_sentence_probabilities(self.checkpoint, self.source, [BASELINE, edit][: 1 + bool(edit)])]
            plain["swapped_probability"] = next_sentence_probabilities(self.checkpoint, swap_sentences(self.source))[0]
        baseline = Analysis(request=unedited, trace=before, next_sentence_probability=probabilities[0], **plain)
        if not after:
            return dataclasses.replace(baseline, request=self.request)
        more: dict[str, Any] = {"no_op_blocks": self.find_no_op_blocks(None), "next_sentence_probability": probabilities[1]}
        return Analysis(request=self.request, trace=after[0], baseline=baseline, **more, **plain)

    def find_no_op_blocks(self, target: Sequence[int] | None) -> tuple[Edit, ...]:
        """Returns the blocks of positions that the mask forbids already, without blocks that wait for their step."""
        edit = self.request.intervention
        waiting = edit.pending_edits(len(target or ()))
        blocks = [each for each in edit.edits if "change_mask" in each.hooks and each not in waiting]
        if not blocks:
            return ()
        source, outputs = batch(self.source, 1), batch(target, 1)
        inputs = None if outputs is None else shift_right(outputs)
        return masks.no_op_blocks(masks.build(self.checkpoint.config, source, inputs, [edit]), blocks)
