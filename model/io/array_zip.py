"""Named arrays in a .npz file, larger than memory: written layer by layer, and mapped into memory instead of read.

Never a pickle. The sizes in a file are claims, so each array is checked against its bytes.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .files import DAMAGED, FileError, new_file, open_file, read_array_header, short_repr

MAX_FILE_BYTES = 1 << 37
MAX_UNPACKED = 1 << 31  # bytes of a compressed array, which must fit in memory
LOCAL_HEADER = struct.Struct("<26xHH")  # of a zip entry: the lengths of its name and of its extra field
KINDS = "fiubU"  # floats, integers, booleans, texts


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray | Sequence[np.ndarray]]) -> None:
    """Writes arrays to a new uncompressed .npz file completely or not at all.

    A sequence of arrays of one shape and type becomes one array with a first axis more, without a copy of all of them.

    Raises FileError for a missing folder, a file that exists, and where writing fails.
    """
    with new_file(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED, allowZip64=True) as packed:
        for name, value in arrays.items():
            _write_array(packed, name, value)


def _write_array(packed: zipfile.ZipFile, name: str, value: np.ndarray | Sequence[np.ndarray]) -> None:
    parts: Iterable[np.ndarray] = [value] if isinstance(value, np.ndarray) else value
    first = value if isinstance(value, np.ndarray) else value[0]
    shape = first.shape if isinstance(value, np.ndarray) else (len(value), *first.shape)
    header = {"descr": np.lib.format.dtype_to_descr(first.dtype), "fortran_order": False, "shape": shape}
    with packed.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as raw:
        np.lib.format.write_array_header_1_0(raw, header)
        for part in parts:
            raw.write(np.ascontiguousarray(part).data.cast("B") if part.size and part.dtype.kind != "U" else part.tobytes())


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Returns all arrays of a .npz file. Uncompressed arrays are mapped into memory and read where they are used.

    Raises FileNotFoundError, and FileError for a damaged file, an array of objects, and an array larger than its bytes.
    """
    with open_file(path, MAX_FILE_BYTES) as raw:
        try:
            with zipfile.ZipFile(raw) as packed:
                return {entry.filename.removesuffix(".npy"): _read_array(path, packed, entry) for entry in packed.infolist()}
        except FileError:
            raise
        except (*DAMAGED, TypeError, SyntaxError, MemoryError) as fault:
            reason = " ".join(str(fault).split())[:200] or type(fault).__name__
            raise FileError(f"{path} is no readable .npz file ({reason}).") from None


def _read_array(path: Path, packed: zipfile.ZipFile, entry: zipfile.ZipInfo) -> np.ndarray:
    name = short_repr(entry.filename.removesuffix(".npy"))
    with packed.open(entry) as raw:
        shape, kind = read_array_header(raw)
        start = raw.tell()
        if kind.kind not in KINDS:
            raise FileError(f"{path}: the array {name} has the type {kind}; expected numbers or texts.")
        size = kind.itemsize * int(np.prod(shape, dtype=object))
        if size != entry.file_size - start:
            raise FileError(f"{path}: the array {name} has {entry.file_size - start:,} bytes; expected {size:,}.")
        if entry.compress_type == zipfile.ZIP_STORED and size:
            return _mapped(path, packed, entry, start, kind, shape)
        if size > MAX_UNPACKED:
            raise FileError(
                f"{path}: the compressed array {name} has {size:,} bytes; expected at most {MAX_UNPACKED:,}. "
                "Write it with numpy.savez, uncompressed."
            )
        return np.frombuffer(raw.read(size), kind).reshape(shape)


def _mapped(
    path: Path, packed: zipfile.ZipFile, entry: zipfile.ZipInfo, start: int, kind: np.dtype[Any], shape: tuple[int, ...]
) -> np.ndarray:
    raw: Any = packed.fp
    raw.seek(entry.header_offset)
    lengths = LOCAL_HEADER.unpack(raw.read(LOCAL_HEADER.size))
    offset = entry.header_offset + LOCAL_HEADER.size + sum(lengths) + start
    return np.memmap(path, kind, "r", offset, shape)
