"""Whether a head comes back when training begins from another seed: what was found, as a value that a page or a table is
made of. No torch here. Heads and layers are counted from 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

from model.io.files import shown
from model.io.limits import is_count, is_number
from model.trace import SITE_KINDS

SCHEMA = 1
Cell = str | int | float | None


@dataclass(frozen=True)
class SiteMatch:
    """The heads of one site in two checkpoints (numbers in the list of all), paired so that their distances are the least.

    A distance is the total variation between two patterns' rows, half the sum of the absolute differences, from 0 (the same)
    to 1 (no key in common), the mean over rows.

    `partners` has for each head of the one that of the other; `matched` is the mean of their `distances`. To be held
    against it: `held_out`, the same where the pairs were chosen on the other half of the sentences (None for one sentence);
    `random`, the mean over all ways to pair; `own`, how far two different heads of one and the same checkpoint are apart
    (None where there is one); `shuffled`, the least mean where the heads of the other were shuffled anew in every sentence,
    the mean over so many shuffles, and `chance`, how often it came as low as `matched`, itself counted. A small chance says
    that heads keep their distances from sentence to sentence, as those of hardly trained models do too; whether they are
    the same says `alike`, and whether three checkpoints agree, `Circle`.
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
        """How far the pairs are on the way from any two heads (0) to the same one (1), on sentences that they were not
        chosen on, if there are any; None where all heads are the same."""
        found = self.matched if self.held_out is None else self.held_out
        return 1 - found / self.random if self.random else None


@dataclass(frozen=True)
class KindMatch:
    """The heads of all layers of a kind of attention in two checkpoints, paired across layers: `same_layer` is the share of
    heads whose partner is in their own layer; by chance it would be `by_chance`."""

    one: int
    other: int
    kind: str
    matched: float
    same_layer: float
    by_chance: float


@dataclass(frozen=True)
class Circle:
    """Of three checkpoints, the share of a kind's heads that lead over the second to the same head of the third as they do
    directly; by chance it would be `by_chance`."""

    kind: str
    share: float
    by_chance: float


class Best(NamedTuple):
    """The head of a checkpoint that plays a role most, its share (nan has become None), and how many heads reach the bar."""

    layer: int
    head: int
    share: float | None
    holders: int


@dataclass(frozen=True)
class RoleFound:
    """A named role in a kind of attention: in each checkpoint the head that plays it most."""

    role: str
    bar: float
    kind: str
    best: tuple[Best, ...]

    @property
    def seeds(self) -> int:
        """How many of the checkpoints have at least one head whose bar is met."""
        return sum(best.holders > 0 for best in self.best)


@dataclass(frozen=True)
class SameHeads:
    """All of it over so many `sentences` (`left_out` were over the text limit), in `shuffles` shuffles drawn from `seed`."""

    checkpoints: tuple[str, ...]
    sentences: int
    left_out: int
    shuffles: int
    seed: int
    data: str  # SHA-256 of the file
    sites: tuple[SiteMatch, ...]
    kinds: tuple[KindMatch, ...]
    circles: tuple[Circle, ...]
    roles: tuple[RoleFound, ...]

    def sites_table(self) -> tuple[list[str], list[list[Cell]]]:
        """A row for each pair of checkpoints and site; heads and layers from 1, as on the screen."""
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
        """A row for each role and kind of attention: how many checkpoints have it, and the best head of each."""
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
        """Ready for JSON: all that it was made of, and the two tables."""
        tables = {"sites": self.sites_table(), "roles": self.roles_table()}
        made = asdict(self)
        for role, found in zip(made["roles"], self.roles, strict=True):
            role["best"] = [best._asdict() for best in found.best]
        said = {name: {"columns": columns, "rows": rows} for name, (columns, rows) in tables.items()}
        return {"schema": SCHEMA} | made | {"tables": said}

    @classmethod
    def from_dict(cls, values: Any) -> SameHeads:
        """Inverse of `to_dict`; ValueError, which names the key, for anything else."""
        schema = values.get("schema") if isinstance(values, Mapping) else None
        if schema != SCHEMA:
            raise ValueError(f"'schema' is {shown(schema)}; expected {SCHEMA}")
        names = values.get("checkpoints")
        if not isinstance(names, list) or len(names) < 2 or not all(isinstance(name, str) for name in names):
            raise ValueError(f"'checkpoints' is {shown(names)}; expected at least two names")
        counts = {name: values.get(name) for name in ("sentences", "left_out", "shuffles", "seed")}
        if not all(map(is_count, counts.values())):
            raise ValueError(f"{', '.join(counts)} are {shown(list(counts.values()))}; expected counts")
        if not isinstance(values.get("data"), str):
            raise ValueError(f"'data' is {shown(values.get('data'))}; expected the SHA-256 of a file")
        parts = {
            name: tuple(_part(name, kind, each, len(names)) for each in _list(name, values.get(name)))
            for name, kind in (("sites", SiteMatch), ("kinds", KindMatch), ("circles", Circle), ("roles", RoleFound))
        }
        return cls(tuple(names), *counts.values(), values["data"], **parts)


def _list(name: str, values: Any) -> list[Any]:
    if not isinstance(values, list):
        raise ValueError(f"{name!r} is {shown(values)}; expected a list")
    return values


def _part(name: str, record: type, values: Any, checkpoints: int) -> Any:
    """One entry of a list, each of its fields checked by its kind."""
    wanted = {field.name: field.type for field in fields(record)}
    if not isinstance(values, dict) or sorted(values) != sorted(wanted):
        raise ValueError(f"an entry of {name!r} is {shown(values)}; expected {', '.join(wanted)}")
    made = {key: _field(name, key, str(kind), values[key], checkpoints) for key, kind in wanted.items()}
    if "partners" in made and sorted(made["partners"]) != list(range(len(made["distances"]))):
        raise ValueError(f"{name!r} has partners {shown(values['partners'])}; expected every head once")
    return record(**made)


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
        raise ValueError(f"{name!r}: {key} is {shown(value)}; expected {kind}")
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
