"""What was measured of the variants: `variants.json`, as a value that a page or a table is made of. No torch here."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from model.io.files import MEGABYTE, read_json, shown
from model.io.folders import homes, is_name
from model.io.limits import is_count, is_number, is_whole
from model.variants.designs import LEVEL, mean_interval
from model.variants.same_heads import SameHeads

SCHEMA = 2
FILE = "variants.json"
MOST = 8 * MEGABYTE
SCORES = {"bleu": 2, "chrf": 2, "dev_loss": 4}  # and the digits after the point
STATES = {  # of a run that has no scores
    "waiting": "not begun",
    "training": "in training",
    "trained": "trained, not scored",
    "failed": "failed",
}


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
    of all seeds of the other. `chance`: how often that happens where the two do not differ. `interval`: the 95% interval of
    the mean of the differences seed by seed, over the `pairs` seeds of both (Student's t); None for fewer than two."""

    difference: float
    is_apart: bool
    chance: float
    pairs: int
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class Seeded:
    """One run: BLEU and chrF on the test sentences, loss on the dev pairs in nats a token, steps, minutes of training;
    `losses` are the dev loss at each validation, with its step."""

    seed: int
    bleu: float
    chrf: float
    dev_loss: float
    steps: int
    minutes: int
    losses: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True)
class Missing:
    """A run that was asked for and has no scores: one of `STATES`, the step that was saved last, and why it failed."""

    name: str
    seed: int
    state: str
    step: int = 0
    why: str = ""


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
        others = {run.seed: getattr(run, score) for run in other.runs}
        pairs = [getattr(run, score) - others[run.seed] for run in self.runs if run.seed in others]
        chance = chance_apart(mine.seeds, its.seeds)
        return Against(mine.mean - its.mean, is_apart, chance, len(pairs), mean_interval(pairs))


@dataclass(frozen=True)
class Variants:
    """All variants that have a run, the `base` among them or not; what they have in common: training, data (SHA-256 of
    train, dev and test), how the test was decoded, and on how many sentences. `speed` says how the speed was measured.

    `seeds` are those that were asked of each, `missing` the runs that are not there yet; `steps` and `target_tokens` what
    one whole run is trained on. `same_heads` has, by the variant's name, whether heads return from seed to seed; `shipped`
    the checkpoint's folder of those whose weights lie beside the record.
    """

    base: str
    training: dict[str, Any]
    data: dict[str, str]
    decoding: dict[str, Any]
    sentences: int
    sacrebleu_signature: str
    variants: tuple[Measured, ...]
    speed: dict[str, Any] | None = None
    seeds: tuple[int, ...] = ()
    missing: tuple[Missing, ...] = ()
    steps: int | None = None
    target_tokens: int | None = None
    same_heads: dict[str, SameHeads] = field(default_factory=dict)
    shipped: dict[str, str] = field(default_factory=dict)

    def find(self, name: str) -> Measured | None:
        """A variant by its name."""
        return next((each for each in self.variants if each.name == name), None)

    @property
    def runs(self) -> int:
        """How many have scores."""
        return sum(len(each.runs) for each in self.variants)

    def table(self) -> tuple[list[str], list[list[str | int | float | bool | None]]]:
        """Column names, and a row of cells for each variant; None where a number does not exist."""
        base = self.find(self.base)
        names = ["name", "title", "parameters", "tokens_per_second", "times_base", "seeds"]
        for score in SCORES:
            names += [score, *(f"{score}_{part}" for part in ("low", "high", "difference", "apart", "chance"))]
            names += [f"{score}_pairs", f"{score}_difference_low", f"{score}_difference_high"]
        rows: list[list[str | int | float | bool | None]] = []
        for each in self.variants:
            speed, other = each.tokens_per_second, base.tokens_per_second if base else None
            times = round(speed / other, 2) if speed and other else None
            row = [each.name, each.title, each.parameters, speed, times, len(each.runs)]
            for score, digits in SCORES.items():
                row += [round(value, digits) for value in each.spread(score)[:3]]
                held = each.against(base, score) if base and each is not base else None
                row += _told(held, digits) if held else [None] * 6
            rows.append(row)
        return names, rows

    @property
    def told(self) -> str:
        """How differences are to be read, in sentences."""
        counts = {len(each.runs) for each in self.variants}
        seeds = min(counts, default=0)
        often = (
            f" of {seeds} seed{'' if seeds == 1 else 's'} each happens in {chance_apart(seeds, seeds):.0%} of cases"
            if len(counts) == 1
            else (" happens as often as the column of chances says")
        )
        return (
            "A score is the mean over the seeds, with the smallest and the largest. Two designs are called apart where all "
            f"seeds of the one are above all seeds of the other, which between equal designs{often}. The {LEVEL:.0%} "
            "interval of a difference is Student’s, of the differences seed by seed."
        )

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON: all that it was made of, and the table and how it is to be read."""
        columns, rows = self.table()
        made = asdict(self) | {"same_heads": {name: found.to_dict() for name, found in self.same_heads.items()}}
        return {"schema": SCHEMA} | made | {"table": {"columns": columns, "rows": rows}, "reading": self.told}

    @classmethod
    def from_dict(cls, values: Any) -> Variants:
        """Inverse of `to_dict`; ValueError, which names the key, for anything else."""
        schema = values.get("schema") if isinstance(values, Mapping) else None
        if schema != SCHEMA:
            raise ValueError(f"'schema' is {shown(schema)}; expected {SCHEMA}")
        for name in ("training", "data", "decoding", "same_heads", "shipped"):
            if not isinstance(values.get(name), dict):
                raise ValueError(f"{name!r} is {shown(values.get(name))}; expected an object")
        for name in ("base", "sacrebleu_signature"):
            if not isinstance(values.get(name), str):
                raise ValueError(f"{name!r} is {shown(values.get(name))}; expected a text")
        if not ((speed := values.get("speed")) is None or isinstance(speed, dict)):
            raise ValueError(f"'speed' is {shown(speed)}; expected an object, or nothing")
        if not is_count(values.get("sentences")):
            raise ValueError(f"'sentences' is {shown(values.get('sentences'))}; expected a count")
        for name in ("steps", "target_tokens"):
            if not (values.get(name) is None or is_count(values[name])):
                raise ValueError(f"{name!r} is {shown(values[name])}; expected a count, or nothing")
        for name in ("variants", "seeds", "missing"):
            if not isinstance(values.get(name), list):
                raise ValueError(f"{name!r} is {shown(values.get(name))}; expected a list")
        if not all(is_whole(seed) and seed >= 0 for seed in values["seeds"]):
            raise ValueError(f"'seeds' is {shown(values['seeds'])}; expected whole numbers")
        made = {each.name: values.get(each.name) for each in fields(cls)}
        made |= {name: tuple(map(part, values[name])) for name, part in (("variants", _measured), ("missing", _missing))}
        _check_different("variants", [each.name for each in made["variants"]])
        _check_different("'seeds'", values["seeds"])
        made |= {"seeds": tuple(values["seeds"]), "shipped": _shipped(values["shipped"])}
        return cls(**made | {"same_heads": _same_heads(values["same_heads"])})


def _told(held: Against, digits: int) -> list[float | bool | int | None]:
    low, high = held.interval or (None, None)
    ends = [None if end is None else round(end, digits) for end in (low, high)]
    return [round(held.difference, digits), held.is_apart, round(held.chance, 4), held.pairs, *ends]


def read(path: Path) -> Variants:
    """The record in a file; FileNotFoundError where there is none, FileError or ValueError where it is damaged."""
    return Variants.from_dict(read_json(path, MOST))


def place() -> Path | None:
    """Where the record lies that is shown: in a folder of CHECKPOINTS, else beside the shipped checkpoints, or None."""
    return next((home / FILE for home in homes() if (home / FILE).is_file()), None)


def _measured(values: Any) -> Measured:
    name = values.get("name") if isinstance(values, dict) else None
    if not isinstance(name, str):
        raise ValueError(f"a variant is {shown(values)}; expected an object with a name")
    texts = all(isinstance(values.get(each), str) for each in ("title", "says"))
    speed, runs = values.get("tokens_per_second"), values.get("runs")
    if not (texts and isinstance(values.get("model"), dict) and is_count(values.get("parameters"))):
        raise ValueError(f"the variant {shown(name)} lacks its title, says, model or parameters")
    if not (speed is None or _is_size(speed)):
        raise ValueError(f"the variant {shown(name)} has tokens_per_second {shown(speed)}; expected a number, or nothing")
    if not isinstance(runs, list) or not runs:
        raise ValueError(f"the variant {shown(name)} has runs {shown(runs)}; expected a list with at least one")
    made = {each.name: values.get(each.name) for each in fields(Measured)}
    seeded = tuple(_seeded(name, run) for run in runs)
    _check_different(f"seeds of the variant {shown(name)}", [run.seed for run in seeded])
    return Measured(**(made | {"runs": seeded}))


def _check_different(what: str, found: Sequence[Any]) -> None:
    if twice := [each for n, each in enumerate(found) if each in found[:n]]:
        raise ValueError(f"the {what} have {shown(twice[0])} twice; expected each once")


def _seeded(name: str, values: Any) -> Seeded:
    known = [each.name for each in fields(Seeded)]
    if not isinstance(values, dict) or sorted(values) != sorted(known):
        raise ValueError(f"a run of {shown(name)} is {shown(values)}; expected {', '.join(known)}")
    if not all(_is_size(values[each]) for each in known if each != "losses"):
        raise ValueError(f"a run of {shown(name)} is {shown(values)}; expected numbers of at least 0")
    if not is_count(values["seed"]):
        raise ValueError(f"a run of {shown(name)} has the seed {shown(values['seed'])}; expected a whole number")
    losses = values["losses"]
    if not isinstance(losses, list) or not all(_is_point(each) for each in losses):
        raise ValueError(f"a run of {shown(name)} has losses {shown(losses)}; expected pairs of a step and a loss")
    return Seeded(**values | {"losses": tuple((step, float(loss)) for step, loss in losses)})


def _missing(values: Any) -> Missing:
    known = [each.name for each in fields(Missing)]
    if not isinstance(values, dict) or sorted(values) != sorted(known):
        raise ValueError(f"a missing run is {shown(values)}; expected {', '.join(known)}")
    texts = isinstance(values["name"], str) and isinstance(values["why"], str) and values["state"] in [*STATES]
    if not (texts and is_count(values["seed"]) and is_count(values["step"])):
        raise ValueError(f"a missing run is {shown(values)}; expected a name, a seed, a step and one of {', '.join(STATES)}")
    return Missing(**values)


def _shipped(values: dict[str, Any]) -> dict[str, str]:
    for name, folder in values.items():
        if not isinstance(folder, str) or not is_name(folder):
            raise ValueError(f"'shipped' has {shown(name)} in {shown(folder)}; expected the name of a checkpoint")
    return values


def _same_heads(values: dict[str, Any]) -> dict[str, SameHeads]:
    made = {}
    for name, found in values.items():
        try:
            made[name] = SameHeads.from_dict(found)
        except ValueError as fault:
            raise ValueError(f"'same_heads' of {shown(name)}: {fault}") from None
    return made


def _is_point(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and is_count(value[0]) and _is_size(value[1])


def _is_size(value: Any) -> bool:
    """True for a number of at least 0."""
    return is_number(value, 0, sys.float_info.max)
