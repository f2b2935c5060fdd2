"""What one forward pass computed, as a value: recorded into a Probe, frozen into a Trace.

A Probe is an argument of the call, never a hook: one model serves all visitors' threads, and nothing is left on it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

Kind = Literal["encoder", "decoder", "cross"]
KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")
MAPS = ("scores", "pattern", "mask")


class Site(NamedTuple):
    """Where attention happens: encoder self-attention, decoder self-attention or cross-attention, with a layer from 0."""

    kind: Kind
    layer: int


class Probe:
    """Collects what a forward pass offers. Level `maps` keeps scores, pattern and mask of every site; `full` keeps
    queries, keys, values, z and the residual streams as well, for `layer` alone where one is named."""

    def __init__(self, level: Literal["maps", "full"] = "maps", layer: int | None = None) -> None:
        if level not in ("maps", "full"):
            raise ValueError(f"the probe's level is {level!r}; expected 'maps' or 'full'")
        self.level = level
        self.layer = layer
        self.records: dict[Site, dict[str, Tensor]] = {}

    def record(self, site: Site, **tensors: Tensor) -> None:
        """Keeps what this level asks for; a tensor is kept as it is, so it must not be changed in place later."""
        whole = self.level == "full" and self.layer in (None, site.layer)
        kept = {name: t for name, t in tensors.items() if whole or name in MAPS}
        self.records.setdefault(site, {}).update(kept)

    def array(self, site: Site, name: str, row: int = 0) -> np.ndarray:
        """One row of the batch as a read-only float32 (masks: bool) array on the CPU, without the batch dimension."""
        tensor = self.records[site][name][row].detach().cpu()
        array = (tensor if name == "mask" else tensor.float()).numpy().copy()
        array.flags.writeable = False
        return array


@dataclass(frozen=True)
class Axis:
    """The tokens along one side of a map: ids, the strings to show, and the word that each belongs to."""

    ids: tuple[int, ...]
    labels: tuple[str, ...]
    words: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class View:
    """One map with the labels of both axes: values [T,S], queries are rows."""

    values: np.ndarray
    allowed: np.ndarray  # bool [T,S]: what the mask lets through
    queries: tuple[str, ...]
    keys: tuple[str, ...]

    def __sub__(self, other: View) -> View:
        """Element by element; ValueError unless both axes carry the same tokens."""
        for mine, theirs, name in ((self.queries, other.queries, "queries"), (self.keys, other.keys, "keys")):
            if mine != theirs:
                raise ValueError(
                    f"the {name} differ ({len(mine)} and {len(theirs)} tokens); a difference needs equal tokens"
                )
        return View(self.values - other.values, self.allowed & other.allowed, self.queries, self.keys)


@dataclass(frozen=True)
class Trace:
    """Every layer, head and step of one teacher-forced pass: float32 arrays on the CPU, with the tokens of both axes.

    Row t of a decoder map has the input token y(t-1) and predicts y(t); `queries` labels it `input → output`.
    """

    source: Axis
    inputs: Axis  # what the decoder reads: `<s>` y0 y1 ...
    outputs: Axis  # what it predicts: y0 y1 ... `</s>`
    patterns: dict[Site, np.ndarray]  # [H,T,S]
    scores: dict[Site, np.ndarray]  # [H,T,S], before the mask
    masks: dict[Site, np.ndarray]  # bool [T,S]: what any head may see
    log_probs: np.ndarray = field(repr=False)  # [T,V], natural logarithm
    head_masks: dict[Site, np.ndarray] = field(default_factory=dict)  # bool [H,T,S], where heads have masks of their own
    log_totals: np.ndarray | None = field(default=None, repr=False)  # [T]: logsumexp of the logits

    def __post_init__(self) -> None:
        for site, pattern in self.patterns.items():
            expected = (len(self.queries(site)), len(self.keys(site)))
            if pattern.shape[1:] != expected:
                raise ValueError(f"{site} has a map of {pattern.shape[1:]}; its tokens say {expected}")

    def queries(self, site: Site) -> tuple[str, ...]:
        """The labels of a site's rows."""
        if site.kind == "encoder":
            return self.source.labels
        return tuple(f"{i} → {o}" for i, o in zip(self.inputs.labels, self.outputs.labels, strict=True))

    def keys(self, site: Site) -> tuple[str, ...]:
        """The labels of a site's columns."""
        return self.inputs.labels if site.kind == "decoder" else self.source.labels

    def view(self, site: Site, head: int | None = None) -> View:
        """The pattern of one head, or the mean over heads where `head` is None, with its labels.

        Raises ValueError for a site or head that this checkpoint does not have.
        """
        if site not in self.patterns:
            layers = sorted(s.layer for s in self.patterns if s.kind == site.kind)
            raise ValueError(f"there is no {site.kind} layer {site.layer}; this trace has layers {layers}")
        pattern = self.patterns[site]
        if head is not None and not 0 <= head < len(pattern):
            raise ValueError(f"there is no head {head}; {site.kind} layer {site.layer} has heads 0 to {len(pattern) - 1}")
        values = pattern.mean(axis=0) if head is None else pattern[head]  # [T,S]
        return View(values, self.mask(site, head), self.queries(site), self.keys(site))

    def mask(self, site: Site, head: int | None = None) -> np.ndarray:
        """What a head may see, or any head where `head` is None: bool [T,S]."""
        if head is not None and site in self.head_masks:
            return self.head_masks[site][head]
        return self.masks[site]

    @cached_property
    def fully_masked_rows(self) -> tuple[tuple[Site, int], ...]:
        """Sites and queries, padding left out, that may look at nothing with at least one head."""
        found = []
        for site, mask in self.masks.items():
            tokens = self.source.labels if site.kind == "encoder" else self.inputs.labels
            seen = self.head_masks.get(site, mask[None]).any(axis=-1).all(axis=0)  # [T]
            found += [(site, t) for t, label in enumerate(tokens) if not seen[t] and label != "<pad>"]
        return tuple(found)

    @cached_property
    def token_log_probs(self) -> np.ndarray:
        """Log-probability of each output token, [T]."""
        values = self.log_probs[np.arange(len(self.outputs)), list(self.outputs.ids)]
        values.flags.writeable = False
        return values

    @property
    def logits(self) -> np.ndarray:
        """What the last layer gives each token before the softmax, [T,V]."""
        assert self.log_totals is not None, "this trace was made without them"
        return self.log_probs + self.log_totals[:, None]

    @property
    def probabilities(self) -> np.ndarray:
        """Probability of each output token, [T]."""
        return np.exp(self.token_log_probs)

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays hold."""
        maps = (a for group in (self.patterns, self.scores, self.masks, self.head_masks) for a in group.values())
        totals = 0 if self.log_totals is None else self.log_totals.nbytes
        return self.log_probs.nbytes + totals + sum(a.nbytes for a in maps)
