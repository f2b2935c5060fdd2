"""Limits of values from outside: numbers of a config, and the headers of arrays before they are unpacked."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence
from typing import IO, Any

import numpy as np

from .files import short_repr

MAX_VALUES: dict[str, int] = {  # by config field; a file may ask for more memory than there is
    "source_vocab": 1_000_000,
    "target_vocab": 1_000_000,
    "d_model": 16_384,
    "heads": 64,
    "encoder_layers": 48,
    "decoder_layers": 48,
    "d_ff": 65_536,
    "max_positions": 65_536,
    "norm_eps": 1,
    "window": 65_536,
    "vocab_size": 1_000_000,
    "epochs": 10_000,
    "batch_tokens": 10_000_000,
    "learning_rate": 100,
    "warmup": 10**9,
    "clip": 10**9,
    "validate_every": 10**9,
    "average": 100,
    "patience": 10**9,
    "log_every": 10**9,
    "save_minutes": 10**6,
    "seed": 2**63 - 1,
}
MAX_COUNT = 10**15
MAX_WEIGHTS = 1 << 30  # of a model: 4 GB in float32


def check_record(
    record: Any, choices: Mapping[str, Collection[str]], positive: Sequence[str], shares: Sequence[str]
) -> None:
    """Checks types, choices and ranges of a config record; ValueError names field, value and expected values."""
    for field in dataclasses.fields(record):
        _check_type(field, getattr(record, field.name), choices)
    for name in positive:
        if not getattr(record, name) > 0:
            raise ValueError(f"{name} is {short_repr(getattr(record, name))}; expected more than 0")
    for name in shares:
        if not 0 <= getattr(record, name) < 1:
            raise ValueError(f"{name} is {short_repr(getattr(record, name))}; expected at least 0 and less than 1")
    for name, limit in MAX_VALUES.items():
        value = getattr(record, name, None)
        if value is not None and not value <= limit:
            raise ValueError(f"{name} is {short_repr(value)}; expected at most {limit:,}")


def _check_type(field: dataclasses.Field, value: Any, choices: Mapping[str, Collection[str]]) -> None:
    if field.name in choices and not (isinstance(value, str) and value in choices[field.name]):
        raise ValueError(f"{field.name} is {short_repr(value)}; expected one of {', '.join(choices[field.name])}")
    if field.type == "bool" and not isinstance(value, bool):
        raise ValueError(f"{field.name} is {short_repr(value)}; expected true or false")
    if field.type == "int" and not is_whole_number(value):
        raise ValueError(f"{field.name} is {short_repr(value)}; expected a whole number")
    if field.type == "int | None" and not (value is None or (is_whole_number(value) and value >= 1)):
        raise ValueError(f"{field.name} is {short_repr(value)}; expected None or a whole number of at least 1")
    if field.type == "tuple[str, ...]" and not (isinstance(value, tuple) and all(isinstance(each, str) for each in value)):
        raise ValueError(f"{field.name} is {short_repr(value)}; expected a list of texts")
    if field.type == "float" and not (is_whole_number(value) or isinstance(value, float)):
        raise ValueError(f"{field.name} is {short_repr(value)}; expected a number")


def is_whole_number(value: Any) -> bool:
    """Returns True for an int that is not a bool."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any, low: float, high: float) -> bool:
    """Returns True for a finite number from `low` to `high` that is not a bool."""
    return (is_whole_number(value) or (isinstance(value, float) and math.isfinite(value))) and low <= value <= high


def is_count(value: Any) -> bool:
    """Returns True for a whole number from 0 to `MAX_COUNT`."""
    return is_whole_number(value) and 0 <= value <= MAX_COUNT


def read_array_header(raw: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    """Returns shape and dtype of a .npy array from the first bytes of its file; ValueError."""
    version = np.lib.format.read_magic(raw)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, kind = read(raw)
    if fortran or not all(map(is_count, shape)):
        raise ValueError(f"an array has another order, or the shape {str(shape)[:60]}")
    return shape, kind
