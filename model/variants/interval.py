"""How sure a mean of few numbers is: Student's t, without a table. No torch here."""

from __future__ import annotations

import math
from collections.abc import Sequence

LEVEL = 0.95


def mean_interval(values: Sequence[float], level: float = LEVEL) -> tuple[float, float] | None:
    """The interval that holds the mean of what these were drawn from with that probability, were it normal (Student 1908);
    None for fewer than two values, which say nothing of their spread."""
    count = len(values)
    if count < 2:
        return None
    mean = math.fsum(values) / count
    deviation = math.sqrt(math.fsum((each - mean) ** 2 for each in values) / (count - 1))
    half = quantile(count - 1, level) * deviation / math.sqrt(count)
    return mean - half, mean + half


def quantile(freedom: int, level: float = LEVEL) -> float:
    """How far from 0 Student's t with so many degrees of freedom stays with that probability. ValueError for a level that is
    not between 0 and 1, and for no degree of freedom."""
    if not 0 < level < 1 or freedom < 1:
        raise ValueError(f"level is {level} with {freedom} degrees of freedom; expected between 0 and 1, and at least 1")
    low, high = 0.0, 1.0
    while within(high, freedom) < level:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle, freedom) < level else (low, middle)
    return high


def within(t: float, freedom: int) -> float:
    """The probability of a value between -t and t (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4)."""
    angle = math.atan2(t, math.sqrt(freedom))
    cosine, term, total = math.cos(angle) ** 2, 1.0, 0.0
    if freedom % 2 == 0:
        for n in range(freedom // 2):
            total += term
            term *= cosine * (2 * n + 1) / (2 * n + 2)
        return math.sin(angle) * total
    for n in range((freedom - 1) // 2):
        total += term
        term *= cosine * (2 * n + 2) / (2 * n + 3)
    return 2 / math.pi * (angle + math.sin(angle) * math.cos(angle) * total)
