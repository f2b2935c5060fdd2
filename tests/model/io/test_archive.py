"""A checkpoint in a zip: unpacked whole, or refused with a sentence, and never written where it should not be."""

from __future__ import annotations

import io
import stat
import zipfile
from pathlib import Path

import pytest

from model.checkpoint import load
from model.io.archive import unpack
from model.io.files import MEGABYTE, FileError

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
