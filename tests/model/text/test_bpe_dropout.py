"""Words that training cuts in other ways than the usual one."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from model.config import END, MAX_TOKENS
from model.text.augmented import Joins
from model.text.bpe_dropout import APOSTROPHES, Dropout, Dropped
from model.text.corpus import Corpus
from tests.support import tiny

TEXTS = [*tiny.SENTENCES[:8], *(text for pair in tiny.ODD_PAIRS for text in pair), "", "’", "a 1234 “b”  c", "l'l'é"]


def test_without_dropout_a_text_is_cut_as_ever(tokenizer):
    assert [Dropout(tokenizer, 0.0).encode(text, random.Random(1)) for text in TEXTS] == tokenizer.encode_batch(TEXTS)


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_what_is_cut_otherwise_is_the_same_text(tokenizer, share):
    dropout, draw = Dropout(tokenizer, share), random.Random(1)
    for text in TEXTS * 5:
        found = dropout.encode(text, draw)
        assert tokenizer.decode(found) == tokenizer.decode(tokenizer.encode(text)) == text
        if share == 1:
            pieces = tokenizer.cut(text)
            kept = [piece.read.endswith(APOSTROPHES) for piece in pieces]
            whole = sum(len(piece.ids) if ends else len(piece.read) for piece, ends in zip(pieces, kept, strict=True))
            assert len(found) == whole


def test_word_is_cut_as_often_as_the_algorithm_says(tokenizer):
    merges = tokenizer.merges()
    one, other = next(pair for pair in merges if max(pair) < 3 + 256)  # of two bytes
    read = "".join(tokenizer._backend.id_to_token(token) for token in (one, other))
    dropout, draw = Dropout(tokenizer, 0.3), random.Random(5)
    found = Counter(len(dropout._merged(dropout.path(read), draw.random)) for _ in range(4000))
    assert found[2] / 4000 == pytest.approx(0.3, abs=0.03)  # four standard errors
    assert set(found) == {1, 2}


def test_a_row_follows_from_its_number_and_the_key_alone(tokenizer):
    corpus, dropout = Corpus.encode(tiny.PAIRS, tokenizer, tokenizer), Dropout(tokenizer, 0.3)
    rows = [3, 1, 2, 40]
    one, two = (Dropped(corpus, dropout, dropout, "1/0") for _ in range(2))
    whole = [two.row(n) for n in range(len(corpus))]
    assert [one.row(n) for n in rows] == [whole[n] for n in rows]
    assert whole != [Dropped(corpus, dropout, dropout, "1/1").row(n) for n in range(len(corpus))]
    batch = one.batch(rows)
    for n, source, target in zip(rows, batch.source.tolist(), batch.outputs.tolist(), strict=True):
        assert tokenizer.decode(source) == tiny.PAIRS[n][0] and tokenizer.decode(target) == tiny.PAIRS[n][1]
        assert END in source and END in target
    assert one.tokens(rows) == sum(len(whole[n][1]) for n in rows) > corpus.tokens(rows)


def test_joined_pairs_are_cut_too_unless_too_long(tokenizer):
    joins = Joins.encode(Corpus.encode(tiny.PAIRS, tokenizer, tokenizer), tiny.PAIRS, tokenizer, tokenizer)
    corpus, dropout = joins.with_joined(0.9, 1, 0), Dropout(tokenizer, 0.9)
    dropped, changed = Dropped(corpus, dropout, dropout, "1/0"), set()
    for n, usual in enumerate(zip(corpus.sources, corpus.targets, strict=True)):
        for row, ids in zip(dropped.row(n), usual, strict=True):
            assert tokenizer.decode(row) == tokenizer.decode(ids) and len(row) <= MAX_TOKENS
            changed.add(row != ids)
    assert changed == {True, False}
