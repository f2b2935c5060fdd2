"""Reads files from outside (regular, of limited size, plain finite JSON), and writes files completely or not at all.

It also bounds values from outside: numbers of a config, and the headers of arrays before they are unpacked.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import lzma
import math
import os
import re
import reprlib
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np

MEGABYTE = 1 << 20
MAX_REPR_LENGTH = 200  # characters of a value in a message
MAX_DEPTH = 50  # nested lists and objects; the project's own files have at most 6
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
_limited_repr = reprlib.Repr()
_limited_repr.maxstring = _limited_repr.maxother = _limited_repr.maxlong = 60
_limited_repr.maxlevel, _limited_repr.maxlist, _limited_repr.maxdict = 3, 4, 4


# Errors of the libraries for damaged archives; RuntimeError for encrypted ones and unknown compression methods.
DAMAGED = (OSError, EOFError, ValueError, LookupError, RuntimeError)
DAMAGED += (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error)


class FileError(ValueError):
    """A file is not what was expected; the message names the file and the value found."""


def short_repr(value: Any) -> str:
    """Returns the repr of a value from outside for a message: short, on one line."""
    text = _limited_repr.repr(value)
    return text if len(text) <= MAX_REPR_LENGTH else f"{text[:MAX_REPR_LENGTH]}..."


def brief_repr(record: Any) -> str:
    """Returns a dataclass as an expression without the fields that have their default, and without those of repr=False.

    A value of more than `MAX_REPR_LENGTH` characters is cut.
    """
    parts = []
    for each in dataclasses.fields(record):
        default = each.default if each.default_factory is dataclasses.MISSING else each.default_factory()
        if each.repr and (value := getattr(record, each.name)) != default:
            text = repr(value)
            parts.append(f"{each.name}={text if len(text) <= MAX_REPR_LENGTH else text[:MAX_REPR_LENGTH] + '...'}")
    return f"{type(record).__name__}({', '.join(parts)})"


def open_file(path: Path, max_bytes: int) -> BinaryIO:
    """Opens a regular file of at most `max_bytes` for reading.

    Raises FileNotFoundError, and FileError where the file is too large, unreadable or not regular. A device or a pipe would
    never end.
    """
    try:
        raw = open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0)))  # noqa: SIM115
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as fault:
        raise FileError(f"{path} cannot be read: {getattr(fault, 'strerror', None) or fault}") from None
    status = os.fstat(raw.fileno())
    if not stat.S_ISREG(status.st_mode):
        raw.close()
        raise FileError(f"{path} is no regular file, but a device, a pipe or the like")
    if status.st_size > max_bytes:
        raw.close()
        raise FileError(f"{path} has {status.st_size:,} bytes; expected at most {max_bytes:,}")
    return raw


def read_bytes(path: Path, max_bytes: int) -> bytes:
    """Returns the content of a regular file of at most `max_bytes`; errors as those of `open_file`."""
    with open_file(path, max_bytes) as raw:
        try:
            return raw.read(max_bytes) or b""  # None where a system file would block
        except OSError as fault:
            raise FileError(f"{path} cannot be read: {fault.strerror}") from None


def read_text(path: Path, max_bytes: int) -> str:
    """Returns the content of a UTF-8 file; FileError where it is not UTF-8, else errors as those of `open_file`."""
    try:
        return read_bytes(path, max_bytes).decode("utf-8")
    except UnicodeDecodeError as fault:
        raise FileError(f"{path}: the byte 0x{fault.object[fault.start]:02x} at {fault.start:,} is no UTF-8") from None


def check_new(path: Path) -> None:
    """Raises FileError where a file cannot be created: its folder is missing, or it exists already."""
    try:
        if not path.parent.is_dir():
            raise FileError(f"there is no folder {path.parent} to write {path.name} into; make it, or name another")
        if os.path.lexists(path):
            raise FileError(f"{path} is there already; give another name, or remove it")
    except OSError as fault:  # longer than a path can be
        raise FileError(f"{path} cannot be written: {fault.strerror or fault}") from None


def check_writable(path: Path) -> None:
    """Raises FileError as `check_new`, and where its folder accepts no new file."""
    check_new(path)
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as fault:
        raise FileError(f"{path} cannot be written: {fault.strerror or fault}") from None


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yields a temporary path in the same folder, which becomes the new file at the end; after an error nothing is left.

    Raises FileError as `check_new`, and where the disk is full.
    """
    check_new(path)
    temporary = path.with_name(f".{path.name[:60]}.{os.getpid()}.new")
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as fault:
        raise FileError(f"{path} cannot be written: {fault.strerror or fault}") from None
    finally:
        temporary.unlink(missing_ok=True)


def write_new(path: Path, content: bytes) -> None:
    """Writes a new file completely or not at all; errors as those of `new_file`."""
    with new_file(path) as temporary:
        temporary.write_bytes(content)


def read_json(path: Path, max_bytes: int) -> Any:
    """Returns the value of a JSON file; FileError where it is invalid (see `parse_json`), or as `open_file`."""
    text = read_bytes(path, max_bytes)
    try:
        return parse_json(text)
    except ValueError as fault:
        raise FileError(f"{path} is no valid JSON ({' '.join(str(fault).split())[:200]})") from None


def parse_json(raw: bytes) -> Any:
    """Returns the value of a JSON text in UTF-8 with finite numbers and valid Unicode; ValueError otherwise."""
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
        level = [each for one in level for each in _children(one) if isinstance(each, dict | list)]
    if level:
        raise ValueError(f"more than {MAX_DEPTH} lists or objects within one another")
    if _HALF_CHARACTER.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError as fault:
            raise ValueError(f"U+{ord(fault.object[fault.start]):04X} in it is half a character") from None
    return value


def _children(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits[:40]} is too large a number")
    return value


MAX_VALUES: dict[str, int] = {  # by config field; a file may ask for more memory than there is
    "source_vocab": 1_000_000,
    "target_vocab": 1_000_000,
    "d_model": 16_384,
    "heads": 64,
    "encoder_layers": 48,
    "decoder_layers": 48,
    "d_ff": 65_536,
    "max_positions": 65_536,
    "norm_eps": 1,
    "window": 65_536,
    "vocab_size": 1_000_000,
    "epochs": 10_000,
    "batch_tokens": 10_000_000,
    "learning_rate": 100,
    "warmup": 10**9,
    "clip": 10**9,
    "validate_every": 10**9,
    "average": 100,
    "patience": 10**9,
    "log_every": 10**9,
    "save_minutes": 10**6,
    "seed": 2**63 - 1,
}
MAX_COUNT = 10**15
MAX_WEIGHTS = 1 << 30  # of a model: 4 GB in float32


def check_record(
    record: Any, choices: Mapping[str, Collection[str]], positive: Sequence[str], shares: Sequence[str]
) -> None:
    """Checks types, choices and ranges of a config record; ValueError names field, value and expected values."""
    for field in dataclasses.fields(record):
        _check_type(field, getattr(record, field.name), choices)
    for name in positive:
        if not getattr(record, name) > 0:
            raise ValueError(f"{name} is {short_repr(getattr(record, name))}; expected more than 0")
    for name in shares:
        if not 0 <= getattr(record, name) < 1:
            raise ValueError(f"{name} is {short_repr(getattr(record, name))}; expected at least 0 and less than 1")
    for name, limit in MAX_VALUES.items():
        value = getattr(record, name, None)
        if value is not None and not value <= limit:
            raise ValueError(f"{name} is {short_repr(value)}; expected at most {limit:,}")


def _check_type(field: dataclasses.Field, value: Any, choices: Mapping[str, Collection[str]]) -> None:
    if field.name in choices and not (isinstance(value, str) and value in choices[field.name]):
        raise ValueError(f"{field.name} is {short_repr(value)}; expected one of {', '.join(choices[field.name])}")
    if field.type == "bool" and not isinstance(value, bool):
        raise ValueError(f"{field.name} is {short_repr(value)}; expected true or false")
    if field.type == "int" and not is_whole_number(value):
        raise ValueError(f"{field.name} is {short_repr(value)}; expected a whole number")
    if field.type == "int | None" and not (value is None or (is_whole_number(value) and value >= 1)):
        raise ValueError(f"{field.name} is {short_repr(value)}; expected None or a whole number of at least 1")
    if field.type == "tuple[str, ...]" and not (isinstance(value, tuple) and all(isinstance(each, str) for each in value)):
        raise ValueError(f"{field.name} is {short_repr(value)}; expected a list of texts")
    if field.type == "float" and not (is_whole_number(value) or isinstance(value, float)):
        raise ValueError(f"{field.name} is {short_repr(value)}; expected a number")


def is_whole_number(value: Any) -> bool:
    """Returns True for an int that is not a bool."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any, low: float, high: float) -> bool:
    """Returns True for a finite number from `low` to `high` that is not a bool."""
    return (is_whole_number(value) or (isinstance(value, float) and math.isfinite(value))) and low <= value <= high


def is_count(value: Any) -> bool:
    """Returns True for a whole number from 0 to `MAX_COUNT`."""
    return is_whole_number(value) and 0 <= value <= MAX_COUNT


def read_array_header(raw: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    """Returns shape and dtype of a .npy array from the first bytes of its file; ValueError."""
    version = np.lib.format.read_magic(raw)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, kind = read(raw)
    if fortran or not all(map(is_count, shape)):
        raise ValueError(f"an array has another order, or the shape {str(shape)[:60]}")
    return shape, kind
