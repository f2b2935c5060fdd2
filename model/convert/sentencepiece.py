"""The files of SentencePiece (Kudo and Richardson 2018): pieces, scores and rewrites of a .spm or .model file.

It is a protocol buffer, of which a few fields are read: the package itself is not needed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model.convert.parts import ConvertError
from model.files import MEGABYTE, read_bytes

MOST = 64 * MEGABYTE
NORMAL, UNKNOWN, USER_DEFINED, UNUSED, BYTE = 1, 2, 4, 5, 6  # kinds of a piece
MODELS = {1: "unigram", 2: "BPE", 3: "word", 4: "char"}
# Fields of the trainer's and the normaliser's record, by number: the value that is held here, and the name.
TRAINER = {24: (0, "treat_whitespace_as_suffix"), 35: (0, "byte_fallback")}
NORMALIZER = {3: (1, "add_dummy_prefix"), 4: (1, "remove_extra_whitespaces"), 5: (1, "escape_whitespaces")}


@dataclass(frozen=True)
class Pieces:
    """A unigram model: each piece with its score, a log-probability in nats, and the rewrites of its normaliser."""

    scores: dict[str, float]
    charsmap: bytes

    def backend(self) -> dict[str, Any]:
        """The value of a tokenizer.json of the `tokenizers` library that cuts rewritten text in the same way."""
        least = min(self.scores.values())
        vocabulary = [
            [" ", least],
            *([piece, score] for piece, score in self.scores.items()),
        ]  # no text has a plain space then
        return {"version": "1.0", "model": {"type": "Unigram", "unk_id": 0, "vocab": vocabulary, "byte_fallback": False}}


def read(path: Path) -> Pieces:
    """The pieces of a file; ConvertError where it is none, or cuts text by rules that cannot be held."""
    try:
        raw = read_bytes(path, MOST)
    except FileNotFoundError:
        raise ConvertError(f"{path} is missing; expected a file of SentencePiece") from None
    scores, charsmap, kind = {}, b"", 1
    try:
        for number, value in _fields(raw):
            if number == 1:
                _add_piece(path, dict(_fields(value)), scores)
            elif number == 2:
                trainer = dict(_fields(value))
                kind = trainer.get(3, 1)
                _check(path, trainer, TRAINER)
            elif number == 3:
                normalizer = dict(_fields(value))
                charsmap = normalizer.get(2, b"")
                _check(path, normalizer, NORMALIZER)
    except (LookupError, struct.error, UnicodeDecodeError, TypeError, AttributeError):
        raise ConvertError(f"{path} is truncated or damaged; expected a file of SentencePiece") from None
    if kind != 1:
        raise ConvertError(f"{path} is a SentencePiece model of the kind {MODELS.get(kind, kind)}; expected unigram")
    if not scores:
        raise ConvertError(f"{path} has no pieces; expected a file of SentencePiece")
    return Pieces(scores, charsmap)


def _add_piece(path: Path, fields: dict[int, Any], scores: dict[str, float]) -> None:
    kind = fields.get(3, NORMAL)
    if kind in (USER_DEFINED, BYTE):
        what = "defined by its user" if kind == USER_DEFINED else "for a byte"
        raise ConvertError(
            f"{path} has a piece {what}, {fields[1].decode()[:40]!r}; expected pieces that were learned alone"
        )
    if kind == NORMAL:
        scores[fields[1].decode()] = struct.unpack("<f", fields.get(2, b"\0" * 4))[0]


def _check(path: Path, fields: dict[int, Any], expected: dict[int, tuple[int, str]]) -> None:
    for number, (value, name) in expected.items():
        if fields.get(number, value) != value:
            raise ConvertError(f"{path} has {name} = {bool(fields[number])}; expected {bool(value)}")


def _fields(raw: bytes) -> Iterator[tuple[int, Any]]:
    """Numbers and values of a record's fields: whole numbers, or bytes."""
    at = 0
    while at < len(raw):
        key, at = _whole(raw, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = _whole(raw, at)
        else:
            if kind == 2:
                size, at = _whole(raw, at)
            else:
                size = {1: 8, 5: 4}[kind] if kind in (1, 5) else len(raw) + 1
            if at + size > len(raw):
                raise IndexError("a field ends behind the file")
            value, at = raw[at : at + size], at + size
        yield number, value


def _whole(raw: bytes, at: int) -> tuple[int, int]:
    found = shift = 0
    while True:
        byte = raw[at]
        found, shift, at = found | (byte & 0x7F) << shift, shift + 7, at + 1
        if byte < 0x80 or shift > 63:
            return found, at
