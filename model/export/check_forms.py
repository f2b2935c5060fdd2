"""The lines of a checks file, read and written: a form is a sentence with fields in it, each of one kind of value."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from model.decoding.strategy import Decoding
from model.export import schema
from model.inference.request import Request
from model.io.limits import is_whole
from model.readings.heads.head_metrics import METRICS
from model.trace import SITE_KINDS, Site


class FormError(ValueError):
    """A line that is none; `at` is where it stops being one, the text what was expected there."""

    def __init__(self, expected: str, at: int) -> None:
        super().__init__(expected)
        self.at = at


class Token(NamedTuple):
    """A token by its label, and which of those of this label it is, from 1."""

    label: str
    number: int = 1


class Head(NamedTuple):
    """A head by its place, from 0; None: the mean over heads."""

    site: Site
    head: int | None


@dataclass(frozen=True)
class Amount:
    """What a number should be: at least or at most so much, or so much within a tolerance."""

    how: str  # at least, at most, within
    value: float
    tolerance: float = 0.0

    def holds(self, found: float) -> bool:
        """True for a number that is so; never for one that is none."""
        if self.how == "within":
            return abs(found - self.value) <= self.tolerance
        return found >= self.value if self.how == "at least" else found <= self.value


Read = Callable[[str, int], tuple[Any, int]]
_NUMBER = r"-?(?:0|[1-9][0-9]{0,9})(?:\.[0-9]{1,12})?"
_DECODER = json.JSONDecoder()
_ASKED = [name for name in schema.plain(Request("x")) if name not in ("source", "checkpoint", "decoding")]
_DECODED = list(Decoding.__dataclass_fields__)


def _value(line: str, at: int) -> tuple[Any, int]:
    """A JSON value."""
    try:
        found, end = _DECODER.raw_decode(line, at)
    except (ValueError, RecursionError):
        raise FormError("a text in double quotes, a number or a list, as JSON has them", at) from None
    return found, end


def _text(line: str, at: int) -> tuple[str, int]:
    if line[at : at + 1] != '"':
        raise FormError("a text in double quotes", at)
    return _value(line, at)


def _token(line: str, at: int) -> tuple[Token, int]:
    label, at = _text(line, at)
    which = re.compile(r"#([1-9][0-9]{0,3})").match(line, at)
    return (Token(label, int(which[1])), which.end()) if which else (Token(label), at)


def _matched(pattern: str, expected: str) -> Callable[[str, int], re.Match[str]]:
    compiled = re.compile(pattern, re.ASCII)

    def match(line: str, at: int) -> re.Match[str]:
        if found := compiled.match(line, at):
            return found
        raise FormError(expected, at)

    return match


_amount_of = _matched(
    rf"(at least|at most) ({_NUMBER})|({_NUMBER}) within ({_NUMBER})", "“at least 0.9”, “at most 0.1” or “0.5 within 0.05”"
)
_head_of = _matched(
    rf"({'|'.join(each.code for each in SITE_KINDS.values())})\.([1-9][0-9]?)\.([1-9][0-9]?|mean)\b",
    "a head such as cross.3.2, or cross.3.mean",
)
_step_of = _matched(r"([1-9][0-9]{0,2})\b", "a step, from 1")
_metric_of = _matched("[a-z]+", f"one of {', '.join(METRICS)}")


def _amount(line: str, at: int) -> tuple[Amount, int]:
    found = _amount_of(line, at)
    if found[1]:
        return Amount(found[1], float(found[2])), found.end()
    return Amount("within", float(found[3]), float(found[4])), found.end()


def _head(line: str, at: int) -> tuple[Head, int]:
    found = _head_of(line, at)
    kind = next(of.kind for of in SITE_KINDS.values() if of.code == found[1])
    return Head(Site(kind, int(found[2]) - 1), None if found[3] == "mean" else int(found[3]) - 1), found.end()


def _step(line: str, at: int) -> tuple[int, int]:
    found = _step_of(line, at)
    return int(found[1]) - 1, found.end()


def _metric(line: str, at: int) -> tuple[str, int]:
    found = _metric_of(line, at)
    if found[0] not in METRICS:
        raise FormError(f"one of {', '.join(METRICS)}", at)
    return found[0], found.end()


def _asked(line: str, at: int) -> tuple[Request, int]:
    """A sentence, and after `with` what else is asked, each as name=value."""
    first = at
    source, at = _text(line, at)
    given: dict[str, Any] = {}
    before = " with "
    while line.startswith(before, at) and (name := re.compile(r"([a-z_]+)=").match(line, at + len(before))):
        if name[1] not in (*_ASKED, *_DECODED) or name[1] in given:
            raise FormError(f"one of {', '.join((*_ASKED, *_DECODED))}, each once", name.start())
        given[name[1]], at = _value(line, name.end())
        before = " "
    plain = schema.plain(Request("x")) | {"source": source}
    plain |= {name: value for name, value in given.items() if name in _ASKED}
    plain["decoding"] |= {name: _as_number(name, value) for name, value in given.items() if name in _DECODED}
    try:
        return schema.asked(plain), at
    except (ValueError, TypeError, KeyError) as fault:
        raise FormError(f"a request that can be made ({fault})", first) from None


def _as_number(name: str, value: Any) -> Any:
    return float(value) if name in ("alpha", "temperature", "top_p") and is_whole(value) else value


FIELDS: dict[str, Read] = {
    "asked": _asked,
    "text": _text,
    "query": _token,
    "key": _token,
    "head": _head,
    "amount": _amount,
    "step": _step,
    "metric": _metric,
}


def read(form: str, line: str) -> dict[str, Any]:
    """The values of the fields of a form, all of the line read; FormError where it is another line."""
    at, found = 0, {}
    for part in re.split(r"(\{[a-z]+\})", form):
        if part.startswith("{"):
            found[part[1:-1]], at = FIELDS[part[1:-1]](line, at)
        elif not line.startswith(part, at):
            raise FormError(f"“{part.strip()}”", at + len(_common(line[at:], part)))
        else:
            at += len(part)
    if at != len(line):
        raise FormError("the end of the line", at)
    return found


def _common(one: str, other: str) -> str:
    same = 0
    while same < min(len(one), len(other)) and one[same] == other[same]:
        same += 1
    return one[:same]


# -- writing -----------------------------------------------------------------------------------------------------------


def text(value: Any) -> str:
    """A value as it stands in a line."""
    return json.dumps(value, ensure_ascii=False)


def token(label: str, labels: tuple[str, ...], place: int) -> str:
    """A token at a place among others."""
    number = labels[: place + 1].count(label)
    return text(label) if number == 1 else f"{text(label)}#{number}"


def head(site: Site, number: int | None) -> str:
    """A head, from 0, or the mean."""
    return f"{site.of.code}.{site.layer + 1}.{'mean' if number is None else number + 1}"


def asked(request: Request) -> str:
    """A request, what is at its default left out; the checkpoint is named where the checks are run."""
    plain, default = schema.plain(request), schema.plain(Request(request.source))
    options = {name: plain[name] for name in _ASKED if plain[name] != default[name]}
    options |= {name: plain["decoding"][name] for name in _DECODED if plain["decoding"][name] != default["decoding"][name]}
    more = " ".join(f"{name}={text(value)}" for name, value in options.items())
    return f"{text(request.source)} with {more}" if more else text(request.source)
