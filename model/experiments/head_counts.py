"""Counts over many sentences for the heads of one kind of attention: places of largest weights, word pairs, divergences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..readings.heads.head_maps import is_punctuation, is_special
from ..readings.heads.head_similarity import divergences
from ..text.head_statistics import PLACES, WordPair
from ..trace import Axis, Trace

PAIRS, MIN_COUNT = 12, 2  # pairs of words that are listed, and how often they occur at least


@dataclass
class KindCounts:
    """Counts over all sentences for the E heads of a kind of attention."""

    divergence: np.ndarray  # [E,E], summed over rows
    places: np.ndarray  # [E,P]: rows whose largest weight is on each of `PLACES`
    rows: int = 0
    counts: Mapping[str, list[Counter[tuple[str, str]]]] = field(default_factory=dict)  # by what names a row: one a head
    possible: Mapping[str, Counter[tuple[str, str]]] = field(default_factory=dict)

    @classmethod
    def of(cls, heads: int) -> KindCounts:
        names = ("read", "written")
        counts = {name: [Counter[tuple[str, str]]() for _ in range(heads)] for name in names}
        possible = {name: Counter[tuple[str, str]]() for name in names}
        return cls(np.zeros((heads, heads)), np.zeros((heads, len(PLACES))), 0, counts, possible)

    def add(self, trace: Trace, kind: str) -> None:
        sites = trace.sites(kind)
        patterns = np.concatenate([trace.patterns[site] for site in sites])  # [E,T,S]
        allowed = np.any([trace.masks[site] for site in sites], axis=0)  # [T,S]
        spec = sites[0].spec
        labels = trace.axis(spec.query_side).labels
        rows = [t for t, label in enumerate(labels) if label != "<pad>" and allowed[t].sum() > 1]
        if not rows:
            return
        patterns, keys = patterns[:, rows], trace.keys(sites[0])
        self.rows += len(rows)
        self.divergence += divergences(patterns)
        largest = patterns.argmax(-1)  # [E,R]
        codes = np.array([[_place(row, key, keys[key], spec.is_self) for key in range(len(keys))] for row in rows])  # [R,S]
        at = codes[np.arange(len(rows)), largest]  # [E,R]
        self.places += (at[..., None] == np.arange(len(PLACES))).sum(1)
        named = {"read": trace.axis(spec.query_side)}
        if spec.query_side == "target" and trace.outputs is not None:
            named["written"] = trace.outputs
        key_words = _Words.of(trace.axis(spec.key_side))
        for name, axis in named.items():
            self._add_pairs(name, _Words.of(axis), key_words, rows, largest, allowed)

    def _add_pairs(
        self, name: str, queries: _Words, keys: _Words, rows: list[int], largest: np.ndarray, allowed: np.ndarray
    ) -> None:
        """Counts the words that the largest weight of a row links, once for each two words of a sentence."""
        told = {
            (queries.number[row], keys.number[key]): (queries.text[row], keys.text[key])
            for row in rows
            for key in np.flatnonzero(allowed[row]).tolist()
            if keys.is_content[key] and queries.is_content[row]
        }
        self.possible[name].update(told.values())
        for counter, peaks in zip(self.counts[name], largest.tolist(), strict=True):
            linked = {(queries.number[row], keys.number[key]) for row, key in zip(rows, peaks, strict=True)}
            counter.update(told[each] for each in linked if each in told)

    def pairs(self, name: str, head: int) -> tuple[WordPair, ...]:
        """Returns the most frequent pairs of a head that occur at least twice."""
        possible = self.possible[name]
        ranked = sorted(self.counts[name][head].items(), key=lambda each: (-each[1], -each[1] / possible[each[0]], each[0]))
        return tuple(WordPair(*pair, linked, possible[pair]) for pair, linked in ranked[:PAIRS] if linked >= MIN_COUNT)


def _place(row: int, key: int, label: str, is_self: bool) -> int:
    """Returns the number of the place in `PLACES` that a cell is at."""
    if label in ("<s>", "</s>"):
        return PLACES.index("start" if label == "<s>" else "end")
    offsets = {-1: "previous", 0: "same", 1: "next"}
    if is_self and key - row in offsets:
        return PLACES.index(offsets[key - row])
    return PLACES.index("punctuation" if is_punctuation(label) else "word")


@dataclass(frozen=True)
class _Words:
    """The word of each token of an axis: its number, its lower-case text, and True for neither sign nor control token."""

    number: tuple[int, ...]
    text: tuple[str, ...]
    is_content: tuple[bool, ...]

    @classmethod
    def of(cls, axis: Axis) -> _Words:
        words: dict[int, str] = {}
        for number, label in zip(axis.word_numbers, axis.labels, strict=True):
            words[number] = words.get(number, "") + label
        texts = [words[number].replace("·", "").lower() for number in axis.word_numbers]
        return cls(
            axis.word_numbers,
            tuple(texts),
            tuple(bool(text) and not (is_special(text) or is_punctuation(text)) for text in texts),
        )
