"""How a text becomes tokens: the merges lead to the tokenizer's own ids, each the earliest learned of those there are."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest

from model.checkpoint import find
from model.readings.merges import cut, learned
from model.text.tokenizer import Tokenizer

TEXTS = [
    "The animal didn't cross the street because it was too tired.",
    "L'animal n’a pas traversé la rue; qu'il, L' owl, L'L'owl, L'\n",
    "",
    " ",
    "  two  spaces\tand\r\n\nlines  ",
    "🦉👩‍🚀🏳️‍🌈👍🏽",
    "cafe\u0301 Å é",
    "3,141,592.65 € 12345678",
    "你好,世界。한국어 हिन्दी שלום",
    "</s><s> <pad> ·middle Ġ ▁ ⟨E2⟩",
    "\x00\u200b\ue000\U0010ffff",
    "a" * 5000,
    "anana " * 800,
]


@pytest.fixture(scope="module")
def shipped() -> Tokenizer:
    return Tokenizer.load(find("en-fr") / "tokenizer.json")


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_the_merges_lead_to_the_tokenizers_ids(shipped, text):
    made = cut(shipped, text)
    assert list(made.ids) == shipped.encode(text)
    assert made.text == unicodedata.normalize("NFC", text)


def test_each_step_joins_the_earliest_learned_pair(shipped):
    merges = learned(shipped)
    for word in cut(shipped, " unconstitutionally reconnaissants anananana l'étoile").words:
        assert all(len(shipped.bytes_of([i])[0]) == 1 for i in word.start)
        for pieces, after, merge in zip(word.steps(), list(word.steps())[1:], word.merges, strict=False):
            there = [merges[pair][0] for pair in pairwise(pieces) if pair in merges]
            assert merge.rank == min(there)
            assert (merge.rank, merge.token) == merges[pieces[merge.at], pieces[merge.at + 1]]
            assert not any(merges.get(pair, (0,))[0] == merge.rank for pair in pairwise(pieces[: merge.at + 1]))
            assert after == (*pieces[: merge.at], merge.token, *pieces[merge.at + 2 :])
            joined = b"".join(shipped._raw(i) for i in pieces[merge.at : merge.at + 2])
            assert shipped._raw(merge.token) == joined
        assert not any(pair in merges for pair in pairwise(word.ids))
