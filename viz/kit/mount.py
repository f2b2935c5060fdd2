"""JavaScript components: files, mounting in the theme's colours, checks of their events, and packed arrays.

`packed.js` reads the packed arrays.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection, Mapping
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from model.config import MAX_CHARACTERS
from viz import theme
from viz.kit import browser_store, quick_mount, terms
from viz.kit.offline_parts import ComponentAssets, Part, in_a_file, joined
from viz.state import session
from viz.state.result_cache import Payload

# Returns the arguments of a handler, or None for an invalid event. A browser may send anything: a check may raise TypeError,
# ValueError, AttributeError, LookupError or OverflowError.
Check = Callable[[Any], tuple[Any, ...] | None]
Event = tuple[Check, Callable[..., None]]
_TERMS = Path(__file__).with_name("terms.css")


@cache
def _colours(mode: theme.Mode) -> Payload:
    return Payload(style=theme.PALETTES[mode].css_variables())


@cache
def _declare(
    script: Path, html: str, term_names: tuple[str, ...], picture: str, glosses: str
) -> tuple[Payload, Callable[..., Any]]:
    """Returns the assets of a component and its mount function, once for each: every run executes the page's file."""
    meanings = {"terms": terms.meanings(*term_names)} if term_names else {}
    added = Payload(component=script.stem, picture=picture, **meanings, **({"glosses": glosses} if glosses else {}))
    scripts: list[Path] = []
    text = joined(script, scripts)
    styles = (*((_TERMS,) if term_names else ()), *(path.with_suffix(".css") for path in reversed(scripts)))
    css = "".join(path.read_text(encoding="utf-8") for path in styles if path.exists())
    name, call = f"attention_lab.{script.stem}", browser_store.call("mount")
    mount = quick_mount.declare(name, html, call, has_state="setStateValue" in text)
    return Payload(css=css, script=text, added=added), mount


class Component:
    """A component with `<name>.js` and an optional `<name>.css` beside its module, and the styles of imported scripts."""

    def __init__(
        self,
        file: str,
        html: str = "",
        name: str | None = None,
        term_names: tuple[str, ...] = (),
        picture: str = "",
        every_run: bool = False,
        glosses: str = "",
    ) -> None:
        """Declares the component.

        Args:
            name: default: the name of the module's file.
            term_names: terms that its script explains; their meanings become `terms` of the payload.
            picture: its name in the panel *Save*.
            every_run: True if its script must be called in each run, even if its payload is large and unchanged.
            glosses: the list of French words for `glosses.js`.
        """
        self._every_run = every_run
        self.name = name or Path(file).stem
        self.script = Path(file).with_name(f"{self.name}.js")
        self._html = html
        self._assets, self._mount = _declare(self.script, html, term_names, picture, glosses)
        self._added, self._css = self._assets["added"], self._assets["css"]

    @cached_property
    def assets(self) -> ComponentAssets:
        """Returns the assets for an HTML file with this component."""
        return ComponentAssets(self.name, self._html, self._css, in_a_file(joined(self.script)))

    def part(self, name: str, *data: Mapping[str, Any]) -> Part:
        """Returns the component with the JSON values of `mount`, as a part of an HTML file with this name."""
        return Part(name, self.assets, {key: value for each in (self._added, *data) for key, value in each.items()})

    def mount(
        self,
        key: str,
        data: Mapping[str, Any] | list[Mapping[str, Any]],
        events: Mapping[str, Event] | None = None,
        default: Mapping[str, Any] | None = None,
        height: int | str = "content",
        overrides: Mapping[str, Any] | None = None,
    ) -> None:
        """Mounts the component with JSON values and the theme's colours as `style`.

        Args:
            data: one mapping, or several of which each travels by itself.
            events: for each event, its check and its handler, a callback.
            default: the values of an unchanged component.
            overrides: values that replace those of `data`, so that a `Payload` stays serialized.
        """
        reports = {f"on_{name}_change": partial(_report, key, name, *event) for name, event in (events or {}).items()}
        colours = _colours(session.theme_mode())
        every = [*(data if isinstance(data, list) else [data]), overrides or {}]
        message = browser_store.message(key, self._assets, colours, every, self._every_run)
        self._mount(key=key, data=message, default=default, height=height, **reports)


def _report(key: str, name: str, check: Check, handle: Callable[..., None]) -> None:
    """Handles an event of a component if its value is valid; a callback."""
    session.mark_user_event()
    browser_store.mark_event(key)
    arguments = _checked(check, lambda: session.component_value(key, name))
    if arguments is not None:
        handle(*arguments)


def _checked(check: Check, read_value: Callable[[], Any]) -> tuple[Any, ...] | None:
    try:
        return check(read_value())
    except (TypeError, ValueError, AttributeError, LookupError, OverflowError):
        return None


def integer(low: int, high: int) -> Check:
    """A whole number from `low` to `high`."""

    def check(value: Any) -> tuple[int] | None:
        fits = isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high
        return (int(value),) if fits and value == int(value) else None

    return check


def from_one(high: int) -> Check:
    """A whole number from 1 to `high`, returned from 0."""

    def check(value: Any) -> tuple[int] | None:
        number = integer(1, high)(value)
        return None if number is None else (number[0] - 1,)

    return check


def place_from_one(layers: int, heads: int) -> Check:
    """A record with `layer` and `head` from 1, returned from 0. No head, or 0, is the mean over heads: None."""

    def check(record: Any) -> tuple[int, int | None] | None:
        has_head = record.get("head") is not None
        layer, head = from_one(layers)(record["layer"]), integer(0, heads)(record["head"] if has_head else 0)
        return None if layer is None or head is None else (*layer, head[0] - 1 if head[0] else None)

    return check


def one_of(choices: Collection[Any]) -> Check:
    """One of some values."""
    return lambda value: next(((each,) for each in choices if type(each) is type(value) and each == value), None)


def text(value: Any) -> tuple[str] | None:
    """A text of limited length in valid Unicode."""
    usable = (
        isinstance(value, str) and len(value) <= MAX_CHARACTERS and not any("\ud800" <= char <= "\udfff" for char in value)
    )
    return (value,) if usable else None


def flag(value: Any) -> tuple[bool] | None:
    """On or off."""
    return (bool(value),)


def pressed(value: Any) -> tuple[()] | None:
    """An event without arguments."""
    return () if value else None


def fields(**checks: Check) -> Check:
    """A record with a check for each field; the arguments follow the order of the fields."""

    def check(record: Any) -> tuple[Any, ...] | None:
        results = [each(record.get(name)) for name, each in checks.items()] if isinstance(record, dict) else [None]
        return None if any(one is None for one in results) else tuple(value for one in results if one for value in one)

    return check


def floats(values: np.ndarray) -> str:
    """Returns numbers, row by row, as float32 in base64."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode()


def cells(chosen: np.ndarray) -> str:
    """Returns a mask, row by row, as digits 0 and 1."""
    return (chosen.ravel() + np.uint8(ord("0"))).tobytes().decode()
