"""Attention weights of any model, with the tokens of both axes: `GivenAttention.of(patterns, tokens)`.

The arrays may be of numpy, torch or any library with the array protocol, or the output of a Hugging Face model. Nothing here
imports transformers or torch. Weights stay in the type in which they came, and layers become float32 one at a time, so that
1.6 billion cells fit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..io.array_zip import read_arrays, write_arrays
from ..io.files import FileError, brief_repr, short_repr
from ..trace import ATTENTION_KINDS, SITE_KINDS, Axis, Site, Trace, site_kind
from . import token_labels
from .analysis_files import HEADER_ARRAY
from .analysis_files import read as read_analysis
from .attention_inputs import Layers, by_kind, is_pair, read_layers, read_texts, self_kind

SUM_TOLERANCE = 0.02  # of a row; bfloat16 weights of long rows add up to 0.99
MAX_WEIGHT = 10_000.0
FILE_KEYS = (*ATTENTION_KINDS, "tokens", "source_tokens")  # of a .npz file
Tokens = tuple[str, ...]


@dataclass(frozen=True, repr=False)
class GivenAttention:
    """Attention weights by kind of attention, and the tokens.

    `weights` has for each kind one array [H,T,S] a layer. `source_tokens` are the tokens of an encoder, `tokens` those of a
    decoder. `notes` are sentences about the weights, such as rows that do not add up to 1.
    """

    weights: Mapping[str, Layers] = field(repr=False)
    tokens: Tokens = ()
    source_tokens: Tokens = ()
    name: str = ""
    notes: Tokens = ()

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        if not self.weights:
            raise ValueError(f"There are no patterns; expected one of {', '.join(SITE_KINDS)}.")
        notes: list[str] = list(self.notes)
        for kind, layers in self.weights.items():
            check_layers(kind, layers, (len(self.queries(kind)), len(self.keys(kind))))
            notes += _check_weights(kind, layers)
        object.__setattr__(self, "notes", tuple(dict.fromkeys(notes)))

    @classmethod
    def of(
        cls,
        patterns: Any,
        tokens: Any = None,
        *,
        source_tokens: Any = None,
        kind: str | None = None,
        row: int = 0,
        name: str = "",
    ) -> GivenAttention:
        """Collects weights and tokens, and checks them.

        Args:
            patterns: an output of a model with `attentions`, or with `encoder_attentions`, `decoder_attentions` and
                `cross_attentions`; a mapping with these keys, or with `encoder`, `decoder`, `cross`; a sequence of one array
                [B,H,T,S] or [H,T,S] a layer; or one array [L,H,T,S], [H,T,S] or [T,S].
            tokens: texts of the only sequence, or of the target of an encoder-decoder. A pair of sequences has query and key
                tokens, or target and source. A whole number instead of texts numbers the positions.
            source_tokens: texts of the encoder's sequence.
            kind: of patterns without a name (default: decoder if no weight is on a later token, else encoder; cross for a
                pair of tokens).
            row: the row of the batch, from 0.

        Raises:
            ValueError: One sentence with the value found and the value expected.
        """
        if isinstance(patterns, GivenAttention):
            return patterns
        pair = is_pair(tokens)
        if pair and source_tokens is not None:
            raise ValueError("tokens is a pair and source_tokens is set; expected one of them.")
        if kind is not None and kind not in SITE_KINDS:
            raise ValueError(f"kind is {short_repr(kind)}; expected one of {', '.join(SITE_KINDS)}.")
        weights: dict[str, Layers] = {}
        for found, value in by_kind(patterns).items():
            layers = read_layers(value, row)
            own = found or kind or ("cross" if pair else self_kind(layers))
            weights[own] = layers
        weights = {each: weights[each] for each in ATTENTION_KINDS if each in weights}
        if pair:
            tokens, source_tokens = tokens
        if set(weights) == {"encoder"} and source_tokens is None:
            tokens, source_tokens = None, tokens
        sides = {site_kind(each).query_side for each in weights} | {site_kind(each).key_side for each in weights}
        counts = {}
        for each, layers in weights.items():
            if layers[0].ndim == 3:
                counts[site_kind(each).query_side] = layers[0].shape[1]
                counts[site_kind(each).key_side] = layers[0].shape[2]
        both = len(sides) == 2
        return cls(
            weights,
            read_texts("tokens", tokens, counts.get("target", 0), "target " * both) if "target" in sides else (),
            read_texts("source_tokens" if both else "tokens", source_tokens, counts.get("source", 0), "source " * both)
            if "source" in sides
            else (),
            name,
        )

    @classmethod
    def read(cls, path: Path | str) -> GivenAttention:
        """Reads a .npz file of `save`, of `numpy.savez` with the same keys, or of an analysis that the lab has exported.

        Weights of uncompressed files stay on the disk until they are used.

        Raises:
            FileNotFoundError: There is no such file.
            ValueError: One sentence that names the file, the value found and the value expected.
        """
        path = Path(path)
        arrays = read_arrays(path)
        if HEADER_ARRAY in arrays:
            return cls._of_analysis(path)
        if odd := sorted(set(arrays) - set(FILE_KEYS)):
            raise FileError(f"{path}: the array {short_repr(odd[0])} is unknown; expected {', '.join(FILE_KEYS)}.")
        weights = {kind: arrays[kind] for kind in ATTENTION_KINDS if kind in arrays}
        tokens, source_tokens = (list(arrays[name]) if name in arrays else None for name in ("tokens", "source_tokens"))
        if tokens is None and set(weights) == {"encoder"}:
            tokens, source_tokens = source_tokens, None
        try:
            return cls.of(weights, tokens, source_tokens=source_tokens, name=path.stem)
        except ValueError as fault:
            raise FileError(f"{path}: {fault}") from None

    @classmethod
    def _of_analysis(cls, path: Path) -> GivenAttention:
        exported = read_analysis(path)
        weights: dict[str, Layers] = {}
        for site in sorted(exported.patterns, key=lambda site: site.layer):
            weights[site.kind] = (*weights.get(site.kind, ()), exported.patterns[site])
        inputs, source = (axis.labels if axis else () for axis in (exported.inputs, exported.source))
        return cls({kind: weights[kind] for kind in ATTENTION_KINDS if kind in weights}, inputs, source, path.stem)

    def save(self, path: Path | str) -> None:
        """Writes a .npz file with the arrays [L,H,T,S] by kind and the tokens as texts, in the type of the weights.

        Raises FileError for another suffix, a missing folder, a file that exists, and where writing fails.
        """
        path = Path(path)
        if path.suffix != ".npz":
            raise FileError(f"{path} ends in {short_repr(path.suffix)}; expected .npz")
        tokens = {"tokens": self.tokens, "source_tokens": self.source_tokens}
        arrays: dict[str, Any] = {name: np.array(texts, dtype=str) for name, texts in tokens.items() if texts}
        write_arrays(path, arrays | dict(self.weights))

    # -- reading -------------------------------------------------------------------------------------------------------

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of attention, in display order."""
        return tuple(kind for kind in ATTENTION_KINDS if kind in self.weights)

    def shape(self, kind: str) -> tuple[int, int, int, int]:
        """Returns layers, heads, queries and keys of a kind. Raises ValueError for a kind that is not there."""
        layers = self._of(kind)
        heads, rows, columns = layers[0].shape
        return len(layers), heads, rows, columns

    def queries(self, kind: str) -> Tokens:
        """Returns the tokens of the rows of a kind, as they were given."""
        return self.source_tokens if site_kind(kind).query_side == "source" else self.tokens

    def keys(self, kind: str) -> Tokens:
        """Returns the tokens of the columns of a kind, as they were given."""
        return self.source_tokens if site_kind(kind).key_side == "source" else self.tokens

    def layer(self, kind: str, layer: int, heads: slice = slice(None)) -> np.ndarray:
        """Returns all or some heads of a layer (from 0) as float32 [H,T,S]. Raises ValueError for a missing layer."""
        layers = self._of(kind)
        if not 0 <= layer < len(layers):
            raise ValueError(f"There is no {kind} layer {layer}; expected 0 to {len(layers) - 1}.")
        return np.asarray(layers[layer][heads], dtype=np.float32)

    def head(self, kind: str, layer: int, head: int) -> np.ndarray:
        """Returns the pattern of a head (from 0) as float32 [T,S]. Raises ValueError for a head that is not there."""
        layers, heads = self._of(kind), self.shape(kind)[1]
        if not (0 <= layer < len(layers) and 0 <= head < heads):
            raise ValueError(
                f"There is no {kind} head {layer}.{head}; expected layer 0 to {len(layers) - 1} and head 0 to {heads - 1}."
            )
        return np.asarray(layers[layer][head], dtype=np.float32)

    def array(self, kind: str) -> np.ndarray:
        """Returns the weights of a kind as one float32 array [L,H,T,S], a copy."""
        return np.stack([self.layer(kind, n) for n in range(len(self._of(kind)))])

    def masks(self, kind: str) -> Iterator[np.ndarray]:
        """Yields for each layer the cells where any head has a weight, bool [T,S]."""
        return ((layer != 0).any(axis=0) for layer in self._of(kind))

    def _of(self, kind: str) -> Layers:
        if kind not in self.weights:
            raise ValueError(f"There is no {site_kind(kind).name}; expected one of {', '.join(self.kinds)}.")
        return self.weights[kind]

    @cached_property
    def trace(self) -> Trace:
        """A `Trace` with these patterns in float32, for the readings of `model.readings.heads`; it has no scores."""
        axes = {
            side: Axis(tuple(range(3, len(tokens) + 3)), token_labels.lab_names(tokens), token_labels.word_numbers(tokens))
            for side, tokens in (("source", self.source_tokens), ("target", self.tokens))
            if tokens
        }
        patterns: dict[Site, np.ndarray] = {}
        masks: dict[Site, np.ndarray] = {}
        for kind in (each for each in ATTENTION_KINDS if each in self.kinds):
            for n, mask in enumerate(self.masks(kind)):
                patterns[Site(kind, n)], masks[Site(kind, n)] = self.layer(kind, n), mask
        nothing = np.zeros((0, 0), np.float32)
        return Trace(axes.get("source"), axes.get("target"), None, patterns, {}, masks, nothing)

    def renamed(self, name: str) -> GivenAttention:
        """Returns the same weights under a name."""
        copy = object.__new__(GivenAttention)  # the checks have run
        for each in dataclasses.fields(self):
            object.__setattr__(copy, each.name, name if each.name == "name" else getattr(self, each.name))
        return copy


# -- checks ------------------------------------------------------------------------------------------------------------


def check_layers(kind: str, layers: Layers, tokens: tuple[int, int]) -> None:
    """Raises ValueError unless all layers are [H,T,S] with equal shapes and one token for each query and key."""
    if not layers:
        raise ValueError(f"The {kind} patterns have 0 layers; expected 1 or more.")
    for n, layer in enumerate(layers):
        if layer.ndim != 3:
            raise ValueError(f"Layer {n} of the {kind} patterns has shape {list(layer.shape)}; expected [heads, T, S].")
        if not layer.size:
            raise ValueError(f"Layer {n} of the {kind} patterns is empty, shape {list(layer.shape)}.")
        if layer.shape != layers[0].shape:
            raise ValueError(
                f"Layer {n} of the {kind} patterns has shape {list(layer.shape)}; expected {list(layers[0].shape)}, "
                "the shape of layer 0."
            )
    for side, count, length in zip(("query", "key"), tokens, layers[0].shape[1:], strict=True):
        if count != length:
            advice = ""
            if SITE_KINDS[kind].is_self and layers[0].shape[1] != layers[0].shape[2]:
                advice = " For different queries and keys, pass tokens=(query tokens, key tokens)."
            raise ValueError(f"There are {count} {side} tokens for {kind}; expected {length}, the {side} length.{advice}")


def _check_weights(kind: str, layers: Layers) -> list[str]:
    """Returns notes about the weights. Raises ValueError for weights that are not finite, negative or too large."""
    odd = rows = 0
    first, largest = "", 0.0
    for n, layer in enumerate(layers):
        if layer.dtype.kind not in "fiub":
            raise ValueError(f"Layer {n} of the {kind} patterns has the type {layer.dtype}; expected numbers.")
        for h, pattern in enumerate(layer):
            weights = np.asarray(pattern, dtype=np.float32)  # [T,S]
            sums, low, high = weights.sum(-1), float(weights.min()), float(weights.max())
            if not np.isfinite(sums).all() or not np.isfinite(low) or high > MAX_WEIGHT:
                wrong = ~np.isfinite(weights) | (weights > MAX_WEIGHT)
                value, (t, s) = weights[wrong][0] if wrong.any() else high, np.argwhere(wrong)[0] if wrong.any() else (0, 0)
                raise ValueError(
                    f"The {kind} weight of layer {n}, head {h}, query {t}, key {s} is {value}; "
                    f"expected a finite number from 0 to {MAX_WEIGHT:,.0f}."
                )
            if low < 0:
                t, s = np.argwhere(weights < 0)[0]
                raise ValueError(
                    f"The {kind} weight of layer {n}, head {h}, query {t}, key {s} is {weights[t, s]:.4g}; expected 0 or "
                    "more. Pass the weights after the softmax, not the scores."
                )
            wrong = (np.abs(sums - 1) > SUM_TOLERANCE) & (sums != 0)
            largest, rows = max(largest, high), rows + len(sums)
            if wrong.any() and not odd:
                t = int(wrong.argmax())
                first = f"layer {n + 1}, head {h + 1}, row {t + 1}, sum {sums[t]:.3g}"
            odd += int(wrong.sum())
    notes = []
    if odd:
        notes.append(
            f"{odd:,} of {rows:,} {kind} rows do not add up to 1. First: {first}. "
            "In PyTorch, model.eval() turns dropout off."
        )
    if largest > 1 + SUM_TOLERANCE:
        notes.append(f"The largest {kind} weight is {largest:.4g}; the colours end at 1.")
    return notes
