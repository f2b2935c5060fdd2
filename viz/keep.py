"""What is computed or drawn once for all visitors: a place for each kind of it, declared where it is computed."""

from __future__ import annotations

import functools
import inspect
import json
import os
import sys
import threading
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from cachetools import LRUCache, cached

from viz.turns import turn

KEEP_MB = int(os.environ.get("KEEP_MB") or 512)  # of analyses; a quarter of it for what is drawn; `viz.server` checks it
MAX_DRAWN = KEEP_MB * 1024 * 1024 // 4  # bytes
F = TypeVar("F", bound=Callable[..., Any])

_forget: list[Callable[[], None]] = []  # empties each place in which something is kept
_forget_of: list[Callable[[str], None]] = []  # the same of what a checkpoint's name stands in the key of


def written(values: Any) -> str:
    """Values as JSON in as few signs as it can be."""
    return json.dumps(values, separators=(",", ":"))


class Payload(dict[str, Any]):
    """What a component is given. It does not change, so it is written out as JSON once, however often it is mounted."""

    @functools.cached_property
    def text(self) -> str:
        return written(dict(self))

    @property
    def nbytes(self) -> int:
        """Bytes of what is written out."""
        return len(self.text)


def kept(
    size: int,
    weigh: Callable[[Any], int] | None = None,
    beside: tuple[str, ...] = (),
    is_long: Callable[..., bool] = lambda *args, **named: False,
    newest: str = "",
) -> Callable[[F], F]:
    """Keeps what a function computes for all visitors, under all its arguments but those that stand `beside`.

    `size` counts results, or bytes where `weigh` tells those of one; what was asked for the longest ago goes first. Who asks
    for what is being computed waits for it; else it is computed in its turn (`viz.turns`), among the long ones where
    `is_long` says so of the arguments. Where an argument is named as `newest`, a result for another value of it takes the
    place of the one before. `known` of the result gives what is kept already, or None. `forget` empties all that
    is declared in this way.
    """

    def declared(function: F) -> F:
        room = LRUCache(size, getsizeof=weigh)
        arguments = [name for name in inspect.signature(function).parameters if name not in beside]
        made = cached(room, key=_key(function, beside), condition=threading.Condition())(function)
        _forget.append(made.cache_clear)
        _forget_of.append(functools.partial(_without, room, made.cache_condition))

        @functools.wraps(made)
        def asked(*args: Any, **named: Any) -> Any:
            with made.cache_condition:
                known = made.cache_key(*args, **named) in room
            if known:
                return made(*args, **named)
            with turn(is_long(*args, **named)):  # first the place, then the computation: whoever is waited for has one
                found = made(*args, **named)
            if newest:
                with made.cache_condition:
                    _only(room, made.cache_key(*args, **named), arguments.index(newest))
            return found

        def known(*args: Any, **named: Any) -> Any:
            with made.cache_condition:  # a look into the cache reorders it
                return room.get(made.cache_key(*args, **named))

        asked.cache_clear = made.cache_clear  # type: ignore[attr-defined]
        asked.known = known  # type: ignore[attr-defined]
        return asked

    return declared


def cached_figure(build: F) -> F:
    """Keeps what a function draws, under the function and all its arguments, in one place for all figures: most runs change
    one thing of many. What decides how a figure looks must be an argument; a function that captures anything is refused.
    A dict that it returns is a component's `Payload`.
    """
    if build.__closure__:
        names = ", ".join(build.__code__.co_freevars)
        raise ValueError(f"{build.__qualname__} captures {names}; expected a function that draws from its arguments alone.")
    key = _key(build)

    @functools.wraps(build)
    def drawn(*args: Any, **named: Any) -> Any:
        made = build(*args, **named)
        return Payload(made) if isinstance(made, dict) else made

    return cached(_figures, key=lambda *args, **named: (build, *key(*args, **named)), condition=_drawing)(drawn)


def _key(function: Callable, beside: tuple[str, ...] = ()) -> Callable[..., tuple[Hashable, ...]]:
    """The values of a call's arguments in the order of their names, however they are passed."""
    signature = inspect.signature(function)

    def key(*args: Hashable, **named: Hashable) -> tuple[Hashable, ...]:
        bound = signature.bind(*args, **named)
        bound.apply_defaults()
        return tuple(value for name, value in bound.arguments.items() if name not in beside)

    return key


def weight(drawn: Any) -> int:
    """About how many bytes a figure, a payload or a tuple of them takes."""
    if isinstance(drawn, dict):
        return 64 + getattr(drawn, "nbytes", 0) + sum(weight(key) + weight(value) for key, value in drawn.items())
    if isinstance(drawn, list | tuple):
        if drawn and isinstance(drawn[0], float | int | None):  # numbers
            return 64 + 32 * len(drawn)
        return 64 + 8 * len(drawn) + sum(map(weight, drawn))
    if hasattr(drawn, "to_plotly_json"):  # which would copy it all
        return weight([drawn._data, drawn._layout])
    return getattr(drawn, "nbytes", 0) + sys.getsizeof(drawn, 64)


_figures: LRUCache = LRUCache(MAX_DRAWN, getsizeof=weight)
_drawing = threading.Condition()


@_forget.append
def _forget_figures() -> None:
    with _drawing:
        _figures.clear()


def _only(room: LRUCache, key: tuple[Hashable, ...], at: int) -> None:
    """Takes out what is kept under keys that differ from this one at that place alone."""
    for other in list(room):
        if other != key and (*other[:at], *other[at + 1 :]) == (*key[:at], *key[at + 1 :]):
            room.pop(other, None)


def _without(room: LRUCache, changing: threading.Condition, checkpoint: str) -> None:
    """Takes out what was asked of a checkpoint: by its name, or by a request that names it."""
    with changing:
        for key in list(room):
            if any(checkpoint in (part, getattr(part, "checkpoint", None)) for part in key):
                room.pop(key, None)


_forget_of.append(functools.partial(_without, _figures, _drawing))


def forget() -> None:
    """Empties all that is kept."""
    for empty in _forget:
        empty()


def forget_of(checkpoint: str) -> None:
    """Empties all that is kept of a checkpoint that is gone."""
    for empty in _forget_of:
        empty(checkpoint)
