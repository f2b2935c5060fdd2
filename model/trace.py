"""What one forward pass computed, as a value: recorded into a Probe, frozen into a Trace.

A Probe is an argument of the call, never a hook: one model serves all visitors' threads, and nothing is left on it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from .config import END, PAD, START

if TYPE_CHECKING:
    from torch import Tensor

Kind = Literal["encoder", "decoder", "cross"]
Side = Literal["source", "target"]
Stack = Literal["encoder", "decoder"]
Part = Literal["self", "cross", "ff"]
MAPS = ("scores", "pattern", "mask")


@dataclass(frozen=True)
class SiteKind:
    """A kind of attention: what it is called, whose layers it belongs to, and which side's tokens ask and answer."""

    kind: Kind
    code: str  # in links and on the command line
    name: str  # in a sentence
    short: str  # before a layer
    stack: Stack
    queries: Side
    keys: Side

    @property
    def is_self(self) -> bool:
        """True where the tokens that ask are those that answer: self-attention."""
        return self.queries == self.keys

    @property
    def sublayer(self) -> Part:
        """Its place within a layer."""
        return "self" if self.is_self else "cross"


SITE_KINDS: dict[str, SiteKind] = {
    made.kind: made
    for made in (
        SiteKind("encoder", "enc", "encoder self-attention", "encoder", "encoder", "source", "source"),
        SiteKind("decoder", "dec", "decoder self-attention", "decoder", "decoder", "target", "target"),
        SiteKind("cross", "cross", "cross-attention", "cross-attention", "decoder", "target", "source"),
    )
}  # in the order in which they are shown
KINDS: tuple[Kind, ...] = tuple(SITE_KINDS)  # type: ignore[assignment]


def site_kind(kind: str) -> SiteKind:
    """The entry of a kind of attention; ValueError for one that does not exist."""
    if kind not in SITE_KINDS:
        raise ValueError(f"the kind of attention is {kind!r}; expected one of {', '.join(SITE_KINDS)}")
    return SITE_KINDS[kind]


class Site(NamedTuple):
    """Where attention happens: a kind of attention with a layer from 0."""

    kind: Kind
    layer: int

    @property
    def of(self) -> SiteKind:
        """What is known of its kind."""
        return SITE_KINDS[self.kind]


class Sublayer(NamedTuple):
    """What one residual connection goes round, in a layer from 0."""

    stack: Stack
    layer: int
    part: Part


class Streams(NamedTuple):
    """The residual stream [B,T,D] before a sub-layer and after it."""

    before: Tensor
    after: Tensor


class Probe:
    """Collects what a forward pass offers. Level `maps` keeps scores, pattern and mask of every site; `full` keeps
    queries, keys, values, z and the residual streams as well, for `layer` alone where one is named."""

    def __init__(self, level: Literal["maps", "full"] = "maps", layer: int | None = None) -> None:
        if level not in ("maps", "full"):
            raise ValueError(f"the probe's level is {level!r}; expected 'maps' or 'full'")
        self.level = level
        self.layer = layer
        self.records: dict[Site, dict[str, Tensor]] = {}
        self.streams: dict[Sublayer, Streams] = {}
        self.memory: Tensor | None = None  # [B,S,D]: what cross-attention reads

    def _whole(self, layer: int) -> bool:
        return self.level == "full" and self.layer in (None, layer)

    def record(self, site: Site, **tensors: Tensor) -> None:
        """Keeps what this level asks for; a tensor is kept as it is, so it must not be changed in place later."""
        whole = self._whole(site.layer)
        kept = {name: t for name, t in tensors.items() if whole or name in MAPS}
        self.records.setdefault(site, {}).update(kept)

    def record_stream(self, place: Sublayer, before: Tensor, after: Tensor) -> None:
        """Keeps the residual stream on both sides of a sub-layer, at level `full`."""
        if self._whole(place.layer):
            self.streams[place] = Streams(before, after)

    def record_memory(self, memory: Tensor) -> None:
        """Keeps what the encoder hands on, at level `full`."""
        if self.level == "full":
            self.memory = memory

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

    @cached_property
    def sentences(self) -> tuple[int, ...]:
        """Which of two sentences each token belongs to: 0 up to the first `</s>`, 1 after it; empty where there is one."""
        first = self.ids.index(END) if self.ids.count(END) == 2 else None
        return () if first is None else tuple(int(n > first) for n in range(len(self.ids)))


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

    source: Axis | None  # None without an encoder
    inputs: Axis | None  # what the decoder reads: `<s>` y0 y1 ...; None without a decoder
    outputs: Axis | None  # what it predicts: y0 y1 ... `</s>`
    patterns: dict[Site, np.ndarray]  # [H,T,S]
    scores: dict[Site, np.ndarray]  # [H,T,S], before the mask; empty once they are given up
    masks: dict[Site, np.ndarray]  # bool [T,S]: what any head may see
    log_probs: np.ndarray = field(repr=False)
    # [T,V], natural logarithm; without a decoder [S,V], at each source token; of a classifier [1,C], of the whole text
    head_masks: dict[Site, np.ndarray] = field(default_factory=dict)  # bool [H,T,S], where heads have masks of their own
    log_totals: np.ndarray | None = field(default=None, repr=False)  # [T]: logsumexp of the logits
    classes: tuple[str, ...] = ()  # of a classifier: its labels
    filled: Axis | None = None  # of a model that fills in: the source, with the likeliest token in each blank

    def __post_init__(self) -> None:
        for site, pattern in self.patterns.items():
            expected = (len(self.queries(site)), len(self.keys(site)))
            if pattern.shape[1:] != expected:
                raise ValueError(f"{site} has a map of {pattern.shape[1:]}; its tokens say {expected}")

    def axis(self, side: Side) -> Axis:
        """The tokens that a side reads: the source's, or the decoder's inputs; ValueError where the model has none."""
        found = self.source if side == "source" else self.inputs
        if found is None:
            raise ValueError(f"this model has no {side}")
        return found

    @property
    def predicted(self) -> Axis:
        """The tokens whose probabilities `log_probs` holds, row by row: the outputs, without a decoder the source's own; of
        a classifier the likeliest label."""
        if self.classes:
            label = int(self.log_probs[0].argmax())
            return Axis((label,), (self.classes[label],), (0,))
        return self.axis("source") if self.outputs is None else self.outputs

    @property
    def places(self) -> Axis:
        """The tokens that one can stand at: those that are predicted, of a classifier those that it reads."""
        return self.axis("source") if self.classes else self.predicted

    @property
    def scored(self) -> Axis:
        """The tokens that are scored, one a row of `log_probs`: those predicted, in each blank what fills it."""
        return self.predicted if self.filled is None else self.filled

    @property
    def blanks(self) -> tuple[int, ...]:
        """The places of the blanks, from 0; none of a model that fills in none."""
        pairs = zip(self.scored.ids, self.predicted.ids, strict=True)
        return tuple(n for n, (now, was) in enumerate(pairs) if now != was)

    @property
    def inner(self) -> tuple[int, ...]:
        """The rows that training asks for, from 0: all of them; of a model that fills in not the ends, nor padding."""
        ids = self.predicted.ids
        return tuple(n for n, token in enumerate(ids) if self.filled is None or token not in (PAD, START, END))

    @property
    def counted(self) -> tuple[int, ...]:
        """The rows whose log-probabilities are summed: all of them; of a model that fills in the blanks, without any the
        tokens of the text, its ends and padding left out."""
        return self.blanks or self.inner

    @property
    def of_two(self) -> bool:
        """Whether the source is two sentences."""
        return self.source is not None and bool(self.source.sentences)

    def queries(self, site: Site) -> tuple[str, ...]:
        """The labels of a site's rows."""
        if site.of.queries == "source" or self.outputs is None:
            return self.axis(site.of.queries).labels
        return tuple(f"{i} → {o}" for i, o in zip(self.axis("target").labels, self.outputs.labels, strict=True))

    def keys(self, site: Site) -> tuple[str, ...]:
        """The labels of a site's columns."""
        return self.axis(site.of.keys).labels

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of attention that this model has, in the order in which they are shown."""
        return tuple(kind for kind in KINDS if any(site.kind == kind for site in self.patterns))

    def sites(self, kind: str) -> list[Site]:
        """The sites of a kind, from the first layer on."""
        return sorted(site for site in self.patterns if site.kind == kind)

    @property
    def same_masks(self) -> bool:
        """Whether the mask of each kind of site is the same in all its layers."""
        kinds = {site.kind for site in self.masks}
        return all(len({self.masks[site].tobytes() for site in self.sites(kind)}) <= 1 for kind in kinds)

    def view(self, site: Site, head: int | None = None) -> View:
        """The pattern of one head, or the mean over heads where `head` is None, with its labels.

        Raises ValueError for a site or head that this checkpoint does not have.
        """
        if site not in self.patterns:
            layers = [s.layer for s in self.sites(site.kind)]
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
            tokens = self.axis(site.of.queries).labels
            seen = self.head_masks.get(site, mask[None]).any(axis=-1).all(axis=0)  # [T]
            found += [(site, t) for t, label in enumerate(tokens) if not seen[t] and label != "<pad>"]
        return tuple(found)

    @cached_property
    def token_log_probs(self) -> np.ndarray:
        """Log-probability of each output token, [T]."""
        values = self.log_probs[np.arange(len(self.predicted)), list(self.predicted.ids)]
        values.flags.writeable = False
        return values

    @property
    def logits(self) -> np.ndarray:
        """What the last layer gives each token before the softmax, [T,V]."""
        assert self.log_totals is not None, "this trace was made without them"
        return self.log_probs + self.log_totals[:, None]

    def logit(self, step: int, token: int) -> float:
        """One of them."""
        assert self.log_totals is not None, "this trace was made without them"
        return float(self.log_probs[step, token] + self.log_totals[step])

    @property
    def probabilities(self) -> np.ndarray:
        """Probability of each output token, [T]."""
        return np.exp(self.token_log_probs)

    @property
    def arrays(self) -> Iterator[np.ndarray]:
        """All that it holds."""
        yield self.log_probs
        if self.log_totals is not None:
            yield self.log_totals
        for group in (self.patterns, self.scores, self.masks, self.head_masks):
            yield from group.values()

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays hold."""
        return sum(array.nbytes for array in self.arrays)

    def without_scores(self) -> Trace:
        """The same without the scores, for who keeps many."""
        return dataclasses.replace(self, scores={})
