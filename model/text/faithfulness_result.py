"""Faithfulness of the readings of source words, measured over many sentences and stored in `faithfulness.json`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..io.files import is_count, is_number, is_whole_number, short_repr

SCHEMA = 1
SCOPES = ("step", "whole")  # single tokens, and the full target
RANDOM = "random"  # the baseline among the readings
COUNTS = ("sentences", "tokens", "orders", "resamples")


@dataclass(frozen=True)
class Share:
    """A reading's area as a share of the words' worth, with its 95% interval.

    `behind` is the distance to the leader, paired over the sentences, with its interval; negative values are ahead.
    """

    share: float
    low: float
    high: float
    behind: float
    behind_low: float
    behind_high: float

    @property
    def is_tied_with_leader(self) -> bool:
        """Returns True where the interval of the distance to the leader contains 0."""
        return self.behind_low <= 0 <= self.behind_high


@dataclass(frozen=True)
class FaithfulnessShares:
    """The shares of all readings over `sentences` sentences with `tokens` tokens, for each of `SCOPES`.

    `worth` is the mean worth of a sentence's words, in nats. `leaders` have the largest share of the readings that remove
    no words themselves. `shares` includes the random baseline. `orders` random orders of each sentence and `resamples`
    bootstrap samples use `seed`.
    """

    sentences: int
    tokens: int
    orders: int
    resamples: int
    seed: int
    data: str  # SHA-256 of the file
    worth: dict[str, float]
    leaders: dict[str, str]
    shares: dict[str, dict[str, Share]]

    def to_dict(self) -> dict[str, Any]:
        """Returns the values for JSON."""
        return {"schema": SCHEMA} | asdict(self)

    @classmethod
    def from_dict(cls, values: Any) -> FaithfulnessShares:
        """Reads the values of a JSON file; ValueError that names the key of the fault."""
        schema = values.get("schema") if isinstance(values, Mapping) else None
        if not is_whole_number(schema) or schema != SCHEMA:
            raise ValueError(f"'schema' is {short_repr(schema)}; expected {SCHEMA}")
        for name in COUNTS:
            if not (is_count(values.get(name)) and values[name]):
                raise ValueError(f"{name!r} is {short_repr(values.get(name))}; expected a whole number of at least 1")
        if not is_count(values.get("seed")):
            raise ValueError(f"'seed' is {short_repr(values.get('seed'))}; expected a whole number")
        if not isinstance(values.get("data"), str):
            raise ValueError(f"'data' is {short_repr(values.get('data'))}; expected the SHA-256 of the sentences' file")
        worth, shares = (values.get(name) for name in ("worth", "shares"))
        if not _has_keys(worth, SCOPES) or not _are_numbers(worth.values()):
            raise ValueError(f"'worth' is {short_repr(worth)}; expected a number for each of {', '.join(SCOPES)}")
        if not _has_keys(shares, SCOPES):
            raise ValueError(f"'shares' is {short_repr(shares)}; expected an object for each of {', '.join(SCOPES)}")
        leaders, scope_shares = values.get("leaders"), {scope: _shares(scope, shares[scope]) for scope in SCOPES}
        possible_leaders = {scope: [name for name in scope_shares[scope] if name != RANDOM] for scope in SCOPES}
        if not _has_keys(leaders, SCOPES) or any(leaders[scope] not in possible_leaders[scope] for scope in SCOPES):
            raise ValueError(
                f"'leaders' is {short_repr(leaders)}; expected a reading of 'shares' for each of {', '.join(SCOPES)}"
            )
        numbers = {name: values[name] for name in (*COUNTS, "seed")}
        means = {scope: float(worth[scope]) for scope in SCOPES}
        return cls(**numbers, data=values["data"], worth=means, leaders=dict(leaders), shares=scope_shares)


def _shares(scope: str, values: Any) -> dict[str, Share]:
    if not isinstance(values, Mapping) or RANDOM not in values or len(values) < 2:
        raise ValueError(f"'shares': {scope!r} is {short_repr(values)}; expected readings, and {RANDOM!r} among them")
    names = tuple(Share.__dataclass_fields__)
    for reading, share in values.items():
        if not _has_keys(share, names) or not _are_numbers(share.values()) or not share["low"] <= share["high"]:
            raise ValueError(
                f"'shares': {scope!r}: {short_repr(reading)} is {short_repr(share)}; expected numbers {', '.join(names)}"
            )
    return {str(reading): Share(**{name: float(share[name]) for name in names}) for reading, share in values.items()}


def _has_keys(value: Any, names: tuple[str, ...]) -> bool:
    return isinstance(value, Mapping) and set(value) == set(names)


def _are_numbers(values: Iterable[Any]) -> bool:
    return all(is_number(value, -1e9, 1e9) for value in values)
