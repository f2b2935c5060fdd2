"""Names for what a head does, where a published definition is met on this sentence; a head that misses the bar has none.

With numpy alone. A role is one entry at the end of this file: the page reads its name, its words and its source from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from model.readings.heads.head_metrics import Rows

ROWS = 10  # fewer cannot tell nine of ten from all


@dataclass(frozen=True)
class Role:
    """A role that a head of self-attention has where the mean of `measure` ([H,R]), over the rows of which it says something
    (nan: nothing), reaches `bar`. `told` is a sentence with that mean, `{share}`, and the number of rows, `{rows}`."""

    name: str
    told: str
    measure: Callable[[Rows], np.ndarray]
    bar: float


@dataclass(frozen=True)
class Named:
    """A role that a head has: the share of its rows, or of its weight, and the sentence that says so."""

    name: str
    share: float
    told: str


def peaks(offset: int) -> Callable[[Rows], np.ndarray]:
    """1 where a row's largest weight is on the token that lies so far behind its own, else 0; nan where there is none."""

    def measure(rows: Rows) -> np.ndarray:
        there = rows.at(offset)
        return np.where(np.isnan(there), np.nan, there >= rows.largest)

    return measure


def on(token: str) -> Callable[[Rows], np.ndarray]:
    """The weight on a token of that text, in a site that has it; nan where it has none."""

    def measure(rows: Rows) -> np.ndarray:
        return rows.on(token.__eq__)

    return measure


ROLES: dict[str, Role] = {}  # by their names, as they stand on the screen


def head_roles(pattern: np.ndarray, keys: Sequence[str], rows: Sequence[int]) -> list[list[Named]]:
    """The roles of each head of patterns [H,T,S] of self-attention, over the rows that are named: those whose bar is met, on
    at least `ROWS` rows that look at something and of which the role says something."""
    return named(Rows.of(pattern, keys, rows))


def named(rows: Rows) -> list[list[Named]]:
    """The same of rows that are at hand."""
    found: list[list[Named]] = [[] for _ in rows.weights]
    for role, *read in zip(ROLES.values(), *rows.means(role.measure for role in ROLES.values()), strict=True):
        for head, (share, count) in enumerate(zip(*(each.tolist() for each in read), strict=True)):
            if count >= ROWS and share >= role.bar:
                told = role.told.format(share=f"{share:.2f}", rows=count)
                found[head].append(Named(role.name, share, told))
    return found


_POSITIONAL = (
    "In {{share}} of {{rows}} rows of this sentence its largest weight is on {where}. "
    "Voita et al. 2019 (section 5.1) call a head positional from 0.90."
)
_SINK = (
    "On this sentence {{share}} of its weight goes to {token}, the mean over {{rows}} rows. "
    "Gu et al. 2025 call a token the sink of a head above 0.30."
)
for _role in (
    Role("previous-token head", _POSITIONAL.format(where="the token before"), peaks(-1), 0.9),
    Role("same-token head", _POSITIONAL.format(where="its own token"), peaks(0), 0.9),
    Role("next-token head", _POSITIONAL.format(where="the token after"), peaks(1), 0.9),
    Role("attention sink on <s>", _SINK.format(token="<s>"), on("<s>"), 0.3),
    Role("attention sink on </s>", _SINK.format(token="</s>"), on("</s>"), 0.3),
):
    ROLES[_role.name] = _role
