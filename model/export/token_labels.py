"""Readable labels for the tokens of any tokenizer, the word of each token, and the sentence of two.

Byte-level BPE (`Ġdog`), SentencePiece (`▁dog`) and WordPiece (`##ing`) are told apart by their marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..config import CONTROL_TOKENS
from ..text.tokenizer import byte_of, number_words, visible_text
from ..trace import Axis

_CONTROL = re.compile(
    r"<\|[^|\s]+\|>|</?[A-Za-z_][\w-]*>|\[[A-Z]+\d*\]|<｜[^｜]+｜>"
)  # <|im_end|>, </s>, [SEP], <extra_id_0>
_BYTE = re.compile("<0x([0-9A-Fa-f]{2})>")
_PADDING = frozenset(("<pad>", "[PAD]", "<|pad|>", "<PAD>"))
_ENDS = frozenset(("</s>", "[SEP]", "<eos>", "<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<|end_of_text|>"))
_STARTS = frozenset(("<s>", "[CLS]", "<bos>", "<|begin_of_text|>", "<|startoftranscript|>"))
START, END, PAD = CONTROL_TOKENS[1], CONTROL_TOKENS[2], CONTROL_TOKENS[0]
SENTENCE_NAMES = ("A", "B")


def label_sentences(labels: Sequence[str], axis: Axis | None, places: Sequence[int] | None = None) -> list[str]:
    """Returns labels that begin with the sentence of each token where `axis` has two, as in `A:dog`, `B:it`.

    `places` are their positions if some are missing.
    """
    if axis is None or not axis.sentence_numbers:
        return list(labels)
    of = [axis.sentence_numbers[place] for place in (range(len(labels)) if places is None else places)]
    return [label if label == PAD else f"{SENTENCE_NAMES[number]}:{label}" for label, number in zip(labels, of, strict=True)]


def is_control(token: str) -> bool:
    """Returns True for a token that looks like a control token, such as `[SEP]` or `<|im_end|>`."""
    return _CONTROL.fullmatch(token) is not None


def lab_names(tokens: Sequence[str]) -> tuple[str, ...]:
    """Returns labels in which known start, end and padding tokens have the names that the head metrics read."""
    names = dict.fromkeys(_PADDING, PAD) | dict.fromkeys(_ENDS, END) | dict.fromkeys(_STARTS, START)
    return tuple(names.get(token) or label for token, label in zip(tokens, labels(tokens), strict=True))


def labels(tokens: Sequence[str]) -> tuple[str, ...]:
    """Returns a label for each token, without the sign of the space before a word. Control tokens stay."""
    return tuple(
        token if is_control(token) else visible_text(raw.removeprefix(b" ") or raw) or token or "∅"
        for token, raw in zip(tokens, _raw_bytes(tokens), strict=True)
    )


def word_numbers(tokens: Sequence[str]) -> tuple[int, ...]:
    """Returns the word number of each token, from 0; control tokens and punctuation are words of their own."""
    raws = (b"" if is_control(token) else raw for token, raw in zip(tokens, _raw_bytes(tokens), strict=True))
    return number_words(raws)


def _raw_bytes(tokens: Sequence[str]) -> Iterable[bytes]:
    """Yields the text of each token in UTF-8, with the space before a word."""
    table = byte_of()
    is_byte_level = any(token.startswith(("Ġ", "Ċ")) for token in tokens)
    is_sentencepiece = any(token.startswith("▁") for token in tokens)
    for token in tokens:
        if byte := _BYTE.fullmatch(token):
            yield bytes((int(byte[1], 16),))
        elif is_byte_level and all(char in table for char in token):
            yield bytes(table[char] for char in token)
        elif is_sentencepiece:
            yield _encoded(token.replace("▁", " "))
        elif is_byte_level:
            yield _encoded(token)
        elif token.startswith("##") and len(token) > 2:
            yield _encoded(token[2:])
        else:
            yield _encoded(f" {token}")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", errors="replace")
