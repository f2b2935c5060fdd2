"""Attention at any length, in words: how it grows, where it stops, how far other functions are from the softmax."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from model.experiments.length_runs import Curve, Fit, Limits, Run, fit
from model.io import numbers
from viz.inside.inside_figures import STYLES
from viz.inside.sizes import weighed

if TYPE_CHECKING:
    from model.network.attention_methods import AttentionMethod
    from model.readings.stages.layer_inputs import OtherPatterns

HOW = (
    "One layer’s attention over a whole text: causal, d_model 256 in 8 heads, random q, k and v, on one core. Time: the "
    "fastest of some turns. Memory: the most that tensors take at once beside q, k and v. Projections, alike in all ways, "
    "are left out."
)
TRAINED = (
    "These queries and keys were trained for a softmax. A model that is trained with linear attention or a window learns "
    "others, so this is how far the function is, not how good such a model would be."
)
WRITTEN_OVER = "A row that an edit writes over is the same in every map."
SPREAD = "±: the most by which a point departs from its fit."


def took(seconds: float) -> str:
    """`0.12 ms`, `522 ms`, `2.66 s`."""
    return f"{numbers.three_digits(seconds)} s" if seconds >= 1 else f"{numbers.three_digits(1e3 * seconds)} ms"


def machine(run: Run) -> str:
    """What a run was made on."""
    return f"{run.cores} {'core' if run.cores == 1 else 'cores'}, one of them used; torch {run.torch}"


COLUMNS = ("time grows as", "measured", "memory grows as", "measured")


def ways_table(ways: Sequence[AttentionMethod], run: Run) -> str:
    """Each way with its formula, how it should grow and how it did, as markup."""
    head = '<th scope="col" class="first">formula</th>' + "".join(f'<th scope="col">{text}</th>' for text in COLUMNS)
    rows = "".join(_row(n, way, run.curves.get(way.name, Curve())) for n, way in enumerate(ways))
    return (
        '<div class="lab-scroll" tabindex="0" role="region" aria-label="Ways to compute attention">'
        f'<table class="lab-numbers lab-ways"><thead><tr><td></td>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _row(number: int, way: AttentionMethod, curve: Curve) -> str:
    title = f"{STYLES[number % len(STYLES)][2]} {html.escape(way.title)}"
    fits = (_power(fit(curve, what)) for what in ("seconds", "bytes"))
    values = [each for pair in zip((way.time, way.memory), fits, strict=True) for each in pair]
    cells = "".join(f'<td data-column="{name}">{value}</td>' for name, value in zip(COLUMNS, values, strict=True))
    return f'<tr><th scope="row">{title}<small>{way.description}</small></th><td class="how">{way.formula}</td>{cells}</tr>'


def _power(found: Fit | None) -> str:
    return "–" if found is None else f"T<sup>{numbers.decimal(found.power)}</sup> <small>± {found.departs:.0%}</small>"


def growth(ways: Sequence[AttentionMethod], run: Run) -> str:
    """The fitted exponents in a sentence, as markup; nothing where no way has three points."""
    told = []
    for what, name in (("seconds", "time"), ("bytes", "memory")):
        found = [(way, fit(run.curves[way.name], what)) for way in ways]
        powers = [
            f"T<sup>{numbers.decimal(f.power)}</sup> ({_named(way)}, {f.first:,} to {f.last:,})" for way, f in found if f
        ]
        if powers:
            told.append(
                f"{name} grew as {_listed(powers) if not told else _listed([p.split(',')[0] + ')' for p in powers])}"
            )
    return f"Over the upper half of the lengths, {'; '.join(told)}." if told else ""


def _named(way: AttentionMethod) -> str:
    return html.escape(way.title.lower())


def _listed(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def stops(ways: Sequence[AttentionMethod], run: Run) -> str:
    """Which ways went no further, and why, in sentences."""
    return " ".join(filter(None, (_stop(way, run.curves[way.name], run.limits) for way in ways)))


def _stop(way: AttentionMethod, curve: Curve, limits: Limits) -> str:
    if not curve.stopped:
        return ""
    if not curve.points:
        return f"{way.title} was not measured: {'the run was over' if curve.stopped == 'total' else 'it did not fit'}."
    last = curve.points[-1]
    ends = f"{way.title} ends at {last.length:,} tokens: "
    time, memory = last.seconds * 2 ** way.growth_exponents[0], last.bytes * 2 ** way.growth_exponents[1]
    if curve.stopped == "time":
        return f"{ends}twice as many would take about {took(time)}, and a point may take {took(limits.seconds)}."
    if curve.stopped == "memory":
        return f"{ends}twice as many would take about {weighed(memory)}, and a point may take {weighed(limits.bytes)}."
    return f"{ends}the {limits.total:.0f} s of the run were over."


def departures(ways: Sequence[AttentionMethod], run: Run) -> str:
    """How far each result is from the explicit one, at the longest text of which that is known, a sentence."""
    known = {way.name: {p.length: p.off for p in run.curves[way.name].points if p.off is not None} for way in ways}
    shared = set.intersection(*map(set, known.values())) if known else set()
    if not shared:
        return ""
    length = max(shared)
    exact, other = ([way for way in ways if way.is_exact == is_exact and way.name != "full"] for is_exact in (True, False))
    told = [f"{_named(way)} differs from the explicit result by {_share(known[way.name][length])}" for way in exact]
    said = f", {_listed(told)}: the same function, rounded otherwise." if told else ","
    others = _listed([f"{_named(way)} by {_share(known[way.name][length])}" for way in other]) if other else ""
    return f"Over {length:,} random tokens{said}" + (
        f" {others[:1].upper()}{others[1:]}: other functions." if others else ""
    )


def _share(off: float) -> str:
    """A departure as a multiple of the result's own size."""
    if off == 0:
        return "nothing"
    if off >= 0.995:
        return f"{off:.1f} times its size"
    return f"{off:.0%} of its size" if off >= 0.01 else f"{numbers.scientific(off)} of its size"


def patterns(found: OtherPatterns, head: int, name: str, width: int) -> str:
    """How much of one head's weight lies elsewhere, and of its layer's heads; head from 0; a sentence or two."""
    rows = found.linear.distance[head]
    count = sum(math.isfinite(row) for row in rows.tolist())
    if not count:
        return f"No query of {name} sees a key here."
    largest = {how: values[head].max(-1).mean() for how, values in _largest(found).items()}
    flat = ", ".join(f"{numbers.probability(float(value))} {how}" for how, value in largest.items())
    heads = found.linear.head_distances
    low, high = (min(heads), max(heads))
    over = f"; over the {len(heads)} heads of this layer, linear from {low:.0%} to {high:.0%}" if len(heads) > 1 else ""
    rows_told = "its one row" if count == 1 else f"the mean of its {count} rows"
    near = "" if found.window is None else f"; with a window of {width} it is {_moved(found.window.head_distance(head))}"
    linear = _moved(found.linear.head_distance(head))
    moved = f"{name}: linear attention would put {linear} of the weight elsewhere than the softmax does ({rows_told})"
    return f"{moved}{near}{over}. Largest weight of a row, on average: {flat}."


def _largest(found: OtherPatterns) -> dict[str, object]:
    made = {"by softmax": found.softmax, "by linear": found.linear.values}
    return made if found.window is None else made | {"in the window": found.window.values}


def _moved(share: float) -> str:
    return f"{share:.0%}" if share >= 0.005 or share < 1e-6 else "less than 1%"
