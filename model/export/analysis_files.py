"""An exported analysis as a file, .npz or .json, and back. Never a pickle; what is read is checked before it is unpacked.

An exported analysis taken apart into a header of plain values and named arrays, and put together again."""

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

from model.export import schema
from model.export.exported import Exported, ExportedPath
from model.export.schema import ARRAYS, BEFORE, CANDIDATES, FILE, FORMAT, HEADER, STEPS, VERSION, ids, texts
from model.io.files import (
    DAMAGED,
    MEGABYTE,
    FileError,
    parsed,
    read_bytes,
    shown,
    write_new,
)
from model.io.limits import LARGEST, form, is_whole
from model.trace import SITE_KINDS, Axis, Site

MAX_TOKENS = 4096  # along one side of a map: more than the lab writes
MAPS = {"pattern": "patterns", "scores": "scores", "mask": "masks"}  # of the schema: the field
BY_STEP = {"log_probs": "log_probs", "candidates.ids": "candidate_ids", "candidates.log_probs": "candidate_log_probs"}
AXES = ("source", "inputs", "outputs")
Forms = dict[str, tuple[np.dtype, tuple[tuple[int, ...], ...]]]


def header_of(exported: Exported) -> dict[str, Any]:
    """Everything but the arrays."""
    axes = {name: _axis(getattr(exported, name)) for name in AXES}
    heads = {site: len(pattern) for site, pattern in exported.patterns.items()}
    found = {
        "checkpoint": exported.checkpoint,
        "fingerprint": exported.fingerprint,
        "request": schema.plain(exported.request),
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
    assert list(found) == list(HEADER), "the schema says otherwise"
    return found


def arrays_of(exported: Exported) -> dict[str, np.ndarray]:
    """The arrays by their names."""
    found = {name: getattr(exported, field) for name, field in BY_STEP.items()}
    for name, field in MAPS.items():
        found |= {f"{name}.{site.kind}.{site.layer}": array for site, array in getattr(exported, field).items()}
    kinds = {name: array.kind for name, array in (ARRAYS | STEPS).items()}
    found = {name: np.asarray(array, kinds.get(name, kinds.get(name.split(".")[0]))) for name, array in found.items()}
    before = arrays_of(exported.baseline) if exported.baseline else {}
    return found | {BEFORE + name: array for name, array in before.items()}


def expected_arrays(header: Mapping[str, Any]) -> Forms:
    """Kind and possible shapes of each array that a header asks for; ValueError, TypeError or KeyError where it is none."""
    axes = {name: _read_axis(header[name]) for name in AXES}
    lengths = {"source": axes["source"] and len(axes["source"]), "target": axes["inputs"] and len(axes["inputs"])}
    if (axes["inputs"] and len(axes["inputs"])) != (axes["outputs"] and len(axes["outputs"])):
        raise ValueError("its inputs and outputs have different lengths")
    predicted = axes["outputs"] or axes["source"]
    if predicted is None:
        raise ValueError("it has no tokens")
    found: Forms = {}
    for site, heads in _sites(header["sites"]):
        rows, columns = lengths[site.of.queries], lengths[site.of.keys]
        if rows is None or columns is None:
            raise ValueError(f"it has {site.of.name}, and no tokens of one of its sides")
        whole, both = (heads, rows, columns), ((rows, columns), (heads, rows, columns))
        for name, array in ARRAYS.items():
            found[f"{name}.{site.kind}.{site.layer}"] = array.kind, both if name == "mask" else (whole,)
    labels = [texts(row) for row in header["candidate_labels"]]
    width = len(labels[0]) if labels else 0
    judged = axes["outputs"] is None and len(labels) == 1  # one row, of the labels of the whole text
    count = 1 if judged else len(predicted)
    if len(labels) != count or not 0 < width <= CANDIDATES or any(len(row) != width for row in labels):
        raise ValueError("its steps and their candidates do not fit")
    shapes = {"[T]": (count,), "[T,N]": (count, width)}
    return found | {name: (array.kind, (shapes[array.shape],)) for name, array in STEPS.items()}


def from_parts(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], before: str = "") -> Exported:
    """The value of a header whose arrays have been checked; ValueError, TypeError or KeyError where it is none."""
    header = {"follows": None} | dict(header)  # files that are older than two sentences have none
    if set(header) - set(FILE) != set(HEADER):
        odd = sorted((set(header) - set(FILE)) ^ set(HEADER))[0]
        raise ValueError(f"the key {shown(odd)} is {'missing' if odd in HEADER else 'one too many'}")
    sites = [site for site, _ in _sites(header["sites"])]
    maps = {
        field: {site: arrays[f"{before}{name}.{site.kind}.{site.layer}"] for site in sites} for name, field in MAPS.items()
    }
    paths = tuple(map(_read_path, header["hypotheses"]))
    chosen, base = header["chosen"], header["baseline"]
    if not (chosen is None or (is_whole(chosen) and 0 <= chosen < len(paths))):
        raise ValueError(f"the hypothesis {shown(chosen)} is chosen of {len(paths)}")
    if before and base is not None:
        raise ValueError("its baseline has a baseline")
    return Exported(
        **{name: _text(header[name]) for name in ("checkpoint", "fingerprint", "translation")},
        **{name: _read_axis(header[name]) for name in AXES},
        **{field: arrays[before + name] for name, field in BY_STEP.items()},
        **maps,
        follows=_share(header["follows"]),
        request=schema.asked(header["request"]),
        notes=texts(header["notes"]),
        candidate_labels=tuple(map(texts, header["candidate_labels"])),
        hypotheses=paths,
        chosen=chosen,
        baseline=None if base is None else from_parts(base, arrays, BEFORE),
    )


def _lists(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _axis(found: Axis | None) -> dict[str, Any] | None:
    return None if found is None else _lists(dataclasses.asdict(found))


def _read_axis(found: Any) -> Axis | None:
    if found is None:
        return None
    if not isinstance(found, dict) or set(found) != {"ids", "labels", "words"}:
        raise ValueError("the tokens of one side have other fields")
    axis = Axis(ids(found["ids"]), texts(found["labels"]), _words(found["words"]))
    if not 0 < len(axis.ids) == len(axis.labels) == len(axis.words) <= MAX_TOKENS:
        raise ValueError("the tokens of one side, their labels and their words differ in number")
    return axis


def _words(found: Any) -> tuple[int, ...]:
    if not isinstance(found, list) or not all(map(is_whole, found)):
        raise ValueError("the words of tokens are no numbers")
    return tuple(found)


def _sites(found: Any) -> list[tuple[Site, int]]:
    """Each site with the number of its heads."""
    made = [(Site(each["kind"], each["layer"]), each["heads"]) for each in found]
    for site, heads in made:
        layers = LARGEST["encoder_layers"]
        if site.kind not in SITE_KINDS or not (is_whole(site.layer) and 0 <= site.layer < layers):
            raise ValueError(f"it has attention at {shown(tuple(site))}")
        if not (is_whole(heads) and 1 <= heads <= LARGEST["heads"]):
            raise ValueError(f"it has {shown(heads)} heads")
    if len({site for site, _ in made}) != len(made):
        raise ValueError("it names a site twice")
    return made


def _read_path(found: Any) -> ExportedPath:
    names = {field.name for field in dataclasses.fields(ExportedPath)}
    if not isinstance(found, dict) or set(found) != names:
        raise ValueError("a hypothesis of it has other fields")
    numbers = (*found["log_probs"], found["score"], found["rank"])
    if not all(isinstance(each, float) for each in numbers):
        raise ValueError("a log-probability of a hypothesis is no number")
    if not all(isinstance(found[name], bool) for name in ("finished", "given_up")):
        raise ValueError("a hypothesis is neither finished nor not")
    lists = {"ids": ids(found["ids"]), "labels": texts(found["labels"]), "log_probs": tuple(found["log_probs"])}
    if len({len(each) for each in lists.values()}) != 1:
        raise ValueError("the tokens of a hypothesis and their log-probabilities differ in number")
    return ExportedPath(**(found | lists | {"text": _text(found["text"])}))


def _share(found: Any) -> float | None:
    if found is not None and not (isinstance(found, float) and 0 <= found <= 1):
        raise ValueError(f"{shown(found)} stands where a probability should")
    return found


def _text(found: Any) -> str:
    if not isinstance(found, str):
        raise ValueError(f"{shown(found)} stands where a text should")
    return found


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
