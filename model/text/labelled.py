"""Labelled texts for a model that judges: one label a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

import torch

from model.config import END, MAX_CLASSES, MAX_LANGUAGE, MAX_TOKENS, START, is_language
from model.files import shown
from model.text.corpus import DataError, count_tokens, pad, read_pairs
from model.text.sentence_pairs import ReadBatch, alike
from model.text.tokenizer import Tokenizer


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
