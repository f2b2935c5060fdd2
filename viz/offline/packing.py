"""Values as a file holds them: what differs from the first of its kind, long texts once, numbers in few bytes."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np

STEPS = 1e5  # of a number that is printed with five decimals
LONG = 120  # characters of a text that is kept once
REFERENCE = "$"  # the key of a dict that stands for a text or for numbers
Patch = list[tuple[list[str | int], Any]]


def difference(one: Any, other: Any, path: tuple[str | int, ...] = ()) -> Patch:
    """What has to be set in one value to make it the other: each a path, and what stands there. Lists of plain values are
    set whole."""
    if one == other:
        return []
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return [each for key in one for each in difference(one[key], other[key], (*path, key))]
    if (
        isinstance(one, list)
        and isinstance(other, list)
        and len(one) == len(other)
        and any(isinstance(v, dict) for v in one)
    ):
        return [each for n in range(len(one)) for each in difference(one[n], other[n], (*path, n))]
    return [(list(path), other)]


class Packing:
    """Collects the long texts and the numbers of values; `rounded` are names of packed numbers, or of what holds them."""

    def __init__(self, rounded: frozenset[str] = frozenset()) -> None:
        self._rounded = rounded
        self._texts: dict[str, int] = {}
        self._numbers: dict[bytes, int] = {}

    def packed(self, value: Any, path: tuple[str | int, ...] = ()) -> Any:
        """The value at a path with references instead of what is collected."""
        if isinstance(value, dict):
            assert REFERENCE not in value
            return {key: self.packed(each, (*path, key)) for key, each in value.items()}
        if isinstance(value, list | tuple):
            whole = _steps(value)
            if whole is not None:
                return {REFERENCE: ["rows", self._kept(whole), whole.shape[1]]}
            return value if value and isinstance(value[0], int | float) else [self.packed(each, path) for each in value]
        if isinstance(value, str) and len(value) > LONG:
            if self._rounded.intersection(path[-2:]):
                numbers = np.frombuffer(base64.b64decode(value), "<f4").astype(float)
                return {REFERENCE: ["numbers", self._kept(np.rint(numbers * STEPS))]}
            return {REFERENCE: ["texts", self._texts.setdefault(value, len(self._texts))]}
        return value

    def _kept(self, whole: np.ndarray) -> int:
        return self._numbers.setdefault(whole.astype("<i4").tobytes(), len(self._numbers))

    def patch(self, patch: Patch) -> list[list[Any]]:
        """The same of a patch."""
        return [[path, self.packed(value, tuple(path))] for path, value in patch]

    def texts(self) -> list[str]:
        """The long texts, in the order of their numbers."""
        return list(self._texts)

    def numbers(self) -> tuple[list[int], bytes]:
        """How many numbers were kept each time; all of them in units of 1 / `STEPS`, as int32, byte by byte in planes."""
        whole = np.frombuffer(b"".join(self._numbers), np.uint8)
        return [len(each) // 4 for each in self._numbers], whole.reshape(-1, 4).T.tobytes()


def _steps(value: Any) -> np.ndarray | None:
    """Rows of numbers in units of 1 / `STEPS`, where they are many and none has more decimals; else None."""
    if len(value) < 2 or not all(isinstance(row, list) and len(row) == len(value[0]) for row in value):
        return None
    if len(value) * len(value[0]) < LONG // 2 or not all(type(each) in (int, float) for row in value for each in row):
        return None
    numbers = np.asarray(value, dtype=float)
    whole = np.rint(numbers * STEPS)
    return whole if np.abs(whole).max() < 2**31 and (whole / STEPS == numbers).all() else None


def deflated(raw: bytes) -> str:
    """Bytes as few as can be, as base64."""
    return base64.b64encode(zlib.compress(raw, 9)).decode()


def written(value: Any) -> bytes:
    """A JSON value, deflated later."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
