"""Shared parts of the Hugging Face converters: config.json, activations, tensors, and vocabularies.

The older vocabularies are vocab.json with merges.txt (GPT-2), or vocab.txt (BERT).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, normalizers, pre_tokenizers
from torch import Tensor

from ...config import ModelConfig
from ...io.files import MEGABYTE, FileError, read_json, read_text, short_repr
from ...text import tokenizer_files
from . import vocabulary
from .conversion import ConversionOptions, ConvertError
from .vocabulary import MAX_BYTES, Vocabulary

ACTIVATIONS = {  # names in the files and here
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "silu": "silu",
    "swish": "silu",
}
_REQUIRED = object()


def read_config(folder: Path) -> dict[str, Any]:
    """Returns the value of config.json; raises ConvertError where there is none."""
    try:
        values = read_json(folder / "config.json", MEGABYTE)
    except FileNotFoundError:
        raise ConvertError(f"{folder / 'config.json'} is missing; expected the whole folder of the model") from None
    if not isinstance(values, dict):
        raise ConvertError(f"{folder / 'config.json'} is a {type(values).__name__}; expected an object")
    return values


def read_optional(path: Path) -> dict[str, Any]:
    """Returns the object of a JSON file, or {} where there is none."""
    try:
        values = read_json(path, MEGABYTE)
    except (FileError, OSError):
        return {}
    return values if isinstance(values, dict) else {}


def entry(values: dict[str, Any], name: str, kind: type) -> Any:
    """Returns an entry of config.json; raises ConvertError where it is missing or of another type."""
    value = values.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ConvertError(f"config.json: {name!r} is {short_repr(value)}; expected a value of the type {kind.__name__}")
    return value


def activation(values: dict[str, Any], name: str) -> str:
    """Returns an activation by this program's name; raises ConvertError for an unsupported one."""
    value = values.get(name)
    if not isinstance(value, str) or value not in ACTIVATIONS:
        raise ConvertError(f"config.json: {name!r} is {short_repr(value)}; expected one of {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[value]


def build_config(**fields: Any) -> ModelConfig:
    """Builds a config; reports its faults as those of config.json."""
    try:
        return ModelConfig(**fields)
    except ValueError as fault:
        raise ConvertError(f"config.json: {fault}") from None


class StateDictReader:
    """Tensors of a file. Each must be read in the end, because an unread tensor has no place in the format."""

    def __init__(self, file: Path, state: dict[str, Tensor]) -> None:
        self.file, self._state, self._used = file, state, set()

    def take(self, name: str, default: Any = _REQUIRED) -> Any:
        """Returns a tensor or the default; raises ConvertError where both are missing."""
        if name in self._state:
            self._used.add(name)
            return self._state[name]
        if default is _REQUIRED:
            raise ConvertError(f"{self.file}: {name!r} is missing; expected it by config.json")
        return default

    def has(self, name: str) -> bool:
        return name in self._state

    def check_all_used(self) -> None:
        """Raises ConvertError that names a tensor without a place in the format."""
        if rest := sorted(set(self._state) - self._used):
            shape = tuple(self._state[rest[0]].shape)
            raise ConvertError(
                f"{self.file}: {rest[0]!r}, {shape}, has no place in the format; expected weights by config.json"
            )


OlderReader = Callable[[Path], Vocabulary]


def read_vocabulary(folder: Path, size: int, options: ConversionOptions, read_older: OlderReader) -> Vocabulary:
    """Returns the vocabulary of a model with `size` rows: the given one, tokenizer.json, or the older form.

    Raises ConvertError where there is none, or one of another size.
    """
    if options.tokenizer is not None:
        return vocabulary.read_vocabulary(options.tokenizer, size)
    if (folder / "tokenizer.json").exists():
        return vocabulary.read_vocabulary(folder / "tokenizer.json", size)
    vocab = read_older(folder)
    if not size - 64 <= len(vocab.tokens) <= size:
        raise ConvertError(
            f"{folder} has a vocabulary of {len(vocab.tokens):,} tokens; expected {size:,}, the rows of the "
            "model's embedding"
        )
    vocab.tokens += [f"<unused {n}>" for n in range(len(vocab.tokens), size)]
    return vocab


def byte_level(folder: Path) -> Vocabulary:
    """Reads vocab.json and merges.txt of GPT-2."""
    ids, merges = _read_required(folder / "vocab.json", read_json), _read_required(folder / "merges.txt", read_text)
    tokens = _sort_by_id(folder / "vocab.json", ids)
    pairs = [tuple(line.split(" ")) for line in merges.splitlines() if line and not line.startswith("#version")]
    if wrong := [pair for pair in pairs if len(pair) != 2]:
        raise ConvertError(f"{folder / 'merges.txt'} has the line {' '.join(wrong[0])[:40]!r}; expected two pieces")
    try:
        with tokenizer_files.library_errors(f"{folder / 'merges.txt'} does not fit vocab.json"):
            backend = Backend(models.BPE(ids, pairs))
    except ValueError as fault:
        raise ConvertError(str(fault)) from None
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return Vocabulary(json.loads(backend.to_str()), tokens, "bytes", None)


def word_pieces(folder: Path) -> Vocabulary:
    """Reads vocab.txt of BERT. tokenizer_config.json says whether letters become lower case."""
    tokens = _read_required(folder / "vocab.txt", read_text).splitlines()
    if "[UNK]" not in tokens:
        raise ConvertError(f"{folder / 'vocab.txt'} has no [UNK]; expected the vocabulary of a BERT model")
    settings = read_optional(folder / "tokenizer_config.json")
    small = settings.get("do_lower_case", True) is not False
    backend = Backend(models.WordPiece({token: n for n, token in enumerate(tokens)}, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(
        lowercase=small,
        strip_accents=settings.get("strip_accents"),
        handle_chinese_chars=settings.get("tokenize_chinese_chars", True) is not False,
    )
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return Vocabulary(json.loads(backend.to_str()), tokens, "wordpiece", "[UNK]")


def _read_required(path: Path, read_file: Callable[[Path, int], Any]) -> Any:
    try:
        return read_file(path, MAX_BYTES)
    except FileNotFoundError:
        raise ConvertError(f"{path.parent} has no tokenizer.json and no {path.name}; expected one of them") from None
    except FileError as fault:
        raise ConvertError(str(fault)) from None


def _sort_by_id(path: Path, ids: Any) -> list[str]:
    if not isinstance(ids, dict) or not vocabulary.are_ids(ids.values()):
        raise ConvertError(f"{path} is no object with an id for each token, from 0 on and each once")
    return sorted(ids, key=ids.__getitem__)
