"""What a tokenizer.json of another program's vocabulary must say: nothing in it may run for ever, and no typed text may
become a control token.

It is a file of the `tokenizers` library with one entry more, `lab`: the tokens in the order of the embedding's rows, and how
they spell text.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from model.config import CONTROL_TOKENS
from model.files import shown

LONGEST = 1000  # characters of a token
MOST_TOKENS = 1_000_000
MODELS = ("Unigram", "WordLevel", "WordPiece", "BPE")
# Parts without a regular expression of the file's own, or with one of `PATTERNS`: some never come to an end.
NORMALIZERS = ("Sequence", "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Strip", "StripAccents", "BertNormalizer", "Replace")
PRE_TOKENIZERS = ("Sequence", "Whitespace", "WhitespaceSplit", "BertPreTokenizer", "Punctuation", "Digits", "ByteLevel")
PRE_TOKENIZERS += ("Metaspace", "Split")
SEQUENCES = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers"}  # the key of a sequence's parts
PATTERNS = (
    " {2,}",
    r"\s+",
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
)


def check_foreign_file(values: dict[str, Any], spellings: tuple[str, ...]) -> None:
    """ValueError that names the entry of a file, what was found and what was expected."""
    lab = values.get("lab")
    if not isinstance(lab, dict):
        raise ValueError(f"its 'lab' is {shown(lab)}; expected an object")
    if lab.get("spelling") not in spellings:
        raise ValueError(f"its 'spelling' is {shown(lab.get('spelling'))}; expected one of {', '.join(spellings)}")
    _check_tokens(lab.get("tokens"), lab.get("unknown"))
    charsmap = lab.get("charsmap")
    if charsmap is not None and not isinstance(charsmap, str):
        raise ValueError(f"its 'charsmap' is {shown(charsmap)}; expected a text in base64")
    check_parts(values)


def check_parts(values: dict[str, Any]) -> None:
    """The same for the parts that are the `tokenizers` library's own."""
    model = values.get("model")
    kind = model.get("type") if isinstance(model, dict) else None
    if kind not in MODELS:
        raise ValueError(f"its model is {shown(kind)}; expected one of {', '.join(MODELS)}")
    for name in ("added_tokens", "post_processor", "truncation", "padding"):
        if values.get(name):
            raise ValueError(f"it has {name} = {shown(values[name])}; expected none")
    _check_part(values.get("normalizer"), NORMALIZERS, "normalizer")
    _check_part(values.get("pre_tokenizer"), PRE_TOKENIZERS, "pre_tokenizer")


def _check_part(part: Any, known: tuple[str, ...], what: str) -> None:
    if part is None:
        return
    kind = part.get("type") if isinstance(part, dict) else part
    if not isinstance(part, dict) or kind not in known:
        raise ValueError(f"its {what} is {shown(kind)}; expected an object whose type is one of {', '.join(known)}")
    for inner in _inner(part, what) if kind == "Sequence" else ():
        _check_part(inner, known, what)
    pattern = part.get("pattern")
    if kind == "Replace":
        _check_replaced(pattern, part.get("content"))
    regex = pattern.get("Regex") if isinstance(pattern, dict) else None
    if regex is not None and regex not in PATTERNS:
        raise ValueError(f"its {what} has the regular expression {shown(regex)}; expected one that is known to end")


def _inner(part: dict[str, Any], what: str) -> list[dict[str, Any]]:
    """The parts of a sequence, where the library looks for them."""
    key = SEQUENCES[what]
    found = part.get(key)
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise ValueError(f"its {what} is a sequence with {key} = {shown(found)}; expected a list of objects")
    return found


def _check_replaced(pattern: Any, content: Any) -> None:
    """ValueError for what makes a text longer: many in a row would fill any memory."""
    string = pattern.get("String") if isinstance(pattern, dict) else None
    if string is not None and (not isinstance(string, str) or not string):
        raise ValueError(f"its normalizer replaces {shown(string)}; expected a text of at least one character")
    if not isinstance(content, str) or len(content) > len(string or " "):
        found = f"{shown(string or pattern)} by {shown(content)}"
        raise ValueError(f"its normalizer replaces {found}; expected nothing longer than what it replaces")


@contextlib.contextmanager
def library(what: str) -> Iterator[None]:
    """ValueError that begins with `what` for all that the `tokenizers` library raises: bare Exception, and panics."""
    try:
        yield
    except BaseException as fault:
        if not isinstance(fault, Exception) and type(fault).__name__ != "PanicException":
            raise
        raise ValueError(f"{what}: {' '.join(str(fault).split())[:200]}") from None


def _check_tokens(tokens: Any, unknown: Any) -> None:
    if not isinstance(tokens, list) or len(tokens) > MOST_TOKENS:
        raise ValueError(f"its 'tokens' are {shown(tokens)}; expected a list of at most {MOST_TOKENS:,}")
    if tuple(tokens[: len(CONTROL_TOKENS)]) != CONTROL_TOKENS:
        raise ValueError(f"the first three tokens are {shown(tokens[:3])}; expected {CONTROL_TOKENS}")
    for token in tokens:
        if not isinstance(token, str) or not token or len(token) > LONGEST:
            raise ValueError(f"its 'tokens' have {shown(token)}; expected texts of 1 to {LONGEST} characters")
    if len(set(tokens)) != len(tokens):
        raise ValueError("its 'tokens' have one of them twice; expected each once")
    if unknown is not None and unknown not in tokens[len(CONTROL_TOKENS) :]:
        raise ValueError(f"its 'unknown' is {shown(unknown)}; expected one of its tokens, or null")
