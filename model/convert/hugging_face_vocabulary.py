"""Vocabularies in Hugging Face's older form: vocab.json with merges.txt (GPT-2), or vocab.txt (BERT), where there is no
tokenizer.json."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, normalizers, pre_tokenizers

from model.convert import hugging_face, vocabulary
from model.convert.parts import ConvertError, Options
from model.convert.vocabulary import MOST, Vocabulary
from model.files import FileError, read_json, read_text
from model.text import foreign_file

Older = Callable[[Path], Vocabulary]


def read(folder: Path, size: int, options: Options, older: Older) -> Vocabulary:
    """The vocabulary of a model with so many rows: the one that was given, tokenizer.json, or its older form.

    Raises ConvertError where there is none, or one of another size.
    """
    if options.tokenizer is not None:
        return vocabulary.read(options.tokenizer, size)
    if (folder / "tokenizer.json").exists():
        return vocabulary.read(folder / "tokenizer.json", size)
    found = older(folder)
    if not size - 64 <= len(found.tokens) <= size:
        raise ConvertError(
            f"{folder} has a vocabulary of {len(found.tokens):,} tokens; expected {size:,}, the rows of the "
            "model's embedding"
        )
    found.tokens += [f"<unused {n}>" for n in range(len(found.tokens), size)]
    return found


def byte_level(folder: Path) -> Vocabulary:
    """vocab.json and merges.txt, as GPT-2 has them."""
    ids, merges = _needed(folder / "vocab.json", read_json), _needed(folder / "merges.txt", read_text)
    tokens = _in_order(folder / "vocab.json", ids)
    pairs = [tuple(line.split(" ")) for line in merges.splitlines() if line and not line.startswith("#version")]
    if wrong := [pair for pair in pairs if len(pair) != 2]:
        raise ConvertError(f"{folder / 'merges.txt'} has the line {' '.join(wrong[0])[:40]!r}; expected two pieces")
    try:
        with foreign_file.library(f"{folder / 'merges.txt'} does not fit vocab.json"):
            backend = Backend(models.BPE(ids, pairs))
    except ValueError as fault:
        raise ConvertError(str(fault)) from None
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return Vocabulary(json.loads(backend.to_str()), tokens, "bytes", None)


def word_pieces(folder: Path) -> Vocabulary:
    """vocab.txt, as BERT has it; whether letters are made small stands in tokenizer_config.json."""
    tokens = _needed(folder / "vocab.txt", read_text).splitlines()
    if "[UNK]" not in tokens:
        raise ConvertError(f"{folder / 'vocab.txt'} has no [UNK]; expected the vocabulary of a BERT model")
    told = hugging_face.read_optional(folder / "tokenizer_config.json")
    small = told.get("do_lower_case", True) is not False
    backend = Backend(models.WordPiece({token: n for n, token in enumerate(tokens)}, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(
        lowercase=small,
        strip_accents=told.get("strip_accents"),
        handle_chinese_chars=told.get("tokenize_chinese_chars", True) is not False,
    )
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return Vocabulary(json.loads(backend.to_str()), tokens, "wordpiece", "[UNK]")


def _needed(path: Path, how: Callable[[Path, int], Any]) -> Any:
    try:
        return how(path, MOST)
    except FileNotFoundError:
        raise ConvertError(f"{path.parent} has no tokenizer.json and no {path.name}; expected one of them") from None
    except FileError as fault:
        raise ConvertError(str(fault)) from None


def _in_order(path: Path, ids: Any) -> list[str]:
    if not isinstance(ids, dict) or not vocabulary.are_ids(ids.values()):
        raise ConvertError(f"{path} is no object with an id for each token, from 0 on and each once")
    return sorted(ids, key=ids.__getitem__)
