"""Files of pairs of sentences are read or refused in one sentence."""

from __future__ import annotations

import codecs
import gzip
import io
import zipfile
from pathlib import Path

import pytest

from model.workshop.corpus import corpus
from model.workshop.corpus.corpus import DataError, file_hash, read_pairs

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


def packed(tmp_path: Path, content: bytes, kind: str) -> Path:
    """The content as a file of a kind, which says by its name what it is."""
    path = tmp_path / f"bomb.{kind}"
    if kind == "gz":
        path.write_bytes(gzip.compress(content))
    elif kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("bomb.tsv", content)
    else:
        path.write_bytes(content)
    return path


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
    bounds = {
        "MAX_PAIRS": 1000,
        "MAX_BLANK": 100,
        "MAX_LINE": 20_000,
        "MAX_BYTES": 10_000 if "unpacked" in message else 1 << 32,
    }
    for name, value in bounds.items():
        monkeypatch.setattr(corpus, name, value)
    path = packed(tmp_path, content, kind.lower())
    refused(path.rename(path.with_suffix(f".{kind}")), message)


def test_an_endless_device_is_refused():
    refused(Path("/dev/zero"), "line 1: more than 1,000,000 bytes without a line end")
    with pytest.raises(DataError, match="/dev/zero is no regular file"):
        file_hash(Path("/dev/zero"))
