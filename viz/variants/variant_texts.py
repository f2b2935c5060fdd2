"""Texts of the page Variants, from the numbers of the record on the disk, which may be incomplete or missing."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from model.io.numbers import three_digits
from model.io.package_names import COMMAND
from model.variants.designs import VARIANTS
from model.variants.record import (
    FILE,
    SCORES,
    STATES,
    MissingRun,
    VariantComparison,
    VariantResult,
    Variants,
    chance_apart,
    read,
    record_path,
)
from viz import cache
from viz.kit import terms

MAKE = f"{COMMAND} variants --data TRAIN --dev DEV --test TEST --out runs/variants"
SHIP = f"{MAKE} --ship checkpoints"
NONE = f"No variants have been trained yet: “{MAKE}” trains them, and with “--ship checkpoints” they are shown here."


@dataclass(frozen=True, eq=False)  # by identity, as a key of caches
class RecordFile:
    """The record, or the sentence that says why there is none, with the command that makes it."""

    record: Variants | None
    fault: str = ""


NOTHING = RecordFile(None, NONE)


def read_record() -> RecordFile:
    """Returns the record. Its file is looked up at most every two seconds, and read once as long as it stays the same."""
    return cache.read_recently(_find_record)


def _find_record() -> RecordFile:
    path = record_path()
    if path is None:
        return NOTHING
    try:
        stat = path.stat()
    except OSError:
        return RecordFile(None, f"{FILE} cannot be read; make it anew: “{SHIP}”.")
    return _read(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(4)
def _read(path: Path, changed: int, size: int) -> RecordFile:
    try:
        return RecordFile(read(path))
    except (ValueError, OSError) as fault:
        said = " ".join(str(fault).replace(f"{path}", FILE).split()).rstrip(".")
        named = said if said.startswith(FILE) else f"{FILE}: {said}"
        return RecordFile(None, f"{named}. Make it anew: “{SHIP}”.")


NAMES = {"bleu": "BLEU", "chrf": "chrF", "dev_loss": "Dev loss"}
BETTER = {"bleu": 1, "chrf": 1, "dev_loss": -1}
MINUS = "−"
WITHIN, UNSURE, FEW = "within the spread", "apart, not sure", "with too few seeds"


def number(value: float, score: str) -> str:
    """A score as it is written."""
    return f"{value:.{digits(score)}f}"


def digits(score: str) -> int:
    return min(3, SCORES[score])


def signed(value: float, score: str) -> str:
    """A difference of scores, with its sign; none for what rounds to nothing."""
    text = f"{abs(value):.{digits(score)}f}"
    return text if float(text) == 0 else f"{MINUS if value < 0 else '+'}{text}"


def against(record: Variants, each: VariantResult, score: str) -> VariantComparison | None:
    """A variant held against the base; None for the base itself, and where it is not there."""
    base = record.find(record.base)
    return None if base is None or each.name == base.name else each.compare(base, score)


def can_tell(record: Variants, each: VariantResult) -> bool:
    """Returns True for two or more seeds of both, without which their spread is unknown."""
    base = record.find(record.base)
    return base is not None and min(len(base.runs), len(each.runs)) > 1


def is_clear(record: Variants, each: VariantResult, score: str) -> bool:
    """Whether a difference from the base is one: all seeds on one side, and an interval that leaves out 0."""
    held = against(record, each, score)
    if held is None or held.interval is None or not can_tell(record, each):
        return False
    return held.is_apart and (held.interval[0] > 0 or held.interval[1] < 0)


def verdict(record: Variants, score: str) -> str:
    """Which designs differ from the base by more than their seeds do, in a line."""
    base = record.find(record.base)
    if base is None:
        return f"{VARIANTS[record.base].title}, against which the others are held, is not trained yet"
    others = [each for each in record.variants if each.name != base.name]
    if not others:
        return f"Only {base.title} is trained so far"
    if not any(can_tell(record, each) for each in others):
        return "The seeds are too few to know how far they spread: no difference can be told yet"
    clear = [each for each in others if is_clear(record, each, score)]
    if not clear:
        return f"{NAMES[score]}: no design differs clearly from the base ({base.title})"
    told = _and([f"{each.title} ({signed(each.compare(base, score).difference, score)})" for each in clear])
    return f"{NAMES[score]}: {told} {'differs' if len(clear) == 1 else 'differ'} clearly from the base ({base.title})"


def seeds(record: Variants) -> str:
    """Returns how many seeds each design has."""
    counts = sorted({len(each.runs) for each in record.variants})
    return f"{f'{counts[0]} to {counts[-1]} seeds' if len(counts) > 1 else count(counts[0], 'seed')} each"


def honest(record: Variants, score: str) -> str:
    """Returns how many designs do not differ clearly, and when a difference is clear."""
    counts = sorted({len(each.runs) for each in record.variants})
    found = [reading(record, each, score) for each in record.variants]
    told = [f"{found.count(each)} {each}" for each in (WITHIN, UNSURE, FEW) if each in found]
    often = ""
    if len(counts) == 1 and counts[0] > 1:
        often = f" (of equal designs {chance_apart(counts[0], counts[0]):.0%} do that)"
    rest = f"{', '.join(told)}. " if told else ""
    return (
        f"{rest}A difference is clear where all seeds of the one lie on one side of all of the other{often}, and its 95% "
        "interval (Student’s, of the differences seed by seed) leaves out 0."
    )


def budget(record: Variants) -> str:
    """What a run was trained on, and what the scores are of."""
    runs = [run for each in record.variants for run in each.runs]
    minutes, steps = sorted(run.minutes for run in runs), sorted({run.steps for run in runs})
    told = [count(record.training["epochs"], "epoch")] if isinstance(record.training.get("epochs"), int) else []
    told.append(f"{steps[0]:,} to {steps[-1]:,} training steps" if len(steps) > 1 else count(steps[0], "training step"))
    told += [f"{record.target_tokens:,} target tokens"] if record.target_tokens else []
    span = f"{minutes[0]} to {minutes[-1]} minutes" if minutes[0] < minutes[-1] else count(minutes[0], "minute")
    told.append(f"{span} of training" if minutes[-1] else "less than a minute of training")
    beam = record.decoding.get("beam")
    how = f", beam {beam}" if isinstance(beam, int) and beam > 1 else ""
    return (
        f"Each run: {', '.join(told)}. BLEU and chrF on {record.sentences:,} test sentences{how}; dev loss in nats a token. "
        "This compares the designs at this budget: trained for longer, they may come out in another order."
    )


def lacking(record: Variants) -> str:
    """Which runs are not there yet, and what goes on with them; empty where all are."""
    if not record.missing:
        return ""
    begun = [each for each in record.missing if each.state in ("training", "failed")]
    told = [f"{_title(each.name)}, seed {each.seed}, {_at(each, record.steps)}" for each in begun]
    for state in ("trained", "waiting"):
        if runs := [each for each in record.missing if each.state == state]:
            told.append(f"{len(runs)} {STATES[state]}")
    total = record.runs + len(record.missing)
    return f"{len(record.missing)} of {total} runs are not there yet: {'; '.join(told)}. To go on: “{MAKE}”."


def _at(run: MissingRun, steps: int | None) -> str:
    if run.state == "failed":
        return f"failed ({run.why.rstrip('.')})"
    return f"at training step {run.step:,}" + (f" of {steps:,}" if steps else "")


def state_of(record: Variants, name: str) -> str:
    """Why a declared variant has no score, in a few words."""
    own = [each for each in record.missing if each.name == name]
    worked = [each for each in own if each.state != "waiting"]
    return _at(worked[0], record.steps) if worked and worked[0].state != "trained" else "not scored yet"


def reading(record: Variants, each: VariantResult, score: str) -> str:
    """What a difference from the base comes to."""
    held = against(record, each, score)
    if held is None:
        return "the base" if each.name == record.base else "no base"
    if not can_tell(record, each):
        return FEW
    if not is_clear(record, each, score):
        return UNSURE if held.is_apart else WITHIN
    return "clearly better" if held.difference * BETTER[score] > 0 else "clearly worse"


def table(record: Variants, score: str) -> str:
    """All declared designs with their numbers, as markup; the order is that in which they are declared."""
    head = ("Design", "Parameters", "Tokens/s", NAMES[score], "Seeds", "Against the base", "95% interval", "How clear")
    cells = "".join(f'<th scope="col">{each}</th>' for each in head)
    rows = "".join(_row(record, name, score) for name in names_of(record))
    return (
        '<div class="lab-scroll" tabindex="0" role="region" aria-label="Designs"><table class="lab-designs">'
        f"<thead><tr>{cells}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def names_of(record: Variants) -> list[str]:
    """The declared designs, and then what else the record has."""
    return [*VARIANTS, *(each.name for each in record.variants if each.name not in VARIANTS)]


def _row(record: Variants, name: str, score: str) -> str:
    each = record.find(name)
    title, says = (each.title, each.says) if each else (VARIANTS[name].title, VARIANTS[name].says)
    first = f'<th scope="row">{terms.explained(title, says)}</th>'
    if each is None:
        return f'<tr class="none">{first}<td colspan="7">{html.escape(state_of(record, name))}</td></tr>'
    spread, held = each.spread(score), against(record, each, score)
    base = record.find(record.base)
    speed = f"{each.tokens_per_second:,.0f}" if each.tokens_per_second else "–"
    if each.tokens_per_second and base and base.tokens_per_second and each is not base:
        speed += f"<small>×{each.tokens_per_second / base.tokens_per_second:.2f}</small>"
    seeds = "".join(f"<span>{number(getattr(run, score), score)}</span>" for run in each.runs)
    interval = " to ".join(signed(end, score) for end in held.interval) if held and held.interval else "–"
    told = reading(record, each, score)
    strong = ' class="clear"' if told.startswith("clearly") else ""
    return (
        f"<tr>{first}<td>{each.parameters:,}</td><td>{speed}</td><td><b>{number(spread.mean, score)}</b></td>"
        f'<td class="seeds">{seeds}</td><td>{signed(held.difference, score) if held else "–"}</td><td>{interval}</td>'
        f"<td{strong}>{told}</td></tr>"
    )


def curves_said(record: Variants) -> str:
    """Where the curves end, in a line."""
    ends = [(run.losses[-1][1], each.title) for each in record.variants for run in each.runs if run.losses]
    if not ends:
        return "No dev loss was kept along the training"
    (low, best), (high, worst) = min(ends), max(ends)
    if len(ends) == 1:
        return f"{best} ends at a dev loss of {three_digits(low)} nats a token"
    return f"All runs end between {three_digits(low)} ({best}) and {three_digits(high)} nats a token ({worst})"


def _title(name: str) -> str:
    return VARIANTS[name].title if name in VARIANTS else name


def count(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _and(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
