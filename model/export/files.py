"""An exported analysis as a file, .npz or .json, and back. Never a pickle; what is read is checked before it is unpacked."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from model.arrays import form
from model.export.exported import Exported
from model.export.parts import arrays_of, expected_arrays, from_parts, header_of
from model.export.schema import BEFORE, FORMAT, VERSION
from model.files import DAMAGED, MEGABYTE, FileError, parsed, read_bytes, shown, write_new
from model.limits import is_whole

MAX_BYTES = 1 << 30  # of a file, and of its arrays
MAX_JSON = 256 * MEGABYTE  # of a file: more than the lab writes
MAX_HEADER = 16 * MEGABYTE
MAX_WRITTEN_OUT = 8_000_000  # numbers of a JSON file
NAMED = "header"  # the array of a .npz file that holds the header as JSON


def npz(exported: Exported) -> bytes:
    """A file for numpy: the arrays, and the header as the bytes of a JSON text."""
    header = np.frombuffer(json.dumps(_header(exported), ensure_ascii=False).encode(), np.uint8)
    raw = io.BytesIO()
    np.savez_compressed(raw, allow_pickle=False, **{NAMED: header}, **arrays_of(exported))
    return raw.getvalue()


def as_json(exported: Exported) -> bytes:
    """The same as one JSON object, with the arrays as lists under `arrays`; ValueError where there are too many numbers."""
    arrays = arrays_of(exported)
    count = sum(array.size for array in arrays.values())
    if count > MAX_WRITTEN_OUT:
        raise ValueError(f"the analysis has {count:,} numbers; JSON is written of at most {MAX_WRITTEN_OUT:,}. Take .npz")
    written = {"arrays": {name: _short(array).tolist() for name, array in arrays.items()}}
    return (json.dumps(_header(exported) | written, ensure_ascii=False, allow_nan=False) + "\n").encode()


FORMATS: dict[str, Callable[[Exported], bytes]] = {".npz": npz, ".json": as_json}  # by the end of a file's name


def write(exported: Exported, path: Path | str) -> None:
    """Writes a file whole or not at all, in the format that its name ends in.

    Raises FileError for another ending, a folder that is not there, a file that is, and where it cannot be written.
    """
    path = Path(path)
    if path.suffix not in FORMATS:
        raise FileError(f"{path} ends in {shown(path.suffix)}; expected one of {', '.join(FORMATS)}")
    write_new(path, FORMATS[path.suffix](exported))


def read(source: Path | str | bytes) -> Exported:
    """What a file holds, given by its path or its bytes: equal to what was written.

    Raises ValueError, one sentence, for what is damaged, none of the lab's, or of a newer version; FileNotFoundError.
    """
    where = "the file" if isinstance(source, bytes) else str(source)
    raw = source if isinstance(source, bytes) else read_bytes(Path(source), MAX_BYTES)
    try:
        if raw[:2] == b"PK":
            with zipfile.ZipFile(io.BytesIO(raw)) as archive:
                header = parsed(_array(archive, NAMED, None).tobytes())
                return _checked(header, where, lambda name, shapes: _array(archive, name, shapes), _names(archive))
        if len(raw) > MAX_JSON:
            raise FileError(f"{where} has {len(raw):,} bytes; expected at most {MAX_JSON:,} of a JSON file")
        header = parsed(raw)
        arrays = header.pop("arrays", None) if isinstance(header, dict) else None
        if not isinstance(arrays, dict):
            raise FileError(f"{where} is no exported analysis; expected a .npz or .json file of the lab")
        return _checked(header, where, lambda name, wanted: _listed(arrays, name, wanted), set(arrays))
    except FileError:
        raise
    except (*DAMAGED, TypeError, SyntaxError, TokenError, MemoryError) as fault:
        said = " ".join(str(fault).split())[:200] or type(fault).__name__
        raise FileError(f"{where} is no readable exported analysis ({said}); export it again") from None


Wanted = tuple[np.dtype, tuple[tuple[int, ...], ...]]  # of an array: its kind of number, and the shapes that it may have


def _checked(header: Any, where: str, fetch: Callable[[str, Wanted], np.ndarray], names: set[str]) -> Exported:
    """The value of a header and of the arrays that it names, and no others."""
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise FileError(f"{where} is no exported analysis; expected a .npz or .json file of the lab")
    version = header.get("version")
    if not is_whole(version) or not 1 <= version <= VERSION:
        told = "Take a newer version of the lab" if is_whole(version) and version > VERSION else "Export it again"
        raise FileError(f"{where} is of version {shown(version)} of the format; expected 1 to {VERSION}. {told}")
    wanted = expected_arrays(header)
    if isinstance(before := header.get("baseline"), dict):
        wanted |= {BEFORE + name: form for name, form in expected_arrays(before).items()}
    if set(wanted) != names:
        odd = sorted(set(wanted) ^ names)[0]
        raise ValueError(f"the array {shown(odd)} is {'missing' if odd in wanted else 'one too many'}")
    if sum(kind.itemsize * max(int(np.prod(shape)) for shape in shapes) for kind, shapes in wanted.values()) > MAX_BYTES:
        raise ValueError("its arrays are too large")
    return from_parts(header, {name: fetch(name, form) for name, form in wanted.items()})


def _header(exported: Exported) -> dict[str, Any]:
    return {"format": FORMAT, "version": VERSION} | header_of(exported)


def _short(array: np.ndarray) -> np.ndarray:
    """Numbers as short as they can be written without becoming others."""
    if array.dtype != np.float32:
        return array
    short = array.astype(str).astype(float)
    return short if np.array_equal(short.astype(np.float32), array) else array.astype(float)


def _names(archive: zipfile.ZipFile) -> set[str]:
    return {name.removesuffix(".npy") for name in archive.namelist()} - {NAMED}


def _array(archive: zipfile.ZipFile, name: str, wanted: Wanted | None) -> np.ndarray:
    """One of a .npz file's arrays, whose form is compared before it is unpacked; without one, that of the header."""
    if name == NAMED and f"{NAMED}.npy" not in archive.namelist():
        raise FileError("the file is a .npz of something else; expected an analysis that the lab has exported")
    with archive.open(f"{name}.npy") as raw:
        shape, kind = form(raw)
        fits = (
            kind == np.uint8 and len(shape) == 1 and shape[0] <= MAX_HEADER if wanted is None else _fits(kind, shape, wanted)
        )
        if not fits:
            raise ValueError(f"{name} has the shape {shape}, {kind}")
        content = raw.read(int(np.prod(shape)) * kind.itemsize + 1)
    return _finite(name, np.frombuffer(content, kind).reshape(shape))


def _fits(kind: np.dtype, shape: tuple[int, ...], wanted: Wanted) -> bool:
    return kind == wanted[0] and shape in wanted[1]


def _listed(arrays: Mapping[str, Any], name: str, wanted: Wanted) -> np.ndarray:
    """One of a JSON file's."""
    found = np.array(arrays[name])
    numbers = {"f": "fi", "i": "i", "b": "b"}[wanted[0].kind]
    if found.dtype.kind not in numbers or found.shape not in wanted[1]:
        raise ValueError(f"{name} has the shape {found.shape}, {found.dtype}")
    with np.errstate(over="raise"):
        try:
            made = found.astype(wanted[0])
        except FloatingPointError:
            raise ValueError(f"{name} holds a number that is too large") from None
    if made.dtype.kind == "i" and not np.array_equal(made, found):
        raise ValueError(f"{name} holds a number that is too large")
    made.flags.writeable = False
    return _finite(name, made)


def _finite(name: str, array: np.ndarray) -> np.ndarray:
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds a number that is not finite")
    return array
