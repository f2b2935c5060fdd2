"""Files of pairs are read or refused in one sentence; pairs as groups, copies, counts and batches of tokens."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from model.config import END, MAX_CHARACTERS, MAX_TOKENS
from model.text.corpus_stats import CorpusStats
from model.workshop.corpus import corpus
from model.workshop.corpus.corpus import Corpus, DataError, file_hash, read_pairs, targets_by_source, with_typeset_copies


def test_targets_are_grouped_by_source_in_order():
    groups = targets_by_source([("b", "1"), ("a", "2"), ("b", "3"), ("b", "1")])
    assert list(groups.items()) == [("b", ["1", "3", "1"]), ("a", ["2"])]


def test_pairs_over_the_limit_are_left_out_and_counted(tokenizer):
    fits, over = "q" * (MAX_TOKENS - 1), "q" * MAX_TOKENS
    corpus = Corpus.encode([(fits, "a"), (over, "a"), ("a", fits), ("a", over)], tokenizer, tokenizer)
    assert (len(corpus), corpus.too_long) == (2, 2)
    assert max(map(len, corpus.sources + corpus.targets)) == MAX_TOKENS
    huge = Corpus.encode([("q" * (MAX_CHARACTERS + 1), "a"), ("a", "b")], tokenizer, tokenizer)  # never tokenised
    assert (len(huge), huge.too_long) == (1, 1)
    with pytest.raises(ValueError, match=r"^a text has 20,001 characters; expected at most 20,000$"):
        tokenizer.encode("q" * (MAX_CHARACTERS + 1))


def uneven_corpus(count: int = 200) -> Corpus:
    draw = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, 40, (count, 2), generator=draw).tolist()
    return Corpus([[5] * (s - 1) + [END] for s, _ in lengths], [[6] * (t - 1) + [END] for _, t in lengths], 0)


@pytest.mark.parametrize("tokens", [40, 64, 300, 10**6])
def test_batches_cover_every_pair_once_within_the_budget(tokens):
    corpus = uneven_corpus()
    batches = corpus.batches(tokens, seed=1, epoch=0)
    assert sorted(i for batch in batches for i in batch) == list(range(200))
    for indices in batches:
        batch = corpus.batch(indices)
        assert max(batch.source.numel(), batch.outputs.numel()) <= tokens


def test_batches_depend_on_seed_and_epoch_alone():
    corpus = uneven_corpus()
    first = corpus.batches(100, seed=1, epoch=0)
    assert corpus.batches(100, seed=1, epoch=0) == first == uneven_corpus().batches(100, seed=1, epoch=0)
    others = [corpus.batches(100, seed=s, epoch=e) for s, e in ((1, 1), (2, 0))]
    assert len({str(b) for b in (first, *others)}) == 3
    assert {len(b) for b in others} == {len(first)}  # so that the number of steps is known before training


def test_a_sentence_over_the_budget_is_refused():
    corpus = Corpus([[5] * 9], [[5] * 3], 0)
    with pytest.raises(ValueError, match="a batch holds 8 tokens, a sentence has 9; give a larger batch_tokens"):
        corpus.batches(8, seed=1, epoch=0)


def test_pairs_are_counted_with_their_own_vocabulary(tokenizer):
    pairs = [("The old king's café.", "Lo roda."), ("The king", "Lo roda vechu mira una lumel.")]
    corpus = Corpus.encode(pairs, tokenizer, tokenizer)
    seen = CorpusStats.count(corpus.sources, corpus.targets, tokenizer)
    assert seen.words == {"The": 2, "old": 1, "king's": 1, "café": 1, ".": 1, "king": 1}
    for side, texts in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
        lengths = [len([*tokenizer.encode(text), END]) for text in texts]
        assert seen.lengths[side].histogram == tuple(np.bincount(lengths).tolist())
    assert CorpusStats.from_dict(json.loads(json.dumps(seen.to_dict()))) == seen
    part = CorpusStats.count(corpus.sources, corpus.targets, tokenizer, counted_sources=1)
    assert part.lengths == seen.lengths and part.words == {"The": 1, "old": 1, "king's": 1, "café": 1, ".": 1}


def test_typeset_copies_follow_the_pairs():
    pairs = [(f"It's {n}.", f"L'es {n}.") for n in range(41)] + [("No mark.", "L'x.")]
    copies = with_typeset_copies(pairs)
    assert copies[:42] == pairs
    assert copies[42:] == [("It’s 0.", "L'es 0."), ("It’s 20.", "L'es 20."), ("It’s 40.", "L'es 40.")]
    assert len(with_typeset_copies(pairs, share=1)) == 42 + 41
    assert with_typeset_copies([("a", "b")]) == [("a", "b")]


PAIRS = [("The fox.", "Lo varun."), ("A café…", "Una kafé…"), ("It's old.", "Es vechu.")]
TEXT = "".join(f"{s}\t{t}\n" for s, t in PAIRS)


def written(tmp_path: Path, content: str | bytes, name: str = "pairs.tsv") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def zipped(tmp_path: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(tmp_path / "pairs.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return tmp_path / "pairs.zip"


def refused(path: Path, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read_pairs(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        TEXT.removesuffix("\n"),
        TEXT + "\n\n",
        TEXT.replace("\n", "\r\n"),
        TEXT.replace("\n", "\tCC-BY 2.0 (made up)\tmore\n"),
        codecs.BOM_UTF8 + TEXT.encode(),
        codecs.BOM_UTF8 + TEXT.replace("\n", "\r\n").encode(),
        TEXT.replace("\t", " \t "),
    ],
    ids=["plain", "no last newline", "empty end", "CRLF", "more columns", "BOM", "BOM and CRLF", "blanks"],
)
def test_plain_files(tmp_path, content):
    assert read_pairs(written(tmp_path, content)) == PAIRS


@pytest.mark.parametrize("name", ["fra.txt", "pairs.tsv", "folder/fra.txt"])
def test_zip_archives_are_read_without_other_files(tmp_path, name):
    assert read_pairs(zipped(tmp_path, {"_about.txt": "About this file.\n", name: TEXT, "x.png": "no"})) == PAIRS


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no pair; expected at least one line of source TAB target"),
        ("\n\n", "no pair"),
        ("a\tb\nno tab\n", "line 2: no tab; expected source TAB target on every line"),
        ("a\tb\n\nc\td\n", "line 2: the line is empty; expected source TAB target. Remove the line"),
        ("a\tb\n \n\nc\td\n", "line 2: the line is empty"),
        ("a\tb\n\tc\n", r"line 2: the source \(column 1\) is empty; expected a sentence on both sides"),
        ("a\t\tc\n", r"line 1: the target \(column 2\) is empty"),
        ("a\tb\rc\td\r", "line 1: a carriage return inside it, as in old Mac files; save the file as plain text"),
        ("a\tb\nc\0\td\n", "line 2: it contains a NUL byte"),
    ],
)
def test_a_bad_line_is_named(tmp_path, content, message):
    refused(written(tmp_path, content), message)


READABLE = r"; expected a readable \.tsv, \.tsv\.gz or \.zip file"


def test_a_missing_file_and_a_folder(tmp_path):
    refused(tmp_path / "none.tsv", "No such file or directory" + READABLE)
    for name in ("none.gz", "none.zip"):
        refused(tmp_path / name, "No such file")
    refused(tmp_path, "Is a directory" + READABLE)


def test_an_encrypted_archive(tmp_path):
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        archive.writestr("fra.txt", TEXT)
    content = bytearray(raw.getvalue())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # the flag that says so, in both headers
        content[content.index(mark) + offset] |= 1
    refused(written(tmp_path, bytes(content), "pairs.zip"), "encrypted.*" + READABLE)


@pytest.mark.parametrize("kind", ["tsv", "gz", "zip", "GZ"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\tb\n" * 2000, "line 1001: more than 1,000 pairs; use a part of the file"),
        (b"a\tb\n" + b"\n" * 2000, "line 2: more than 100 empty lines follow"),
        (b"a\t" + b"b" * 90_000, "line 1: more than 20,000 bytes without a line end"),
        (b"a\t" + b"b" * 9000 + b"\n" + b"a\tb\n" * 900, r"line \d+: more than 10,000 bytes, unpacked; expected no more"),
    ],
    ids=["pairs", "blank", "line", "bytes"],
)
def test_what_unpacks_to_more_than_there_is_room_for(tmp_path, monkeypatch, kind, content, message):
    bounds = {"MAX_PAIRS": 1000, "MAX_BLANK": 100, "MAX_LINE": 20_000}
    for name, value in (bounds | {"MAX_BYTES": 10_000 if "unpacked" in message else 1 << 32}).items():
        monkeypatch.setattr(corpus, name, value)
    path = tmp_path / f"bomb.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("bomb.tsv", content)
    else:
        path.write_bytes(gzip.compress(content) if kind.lower() == "gz" else content)
    refused(path, message)


def test_an_endless_device_is_refused():
    refused(Path("/dev/zero"), "line 1: more than 1,000,000 bytes without a line end")
    with pytest.raises(DataError, match="/dev/zero is no regular file"):
        file_hash(Path("/dev/zero"))
