"""Compares two checkpoints on the same ids, step by step, and names the first step that differs.

For a converted model, a continued training or another device: where does it begin to compute something else?
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from ..checkpoint import Checkpoint
from ..inference.analyse import given_request
from ..inference.passes import batch
from ..network.context import Pass, teacher_forced_states
from ..trace import Probe, Site, Stack, Sublayer
from .effects import tokens_of

THRESHOLD = 1e-4
EPSILON = 1e-30  # divides a tensor whose entries are all zeros
_TITLES = {"self": "self-attention", "cross": "cross-attention", "ff": "feed-forward network"}


@dataclass(frozen=True)
class StepDifference:
    """The largest differences at one step: the embedding of a stack, or a sub-layer.

    Differences of the stream and of z are shares of the largest entry of the first checkpoint; those of the pattern are
    attention weights.
    """

    stack: Stack
    layer: int | None  # from 0; None for the embedding
    sublayer: str  # embedding, self, cross or ff
    stream: float  # the residual stream after the step
    pattern: np.ndarray | None = field(default=None, repr=False)  # [H]
    z: np.ndarray | None = field(default=None, repr=False)  # [H]: pattern·V of each head

    @property
    def site(self) -> Site | None:
        """The site of an attention step, else None."""
        if self.layer is None or self.sublayer == "ff":
            return None
        return Site("cross" if self.sublayer == "cross" else self.stack, self.layer)

    @property
    def name(self) -> str:
        """The step in words, such as `decoder layer 2, cross-attention`; layers count from 1."""
        if self.layer is None:
            return f"{self.stack} embedding"
        return f"{self.stack} layer {self.layer + 1}, {_TITLES[self.sublayer]}"

    @property
    def largest(self) -> float:
        """The largest of all differences of the step."""
        arrays = (each for each in (self.pattern, self.z) if each is not None)
        return max((self.stream, *(float(each.max()) for each in arrays)))


@dataclass(frozen=True)
class CheckpointComparison:
    """The differences of two checkpoints on the same tokens, in the order of the computation."""

    names: tuple[str, str]
    source: tuple[str, ...]  # labels of the tokens; empty for a side that the model lacks
    target: tuple[str, ...]
    steps: tuple[StepDifference, ...]
    log_probs: float  # largest difference of a log-probability, in nats
    threshold: float

    @property
    def first(self) -> StepDifference | None:
        """The first step with a difference above the threshold; None where there is none."""
        return next((step for step in self.steps if step.largest > self.threshold), None)

    @property
    def first_head(self) -> tuple[Site, int, float] | None:
        """Site, head from 0 and difference of the first heads that differ; of these, the head that differs most.

        The difference is that of the pattern where a pattern differs, else that of z. None where no head differs.
        """
        for step in self.steps:
            for values in (step.pattern, step.z):
                if step.site is not None and values is not None and values.max() > self.threshold:
                    head = int(values.argmax())
                    return step.site, head, float(values[head])
        return None

    def describe(self) -> str:
        """Returns the result in one or two sentences."""
        largest = f"Log-probabilities differ by at most {self.log_probs:.3g} nats."
        if self.first is None:
            return f"No step differs by more than {self.threshold:g}. {largest}"
        where, head = self.first, self.first_head
        text = f"The first difference is in {where.name}: {where.largest:.3g}."
        if head is not None:
            site, number, value = head
            text += f" The first head that differs is {site.head_name(number)}: {value:.3g}."
        return f"{text} {largest}"

    def __str__(self) -> str:
        return self.describe()


@torch.inference_mode()
def compare(
    first: Checkpoint,
    second: Checkpoint,
    text: str = "",
    *,
    ids: Sequence[int] = (),
    target: str | None = None,
    target_ids: Sequence[int] = (),
    threshold: float = THRESHOLD,
) -> CheckpointComparison:
    """Runs two checkpoints on the same ids and compares each step: patterns, z of each head, and residual streams.

    Args:
        first: The checkpoint whose tokenizer reads texts, and whose largest entries are 1.
        second: The other checkpoint, with as many heads and dimensions. Of different depths, common layers are compared.
        text: The source, or the text of a model without an encoder; see `model.run`.
        ids: All ids of the source instead of a text.
        target: The target of an encoder-decoder.
        target_ids: All ids of the target instead of a text.
        threshold: The difference above which a step differs.

    Raises:
        ValueError: Shapes or vocabularies differ, or the tokens are not as `model.run` expects them.
    """
    _check_shapes(first, second)
    source, outputs = tokens_of(first, given_request(first, text, ids, target, target_ids))
    labels = _common_labels(first, second, "source", source), _common_labels(first, second, "target", outputs)
    passes = [_record(each, source, outputs) for each in (first, second)]
    probes, log_probs = [probe for probe, _ in passes], [logits.log_softmax(-1) for _, logits in passes]
    difference = float((log_probs[0] - log_probs[1]).abs().max())
    return CheckpointComparison(
        (first.name, second.name), *labels, tuple(_differences(*probes)), difference, float(threshold)
    )


def _record(
    checkpoint: Checkpoint, source: Sequence[int] | None, outputs: Sequence[int] | None
) -> tuple[Probe, torch.Tensor]:
    """Returns everything that one pass records, and its logits on the CPU in float64."""
    probe, device = Probe("full"), checkpoint.device
    ids = batch(source, 1, device)
    hidden = teacher_forced_states(checkpoint.model, ids, batch(outputs, 1, device), Pass(probe=probe))
    return probe, checkpoint.model.task_logits(hidden, ids).cpu().double()


def _differences(first: Probe, second: Probe) -> Iterator[StepDifference]:
    for place in first.streams:
        if place not in second.streams:
            continue
        one, two = first.streams[place], second.streams[place]
        if place == Sublayer(place.stack, 0, "self"):
            yield StepDifference(place.stack, None, "embedding", _share(one.before, two.before))
        step = StepDifference(place.stack, place.layer, place.part, _share(one.after, two.after))
        if step.site is None:
            yield step
            continue
        records = first.records[step.site], second.records[step.site]
        pattern, other = (each["pattern"][0].cpu().double() for each in records)  # [H,T,S] each
        z, other_z = (each["z"][0].cpu().double() for each in records)  # [H,T,K] each
        weights = (pattern - other).abs().amax((-2, -1))  # [H]
        outputs = (z - other_z).abs().amax((-2, -1)) / z.abs().amax((-2, -1)).clamp_min(EPSILON)  # [H]
        yield StepDifference(step.stack, step.layer, step.sublayer, step.stream, weights.numpy(), outputs.numpy())


def _share(one: torch.Tensor, two: torch.Tensor) -> float:
    """Returns the largest difference as a share of the largest entry of the first tensor."""
    one, two = one.cpu().double(), two.cpu().double()
    return float((one - two).abs().max() / one.abs().max().clamp_min(EPSILON))


def _check_shapes(first: Checkpoint, second: Checkpoint) -> None:
    for name in ("kinds", "heads", "d_model", "target_vocab"):
        one, two = getattr(first.config, name), getattr(second.config, name)
        if one != two:
            raise ValueError(f"{name} is {one} in {first.name} and {two} in {second.name}; expected the same")


def _common_labels(first: Checkpoint, second: Checkpoint, side: str, ids: Sequence[int] | None) -> tuple[str, ...]:
    """Returns the labels of ids; ValueError where the vocabularies read them differently."""
    if ids is None:
        return ()
    one, two = (each.source_tokenizer if side == "source" else each.target_tokenizer for each in (first, second))
    if high := [each for each in ids if each >= two.size]:
        raise ValueError(f"{second.name} has no id {high[0]}; expected 0 to {two.size - 1}")
    for one_label, two_label, each in zip(one.pieces(ids), two.pieces(ids), ids, strict=True):
        if one_label != two_label:
            raise ValueError(
                f"the id {each} is {one_label!r} in {first.name} and {two_label!r} in {second.name}; expected one vocabulary"
            )
    return one.pieces(ids)
