"""Checks the content of tokenizer.json files, of the lab and of other programs.

The lab's own must equal the output of `python -m model train`: other settings would split text by other rules, and some
regular expressions never end. A file of another program is a file of the `tokenizers` library with an entry `lab`: the
tokens in the order of the embedding's rows, and their spelling. Nothing in it may run without end, and no typed text may
become a control token.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ..config import CONTROL_TOKENS, MASK_TOKEN
from ..io.files import MEGABYTE, is_whole_number, short_repr
from ..io.package_names import COMMAND

MAX_FILE_BYTES = 128 * MEGABYTE  # bytes of the file
MAX_TOKEN_BYTES = 1000  # bytes of a token
# Options of the library's BPE that join pieces by other rules than the merges.
OTHER_RULES = ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback", "ignore_merges")
WORDS = {3: "three", 4: "four"}
_KIND = f"byte-level byte-pair encoding as `{COMMAND} train` writes it"


def check_own_file(values: Any, template: Mapping[str, Any], alphabet: Collection[str]) -> None:
    """Compares a tokenizer.json with `template`, the value of an empty tokenizer.

    `alphabet` holds the printable characters of all bytes. Raises ValueError that names the entry, its value and the
    expected value.
    """
    if not isinstance(values, dict):
        raise ValueError(f"it is a {type(values).__name__}; expected an object")
    for name in template:
        if name not in ("model", "added_tokens") and values.get(name) != template[name]:
            raise ValueError(
                f"its {name!r} is {short_repr(values.get(name))}; expected {short_repr(template[name])}, {_KIND}"
            )
    added = values.get("added_tokens")
    controls = tuple(token.get("content") for token in added if isinstance(token, dict)) if isinstance(added, list) else ()
    if controls not in (CONTROL_TOKENS, (*CONTROL_TOKENS, MASK_TOKEN)) or len(added) != len(controls):
        raise ValueError(
            f"the added tokens are {short_repr(controls)}; expected {CONTROL_TOKENS}, and none but {MASK_TOKEN} after them"
        )
    for number, token in enumerate(added):
        if not is_whole_number(token.get("id")) or token["id"] != number:
            raise ValueError(f"{token['content']} has the id {short_repr(token.get('id'))}; expected {number}")
    model = values.get("model")
    if not isinstance(model, dict) or model.get("type") != "BPE":
        kind = model.get("type") if isinstance(model, dict) else model
        raise ValueError(f"its model is {short_repr(kind)}; expected 'BPE', {_KIND}")
    for name in (*OTHER_RULES, "unk_token", "fuse_unk"):
        if model.get(name):
            raise ValueError(f"its model has {name} = {short_repr(model[name])}; expected merges alone")
    _check_vocabulary(model.get("vocab"), alphabet, controls)
    _check_merges(model.get("merges"), model["vocab"], controls)


def _check_vocabulary(vocabulary: Any, alphabet: Collection[str], controls: tuple[str, ...]) -> None:
    if not isinstance(vocabulary, dict) or not all(map(is_whole_number, vocabulary.values())):
        raise ValueError("its 'vocab' is no object with an id for each token")
    if sorted(vocabulary.values()) != list(range(len(vocabulary))):
        raise ValueError(f"its 'vocab' has {len(vocabulary):,} tokens; expected the ids from 0 on, each once")
    first_tokens = tuple(sorted(vocabulary, key=vocabulary.__getitem__)[: len(controls)])
    if first_tokens != controls:
        raise ValueError(f"the first {WORDS[len(controls)]} tokens are {short_repr(first_tokens)}; expected {controls}")
    if missing := [char for char in alphabet if char not in vocabulary]:
        raise ValueError(f"its 'vocab' has no token for the byte written {missing[0]!r}; expected one for each of 256")
    known = set(alphabet)
    for token in vocabulary:
        if token not in controls and (not token or len(token) > MAX_TOKEN_BYTES or not known.issuperset(token)):
            raise ValueError(
                f"its 'vocab' has the token {short_repr(token)}; expected 1 to {MAX_TOKEN_BYTES} bytes in their stand-ins"
            )


def _check_merges(merges: Any, vocabulary: Mapping[str, int], controls: tuple[str, ...]) -> None:
    if not isinstance(merges, list):
        raise ValueError(f"its 'merges' are {short_repr(merges)}; expected a list of pairs")
    for merge in merges:
        pair = merge.split(" ") if isinstance(merge, str) else merge
        known = isinstance(pair, list) and len(pair) == 2 and all(isinstance(one, str) and one in vocabulary for one in pair)
        if not known or {*pair, "".join(pair)} & set(controls) or "".join(pair) not in vocabulary:
            raise ValueError(
                f"its 'merges' have {short_repr(merge)}; expected two tokens of the vocabulary that make a third"
            )


MAX_VOCABULARY = 1_000_000
MODELS = ("Unigram", "WordLevel", "WordPiece", "BPE")
# Parts without a free regular expression, or with one of `PATTERNS`: some expressions never end.
NORMALIZERS = ("Sequence", "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Strip", "StripAccents", "BertNormalizer", "Replace")
PRE_TOKENIZERS = ("Sequence", "Whitespace", "WhitespaceSplit", "BertPreTokenizer", "Punctuation", "Digits", "ByteLevel")
PRE_TOKENIZERS += ("Metaspace", "Split")
SEQUENCES = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers"}  # the key of a sequence's parts
PATTERNS = (" {2,}", r"\s+", r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")


def check_foreign_file(values: dict[str, Any], spellings: tuple[str, ...]) -> None:
    """Checks a file of another program; ValueError that names the entry, its value and the expected value."""
    lab = values.get("lab")
    if not isinstance(lab, dict):
        raise ValueError(f"its 'lab' is {short_repr(lab)}; expected an object")
    if lab.get("spelling") not in spellings:
        raise ValueError(f"its 'spelling' is {short_repr(lab.get('spelling'))}; expected one of {', '.join(spellings)}")
    _check_tokens(lab.get("tokens"), lab.get("unknown"))
    charsmap = lab.get("charsmap")
    if charsmap is not None and not isinstance(charsmap, str):
        raise ValueError(f"its 'charsmap' is {short_repr(charsmap)}; expected a text in base64")
    for name, kind in (("control_ids", int), ("control_names", str)):
        if name in lab and not _is_control_list(lab[name], kind):
            raise ValueError(
                f"its {name!r} is {short_repr(lab[name])}; expected three values of type {kind.__name__} or null"
            )
    check_parts(values)


def _is_control_list(values: Any, kind: type) -> bool:
    """True for a value or None for each control token."""
    return isinstance(values, list) and len(values) == 3 and all(each is None or type(each) is kind for each in values)


def check_parts(values: dict[str, Any]) -> None:
    """Checks the parts that belong to the `tokenizers` library; errors as in `check_foreign_file`."""
    model = values.get("model")
    kind = model.get("type") if isinstance(model, dict) else None
    if kind not in MODELS:
        raise ValueError(f"its model is {short_repr(kind)}; expected one of {', '.join(MODELS)}")
    for name in ("added_tokens", "post_processor", "truncation", "padding"):
        if values.get(name):
            raise ValueError(f"it has {name} = {short_repr(values[name])}; expected none")
    _check_part(values.get("normalizer"), NORMALIZERS, "normalizer")
    _check_part(values.get("pre_tokenizer"), PRE_TOKENIZERS, "pre_tokenizer")


def _check_part(part: Any, known: tuple[str, ...], what: str) -> None:
    if part is None:
        return
    kind = part.get("type") if isinstance(part, dict) else part
    if not isinstance(part, dict) or kind not in known:
        raise ValueError(f"its {what} is {short_repr(kind)}; expected an object whose type is one of {', '.join(known)}")
    for inner in _sequence_parts(part, what) if kind == "Sequence" else ():
        _check_part(inner, known, what)
    pattern = part.get("pattern")
    if kind == "Replace":
        _check_replacement(pattern, part.get("content"))
    regex = pattern.get("Regex") if isinstance(pattern, dict) else None
    if regex is not None and regex not in PATTERNS:
        raise ValueError(f"its {what} has the regular expression {short_repr(regex)}; expected one that is known to end")


def _sequence_parts(part: dict[str, Any], what: str) -> list[dict[str, Any]]:
    """Returns the parts of a sequence, under the key that the library uses."""
    key = SEQUENCES[what]
    parts = part.get(key)
    if not isinstance(parts, list) or not all(isinstance(each, dict) for each in parts):
        raise ValueError(f"its {what} is a sequence with {key} = {short_repr(parts)}; expected a list of objects")
    return parts


def _check_replacement(pattern: Any, content: Any) -> None:
    """Raises ValueError for replacements that lengthen a text: a long chain would fill any memory."""
    string = pattern.get("String") if isinstance(pattern, dict) else None
    if string is not None and (not isinstance(string, str) or not string):
        raise ValueError(f"its normalizer replaces {short_repr(string)}; expected a text of at least one character")
    if not isinstance(content, str) or len(content) > len(string or " "):
        replacement = f"{short_repr(string or pattern)} by {short_repr(content)}"
        raise ValueError(f"its normalizer replaces {replacement}; expected nothing longer than what it replaces")


@contextlib.contextmanager
def library_errors(what: str) -> Iterator[None]:
    """Turns every error of the `tokenizers` library (bare Exception, panics) into a ValueError that begins with `what`."""
    try:
        yield
    except BaseException as fault:
        if not isinstance(fault, Exception) and type(fault).__name__ != "PanicException":
            raise
        raise ValueError(f"{what}: {' '.join(str(fault).split())[:200]}") from None


def _check_tokens(tokens: Any, unknown: Any) -> None:
    if not isinstance(tokens, list) or len(tokens) > MAX_VOCABULARY:
        raise ValueError(f"its 'tokens' are {short_repr(tokens)}; expected a list of at most {MAX_VOCABULARY:,}")
    if tuple(tokens[: len(CONTROL_TOKENS)]) != CONTROL_TOKENS:
        raise ValueError(f"the first three tokens are {short_repr(tokens[:3])}; expected {CONTROL_TOKENS}")
    for token in tokens:
        if not isinstance(token, str) or not token or len(token) > MAX_TOKEN_BYTES:
            raise ValueError(f"its 'tokens' have {short_repr(token)}; expected texts of 1 to {MAX_TOKEN_BYTES} characters")
    if len(set(tokens)) != len(tokens):
        raise ValueError("its 'tokens' have one of them twice; expected each once")
    if unknown is not None and unknown not in tokens[len(CONTROL_TOKENS) :]:
        raise ValueError(f"its 'unknown' is {short_repr(unknown)}; expected one of its tokens, or null")
