"""A request as plain values, and back: its edits as the codes that a link has."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from model.decoding.strategy import Decoding
from model.edits.intervention import BASELINE, Intervention
from model.inference.request import Request
from model.limits import is_whole

BETWEEN = "~"  # codes of edits, as in a link


def intervention(codes: Iterable[str]) -> Intervention:
    """The edits of some codes together; EditError for one that is none, or contradicts another."""
    made = BASELINE
    for code in codes:
        made = made.with_edit(code)
    return made


def codes(made: Intervention) -> tuple[str, ...]:
    """The codes of all edits of an intervention."""
    return tuple(code for code, _ in made.parts())


def plain(request: Request) -> dict[str, Any]:
    """All of a request as lists, texts and numbers."""
    found = {field.name: getattr(request, field.name) for field in dataclasses.fields(request)}
    found |= {"branches": [list(ids) for ids in request.branches], "path": list(request.path)}
    found |= {"other_sentences": list(request.other_sentences), "decoding": dataclasses.asdict(request.decoding)}
    return {name: value for name, value in found.items() if name != "intervention"} | {
        "edits": list(codes(request.intervention))
    }


def asked(values: Mapping[str, Any]) -> Request:
    """The request of plain values; ValueError, TypeError or KeyError where they are none."""
    values = {"second": ""} | dict(values)  # files that are older than two sentences
    _check_types(values, Request, {"checkpoint", "source", "second", "prefix", "mode"}, {"pad"}, {"target"})
    values = {**values, "decoding": {"more": 0, **values["decoding"]}}  # files that were written before there was `more`
    _check_types(values["decoding"], Decoding, {"strategy"}, {"limit", "width", "top_k", "seed", "more"}, set())
    if not all(isinstance(values["decoding"][name], float | int) for name in ("alpha", "temperature", "top_p")):
        raise ValueError("a control of its decoding is no number")
    given = {name: value for name, value in values.items() if name != "edits"}
    given |= {"branches": tuple(map(ids, values["branches"])), "path": ids(values["path"])}
    given |= {"other_sentences": texts(values["other_sentences"]), "decoding": Decoding(**values["decoding"])}
    return Request(**given, intervention=intervention(texts(values["edits"])))


def _check_types(values: Any, record: type, strings: set[str], whole: set[str], perhaps: set[str]) -> None:
    """ValueError for fields that a record has not, that are missing, or that hold something else."""
    names = {"edits" if field.name == "intervention" else field.name for field in dataclasses.fields(record)}
    if not isinstance(values, Mapping) or set(values) != names:
        raise ValueError(f"a {record.__name__.lower()} of it has other fields")
    fine = all(isinstance(values[name], str) for name in strings) and all(is_whole(values[name]) for name in whole)
    if not fine or not all(values[name] is None or isinstance(values[name], str) for name in perhaps):
        raise ValueError(f"a {record.__name__.lower()} of it holds something else than texts and numbers")


def ids(found: Any) -> tuple[int, ...]:
    """Tokens' numbers, of a list of them; ValueError."""
    if not isinstance(found, list) or not all(is_whole(each) and each >= 0 for each in found):
        raise ValueError("a list of tokens holds something else")
    return tuple(found)


def texts(found: Any) -> tuple[str, ...]:
    """Texts, of a list of them; ValueError."""
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ValueError("a list of texts holds something else")
    return tuple(found)
