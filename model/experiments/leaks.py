"""Tests the masks: changes what must not be seen, and reports every residual stream that moves.

`leak_test` tests a checkpoint. `leak_test_callable` tests a model of any framework through a function that it calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from ..checkpoint import Checkpoint
from ..config import CONTROL_TOKENS, PAD, START
from ..edits.apply import BatchEdits
from ..inference.request import PAD_WHEN_UNMASKED, Request
from ..inference.source_reading import build_edits
from ..network.context import Pass, teacher_forced_states
from ..trace import Probe, Site
from .effects import tokens_of

SHORTEST, SUBSTITUTE_LENGTH = 4, 8  # a target shorter than the first is replaced by as many other tokens as the second
EPSILON = 1e-30  # divides a stream whose entries are all zeros
MIN_SHIFT = 1e-5  # of the largest entry of the stream: above rounding
MARGIN = 10  # a leak is larger than the noise of repeated inputs by this factor
MAX_NOISE = 0.01  # of the largest entry: larger noise is dropout, not rounding


@dataclass(frozen=True)
class LeakReport:
    """Shifts of residual streams, as shares of their largest entry, after a change that they must not see."""

    labels: tuple[str, ...]  # the decoder's inputs, `<s>` first
    source: tuple[str, ...]  # the source's tokens without padding
    shift_by_changed_token: np.ndarray  # [decoder layers, T changed, T moved]
    encoder_shift_by_padding: np.ndarray  # [encoder layers, S]
    decoder_shift_by_padding: np.ndarray  # [decoder layers, T]
    pads: int
    has_substitute_target: bool = False  # the decoder inputs are made up: the translation was too short
    max_forbidden_weight: dict[Site, np.ndarray] = field(
        default_factory=dict
    )  # [H]: the largest weight on a forbidden position
    noise: float = 0.0  # difference of the streams of one input: 0 for a deterministic model

    @property
    def threshold(self) -> float:
        """Returns the share above which a stream counts as moved: above rounding, and above the noise of the model."""
        return max(MIN_SHIFT, MARGIN * self.noise)

    def first_layer(self, changed: int, moved: int) -> int | None:
        """Returns the first layer, from 0, at which a changed position moves another; None where none does."""
        layers = np.flatnonzero(self.shift_by_changed_token[:, changed, moved] > self.threshold)
        return int(layers[0]) if len(layers) else None

    @property
    def leaks(self) -> tuple[tuple[int, int, int], ...]:
        """Returns layer, changed position and moved position of every earlier position that a later token moves."""
        layers, changed, moved = np.nonzero(self.shift_by_changed_token > self.threshold)
        triples = zip(layers.tolist(), changed.tolist(), moved.tolist(), strict=True)
        return tuple((layer, j, i) for layer, j, i in triples if i < j)

    @property
    def heads(self) -> tuple[tuple[Site, int, float], ...]:
        """Returns the heads that let a leak through, the first layers first: site, head from 0, and largest forbidden
        weight.

        The weight is on a later token in the decoder, on padding at the other sites. Empty where nothing leaks.
        """
        kinds = {"decoder"} if self.leaks else set()
        kinds |= {"encoder", "cross"} if self.padding_leaks else set()
        order = sorted(
            (site for site in self.max_forbidden_weight if site.kind in kinds), key=lambda site: (site.layer, site.kind)
        )
        return tuple((site, n, float(w)) for site in order for n, w in enumerate(self.max_forbidden_weight[site]) if w > 0)

    @property
    def padding_leaks(self) -> tuple[tuple[str, int, int], ...]:
        """Returns stack, layer and position of every entry that the content of padding moves."""
        both = (("encoder", self.encoder_shift_by_padding), ("decoder", self.decoder_shift_by_padding))
        return tuple((name, int(n), int(i)) for name, array in both for n, i in np.argwhere(array > self.threshold))


@torch.inference_mode()
def leak_test(checkpoint: Checkpoint, request: Request) -> LeakReport:
    """Changes each decoder input in turn, then the tokens at padded source positions, under the edits of the request.

    With a causal mask, no position before the changed one may move at any layer. With a padding mask, nothing may move.
    Arrays are empty for padding without an encoder, and for later tokens without a decoder.

    Args:
        checkpoint: the model, as `load` returns it.
        request: its source, target and edits.

    Raises ValueError for a model that is not deterministic, such as one in training mode with dropout.
    """
    source, target = tokens_of(checkpoint, request)
    request.intervention.check(checkpoint.config, len(source or ()), bool(checkpoint.mean_z))
    edits = build_edits(checkpoint, source, [request.intervention])
    made_up = target is not None and len(target) < SHORTEST
    if made_up:
        target = [_other_token(len(CONTROL_TOKENS) + 40 * n, checkpoint) for n in range(SUBSTITUTE_LENGTH)]
    plain = [i for i in source or () if i != PAD]
    pads = (len(source) - len(plain) or PAD_WHEN_UNMASKED) if source is not None else 0
    padding: dict[str, np.ndarray] = {}
    looks: dict[Site, np.ndarray] = {}
    noise = 0.0
    later = np.zeros((0, 0, 0), np.float32)
    if source is not None:
        padding, looks, noise = _shift_by_padding(checkpoint, plain, pads, target, edits)
    if target is not None:
        later, decoder_weights, noise_of_later = _shift_by_later(checkpoint, source, target, edits)
        looks |= decoder_weights
        noise = max(noise, noise_of_later)
    return LeakReport(
        () if target is None else checkpoint.target_tokenizer.pieces([START, *target[:-1]]),
        checkpoint.source_tokenizer.pieces(plain),
        later,
        padding.get("encoder", np.zeros((0, len(plain)), np.float32)),
        padding.get("decoder", np.zeros((0, len(target or ())), np.float32)),
        pads,
        made_up,
        looks,
        noise,
    )


def _shift_by_later(
    checkpoint: Checkpoint, source: Sequence[int] | None, target: Sequence[int], edits: BatchEdits
) -> tuple[np.ndarray, dict[Site, np.ndarray], float]:
    """Returns the shift of every position by each changed decoder input [layers,T changed,T moved], the largest weight of
    each head on a later position, and the noise.

    Rows 0 and 1 of the batch are the same input. Row j + 1 has another token at input j. Input 0 is `<s>`, and stays.
    """
    rows = [[*target[:j], _other_token(target[j], checkpoint), *target[j + 1 :]] for j in range(len(target) - 1)]
    outputs = torch.tensor([list(target), list(target), *rows], device=checkpoint.device)
    ids = None if source is None else torch.tensor([list(source)] * len(outputs), device=checkpoint.device)
    probe = _record(checkpoint, ids, ids, outputs, edits)
    streams = _streams(probe)["decoder"]
    later = relative_shift(streams).astype(np.float32)  # [layers,T,T]
    noise = check_noise(later[:, 0])
    later[:, 0] = 0
    places = torch.arange(len(target), device=checkpoint.device)
    return later, _forbidden_weights(probe, {"decoder": places > places[:, None]}), noise


def _shift_by_padding(
    checkpoint: Checkpoint, plain: list[int], pads: int, target: Sequence[int] | None, edits: BatchEdits
) -> tuple[dict[str, np.ndarray], dict[Site, np.ndarray], float]:
    """Returns the shift of every position of each stack, [layers,S] and [layers,T], by other tokens in the padding, the
    largest weight of each head on padding, and the noise.

    Rows 0 and 1 of the batch are the same input.
    """
    padded = torch.tensor([[*plain, *[PAD] * pads]] * 3, device=checkpoint.device)
    filled = padded.clone()  # no row has `<pad>`: shuffled positions count the other tokens
    filled[:2, len(plain) :] = torch.tensor((plain * pads)[:pads])
    filled[2, len(plain) :] = torch.tensor([_other_token(i, checkpoint) for i in (plain * pads)[:pads]])
    targets = None if target is None else torch.tensor([list(target)] * 3, device=checkpoint.device)
    probe = _record(checkpoint, filled, padded, targets, edits)
    differences = {stack: relative_shift(x) for stack, x in _streams(probe).items()}
    noise = max(check_noise(each[:, 0]) for each in differences.values())
    shifts = {stack: each[:, 1] for stack, each in differences.items()}
    padding = torch.arange(padded.size(1), device=checkpoint.device) >= len(plain)  # [S]
    looks = _forbidden_weights(probe, {"encoder": padding & ~padding[:, None], "cross": padding[None]})
    return shifts | {"encoder": shifts["encoder"][:, : len(plain)]}, looks, noise


def check_noise(differences: np.ndarray) -> float:
    """Returns the largest difference, as a share of the largest entry, between two results of one input.

    Raises ValueError above `MAX_NOISE`, which is more than rounding: every comparison would then report a leak.
    """
    noise = float(differences.max())
    if noise > MAX_NOISE:
        raise ValueError(
            f"the model is not deterministic: two results of the same input differ by {noise:.0%} of the largest entry, "
            f"expected at most {MAX_NOISE:.0%}; switch dropout off, call model.eval() first"
        )
    return noise


def _other_token(token: int, checkpoint: Checkpoint) -> int:
    """Returns another token that is no control token."""
    first, size = len(CONTROL_TOKENS), min(checkpoint.config.source_vocab, checkpoint.config.target_vocab)
    return first + (token - first + 7) % (size - first)


def _record(
    checkpoint: Checkpoint,
    source: torch.Tensor | None,
    masked_by: torch.Tensor | None,
    outputs: torch.Tensor | None,
    edits: BatchEdits,
) -> Probe:
    """Runs a pass whose masks follow other ids. Returns its recordings."""
    probe = Probe("full")
    teacher_forced_states(checkpoint.model, source, outputs, Pass(edits, probe), masked_by)
    return probe


def _forbidden_weights(probe: Probe, forbidden: dict[str, torch.Tensor]) -> dict[Site, np.ndarray]:
    """Returns the largest weight [H] of each head on a forbidden cell [T,S], by site. Rows with an unused z do not count."""
    weights = {}
    for site, record in probe.records.items():
        if site.kind in forbidden:
            used = (record["z"][0] != 0).any(-1, keepdim=True)  # [H,T,1]
            weight = record["pattern"][0] * (used & forbidden[site.kind])  # [H,T,S]
            weights[site] = weight.amax((1, 2)).float().cpu().numpy()
    return weights


def _streams(probe: Probe) -> dict[str, np.ndarray]:
    """Returns the residual stream after every layer of each stack, [layers,B,T,D]."""
    last = {place: streams.after for place, streams in probe.streams.items() if place.part == "ff"}
    stacks = dict.fromkeys(place.stack for place in last)
    stacked = {stack: torch.stack([last[place] for place in sorted(last) if place.stack == stack]).cpu() for stack in stacks}
    # numpy has no bfloat16
    return {stack: (x if x.dtype == torch.float64 else x.float()).numpy() for stack, x in stacked.items()}


def relative_shift(streams: np.ndarray) -> np.ndarray:
    """Returns the largest difference of every row of the batch from its first row, as a share: [layers,B-1,T]."""
    scale = np.abs(streams[:, :1]).max(axis=(2, 3), keepdims=True)
    return np.asarray((np.abs(streams[:, 1:] - streams[:, :1]) / np.maximum(scale, EPSILON)).max(axis=-1))


PADS = 4  # tokens of padding after the source
REPEATS = 2  # more calls with the unchanged input, which measure the noise


@dataclass(frozen=True)
class ModelOutputs:
    """Outputs of a model of another framework: numpy arrays, or anything that numpy can convert.

    `streams` holds the residual stream after each decoder layer, [T,D]. `patterns` holds the attention weights of each
    decoder layer over its own inputs, [H,T,T]. With streams the report names the layer of a leak, with patterns the head.
    """

    logits: Any  # [T,V]
    streams: Sequence[Any] = ()
    patterns: Sequence[Any] = ()


def leak_test_callable(
    model: Callable[[np.ndarray, np.ndarray], Any],
    source: Sequence[int],
    inputs: Sequence[int],
    vocabulary: int,
    pad: int | None = None,
) -> LeakReport:
    """Changes each decoder input except the first in turn, and measures the shift of earlier positions.

    >>> import torch
        >>> net = torch.nn.Transformer(8, 2, 1, 1, 16, batch_first=True).eval()
        >>> table, out = torch.nn.Embedding(9, 8), torch.nn.Linear(8, 9)
        >>> def without_a_mask(source, inputs):
        ...     with torch.no_grad():
        ...         x, y = (table(torch.tensor(ids))[None] for ids in (source, inputs))
        ...         return out(net(x, y))[0]
        >>> report = leak_test_callable(without_a_mask, [3, 4, 5], [1, 6, 7], vocabulary=9)
        >>> [(changed, moved) for layer, changed, moved in report.leaks]
        [(1, 0), (2, 0), (2, 1)]

    The model runs three times on the unchanged input. A leak is larger than the noise between these results, which some GPU
    kernels have.

    Args:
        model: a function of ids [S] and [T], int64, that returns logits [T,V] or `ModelOutputs`. The logits are the last
            layer of the report.
        source: ids of the source, [S].
        inputs: ids of the decoder inputs, [T]; the first is the start token.
        vocabulary: number of ids; all are below it.
        pad: the id of padding. If given, the shift by padding after the source is measured too.

    Raises ValueError for outputs of another shape, for numbers that are not finite, and for a model that is not
    deterministic, such as one in training mode with dropout.
    """
    if len(inputs) < 2 or vocabulary < 3:
        raise ValueError(f"there are {len(inputs)} inputs and {vocabulary} tokens; expected at least 2 inputs and 3 tokens")
    plain = _outputs_of(model, source, inputs)
    noise = max(check_noise(_layer_shifts(plain[0], _outputs_of(model, source, inputs)[0])) for _ in range(REPEATS))
    later = np.zeros((len(plain[0]), len(inputs), len(inputs)), np.float32)
    for j in range(1, len(inputs)):
        changed = [*inputs[:j], _other_id(inputs[j], vocabulary, pad), *inputs[j + 1 :]]
        later[:, j] = _layer_shifts(plain[0], _outputs_of(model, source, changed)[0])
    padding = np.zeros((len(plain[0]), len(inputs)), np.float32)
    if pad is not None:
        padding = _layer_shifts(plain[0], _outputs_of(model, [*source, *[pad] * PADS], inputs)[0])
    is_later = np.arange(len(inputs)) > np.arange(len(inputs))[:, None]  # [T,T]
    looks = {Site("decoder", n): (each * is_later).max(axis=(1, 2)) for n, each in enumerate(plain[1])}
    labels, read = (tuple(map(str, ids)) for ids in (inputs, source))
    none = np.zeros((0, len(source)), np.float32)
    return LeakReport(
        labels, read, later, none, padding, 0 if pad is None else PADS, max_forbidden_weight=looks, noise=noise
    )


def _outputs_of(
    model: Callable[[np.ndarray, np.ndarray], Any], source: Sequence[int], inputs: Sequence[int]
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Returns the streams [T,D], the logits [T,V] last, and the patterns [H,T,T] of each layer."""
    answer = model(np.array(source, np.int64), np.array(inputs, np.int64))
    outputs = answer if isinstance(answer, ModelOutputs) else ModelOutputs(answer)
    length = len(inputs)
    streams = [_array(each, (length, None), "a stream") for each in outputs.streams]
    logits = _array(outputs.logits, (length, None), "the array of logits")
    patterns = [_array(each, (None, length, length), "a pattern") for each in outputs.patterns]
    return [*streams, logits], patterns


def _array(value: Any, shape: tuple[int | None, ...], what: str) -> np.ndarray:
    if hasattr(value, "detach"):  # numpy does not read torch tensors with gradients
        value = value.detach().cpu().double()  # numpy has no bfloat16
    array = np.asarray(value, np.float64)
    fits = array.ndim == len(shape) and all(want in (None, size) for want, size in zip(shape, array.shape, strict=True))
    if not fits:
        expected = ", ".join("any" if size is None else str(size) for size in shape)
        raise ValueError(f"{what} of the model has the shape {array.shape}; expected ({expected})")
    if not np.isfinite(array).all():
        raise ValueError(f"{what} of the model holds numbers that are NaN or infinite; expected finite ones")
    return array


def _layer_shifts(plain: list[np.ndarray], other: list[np.ndarray]) -> np.ndarray:
    """Returns the largest differences of streams [T,D] of any widths, as shares of the largest entry: [layers,T]."""
    both = zip(plain, other, strict=True)
    return np.stack([relative_shift(np.stack(pair)[None])[0, 0] for pair in both]).astype(np.float32)


def _other_id(token: int, vocabulary: int, pad: int | None) -> int:
    """Returns another token that is no padding."""
    candidates = ((token + n) % vocabulary for n in range(1, 3))
    return next(other for other in candidates if other != pad)
