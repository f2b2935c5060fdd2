"""Contrastive evaluation of a translation model, as in ContraPro (Müller et al. 2018).

Each row has an English sentence with a right French translation and a wrong one that differs in a few words, such as the
pronoun of *it*. Three shares are measured:

- likelier: the right translation has the higher total log-probability, teacher-forced, `</s>` included.
- written: the decoded translation has the right words. Only words count whose number differs between right and wrong. Each
  such word of the right side must occur as often as there, and each such word of the wrong side no more often than on the
  right side. Case and punctuation do not count; an elided word (*qu'*) is a word.
- causal: hiding the noun that decides changes the preference log p(right) - log p(wrong) more than hiding the other noun.
  No token may attend to a hidden noun, neither in the encoder nor from the decoder, and all tokens keep their positions, as
  in `model.experiments.faithfulness`. Changes are compared by size, in nats.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...checkpoint import Checkpoint
from ...config import END, MAX_CHARACTERS, MAX_TOKENS, PAD
from ...decoding.strategy import Decoding
from ...io.files import short_repr
from ...io.numbers import wilson_interval
from ...network.context import teacher_forced_states
from ...network.transformer import Transformer
from ...text.tokenizer import Tokenizer
from ..corpus.corpus import DataError, pad, read_lines
from ..sharding import ordered_map
from .scoring import GREEDY, translate_texts

COLUMNS = ("english", "right", "wrong", "noun", "other")
SPLIT = "split"  # name of the optional column
FORM = f"a first line with the columns {', '.join(COLUMNS)}, and {SPLIT} if there are several"
MAX_ROWS = 100_000
BATCH_TOKENS = 2048  # of a batch, both sides together, with padding
SHARES = ("likelier", "written", "causal")
Progress = Callable[[int], object]
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class ContrastRow:
    """An English sentence with its right and its wrong translation.

    noun: the word of the sentence that decides; other: the word that would decide for the wrong translation; split: name of
    the part of the file. Raises ValueError, one sentence, for an inconsistent row.
    """

    english: str
    right: str
    wrong: str
    noun: str
    other: str
    split: str = ""

    def __post_init__(self) -> None:
        for name in COLUMNS:
            if not getattr(self, name):
                raise ValueError(f"the column {name} is empty; expected a text in {', '.join(COLUMNS)}")
        if not any(self.differing_words()):
            raise ValueError(f"right and wrong have the same words, {short_repr(self.right)}; expected a contrast")
        for name in ("noun", "other"):
            word = getattr(self, name)
            if not _spans(self.english, word):
                raise ValueError(f"the {name} {short_repr(word)} is no word of {short_repr(self.english)}; expected one")
        if _spans(self.english, self.noun) == _spans(self.english, self.other):
            raise ValueError(f"noun and other are both {short_repr(self.noun)}; expected two words")

    def differing_words(self) -> tuple[Counter[str], Counter[str]]:
        """Returns the words that are more frequent on the right side than on the wrong side, and the reverse."""
        right, wrong = count_words(self.right), count_words(self.wrong)
        return right - wrong, wrong - right

    def check_lengths(self, source: Tokenizer, target: Tokenizer) -> None:
        """Raises DataError for a text over the text limit."""
        try:
            _encode(source, self.english)
            for text in (self.right, self.wrong):
                _encode(target, text)
        except ValueError as fault:
            raise DataError(str(fault)) from None

    def is_written(self, translation: str) -> bool:
        """Returns True for a translation with the right words and without the wrong ones; see the module."""
        text, right = count_words(translation), count_words(self.right)
        more, less = self.differing_words()
        return all(text[word] >= right[word] for word in more) and all(text[word] <= right[word] for word in less)


def count_words(text: str) -> Counter[str]:
    """Returns the words of a text with their counts, without case and punctuation. An apostrophe ends a word."""
    return Counter(_WORD.findall(unicodedata.normalize("NFC", text).casefold()))


def _spans(text: str, word: str) -> list[tuple[int, int]]:
    """Returns start and end of each occurrence of a word, or of several in a row, in characters of the text in NFC."""
    text, word = (unicodedata.normalize("NFC", each) for each in (text, word))
    return [match.span() for match in re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE)]


def read_contrast(path: Path) -> list[ContrastRow]:
    """Returns the rows of a tab-separated file: .tsv or .tsv.gz, with the names of its columns in the first line.

    Ignores other columns. Raises DataError, one sentence with the line number, for a missing column, an inconsistent row
    (see `ContrastRow`), and as `model.workshop.corpus.corpus.read_lines`.
    """
    rows: list[ContrastRow] = []
    names: list[str] = []
    for number, line in read_lines(path, ".tsv or .tsv.gz"):
        fields = [field.strip() for field in line.split("\t")]
        if not names:
            names = [field.lower() for field in fields]
            if missing := [name for name in COLUMNS if name not in names]:
                raise DataError(f"{path}: there is no column {missing[0]}; expected {FORM}.")
        elif any(fields):
            values = dict(zip(names, fields, strict=False))
            try:
                rows.append(ContrastRow(**{name: values.get(name, "") for name in (*COLUMNS, SPLIT)}))
                if SPLIT in names and not rows[-1].split:
                    raise ValueError(f"the column {SPLIT} is empty; expected the name of a part of the file")
            except ValueError as fault:
                raise DataError(f"{path}, line {number}: {fault}.") from None
            if len(rows) > MAX_ROWS:
                raise DataError(f"{path}, line {number}: more than {MAX_ROWS:,} rows; use a part of the file.")
    if not rows:
        raise DataError(f"{path}: no row; expected {FORM}, and at least one row.")
    return rows


@dataclass(frozen=True)
class ContrastResult:
    """Results of N rows, in their order.

    splits: the split of each row; preferences: log p(right) - log p(wrong), [N], nats; losses: loss of the preference with
    the noun hidden and with the other hidden, [N,2], nats, or None; written: bool [N], or None.
    """

    splits: tuple[str, ...]
    preferences: np.ndarray
    losses: np.ndarray | None = None
    written: np.ndarray | None = None

    @property
    def outcomes(self) -> dict[str, np.ndarray]:
        """Returns the outcome of each row by measure, bool [N]; see the module."""
        outcomes = {"likelier": self.preferences > 0}
        if self.written is not None:
            outcomes["written"] = self.written
        if self.losses is not None:
            sizes = np.abs(self.losses)
            outcomes["causal"] = sizes[:, 0] > sizes[:, 1]
        return outcomes

    def summary(self) -> dict[str, Any]:
        """Returns `total` and, where rows have splits, `splits` by name, in the order of the rows, as JSON values.

        Each has `rows`; each measure as a share from 0 to 1, with its Wilson interval `NAME_interval`; and the means of
        `preference`, `noun_loss` and `other_loss`, in nats.
        """
        names = [name for name in dict.fromkeys(self.splits) if name]
        parts = {name: np.array([each == name for each in self.splits]) for name in names}
        total = self._summarize(np.ones(len(self.splits), dtype=bool))
        return {"total": total} | ({"splits": {n: self._summarize(own) for n, own in parts.items()}} if names else {})

    def _summarize(self, own: np.ndarray) -> dict[str, Any]:
        """Returns the numbers of some rows, bool [N]."""
        count = int(own.sum())
        result: dict[str, Any] = {"rows": count}
        for name, outcome in self.outcomes.items():
            right = int(outcome[own].sum())
            result[name] = round(right / count, 4)
            result[f"{name}_interval"] = [round(end, 4) for end in wilson_interval(right, count)]
        result["preference"] = round(float(self.preferences[own].mean()), 4)
        if self.losses is not None:
            means = self.losses[own].mean(axis=0)
            result |= {"noun_loss": round(float(means[0]), 4), "other_loss": round(float(means[1]), 4)}
        return result


def contrast_preferences(
    model: Transformer,
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    rows: Sequence[ContrastRow],
    hidden: str | None = None,
    progress: Progress = lambda done: None,
) -> np.ndarray:
    """Returns log p(right) - log p(wrong) of each row, [N], nats, from teacher-forced passes (Müller et al. 2018).

    For the curve of a training, call it at each validation: a share of positive values of 0.5 is chance. `hidden` is the
    column whose word is hidden: `noun` or `other`; None hides nothing. `progress` gets the number of finished rows. Restores
    the model's mode. Raises ValueError for a text over the text limit.
    """
    device = next(model.parameters()).device
    sources = [[*_encode(source_tokenizer, row.english), END] for row in rows]
    targets = [[[*_encode(target_tokenizer, text), END] for text in (row.right, row.wrong)] for row in rows]
    places = [token_positions(source_tokenizer, row, hidden) if hidden else [] for row in rows]
    sizes = [len(source) + max(map(len, both)) for source, both in zip(sources, targets, strict=True)]
    values = np.empty(len(rows))
    mode = model.training
    model.eval()
    try:

        def measure(batch: list[int]) -> np.ndarray:
            source = pad([sources[n] for n in batch])  # [B,S]
            seen = source.clone()
            for row, n in enumerate(batch):
                seen[row, places[n]] = PAD
            twice = (each.to(device).repeat_interleave(2, 0) for each in (source, seen))  # [2B,S]
            outputs = pad([target for n in batch for target in targets[n]]).to(device)  # [2B,T]
            totals = _total_log_probs(model, *twice, outputs).view(-1, 2)  # [B,2]
            return (totals[:, 0] - totals[:, 1]).cpu().numpy()

        batches = _batches(sizes)
        for batch, preferences in zip(batches, ordered_map(measure, batches), strict=True):
            values[batch] = preferences
            progress(len(batch))
    finally:
        model.train(mode)
    return values


def likelier_shares(
    model: Transformer, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer, rows: Sequence[ContrastRow]
) -> dict[str, float]:
    """Returns the share of rows, 0 to 1, where the right translation is likelier, by `contrast_SPLIT`, or by `contrast`.

    The log of a training holds these shares. Raises ValueError as `contrast_preferences`.
    """
    outcomes = contrast_preferences(model, source_tokenizer, target_tokenizer, rows) > 0
    splits = np.array([row.split for row in rows])
    names = dict.fromkeys(row.split for row in rows)
    return {f"contrast_{name}" if name else "contrast": round(float(outcomes[splits == name].mean()), 4) for name in names}


def token_positions(tokenizer: Tokenizer, row: ContrastRow, column: str) -> list[int]:
    """Returns the positions of the tokens of a word of the sentence, at all of its occurrences."""
    spans = _spans(row.english, getattr(row, column))
    positions, start = [], 0
    for position, text in enumerate(tokenizer.segments(tokenizer.encode(row.english))):
        end = start + max(1, len(text))  # a token that ends inside a character belongs to the next one
        if any(start < last and first < end for first, last in spans):
            positions.append(position)
        start += len(text)
    return positions


def _encode(tokenizer: Tokenizer, text: str) -> list[int]:
    """Returns the ids of a text; ValueError over the text limit."""
    ids = tokenizer.encode(text) if len(text) <= MAX_CHARACTERS else [PAD] * MAX_TOKENS
    if len(ids) >= MAX_TOKENS:
        raise ValueError(f"{short_repr(text)} is too long; expected at most {MAX_TOKENS} tokens, </s> included")
    return ids


def _batches(sizes: Sequence[int]) -> list[list[int]]:
    """Returns the indices of each batch: similar sizes, at most `BATCH_TOKENS` tokens for two targets per row."""
    batches: list[list[int]] = [[]]
    for n in sorted(range(len(sizes)), key=lambda n: sizes[n]):
        if batches[-1] and 2 * sizes[n] * (len(batches[-1]) + 1) > BATCH_TOKENS:
            batches.append([])
        batches[-1].append(n)
    return [batch for batch in batches if batch]


@torch.inference_mode()
def _total_log_probs(model: Transformer, source: Tensor, seen: Tensor, outputs: Tensor) -> Tensor:
    """Returns the log-probability of each target, [B], nats, with `<pad>` in `seen` where a source token is hidden."""
    real = outputs != PAD  # [B,T]
    logits = model.project(teacher_forced_states(model, source, outputs, mask_source=seen)[real])  # [N,V]
    own = logits.gather(-1, outputs[real][:, None])[:, 0] - logits.logsumexp(-1)  # [N]
    return torch.zeros(real.shape, dtype=own.dtype, device=own.device).masked_scatter_(real, own).double().sum(1)  # [B]


def measure_contrast(
    checkpoint: Checkpoint, rows: Sequence[ContrastRow], decoding: Decoding = GREEDY, progress: Progress = lambda done: None
) -> ContrastResult:
    """Measures all three shares. `progress` gets the number of finished rows in each of four steps."""
    model, tokenizers = checkpoint.model, (checkpoint.source_tokenizer, checkpoint.target_tokenizer)
    full, noun, other = (
        contrast_preferences(model, *tokenizers, rows, hidden, progress) for hidden in (None, "noun", "other")
    )
    translations = translate_texts(model, *tokenizers, [row.english for row in rows], progress, decoding).texts
    written = np.array([row.is_written(text) for row, text in zip(rows, translations, strict=True)])
    return ContrastResult(tuple(row.split for row in rows), full, np.stack([full - noun, full - other], axis=1), written)
