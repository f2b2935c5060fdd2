"""Reads and writes the lines of a checks file. A form is a sentence with fields of declared types."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from model.export import schema
from model.inference.request import Request
from model.io.limits import is_whole
from model.readings.heads.head_metrics import METRICS
from model.trace import SITE_KINDS, Site


class FormError(ValueError):
    """A line that no form fits. `position` is the first wrong character, the message the expected text."""

    def __init__(self, expected: str, at: int) -> None:
        super().__init__(expected)
        self.at = at


class Token(NamedTuple):
    """A token by its label, and its occurrence among equal labels, from 1."""

    label: str
    number: int = 1


class Head(NamedTuple):
    """A head, from 0; None for the mean over heads."""

    site: Site
    head: int | None


@dataclass(frozen=True)
class Amount:
    """Condition on a number: a lower bound, an upper bound, or a value with a tolerance."""

    how: str  # at least, at most, within
    value: float
    tolerance: float = 0.0

    def holds(self, found: float) -> bool:
        """True where the number meets the condition; False for nan."""
        if self.how == "within":
            return abs(found - self.value) <= self.tolerance
        return found >= self.value if self.how == "at least" else found <= self.value


Read = Callable[[str, int], tuple[Any, int]]
_NUMBER = r"-?(?:0|[1-9][0-9]{0,9})(?:\.[0-9]{1,12})?"
_DECODER = json.JSONDecoder()
_ASKED = [name for name in schema.plain(Request("x")) if name not in ("source", "checkpoint", "decoding")]
_DECODED = schema.DECODING_KEYS


def _value(line: str, at: int) -> tuple[Any, int]:
    """Reads a JSON value."""
    try:
        value, end = _DECODER.raw_decode(line, at)
    except (ValueError, RecursionError):
        raise FormError("a JSON value: a text in double quotes, a number or a list", at) from None
    return value, end


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
        if hit := compiled.match(line, at):
            return hit
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
    match = _amount_of(line, at)
    if match[1]:
        return Amount(match[1], float(match[2])), match.end()
    return Amount("within", float(match[3]), float(match[4])), match.end()


def _head(line: str, at: int) -> tuple[Head, int]:
    match = _head_of(line, at)
    kind = next(of.kind for of in SITE_KINDS.values() if of.code == match[1])
    return Head(Site(kind, int(match[2]) - 1), None if match[3] == "mean" else int(match[3]) - 1), match.end()


def _step(line: str, at: int) -> tuple[int, int]:
    match = _step_of(line, at)
    return int(match[1]) - 1, match.end()


def _metric(line: str, at: int) -> tuple[str, int]:
    match = _metric_of(line, at)
    if match[0] not in METRICS:
        raise FormError(f"one of {', '.join(METRICS)}", at)
    return match[0], match.end()


def _asked(line: str, at: int) -> tuple[Request, int]:
    """Reads a sentence, and the options after `with`, each as name=value."""
    first = at
    source, at = _text(line, at)
    options: dict[str, Any] = {}
    before = " with "
    while line.startswith(before, at) and (name := re.compile(r"([a-z_]+)=").match(line, at + len(before))):
        if name[1] not in (*_ASKED, *_DECODED) or name[1] in options:
            raise FormError(f"one of {', '.join((*_ASKED, *_DECODED))}, each once", name.start())
        options[name[1]], at = _value(line, name.end())
        before = " "
    plain = schema.plain(Request("x")) | {"source": source}
    plain |= {name: value for name, value in options.items() if name in _ASKED}
    plain["decoding"] |= {name: _as_number(name, value) for name, value in options.items() if name in _DECODED}
    try:
        return schema.asked(plain), at
    except (ValueError, TypeError, KeyError) as fault:
        raise FormError(f"a valid request ({fault})", first) from None


def _as_number(name: str, value: Any) -> Any:
    return float(value) if name in ("alpha", "temperature", "top_p") and is_whole(value) else value


FIELDS: dict[str, Read] = {
    "request": _asked,
    "text": _text,
    "query": _token,
    "key": _token,
    "head": _head,
    "amount": _amount,
    "step": _step,
    "metric": _metric,
}


def read(form: str, line: str) -> dict[str, Any]:
    """Returns the fields of a form, after reading the full line. Raises FormError where the line has another form."""
    position, fields = 0, {}
    for part in re.split(r"(\{[a-z]+\})", form):
        if part.startswith("{"):
            fields[part[1:-1]], position = FIELDS[part[1:-1]](line, position)
        elif not line.startswith(part, position):
            raise FormError(f"“{part.strip()}”", position + len(_common(line[position:], part)))
        else:
            position += len(part)
    if position != len(line):
        raise FormError("the end of the line", position)
    return fields


def _common(one: str, other: str) -> str:
    same = 0
    while same < min(len(one), len(other)) and one[same] == other[same]:
        same += 1
    return one[:same]


def text(value: Any) -> str:
    """Formats a value."""
    return json.dumps(value, ensure_ascii=False)


def token(label: str, labels: tuple[str, ...], place: int) -> str:
    """Formats a token at a position among others."""
    number = labels[: place + 1].count(label)
    return text(label) if number == 1 else f"{text(label)}#{number}"


def head(site: Site, number: int | None) -> str:
    """Formats a head, from 0, or the mean."""
    return f"{site.of.code}.{site.layer + 1}.{'mean' if number is None else number + 1}"


def asked(request: Request) -> str:
    """Formats a request without its default options. The checkpoint is chosen where the checks run."""
    plain, default = schema.plain(request), schema.plain(Request(request.source))
    options = {name: plain[name] for name in _ASKED if plain[name] != default[name]}
    options |= {name: plain["decoding"][name] for name in _DECODED if plain["decoding"][name] != default["decoding"][name]}
    more = " ".join(f"{name}={text(value)}" for name, value in options.items())
    return f"{text(request.source)} with {more}" if more else text(request.source)
