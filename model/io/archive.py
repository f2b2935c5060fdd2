"""Opens zips from outside, and unpacks a checkpoint that comes as one. No torch here.

The zip of a checkpoint holds its folder, or its files. Only files that a checkpoint may hold are written, each under its
plain name; nothing is executed, and none is a pickle. The sizes in a zip are claims, so the bytes are counted while
unpacking.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import stat
import zipfile
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from .files import DAMAGED, MEGABYTE, FileError, short_repr
from .folders import CONFIG, FILES

MAX_ENTRIES = 200  # files and folders in a zip; a checkpoint has 13
MAX_DIRECTORY = MEGABYTE // 4  # bytes of its list of entries
MAX_RATIO = 200  # unpacked to packed bytes of a file above 1 MB; weights hardly compress
_STEP = MEGABYTE
_IGNORED_NAMES = ("__MACOSX", ".DS_Store")  # what some systems pack with a folder


class _ReadLimiter:
    """A file that limits each read, so that the list of entries of a zip cannot be huge."""

    def __init__(self, raw: BinaryIO, advice: str) -> None:
        self.raw, self.max_bytes, self.advice = raw, MAX_DIRECTORY, advice

    def read(self, size: int = -1) -> bytes:
        if not self.max_bytes:
            return self.raw.read(size)
        data = self.raw.read(min(size, self.max_bytes + 1) if size >= 0 else self.max_bytes + 1)
        if len(data) > self.max_bytes:
            raise FileError(f"takes more than {self.max_bytes:,} bytes to list its entries. {self.advice}")
        return data

    def __getattr__(self, name: str) -> object:
        return getattr(self.raw, name)


def open_zip(raw: BinaryIO, advice: str) -> zipfile.ZipFile:
    """Opens a zip and reads its list of entries, which is of limited size.

    Raises FileError for another file; its text continues a sentence that begins with the zip's name. `advice` is a sentence
    that says what to do.
    """
    start = raw.read(4)
    raw.seek(0)
    narrow = _ReadLimiter(raw, advice)
    try:
        packed = zipfile.ZipFile(narrow)  # type: ignore[arg-type]
    except FileError:
        raise
    except DAMAGED:
        if start[:2] == b"PK":
            raise FileError("is an incomplete zip; download it again") from None
        raise FileError(f"is not a zip file. {advice}") from None
    narrow.max_bytes = 0
    return packed


def unpack(raw: BinaryIO, folder: Path, max_bytes: int) -> str:
    """Writes the checkpoint in a zip into an empty folder and returns the SHA-256 of its files, in hex.

    Raises FileError above `max_bytes` and for any fault; its text continues a sentence that begins with the zip's name. The
    folder may then hold some of the files.
    """
    with open_zip(raw, "Pack the checkpoint's folder as a zip") as packed:
        chosen = _checkpoint_entries(packed.infolist())
        if (size := sum(entry.file_size for entry in chosen.values())) > max_bytes:
            raise FileError(f"unpacks to {size / MEGABYTE:,.0f} MB; expected at most {max_bytes / MEGABYTE:,.0f} MB")
        bytes_left, digests = max_bytes, []
        for name, entry in sorted(chosen.items()):
            size, digest = _extract(packed, entry, folder / name, bytes_left)
            bytes_left -= size
            digests.append(f"{name} {digest}\n")
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def _checkpoint_entries(entries: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """Returns the files of the only checkpoint among the entries, by name; checks all entries."""
    if len(entries) > MAX_ENTRIES:
        raise FileError(f"contains {len(entries):,} files; expected one checkpoint, and {MAX_ENTRIES} at most")
    for entry in entries:
        _check_path(entry)
    files = [
        each for each in entries if not each.is_dir() and not set(_IGNORED_NAMES) & set(PurePosixPath(each.filename).parts)
    ]
    folders = [PurePosixPath(each.filename).parent for each in files if PurePosixPath(each.filename).name == CONFIG]
    if not folders:
        raise FileError(f"contains no {CONFIG}: expected the files of a checkpoint, or a folder with them")
    if len(folders) > 1:
        raise FileError(f"contains {len(folders)} checkpoints; pack the folder of one")
    chosen: dict[str, zipfile.ZipInfo] = {}
    for entry in files:
        path = PurePosixPath(entry.filename)
        if path.parent != folders[0] or path.name not in FILES:
            continue
        if path.name in chosen:
            raise FileError(f"contains {path.name} twice")
        check_compression(entry)
        chosen[path.name] = entry
    return chosen


def _check_path(entry: zipfile.ZipInfo) -> None:
    """Raises FileError for a link and for an entry outside the folder that it is unpacked into."""
    name = entry.orig_filename  # unchanged: `filename` ends at a NUL and has its slashes converted
    drive = len(name) > 1 and name[1] == ":"
    if not entry.filename or "\0" in name or "\\" in name or drive or name.startswith("/") or ".." in name.split("/"):
        raise FileError(f"has an entry {short_repr(name)} outside its folder; pack the folder of the checkpoint again")
    mode = entry.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise FileError(f"has an entry {short_repr(name)} that is a link or a device; pack regular files")


def check_compression(entry: zipfile.ZipInfo) -> None:
    """Raises FileError for an encrypted file and for a compression ratio that neither weights nor sentences have."""
    if entry.flag_bits & 1:
        raise FileError("needs a password; pack it without one")
    if entry.file_size > MEGABYTE and entry.file_size > MAX_RATIO * entry.compress_size:
        raise FileError(
            f"unpacks too much: {entry.filename[-60:]} has {entry.compress_size:,} bytes packed and {entry.file_size:,} "
            f"unpacked; expected a ratio of at most {MAX_RATIO}"
        )


def _extract(packed: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path, max_bytes: int) -> tuple[int, str]:
    """Unpacks a file in steps and returns its size and SHA-256; stops above `max_bytes` or the size in the zip."""
    size, digest, name = 0, hashlib.sha256(), path.name
    max_bytes = min(max_bytes, entry.file_size)
    try:
        with packed.open(entry) as source, open(path, "xb") as out:
            while piece := source.read(_STEP):
                size += len(piece)
                if size > max_bytes:
                    raise FileError(f"contains a {name} that is larger than its entry states")
                digest.update(piece)
                out.write(piece)
    except FileError:
        raise
    except DAMAGED as fault:
        with contextlib.suppress(OSError):
            path.unlink()
        if isinstance(fault, OSError) and fault.errno == errno.ENOSPC:
            raise FileError("cannot be unpacked because the disk of the server is full") from None
        if isinstance(fault, NotImplementedError):
            raise FileError(f"packs {name} with an unsupported method; pack it as a plain zip") from None
        raise FileError(f"contains a damaged {name}; download the zip again") from None
    if size != entry.file_size:
        raise FileError(f"contains a {name} of {size:,} bytes; expected {entry.file_size:,}; download the zip again")
    return size, digest.hexdigest()
