"""Published roles of attention heads, such as "previous-token head", measured on one sentence.

To add a role, add an entry at the end of this file. The module uses numpy only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...io.numbers import probability
from .head_metrics import Rows, one_sentence_metrics

MIN_ROWS = 10  # fewer rows cannot separate 0.9 from 1


@dataclass(frozen=True)
class Role:
    """A role that a head of self-attention has where the mean of `measure` reaches `bar`.

    `measure` returns [H,R], nan for a row that does not count. `sentence` contains `{share}`, that mean, and `{rows}`, the
    number of rows.
    """

    name: str
    sentence: str
    measure: Callable[[Rows], np.ndarray]
    bar: float


@dataclass(frozen=True)
class RoleMatch:
    """A role that a head has: the share of its rows or of its weight, and a sentence about it."""

    name: str
    share: float
    sentence: str


def peak_at(offset: int) -> Callable[[Rows], np.ndarray]:
    """Returns a measure: 1 where a row's largest weight is at `offset` from its own token, else 0, nan without a token."""

    def measure(rows: Rows) -> np.ndarray:
        weights = rows.weight_at(offset)
        return np.where(np.isnan(weights), np.nan, weights >= rows.largest)

    return measure


def weight_on_token(token: str) -> Callable[[Rows], np.ndarray]:
    """Returns a measure: the weight on the tokens with this text, nan where the keys have none."""

    def measure(rows: Rows) -> np.ndarray:
        return rows.weight_on(token.__eq__)

    return measure


ROLES: dict[str, Role] = {}  # by name, in the order of the page


def head_roles(pattern: np.ndarray, keys: Sequence[str], rows: Sequence[int]) -> list[list[RoleMatch]]:
    """Returns the roles of each head of self-attention patterns [H,T,S] over some rows.

    A role needs at least `MIN_ROWS` rows that count, and a mean that reaches its bar.
    """
    return match_roles(Rows.of(pattern, keys, rows))


def match_roles(rows: Rows) -> list[list[RoleMatch]]:
    """Returns the roles of each head over selected rows, see `head_roles`."""
    matches: list[list[RoleMatch]] = [[] for _ in rows.weights]
    for role, *results in zip(ROLES.values(), *rows.means(role.measure for role in ROLES.values()), strict=True):
        for head, (share, count) in enumerate(zip(*(each.tolist() for each in results), strict=True)):
            if count >= MIN_ROWS and share >= role.bar:
                sentence = role.sentence.format(share=probability(share), rows=count)
                matches[head].append(RoleMatch(role.name, share, sentence))
    return matches


_POSITIONAL = (
    "In {{share}} of {{rows}} rows of this sentence its largest weight is on {where}. "
    "Voita et al. 2019 call a head positional from 0.90."
)
_SINK = (
    "On this sentence {{share}} of its weight goes to {token}, the mean over {{rows}} rows. "
    "Gu et al. 2025 call a token the sink of a head above 0.30."
)
for _role in (
    Role("previous-token head", _POSITIONAL.format(where="the token before"), peak_at(-1), 0.9),
    Role("same-token head", _POSITIONAL.format(where="its own token"), peak_at(0), 0.9),
    Role("next-token head", _POSITIONAL.format(where="the token after"), peak_at(1), 0.9),
    Role("attention sink on <s>", _SINK.format(token="<s>"), weight_on_token("<s>"), 0.3),
    Role("attention sink on </s>", _SINK.format(token="</s>"), weight_on_token("</s>"), 0.3),
):
    ROLES[_role.name] = _role

PEAKS = {  # role: its column, the metric that must apply to the site
    "previous-token head": ("previous_peak", "previous"),
    "same-token head": ("same_peak", "same"),
    "next-token head": ("next_peak", "next"),
}
# Numbers of a head over many sentences. Column: the metric that must apply, measure
MEASURES = {name: (name, metric.measure) for name, metric in one_sentence_metrics().items()}
MEASURES |= {column: (metric, ROLES[role].measure) for role, (column, metric) in PEAKS.items()}
