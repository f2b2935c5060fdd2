"""Texts for encoders: two sentences of a book of which the second follows or not, one sentence, or a labelled text (Devlin
et al. 2019, section 3.1)."""

from __future__ import annotations

import functools
import random
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from ...config import CONTROL_TOKENS, END, MAX_CLASSES, MAX_LANGUAGE, MAX_TOKENS, PAD, START, is_language
from ...io.files import short_repr
from ...text.sentences import split
from ...text.tokenizer import Tokenizer
from .corpus import DataError, count_tokens, pad, read_pairs
from .windows import MaskedText, Masking, read_paragraphs

SINGLE_SHARE = 0.25  # share of rows with one sentence, as people type them
CACHED_ROWS = 4096  # each row of a batch is used twice
FOLLOWS, ELSEWHERE, IGNORE_INDEX = 0, 1, -100  # labels of a row; the last for a single sentence


def read_sentences(path: Path) -> list[str]:
    """Returns the sentences of a text in order. Errors as in `read_paragraphs`; DataError without a sentence."""
    sentences = [sentence for paragraph in read_paragraphs(path) for sentence in split(paragraph)]
    if not sentences:
        raise DataError(f"{path}: no sentence; expected text, one paragraph a line.")
    return sentences


@dataclass
class EncoderBatch:
    """Padded rows for an encoder: source ids [B,S], targets of each position as outputs [B,S] with `<pad>` for none, and
    labels [B]."""

    source: Tensor
    outputs: Tensor
    labels: Tensor

    def to(self, device: torch.device) -> EncoderBatch:
        return replace(self, source=self.source.to(device), outputs=self.outputs.to(device), labels=self.labels.to(device))


@dataclass(frozen=True)
class Row:
    """`<s>` a `</s>`, or `<s>` a `</s>` b `</s>`, with a label that says whether b follows."""

    ids: list[int]
    label: int


class MaskedRows:
    """Rows with blanks, which depend on the row number and on `key` only."""

    def __init__(self, rows: list[Row], masking: Masking, key: str) -> None:
        self.rows, self.masking, self.key = rows, masking, key
        self.masked_row = functools.lru_cache(CACHED_ROWS)(self._mask_row)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def blanks_a_pair(self) -> float:
        """The approximate number of blanks for each pair with a label, or 0 without such pairs."""
        pairs = sum(row.label != IGNORE_INDEX for row in self.rows)
        blanks = sum(self.masking.target_count(sum(token >= len(CONTROL_TOKENS) for token in row.ids)) for row in self.rows)
        return blanks / pairs if pairs else 0.0

    def _mask_row(self, number: int) -> MaskedText:
        return self.masking.mask(self.rows[number].ids, random.Random(f"{self.key}/{number}"))

    def tokens(self, rows: Sequence[int]) -> int:
        """Returns the number of tokens to predict in some rows."""
        return sum(token != PAD for n in rows for token in self.masked_row(n).targets)

    def batch(self, indices: Sequence[int]) -> EncoderBatch:
        """Returns some of the rows, padded to one length."""
        masked = [self.masked_row(n) for n in indices]
        labels = torch.tensor([self.rows[n].label for n in indices])
        return EncoderBatch(pad([each.input_ids for each in masked]), pad([each.targets for each in masked]), labels)

    def batches(self, tokens: int, seed: int, epoch: int) -> list[list[int]]:
        """Returns the rows of each batch of an epoch; see `length_batches`."""
        return length_batches([len(row.ids) for row in self.rows], tokens, f"{seed}/{epoch}")


def length_batches(lengths: Sequence[int], tokens: int, key: str) -> list[list[int]]:
    """Returns rows in batches of similar length with at most `tokens` padded tokens, in an order that depends on `key` only.

    Raises ValueError if a row is longer.
    """
    if (longest := max(lengths)) > tokens:
        raise ValueError(f"a batch holds {tokens} tokens, a text has {longest}; give a larger batch_tokens")
    draw = random.Random(key)
    order = sorted(range(len(lengths)), key=lambda n: (lengths[n], draw.random()))
    batches: list[list[int]] = [[]]
    for n in order:  # sorted, so the last is the longest of its batch
        if lengths[n] * (len(batches[-1]) + 1) > tokens:
            batches.append([])
        batches[-1].append(n)
    draw.shuffle(batches)
    return batches


@dataclass(frozen=True)
class Books:
    """Encoded texts, each a list of sentences. Sentences that are too long for a row are shortened."""

    books: list[list[list[int]]]
    shortened: int = 0  # number of shortened sentences

    @classmethod
    def encode(cls, texts: Sequence[Sequence[str]], tokenizer: Tokenizer) -> Books:
        encoded = [[ids for text in sentences if (ids := tokenizer.encode(text))] for sentences in texts]
        limit = MAX_TOKENS - 2
        return cls(
            [[ids[:limit] for ids in book] for book in encoded], sum(len(ids) > limit for book in encoded for ids in book)
        )

    @property
    def sentences(self) -> int:
        return sum(map(len, self.books))

    @property
    def tokens(self) -> int:
        return sum(len(ids) for book in self.books for ids in book)

    def rows(self, key: str, pairs: bool = True, single_share: float = SINGLE_SHARE) -> list[Row]:
        """Returns a row for each sentence, which begins with it: alone, or followed by a second sentence.

        With `pairs`, a share `single_share` is alone. Half of the others continue with the next sentence, half with a random
        one of the same book. The choice depends on `key` only.
        """
        draw = random.Random(key)
        return [
            _row(book, n, draw) if pairs and draw.random() >= single_share else Row([START, *book[n], END], IGNORE_INDEX)
            for book in self.books
            for n in range(len(book))
        ]


def _row(book: Sequence[list[int]], n: int, draw: random.Random) -> Row:
    """Returns a pair that begins with sentence n, or the sentence alone if no second one exists."""
    alone = Row([START, *book[n], END], IGNORE_INDEX)
    if n + 1 == len(book):
        return alone
    if draw.random() < 0.5:
        return Row(join_pair(book[n], book[n + 1]), FOLLOWS)
    for _ in range(20):
        other = book[draw.randrange(len(book))]
        if other not in (book[n], book[n + 1]):
            return Row(join_pair(book[n], other), ELSEWHERE)
    return alone


def join_pair(first: Sequence[int], second: Sequence[int]) -> list[int]:
    """Returns `<s>` a `</s>` b `</s>`. The longer sentence loses its end until both fit."""
    a, b = list(first), list(second)
    while len(a) + len(b) > MAX_TOKENS - 3:
        (a if len(a) > len(b) else b).pop()
    return [START, *a, END, *b, END]


def read_labelled(path: Path, known: Collection[str] = ()) -> list[tuple[str, str]]:
    """Returns label and text of every line LABEL TAB TEXT. Ignores further columns.

    Raises DataError if a line has no label or text, if a label is not in `known` (if any) or not printable, if there are
    fewer than two labels or too many, and as `read_pairs`.
    """
    texts = read_pairs(path, names=("label", "text"))
    for number, (label, _) in enumerate(texts, 1):
        if known and label not in known:
            raise DataError(
                f"{path}, line {number}: the label is {short_repr(label)}; expected one of {', '.join(sorted(known))}."
            )
        if not is_language(label):
            raise DataError(
                f"{path}, line {number}: the label is {short_repr(label)}; expected label TAB text, a label of at most "
                f"{MAX_LANGUAGE} printable characters."
            )
    labels = Counter(label for label, _ in texts)
    if not known and not 2 <= len(labels) <= MAX_CLASSES:
        only = (
            f"every text has the label {short_repr(texts[0][0])}"
            if len(labels) == 1
            else f"there are {len(labels):,} labels"
        )
        raise DataError(f"{path}: {only}; expected 2 to {MAX_CLASSES} different ones, label TAB text.")
    return texts


class LabelledTexts:
    """Encoded texts with their labels as indices into `classes`. Texts over the limit are shortened."""

    def __init__(
        self, texts: Sequence[tuple[str, str]], tokenizer: Tokenizer, classes: Sequence[str], start: bool = True
    ) -> None:
        """With `start` a text begins with `<s>`."""
        head, encoded = [START] if start else [], [tokenizer.encode(text) for _, text in texts]
        limit = MAX_TOKENS - 1 - len(head)
        self.rows = [[*head, *ids[:limit], END] for ids in encoded]
        self.labels = [list(classes).index(label) for label, _ in texts]
        self.shortened = sum(len(ids) > limit for ids in encoded)
        self.counts = count_tokens(encoded, tokenizer.size)

    def __len__(self) -> int:
        return len(self.rows)

    def tokens(self, rows: Sequence[int]) -> int:
        """Returns the number of labels in some rows: one each."""
        return len(rows)

    def batch(self, indices: Sequence[int]) -> EncoderBatch:
        """Returns some of the texts, padded to one length, without targets of positions."""
        source = pad([self.rows[n] for n in indices])
        return EncoderBatch(source, torch.zeros_like(source), torch.tensor([self.labels[n] for n in indices]))

    def batches(self, tokens: int, seed: int, epoch: int) -> list[list[int]]:
        """Returns the rows of each batch of an epoch; see `length_batches`."""
        return length_batches([len(row) for row in self.rows], tokens, f"{seed}/{epoch}")
