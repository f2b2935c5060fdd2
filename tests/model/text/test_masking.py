"""What a model that fills in is to tell: the shares of Devlin et al. 2019, and what is never touched."""

from __future__ import annotations

import random

import pytest

from model.config import END, PAD, START
from model.text.masking import Masking
from model.text.sentence_pairs import FOLLOWS, NOTHING, Books, Rows, alike, read_sentences
from model.text.tokenizer import Tokenizer
from tests.support import tiny

DRAWS = 3000


@pytest.fixture(scope="module")
def blanks() -> Tokenizer:
    return Tokenizer.train(tiny.SENTENCES, 300, blanks=True)


def within(count: int, of: int, share: float) -> bool:
    """True where a count is within four standard deviations of what is expected."""
    return abs(count - of * share) < 4 * (of * share * (1 - share)) ** 0.5


def test_the_shares_of_the_paper(blanks):
    ids = [START, *random.Random(1).choices(range(4, 300), k=60), END, PAD]
    masking, seen = Masking(blanks, 0.15), {"blank": 0, "kept": 0, "random": 0}
    for n in range(DRAWS // 9):
        made = masking.masked(ids, random.Random(n))
        places = [place for place, token in enumerate(made.told) if token != PAD]
        assert len(places) == 9 == round(0.15 * 60)
        assert not {0, 61, 62} & set(places)  # control tokens
        for place in range(len(ids)):
            if place not in places:
                assert made.read[place] == ids[place]
                continue
            assert made.told[place] == ids[place]
            kind = "blank" if made.read[place] == blanks.mask else "kept" if made.read[place] == ids[place] else "random"
            assert made.read[place] >= 3
            seen[kind] += 1
    total = sum(seen.values())
    for kind, share in (("blank", 0.8), ("kept", 0.1 + 0.1 / 296), ("random", 0.1 - 0.1 / 296)):
        assert within(seen[kind], total, share), (kind, seen)


def test_whole_words_are_told_whole(blanks):
    ids = [START, *blanks.encode("The zebra qwxyz sees an unheard-of wonder near the boat, and the king."), END]
    words, masking = blanks.words(ids), Masking(blanks, 0.15, whole_words=True)
    longer = 0
    for n in range(200):
        places = masking.chosen(ids, random.Random(n))
        chosen = {words[place] for place in places}
        assert sorted(places) == [place for place, word in enumerate(words) if word in chosen]
        assert len(places) <= masking.count(len(ids) - 2) or len(chosen) == 1
        longer += len(places) > len(chosen)
    assert longer


# -- pairs -------------------------------------------------------------------------------------------------------------


def made_up(book: int, count: int) -> list[list[int]]:
    """Sentences that name their book and their number."""
    return [[10 + book, 20 + n % 100, 120 + n // 100] for n in range(count)]


def test_half_of_the_pairs_follow_within_one_book():
    books = Books([made_up(0, 1500), made_up(1, 1500)])
    rows = books.rows("key")
    labels = [row.label for row in rows]
    assert within(labels.count(NOTHING), 3000, 0.25) and len(rows) == 3000
    pairs = [row for row in rows if row.label != NOTHING]
    assert within(labels.count(FOLLOWS), len(pairs), 0.5)
    for n, row in enumerate(rows):
        book, number = divmod(n, 1500)
        assert row.ids[:5] == [START, *books.books[book][number], END]
        if row.label == NOTHING:
            assert len(row.ids) == 5
            continue
        second = books.books[book].index(row.ids[5:-1])  # of the same book
        assert row.ids[-1] == END and (second == number + 1) == (row.label == FOLLOWS)
    assert rows == books.rows("key") != books.rows("other")
    assert {row.label for row in books.rows("key", pairs=False)} == {NOTHING}


def test_rows_come_in_batches_of_like_length(blanks):
    books = Books.encode([tiny.SENTENCES], blanks)
    rows = Rows(books.rows("key"), Masking(blanks, 0.15), "key/blanks")
    batches = rows.batches(200, 1, 0)
    assert sorted(n for batch in batches for n in batch) == list(range(len(rows)))
    for indices in batches:
        batch = rows.batch(indices)
        assert batch.source.numel() <= 200 and batch.source.shape == batch.outputs.shape
        assert int((batch.outputs != PAD).sum()) == rows.tokens(indices)
        assert batch.labels.tolist() == [rows.rows[n].label for n in indices]
    assert batches == rows.batches(200, 1, 0) != rows.batches(200, 1, 1)
    with pytest.raises(ValueError, match="a batch holds 3 tokens, a text has 9; give a larger batch_tokens"):
        alike([9, 1], 3, "key")


def test_sentences_are_read_in_their_order(tmp_path):
    (tmp_path / "book.txt").write_text("The fox sees. It is red!\n\nMr. King paints.\n", encoding="utf-8")
    assert read_sentences(tmp_path / "book.txt") == ["The fox sees.", "It is red!", "Mr. King paints."]
