"""The record of one forward pass: a Probe collects it, a Trace holds it as an immutable value.

A Probe is an argument of the call and not a hook, because the threads of all visitors share one model.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from .config import END, PAD, START
from .io.files import brief_repr
from .io.numbers import head_name

if TYPE_CHECKING:
    from torch import Tensor

AttentionKind = Literal["encoder", "decoder", "cross"]
Side = Literal["source", "target"]
Stack = Literal["encoder", "decoder"]
SublayerKind = Literal["self", "cross", "ff"]
MAP_NAMES = ("scores", "pattern", "mask")
PREDICTS = " → "  # in the label of a decoder row, between the token that it reads and its prediction; no token has a space


@dataclass(frozen=True)
class SiteKind:
    """A kind of attention: its names, its stack, and the sides of its queries and keys."""

    kind: AttentionKind
    code: str  # in links and on the command line
    name: str  # in a sentence
    short_name: str  # before a layer
    stack: Stack
    query_side: Side
    key_side: Side

    @property
    def is_self(self) -> bool:
        """True for self-attention: queries and keys are of the same side."""
        return self.query_side == self.key_side

    @property
    def sublayer(self) -> SublayerKind:
        """The sub-layer of a layer that computes it."""
        return "self" if self.is_self else "cross"


SITE_KINDS: dict[str, SiteKind] = {
    entry.kind: entry
    for entry in (
        SiteKind("encoder", "enc", "encoder self-attention", "encoder", "encoder", "source", "source"),
        SiteKind("decoder", "dec", "decoder self-attention", "decoder", "decoder", "target", "target"),
        SiteKind("cross", "cross", "cross-attention", "cross-attention", "decoder", "target", "source"),
    )
}  # in display order
ATTENTION_KINDS: tuple[AttentionKind, ...] = tuple(entry.kind for entry in SITE_KINDS.values())


def site_kind(kind: str) -> SiteKind:
    """Returns the entry of a kind of attention. Raises ValueError for an unknown kind."""
    if kind not in SITE_KINDS:
        raise ValueError(f"the kind of attention is {kind!r}; expected one of {', '.join(SITE_KINDS)}")
    return SITE_KINDS[kind]


class Site(NamedTuple):
    """A layer (from 0) of a kind of attention: `encoder`, `decoder` or `cross`."""

    kind: AttentionKind
    layer: int

    @property
    def spec(self) -> SiteKind:
        """The entry of its kind."""
        return SITE_KINDS[self.kind]

    def head_name(self, head: int | None) -> str:
        """Returns the name of a head (from 0), `cross 3.5`, or of the mean over the heads."""
        return head_name(self.kind, self.layer, head)


class Sublayer(NamedTuple):
    """A sub-layer with its residual connection; layers count from 0."""

    stack: Stack
    layer: int
    part: SublayerKind


class Streams(NamedTuple):
    """The residual stream [B,T,D] before a sub-layer and after it."""

    before: Tensor
    after: Tensor


class Probe:
    """Collects the tensors of a forward pass.

    Level `maps` stores scores, pattern and mask of every site. Level `full` also stores queries, keys, values, z and the
    residual streams, of one `layer` or of all.
    """

    def __init__(self, level: Literal["maps", "full"] = "maps", layer: int | None = None) -> None:
        if level not in ("maps", "full"):
            raise ValueError(f"the probe's level is {level!r}; expected 'maps' or 'full'")
        self.level = level
        self.layer = layer
        self.records: dict[Site, dict[str, Tensor]] = {}
        self.streams: dict[Sublayer, Streams] = {}
        self.memory: Tensor | None = None  # [B,S,D]: encoder output, read by cross-attention

    def _is_full(self, layer: int) -> bool:
        return self.level == "full" and self.layer in (None, layer)

    def record(self, site: Site, **tensors: Tensor) -> None:
        """Stores the tensors of this level without a copy, so they must not change in place later."""
        is_full = self._is_full(site.layer)
        selected = {name: t for name, t in tensors.items() if is_full or name in MAP_NAMES}
        self.records.setdefault(site, {}).update(selected)

    def record_stream(self, sublayer: Sublayer, before: Tensor, after: Tensor) -> None:
        """Stores the residual stream before and after a sub-layer, at level `full`."""
        if self._is_full(sublayer.layer):
            self.streams[sublayer] = Streams(before, after)

    def record_memory(self, memory: Tensor) -> None:
        """Stores the encoder output, at level `full`."""
        if self.level == "full":
            self.memory = memory

    def array(self, site: Site, name: str, row: int = 0) -> np.ndarray:
        """Returns one row of the batch as a read-only float32 (masks: bool) CPU array, without the batch dimension."""
        tensor = self.records[site][name][row].detach().cpu()
        array = (tensor if name == "mask" else tensor.float()).numpy().copy()
        array.flags.writeable = False
        return array


@dataclass(frozen=True, repr=False)
class Axis:
    """The tokens of one side of a map: ids, labels, and the index of the word of each token."""

    ids: tuple[int, ...] = field(repr=False)
    labels: tuple[str, ...]
    word_numbers: tuple[int, ...] = field(repr=False)
    __repr__ = brief_repr

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def sentence_numbers(self) -> tuple[int, ...]:
        """Sentence of each token: 0 up to the first `</s>`, 1 after it; empty for a single sentence."""
        first = self.ids.index(END) if self.ids.count(END) == 2 else None
        return () if first is None else tuple(int(n > first) for n in range(len(self.ids)))


@dataclass(frozen=True, repr=False)
class MapView:
    """One map with the labels of both axes: values [T,S], queries are rows."""

    values: np.ndarray = field(repr=False)
    allowed: np.ndarray = field(repr=False)  # bool [T,S]: True where the mask allows attention
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    __repr__ = brief_repr

    def __sub__(self, other: MapView) -> MapView:
        """Returns the difference of two maps. Raises ValueError unless both axes have the same tokens."""
        for mine, theirs, name in ((self.queries, other.queries, "queries"), (self.keys, other.keys, "keys")):
            if mine != theirs:
                raise ValueError(f"the {name} differ ({len(mine)} and {len(theirs)} tokens); expected equal ones")
        return MapView(self.values - other.values, self.allowed & other.allowed, self.queries, self.keys)


@dataclass(frozen=True)
class Trace:
    """All layers, heads and steps of one teacher-forced pass: float32 arrays on the CPU, with the tokens of both axes.

    Row t of a decoder map has the input token y(t-1) and predicts y(t); `queries` labels it `input → output`.
    """

    source: Axis | None  # None without an encoder
    inputs: Axis | None  # decoder inputs `<s>` y0 y1 ...; None without a decoder
    outputs: Axis | None  # predicted tokens y0 y1 ... `</s>`; None without a decoder
    patterns: dict[Site, np.ndarray] = field(repr=False)  # [H,T,S]
    scores: dict[Site, np.ndarray] = field(repr=False)  # [H,T,S], before the mask; empty after `without_scores`
    masks: dict[Site, np.ndarray] = field(repr=False)  # bool [T,S]: True where any head may attend
    log_probs: np.ndarray = field(repr=False)
    # [T,V], natural logarithm; without a decoder [S,V], at each source token; of a classifier [1,C], of the full text
    head_masks: dict[Site, np.ndarray] = field(default_factory=dict, repr=False)  # bool [H,T,S], where heads differ
    logit_normalizers: np.ndarray | None = field(default=None, repr=False)  # [T]: logsumexp of the logits
    classes: tuple[str, ...] = ()  # labels of a classifier
    filled_axis: Axis | None = None  # of a masked language model: the source with the top token in each blank

    def __post_init__(self) -> None:
        for site, pattern in self.patterns.items():
            expected = (len(self.queries(site)), len(self.keys(site)))
            if pattern.shape[1:] != expected:
                raise ValueError(f"{site} has a map of {pattern.shape[1:]}; its tokens say {expected}")

    def axis(self, side: Side) -> Axis:
        """Returns the source tokens or the decoder inputs. Raises ValueError where the model has none."""
        axis = self.source if side == "source" else self.inputs
        if axis is None:
            raise ValueError(f"this model has no {side}")
        return axis

    @property
    def predicted_axis(self) -> Axis:
        """The predicted tokens, one a row of `log_probs`: outputs, or source tokens, or the top label of a classifier."""
        if self.classes:
            label = int(self.log_probs[0].argmax())
            return Axis((label,), (self.classes[label],), (0,))
        return self.axis("source") if self.outputs is None else self.outputs

    @property
    def step_axis(self) -> Axis:
        """The tokens that a step can select: the predicted tokens, of a classifier the source tokens."""
        return self.axis("source") if self.classes else self.predicted_axis

    @property
    def scored_axis(self) -> Axis:
        """The scored tokens, one a row of `log_probs`: the predicted tokens, with blanks filled in."""
        return self.predicted_axis if self.filled_axis is None else self.filled_axis

    @property
    def blank_positions(self) -> tuple[int, ...]:
        """Positions of the blanks, from 0; empty unless the model is a masked language model."""
        pairs = zip(self.scored_axis.ids, self.predicted_axis.ids, strict=True)
        return tuple(n for n, (now, was) in enumerate(pairs) if now != was)

    @property
    def scorable_rows(self) -> tuple[int, ...]:
        """Rows that training can score, from 0: all rows; of a masked language model without control tokens."""
        ids = self.predicted_axis.ids
        return tuple(n for n, token in enumerate(ids) if self.filled_axis is None or token not in (PAD, START, END))

    @property
    def scored_rows(self) -> tuple[int, ...]:
        """Rows whose log-probabilities are summed: the blanks, or without blanks the `scorable_rows` rows."""
        return self.blank_positions or self.scorable_rows

    @property
    def has_two_sentences(self) -> bool:
        """True where the source has two sentences."""
        return self.source is not None and bool(self.source.sentence_numbers)

    def queries(self, site: Site) -> tuple[str, ...]:
        """Returns the row labels of a site."""
        if site.spec.query_side == "source" or self.outputs is None:
            return self.axis(site.spec.query_side).labels
        return tuple(f"{i}{PREDICTS}{o}" for i, o in zip(self.axis("target").labels, self.outputs.labels, strict=True))

    def keys(self, site: Site) -> tuple[str, ...]:
        """Returns the column labels of a site."""
        return self.axis(site.spec.key_side).labels

    @cached_property
    def kinds(self) -> tuple[AttentionKind, ...]:
        """The kinds of attention of this model, in display order."""
        return tuple(kind for kind in ATTENTION_KINDS if any(site.kind == kind for site in self.patterns))

    def sites(self, kind: str) -> list[Site]:
        """Returns the sites of a kind, ordered by layer."""
        return sorted(site for site in self.patterns if site.kind == kind)

    @property
    def has_equal_masks(self) -> bool:
        """True where all layers of each kind have equal masks."""
        kinds = {site.kind for site in self.masks}
        return all(len({self.masks[site].tobytes() for site in self.sites(kind)}) <= 1 for kind in kinds)

    def view(self, site: Site, head: int | None = None) -> MapView:
        """Returns the pattern of one head, or the mean over heads where `head` is None, with its labels.

        Raises ValueError for a site or a head that this checkpoint does not have.
        """
        if (site := Site(*site)) not in self.patterns:
            layers = [s.layer for s in self.sites(site.kind)]
            raise ValueError(f"there is no {site.kind} layer {site.layer}; this trace has layers {layers}")
        pattern = self.patterns[site]
        if head is not None and not 0 <= head < len(pattern):
            raise ValueError(f"there is no head {head}; {site.kind} layer {site.layer} has heads 0 to {len(pattern) - 1}")
        values = pattern.mean(axis=0) if head is None else pattern[head]  # [T,S]
        return MapView(values, self.mask(site, head), self.queries(site), self.keys(site))

    def mask(self, site: Site, head: int | None = None) -> np.ndarray:
        """Returns the mask of a head, or of any head where `head` is None: bool [T,S], True where attention is allowed."""
        if head is not None and site in self.head_masks:
            return np.asarray(self.head_masks[site][head])
        return self.masks[site]

    @cached_property
    def fully_masked_rows(self) -> tuple[tuple[Site, int], ...]:
        """Sites and queries, without padding, that have no allowed key in at least one head."""
        rows = []
        for site, mask in self.masks.items():
            tokens = self.axis(site.spec.query_side).labels
            has_keys = np.all(np.any(self.head_masks.get(site, mask[None]), axis=-1), axis=0)  # [T]
            rows += [(site, t) for t, label in enumerate(tokens) if not has_keys[t] and label != "<pad>"]
        return tuple(rows)

    @cached_property
    def token_log_probs(self) -> np.ndarray:
        """Log-probability of each output token, [T]."""
        values: np.ndarray = self.log_probs[np.arange(len(self.predicted_axis)), list(self.predicted_axis.ids)]
        values.flags.writeable = False
        return values

    @property
    def logits(self) -> np.ndarray:
        """The logits, [T,V]."""
        assert self.logit_normalizers is not None, "this trace has no logits"
        return np.asarray(self.log_probs + self.logit_normalizers[:, None])

    def logit(self, step: int, token: int) -> float:
        """Returns the logit of one token at one step."""
        assert self.logit_normalizers is not None, "this trace has no logits"
        return float(self.log_probs[step, token] + self.logit_normalizers[step])

    @property
    def probabilities(self) -> np.ndarray:
        """Probability of each output token, [T]."""
        return np.asarray(np.exp(self.token_log_probs))

    @property
    def arrays(self) -> Iterator[np.ndarray]:
        """All arrays of the trace."""
        yield self.log_probs
        if self.logit_normalizers is not None:
            yield self.logit_normalizers
        for group in (self.patterns, self.scores, self.masks, self.head_masks):
            yield from group.values()

    @property
    def nbytes(self) -> int:
        """Size of the arrays in bytes."""
        return sum(array.nbytes for array in self.arrays)

    def without_scores(self) -> Trace:
        """Returns a copy without the scores, which takes less memory."""
        return dataclasses.replace(self, scores={})
