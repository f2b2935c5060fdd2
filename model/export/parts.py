"""An exported analysis taken apart into a header of plain values and named arrays, and put together again."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from model.export import requests
from model.export.exported import Exported, ExportedPath
from model.export.requests import ids, texts
from model.export.schema import ARRAYS, BEFORE, CANDIDATES, FILE, HEADER, STEPS
from model.files import shown
from model.limits import LARGEST, is_whole
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
        "request": requests.plain(exported.request),
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
        request=requests.asked(header["request"]),
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
