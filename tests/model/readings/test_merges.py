"""How a text becomes tokens: the merges lead to the tokenizer's own ids, each the earliest learned of those there are."""

from __future__ import annotations

import random
import unicodedata
from itertools import pairwise

import pytest
from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, pre_tokenizers

from model.checkpoint import find
from model.config import CONTROL_TOKENS
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


def test_random_text_too(shipped, tokenizer):
    draw = random.Random(4)
    parts = [
        "L'",
        "qu’",
        "'",
        "’t",
        " ",
        "\n",
        "owl",
        "étoile",
        "e\u0301",
        "unbe",
        "s",
        "1",
        "2024",
        ".",
        "🦊",
        "世",
        "</s>",
    ]
    for each in (shipped, tokenizer):
        for _ in range(150):
            text = "".join(draw.choice([*parts, chr(draw.randrange(0xD800))]) for _ in range(draw.randrange(12)))
            assert list(cut(each, text).ids) == each.encode(text)


def test_each_step_joins_the_earliest_learned_pair_the_leftmost_first(shipped):
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


def test_ranks_count_from_the_first_that_was_learned(shipped):
    merges = learned(shipped)
    assert sorted(rank for rank, _ in merges.values()) == list(range(1, shipped.size - 256 - len(CONTROL_TOKENS) + 1))
    tokens = [token for _, token in sorted(merges.values())]
    assert tokens == sorted(tokens)  # the vocabulary grew in that order


def test_the_word_after_an_elision_is_lent_a_space(shipped):
    elided, word = cut(shipped, "L'animal").words
    assert (elided.lent, word.lent) == (False, True)
    assert shipped.piece(word.start[0]) == "·" and word.ids == cut(shipped, "un animal").words[1].ids


def _with(model) -> Tokenizer:
    backend = Backend(model)
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.ByteLevel(), decoders.ByteLevel()
    return Tokenizer(backend)


CONTROLS = dict(zip(CONTROL_TOKENS, range(3), strict=True))


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (models.WordLevel(CONTROLS, "<pad>"), "The tokenizer is a WordLevel model; expected byte-pair encoding"),
        (models.BPE(CONTROLS, [], dropout=0.5), "has dropout = 0.5; expected merges alone"),
        (models.BPE(CONTROLS, []), "no token for the byte 21; expected one for each of 256"),
    ],
)
def test_a_tokenizer_without_merges_of_bytes_is_refused(model, said):
    with pytest.raises(ValueError, match=said):
        cut(_with(model), "owl")
