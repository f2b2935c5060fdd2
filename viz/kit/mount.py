"""What every component does: its files are found, it is mounted in the theme's colours, what it reports is checked.

Arrays as a browser is sent them: the numbers as they are, in few bytes, quickly written. `packed.js` reads them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from model.config import MAX_CHARACTERS
from viz import theme
from viz.kit import terms
from viz.kit.offline_parts import Drawn, Part, in_a_file, joined, unpacking
from viz.state import session
from viz.state.result_cache import Payload, written

# The arguments of a handler; None for what a script cannot have meant. A browser may send anything: a check may raise a
# TypeError, ValueError, AttributeError, LookupError or OverflowError on what is of another kind than it expects.
Check = Callable[[Any], tuple[Any, ...] | None]
Event = tuple[Check, Callable[..., None]]
_TERMS = Path(__file__).with_name("terms.css")


def packed(*parts: Mapping[str, Any]) -> bytes:
    """The parts of a payload as one JSON object, in which the last of a name counts. Streamlit would look into a dict for
    tables at every mount, and write it out twice."""
    texts = [part.text if isinstance(part, Payload) else written(part) for part in parts if part]
    return f"{{{','.join(text[1:-1] for text in texts)}}}".encode()


@cache
def _colours(mode: theme.Mode) -> Payload:
    return Payload(style=theme.PALETTES[mode].css_variables())


class Component:
    """A component whose script and style stand beside its module: `<name>.js`, `<name>.css` where there is one."""

    def __init__(
        self, file: str, html: str = "", name: str | None = None, told: tuple[str, ...] = (), picture: str = ""
    ) -> None:
        """`name` is that of the module's file where none is given. `told` are the terms whose meanings its script tells, by
        `term` of mount.js, which are added to its payload as `terms`. `picture` is what the panel of *Save* calls it."""
        self.name = name or Path(file).stem
        self.script, style = (Path(file).with_name(self.name + ending) for ending in (".js", ".css"))
        meanings = {"terms": terms.meanings(*told)} if told else {}
        self._added = Payload(component=self.name, picture=picture, **meanings)
        styles = (_TERMS, style) if told else (style,)
        css = [path.read_text(encoding="utf-8") for path in styles if path.exists()]
        self._mount = st.components.v2.component(
            f"attention_lab.{self.name}",
            html=html or None,
            css="".join(css) or None,
            js=unpacking(joined(self.script)),
        )
        self._html, self._css = html, "".join(css)

    @cached_property
    def drawn(self) -> Drawn:
        """What a file needs that has this component in it."""
        return Drawn(self.name, self._html, self._css, in_a_file(joined(self.script)))

    def part(self, *data: Mapping[str, Any]) -> Part:
        """The component with its JSON values, as `mount` would give them to it, for a file that needs no server."""
        return Part(self.drawn, {name: value for each in (*data, self._added) for name, value in each.items()})

    def mount(
        self,
        key: str,
        data: Mapping[str, Any],
        events: Mapping[str, Event] | None = None,
        default: Mapping[str, Any] | None = None,
        height: int | str = "content",
        beside: Mapping[str, Any] | None = None,
    ) -> None:
        """Mounts it with JSON values; the theme's colours go with them as `style`, before those of the payload's own.

        `events`: for each name that the script reports, how the value is checked, and who is called with it before the next
        run. `default`: what the script would report where nothing has changed. `beside`: more values, in place of those
        of the same names: what changes while the rest, as a `Payload`, stays as it is written out.
        """
        reports = {f"on_{name}_change": _report(key, name, *event) for name, event in (events or {}).items()}
        colours = _colours(session.theme_mode())
        if "style" in data:
            colours = {"style": {**colours["style"], **data["style"]}}
        whole = packed(data, beside or {}, self._added, colours)
        self._mount(key=key, data=whole, default=default, height=height, **reports)


def _report(key: str, name: str, check: Check, handle: Callable[..., None]) -> Callable[[], None]:
    def reported() -> None:
        session.hear()
        told = _checked(check, lambda: session.component_value(key, name))
        if told is not None:
            handle(*told)

    return reported


def _checked(check: Check, told: Callable[[], Any]) -> tuple[Any, ...] | None:
    try:
        return check(told())
    except (TypeError, ValueError, AttributeError, LookupError, OverflowError):
        return None


def clicked(key: str, axis: str, low: int, high: int) -> int | None:
    """The whole number on an axis at which a chart was clicked; None where it was not, or outside of `low` to `high`."""
    found = _checked(whole(low, high), lambda: session.component_value(key, "selection")["points"][0][axis])
    return None if found is None else found[0]


def whole(low: int, high: int) -> Check:
    """A whole number from `low` to `high`."""

    def check(told: Any) -> tuple[int] | None:
        fits = isinstance(told, int | float) and not isinstance(told, bool) and low <= told <= high
        return (int(told),) if fits and told == int(told) else None

    return check


def one_of(choices: Collection[Any]) -> Check:
    """One of some values."""
    return lambda told: next(((choice,) for choice in choices if type(choice) is type(told) and choice == told), None)


def text(told: Any) -> tuple[str] | None:
    """A text of a bearable length, in valid Unicode."""
    usable = isinstance(told, str) and len(told) <= MAX_CHARACTERS and not any("\ud800" <= char <= "\udfff" for char in told)
    return (told,) if usable else None


def flag(told: Any) -> tuple[bool] | None:
    """On or off."""
    return (bool(told),)


def pressed(told: Any) -> tuple[()] | None:
    """Something was asked for; that is all there is to say."""
    return () if told else None


def fields(**checks: Check) -> Check:
    """A record, each of whose fields is checked; the arguments in the order of the fields."""

    def check(told: Any) -> tuple[Any, ...] | None:
        found = [each(told.get(name)) for name, each in checks.items()] if isinstance(told, dict) else [None]
        return None if any(one is None for one in found) else tuple(value for one in found if one for value in one)

    return check


def floats(values: np.ndarray) -> str:
    """Numbers, row by row, as float32 in base64."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode()


def cells(chosen: np.ndarray) -> str:
    """Which cells are chosen, row by row, 0 or 1."""
    return (chosen.ravel() + np.uint8(ord("0"))).tobytes().decode()
