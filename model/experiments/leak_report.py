"""The report of the leak test, and the comparison of two results that every part of it uses."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..trace import Site

EPSILON = 1e-30  # divides a stream whose entries are all zeros
MIN_SHIFT = 1e-5  # of the largest entry of the stream: above rounding
MARGIN = 10  # a leak is larger than the noise of repeated inputs by this factor
MAX_NOISE = 0.01  # of the largest entry: larger noise is dropout, not rounding
LISTED = 5  # heads that are printed
BATCH_PADS = 4  # tokens by which the other sentence of the batch is longer


@dataclass(frozen=True)
class LeakReport:
    """Shifts of residual streams, as shares of their largest entry, after a change that they must not see.

    `shift_by_batch` has the streams of each stack, and the logits of the task as one more layer.
    """

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
    shift_by_batch: dict[str, np.ndarray] = field(
        default_factory=dict
    )  # "encoder" [layers, S], "decoder" [layers, T] and "logits" [1, T], [1, S] or [1, 1]; empty where not measured
    batch_pads: tuple[int, int] = (0, 0)  # padding of the source and of the target in the batch, in tokens
    shift_by_cache: dict[str, np.ndarray] = field(
        default_factory=dict
    )  # "steps" and "prefix": [T], a share of the largest log-probability or logit; nan at steps in the prefix's one pass
    no_cache: str = ""  # why the decoder has no cache; empty where it has one or was not measured
    rounding: float = 0.0  # difference of one input alone and twice in a batch, or the precision of the numbers if larger

    def __str__(self) -> str:
        """Returns what was found, a line for each measurement. Layers and heads count from 1, as on the page."""
        lines = []
        if self.shift_by_changed_token.size:
            first = ""
            if self.leaks:
                layer, changed, moved = min(self.leaks)
                first = f"; first: {self.labels[changed]!r} moves {self.labels[moved]!r} at decoder layer {layer + 1}"
            lines.append(f"Later tokens move {len(self.leaks)} entries of earlier ones{first}.")
        if self.pads:
            lines.append(f"Other tokens in {self.pads} padded positions move {len(self.padding_leaks)} entries.")
        if any(array.size for array in self.shift_by_batch.values()):
            lines.append(f"A longer sentence in the batch moves {len(self.batch_leaks)} entries.")
        if self.shift_by_cache:
            lines.append(f"Decoding with a cache changes {len(self.cache_differences)} steps.")
        elif self.no_cache:
            lines.append(f"Decoding with a cache was not measured: {self.no_cache}.")
        heads = [f"{site.head_name(head)} ({weight:.3g})" for site, head, weight in self.heads[:LISTED]]
        if heads:
            lines.append(f"Heads with a weight on a forbidden position: {', '.join(heads)}.")
        return "\n".join(lines)

    @property
    def threshold(self) -> float:
        """Returns the share above which a stream counts as moved: above rounding, and above the noise of the model."""
        return max(MIN_SHIFT, MARGIN * self.noise)

    @property
    def rounding_threshold(self) -> float:
        """Returns the share above which passes of different shapes differ: they round differently."""
        return max(self.threshold, MARGIN * self.rounding)

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

        The weight is on a later token or on padding in the decoder, on padding at the other sites. Empty where nothing
        leaks.
        """
        kinds = {"decoder"} if self.leaks or self.batch_leaks else set()
        kinds |= {"encoder", "cross"} if self.padding_leaks or self.batch_leaks else set()
        order = sorted(
            (site for site in self.max_forbidden_weight if site.kind in kinds), key=lambda site: (site.layer, site.kind)
        )
        return tuple((site, n, float(w)) for site in order for n, w in enumerate(self.max_forbidden_weight[site]) if w > 0)

    @property
    def padding_leaks(self) -> tuple[tuple[str, int, int], ...]:
        """Returns stack, layer and position of every entry that the content of padding moves."""
        both = (("encoder", self.encoder_shift_by_padding), ("decoder", self.decoder_shift_by_padding))
        return tuple((name, int(n), int(i)) for name, array in both for n, i in np.argwhere(array > self.threshold))

    @property
    def batch_leaks(self) -> tuple[tuple[str, int, int], ...]:
        """Returns stack or "logits", layer and position of every entry that a longer sentence in the batch moves."""
        found = ((name, np.argwhere(array > self.rounding_threshold)) for name, array in self.shift_by_batch.items())
        return tuple((name, int(n), int(i)) for name, places in found for n, i in places)

    @property
    def cache_differences(self) -> tuple[tuple[str, int], ...]:
        """Returns "steps" or "prefix", and the step from 0, of every step whose cache changes the prediction.

        With "steps" the cache grows by one token a step. With "prefix" one pass fills its first half.
        """
        found = ((name, np.flatnonzero(array > self.rounding_threshold)) for name, array in self.shift_by_cache.items())
        return tuple((name, int(step)) for name, steps in found for step in steps)


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


def relative_shift(streams: np.ndarray) -> np.ndarray:
    """Returns the largest difference of every row of the batch from its first row, as a share: [layers,B-1,T]."""
    scale = np.abs(streams[:, :1]).max(axis=(2, 3), keepdims=True)
    return np.asarray((np.abs(streams[:, 1:] - streams[:, :1]) / np.maximum(scale, EPSILON)).max(axis=-1))
