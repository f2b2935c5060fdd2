"""Files and zips from outside are read or refused in one sentence; number limits and number formats."""

from __future__ import annotations

import io
import json
import math
import os
import re
import stat
import zipfile
from pathlib import Path

import pytest

from model.checkpoint import load
from model.io import numbers
from model.io.archive import unpack
from model.io.files import MEGABYTE, FileError, is_number, open_file, parse_json, read_bytes, read_text, short_repr


def test_a_value_from_outside_stands_on_one_short_line():
    assert short_repr("a\nb") == r"'a\nb'"
    assert short_repr("x" * 10**6) == f"'{'x' * 27}...{'x' * 28}'"
    assert len(short_repr([[["x" * 10**6] * 99] * 99] * 99)) < 210
    assert short_repr(10**30) == str(10**30)
    assert len(short_repr(10**400)) < 70


@pytest.mark.parametrize("text", ["1", "[1.5, null]", '{"a": "\\ud83d\\ude00"}', "[" * 49 + "]" * 49])
def test_plain_json_is_read(text):
    assert parse_json(text.encode()) == json.loads(text)


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
        parse_json(raw)


def test_only_regular_files_of_a_size_are_read(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_bytes(path, 5) == b"12345"
    with pytest.raises(FileError, match=r"file has 5 bytes; expected at most 4"):
        open_file(path, 4)
    path.write_bytes(b"caf\xe9")
    with pytest.raises(FileError, match="file: the byte 0xe9 at 3 is no UTF-8"):
        read_text(path, 5)
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "/dev/zero", "."):
        with pytest.raises(FileError, match=r"(is no regular file, but a device|cannot be read)"):
            read_bytes(tmp_path / name, 5)
    with pytest.raises(FileNotFoundError):
        open_file(tmp_path / "nowhere", 5)


@pytest.mark.parametrize("value", [0, 0.0, -0.0, 1, 0.5, 1.0, 1e-300])
def test_a_number_within_its_bounds(value):
    assert is_number(value, 0, 1)


@pytest.mark.parametrize(
    "value", [-1, 2, -1e-9, 1 + 1e-9, 10**400, -(10**400), math.nan, math.inf, True, False, "1", None, [1], 1j]
)
def test_what_is_no_number_or_beyond_its_bounds(value):
    assert not is_number(value, 0, 1)


def test_without_an_end_it_must_still_be_finite():
    assert not is_number(math.inf, 0, math.inf) and is_number(1e308, 0, math.inf)


ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("write", "values", "expected"),
    [
        (numbers.decimal, (-0.5, 0.0, 12.345), ["−0.50", "0.00", "12.35"]),
        (numbers.probability, (0.0, 0.004, 0.5, 0.9901, 1.0), ["0.00", "<0.01", "0.50", ">0.99", "1.00"]),
        (numbers.signed, (0.698, -15.92, 9.996, -1e-9, 0.0), ["+0.698", "−15.9", "+10.0", "0.00", "0"]),
        (numbers.three_digits, (1.2345, -0.0456, 0.0, 1234.5, math.inf), ["1.23", "−0.046", "0", "1,234", "–"]),
        (numbers.scientific, (4.41e-8, -2e12, 0.0134, 0.0), ["4.4\u00a0×\u00a010⁻⁸", "−2\u00a0×\u00a010¹²", "0.013", "0"]),
        (numbers.count_in_words, (0, 1, 1200), ["never", "once", "1,200 times"]),
    ],
)
def test_numbers_as_they_are_read(write, values, expected):
    assert [write(value) for value in values] == expected


def test_the_minus_is_put_in_one_place():
    modules = [path for folder in ("model", "viz") for path in (ROOT / folder).rglob("*.py")]
    found = {path.name for path in modules if re.search(r"""replace\(\s*["']-["'],\s*["']−""", path.read_text("utf-8"))}
    assert found == set()
    assert "−" in numbers.decimal(-1)


CONFIG = {"config.json": b"{}"}
NOISE = bytes(range(256)) * 8


def packed(files: dict[str, bytes], how: int = zipfile.ZIP_DEFLATED, mode: int = 0) -> bytes:
    """A zip of these entries; `mode` is that of the last."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", how) as out:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = how
            entry.external_attr = (mode if name == list(files)[-1] else 0) << 16
            out.writestr(entry, content)
    return made.getvalue()


def told(content: bytes, place: Path, most: int = 4 * MEGABYTE) -> str:
    with pytest.raises(FileError) as fault:
        unpack(io.BytesIO(content), place, most)
    return str(fault.value)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


@pytest.mark.parametrize("prefix", ["", "mine/", "a/b/mine/"])
@pytest.mark.parametrize("how", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_checkpoint_unpacks_without_other_files(saved, place, prefix, how):
    files = {path.name: path.read_bytes() for path in saved.iterdir()} | {"probes.npz": NOISE}
    also = {"__MACOSX/mine/config.json": b"x", f"{prefix}pytorch_model.bin": b"x", f"{prefix}deeper/model.safetensors": b"x"}
    digest = unpack(
        io.BytesIO(packed({f"{prefix}{name}": content for name, content in files.items()} | also, how)), place, 10**8
    )
    assert {path.name: path.read_bytes() for path in place.iterdir()} == files
    assert load(str(place)).config == load(str(saved)).config
    other = place.parent / "other"
    other.mkdir()
    again = unpack(io.BytesIO(packed(dict(reversed(files.items())))), other, 10**8)
    assert again == digest  # of the files, however they are packed
    (other / "config.json").unlink()


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x", "C:/x", "a\\..\\x", "..", "C:x", "\\\\host\\x", "x\0y"])
def test_no_entry_leads_out_of_the_folder(place, name):
    raw = packed(CONFIG | {"QQ" + "Q" * (len(name) - 2) if len(name) > 1 else name: b"x"})
    raw = raw.replace(b"QQ" + b"Q" * (len(name) - 2), name.encode())
    assert "outside its folder" in told(raw, place)
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_no_link_and_no_device(place, kind):
    assert "is a link or a device" in told(packed(CONFIG | {"model.safetensors": b"/etc/passwd"}, mode=kind | 0o777), place)
    assert list(place.iterdir()) == []


def test_damaged_or_locked_zip_is_refused(place):
    whole = packed(CONFIG | {"README.md": NOISE}, zipfile.ZIP_STORED)
    assert "incomplete zip" in told(whole[:-40], place)
    assert "is not a zip" in told(b"\x89PNG\r\n", place)
    assert "is not a zip" in told(b"", place)
    locked = bytearray(whole)
    locked[whole.index(b"PK\x01\x02") + 8] |= 1
    assert "password" in told(bytes(locked), place)
    damaged = whole.replace(NOISE, bytes(len(NOISE)), 1)
    assert "damaged README.md" in told(damaged, place)


def test_false_size_of_an_entry_is_refused(place):
    whole = packed(CONFIG | {"README.md": NOISE}, zipfile.ZIP_DEFLATED)
    listed = whole.rindex(b"PK\x01\x02") + 24
    for size in (len(NOISE) - 1, len(NOISE) + 1, 2**31):
        lie = whole[:listed] + size.to_bytes(4, "little") + whole[listed + 4 :]
        assert told(lie, place).startswith(("contains a", "unpacks"))
        for path in place.iterdir():
            path.unlink()


def test_a_full_disk_is_said_and_leaves_nothing_of_that_file(place, monkeypatch):
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("model.io.archive.hashlib.sha256", lambda: type("Sum", (), {"update": full})())
    assert "the disk of the server is full" in told(packed(CONFIG), place)
    assert list(place.iterdir()) == []
