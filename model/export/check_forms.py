"""Reads and writes the lines of a checks file. A form is a sentence with fields of declared types."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from ..inference.request import Request
from ..io.files import is_whole_number
from ..readings.heads.head_metrics import METRICS
from ..trace import SITE_KINDS, Site
from . import schema


class FormError(ValueError):
    """A line that no form fits. `position` is the first wrong character, the message the expected text."""

    def __init__(self, expected: str, position: int) -> None:
        super().__init__(expected)
        self.position = position


class LabelledToken(NamedTuple):
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

    comparison: str  # at least, at most, within
    value: float
    tolerance: float = 0.0

    def holds(self, value: float) -> bool:
        """True where the number meets the condition; False for nan."""
        if self.comparison == "within":
            return abs(value - self.value) <= self.tolerance
        return value >= self.value if self.comparison == "at least" else value <= self.value


@dataclass(frozen=True)
class CorpusShare:
    """Every sentence of a corpus in place of one request: the check holds in at least, or at most, this share of them."""

    share: float
    is_limit: bool = False  # at most

    def holds(self, share: float) -> bool:
        """True where a measured share meets the condition."""
        return share <= self.share if self.is_limit else share >= self.share


FieldReader = Callable[[str, int], tuple[Any, int]]
TOLERANCE = 0.05  # of the checks of a view
STRONG = 0.5  # weights and probabilities from here on are checked with “at least”
_NUMBER = r"-?(?:0|[1-9][0-9]{0,9})(?:\.[0-9]{1,12})?"
_DECODER = json.JSONDecoder()
_REQUEST_FIELDS = [name for name in schema.request_values(Request("x")) if name not in ("source", "checkpoint", "decoding")]
_DECODING_FIELDS = schema.DECODING_KEYS


def _value(line: str, position: int) -> tuple[Any, int]:
    """Reads a JSON value."""
    try:
        value, end = _DECODER.raw_decode(line, position)
    except (ValueError, RecursionError):
        raise FormError("a JSON value: a text in double quotes, a number or a list", position) from None
    return value, end


def _text(line: str, position: int) -> tuple[str, int]:
    if line[position : position + 1] != '"':
        raise FormError("a text in double quotes", position)
    return _value(line, position)


def _token(line: str, position: int) -> tuple[LabelledToken, int]:
    label, position = _text(line, position)
    which = re.compile(r"#([1-9][0-9]{0,3})").match(line, position)
    return (LabelledToken(label, int(which[1])), which.end()) if which else (LabelledToken(label), position)


def _matched(pattern: str, expected: str) -> Callable[[str, int], re.Match[str]]:
    compiled = re.compile(pattern, re.ASCII)

    def match(line: str, position: int) -> re.Match[str]:
        if hit := compiled.match(line, position):
            return hit
        raise FormError(expected, position)

    return match


_amount_of = _matched(
    rf"(at least|at most) ({_NUMBER})|({_NUMBER}) within ({_NUMBER})", "“at least 0.9”, “at most 0.1” or “0.5 within 0.05”"
)
_head_of = _matched(
    rf"({'|'.join(each.code for each in SITE_KINDS.values())})\.([1-9][0-9]?)\.([1-9][0-9]?|mean)\b",
    "a head such as cross.3.2, or cross.3.mean",
)
_share_of = re.compile(
    r"every sentence|no sentence|at (least|most) ([0-9]{1,3}(?:\.[0-9]{1,3})?)% of the sentences", re.ASCII
)
_step_of = _matched(r"([1-9][0-9]{0,2})\b", "a step, from 1")
ScoreName = Literal["target", "continuation", "all", "default"]
_SCORES: tuple[ScoreName, ...] = get_args(ScoreName)
_score_of = _matched(rf"({'|'.join(_SCORES)})\b", f"one of {', '.join(_SCORES)}")
_metric_of = _matched("[a-z]+", f"one of {', '.join(METRICS)}")


def _amount(line: str, position: int) -> tuple[Amount, int]:
    match = _amount_of(line, position)
    if match[1]:
        return Amount(match[1], float(match[2])), match.end()
    return Amount("within", float(match[3]), float(match[4])), match.end()


def read_condition(text: str) -> Amount:
    """Returns a condition such as “at least 0.9” or “0.5 within 0.05”. Raises FormError for another text."""
    amount, end = _amount(text, 0)
    if end != len(text):
        raise FormError("the end of the condition", end)
    return amount


def _head(line: str, position: int) -> tuple[Head, int]:
    match = _head_of(line, position)
    kind = next(of.kind for of in SITE_KINDS.values() if of.code == match[1])
    return Head(Site(kind, int(match[2]) - 1), None if match[3] == "mean" else int(match[3]) - 1), match.end()


def _step(line: str, position: int) -> tuple[int, int]:
    match = _step_of(line, position)
    return int(match[1]) - 1, match.end()


def _score(line: str, position: int) -> tuple[ScoreName, int]:
    match = _score_of(line, position)
    return next(name for name in _SCORES if name == match[0]), match.end()


def _metric(line: str, position: int) -> tuple[str, int]:
    match = _metric_of(line, position)
    if match[0] not in METRICS:
        raise FormError(f"one of {', '.join(METRICS)}", position)
    return match[0], match.end()


def _request(line: str, position: int) -> tuple[Request | CorpusShare, int]:
    """Reads a sentence, and the options after `with`, each as name=value; or a share of the sentences of a corpus."""
    first = position
    if share := _share_of.match(line, position):
        if share[2] is None:
            return (CorpusShare(1.0) if share[0] == "every sentence" else CorpusShare(0.0, True)), share.end()
        if float(share[2]) > 100:
            raise FormError("a share of at most 100%", position)
        return CorpusShare(float(share[2]) / 100, share[1] == "most"), share.end()
    source, position = _text(line, position)
    options: dict[str, Any] = {}
    before = " with "
    while line.startswith(before, position) and (name := re.compile(r"([a-z_]+)=").match(line, position + len(before))):
        if name[1] not in (*_REQUEST_FIELDS, *_DECODING_FIELDS) or name[1] in options:
            raise FormError(f"one of {', '.join((*_REQUEST_FIELDS, *_DECODING_FIELDS))}, each once", name.start())
        options[name[1]], position = _value(line, name.end())
        before = " "
    plain = schema.request_values(Request("x")) | {"source": source}
    plain |= {name: value for name, value in options.items() if name in _REQUEST_FIELDS}
    plain["decoding"] |= {name: _as_number(name, value) for name, value in options.items() if name in _DECODING_FIELDS}
    try:
        return schema.parse_request(plain), position
    except (ValueError, TypeError, KeyError) as fault:
        raise FormError(f"a valid request ({fault})", first) from None


def _as_number(name: str, value: Any) -> Any:
    return float(value) if name in ("alpha", "temperature", "top_p") and is_whole_number(value) else value


FIELDS: dict[str, FieldReader] = {
    "request": _request,
    "text": _text,
    "query": _token,
    "key": _token,
    "head": _head,
    "amount": _amount,
    "step": _step,
    "metric": _metric,
    "score": _score,
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
    return f"{site.spec.code}.{site.layer + 1}.{'mean' if number is None else number + 1}"


def format_request(request: Request) -> str:
    """Formats a request without its default options. The checkpoint is chosen where the checks run."""
    plain, default = schema.request_values(request), schema.request_values(Request(request.source))
    options = {name: plain[name] for name in _REQUEST_FIELDS if plain[name] != default[name]}
    options |= {
        name: plain["decoding"][name] for name in _DECODING_FIELDS if plain["decoding"][name] != default["decoding"][name]
    }
    more = " ".join(f"{name}={text(value)}" for name, value in options.items())
    return f"{text(request.source)} with {more}" if more else text(request.source)


def format_condition(value: float) -> str:
    """Formats the condition on a weight or a probability."""
    if value < STRONG:
        return within(value)
    return f"at least {math.floor(100 * (value - TOLERANCE)) / 100:.2f}"


def within(value: float) -> str:
    """Formats a number with the tolerance of checks of a view."""
    return f"{value:.3f} within {TOLERANCE}"
