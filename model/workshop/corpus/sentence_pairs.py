"""Texts for a model that fills in blanks: two sentences of one book, the second of which follows the first or does not
(Devlin et al. 2019, section 3.1), or a sentence alone.

Labelled texts for a model that judges: one label a text."""

from __future__ import annotations

import functools
import random
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from model.config import CONTROL_TOKENS, END, MAX_CLASSES, MAX_LANGUAGE, MAX_TOKENS, PAD, START, is_language
from model.io.files import shown
from model.text.sentences import split
from model.text.tokenizer import Tokenizer
from model.workshop.corpus.corpus import (
    DataError,
    count_tokens,
    pad,
    read_pairs,
)
from model.workshop.corpus.windows import Masked, Masking, read_paragraphs

ALONE = 0.25  # share of the rows that are one sentence: as people type them
KEPT = 4096  # rows whose blanks are remembered: those of a batch are asked for twice
FOLLOWS, ELSEWHERE, NOTHING = 0, 1, -100  # what is to be told of a row; nothing of a sentence alone


def read_sentences(path: Path) -> list[str]:
    """The sentences of a text in their order; errors as `read_paragraphs`, and where there is none."""
    found = [sentence for paragraph in read_paragraphs(path) for sentence in split(paragraph)]
    if not found:
        raise DataError(f"{path}: no sentence in it; expected text, one paragraph a line.")
    return found


@dataclass
class ReadBatch:
    """Padded rows for a model that only reads: source ids [B,S], of each place what is to be told, `<pad>` for nothing, as
    outputs [B,S], and of each row as labels [B]."""

    source: Tensor
    outputs: Tensor
    labels: Tensor

    def to(self, device: torch.device) -> ReadBatch:
        return replace(self, source=self.source.to(device), outputs=self.outputs.to(device), labels=self.labels.to(device))


@dataclass(frozen=True)
class Row:
    """`<s>` a `</s>`, or `<s>` a `</s>` b `</s>`, and whether b follows."""

    ids: list[int]
    label: int


class Rows:
    """Rows with their blanks, which depend on a row's number and on `key` alone."""

    def __init__(self, rows: list[Row], masking: Masking, key: str) -> None:
        self.rows, self.masking, self.key = rows, masking, key
        self.masked = functools.lru_cache(KEPT)(self._masked)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def blanks_a_pair(self) -> float:
        """About how many tokens are to be told for each pair whose second sentence is judged; 0 where there is no pair."""
        pairs = sum(row.label != NOTHING for row in self.rows)
        blanks = sum(self.masking.count(sum(token >= len(CONTROL_TOKENS) for token in row.ids)) for row in self.rows)
        return blanks / pairs if pairs else 0.0

    def _masked(self, number: int) -> Masked:
        return self.masking.masked(self.rows[number].ids, random.Random(f"{self.key}/{number}"))

    def tokens(self, rows: Sequence[int]) -> int:
        """How many tokens are to be told in some rows."""
        return sum(token != PAD for n in rows for token in self.masked(n).told)

    def batch(self, indices: Sequence[int]) -> ReadBatch:
        """Some of the rows, padded to one length."""
        found = [self.masked(n) for n in indices]
        labels = torch.tensor([self.rows[n].label for n in indices])
        return ReadBatch(pad([each.read for each in found]), pad([each.told for each in found]), labels)

    def batches(self, tokens: int, seed: int, epoch: int) -> list[list[int]]:
        """Indices of each batch of an epoch; see `alike`."""
        return alike([len(row.ids) for row in self.rows], tokens, f"{seed}/{epoch}")


def alike(lengths: Sequence[int], tokens: int, key: str) -> list[list[int]]:
    """Rows of such lengths in batches that are alike in length and have at most `tokens` padded tokens, in an order that
    depends on `key` alone. Raises ValueError where one row is longer."""
    if (longest := max(lengths)) > tokens:
        raise ValueError(f"a batch holds {tokens} tokens, a text has {longest}; give a larger batch_tokens")
    draw = random.Random(key)
    order = sorted(range(len(lengths)), key=lambda n: (lengths[n], draw.random()))
    batches: list[list[int]] = [[]]
    for n in order:  # the last is the longest of its batch
        if lengths[n] * (len(batches[-1]) + 1) > tokens:
            batches.append([])
        batches[-1].append(n)
    draw.shuffle(batches)
    return batches


@dataclass(frozen=True)
class Books:
    """Encoded texts, each a list of its sentences; a sentence that no row could hold has lost its end."""

    books: list[list[list[int]]]
    cut: int = 0  # sentences that have lost it

    @classmethod
    def encode(cls, texts: Sequence[Sequence[str]], tokenizer: Tokenizer) -> Books:
        whole = [[ids for text in sentences if (ids := tokenizer.encode(text))] for sentences in texts]
        most = MAX_TOKENS - 2
        return cls([[ids[:most] for ids in book] for book in whole], sum(len(ids) > most for book in whole for ids in book))

    @property
    def sentences(self) -> int:
        return sum(map(len, self.books))

    @property
    def tokens(self) -> int:
        return sum(len(ids) for book in self.books for ids in book)

    def rows(self, key: str, pairs: bool = True, alone: float = ALONE) -> list[Row]:
        """A row for each sentence, which it begins with: with `pairs` a share `alone` of them alone, of the others one half
        before the sentence that follows, one half before another of the same book. What is drawn depends on `key` alone."""
        draw = random.Random(key)
        return [
            _row(book, n, draw) if pairs and draw.random() >= alone else Row([START, *book[n], END], NOTHING)
            for book in self.books
            for n in range(len(book))
        ]


def _row(book: Sequence[list[int]], n: int, draw: random.Random) -> Row:
    """A pair that begins with sentence n; the sentence alone where it is the last, or where the book has no other."""
    alone = Row([START, *book[n], END], NOTHING)
    if n + 1 == len(book):
        return alone
    if draw.random() < 0.5:
        return Row(joined(book[n], book[n + 1]), FOLLOWS)
    for _ in range(20):
        other = book[draw.randrange(len(book))]
        if other not in (book[n], book[n + 1]):
            return Row(joined(book[n], other), ELSEWHERE)
    return alone


def joined(first: Sequence[int], second: Sequence[int]) -> list[int]:
    """`<s>` a `</s>` b `</s>`; the longer of both loses its end until they fit."""
    a, b = list(first), list(second)
    while len(a) + len(b) > MAX_TOKENS - 3:
        (a if len(a) > len(b) else b).pop()
    return [START, *a, END, *b, END]


def read_labelled(path: Path, known: Collection[str] = ()) -> list[tuple[str, str]]:
    """Label and text of every line label TAB text; further columns are ignored.

    Raises DataError where a line has no label or no text, where a label is none of those that are `known`, if any are, or
    cannot be shown, where all labels are the same or too many, and as `read_pairs`.
    """
    found = read_pairs(path, names=("label", "text"))
    for number, (label, _) in enumerate(found, 1):
        if known and label not in known:
            raise DataError(
                f"{path}, line {number}: the label is {shown(label)}; expected one of {', '.join(sorted(known))}."
            )
        if not is_language(label):
            raise DataError(
                f"{path}, line {number}: the label is {shown(label)}; expected label TAB text, a label of at most "
                f"{MAX_LANGUAGE} printable characters."
            )
    labels = Counter(label for label, _ in found)
    if not known and not 2 <= len(labels) <= MAX_CLASSES:
        only = f"every text has the label {shown(found[0][0])}" if len(labels) == 1 else f"there are {len(labels):,} labels"
        raise DataError(f"{path}: {only}; expected 2 to {MAX_CLASSES} different ones, label TAB text.")
    return found


class Labelled:
    """Encoded texts with their labels, each the number of one of `classes`; one over the text limit has lost its end."""

    def __init__(
        self, texts: Sequence[tuple[str, str]], tokenizer: Tokenizer, classes: Sequence[str], start: bool = True
    ) -> None:
        """With `start` a text begins with `<s>`."""
        begun, whole = [START] if start else [], [tokenizer.encode(text) for _, text in texts]
        most = MAX_TOKENS - 1 - len(begun)
        self.rows = [[*begun, *ids[:most], END] for ids in whole]
        self.labels = [list(classes).index(label) for label, _ in texts]
        self.cut = sum(len(ids) > most for ids in whole)
        self.counts = count_tokens(whole, tokenizer.size)

    def __len__(self) -> int:
        return len(self.rows)

    def tokens(self, rows: Sequence[int]) -> int:
        """How many labels are told in some rows: one each."""
        return len(rows)

    def batch(self, indices: Sequence[int]) -> ReadBatch:
        """Some of the texts, padded to one length; of no place anything is to be told."""
        source = pad([self.rows[n] for n in indices])
        return ReadBatch(source, torch.zeros_like(source), torch.tensor([self.labels[n] for n in indices]))

    def batches(self, tokens: int, seed: int, epoch: int) -> list[list[int]]:
        """Indices of each batch of an epoch; see `alike`."""
        return alike([len(row) for row in self.rows], tokens, f"{seed}/{epoch}")
