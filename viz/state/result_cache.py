"""What is computed or drawn once for all visitors: a place for each kind of it, declared where it is computed.

All places together hold at most `KEEP_MB`: what was used the longest ago goes first, wherever it is kept.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import json
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from cachetools import LRUCache, cached

from viz.state.work_queue import turn

KEEP_MB = int(os.environ.get("KEEP_MB") or 512)  # of all that is kept of sentences; `viz.server.serve` checks it
MAX_KEPT = KEEP_MB * 1024 * 1024  # bytes
MAX_DRAWN = MAX_KEPT // 4  # bytes
BASE_MB, RUN_MB = 600, 20  # of a process with four checkpoints; of a run that draws a text of 128 tokens
F = TypeVar("F", bound=Callable[..., Any])

_forget: list[Callable[[], None]] = []  # empties each place in which something is kept
_forget_of: list[Callable[[str], None]] = []  # the same of what a checkpoint's name stands in the key of


def written(values: Any) -> str:
    """Values as JSON in as few signs as it can be."""
    return json.dumps(values, separators=(",", ":"))


def most_mb(runs: int, kept_mb: int = KEEP_MB) -> int:
    """The bound for a process, where so many runs draw texts of 128 tokens at the same time; see `benchmarks.memory`."""
    return BASE_MB + kept_mb + RUN_MB * runs


class Ledger:
    """The bytes of what is kept in all places, in the order of its last use."""

    def __init__(self, most: int) -> None:
        self.most, self.total = most, 0
        self._changing = threading.Lock()  # nothing else is locked while it is held
        self._weights: OrderedDict[tuple[Place, Hashable], int] = OrderedDict()

    def add(self, place: Place, key: Hashable, weight: int) -> None:
        with self._changing:
            self.total += weight - self._weights.pop((place, key), 0)
            self._weights[place, key] = weight

    def use(self, place: Place, key: Hashable) -> None:
        with self._changing:
            if (place, key) in self._weights:
                self._weights.move_to_end((place, key))

    def remove(self, place: Place, key: Hashable) -> None:
        with self._changing:
            self.total -= self._weights.pop((place, key), 0)

    def shrink(self) -> None:
        """Takes out of their places what was used the longest ago, until the rest fits. Called while no place is locked."""
        while True:
            with self._changing:
                if self.total <= self.most or not self._weights:
                    return
                (place, key), weight = self._weights.popitem(last=False)
                self.total -= weight
            with place.changing:
                place.pop(key, None)


class Place(LRUCache):
    """Where one kind of result is kept, and its part in the ledger of all places. A result that had to go is found again
    while a run still draws from it."""

    __hash__ = object.__hash__
    __eq__ = object.__eq__

    def __init__(self, size: int, weigh: Callable[[Any], int] | None = None, ledger: Ledger | None = None) -> None:
        """`size` is of results, or of bytes where `weigh` tells those of one."""
        super().__init__(size)
        self.changing, self._weigh, self._ledger, self._last = threading.Condition(), weigh, ledger, 0
        self._in_use: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()

    def getsizeof(self, value: Any) -> int:
        self._last = self._weigh(value) if self._weigh else 1
        return self._last

    def __getitem__(self, key: Hashable) -> Any:
        found = super().__getitem__(key)
        if self._ledger is not None:
            self._ledger.use(self, key)
        return found

    def __contains__(self, key: Hashable) -> bool:
        return super().__contains__(key) or key in self._in_use

    def __missing__(self, key: Hashable) -> Any:
        self[key] = found = self._in_use[key]
        return found

    def __setitem__(self, key: Hashable, value: Any) -> None:
        super().__setitem__(key, value)  # ValueError for what is larger than the place
        with contextlib.suppress(TypeError):  # of a dict, say, there is no weak reference
            self._in_use[key] = value
        if self._ledger is not None:
            self._ledger.add(self, key, self._last if self._weigh else weight(value))

    def __delitem__(self, key: Hashable) -> None:
        super().__delitem__(key)
        if self._ledger is not None:
            self._ledger.remove(self, key)

    def drop(self, key: Hashable) -> None:
        """Takes out what is no longer true."""
        self._in_use.pop(key, None)
        if super().__contains__(key):
            del self[key]

    def clear(self) -> None:
        for key in {*self, *self._in_use}:
            self.drop(key)


LEDGER = Ledger(MAX_KEPT)


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
    ledger: Ledger | None = LEDGER,
) -> Callable[[F], F]:
    """Keeps what a function computes for all visitors, under all its arguments but those that stand `beside`.

    `size` counts results, or bytes where `weigh` tells those of one; what was asked for the longest ago goes first. The
    bytes of a result count in the `ledger`, whatever `size` counts; None is for what is no matter of sentences. Who asks
    for what is being computed waits for it; else it is computed in its turn (`work_queue`), among the long ones where
    `is_long` says so of the arguments. Where an argument is named as `newest`, a result for another value of it takes the
    place of the one before. `known` of the result gives what is kept already, or None. `forget` empties all that
    is declared in this way.
    """

    def declared(function: F) -> F:
        room = Place(size, weigh, ledger)
        arguments = [name for name in inspect.signature(function).parameters if name not in beside]
        made = cached(room, key=_key(function, beside), condition=room.changing)(function)
        _forget.append(made.cache_clear)
        _forget_of.append(functools.partial(_without, room, made.cache_condition))

        @functools.wraps(made)
        def asked(*args: Any, **named: Any) -> Any:
            with made.cache_condition:
                known = made.cache_key(*args, **named) in room
            if known:
                found = made(*args, **named)
                if ledger is not None:
                    ledger.shrink()
                return found
            with turn(is_long(*args, **named)):  # first the place, then the computation: whoever is waited for has one
                found = made(*args, **named)
            if ledger is not None:
                ledger.shrink()
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

    kept_figure = cached(_figures, key=lambda *args, **named: (build, *key(*args, **named)), condition=_drawing)(drawn)

    @functools.wraps(kept_figure)
    def asked(*args: Any, **named: Any) -> Any:
        found = kept_figure(*args, **named)
        LEDGER.shrink()
        return found

    return asked


def _key(function: Callable, beside: tuple[str, ...] = ()) -> Callable[..., tuple[Hashable, ...]]:
    """The values of a call's arguments in the order of their names, however they are passed."""
    signature = inspect.signature(function)

    def key(*args: Hashable, **named: Hashable) -> tuple[Hashable, ...]:
        bound = signature.bind(*args, **named)
        bound.apply_defaults()
        return tuple(value for name, value in bound.arguments.items() if name not in beside)

    return key


def weight(value: Any) -> int:
    """About how many bytes a result takes: a figure, a payload, or records with arrays and texts. What it holds twice counts
    once."""
    return _weight(value, set())


def _weight(value: Any, seen: set[int]) -> int:
    if id(value) in seen:
        return 0
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        return 64 + value.nbytes
    if isinstance(value, Payload):
        return 64 + value.nbytes + _all_of(value, seen)
    if isinstance(value, dict):
        return 64 + _all_of(value, seen)
    if isinstance(value, list | tuple | set | frozenset):
        if isinstance(value, list | tuple) and value and isinstance(value[0], float | int | None):  # numbers
            return 64 + 32 * len(value)
        return 64 + sum(8 + _weight(each, seen) for each in value)
    if hasattr(value, "to_plotly_json"):  # which would copy it all
        return _weight(value._data, seen) + _weight(value._layout, seen)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return 64 + (_all_of(value.__dict__, seen) if hasattr(value, "__dict__") else 0)
    size = getattr(value, "nbytes", 0)
    return (size if isinstance(size, int) else 0) + sys.getsizeof(value, 64)


def _all_of(values: dict[Any, Any], seen: set[int]) -> int:
    return sum(_weight(name, seen) + _weight(value, seen) for name, value in values.items())


_figures = Place(MAX_DRAWN, weight, LEDGER)
_drawing = _figures.changing


@_forget.append
def _forget_figures() -> None:
    with _drawing:
        _figures.clear()


def _only(room: Place, key: tuple[Hashable, ...], at: int) -> None:
    """Takes out what is kept under keys that differ from this one at that place alone."""
    for other in {*room, *room._in_use}:
        if other != key and (*other[:at], *other[at + 1 :]) == (*key[:at], *key[at + 1 :]):
            room.drop(other)


def _without(room: Place, changing: threading.Condition, checkpoint: str) -> None:
    """Takes out what was asked of a checkpoint: by its name, or by a request that names it."""
    with changing:
        for key in {*room, *room._in_use}:
            if any(checkpoint in (part, getattr(part, "checkpoint", None)) for part in key):
                room.drop(key)


_forget_of.append(functools.partial(_without, _figures, _drawing))


def forget() -> None:
    """Empties all that is kept."""
    for empty in _forget:
        empty()


def forget_of(checkpoint: str) -> None:
    """Empties all that is kept of a checkpoint that is gone."""
    for empty in _forget_of:
        empty(checkpoint)
