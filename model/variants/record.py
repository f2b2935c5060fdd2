"""What was measured of the variants: `variants.json`, as a value that a page or a table is made of. No torch here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from model.files import MEGABYTE, read_json, shown
from model.limits import is_count, is_whole

SCHEMA = 1
FILE = "variants.json"
SCORES = {"bleu": 2, "chrf": 2, "dev_loss": 4}  # and the digits after the point


def chance_apart(n: int, m: int) -> float:
    """How often n draws all lie on the same side of m others of the same kind: 2 n! m! / (n + m)!, at most 1."""
    return min(1.0, 2 / math.comb(n + m, n))


class Spread(NamedTuple):
    """A number over some seeds: its mean, the smallest and the largest."""

    mean: float
    low: float
    high: float
    seeds: int


class Against(NamedTuple):
    """A variant held against another: the difference of their means, and whether all seeds of the one are on the same side
    of all seeds of the other. `chance`: how often that happens where the two do not differ."""

    difference: float
    is_apart: bool
    chance: float


@dataclass(frozen=True)
class Seeded:
    """One run: BLEU and chrF on the test sentences, loss on the dev pairs in nats a token, steps, minutes of training."""

    seed: int
    bleu: float
    chrf: float
    dev_loss: float
    steps: int
    minutes: int


@dataclass(frozen=True)
class Measured:
    """A variant with its runs, by their seeds; `tokens_per_second` are target tokens while training, where they were
    measured."""

    name: str
    title: str
    says: str
    model: dict[str, Any]  # fields of its config
    parameters: int
    runs: tuple[Seeded, ...]
    tokens_per_second: float | None = None

    def spread(self, score: str) -> Spread:
        """One of `SCORES` over the seeds."""
        values = [getattr(run, score) for run in self.runs]
        return Spread(math.fsum(values) / len(values), min(values), max(values), len(values))

    def against(self, other: Measured, score: str) -> Against:
        """This one held against another by one of `SCORES`."""
        mine, its = self.spread(score), other.spread(score)
        is_apart = mine.low > its.high or mine.high < its.low
        return Against(mine.mean - its.mean, is_apart, chance_apart(mine.seeds, its.seeds))


@dataclass(frozen=True)
class Variants:
    """All variants that have a run, the `base` among them or not; what they have in common: training, data (SHA-256 of
    train, dev and test), how the test was decoded, and on how many sentences. `speed` says how the speed was measured."""

    base: str
    training: dict[str, Any]
    data: dict[str, str]
    decoding: dict[str, Any]
    sentences: int
    sacrebleu_signature: str
    variants: tuple[Measured, ...]
    speed: dict[str, Any] | None = None

    def find(self, name: str) -> Measured | None:
        """A variant by its name."""
        return next((each for each in self.variants if each.name == name), None)

    def table(self) -> tuple[list[str], list[list[str | int | float | bool | None]]]:
        """Column names, and a row of cells for each variant; None where a number does not exist."""
        base = self.find(self.base)
        names = ["name", "title", "parameters", "tokens_per_second", "times_base", "seeds"]
        for score in SCORES:
            names += [score, f"{score}_low", f"{score}_high", f"{score}_difference", f"{score}_apart", f"{score}_chance"]
        rows: list[list[str | int | float | bool | None]] = []
        for each in self.variants:
            speed, other = each.tokens_per_second, base.tokens_per_second if base else None
            times = round(speed / other, 2) if speed and other else None
            row = [each.name, each.title, each.parameters, speed, times, len(each.runs)]
            for score, digits in SCORES.items():
                row += [round(value, digits) for value in each.spread(score)[:3]]
                held = each.against(base, score) if base and each is not base else None
                row += [round(held.difference, digits), held.is_apart, round(held.chance, 4)] if held else [None] * 3
            rows.append(row)
        return names, rows

    @property
    def told(self) -> str:
        """How differences are to be read, in a sentence."""
        counts = {len(each.runs) for each in self.variants}
        seeds = min(counts, default=0)
        often = (
            f" of {seeds} seeds each happens in {chance_apart(seeds, seeds):.0%} of cases"
            if len(counts) == 1
            else (" happens as often as the column of chances says")
        )
        return (
            "A score is the mean over the seeds, with the smallest and the largest. Two designs are called apart where all "
            f"seeds of the one are above all seeds of the other, which between equal designs{often}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON: all that it was made of, and the table and how it is to be read."""
        columns, rows = self.table()
        return {"schema": SCHEMA} | asdict(self) | {"table": {"columns": columns, "rows": rows}, "reading": self.told}

    @classmethod
    def from_dict(cls, values: Any) -> Variants:
        """Inverse of `to_dict`; ValueError, which names the key, for anything else."""
        schema = values.get("schema") if isinstance(values, Mapping) else None
        if schema != SCHEMA:
            raise ValueError(f"'schema' is {shown(schema)}; expected {SCHEMA}")
        for name in ("training", "data", "decoding"):
            if not isinstance(values.get(name), dict):
                raise ValueError(f"{name!r} is {shown(values.get(name))}; expected an object")
        for name in ("base", "sacrebleu_signature"):
            if not isinstance(values.get(name), str):
                raise ValueError(f"{name!r} is {shown(values.get(name))}; expected a text")
        speed, listed = values.get("speed"), values.get("variants")
        if not (speed is None or isinstance(speed, dict)):
            raise ValueError(f"'speed' is {shown(speed)}; expected an object, or nothing")
        if not is_count(values.get("sentences")):
            raise ValueError(f"'sentences' is {shown(values.get('sentences'))}; expected a count")
        if not isinstance(listed, list):
            raise ValueError(f"'variants' is {shown(listed)}; expected a list")
        made = {field.name: values.get(field.name) for field in fields(cls)}
        return cls(**(made | {"variants": tuple(map(_measured, listed))}))


def read(path: Path) -> Variants:
    """The record in a file; FileNotFoundError where there is none, FileError or ValueError where it is damaged."""
    return Variants.from_dict(read_json(path, MEGABYTE))


def _measured(values: Any) -> Measured:
    name = values.get("name") if isinstance(values, dict) else None
    if not isinstance(name, str):
        raise ValueError(f"a variant is {shown(values)}; expected an object with a name")
    texts = all(isinstance(values.get(each), str) for each in ("title", "says"))
    speed, runs = values.get("tokens_per_second"), values.get("runs")
    if not (texts and isinstance(values.get("model"), dict) and is_count(values.get("parameters"))):
        raise ValueError(f"the variant {shown(name)} lacks its title, says, model or parameters")
    if not (speed is None or _is_number(speed)):
        raise ValueError(f"the variant {shown(name)} has tokens_per_second {shown(speed)}; expected a number, or nothing")
    if not isinstance(runs, list) or not runs:
        raise ValueError(f"the variant {shown(name)} has runs {shown(runs)}; expected a list with at least one")
    made = {field.name: values.get(field.name) for field in fields(Measured)}
    return Measured(**(made | {"runs": tuple(_seeded(name, run) for run in runs)}))


def _seeded(name: str, values: Any) -> Seeded:
    known = [field.name for field in fields(Seeded)]
    if not isinstance(values, dict) or sorted(values) != sorted(known):
        raise ValueError(f"a run of {shown(name)} is {shown(values)}; expected {', '.join(known)}")
    if not all(_is_number(values[each]) for each in known):
        raise ValueError(f"a run of {shown(name)} is {shown(values)}; expected numbers of at least 0")
    return Seeded(**values)


def _is_number(value: Any) -> bool:
    return (is_whole(value) or isinstance(value, float)) and 0 <= value < math.inf
