"""What models in Hugging Face's form have in common: config.json, names of activations, tensors that all have a place.

Vocabularies in Hugging Face's older form: vocab.json with merges.txt (GPT-2), or vocab.txt (BERT), where there is no
tokenizer.json."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, normalizers, pre_tokenizers
from torch import Tensor

from model.config import ModelConfig
from model.io.files import (
    MEGABYTE,
    FileError,
    read_json,
    read_text,
    shown,
)
from model.text import tokenizer_files
from model.workshop.convert import vocabulary
from model.workshop.convert.conversion import ConvertError, Options
from model.workshop.convert.vocabulary import MOST, Vocabulary

ACTIVATIONS = {  # their names and ours
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "silu": "silu",
    "swish": "silu",
}
_REQUIRED = object()


def read_config(folder: Path) -> dict[str, Any]:
    """The value of config.json; ConvertError where there is none."""
    try:
        values = read_json(folder / "config.json", MEGABYTE)
    except FileNotFoundError:
        raise ConvertError(f"{folder / 'config.json'} is missing; expected the whole folder of the model") from None
    if not isinstance(values, dict):
        raise ConvertError(f"{folder / 'config.json'} is a {type(values).__name__}; expected an object")
    return values


def read_optional(path: Path) -> dict[str, Any]:
    """The value of a JSON file, or {} where there is none that is an object."""
    try:
        values = read_json(path, MEGABYTE)
    except (FileError, OSError):
        return {}
    return values if isinstance(values, dict) else {}


def entry(values: dict[str, Any], name: str, kind: type) -> Any:
    """An entry of config.json; ConvertError where it is missing or of another type."""
    found = values.get(name)
    if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
        raise ConvertError(f"config.json: {name!r} is {shown(found)}; expected a value of the type {kind.__name__}")
    return found


def activation(values: dict[str, Any], name: str) -> str:
    """An activation by our name; ConvertError for one that the format does not have."""
    found = values.get(name)
    if not isinstance(found, str) or found not in ACTIVATIONS:
        raise ConvertError(f"config.json: {name!r} is {shown(found)}; expected one of {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[found]


def made_config(**fields: Any) -> ModelConfig:
    """A config whose faults are told as those of config.json."""
    try:
        return ModelConfig(**fields)
    except ValueError as fault:
        raise ConvertError(f"config.json: {fault}") from None


class Taken:
    """The tensors of a file, each of which must be asked for in the end: what nobody asks for has no place in the format."""

    def __init__(self, file: Path, state: dict[str, Tensor]) -> None:
        self.file, self._state, self._taken = file, state, set()

    def take(self, name: str, otherwise: Any = _REQUIRED) -> Any:
        """A tensor, or `otherwise`; ConvertError where it is missing and nothing else is given."""
        if name in self._state:
            self._taken.add(name)
            return self._state[name]
        if otherwise is _REQUIRED:
            raise ConvertError(f"{self.file}: {name!r} is missing; expected it by config.json")
        return otherwise

    def has(self, name: str) -> bool:
        return name in self._state

    def check_all_taken(self) -> None:
        """ConvertError that names a tensor which the format has no place for."""
        if rest := sorted(set(self._state) - self._taken):
            shape = tuple(self._state[rest[0]].shape)
            raise ConvertError(
                f"{self.file}: {rest[0]!r}, {shape}, has no place in the format; expected weights by config.json"
            )


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
        with tokenizer_files.library(f"{folder / 'merges.txt'} does not fit vocab.json"):
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
    told = read_optional(folder / "tokenizer_config.json")
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
