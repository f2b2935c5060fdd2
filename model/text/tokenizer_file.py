"""What a tokenizer.json must say: what `python -m model train` writes. Any other kind would cut text by other rules, and
some regular expressions never come to an end."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from model.config import CONTROL_TOKENS, MASK_TOKEN
from model.files import MEGABYTE, shown
from model.limits import is_whole

MOST = 128 * MEGABYTE  # bytes of the file
LONGEST = 1000  # bytes of a token
# Options of the library's BPE that would join pieces by other rules than the list of merges alone.
OTHER_RULES = ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback", "ignore_merges")
WORDS = {3: "three", 4: "four"}
_KIND = "byte-level byte-pair encoding as `python -m model train` writes it"


def check(values: Any, frame: Mapping[str, Any], alphabet: Collection[str]) -> None:
    """Compares the value of a tokenizer.json with `frame`, that of an empty tokenizer; `alphabet` are the stand-ins of all
    bytes. Raises ValueError that names the entry, what was found and what was expected."""
    if not isinstance(values, dict):
        raise ValueError(f"it is a {type(values).__name__}; expected an object")
    for name in frame:
        if name not in ("model", "added_tokens") and values.get(name) != frame[name]:
            raise ValueError(f"its {name!r} is {shown(values.get(name))}; expected {shown(frame[name])}, {_KIND}")
    added = values.get("added_tokens")
    found = tuple(token.get("content") for token in added if isinstance(token, dict)) if isinstance(added, list) else ()
    if found not in (CONTROL_TOKENS, (*CONTROL_TOKENS, MASK_TOKEN)) or len(added) != len(found):
        raise ValueError(
            f"the added tokens are {shown(found)}; expected {CONTROL_TOKENS}, and none but {MASK_TOKEN} after them"
        )
    for number, token in enumerate(added):
        if not is_whole(token.get("id")) or token["id"] != number:
            raise ValueError(f"{token['content']} has the id {shown(token.get('id'))}; expected {number}")
    model = values.get("model")
    if not isinstance(model, dict) or model.get("type") != "BPE":
        kind = model.get("type") if isinstance(model, dict) else model
        raise ValueError(f"its model is {shown(kind)}; expected 'BPE', {_KIND}")
    for name in (*OTHER_RULES, "unk_token", "fuse_unk"):
        if model.get(name):
            raise ValueError(f"its model has {name} = {shown(model[name])}; expected merges alone")
    _check_vocabulary(model.get("vocab"), alphabet, found)
    _check_merges(model.get("merges"), model["vocab"], found)


def _check_vocabulary(vocabulary: Any, alphabet: Collection[str], controls: tuple[str, ...]) -> None:
    if not isinstance(vocabulary, dict) or not all(map(is_whole, vocabulary.values())):
        raise ValueError("its 'vocab' is no object with an id for each token")
    if sorted(vocabulary.values()) != list(range(len(vocabulary))):
        raise ValueError(f"its 'vocab' has {len(vocabulary):,} tokens; expected the ids from 0 on, each once")
    found = tuple(sorted(vocabulary, key=vocabulary.__getitem__)[: len(controls)])
    if found != controls:
        raise ValueError(f"the first {WORDS[len(controls)]} tokens are {shown(found)}; expected {controls}")
    if missing := [char for char in alphabet if char not in vocabulary]:
        raise ValueError(f"its 'vocab' has no token for the byte written {missing[0]!r}; expected one for each of 256")
    known = set(alphabet)
    for token in vocabulary:
        if token not in controls and (not token or len(token) > LONGEST or not known.issuperset(token)):
            raise ValueError(f"its 'vocab' has the token {shown(token)}; expected 1 to {LONGEST} bytes in their stand-ins")


def _check_merges(merges: Any, vocabulary: Mapping[str, int], controls: tuple[str, ...]) -> None:
    if not isinstance(merges, list):
        raise ValueError(f"its 'merges' are {shown(merges)}; expected a list of pairs")
    for merge in merges:
        pair = merge.split(" ") if isinstance(merge, str) else merge
        known = isinstance(pair, list) and len(pair) == 2 and all(isinstance(one, str) and one in vocabulary for one in pair)
        if not known or {*pair, "".join(pair)} & set(controls) or "".join(pair) not in vocabulary:
            raise ValueError(f"its 'merges' have {shown(merge)}; expected two tokens of the vocabulary that make a third")
