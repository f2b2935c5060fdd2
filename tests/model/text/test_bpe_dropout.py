"""Words that training cuts in other ways than the usual one."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from model.config import END, MAX_TOKENS, TrainConfig
from model.text.augmented import Joins
from model.text.bpe_dropout import APOSTROPHES, Dropout, Dropped
from model.text.corpus import Corpus
from model.training.epochs import Epochs
from tests.support import tiny

TEXTS = [*tiny.SENTENCES[:8], *(text for pair in tiny.ODD_PAIRS for text in pair), "", "’", "a 1234 “b”  c", "l'l'é"]


def test_without_dropout_a_text_is_cut_as_ever(tokenizer):
    assert [Dropout(tokenizer, 0.0).encode(text, random.Random(1)) for text in TEXTS] == tokenizer.encode_batch(TEXTS)


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_what_is_cut_otherwise_is_the_same_text(tokenizer, share):
    """Also behind an elision, whose next word is written with a space that the text has not."""
    dropout, draw = Dropout(tokenizer, share), random.Random(1)
    for text in TEXTS * 5:
        found = dropout.encode(text, draw)
        assert tokenizer.decode(found) == tokenizer.decode(tokenizer.encode(text)) == text
        if share == 1:
            pieces = tokenizer.cut(text)
            kept = [piece.read.endswith(APOSTROPHES) for piece in pieces]
            whole = sum(len(piece.ids) if ends else len(piece.read) for piece, ends in zip(pieces, kept, strict=True))
            assert len(found) == whole


def test_a_word_is_cut_as_often_in_each_way_as_the_algorithm_says(tokenizer):
    """A word of one merge has it left out in a share of the draws."""
    merges = tokenizer.merges()
    one, other = next(pair for pair in merges if max(pair) < 3 + 256)  # of two bytes
    read = "".join(tokenizer._backend.id_to_token(token) for token in (one, other))
    dropout, draw = Dropout(tokenizer, 0.3), random.Random(5)
    found = Counter(len(dropout._merged(dropout.path(read), draw.random)) for _ in range(4000))
    assert found[2] / 4000 == pytest.approx(0.3, abs=0.03)  # four standard errors
    assert set(found) == {1, 2}


def test_of_two_merges_in_a_row_the_second_can_only_follow_the_first(tokenizer):
    """A word of three letters: none is made in p of the draws, the first alone in (1 - p)p, both in (1 - p)^2."""
    dropout, draw, share = Dropout(tokenizer, 0.3), random.Random(5), 0.3

    def merges(word: str) -> list[int]:
        """How many merges can be next, from the letters on."""
        ids, found = tokenizer.byte_ids(tokenizer.cut(word)[0].read), []
        while after := dropout.after(ids):
            found.append(len(after))
            ids = after[0]
        return found

    words = (a + b + c for text in TEXTS for a, b, c in zip(text, text[1:], text[2:], strict=False) if (a + b + c).isalpha())
    word = next(word for word in words if len(tokenizer.cut(word)) == 1 and merges(word) == [1, 1])
    found = Counter(len(dropout.encode(word, draw)) for _ in range(4000))
    for length, expected in ((3, share), (2, (1 - share) * share), (1, (1 - share) ** 2)):
        assert found[length] / 4000 == pytest.approx(expected, abs=0.032), word  # four standard errors


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


def test_joined_pairs_are_cut_anew_too_and_a_row_that_would_be_too_long_is_left(tokenizer):
    joins = Joins.encode(Corpus.encode(tiny.PAIRS, tokenizer, tokenizer), tiny.PAIRS, tokenizer, tokenizer)
    corpus, dropout = joins.with_joined(0.9, 1, 0), Dropout(tokenizer, 0.9)
    dropped, changed = Dropped(corpus, dropout, dropout, "1/0"), set()
    for n, usual in enumerate(zip(corpus.sources, corpus.targets, strict=True)):
        for row, ids in zip(dropped.row(n), usual, strict=True):
            assert tokenizer.decode(row) == tokenizer.decode(ids) and len(row) <= MAX_TOKENS
            changed.add(row != ids)
    assert changed == {True, False}


def test_a_vocabulary_without_merges_is_told_in_the_words_of_the_command(tokenizer, monkeypatch):
    corpus, config = Corpus.encode(tiny.PAIRS, tokenizer, tokenizer), TrainConfig(bpe_dropout=0.1)
    assert Epochs(corpus, tiny.PAIRS, tokenizer, tokenizer, config).dropouts

    def without(self):
        raise ValueError("there is no list of merges that could be shown")

    monkeypatch.setattr(type(tokenizer), "merges", without)
    with pytest.raises(ValueError, match=r"--bpe-dropout is 0.1; expected 0, for the vocabulary .* has no list of merges"):
        Epochs(corpus, tiny.PAIRS, tokenizer, tokenizer, config)
