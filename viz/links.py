"""The link that carries a view. It is checked like any other outside input: each fault becomes one sentence, and the rest
of the link holds."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

from model.arguments import device_name
from model.config import END, MAX_TOKENS, SCHEMES
from model.decoding.sampling import MIN_TEMPERATURE
from model.decoding.strategy import MAX_ALPHA, MAX_SEED
from model.edits.intervention import BASELINE, Intervention
from model.edits.kinds import EditError
from model.inference.request import MAX_PAD, MAX_SENTENCES
from model.readings.head_maps import MEASURES
from model.readings.head_metrics import orders
from viz.view import (
    MAX_PE_BASE,
    MAX_PE_COUNT,
    MAX_PE_SHIFT,
    MAX_PE_WIDTH,
    MAX_TEMPERATURE,
    MAX_WIDTH,
    PARTS,
    STRATEGIES,
    View,
    with_intervention,
)

MAX_LINK_TEXT = 6000  # characters; longer text is never read from a link
SEPARATOR = "~"  # between the edits of a link, and between its branches
MAX_EDITS = 200
MAX_BRANCHES = 8
MAX_WORD = 60  # characters


def _number(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 7 and low <= int(text) <= high):
            raise ValueError(f"a whole number from {low} to {high}")
        return int(text)

    return parse


def _decimal(low: float, high: float, above: bool = False) -> Callable[[str], float]:
    """A number from `low` (or above it) to `high`."""

    def parse(text: str) -> float:
        try:
            value = float(text) if len(text) < 25 and text.isascii() and "_" not in text else math.nan
        except ValueError:
            value = math.nan
        if not (low < value <= high or (value == low and not above)):
            raise ValueError(f"a number above {low:g}, up to {high:g}" if above else f"a number from {low:g} to {high:g}")
        return value

    return parse


def _temperature(text: str) -> float:
    expected = f"0, or a number from {MIN_TEMPERATURE:g} to {MAX_TEMPERATURE:g}"
    try:
        value = _decimal(0, MAX_TEMPERATURE)(text)
    except ValueError:
        raise ValueError(expected) from None
    if 0 < value < MIN_TEMPERATURE:
        raise ValueError(expected)
    return value


def _choice(**choices: Any) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        if text not in choices:
            raise ValueError(" or ".join(choices))
        return choices[text]

    return parse


def _text(text: str) -> str:
    if len(text) > MAX_LINK_TEXT:
        raise ValueError(f"at most {MAX_LINK_TEXT} characters")
    return text


def _word(text: str) -> str:
    if len(text) > MAX_WORD:
        raise ValueError(f"a word of at most {MAX_WORD} characters")
    return text


def _pe_width(text: str) -> int:
    expected = f"an even number from 2 to {MAX_PE_WIDTH}"
    try:
        value = _number(2, MAX_PE_WIDTH)(text)
    except ValueError:
        raise ValueError(expected) from None
    if value % 2:
        raise ValueError(expected)
    return value


def _head(text: str) -> int | None:
    try:
        return None if text == "mean" else _number(1, 999)(text)
    except ValueError as expected:
        raise ValueError(f"mean or {expected}") from None


def _name(text: str) -> str:
    if not text.replace("-", "").replace("_", "").replace(".", "").isalnum() or text.startswith("."):
        raise ValueError("the name of a checkpoint")
    return text


def _edits(text: str) -> Intervention:
    """The edits of a link; _SomeEdits names those that cannot be made, and keeps the others."""
    made, faults = BASELINE, []
    for code in text.split(SEPARATOR)[:MAX_EDITS]:
        try:
            if code.startswith("window-") and made.window is not None and code != f"window-{made.window}":
                raise EditError(f"“{code[:40]}” is a second window; expected one.")
            made = made.with_edit(code)
        except EditError as wrong:
            faults.append(f"{wrong} The link's “{code[:40]}” is left out.")
    if text.count(SEPARATOR) >= MAX_EDITS:
        faults.append(f"A link carries at most {MAX_EDITS} edits; the rest is left out.")
    if faults:
        raise _SomeEdits(made, faults)
    return made


class _SomeEdits(ValueError):
    """Some of a link's edits hold, others do not."""

    def __init__(self, made: Intervention, faults: list[str]) -> None:
        super().__init__(*faults)
        self.made, self.faults = made, faults


def _ids(text: str) -> tuple[int, ...]:
    """Tokens by their numbers, with a dash between."""
    parts = text.split("-")
    known = all(p.isascii() and p.isdigit() and len(p) < 7 and int(p) >= END for p in parts)
    if not known or len(parts) > MAX_TOKENS or str(END) in parts[:-1]:
        raise ValueError(f"up to {MAX_TOKENS} numbers of tokens with a dash between, </s> at the end alone")
    return tuple(map(int, parts))


def _branches(text: str) -> tuple[tuple[int, ...], ...]:
    parts = text.split(SEPARATOR)
    if len(parts) > MAX_BRANCHES:
        raise ValueError(f"at most {MAX_BRANCHES} branches")
    found = tuple(dict.fromkeys(map(_ids, parts)))
    if any(len(branch) >= MAX_TOKENS for branch in found):
        raise ValueError(f"branches of fewer than {MAX_TOKENS} tokens")
    return found


def _drawn(text: str) -> tuple[float, int, float]:
    parts = text.split("_")
    if len(parts) != 3:
        raise ValueError("temperature, top-k and top-p with _ between")
    return READERS["temperature"](parts[0]), READERS["top_k"](parts[1]), READERS["top_p"](parts[2])


def _written(value: float) -> str:
    """A number as short as it can be without becoming another."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def _joined(ids: tuple[int, ...]) -> str:
    return "-".join(map(str, ids))


READERS: dict[str, Callable[[str], Any]] = {  # what a control may hold; ValueError says what is expected
    "width": _number(1, MAX_WIDTH),
    "alpha": _decimal(0, MAX_ALPHA),
    "temperature": _temperature,
    "top_k": _number(0, 99_999),
    "top_p": _decimal(0, 1, above=True),
    "seed": _number(0, MAX_SEED),
}
_ON_OFF = _choice(on=True, off=False)
# parameter of the link: field of the view, how its text is read, how its value is written
_LINK: dict[str, tuple[str, Callable[[str], Any], Callable[[Any], str]]] = {
    "text": ("source", _text, str),
    "target": ("target", _text, str),
    "step": ("step", _number(1, 999), str),
    "layer": ("layer", _number(1, 999), str),
    "head": ("head", _head, lambda head: "mean" if head is None else str(head)),
    "show": ("show", _choice(attention="attention", mask="mask", decoding="decoding"), str),
    "mode": ("mode", _choice(given="given", again="again"), str),
    "causal": ("causal_mask", _ON_OFF, lambda on: "on" if on else "off"),
    "padmask": ("padding_mask", _ON_OFF, lambda on: "on" if on else "off"),
    "edits": ("edits", _edits, lambda edits: SEPARATOR.join(code for code, _ in edits.parts())),
    "pad": ("pad", _number(0, MAX_PAD), str),
    "kind": ("kind", _choice(encoder="encoder", decoder="decoder", cross="cross"), str),
    "scope": ("scope", _choice(all="all", layer="layer", head="head"), str),
    "try": ("experiment", _name, str),
    "sentence": ("sentence", _number(1, MAX_SENTENCES), str),
    "split": ("split", _ON_OFF, lambda on: "on" if on else "off"),
    "decode": ("strategy", _choice(**{name: name for name in STRATEGIES}), str),
    **{name: (name, read, _written) for name, read in READERS.items()},
    "drawn": ("drawn", _drawn, lambda drawn: "_".join(map(_written, drawn))),
    "branch": ("branches", _branches, lambda branches: SEPARATOR.join(map(_joined, branches))),
    "path": ("path", _ids, _joined),
    "rows": ("rows", _choice(steps="steps", shifted="shifted", training="training"), str),
    "guess": ("guess", _choice(first=True), lambda on: "first"),
    "order": ("order", lambda text: _choice(**{name: name for name in orders()})(text), str),
    "measure": ("measure", _choice(**{name: name for name in MEASURES}), str),
    "words": ("merge", _choice(merged=True, pieces=False), lambda on: "merged" if on else "pieces"),
    "lines": ("hide", _choice(content=True, all=False), lambda on: "content" if on else "all"),
    "mass": ("mass", _number(1, 100), str),
    "sites": ("together", _choice(all=True, one=False), lambda on: "all" if on else "one"),
    "average": ("average", _choice(layers=True, none=False), lambda on: "layers" if on else "none"),
    "colour": ("by_row", _choice(row=True, one=False), lambda on: "row" if on else "one"),
    "part": ("part", _choice(**{name: name for name in PARTS}), str),
    "stage": ("stage", _number(1, 99), str),
    "token": ("token", _number(1, 999), str),
    "near": ("near", _word, str),
    "scheme": ("scheme", _choice(**{name: name for name in SCHEMES}), str),
    "pe_d": ("pe_width", _pe_width, str),
    "pe_base": ("pe_base", _decimal(2, MAX_PE_BASE), _written),
    "pe_n": ("pe_count", _number(2, MAX_PE_COUNT), str),
    "pe_k": ("pe_shift", _number(0, MAX_PE_SHIFT), str),
    "pe_i": ("pe_pair", _number(0, MAX_PE_WIDTH // 2 - 1), str),
    "checkpoint": ("checkpoint", _name, str),
    "device": ("device", device_name, str),
}


def parse(params: Mapping[str, str]) -> tuple[View, tuple[str, ...]]:
    """The view that a link describes, and one sentence for each parameter that could not be used."""
    values, faults = {}, []
    for name, text in params.items():
        if name not in _LINK:
            continue  # other software adds parameters of its own
        field, read, _ = _LINK[name]
        try:
            values[field] = read(text)
        except _SomeEdits as some:
            values[field] = some.made
            faults += some.faults
        except ValueError as expected:
            shown = text if len(text) <= 40 else text[:40] + "..."
            faults.append(f"The link's {name} is “{shown}”; expected {expected}. The default is shown.")
    view = View(**values)  # where an edit's code switches a mask off, its switch says so
    masks = {name: getattr(view, name) and getattr(view.edits, name) for name in ("causal_mask", "padding_mask")}
    return dataclasses.replace(view, **with_intervention(dataclasses.replace(view.edits, **masks))), tuple(faults)


def link(view: View) -> dict[str, str]:
    """The query parameters of a view; what is at its default is left out, and a text that is too long for a link."""
    default = View()
    written = {
        name: write(getattr(view, field))
        for name, (field, _, write) in _LINK.items()
        if getattr(view, field) != getattr(default, field)
    }
    return {name: text for name, text in written.items() if len(text) <= MAX_LINK_TEXT}
