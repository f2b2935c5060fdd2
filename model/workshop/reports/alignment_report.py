"""Alignment error rate of every cross-attention head, over sentence pairs with hand-made word links.

Teacher-forced on the given translation. A head links each target word to the source word with its largest weight. The links
of all sentences are compared with the sure and possible ones (Och and Ney 2003).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from ...checkpoint import Checkpoint
from ...config import END, MAX_TOKENS
from ...network.context import Pass, teacher_forced_states
from ...readings.heads.trace_comparison import Link, diagonal, error_rate, hits, peaks, word_weights
from ...text.measurements import ROWS, AlignmentRates, Rate
from ...text.tokenizer import Tokenizer
from ...trace import Probe, Site
from ..sharding import ordered_map

RESAMPLES = 1000
SEED = 1
SEPARATOR = " ||| "
NO_SPACE_BEFORE = (",", ".")  # signs without a space before them


@dataclass(frozen=True)
class GoldAlignment:
    """Sentence pair as words, with hand-made links (source word, target word) from 0."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    sure: frozenset[Link]
    possible: frozenset[Link]  # without the sure ones


def read_gold(folder: Path) -> list[GoldAlignment]:
    """Reads the pairs of a folder.

    `*.src-tgt` has one pair per line: words with spaces, and ` ||| ` between the sides. `*.gold` has the links, `3-4` sure
    and `3p4` possible, from 1. Raises ValueError that names file and line, OSError where there is no file.
    """
    pairs, links = (_lines(folder, ending) for ending in (".src-tgt", ".gold"))
    if len(pairs) != len(links):
        raise ValueError(f"{folder} has {len(pairs):,} pairs and links for {len(links):,}; expected as many of both")
    if not pairs:
        raise ValueError(f"{folder} has no pair; expected at least one")
    return [_gold(pair, linked, n) for n, (pair, linked) in enumerate(zip(pairs, links, strict=True), 1)]


def _lines(folder: Path, ending: str) -> list[str]:
    files = sorted(folder.glob(f"*{ending}"))
    if len(files) != 1:
        raise ValueError(f"{folder} has {len(files)} files *{ending}; expected one")
    return files[0].read_text(encoding="utf-8").splitlines()


def _gold(pair: str, linked: str, number: int) -> GoldAlignment:
    source, between, target = pair.partition(SEPARATOR)
    sides = tuple(tuple(unicodedata.normalize("NFC", text).split()) for text in (source, target))
    if not between or not all(sides):
        raise ValueError(f"line {number} of the pairs is {pair[:60]!r}; expected words, {SEPARATOR!r}, words")
    sure, possible = set(), set()
    for link in linked.split():
        kind = "p" if "p" in link else "-"
        one, _, other = link.partition(kind)
        if not (one.isdigit() and other.isdigit() and 1 <= int(one) <= len(sides[0]) and 1 <= int(other) <= len(sides[1])):
            raise ValueError(f"line {number} of the links has {link[:20]!r}; expected a-b or apb, words of the two sides")
        (possible if kind == "p" else sure).add((int(one) - 1, int(other) - 1))
    return GoldAlignment(*sides, frozenset(sure), frozenset(possible - sure))


def join_words(words: Sequence[str]) -> tuple[str, list[int]]:
    """Joins words to a sentence, and returns the start of each word.

    The first letter is a capital. A comma or full stop after a word has no space before it.
    """
    text, starts = "", []
    for n, word in enumerate(words):
        if text and not (word in NO_SPACE_BEFORE and words[n - 1].isalnum()):
            text += " "
        starts.append(len(text))
        first = word[:1].upper()
        text += first + word[1:] if n == 0 and len(first) == 1 else word
    return text, starts


def token_words(tokenizer: Tokenizer, words: Sequence[str]) -> tuple[list[int], list[int]]:
    """Returns the tokens of a sentence, and for each the word in which it begins."""
    text, starts = join_words(words)
    ids, position, owners = tokenizer.encode(text), 0, []
    for segment in tokenizer.segments(ids):
        begins = position + len(segment) - len(segment.lstrip())
        owners.append(int(np.searchsorted(starts, min(begins, len(text) - 1), side="right")) - 1)
        position += len(segment)
    return ids, owners


@dataclass(frozen=True)
class AlignedPass:
    """A pass over a pair: the probe, the word of each target token, and that of each key, with a last one for `</s>`."""

    probe: Probe
    of_target: Sequence[int]
    keys: Sequence[int]
    words: int  # of the target

    def links(self, maps: np.ndarray, later: int) -> np.ndarray:
        """Returns the source word that each map [...,T,S] links to each target word, [...,words]; -1 for none.

        `later` is that of `ROWS`: which row of the map belongs to a target token.
        """
        columns = list(dict.fromkeys(self.keys))
        weights = word_weights(maps, range(later, len(self.of_target) + later), self.of_target, self.keys)
        best = peaks(weights, len(columns) - 1)  # [...,words that have a token]
        linked = np.full((*best.shape[:-1], self.words), -1)
        linked[..., list(dict.fromkeys(self.of_target))] = np.where(best < 0, -1, np.asarray(columns)[best])
        return linked


@torch.inference_mode()
def run_pair(checkpoint: Checkpoint, gold: GoldAlignment, level: Literal["maps", "full"] = "maps") -> AlignedPass | None:
    """Runs a teacher-forced pass over a pair, or returns None for a pair over the text limit."""
    (source, of_source), (target, of_target) = (
        token_words(tokenizer, words)
        for tokenizer, words in ((checkpoint.source_tokenizer, gold.source), (checkpoint.target_tokenizer, gold.target))
    )
    if max(len(source), len(target)) >= MAX_TOKENS:
        return None
    ids = [torch.tensor([[*tokens, END]], device=checkpoint.device) for tokens in (source, target)]
    probe = Probe(level)
    teacher_forced_states(checkpoint.model, *ids, Pass(probe=probe))
    return AlignedPass(probe, of_target, [*of_source, len(gold.source)], len(gold.target))


def head_links(checkpoint: Checkpoint, gold: GoldAlignment) -> dict[str, np.ndarray] | None:
    """Returns the source word that each head links to each target word, [L,H,T]; -1 for none.

    There is one array for the rows that predict a word's tokens, and one for the rows that read them. Returns None for a
    pair over the text limit.
    """
    run = run_pair(checkpoint, gold)
    if run is None:
        return None
    layers = range(checkpoint.config.decoder_layers)
    pattern = np.stack([run.probe.array(Site("cross", layer), "pattern") for layer in layers])  # [L,H,T,S]
    return {name: run.links(pattern, later) for name, later in ROWS.items()}


def require_cross(checkpoint: Checkpoint) -> None:
    """Raises ValueError for a model without cross-attention."""
    if "cross" not in checkpoint.config.kinds:
        raise ValueError(f"{checkpoint.name} is {checkpoint.config.family}: it has no cross-attention to align words")


def measure_alignment(
    checkpoint: Checkpoint, pairs: Sequence[GoldAlignment], progress: Callable[[int], None] = lambda done: None
) -> AlignmentRates:
    """Returns the error rate of every cross-attention head over the pairs within the text limit, and that of the diagonal.

    Raises ValueError for a model without cross-attention, and where no pair is left.
    """
    require_cross(checkpoint)
    layers, heads = checkpoint.config.decoder_layers, checkpoint.config.heads
    counts: dict[str, list[np.ndarray]] = {name: [] for name in (*ROWS, "diagonal")}  # [4,L,H] a pair, of the diagonal [4]
    for gold, links in zip(pairs, ordered_map(lambda gold: head_links(checkpoint, gold), pairs), strict=True):
        progress(1)
        if links is None:
            continue
        for name, linked in links.items():
            each = [count_hits(row, gold) for row in linked.reshape(layers * heads, -1)]
            counts[name].append(np.array(each).T.reshape(4, layers, heads))
        counts["diagonal"].append(np.array(count_hits(diagonal(len(gold.target), len(gold.source)), gold)))
    if not counts["diagonal"]:
        raise ValueError("no pair is within the text limit; expected at least one")
    stacked = {name: np.array(each, dtype=float) for name, each in counts.items()}  # [N,4,...]
    number = len(stacked["diagonal"])
    samples = np.random.default_rng(SEED).multinomial(number, np.full(number, 1 / number), RESAMPLES)  # [R,N]
    rates = {name: _rates(stacked[name], samples) for name in ROWS}
    (own,) = _rates(stacked["diagonal"][..., None, None], samples)[0]
    sure = int(stacked["diagonal"][:, 3].sum())
    return AlignmentRates(number, len(pairs) - number, sure, RESAMPLES, SEED, own, rates)


def count_hits(links: Sequence[int], gold: GoldAlignment) -> tuple[int, int, int, int]:
    """Returns the number of links, those on sure and on possible ones, and the number of sure ones."""
    counts = hits(links, gold.sure, gold.possible)
    return counts.links, counts.on_sure, counts.on_possible, counts.sure


def _rates(counts: np.ndarray, draws: np.ndarray) -> tuple[tuple[Rate, ...], ...]:
    """Returns the rates of counts [N,4,L,H] over all pairs, with the middle 95% of bootstrap samples [R,N]."""
    links, on_sure, on_possible, sure = totals = counts.sum(0)  # [4,L,H]
    rates = error_rate(*totals)
    samples = error_rate(*np.moveaxis(np.tensordot(draws, counts, 1), 1, 0))  # [R,L,H]
    low, high = np.percentile(samples, (2.5, 97.5), axis=0)
    precision, recall = on_possible / np.maximum(1, links), on_sure / np.maximum(1, sure)
    rows = np.stack([rates, low, high, precision, recall], -1).round(4)  # [L,H,5]
    return tuple(tuple(Rate(*map(float, head)) for head in layer) for layer in rows)
