"""Paragraphs of files, and the windows that are cut from them."""

from __future__ import annotations

import gzip

import pytest

from model.config import END, MAX_TOKENS
from model.text.corpus import DataError
from model.text.windows import Texts, Windows, read_paragraphs
from tests.support import tiny

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
        (b"", "no paragraph in it; expected text, one paragraph a line"),
        (b"\n \n\t\n", "no paragraph in it"),
        (b"ok\ncaf\xe9\n", "line 2: the byte 0xe9 is no UTF-8; save the file as UTF-8"),
        (b"ok" + b"\n" * 1100, "line 1002: more than 1,000 empty lines one after the other"),
        (b"ok\n\0\n", "line 2: a NUL byte is in it"),
        (b"ok\n" + b"q " * 15_000, "line 2: 29,999 characters without a line end; expected paragraphs, one a line"),
    ],
)
def test_a_file_that_is_no_text(tmp_path, content, message):
    (tmp_path / "text.txt").write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_paragraphs(tmp_path / "text.txt")
    assert str(caught.value).startswith(str(tmp_path / "text.txt"))
    (tmp_path / "text.txt.gz").write_bytes(content)
    with pytest.raises(DataError, match=r"; expected a readable \.txt, \.txt\.gz or \.zip file|no paragraph in it"):
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


def test_a_batch_too_small_for_a_window():
    with pytest.raises(ValueError, match=r"^a batch holds 5 tokens, a window has 6; give a larger batch_tokens$"):
        Windows([[4] * 6]).batches(5, 0, 0)
