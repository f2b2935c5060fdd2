"""Masking by the shares of Devlin et al. 2019, and windows of texts."""

from __future__ import annotations

import gzip
import random

import pytest

from model.config import END, MAX_TOKENS, PAD, START
from model.text.tokenizer import Tokenizer
from model.workshop.corpus.corpus import DataError
from model.workshop.corpus.sentence_pairs import FOLLOWS, IGNORE_INDEX, Books
from model.workshop.corpus.windows import Masking, Texts, read_paragraphs
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
        made = masking.mask(ids, random.Random(n))
        places = [place for place, token in enumerate(made.targets) if token != PAD]
        assert len(places) == 9 == round(0.15 * 60)
        assert not {0, 61, 62} & set(places)  # control tokens
        for place in range(len(ids)):
            if place not in places:
                assert made.input_ids[place] == ids[place]
                continue
            assert made.targets[place] == ids[place]
            assert made.input_ids[place] >= 3
            seen[{blanks.mask: "blank", ids[place]: "kept"}.get(made.input_ids[place], "random")] += 1
    total = sum(seen.values())
    for kind, share in (("blank", 0.8), ("kept", 0.1 + 0.1 / 296), ("random", 0.1 - 0.1 / 296)):
        assert within(seen[kind], total, share), (kind, seen)


def test_whole_words_are_told_whole(blanks):
    ids = [START, *blanks.encode("The zebra qwxyz sees an unheard-of wonder near the boat, and the king."), END]
    words, masking = blanks.word_numbers(ids), Masking(blanks, 0.15, whole_words=True)
    longer = 0
    for n in range(200):
        places = masking.choose_positions(ids, random.Random(n))
        chosen = {words[place] for place in places}
        assert sorted(places) == [place for place, word in enumerate(words) if word in chosen]
        assert len(places) <= masking.target_count(len(ids) - 2) or len(chosen) == 1
        longer += len(places) > len(chosen)
    assert longer


def made_up(book: int, count: int) -> list[list[int]]:
    """Sentences that name their book and their number."""
    return [[10 + book, 20 + n % 100, 120 + n // 100] for n in range(count)]


def test_half_of_the_pairs_follow_within_one_book():
    books = Books([made_up(0, 1500), made_up(1, 1500)])
    rows = books.rows("key")
    labels = [row.label for row in rows]
    assert within(labels.count(IGNORE_INDEX), 3000, 0.25) and len(rows) == 3000
    pairs = [row for row in rows if row.label != IGNORE_INDEX]
    assert within(labels.count(FOLLOWS), len(pairs), 0.5)
    for n, row in enumerate(rows):
        book, number = divmod(n, 1500)
        assert row.ids[:5] == [START, *books.books[book][number], END]
        if row.label == IGNORE_INDEX:
            assert len(row.ids) == 5
            continue
        second = books.books[book].index(row.ids[5:-1])  # of the same book
        assert row.ids[-1] == END and (second == number + 1) == (row.label == FOLLOWS)
    assert rows == books.rows("key") != books.rows("other")
    assert {row.label for row in books.rows("key", pairs=False)} == {IGNORE_INDEX}


TEXTS = [[source for source, _ in tiny.PAIRS], [target for _, target in tiny.PAIRS[:9]]]


@pytest.fixture(scope="module")
def texts(tokenizer) -> Texts:
    return Texts.encode(TEXTS, tokenizer)


def test_paragraphs_are_lines_packed_or_not(tmp_path):
    lines = "\ufeffThe fox. \r\n\r\n\n  cafe\u0301\nend"
    (tmp_path / "a.txt").write_text(lines, encoding="utf-8", newline="")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(lines.encode()))
    expected = ["The fox.", "café", "end"]
    assert read_paragraphs(tmp_path / "a.txt") == read_paragraphs(tmp_path / "b.txt.gz") == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no paragraph; expected text, one paragraph a line"),
        (b"\n \n\t\n", "no paragraph"),
        (b"ok\ncaf\xe9\n", "line 2: the byte 0xe9 is no UTF-8; save the file as UTF-8"),
        (b"ok" + b"\n" * 1100, "line 1002: more than 1,000 empty lines in a row"),
        (b"ok\n\0\n", "line 2: it contains a NUL byte"),
        (b"ok\n" + b"q " * 15_000, "line 2: 29,999 characters without a line end; expected paragraphs, one a line"),
    ],
)
def test_a_file_that_is_no_text(tmp_path, content, message):
    (tmp_path / "text.txt").write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_paragraphs(tmp_path / "text.txt")
    assert str(caught.value).startswith(str(tmp_path / "text.txt"))
    (tmp_path / "text.txt.gz").write_bytes(content)
    with pytest.raises(DataError, match=r"; expected a readable \.txt, \.txt\.gz or \.zip file|no paragraph"):
        read_paragraphs(tmp_path / "text.txt.gz")


def test_a_text_is_its_paragraphs_with_their_ends(texts, tokenizer):
    assert [tokenizer.decode(token for token in stream if token != END) for stream in texts.streams] == [
        "".join(text) for text in TEXTS
    ]
    assert texts.streams[0].count(END) == len(TEXTS[0])
    assert texts.paragraphs == sum(map(len, TEXTS))
    assert texts.characters == sum(len("\n".join(text)) + 1 for text in TEXTS)


@pytest.mark.parametrize("shifts", [(0, 0), (1, 127), (50, 3)])
def test_windows_hold_every_token_once(texts, shifts):
    found = texts.windows(shifts).targets
    for stream, shift in zip(texts.streams, shifts, strict=True):
        own = []
        while sum(map(len, own)) < len(stream):
            own.append(found.pop(0))
        assert [token for window in own for token in window] == stream
        assert len(own[0]) == min(shift or MAX_TOKENS, len(stream))
        assert all(len(window) == MAX_TOKENS for window in own[1:-1])
    assert found == []


def test_an_epoch_is_cut_by_seed_and_number_alone(texts):
    first = [texts.shifted(3, epoch).targets for epoch in (0, 1, 0)]
    assert first[0] == first[2] != first[1]
    assert texts.shifted(4, 0).targets != first[0]
    windows = texts.shifted(3, 0)
    batches = [windows.batches(300, 3, epoch) for epoch in (0, 1, 0)]
    assert batches[0] == batches[2] != batches[1]
    assert sorted(row for batch in batches[0] for row in batch) == list(range(len(windows)))
    assert all(len(batch) * MAX_TOKENS <= 300 for batch in batches[0])
