"""Converts text to ids and back, and tokens to visible strings.

Byte-level byte-pair encoding (Sennrich et al. 2016 over bytes, as in GPT-2): there is no unknown token, and any text
survives the round trip, up to Unicode NFC. A typed `</s>` stays five characters: text never becomes a control token.

One rule is added to tokenizer.json: the word after an elision gets the tokens that it has after a space, unless these are
more. So *animal* is the same token in "un animal" and "L'animal" (not the rare "an", "im", "al"). Decoding drops the space
of such a token after an elided word, so any text survives the round trip.
"""

from __future__ import annotations

import codecs
import functools
import json
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as Backend

from ..config import CONTROL_TOKENS, END, MASK_TOKEN, MAX_CHARACTERS, PAD, START
from ..io.files import parse_json, read_bytes
from . import tokenizer_files
from .tokenizer_files import library_errors

# Boundaries that no merge crosses. An elided word keeps its apostrophe (L' + animal, qu' + il), an English
# contraction begins with its own (didn + 't); a space belongs to the word that follows it.
_CONTRACTION = r"['’](?i:s|t|re|ve|m|ll|d)\b"
PRE_TOKENS = (
    rf"{_CONTRACTION}"
    rf"| ?\p{{L}}+(?!{_CONTRACTION})['’](?=\p{{L}})"
    r"| ?[\p{L}\p{M}]+"
    r"| ?\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+"
    r"|\s+(?!\S)"
    r"|\s+"
)

_SPACE = "Ġ"  # the sign of byte-level BPE for a space


class Piece(NamedTuple):
    """A part of a text that merges stay within: a word with the space before it, digits, signs."""

    printable: str  # printable characters for its bytes, with an added space
    has_added_space: bool  # True for the word after an elision: its space is not in the text
    ids: list[int]


@functools.cache
def byte_of() -> dict[str, int]:
    """Returns the byte of each printable character that byte-level BPE uses (GPT-2's table)."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    unprintable = [b for b in range(256) if b not in plain]
    return {chr(b): b for b in plain} | {chr(256 + n): b for n, b in enumerate(unprintable)}


def _untrained_backend() -> Backend:
    backend = Backend(models.BPE())
    backend.normalizer = normalizers.NFC()
    split = pre_tokenizers.Split(Regex(PRE_TOKENS), "isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    backend.decoder = decoders.ByteLevel()
    return backend


class Tokenizer:
    """A trained vocabulary. Immutable, and safe to share between threads."""

    mask: int | None = None  # the token of a blank, where the vocabulary has one
    _controls = CONTROL_TOKENS

    def __init__(self, backend: Backend) -> None:
        first_tokens = tuple(backend.id_to_token(i) for i in (PAD, START, END))
        if first_tokens != CONTROL_TOKENS:
            raise ValueError(f"the first three tokens are {first_tokens}; expected {CONTROL_TOKENS}")
        if backend.pre_tokenizer is None:
            raise ValueError("it has no pre_tokenizer; expected byte-level byte-pair encoding")
        backend.encode_special_tokens = True  # not stored in the file: typed text must never become a control token
        if len(CONTROL_TOKENS) in backend.get_added_tokens_decoder():
            self.mask, self._controls = len(CONTROL_TOKENS), (*CONTROL_TOKENS, MASK_TOKEN)
        self._backend = backend
        self._raw = functools.cache(self._bytes_of_token)
        self._elided = frozenset(i for i in range(len(self._controls), self.size) if _is_elided(self._raw(i)))
        self._model_ids = functools.lru_cache(1 << 16)(lambda piece: [t.id for t in backend.model.tokenize(piece)])

    @classmethod
    def train(cls, texts: Iterable[str], vocab_size: int, blanks: bool = False) -> Tokenizer:
        """Learns a vocabulary of at most `vocab_size` tokens, including 256 bytes and 3 control tokens.

        With `blanks` it has a fourth control token, `<mask>`. Raises ValueError where `vocab_size` has no room for a merge.
        """
        if vocab_size < 260:
            raise ValueError(f"the vocabulary size is {vocab_size}; expected at least 260 (256 bytes, 3 control tokens)")
        backend = _untrained_backend()
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size,
            special_tokens=[*CONTROL_TOKENS, *([MASK_TOKEN] if blanks else [])],
            initial_alphabet=sorted(byte_of()),
            show_progress=False,
        )
        backend.train_from_iterator((text for text in texts if len(text) <= MAX_CHARACTERS), trainer)
        return cls(backend)

    @classmethod
    def load(cls, path: Path) -> Tokenizer:
        """Reads a tokenizer.json of `train` and `save`.

        Raises ValueError for any other file, FileError and FileNotFoundError as `model.io.files.open_file`.
        """
        raw = read_bytes(path, tokenizer_files.MAX_FILE_BYTES)
        try:
            values = parse_json(raw)
            tokenizer_files.check_own_file(values, json.loads(_untrained_backend().to_str()), byte_of())
            with library_errors("the tokenizers library cannot read it"):
                return cls(Backend.from_str(json.dumps(values)))
        except Exception as fault:  # whatever is wrong with it
            raise ValueError(str(fault)) from None

    def save(self, path: Path) -> None:
        path.write_text(
            json.dumps(json.loads(self._backend.to_str()), ensure_ascii=False, separators=(",", ":")), encoding="utf-8"
        )

    @property
    def size(self) -> int:
        return self._backend.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """Returns the ids of the text without `<s>` and `</s>`; ValueError beyond `MAX_CHARACTERS`."""
        return [token for piece in self.encode_pieces(text) for token in piece.ids]

    def encode_pieces(self, text: str) -> list[Piece]:
        """Returns the pieces of a text, normalised to NFC, with ids; no token crosses a piece. Errors as in `encode`."""
        if len(text) > MAX_CHARACTERS:
            raise ValueError(f"a text has {len(text):,} characters; expected at most {MAX_CHARACTERS:,}")
        pieces, elided = [], False
        for printable, _ in self._backend.pre_tokenizer.pre_tokenize_str(unicodedata.normalize("NFC", text)):
            piece = Piece(printable, False, self._model_ids(printable))
            if elided:
                spaced = self._model_ids(_SPACE + printable)
                if len(spaced) <= len(piece.ids) or printable.startswith(_SPACE):
                    piece = Piece(_SPACE + printable, True, spaced)
            pieces.append(piece)
            elided = piece.ids[-1] in self._elided if piece.ids else elided
        return pieces

    def from_publisher_ids(self, ids: Iterable[int]) -> list[int]:
        """Returns the ids of a converted vocabulary for the ids of its publisher's tokenizer; own ids stay as they are.

        Raises ValueError for an id that the publisher's vocabulary lacks.
        """
        return [int(each) for each in ids]

    def to_publisher_ids(self, ids: Iterable[int]) -> list[int]:
        """Returns the ids of the publisher's tokenizer for ids of a converted vocabulary; own ids stay as they are.

        Raises ValueError for a control token that the publisher's vocabulary lacks.
        """
        return [*ids]

    def publisher_tokens(self, ids: Iterable[int]) -> tuple[str, ...]:
        """Returns the tokens as the publisher's tokenizer writes them, such as `Ġthe`, `▁the` or `##ing`."""
        return tuple(self._backend.id_to_token(each) for each in ids)

    def merges(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Returns the learned merges: pair of ids -> rank (from 1, in the order of learning) and id of the merged token.

        Raises ValueError where the tokenizer is no byte-level BPE, or joins pieces by other rules than its merges.
        """
        model = json.loads(self._backend.to_str())["model"]
        if model["type"] != "BPE":
            raise ValueError(f"The tokenizer is a {model['type']} model; expected byte-pair encoding, which has merges.")
        if others := [name for name in tokenizer_files.OTHER_RULES if model[name]]:
            raise ValueError(f"The tokenizer's BPE has {others[0]} = {model[others[0]]!r}; expected merges alone.")
        vocabulary = model["vocab"]
        if missing := [code for char, code in byte_of().items() if char not in vocabulary]:
            raise ValueError(f"The tokenizer has no token for the byte {missing[0]:02X}; expected one for each of 256.")
        return {
            (vocabulary[one], vocabulary[other]): (rank, vocabulary[one + other])
            for rank, (one, other) in enumerate(model["merges"], 1)
        }

    def byte_ids(self, printable: str) -> tuple[int, ...]:
        """Returns the byte tokens of a piece before any merge."""
        return tuple(self._backend.token_to_id(char) for char in printable)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def token_bytes(self, token: int) -> bytes:
        """Returns the bytes of a single token, with the space before a word; errors as in `bytes_of`."""
        return self._raw(token)

    def decode(self, ids: Iterable[int]) -> str:
        """Returns the text of the ids; control tokens have none. Invalid UTF-8 becomes U+FFFD."""
        return _text(self.bytes_of(ids))

    def segments(self, ids: Iterable[int]) -> list[str]:
        """Returns the text that each token adds. A token that ends inside a character adds nothing, the next one adds it
        all.
        """
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        raw = self.bytes_of(ids)
        return [decoder.decode(part, final=n == len(raw)) for n, part in enumerate(raw, 1)]

    def bytes_of(self, ids: Iterable[int]) -> list[bytes]:
        """Returns the bytes of each token of a text; none for a control token.

        Raises ValueError for an id outside the vocabulary.
        """
        parts, elided = [], False
        for token in ids:
            raw = self._raw(token)
            parts.append(raw.removeprefix(b" ") if elided else raw)
            elided = token in self._elided
        return parts

    def _bytes_of_token(self, token: int) -> bytes:
        if 0 <= token < len(self._controls):
            return b""
        piece = self._backend.id_to_token(token) if token >= 0 else None
        if piece is None:
            raise ValueError(f"token id {token} is outside the vocabulary of {self.size}")
        table = byte_of()
        return bytes(table[c] for c in piece)

    def piece(self, token: int) -> str:
        """Returns a visible string for one token: a leading space as `·`, bytes of a split character as `⟨E2⟩`."""
        if 0 <= token < len(self._controls):
            return self._controls[token]
        return visible_text(self._raw(token))

    def pieces(self, ids: Iterable[int]) -> tuple[str, ...]:
        """Returns one label for each token, without the space before a word (see `word_numbers`)."""
        return tuple(self.piece(i)[self._is_spaced(i) :] for i in ids)

    def _is_spaced(self, token: int) -> bool:
        """Returns True for a token with text after a leading space."""
        raw = self._raw(token)
        return len(raw) > 1 and raw.startswith(b" ")

    def word_numbers(self, ids: Iterable[int]) -> tuple[int, ...]:
        """Returns the word number of each token; punctuation and control tokens are words of their own."""
        return number_words(self.bytes_of(ids))

    def words_with_positions(self, ids: Iterable[int]) -> list[tuple[str, tuple[int, ...]]]:
        """Returns each word as written, without the space before it, and the positions of its tokens."""
        raw, places = self.bytes_of(ids), {}
        for position, number in enumerate(number_words(raw)):
            places.setdefault(number, []).append(position)
        return [(_text(raw[i] for i in own).strip(), tuple(own)) for own in places.values()]


def _text(raw: Iterable[bytes]) -> str:
    return b"".join(raw).decode("utf-8", errors="replace")


def number_words(tokens: Iterable[bytes]) -> tuple[int, ...]:
    """Returns the word number of each token, from the bytes of the tokens."""
    numbers: list[int] = []
    ends_in_word = space = False  # previous token: ends inside a word; is a single space
    for raw in tokens:
        text = raw.decode("utf-8", errors="replace")
        new = not text or not (space or (ends_in_word and _in_word(text[0])))
        numbers.append(numbers[-1] + new if numbers else 0)
        ends_in_word, space = bool(text) and _in_word(text[-1]), text == " "
    return tuple(numbers)


def _is_elided(raw: bytes) -> bool:
    """Returns True for the bytes of a word that ends in an apostrophe: L', qu'."""
    text = raw.decode("utf-8", errors="replace").removeprefix(" ")
    return len(text) > 1 and text[-1] in "'’" and text[:-1].isalpha()


def _in_word(char: str) -> bool:
    return char.isalnum() or char in "'’\ufffd-" or unicodedata.category(char).startswith("M")


@functools.lru_cache(65_536)
def visible_text(raw: bytes) -> str:
    return "".join(_visible(c) for c in raw.decode("utf-8", errors="surrogateescape"))


def _visible(char: str) -> str:
    code = ord(char)
    if char == " ":
        return "·"
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a split character
        return f"⟨{code - 0xDC00:02X}⟩"
    if char in "\n\t\r" or unicodedata.category(char) in ("Cc", "Cf", "Zs", "Zl", "Zp", "Cn", "Co"):
        return f"⟨U+{code:04X}⟩"
    return char
