"""Vocabularies of models, and the order of their embedding rows.

A vocabulary is a tokenizer.json of the `tokenizers` library, or a list of words, one per line. This program's control tokens
have the ids 0, 1 and 2 in every vocabulary.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers
from torch import Tensor

from ...config import CONTROL_TOKENS, PAD
from ...io.files import MEGABYTE, read_json, read_text, short_repr
from ...text import tokenizer_files
from ...text.foreign_tokenizer import ForeignTokenizer, foreign_values
from .conversion import ConvertError

SILENT_BIAS = -100.0  # output bias of a row that the model lacks: its probability is 0 in float32
USUAL_NAMES = {  # usual names of control tokens
    "pad": ("<pad>", "[PAD]", "<PAD>", "<blank>", "<|pad|>", "_PAD", "PAD"),
    "start": (
        "<s>",
        "<bos>",
        "<sos>",
        "[CLS]",
        "[BOS]",
        "[SOS]",
        "<BOS>",
        "<SOS>",
        "<start>",
        "<|startoftext|>",
        "BOS",
        "SOS",
    ),
    "end": ("</s>", "<eos>", "<end>", "[SEP]", "[EOS]", "<EOS>", "<|endoftext|>", "EOS"),
}


@dataclass(frozen=True)
class RowOrder:
    """For each new row the old row, or None for a row that the model lacks; such a row is never predicted.

    An old row may occur twice, where a model starts with its `</s>` or `<pad>`.
    """

    order: tuple[int | None, ...]
    silent: frozenset[int] = frozenset()  # new rows that are never predicted

    def __len__(self) -> int:
        return len(self.order)

    def reorder(self, table: Tensor, fill: float = 0.0) -> Tensor:
        """Returns a table [V,...] with its rows in the new order."""
        picked = table[[row or 0 for row in self.order]].clone()
        picked[[n for n, row in enumerate(self.order) if row is None]] = fill
        return picked

    def reorder_bias(self, bias: Tensor | None) -> Tensor | None:
        """Returns an output bias [V] in the new order; None where there is none and none is needed."""
        if bias is None and not self.silent:
            return None
        reordered = self.reorder(bias) if bias is not None else torch.zeros(len(self))
        reordered[sorted(self.silent)] = SILENT_BIAS
        return reordered

    def reorder_tokens(self, tokens: Sequence[str]) -> list[str]:
        """Returns the vocabulary in the new order, with this program's names of the control tokens."""
        others = [tokens[row] for row in self.order[len(CONTROL_TOKENS) :] if row is not None]
        return [*CONTROL_TOKENS, *(f"{each}'" if each in CONTROL_TOKENS else each for each in others)]

    def controls(self, tokens: Sequence[str]) -> list[tuple[int, str] | None]:
        """Returns old row and token of each control token; None where the model lacks it."""
        return [None if row is None else (row, tokens[row]) for row in self.order[: len(CONTROL_TOKENS)]]

    def describe(self, tokens: Sequence[str], is_predicted: bool = True) -> str:
        """Describes the origin of the control tokens' rows for the model card.

        If `is_predicted`, names the silenced ones.
        """
        parts = []
        for n, name in enumerate(CONTROL_TOKENS):
            row = self.order[n]
            origin = "a new row of zeros" if row is None else f"the model's `{tokens[row]}`"
            silenced = f", never predicted (bias {SILENT_BIAS:g})" if is_predicted and n in self.silent else ""
            parts.append(f"`{name}` is {origin}{silenced}")
        return "; ".join(parts)


def control_notes(orders: Sequence[RowOrder], tokens: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Returns notes for the model card on the control tokens of one vocabulary, or of source and target."""
    if len(orders) == 1:
        return (f"Control tokens: {orders[0].describe(tokens[0])}",)
    source, target = orders[0].describe(tokens[0], is_predicted=False), orders[1].describe(tokens[1])
    return (f"Control tokens of the source: {source}", f"Control tokens of the target: {target}")


def control_rows(tokens: Sequence[str], explicit: Mapping[str, str]) -> dict[str, int | None]:
    """Returns the rows of the control tokens "pad", "start" and "end": by the given names, else by the usual ones.

    Raises ConvertError for a given name that is absent, and where no token ends a sentence.
    """
    known, rows_by_role = {token: n for n, token in enumerate(tokens)}, {}
    for role, names in USUAL_NAMES.items():
        name = explicit.get(role) or next((name for name in names if name in known), None)
        if name is not None and name not in known:
            raise ConvertError(f"the token {name[:40]!r}, given as --{role}-token, is not in the vocabulary")
        rows_by_role[role] = None if name is None else known[name]
    if rows_by_role["end"] is None:
        raise ConvertError(
            f"no token of the vocabulary ends a sentence (looked for {', '.join(USUAL_NAMES['end'])}); give --end-token"
        )
    return rows_by_role


def order_rows(size: int, pad: int | None, start: int | None, end: int) -> RowOrder:
    """Returns the order of a table of `size` rows: `<pad>`, `<s>`, `</s>`, then all others.

    None becomes a row of zeros. A row in two places is predicted in one of them only: as end, else as start, else as pad.
    """
    first = (pad, start, end)
    order = (*first, *(n for n in range(size) if n not in first))
    silent = {n for n, row in enumerate(first) if row is None}
    if start is not None and start in (end, pad):
        silent.add(1 if start == end else PAD)
    if pad is not None and pad == end:
        silent.add(PAD)
    return RowOrder(order, frozenset(silent))


MAX_BYTES = 128 * MEGABYTE
UNKNOWN_NAMES = ("<unk>", "[UNK]", "<UNK>", "<|unk|>", "UNK")


class Vocabulary:
    """Tokens in the order of the model's ids, and the rules of segmentation."""

    def __init__(self, backend: dict[str, Any], tokens: list[str], spelling: str, unknown: str | None) -> None:
        self.backend, self.tokens, self.spelling, self.unknown = backend, tokens, spelling, unknown

    def tokenizer(self, rows: RowOrder) -> ForeignTokenizer:
        """Returns this program's tokenizer, with ids in the order of the embedding's new rows."""
        tokens, controls = rows.reorder_tokens(self.tokens), rows.controls(self.tokens)
        return ForeignTokenizer(foreign_values(self.backend, tokens, self.spelling, self.unknown, controls=controls))


def read_vocabulary(path: Path, size: int) -> Vocabulary:
    """Returns the vocabulary of a model with `size` rows; raises ConvertError for another size or unsupported rules."""
    try:
        result = _from_library(path) if path.suffix == ".json" else _from_words(path)
    except FileNotFoundError:
        raise ConvertError(f"There is no {path}; expected a tokenizer.json, or a list of words, one a line") from None
    if len(result.tokens) > size:
        raise ConvertError(f"{path} has {len(result.tokens):,} tokens; expected {size:,}, the rows of the model's embedding")
    if len(result.tokens) < size and (
        size % 8 or len(result.tokens) <= size - 128
    ):  # tables may be padded to a multiple of 8
        raise ConvertError(f"{path} has {len(result.tokens):,} tokens; expected {size:,}, the rows of the model's embedding")
    result.tokens += [f"<unused {n}>" for n in range(len(result.tokens), size)]
    return result


def _from_words(path: Path) -> Vocabulary:
    words = [line.strip() for line in read_text(path, MAX_BYTES).removeprefix("\ufeff").splitlines()]
    while words and not words[-1]:
        words.pop()
    if not words or "" in words:
        where = f"has nothing in line {words.index('') + 1}" if words else "has no words"
        raise ConvertError(f"{path} {where}; expected a word a line, in the order of the ids")
    if twice := sorted(word for word, times in Counter(words).items() if times > 1):
        raise ConvertError(
            f"{path} has the word {twice[0]!r} twice; expected each once, a word a line, in the order of the ids"
        )
    unknown = next((name for name in UNKNOWN_NAMES if name in words), None)
    backend = Backend(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token=unknown or words[0]))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    return Vocabulary(json.loads(backend.to_str()), words, "words", unknown)


def _from_library(path: Path) -> Vocabulary:
    values = read_json(path, MAX_BYTES)
    if not isinstance(values, dict) or not isinstance(values.get("model"), dict):
        raise ConvertError(f"{path} is no tokenizer.json of the tokenizers library")
    added = values.get("added_tokens") or []
    tokens = _tokens(path, values["model"], added)
    values = values | {"added_tokens": [], "post_processor": None, "truncation": None, "padding": None}
    try:
        tokenizer_files.check_parts(values)
    except ValueError as fault:
        raise ConvertError(f"{path}: {fault}") from None
    unknown = values["model"].get("unk_token") or next((name for name in UNKNOWN_NAMES if name in tokens), None)
    return Vocabulary(values, tokens, _spelling(values), unknown if unknown in tokens else None)


def _tokens(path: Path, model: dict[str, Any], added: list[Any]) -> list[str]:
    vocabulary = model.get("vocab")
    if isinstance(vocabulary, list):  # of a Unigram model: pairs of a token and its score
        if wrong := [pair for pair in vocabulary if not isinstance(pair, list) or not pair or not isinstance(pair[0], str)]:
            raise ConvertError(f"{path}: its 'vocab' has {short_repr(wrong[0])}; expected pairs of a token and its score")
        vocabulary = {pair[0]: n for n, pair in enumerate(vocabulary)}
    if not isinstance(vocabulary, dict):
        raise ConvertError(f"{path}: its 'vocab' is {short_repr(vocabulary)}; expected an id for each token")
    if not isinstance(added, list) or not all(
        isinstance(each, dict) and isinstance(each.get("content"), str) for each in added
    ):
        raise ConvertError(
            f"{path}: its 'added_tokens' are {short_repr(added)}; expected a list of objects with a 'content'"
        )
    special = {name for names in USUAL_NAMES.values() for name in names}
    for each in added:
        if not each.get("special") and each.get("content") not in vocabulary and each.get("content") not in special:
            raise ConvertError(
                f"{path} adds the token {short_repr(each.get('content'))}; expected control tokens alone to be added"
            )
        vocabulary = vocabulary | {each["content"]: each.get("id")}
    if not are_ids(vocabulary.values()):
        raise ConvertError(f"{path}: its {len(vocabulary):,} tokens do not have the ids from 0 on, each once")
    return sorted(vocabulary, key=vocabulary.__getitem__)


def are_ids(values: Iterable[Any]) -> bool:
    """Returns True for the integers from 0 on, each once, in any order."""
    ids = list(values)
    return all(type(each) is int for each in ids) and sorted(ids) == list(range(len(ids)))


def _spelling(values: dict[str, Any]) -> str:
    """Returns one of `SPELLINGS`, by the parts of a tokenizer."""
    parts = json.dumps([values.get("pre_tokenizer"), values.get("decoder")])
    if '"ByteLevel"' in parts:
        return "bytes"
    if '"Metaspace"' in parts:
        return "sentencepiece"
    return "wordpiece" if values["model"].get("type") == "WordPiece" else "words"
