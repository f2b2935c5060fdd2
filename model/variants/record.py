"""Measurements of the variants: the content of `variants.json`. No torch here."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from ..io.files import MEGABYTE, is_count, is_number, is_whole_number, read_json, short_repr
from ..io.folders import is_name, search_folders
from .designs import LEVEL, mean_interval
from .same_heads import SameHeads

SCHEMA = 2
FILE = "variants.json"
MAX_BYTES = 8 * MEGABYTE
SCORES = {"bleu": 2, "chrf": 2, "dev_loss": 4}  # digits after the point
STATES = {  # of a run without scores
    "waiting": "not begun",
    "training": "in training",
    "trained": "trained, not scored",
    "failed": "failed",
}


def chance_apart(n: int, m: int) -> float:
    """Returns the probability that n draws all lie on one side of m others of one distribution: 2 n! m! / (n + m)!, at most
    1."""
    return min(1.0, 2 / math.comb(n + m, n))


class Spread(NamedTuple):
    """Mean, smallest and largest value of a number over some seeds."""

    mean: float
    low: float
    high: float
    seeds: int


class VariantComparison(NamedTuple):
    """Comparison of a variant with another one.

    `difference` is that of the means. `is_apart` is True where all seeds of one are on the same side of all seeds of the
    other. `chance` is the probability of that between equal designs. `interval` is the 95% interval of the mean difference,
    seed by seed, over the `pairs` seeds of both (Student's t); None for fewer than two.
    """

    difference: float
    is_apart: bool
    chance: float
    pairs: int
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class SeedRun:
    """One run: BLEU and chrF on the test sentences, dev loss in nats a token, steps, and minutes of training.

    `losses` are pairs of a step and its dev loss.
    """

    seed: int
    bleu: float
    chrf: float
    dev_loss: float
    steps: int
    minutes: int
    losses: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True)
class MissingRun:
    """A planned run without scores: one of `STATES`, the last saved step, and the reason of a failure."""

    name: str
    seed: int
    state: str
    step: int = 0
    why: str = ""


@dataclass(frozen=True)
class VariantResult:
    """A variant with its runs, one per seed. `tokens_per_second` are target tokens in training, where measured."""

    name: str
    title: str
    says: str
    model: dict[str, Any]  # fields of its config
    parameters: int
    runs: tuple[SeedRun, ...]
    tokens_per_second: float | None = None

    def spread(self, score: str) -> Spread:
        """Returns one of `SCORES` over the seeds."""
        values = [getattr(run, score) for run in self.runs]
        return Spread(math.fsum(values) / len(values), min(values), max(values), len(values))

    def compare(self, other: VariantResult, score: str) -> VariantComparison:
        """Compares this variant with another by one of `SCORES`."""
        mine, its = self.spread(score), other.spread(score)
        is_apart = mine.low > its.high or mine.high < its.low
        others = {run.seed: getattr(run, score) for run in other.runs}
        pairs = [getattr(run, score) - others[run.seed] for run in self.runs if run.seed in others]
        chance = chance_apart(mine.seeds, its.seeds)
        return VariantComparison(mine.mean - its.mean, is_apart, chance, len(pairs), mean_interval(pairs))


@dataclass(frozen=True)
class Variants:
    """All variants with a run, and their common part: training, data (SHA-256 of train, dev and test), decoding, test
    sentences.

    `seeds` are the planned ones. `missing` are the runs without scores. `steps` and `target_tokens` are those of one full
    run. `speed` says how the speed was measured. `same_heads` compares the heads of the seeds, by variant. `shipped` is the
    checkpoint folder of the variants whose weights are stored with the record.
    """

    base: str
    training: dict[str, Any]
    data: dict[str, str]
    decoding: dict[str, Any]
    sentences: int
    sacrebleu_signature: str
    variants: tuple[VariantResult, ...]
    speed: dict[str, Any] | None = None
    seeds: tuple[int, ...] = ()
    missing: tuple[MissingRun, ...] = ()
    steps: int | None = None
    target_tokens: int | None = None
    same_heads: dict[str, SameHeads] = field(default_factory=dict)
    shipped: dict[str, str] = field(default_factory=dict)

    def find(self, name: str) -> VariantResult | None:
        """Returns a variant by name."""
        return next((each for each in self.variants if each.name == name), None)

    @property
    def runs(self) -> int:
        """Returns the number of runs with scores."""
        return sum(len(each.runs) for each in self.variants)

    def table(self) -> tuple[list[str], list[list[str | int | float | bool | None]]]:
        """Returns column names, and a row of cells for each variant; None where a number does not exist."""
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
                comparison = each.compare(base, score) if base and each is not base else None
                row += _comparison_cells(comparison, digits) if comparison else [None] * 6
            rows.append(row)
        return names, rows

    @property
    def explanation(self) -> str:
        """Explains the columns of the table, in sentences."""
        counts = {len(each.runs) for each in self.variants}
        seeds = min(counts, default=0)
        often = (
            f" of {seeds} seed{'' if seeds == 1 else 's'} each happens in {chance_apart(seeds, seeds):.0%} of cases"
            if len(counts) == 1
            else " has the probability in the column of chances"
        )
        return (
            "A score is the mean over the seeds, with the smallest and the largest. Two designs are called apart where all "
            f"seeds of the one are above all seeds of the other, which between equal designs{often}. The {LEVEL:.0%} "
            "interval of a difference is Student’s, of the differences seed by seed."
        )

    def to_dict(self) -> dict[str, Any]:
        """Returns the record for JSON: all fields, the table and its explanation."""
        columns, rows = self.table()
        values = asdict(self) | {"same_heads": {name: heads.to_dict() for name, heads in self.same_heads.items()}}
        return {"schema": SCHEMA} | values | {"table": {"columns": columns, "rows": rows}, "reading": self.explanation}

    @classmethod
    def from_dict(cls, values: Any) -> Variants:
        """Returns the record of a dict that `to_dict` made. Raises ValueError, which names the key, for anything else."""
        schema = values.get("schema") if isinstance(values, Mapping) else None
        if schema != SCHEMA:
            raise ValueError(f"'schema' is {short_repr(schema)}; expected {SCHEMA}")
        for name in ("training", "data", "decoding", "same_heads", "shipped"):
            if not isinstance(values.get(name), dict):
                raise ValueError(f"{name!r} is {short_repr(values.get(name))}; expected an object")
        for name in ("base", "sacrebleu_signature"):
            if not isinstance(values.get(name), str):
                raise ValueError(f"{name!r} is {short_repr(values.get(name))}; expected a text")
        if not ((speed := values.get("speed")) is None or isinstance(speed, dict)):
            raise ValueError(f"'speed' is {short_repr(speed)}; expected an object, or nothing")
        if not is_count(values.get("sentences")):
            raise ValueError(f"'sentences' is {short_repr(values.get('sentences'))}; expected a count")
        for name in ("steps", "target_tokens"):
            if not (values.get(name) is None or is_count(values[name])):
                raise ValueError(f"{name!r} is {short_repr(values[name])}; expected a count, or nothing")
        for name in ("variants", "seeds", "missing"):
            if not isinstance(values.get(name), list):
                raise ValueError(f"{name!r} is {short_repr(values.get(name))}; expected a list")
        if not all(is_whole_number(seed) and seed >= 0 for seed in values["seeds"]):
            raise ValueError(f"'seeds' is {short_repr(values['seeds'])}; expected whole numbers")
        parts = {each.name: values.get(each.name) for each in fields(cls)}
        parts |= {name: tuple(map(part, values[name])) for name, part in (("variants", _measured), ("missing", _missing))}
        _check_different("variants", [each.name for each in parts["variants"]])
        _check_different("'seeds'", values["seeds"])
        parts |= {"seeds": tuple(values["seeds"]), "shipped": _shipped(values["shipped"])}
        return cls(**parts | {"same_heads": _same_heads(values["same_heads"])})


def _comparison_cells(comparison: VariantComparison, digits: int) -> list[float | bool | int | None]:
    low, high = comparison.interval or (None, None)
    ends = [None if end is None else round(end, digits) for end in (low, high)]
    return [round(comparison.difference, digits), comparison.is_apart, round(comparison.chance, 4), comparison.pairs, *ends]


def read(path: Path) -> Variants:
    """Returns the record of a file. Raises FileNotFoundError, and FileError or ValueError for a damaged file."""
    return Variants.from_dict(read_json(path, MAX_BYTES))


def record_path() -> Path | None:
    """Returns the path of the record: in a folder of CHECKPOINTS, else with the shipped checkpoints; None without one."""
    return next((home / FILE for home in search_folders() if (home / FILE).is_file()), None)


def _measured(values: Any) -> VariantResult:
    name = values.get("name") if isinstance(values, dict) else None
    if not isinstance(name, str):
        raise ValueError(f"a variant is {short_repr(values)}; expected an object with a name")
    texts = all(isinstance(values.get(each), str) for each in ("title", "says"))
    speed, runs = values.get("tokens_per_second"), values.get("runs")
    if not (texts and isinstance(values.get("model"), dict) and is_count(values.get("parameters"))):
        raise ValueError(f"the variant {short_repr(name)} lacks its title, says, model or parameters")
    if not (speed is None or _is_size(speed)):
        raise ValueError(
            f"the variant {short_repr(name)} has tokens_per_second {short_repr(speed)}; expected a number, or nothing"
        )
    if not isinstance(runs, list) or not runs:
        raise ValueError(f"the variant {short_repr(name)} has runs {short_repr(runs)}; expected a list with at least one")
    parts = {each.name: values.get(each.name) for each in fields(VariantResult)}
    seeded = tuple(_seeded(name, run) for run in runs)
    _check_different(f"seeds of the variant {short_repr(name)}", [run.seed for run in seeded])
    return VariantResult(**(parts | {"runs": seeded}))


def _check_different(what: str, values: Sequence[Any]) -> None:
    if twice := [each for n, each in enumerate(values) if each in values[:n]]:
        raise ValueError(f"the {what} have {short_repr(twice[0])} twice; expected each once")


def _seeded(name: str, values: Any) -> SeedRun:
    known = [each.name for each in fields(SeedRun)]
    if not isinstance(values, dict) or sorted(values) != sorted(known):
        raise ValueError(f"a run of {short_repr(name)} is {short_repr(values)}; expected {', '.join(known)}")
    if not all(_is_size(values[each]) for each in known if each != "losses"):
        raise ValueError(f"a run of {short_repr(name)} is {short_repr(values)}; expected numbers of at least 0")
    if not is_count(values["seed"]):
        raise ValueError(f"a run of {short_repr(name)} has the seed {short_repr(values['seed'])}; expected a whole number")
    losses = values["losses"]
    if not isinstance(losses, list) or not all(_is_point(each) for each in losses):
        raise ValueError(f"a run of {short_repr(name)} has losses {short_repr(losses)}; expected pairs of a step and a loss")
    return SeedRun(**values | {"losses": tuple((step, float(loss)) for step, loss in losses)})


def _missing(values: Any) -> MissingRun:
    known = [each.name for each in fields(MissingRun)]
    if not isinstance(values, dict) or sorted(values) != sorted(known):
        raise ValueError(f"a missing run is {short_repr(values)}; expected {', '.join(known)}")
    texts = isinstance(values["name"], str) and isinstance(values["why"], str) and values["state"] in [*STATES]
    if not (texts and is_count(values["seed"]) and is_count(values["step"])):
        raise ValueError(
            f"a missing run is {short_repr(values)}; expected a name, a seed, a step and one of {', '.join(STATES)}"
        )
    return MissingRun(**values)


def _shipped(values: dict[str, Any]) -> dict[str, str]:
    for name, folder in values.items():
        if not isinstance(folder, str) or not is_name(folder):
            raise ValueError(f"'shipped' has {short_repr(name)} in {short_repr(folder)}; expected the name of a checkpoint")
    return values


def _same_heads(values: dict[str, Any]) -> dict[str, SameHeads]:
    matches = {}
    for name, each in values.items():
        try:
            matches[name] = SameHeads.from_dict(each)
        except ValueError as fault:
            raise ValueError(f"'same_heads' of {short_repr(name)}: {fault}") from None
    return matches


def _is_point(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and is_count(value[0]) and _is_size(value[1])


def _is_size(value: Any) -> bool:
    """True for a number of at least 0."""
    return is_number(value, 0, sys.float_info.max)
