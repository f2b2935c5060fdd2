"""What is read of files that come from outside."""

from __future__ import annotations

import json
import os

import pytest

from model.files import FileError, opened, parsed, read_bytes, read_text, shown


def test_a_value_from_outside_stands_on_one_short_line():
    assert shown("a\nb") == r"'a\nb'"
    assert shown("x" * 10**6) == f"'{'x' * 27}...{'x' * 28}'"
    assert len(shown([[["x" * 10**6] * 99] * 99] * 99)) < 210
    assert shown(10**30) == str(10**30)
    assert len(shown(10**400)) < 70


@pytest.mark.parametrize("text", ["1", "[1.5, null]", '{"a": "\\ud83d\\ude00"}', "[" * 49 + "]" * 49])
def test_plain_json_is_read(text):
    assert parsed(text.encode()) == json.loads(text)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"[" * 200_000, "more than 50 lists or objects within one another"),
        (b"[" * 51 + b"]" * 51, "more than 50 lists or objects within one another"),
        (b"NaN", "NaN is no number"),
        (b"-Infinity", "-Infinity is no number"),
        (b"1e999", "1e999 is too large a number"),
        (b'"\\ud800"', r"U\+D800 in it is half a character"),
        (b'{"\\udfff": 1}', r"U\+DFFF in it is half a character"),
        (b"\xff", "the byte 0xff at 0 is no UTF-8"),
        (b"9" * 5000, "4300 digits"),
        (b"", "Expecting value"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_plain_json_is_refused(raw, message):
    with pytest.raises(ValueError, match=message):
        parsed(raw)


def test_only_regular_files_of_a_size_are_read(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_bytes(path, 5) == b"12345"
    with pytest.raises(FileError, match=r"file has 5 bytes; expected at most 4"):
        opened(path, 4)
    path.write_bytes(b"caf\xe9")
    with pytest.raises(FileError, match="file: the byte 0xe9 at 3 is no UTF-8"):
        read_text(path, 5)
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "/dev/zero", "."):
        with pytest.raises(FileError, match=r"(is no regular file, but a device|cannot be read)"):
            read_bytes(tmp_path / name, 5)
    with pytest.raises(FileNotFoundError):
        opened(tmp_path / "nowhere", 5)
