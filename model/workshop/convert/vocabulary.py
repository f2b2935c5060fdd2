"""Vocabularies of models: a tokenizer.json of the `tokenizers` library, or a list of words, one per line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers

from ...io.files import (
    MEGABYTE,
    read_json,
    read_text,
    shown,
)
from ...text import tokenizer_files
from ...text.foreign_tokenizer import ForeignTokenizer, foreign_values
from .conversion import ConvertError
from .row_order import USUAL_NAMES, RowOrder

MAX_BYTES = 128 * MEGABYTE
UNKNOWN_NAMES = ("<unk>", "[UNK]", "<UNK>", "<|unk|>", "UNK")


class Vocabulary:
    """Tokens in the order of the model's ids, and the rules of segmentation."""

    def __init__(self, backend: dict[str, Any], tokens: list[str], spelling: str, unknown: str | None) -> None:
        self.backend, self.tokens, self.spelling, self.unknown = backend, tokens, spelling, unknown

    def tokenizer(self, rows: RowOrder) -> ForeignTokenizer:
        """Returns this program's tokenizer, with ids in the order of the embedding's new rows."""
        return ForeignTokenizer(foreign_values(self.backend, rows.reorder_tokens(self.tokens), self.spelling, self.unknown))


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
            raise ConvertError(f"{path}: its 'vocab' has {shown(wrong[0])}; expected pairs of a token and its score")
        vocabulary = {pair[0]: n for n, pair in enumerate(vocabulary)}
    if not isinstance(vocabulary, dict):
        raise ConvertError(f"{path}: its 'vocab' is {shown(vocabulary)}; expected an id for each token")
    if not isinstance(added, list) or not all(
        isinstance(each, dict) and isinstance(each.get("content"), str) for each in added
    ):
        raise ConvertError(f"{path}: its 'added_tokens' are {shown(added)}; expected a list of objects with a 'content'")
    special = {name for names in USUAL_NAMES.values() for name in names}
    for each in added:
        if not each.get("special") and each.get("content") not in vocabulary and each.get("content") not in special:
            raise ConvertError(
                f"{path} adds the token {shown(each.get('content'))}; expected control tokens alone to be added"
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
