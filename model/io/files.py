"""Files that come from outside: only regular ones are opened, none is read beyond a size, and JSON is plain and finite.
And files that leave: whole, or not at all."""

from __future__ import annotations

import json
import lzma
import math
import os
import re
import reprlib
import stat
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO

MEGABYTE = 1 << 20
LONGEST = 200  # characters of a value in a sentence
MAX_DEPTH = 50  # lists and objects within one another; no file of ours has more than six
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = 60
_short.maxlevel, _short.maxlist, _short.maxdict = 3, 4, 4


# What the libraries raise for damaged archives; RuntimeError for encrypted ones, and for ways of packing that they lack.
DAMAGED = (OSError, EOFError, ValueError, LookupError, RuntimeError)
DAMAGED += (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error)


class FileError(ValueError):
    """A file that is not what was expected; the text names it, and says what was found."""


def shown(value: Any) -> str:
    """A value from outside as it stands in a sentence: short, on one line."""
    text = _short.repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def opened(path: Path, most: int) -> BinaryIO:
    """A regular file of at most so many bytes, for reading.

    Raises FileNotFoundError where there is none, FileError where it is too large, cannot be read, or is something else: a
    device or a pipe would never end.
    """
    try:
        raw = open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0)))  # noqa: SIM115
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as fault:
        raise FileError(f"{path} cannot be read: {getattr(fault, 'strerror', None) or fault}") from None
    found = os.fstat(raw.fileno())
    if not stat.S_ISREG(found.st_mode):
        raw.close()
        raise FileError(f"{path} is no regular file, but a device, a pipe or the like")
    if found.st_size > most:
        raw.close()
        raise FileError(f"{path} has {found.st_size:,} bytes; expected at most {most:,}")
    return raw


def read_bytes(path: Path, most: int) -> bytes:
    """All of a regular file of at most so many bytes; errors as those of `opened`."""
    with opened(path, most) as raw:
        try:
            return raw.read(most) or b""  # nothing where a file of the system would keep its reader waiting
        except OSError as fault:
            raise FileError(f"{path} cannot be read: {fault.strerror}") from None


def read_text(path: Path, most: int) -> str:
    """The same as text; FileError where it is no UTF-8."""
    try:
        return read_bytes(path, most).decode("utf-8")
    except UnicodeDecodeError as fault:
        raise FileError(f"{path}: the byte 0x{fault.object[fault.start]:02x} at {fault.start:,} is no UTF-8") from None


def check_new(path: Path) -> None:
    """FileError where a file cannot be made: for a folder that is not there, and a file that is."""
    try:
        if not path.parent.is_dir():
            raise FileError(f"there is no folder {path.parent} to write {path.name} into; make it, or name another")
        if os.path.lexists(path):
            raise FileError(f"{path} is there already; give another name, or remove it")
    except OSError as fault:  # longer than a path can be
        raise FileError(f"{path} cannot be written: {fault.strerror or fault}") from None


def write_new(path: Path, content: bytes) -> None:
    """Writes a file that is not there yet, whole or not at all, by way of a temporary one beside it.

    Raises FileError as `check_new`, and where the disk is full.
    """
    check_new(path)
    temporary = path.with_name(f".{path.name[:60]}.{os.getpid()}.new")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    except OSError as fault:
        temporary.unlink(missing_ok=True)
        raise FileError(f"{path} cannot be written: {fault.strerror or fault}") from None
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_json(path: Path, most: int) -> Any:
    """The value of a JSON file; FileError where it is none (see `parsed`), and those of `opened`."""
    text = read_bytes(path, most)
    try:
        return parsed(text)
    except ValueError as fault:
        raise FileError(f"{path} is no valid JSON ({' '.join(str(fault).split())[:200]})") from None


def parsed(raw: bytes) -> Any:
    """The value of a JSON text in UTF-8, whose numbers are finite and whose texts are valid Unicode; ValueError."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise ValueError(f"the byte 0x{raw[fault.start]:02x} at {fault.start:,} is no UTF-8") from None
    try:
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise ValueError(f"more than {MAX_DEPTH} lists or objects within one another") from None
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [each for one in level for each in _within(one) if isinstance(each, dict | list)]
    if level:
        raise ValueError(f"more than {MAX_DEPTH} lists or objects within one another")
    if _HALF_CHARACTER.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError as fault:
            raise ValueError(f"U+{ord(fault.object[fault.start]):04X} in it is half a character") from None
    return value


def _within(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


def _finite(digits: str) -> float:
    found = float(digits)
    if not math.isfinite(found):
        raise ValueError(f"{digits[:40]} is too large a number")
    return found
