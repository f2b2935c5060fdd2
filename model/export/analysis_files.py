"""Exported analyses as files, .npz or .json. Never a pickle. Files are checked before they are unpacked.

An exported analysis is split into a header of plain values and named arrays, and put together again.
"""

from __future__ import annotations

import dataclasses
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from ..io.files import (
    DAMAGED,
    MAX_VALUES,
    MEGABYTE,
    FileError,
    is_whole_number,
    parse_json,
    read_array_header,
    read_bytes,
    short_repr,
    write_new,
)
from ..trace import SITE_KINDS, Axis, Site
from . import schema
from .schema import ARRAYS, BEFORE, CANDIDATES, FILE, FORMAT, HEADER, STEPS, VERSION, Exported, ExportedPath, ids, texts

MAX_TOKENS = 4096  # on one side of a map: more than the lab writes
MAPS = {"pattern": "patterns", "scores": "scores", "mask": "masks"}  # names of the schema: fields of `Exported`
BY_STEP = {"log_probs": "log_probs", "candidates.ids": "candidate_ids", "candidates.log_probs": "candidate_log_probs"}
AXES = ("source", "inputs", "outputs")
Forms = dict[str, tuple[np.dtype, tuple[tuple[int, ...], ...]]]


def header_of(exported: Exported) -> dict[str, Any]:
    """Returns everything except the arrays."""
    axes = {name: _axis(getattr(exported, name)) for name in AXES}
    heads = {site: len(pattern) for site, pattern in exported.patterns.items()}
    header = {
        "checkpoint": exported.checkpoint,
        "fingerprint": exported.fingerprint,
        "request": schema.request_values(exported.request),
        "translation": exported.translation,
        "follows": exported.follows,
        "notes": list(exported.notes),
        **axes,
        "sites": [{"kind": site.kind, "layer": site.layer, "heads": heads[site]} for site in exported.patterns],
        "candidate_labels": [list(row) for row in exported.candidate_labels],
        "hypotheses": [_lists(vars(path)) for path in exported.hypotheses],
        "chosen": exported.chosen,
        "baseline": exported.baseline and header_of(exported.baseline),
    }
    assert list(header) == list(HEADER), "the keys differ from the schema"
    return header


def arrays_of(exported: Exported) -> dict[str, np.ndarray]:
    """Returns the arrays by name."""
    arrays = {name: getattr(exported, field) for name, field in BY_STEP.items()}
    for name, field in MAPS.items():
        arrays |= {f"{name}.{site.kind}.{site.layer}": array for site, array in getattr(exported, field).items()}
    kinds = {name: array.kind for name, array in (ARRAYS | STEPS).items()}
    arrays = {name: np.asarray(array, kinds.get(name, kinds.get(name.split(".")[0]))) for name, array in arrays.items()}
    before = arrays_of(exported.baseline) if exported.baseline else {}
    return arrays | {BEFORE + name: array for name, array in before.items()}


def expected_arrays(header: Mapping[str, Any]) -> Forms:
    """Returns type and possible shapes of each array that a header requires. Raises ValueError, TypeError or KeyError for a
    wrong header."""
    axes = {name: _read_axis(header[name]) for name in AXES}
    lengths = {"source": axes["source"] and len(axes["source"]), "target": axes["inputs"] and len(axes["inputs"])}
    if (axes["inputs"] and len(axes["inputs"])) != (axes["outputs"] and len(axes["outputs"])):
        raise ValueError("inputs and outputs have different lengths")
    predicted = axes["outputs"] or axes["source"]
    if predicted is None:
        raise ValueError("the header has no tokens")
    forms: Forms = {}
    for site, heads in _sites(header["sites"]):
        rows, columns = lengths[site.spec.query_side], lengths[site.spec.key_side]
        if rows is None or columns is None:
            raise ValueError(f"{site.spec.name} lacks the tokens of a side")
        by_head, either = (heads, rows, columns), ((rows, columns), (heads, rows, columns))
        for name, array in ARRAYS.items():
            forms[f"{name}.{site.kind}.{site.layer}"] = array.kind, either if name == "mask" else (by_head,)
    labels = [texts(row) for row in header["candidate_labels"]]
    width = len(labels[0]) if labels else 0
    is_label = axes["outputs"] is None and len(labels) == 1  # one row, of the labels of the whole text
    count = 1 if is_label else len(predicted)
    if len(labels) != count or not 0 < width <= CANDIDATES or any(len(row) != width for row in labels):
        raise ValueError("steps and candidates differ in number")
    shapes = {"[T]": (count,), "[T,N]": (count, width)}
    return forms | {name: (array.kind, (shapes[array.shape],)) for name, array in STEPS.items()}


def from_parts(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], before: str = "") -> Exported:
    """Returns the value of a header and checked arrays. Raises ValueError, TypeError or KeyError for a wrong header."""
    if set(header) - set(FILE) != set(HEADER):
        odd = sorted((set(header) - set(FILE)) ^ set(HEADER))[0]
        raise ValueError(f"the key {short_repr(odd)} is {'missing' if odd in HEADER else 'unknown'}")
    sites = [site for site, _ in _sites(header["sites"])]
    maps = {
        field: {site: arrays[f"{before}{name}.{site.kind}.{site.layer}"] for site in sites} for name, field in MAPS.items()
    }
    paths = tuple(map(_read_path, header["hypotheses"]))
    chosen, base = header["chosen"], header["baseline"]
    if not (chosen is None or (is_whole_number(chosen) and 0 <= chosen < len(paths))):
        raise ValueError(f"the chosen hypothesis is {short_repr(chosen)}; expected a number below {len(paths)}, or nothing")
    if before and base is not None:
        raise ValueError("the baseline has a baseline")
    return Exported(
        **{name: _text(header[name]) for name in ("checkpoint", "fingerprint", "translation")},
        **{name: _read_axis(header[name]) for name in AXES},
        **{field: arrays[before + name] for name, field in BY_STEP.items()},
        **maps,
        follows=_share(header["follows"]),
        request=schema.parse_request(header["request"]),
        notes=texts(header["notes"]),
        candidate_labels=tuple(map(texts, header["candidate_labels"])),
        hypotheses=paths,
        chosen=chosen,
        baseline=None if base is None else from_parts(base, arrays, BEFORE),
    )


def _lists(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _axis(axis: Axis | None) -> dict[str, Any] | None:
    if axis is None:
        return None
    return {"ids": list(axis.ids), "labels": list(axis.labels), "words": list(axis.word_numbers)}


def _read_axis(values: Any) -> Axis | None:
    if values is None:
        return None
    if not isinstance(values, dict) or set(values) != {"ids", "labels", "words"}:
        raise ValueError("the tokens of a side lack a field or have an unknown one")
    axis = Axis(ids(values["ids"]), texts(values["labels"]), _words(values["words"]))
    if not 0 < len(axis.ids) == len(axis.labels) == len(axis.word_numbers) <= MAX_TOKENS:
        raise ValueError("the tokens of one side, their labels and their words differ in number")
    return axis


def _words(values: Any) -> tuple[int, ...]:
    if not isinstance(values, list) or not all(map(is_whole_number, values)):
        raise ValueError("the words of tokens are not integers")
    return tuple(values)


def _sites(values: Any) -> list[tuple[Site, int]]:
    """Returns each site with its number of heads."""
    sites = [(Site(each["kind"], each["layer"]), each["heads"]) for each in values]
    for site, heads in sites:
        layers = MAX_VALUES["encoder_layers"]
        if site.kind not in SITE_KINDS or not (is_whole_number(site.layer) and 0 <= site.layer < layers):
            raise ValueError(f"the site {short_repr(tuple(site))} is unknown")
        if not (is_whole_number(heads) and 1 <= heads <= MAX_VALUES["heads"]):
            raise ValueError(f"a site has {short_repr(heads)} heads; expected 1 to {MAX_VALUES['heads']}")
    if len({site for site, _ in sites}) != len(sites):
        raise ValueError("a site occurs twice")
    return sites


def _read_path(values: Any) -> ExportedPath:
    names = {field.name for field in dataclasses.fields(ExportedPath)}
    if not isinstance(values, dict) or set(values) != names:
        raise ValueError("a hypothesis lacks a field or has an unknown one")
    numbers = (*values["log_probs"], values["score"], values["rank"])
    if not all(isinstance(each, float) for each in numbers):
        raise ValueError("a log-probability of a hypothesis is not a number")
    if not all(isinstance(values[name], bool) for name in ("finished", "given_up")):
        raise ValueError("finished or given_up of a hypothesis is not a boolean")
    lists = {"ids": ids(values["ids"]), "labels": texts(values["labels"]), "log_probs": tuple(values["log_probs"])}
    if len({len(each) for each in lists.values()}) != 1:
        raise ValueError("the tokens of a hypothesis and their log-probabilities differ in number")
    return ExportedPath(**(values | lists | {"text": _text(values["text"])}))


def _share(value: Any) -> float | None:
    if value is not None and not (isinstance(value, float) and 0 <= value <= 1):
        raise ValueError(f"found {short_repr(value)}; expected a probability")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"found {short_repr(value)}; expected a text")
    return value


MAX_BYTES = 1 << 30  # of a file, and of its arrays
MAX_JSON = 256 * MEGABYTE  # of a file: more than the lab writes
MAX_HEADER = 16 * MEGABYTE
MAX_JSON_NUMBERS = 8_000_000  # numbers in a JSON file
HEADER_ARRAY = "header"  # the array of a .npz file that holds the header as JSON


def npz(exported: Exported) -> bytes:
    """Returns the content of a .npz file: the arrays, and the header as the bytes of a JSON text."""
    header = np.frombuffer(json.dumps(_header(exported), ensure_ascii=False).encode(), np.uint8)
    raw = io.BytesIO()
    np.savez_compressed(raw, allow_pickle=False, **{HEADER_ARRAY: header}, **arrays_of(exported))
    return raw.getvalue()


def as_json(exported: Exported) -> bytes:
    """Returns the content of a JSON file with the arrays as lists. Raises ValueError for too many numbers."""
    arrays = arrays_of(exported)
    count = sum(array.size for array in arrays.values())
    if count > MAX_JSON_NUMBERS:
        raise ValueError(f"the analysis has {count:,} numbers; JSON takes at most {MAX_JSON_NUMBERS:,}. Use .npz")
    written = {"arrays": {name: _short(array).tolist() for name, array in arrays.items()}}
    return (json.dumps(_header(exported) | written, ensure_ascii=False, allow_nan=False) + "\n").encode()


FORMATS: dict[str, Callable[[Exported], bytes]] = {".npz": npz, ".json": as_json}  # by suffix


def write(exported: Exported, path: Path | str) -> None:
    """Writes a file completely or not at all, in the format of its suffix.

    Raises FileError for another suffix, a missing folder, a file that exists, and where writing fails.
    """
    path = Path(path)
    if path.suffix not in FORMATS:
        raise FileError(f"{path} ends in {short_repr(path.suffix)}; expected one of {', '.join(FORMATS)}")
    write_new(path, FORMATS[path.suffix](exported))


def read(source: Path | str | bytes) -> Exported:
    """Returns the analysis of a file, given by its path or its bytes. It equals the one that was written.

    Raises ValueError, one sentence, for a damaged file, another format and a newer version; FileNotFoundError.
    """
    where = "the file" if isinstance(source, bytes) else str(source)
    raw = source if isinstance(source, bytes) else read_bytes(Path(source), MAX_BYTES)
    try:
        if raw[:2] == b"PK":
            with zipfile.ZipFile(io.BytesIO(raw)) as archive:
                header = parse_json(_array(archive, HEADER_ARRAY, None).tobytes())
                return _checked(header, where, lambda name, shapes: _array(archive, name, shapes), _names(archive))
        if len(raw) > MAX_JSON:
            raise FileError(f"{where} has {len(raw):,} bytes; expected at most {MAX_JSON:,} of a JSON file")
        header = parse_json(raw)
        arrays = header.pop("arrays", None) if isinstance(header, dict) else None
        if not isinstance(arrays, dict):
            raise FileError(f"{where} is no exported analysis; expected a .npz or .json file of the lab")
        return _checked(header, where, lambda name, wanted: _listed(arrays, name, wanted), set(arrays))
    except FileError:
        raise
    except (*DAMAGED, TypeError, SyntaxError, TokenError, MemoryError) as fault:
        reason = " ".join(str(fault).split())[:200] or type(fault).__name__
        raise FileError(f"{where} is no readable exported analysis ({reason}); export it again") from None


Wanted = tuple[np.dtype, tuple[tuple[int, ...], ...]]  # of an array: its type, and its possible shapes


def _checked(header: Any, where: str, fetch: Callable[[str, Wanted], np.ndarray], names: set[str]) -> Exported:
    """Returns the value of a header and its arrays. Raises ValueError for missing and unknown arrays."""
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise FileError(f"{where} is no exported analysis; expected a .npz or .json file of the lab")
    version = header.get("version")
    if not is_whole_number(version) or version != VERSION:
        advice = "Take a newer version of the lab" if is_whole_number(version) and version > VERSION else "Export it again"
        raise FileError(f"{where} is of version {short_repr(version)} of the format; expected {VERSION}. {advice}")
    wanted = expected_arrays(header)
    if isinstance(before := header.get("baseline"), dict):
        wanted |= {BEFORE + name: form for name, form in expected_arrays(before).items()}
    if set(wanted) != names:
        odd = sorted(set(wanted) ^ names)[0]
        raise ValueError(f"the array {short_repr(odd)} is {'missing' if odd in wanted else 'unknown'}")
    if sum(kind.itemsize * max(int(np.prod(shape)) for shape in shapes) for kind, shapes in wanted.values()) > MAX_BYTES:
        raise ValueError(f"the arrays are too large; expected at most {MAX_BYTES:,} bytes")
    return from_parts(header, {name: fetch(name, form) for name, form in wanted.items()})


def _header(exported: Exported) -> dict[str, Any]:
    return {"format": FORMAT, "version": VERSION} | header_of(exported)


def _short(array: np.ndarray) -> np.ndarray:
    """Returns the shortest decimal numbers that restore the same values."""
    if array.dtype != np.float32:
        return array
    short = array.astype(str).astype(float)
    return short if np.array_equal(short.astype(np.float32), array) else array.astype(float)


def _names(archive: zipfile.ZipFile) -> set[str]:
    return {name.removesuffix(".npy") for name in archive.namelist()} - {HEADER_ARRAY}


def _array(archive: zipfile.ZipFile, name: str, wanted: Wanted | None) -> np.ndarray:
    """Returns an array of a .npz file after checking its form; without `wanted`, that of the header."""
    if name == HEADER_ARRAY and f"{HEADER_ARRAY}.npy" not in archive.namelist():
        raise FileError("the file is another .npz; expected an exported analysis")
    with archive.open(f"{name}.npy") as raw:
        shape, kind = read_array_header(raw)
        fits = (
            kind == np.uint8 and len(shape) == 1 and shape[0] <= MAX_HEADER if wanted is None else _fits(kind, shape, wanted)
        )
        if not fits:
            raise ValueError(f"{name} has the shape {shape} and the type {kind}")
        content = raw.read(int(np.prod(shape)) * kind.itemsize + 1)
    return _finite(name, np.frombuffer(content, kind).reshape(shape))


def _fits(kind: np.dtype, shape: tuple[int, ...], wanted: Wanted) -> bool:
    return kind == wanted[0] and shape in wanted[1]


def _listed(arrays: Mapping[str, Any], name: str, wanted: Wanted) -> np.ndarray:
    """Returns an array of a JSON file after checking its form."""
    raw = np.array(arrays[name])
    numbers = {"f": "fi", "i": "i", "b": "b"}[wanted[0].kind]
    if raw.dtype.kind not in numbers or raw.shape not in wanted[1]:
        raise ValueError(f"{name} has the shape {raw.shape} and the type {raw.dtype}")
    with np.errstate(over="raise"):
        try:
            array = raw.astype(wanted[0])
        except FloatingPointError:
            raise ValueError(f"{name} holds a number that is too large") from None
    if array.dtype.kind == "i" and not np.array_equal(array, raw):
        raise ValueError(f"{name} holds a number that is too large")
    array.flags.writeable = False
    return _finite(name, array)


def _finite(name: str, array: np.ndarray) -> np.ndarray:
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds a number that is not finite")
    return array
