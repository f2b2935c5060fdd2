"""Caches of results and figures for all visitors, one for each cached function.

All caches together hold at most `KEEP_MB`. The least recently used result of all caches goes first.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import inspect
import json
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import cachetools
import numpy as np

from viz.state.work_queue import work_slot

KEEP_MB = int(os.environ.get("KEEP_MB") or 512)  # checked by `viz.server.serve`
MAX_CACHE_BYTES = KEEP_MB * 1024 * 1024  # bytes
MAX_FIGURE_BYTES = MAX_CACHE_BYTES // 4  # bytes
PAYLOAD_FACTOR = 3  # bytes of a payload, with its serialized data, for each byte of that data
BASE_MB, RUN_MB = 600, 20  # a process with four checkpoints; a run that draws 128 tokens
F = TypeVar("F", bound=Callable[..., Any])

_forget: list[Callable[[], None]] = []  # empties each cache
_forget_of: list[Callable[[str], None]] = []  # removes a checkpoint's results from each cache


_encode = json.JSONEncoder(separators=(",", ":")).encode  # `json.dumps` makes an encoder in each call


def to_json(values: Any) -> str:
    """Returns values as compact JSON."""
    return _encode(values)


def max_memory_mb(runs: int, kept_mb: int = KEEP_MB) -> int:
    """Returns the memory bound of a process while `runs` runs draw texts of 128 tokens; see `benchmarks.memory`."""
    return BASE_MB + kept_mb + RUN_MB * runs


class Ledger:
    """The bytes of all cached results, in the order of their last use."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes, self.total = max_bytes, 0
        self._changing = threading.Lock()  # the holder takes no other lock
        self._weights: OrderedDict[tuple[ResultCache, Hashable], int] = OrderedDict()

    def add(self, place: ResultCache, key: Hashable, weight: int) -> None:
        with self._changing:
            self.total += weight - self._weights.pop((place, key), 0)
            self._weights[place, key] = weight

    def use(self, place: ResultCache, key: Hashable) -> None:
        with self._changing:
            if (place, key) in self._weights:
                self._weights.move_to_end((place, key))

    def remove(self, place: ResultCache, key: Hashable) -> None:
        with self._changing:
            self.total -= self._weights.pop((place, key), 0)

    def shrink(self) -> None:
        """Removes the least recently used results until the rest fits. The caller holds no lock of a cache."""
        while True:
            with self._changing:
                if self.total <= self.max_bytes or not self._weights:
                    return
                (place, key), weight = self._weights.popitem(last=False)
                self.total -= weight
            with place.condition:
                place.pop(key, None)


class ResultCache(cachetools.LRUCache):
    """The results of one function, counted in a ledger. An evicted result is still found while a run uses it."""

    __hash__ = object.__hash__
    __eq__ = object.__eq__

    def __init__(self, size: int, getsizeof: Callable[[Any], int] | None = None, ledger: Ledger | None = None) -> None:
        """`size` counts results, or bytes if `getsizeof` returns the bytes of one."""
        super().__init__(size)
        self.condition, self._weigh, self._ledger, self._last = threading.Condition(), getsizeof, ledger, 0
        self._in_use: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()

    def getsizeof(self, value: Any) -> int:
        self._last = self._weigh(value) if self._weigh else 1
        return self._last

    def __getitem__(self, key: Hashable) -> Any:
        value = super().__getitem__(key)
        if self._ledger is not None:
            self._ledger.use(self, key)
        return value

    def __contains__(self, key: Hashable) -> bool:
        return super().__contains__(key) or key in self._in_use

    def __missing__(self, key: Hashable) -> Any:
        self[key] = value = self._in_use[key]
        return value

    def __setitem__(self, key: Hashable, value: Any) -> None:
        super().__setitem__(key, value)  # ValueError for a value larger than the cache
        with contextlib.suppress(TypeError):  # a dict has no weak reference
            self._in_use[key] = value
        if self._ledger is not None:
            self._ledger.add(self, key, self._last if self._weigh else estimate_bytes(value))

    def __delitem__(self, key: Hashable) -> None:
        super().__delitem__(key)
        if self._ledger is not None:
            self._ledger.remove(self, key)

    def drop(self, key: Hashable) -> None:
        """Removes an outdated result."""
        self._in_use.pop(key, None)
        if super().__contains__(key):
            del self[key]

    def clear(self) -> None:
        for key in {*self, *self._in_use}:
            self.drop(key)


LEDGER = Ledger(MAX_CACHE_BYTES)


class Payload(dict[str, Any]):
    """The data of a component. It never changes, so it is serialized once."""

    @functools.cached_property
    def text(self) -> str:
        return to_json(dict(self))

    @functools.cached_property
    def digest(self) -> str:
        """Returns 16 hexadecimal digits that identify the serialized data."""
        return hashlib.blake2b(self.text.encode(), digest_size=8).hexdigest()

    @property
    def nbytes(self) -> int:
        """Bytes of the serialized data."""
        return len(self.text)


def cached(
    size: int,
    getsizeof: Callable[[Any], int] | None = None,
    ignore: tuple[str, ...] = (),
    is_long: Callable[..., bool] = lambda *args, **named: False,
    replace_on: str = "",
    ledger: Ledger | None = LEDGER,
) -> Callable[[F], F]:
    """Caches a function's results for all visitors. Concurrent calls with equal arguments share one computation.

    The decorated function has `known(...)`, which returns the cached result or None, and `cache_clear()`.

    Args:
        size: results, or bytes if `getsizeof` is given; the least recently used go first.
        getsizeof: returns the bytes of a result.
        ignore: arguments that are not part of the key.
        is_long: True, of the arguments, for a computation of the queue of long work (see `work_queue`).
        replace_on: an argument; a result for another value of it replaces the former one.
        ledger: counts the bytes of the results; None for results that do not depend on sentences.
    """

    def decorate(function: F) -> F:
        cache = ResultCache(size, getsizeof, ledger)
        arguments = [name for name in inspect.signature(function).parameters if name not in ignore]
        compute = cachetools.cached(cache, key=_key(function, ignore), condition=cache.condition)(function)
        _forget.append(compute.cache_clear)
        _forget_of.append(functools.partial(_drop_checkpoint, cache, compute.cache_condition))

        @functools.wraps(compute)
        def lookup(*args: Any, **named: Any) -> Any:
            key = compute.cache_key(*args, **named)
            with compute.cache_condition:
                is_known = key in cache
                result = cache[key] if is_known else None
            if is_known:
                if ledger is not None:
                    ledger.shrink()
                return result
            with work_slot(is_long(*args, **named)):  # the slot comes first, so whoever others wait for has one
                result = compute(*args, **named)
            if ledger is not None:
                ledger.shrink()
            if replace_on:
                with compute.cache_condition:
                    _drop_others(cache, compute.cache_key(*args, **named), arguments.index(replace_on))
            return result

        def known(*args: Any, **named: Any) -> Any:
            with compute.cache_condition:  # a lookup reorders the cache
                return cache.get(compute.cache_key(*args, **named))

        lookup.cache_clear = compute.cache_clear  # type: ignore[attr-defined]
        lookup.known = known  # type: ignore[attr-defined]
        return lookup

    return decorate


def cached_figure(build: F, ignore: tuple[str, ...] = ()) -> F:
    """Caches the figures of a function in one cache of all figures. A returned dict becomes a `Payload`.

    `ignore` names arguments that are not part of the key. Raises ValueError for a function with captured variables, which
    the key would miss.
    """
    if build.__closure__:
        names = ", ".join(build.__code__.co_freevars)
        raise ValueError(f"{build.__qualname__} captures {names}; expected a function without captured variables.")
    key = _key(build, ignore)

    @functools.wraps(build)
    def payload_or_figure(*args: Any, **named: Any) -> Any:
        figure = build(*args, **named)
        return Payload(figure) if isinstance(figure, dict) else figure

    cached_build = cachetools.cached(_figures, key=lambda *args, **named: (build, *key(*args, **named)), condition=_drawing)(
        payload_or_figure
    )

    @functools.wraps(cached_build)
    def lookup(*args: Any, **named: Any) -> Any:
        figure = cached_build(*args, **named)
        LEDGER.shrink()
        return figure

    return lookup


def kept_with(function: F) -> F:
    """Keeps a function's results with its first argument, a record that never changes, for as long as that lives."""
    name = f"results of {function.__module__}.{function.__qualname__}"

    @functools.wraps(function)
    def lookup(record: Any, *args: Hashable) -> Any:
        results = record.__dict__.setdefault(name, {})
        if args not in results:
            results[args] = function(record, *args)
        return results[args]

    return lookup  # type: ignore[return-value]


def _key(function: Callable, ignore: tuple[str, ...] = ()) -> Callable[..., tuple[Hashable, ...]]:
    """Returns a function that gives the values of a call's arguments in the order of the signature."""
    signature = inspect.signature(function)
    count = len(signature.parameters)
    kept = [place for place, name in enumerate(signature.parameters) if name not in ignore]

    def key(*args: Hashable, **named: Hashable) -> tuple[Hashable, ...]:
        if len(args) == count:  # binding takes longer than most lookups
            return tuple(args[place] for place in kept) if ignore else args
        bound = signature.bind(*args, **named)
        bound.apply_defaults()
        return tuple(value for name, value in bound.arguments.items() if name not in ignore)

    return key


def estimate_bytes(value: Any) -> int:
    """Estimates the bytes of a result: a figure, a payload, or records of arrays and texts. Shared objects count once."""
    return _weight(value, set())


def _weight(value: Any, seen: set[int]) -> int:
    if id(value) in seen:
        return 0
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        return 64 + value.nbytes
    if isinstance(value, Payload):
        return 64 + PAYLOAD_FACTOR * value.nbytes
    if isinstance(value, dict):
        return 64 + _all_of(value, seen)
    if isinstance(value, list | tuple | set | frozenset):
        if isinstance(value, list | tuple) and value and isinstance(value[0], float | int | None):  # numbers
            return 64 + 32 * len(value)
        return 64 + sum(8 + _weight(each, seen) for each in value)
    if hasattr(value, "to_plotly_json"):  # the method would copy all values
        return _weight(value._data, seen) + _weight(value._layout, seen)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return 64 + (_all_of(value.__dict__, seen) if hasattr(value, "__dict__") else 0)
    size = getattr(value, "nbytes", 0)
    return (size if isinstance(size, int) else 0) + sys.getsizeof(value, 64)


def _all_of(values: dict[Any, Any], seen: set[int]) -> int:
    entries = tuple(values.items())  # another run may add some meanwhile
    return sum(_weight(name, seen) + _weight(value, seen) for name, value in entries)


_figures = ResultCache(MAX_FIGURE_BYTES, estimate_bytes, LEDGER)
_drawing = _figures.condition


@_forget.append
def _forget_figures() -> None:
    with _drawing:
        _figures.clear()


def _drop_others(cache: ResultCache, key: tuple[Hashable, ...], position: int) -> None:
    """Removes results whose keys differ from this one only at `position`."""
    for other in {*cache, *cache._in_use}:
        if other != key and (*other[:position], *other[position + 1 :]) == (*key[:position], *key[position + 1 :]):
            cache.drop(other)


def _drop_checkpoint(cache: ResultCache, changing: threading.Condition, checkpoint: str) -> None:
    """Removes the results of a checkpoint, by its name or by a request that names it."""
    with changing:
        for key in {*cache, *cache._in_use}:
            if any(checkpoint in (part, getattr(part, "checkpoint", None)) for part in key):
                cache.drop(key)


_forget_of.append(functools.partial(_drop_checkpoint, _figures, _drawing))


def clear_all() -> None:
    """Empties all caches."""
    for empty in _forget:
        empty()


def clear_checkpoint(checkpoint: str) -> None:
    """Removes all results of a deleted checkpoint."""
    for empty in _forget_of:
        empty(checkpoint)
