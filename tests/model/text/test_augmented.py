"""Pairs that are made of others: typed copies and joined pairs."""

from __future__ import annotations

import random

import pytest

from model.config import END, MAX_TOKENS
from model.text.augmented import Joins, alone, with_typed_copies
from model.text.corpus import Corpus

PAIRS = [(f"The {noun} is {how}.", f"Le mot {noun} est {how}.") for noun in ("cat", "dog", "fox") for how in ("old", "red")]


@pytest.fixture
def joins(tokenizer) -> Joins:
    return Joins.encode(Corpus.encode(PAIRS, tokenizer, tokenizer), PAIRS, tokenizer, tokenizer)


def test_joined_pair_has_the_tokens_of_its_texts(joins, tokenizer):
    corpus = joins.with_joined(0.99, 1, 0)
    assert len(corpus) == 2 * len(PAIRS)
    whole = [[tokenizer.decode(row[:-1]) for row in side] for side in (corpus.sources, corpus.targets)]
    assert [whole[0][: len(PAIRS)], whole[1][: len(PAIRS)]] == [list(side) for side in zip(*PAIRS, strict=True)]
    for side, rows, texts in zip((0, 1), (corpus.sources, corpus.targets), whole, strict=True):
        for row, text in zip(rows, texts, strict=True):
            assert row == [*tokenizer.encode(text), END]
            parts = [part.strip() + "." for part in text.split(".") if part]
            assert 1 <= len(parts) <= 5
            assert set(parts) <= {pair[side] for pair in PAIRS}
    joined = zip(whole[0][len(PAIRS) :], whole[1][len(PAIRS) :], strict=True)
    target_of = dict(PAIRS)
    for source, target in joined:
        assert target == " ".join(target_of[part.strip() + "."] for part in source.split(".") if part)
        assert source.count(".") >= 2


def test_joined_pairs_follow_from_seed_and_epoch(joins):
    assert joins.with_joined(0.5, 1, 0) == joins.with_joined(0.5, 1, 0)
    assert joins.with_joined(0.5, 1, 0).sources != joins.with_joined(0.5, 1, 1).sources
    assert joins.with_joined(0.5, 1, 0).sources != joins.with_joined(0.5, 2, 0).sources


def test_no_joined_pair_is_longer_than_the_text_limit(tokenizer):
    long = [("so " * 20 + ".", "si " * 20 + ".")] * 4
    joins = Joins.encode(Corpus.encode(long, tokenizer, tokenizer), long, tokenizer, tokenizer)
    assert 5 * len(joins.sources[0]) > MAX_TOKENS > len(joins.sources[0])  # five of them are too long
    for sides in joins.drawn(20, random.Random(1)):
        assert all(len(row) <= MAX_TOKENS and row[-1] == END and END not in row[:-1] for row in sides)


def test_typed_copies_take_turns_and_keep_their_targets():
    assert with_typed_copies(PAIRS, 0) == PAIRS
    added = with_typed_copies(PAIRS, 1)[len(PAIRS) :]
    assert added[:4] == [
        ("the cat is old.", PAIRS[0][1]),
        ("The cat is red", PAIRS[1][1]),
        ("the dog is old", PAIRS[2][1]),
        ("The Dog Is Red", PAIRS[3][1]),
    ]
    apart = [("That's all I don't see.", "C'est tout."), ("I'm well, so we're well.", "Je vais bien.")] * 3
    assert with_typed_copies([*PAIRS[:4], *apart], 1)[10:16][4:] == [
        ("that's all I don't see", "C'est tout."),
        ("im well, so we're well", "Je vais bien."),  # "were" would be another word
    ]
    assert with_typed_copies([("ok", "d'accord")], 1) == [("ok", "d'accord")]  # nothing to change: no copy


def test_words_stand_alone_without_an_end_sign_on_either_side():
    pairs = [
        ("Sure, I see.", "Certes, je vois."),
        ("Three of them, then.", "Alors trois."),
        ("Sure, Ann, I see.", "Certes, Ann, je vois."),
        ("As far as I see, no.", "Je crois, non."),
        ("Look!", "Regarde !"),
        ("ok", "bien."),
    ]
    assert alone(pairs) == [("Sure", "Certes"), ("Look", "Regarde")]
    assert with_typed_copies(pairs, 0) == pairs and set(alone(pairs)) < set(with_typed_copies(pairs, 50))
