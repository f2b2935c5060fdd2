"""Comparison of the heads of checkpoints that were trained from different seeds. Heads and layers count from 0. No torch
here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

from ..io.files import is_count, is_number, short_repr
from ..trace import SITE_KINDS

SCHEMA = 1
Cell = str | int | float | None


@dataclass(frozen=True)
class SiteMatch:
    """Heads of one site in two checkpoints (indices of the list of checkpoints), matched for the smallest total distance.

    A distance is the total variation between the rows of two patterns: half the sum of absolute differences, from 0 (equal)
    to 1 (no common key), averaged over rows.

    `partners` has for each head of the one that of the other. `matched` is the mean of their `distances`. These numbers put
    it in context:

    - `held_out`: the mean with partners chosen on the other half of the sentences; None for one sentence. - `random`: the
    mean over all matchings. - `own`: the mean distance of two heads of one checkpoint; None for a single head. - `shuffled`:
    the mean over shuffles of the smallest total, with the heads of the other shuffled in every sentence. - `chance`: the
    share of shuffles that reach `matched`, itself included.

    A small chance says that heads keep their distances from sentence to sentence, as in hardly trained models too. `alike`
    says how equal the heads are, `Circle` how well three checkpoints agree.
    """

    one: int
    other: int
    kind: str
    layer: int
    partners: tuple[int, ...]
    distances: tuple[float, ...]
    matched: float
    held_out: float | None
    random: float
    shuffled: float
    chance: float
    own: float | None

    @property
    def alike(self) -> float | None:
        """Returns 0 for pairs as far apart as any two heads, 1 for equal heads; None where all heads are equal.

        Uses held-out sentences where there are any.
        """
        distance = self.matched if self.held_out is None else self.held_out
        return 1 - distance / self.random if self.random else None


@dataclass(frozen=True)
class KindMatch:
    """Heads of all layers of a kind of attention in two checkpoints, matched across layers.

    `same_layer` is the share of heads whose partner is in their own layer. By chance it would be `by_chance`.
    """

    one: int
    other: int
    kind: str
    matched: float
    same_layer: float
    by_chance: float


@dataclass(frozen=True)
class Circle:
    """Agreement of three checkpoints: the share of heads for which the second leads to the same head of the third as the
    direct match.

    By chance it would be `by_chance`.
    """

    kind: str
    share: float
    by_chance: float


class Best(NamedTuple):
    """The head of a checkpoint with the largest share of a role (None for nan), and the number of heads above the bar."""

    layer: int
    head: int
    share: float | None
    holders: int


@dataclass(frozen=True)
class RoleHeads:
    """A named role in a kind of attention, with the best head of each checkpoint."""

    role: str
    bar: float
    kind: str
    best: tuple[Best, ...]

    @property
    def seeds(self) -> int:
        """Returns the number of checkpoints with at least one head above the bar."""
        return sum(best.holders > 0 for best in self.best)


@dataclass(frozen=True)
class SameHeads:
    """Comparison over `sentences` (`left_out` were over the text limit), with `shuffles` shuffles from `seed`."""

    checkpoints: tuple[str, ...]
    sentences: int
    left_out: int
    shuffles: int
    seed: int
    data: str  # SHA-256 of the file
    sites: tuple[SiteMatch, ...]
    kinds: tuple[KindMatch, ...]
    circles: tuple[Circle, ...]
    roles: tuple[RoleHeads, ...]

    def sites_table(self) -> tuple[list[str], list[list[Cell]]]:
        """Returns a row for each pair of checkpoints and site, with heads and layers from 1."""
        names = ["one", "other", "site", "layer", "partners"]
        numbers = ["matched", "held_out", "random", "own", "shuffled", "chance"]
        rows: list[list[Cell]] = []
        for each in self.sites:
            partners = " ".join(f"{head}-{partner + 1}" for head, partner in enumerate(each.partners, 1))
            place: list[Cell] = [self.checkpoints[each.one], self.checkpoints[each.other], each.kind, each.layer + 1]
            alike = None if each.alike is None else round(each.alike, 4)
            rows.append([*place, partners, alike, *(getattr(each, name) for name in numbers)])
        return [*names, "alike", *numbers], rows

    def roles_table(self) -> tuple[list[str], list[list[Cell]]]:
        """Returns a row for each role and kind of attention: the number of checkpoints with it, the best head of each."""
        names = ["role", "site", "bar", "seeds"]
        for name in self.checkpoints:
            names += [f"{name}: head", f"{name}: share", f"{name}: heads"]
        rows: list[list[Cell]] = []
        for each in self.roles:
            row: list[Cell] = [each.role, each.kind, each.bar, each.seeds]
            for best in each.best:
                row += [f"{best.layer + 1}.{best.head + 1}", best.share, best.holders]
            rows.append(row)
        return names, rows

    def to_dict(self) -> dict[str, Any]:
        """Returns the record for JSON: all fields, and the two tables."""
        tables = {"sites": self.sites_table(), "roles": self.roles_table()}
        values = asdict(self)
        for role, role_heads in zip(values["roles"], self.roles, strict=True):
            role["best"] = [best._asdict() for best in role_heads.best]
        named = {name: {"columns": columns, "rows": rows} for name, (columns, rows) in tables.items()}
        return {"schema": SCHEMA} | values | {"tables": named}

    @classmethod
    def from_dict(cls, values: Any) -> SameHeads:
        """Returns the comparison of a dict that `to_dict` made. Raises ValueError, which names the key, for other values."""
        schema = values.get("schema") if isinstance(values, Mapping) else None
        if schema != SCHEMA:
            raise ValueError(f"'schema' is {short_repr(schema)}; expected {SCHEMA}")
        names = values.get("checkpoints")
        if not isinstance(names, list) or len(names) < 2 or not all(isinstance(name, str) for name in names):
            raise ValueError(f"'checkpoints' is {short_repr(names)}; expected at least two names")
        counts = {name: values.get(name) for name in ("sentences", "left_out", "shuffles", "seed")}
        if not all(map(is_count, counts.values())):
            raise ValueError(f"{', '.join(counts)} are {short_repr(list(counts.values()))}; expected counts")
        if not isinstance(values.get("data"), str):
            raise ValueError(f"'data' is {short_repr(values.get('data'))}; expected the SHA-256 of a file")
        parts = {
            name: tuple(_part(name, kind, each, len(names)) for each in _list(name, values.get(name)))
            for name, kind in (("sites", SiteMatch), ("kinds", KindMatch), ("circles", Circle), ("roles", RoleHeads))
        }
        return cls(tuple(names), *counts.values(), values["data"], **parts)


def _list(name: str, values: Any) -> list[Any]:
    if not isinstance(values, list):
        raise ValueError(f"{name!r} is {short_repr(values)}; expected a list")
    return values


def _part(name: str, record: type, values: Any, checkpoints: int) -> Any:
    """Returns one entry of a list after checking the type of each field."""
    wanted = {field.name: field.type for field in fields(record)}
    if not isinstance(values, dict) or sorted(values) != sorted(wanted):
        raise ValueError(f"an entry of {name!r} is {short_repr(values)}; expected {', '.join(wanted)}")
    parts = {key: _field(name, key, str(kind), values[key], checkpoints) for key, kind in wanted.items()}
    if "partners" in parts and sorted(parts["partners"]) != list(range(len(parts["distances"]))):
        raise ValueError(f"{name!r} has partners {short_repr(values['partners'])}; expected every head once")
    return record(**parts)


def _field(name: str, key: str, kind: str, value: Any, checkpoints: int) -> Any:
    is_right = {
        "str": lambda: isinstance(value, str) and (key != "kind" or value in SITE_KINDS),
        "int": lambda: is_count(value) and (key not in ("one", "other") or value < checkpoints),
        "float": lambda: _is_share(value),
        "float | None": lambda: value is None or _is_share(value),
        "tuple[int, ...]": lambda: isinstance(value, list) and all(map(is_count, value)),
        "tuple[float, ...]": lambda: isinstance(value, list) and all(map(_is_share, value)),
        "tuple[Best, ...]": lambda: isinstance(value, list) and len(value) == checkpoints and all(map(_is_best, value)),
    }[kind]
    if not is_right():
        raise ValueError(f"{name!r}: {key} is {short_repr(value)}; expected {kind}")
    if kind == "tuple[Best, ...]":
        return tuple(Best(**best) for best in value)
    return tuple(value) if isinstance(value, list) else value


def _is_share(value: Any) -> bool:
    return is_number(value, -1e-6, 1 + 1e-6)


def _is_best(value: Any) -> bool:
    if not isinstance(value, dict) or sorted(value) != sorted(Best._fields):
        return False
    share = value["share"]
    return all(is_count(value[name]) for name in ("layer", "head", "holders")) and (share is None or _is_share(share))
