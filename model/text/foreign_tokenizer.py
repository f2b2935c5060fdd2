"""Tokenizers of other programs: text is split by their own rules, and ids are the rows of the embedding.

The `tokenizers` library splits text into strings, and a table in the file gives their ids. So control tokens have the ids
0, 1 and 2, and typed text never becomes one. The normaliser of SentencePiece (Kudo and Richardson 2018) rewrites the longest
match first and makes spaces visible. Its `precompiled_charsmap` holds a double-array trie (Aoe 1989, in the layout of
darts-clone) from UTF-8 bytes to offsets in a list of texts, each ending in a zero byte.
"""

from __future__ import annotations

import base64
import functools
import itertools
import json
import re
import struct
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Backend

from ..config import CONTROL_TOKENS, MAX_CHARACTERS
from ..io.files import parse_json, read_bytes
from . import tokenizer_files
from .sentences import MASKS
from .tokenizer import Piece, Tokenizer, byte_of

SPACE = "▁"  # SentencePiece's sign for a space
MAX_MATCH_BYTES = 64  # of one match; a damaged trie may contain a cycle
MAX_GROWTH = 16  # times the length of a text; valid tables stay far below


class Charsmap:
    """A compiled table of text rewrites."""

    def __init__(self, blob: bytes) -> None:
        """Raises ValueError where the bytes are no such table. Empty bytes rewrite nothing."""
        self._units, self._texts = array("I"), b""
        if not blob:
            return
        size = struct.unpack_from("<I", blob)[0] if len(blob) >= 4 else 0
        if size % 4 or not 0 < size <= len(blob) - 4:
            raise ValueError(f"a table of rewrites says it has {size:,} bytes of {len(blob):,}; it is damaged")
        self._units = array("I", struct.unpack_from(f"<{size // 4}I", blob, 4))
        self._texts = blob[4 + size :]

    def normalize(self, text: str) -> str:
        """Returns the rewritten text with one `▁` before each word.

        Runs of spaces become one, and spaces at the ends go. A typed `▁` stays, except at the end.
        """
        words = self.rewrite(text).split(" ")
        return "".join(SPACE + word for word in words if word).rstrip(SPACE)

    def rewrite(self, text: str) -> str:
        """Returns the text with the longest match at each place rewritten; other characters stay.

        Raises ValueError where the result is far too long.
        """
        raw, output, start = text.encode("utf-8", errors="replace"), bytearray(), 0
        while start < len(raw):
            length, place = self._longest_match(raw, start)
            if length:
                end = self._texts.find(b"\0", place)
                output += self._texts[place : end if end >= 0 else len(self._texts)]
            else:
                length = _width(raw[start])
                output += raw[start : start + length]
            if len(output) > MAX_GROWTH * len(raw) + 1000:
                raise ValueError("its table of rewrites makes texts too long")
            start += length
        return output.decode("utf-8", errors="replace")

    def _longest_match(self, raw: bytes, start: int) -> tuple[int, int]:
        """Returns the length in bytes of the match at `start`, and the offset of its text; (0, 0) for none."""
        units, match = self._units, (0, 0)
        if not units:
            return match
        node = _offset(units[0])
        for n in range(start, min(start + MAX_MATCH_BYTES, len(raw))):
            node ^= raw[n]
            unit = units[node] if node < len(units) else 0
            if unit & 0x800000FF != raw[n]:
                break
            node ^= _offset(unit)
            if unit >> 8 & 1 and node < len(units):
                match = (n + 1 - start, units[node] & 0x7FFFFFFF)
        return match


def _offset(unit: int) -> int:
    return (unit >> 10) << ((unit & 1 << 9) >> 6)


def _width(first: int) -> int:
    return 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4


_BYTE = re.compile("<0x([0-9A-Fa-f]{2})>")
_LANGUAGE = re.compile(">>[^<>\\s]+<<")  # first token of the source in multilingual Marian models


@dataclass(frozen=True)
class Spelling:
    """A way in which the tokens of a vocabulary spell text."""

    name: str
    to_bytes: Callable[[str], bytes]  # the text of a token, with the space before a word
    has_leading_space: bool  # a text begins with an added space


def _of_blanks(token: str) -> bytes:
    byte = _BYTE.fullmatch(token)
    return bytes([int(byte[1], 16)]) if byte else token.replace(SPACE, " ").encode()


def _of_bytes(token: str) -> bytes:
    table = byte_of()
    return bytes(table[c] for c in token) if set(token) <= set(table) else token.encode()


def _of_parts(token: str) -> bytes:
    return token.removeprefix("##").encode() if token.startswith("##") and token != "##" else b" " + token.encode()


SPELLINGS: dict[str, Spelling] = {
    each.name: each
    for each in (
        Spelling("sentencepiece", _of_blanks, has_leading_space=True),  # ▁the
        Spelling("bytes", _of_bytes, has_leading_space=False),  # Ġthe, as in GPT-2
        Spelling("wordpiece", _of_parts, has_leading_space=True),  # ##ing, as in BERT
        Spelling("words", lambda token: b" " + token.encode(), has_leading_space=True),  # one token a word
    )
}


class ForeignTokenizer(Tokenizer):
    """A vocabulary trained by another program. Immutable, and safe to share between threads."""

    def __init__(self, values: dict[str, Any]) -> None:
        """Reads the value of a tokenizer.json from `foreign_values`; ValueError where it is none."""
        tokenizer_files.check_foreign_file(values, tuple(SPELLINGS))
        lab = values["lab"]
        self._values, self._tokens = values, tuple(lab["tokens"])
        self._spelling = SPELLINGS[lab["spelling"]]
        plain = {name: value for name, value in values.items() if name != "lab"}
        with tokenizer_files.library_errors("the tokenizers library cannot read it"):
            self._backend = Backend.from_str(json.dumps(plain))
        self._table = {token: n for n, token in enumerate(self._tokens) if n >= len(CONTROL_TOKENS)}
        self._unknown = None if lab.get("unknown") is None else self._table[lab["unknown"]]
        self.mask = next((self._table[name] for name in MASKS if name in self._table), None)
        self._control_ids, self._control_names = lab.get("control_ids"), lab.get("control_names")
        charsmap = lab.get("charsmap")
        self._charsmap = None if charsmap is None else Charsmap(base64.b64decode(charsmap, validate=True))
        self._raw = functools.cache(self._bytes_of_token)

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(self._values, ensure_ascii=False), encoding="utf-8")

    @property
    def size(self) -> int:
        return len(self._tokens)

    def encode_pieces(self, text: str) -> list[Piece]:
        """Returns the text as one piece, because a token may reach anywhere. Errors as in `encode`."""
        if len(text) > MAX_CHARACTERS:
            raise ValueError(f"a text has {len(text):,} characters; expected at most {MAX_CHARACTERS:,}")
        ids, normalized = [], text
        if self._charsmap is not None:
            code = _LANGUAGE.match(text)
            if code and code[0] in self._table:
                ids, text = [self._table[code[0]]], text[code.end() :]
            normalized = self._charsmap.normalize(text)
        with tokenizer_files.library_errors("this vocabulary cannot cut the text"):
            if self._charsmap is None:
                strings = self._backend.encode(text, add_special_tokens=False).tokens
            else:
                strings = [token.value for token in self._backend.model.tokenize(normalized)] if normalized else []
        return [Piece(normalized, False, [*ids, *map(self._id, strings)])]

    def _id(self, token: str) -> int:
        token_id = self._table.get(token, self._unknown)
        if token_id is None:
            raise ValueError(f"the vocabulary has no token for {token[:40]!r}, and none for what is unknown")
        return token_id

    @functools.cached_property
    def _publisher_ids(self) -> tuple[int | None, ...]:
        """The publisher's id of each id; None for a control token that the publisher's vocabulary lacks."""
        if self._control_ids is None:
            raise ValueError("this checkpoint does not store the ids of its publisher; convert it again")
        others = (n for n in itertools.count() if n not in self._control_ids)
        return (*self._control_ids, *itertools.islice(others, self.size - len(self._control_ids)))

    def from_publisher_ids(self, ids: Iterable[int]) -> list[int]:
        # a token that starts and ends a text is `</s>`
        own = {row: n for n, row in enumerate(self._publisher_ids) if row is not None}
        ids = [int(each) for each in ids]
        if unknown := [each for each in ids if each not in own]:
            raise ValueError(f"the publisher's vocabulary has no id {unknown[0]}; expected 0 to {max(own)}")
        return [own[each] for each in ids]

    def to_publisher_ids(self, ids: Iterable[int]) -> list[int]:
        ids = [*ids]
        if unknown := [each for each in ids if not 0 <= each < self.size or self._publisher_ids[each] is None]:
            raise ValueError(f"the publisher's vocabulary has no token for the id {unknown[0]}")
        return [self._publisher_ids[each] for each in ids]

    def publisher_tokens(self, ids: Iterable[int]) -> tuple[str, ...]:
        names = [name or own for name, own in zip(self._control_names or CONTROL_TOKENS, CONTROL_TOKENS, strict=True)]
        return tuple(names[each] if each < len(names) else self._tokens[each] for each in ids)

    def merges(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Raises ValueError: another program's rules join the pieces."""
        kind = self._values["model"]["type"]
        raise ValueError(
            f"This vocabulary is a {kind} model of another program; it has no list of merges that could be shown."
        )

    def bytes_of(self, ids: Iterable[int]) -> list[bytes]:
        """Returns the bytes of each token of a text; none for control tokens and for leading spaces."""
        parts, first = [], self._spelling.has_leading_space
        for token in ids:
            raw = self._raw(token)
            parts.append(raw.lstrip(b" ") if first else raw)
            first = first and not parts[-1]
        return parts

    def _bytes_of_token(self, token: int) -> bytes:
        if not 0 <= token < self.size:
            raise ValueError(f"token id {token} is outside the vocabulary of {self.size}")
        return b"" if token < len(CONTROL_TOKENS) else self._spelling.to_bytes(self._tokens[token])


def foreign_values(
    backend: dict[str, Any],
    tokens: Sequence[str],
    spelling: str,
    unknown: str | None = None,
    charsmap: bytes | None = None,
    controls: Sequence[tuple[int, str] | None] | None = None,
) -> dict[str, Any]:
    """Returns the value of a tokenizer.json.

    It holds the `tokenizers` library's own `backend`, without the tokens that it adds to texts. `tokens` are in the order
    of the embedding's rows, `CONTROL_TOKENS` first. `controls` has the publisher's id and token for each of these, or None
    where the publisher's vocabulary lacks it. The other tokens have the publisher's order.
    """
    entries = {name: backend.get(name) for name in ("version", "normalizer", "pre_tokenizer", "decoder", "model")}
    lab = {"spelling": spelling, "tokens": list(tokens), "unknown": unknown}
    if controls is not None:
        ids_and_names = [each or (None, None) for each in controls]
        lab |= {"control_ids": [n for n, _ in ids_and_names], "control_names": [name for _, name in ids_and_names]}
    lab |= {} if charsmap is None else {"charsmap": base64.b64encode(charsmap).decode("ascii")}
    return entries | {"truncation": None, "padding": None, "added_tokens": [], "post_processor": None, "lab": lab}


def load_tokenizer(path: Path) -> Tokenizer:
    """Reads a tokenizer.json of this program or of another; errors as those of `Tokenizer.load`."""
    raw = read_bytes(path, tokenizer_files.MAX_FILE_BYTES)
    if b'"lab"' not in raw:
        return Tokenizer.load(path)
    values = parse_json(raw)
    return ForeignTokenizer(values) if isinstance(values, dict) and "lab" in values else Tokenizer.load(path)
