"""Distances between the two sides of Compare: every head's distance, the two maps, and the texts with their numbers."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from model.checkpoint import describe_trainings
from model.decoding.hypotheses import first_difference
from model.io import numbers
from model.readings.heads.trace_comparison import Alignment, align, mean, row_distances
from model.trace import MapView, Site, Trace
from viz.kit.site_texts import near_ties_of

if TYPE_CHECKING:
    from viz.compare.pair import Pair, Side


@dataclass(frozen=True)
class Grid:
    """The distance of every head of a kind of site, [layers][heads], from 0 (the same) to 1; NaN where there is none."""

    kind: str
    values: np.ndarray

    @property
    def means(self) -> np.ndarray:
        """The mean over the heads of each layer, [layers]."""
        return mean(self.values)


def grids(pair: Pair) -> tuple[Grid, ...]:
    """For each kind of site how far each head of the one side is from that of the other; between two heads of one pass how
    far each is from the first; between two steps the distance of their rows."""
    trace = pair.first.analysis.trace
    found = []
    for kind in trace.kinds:
        rows = [_distances(pair, trace, site) for site in trace.sites(kind)]
        if rows := [row for row in rows if row is not None]:
            heads = min(map(len, rows))
            found.append(Grid(kind, np.array([row[:heads] for row in rows])))
    return tuple(each for each in found if not np.isnan(each.values).all())


def _distances(pair: Pair, trace: Trace, site: Site) -> np.ndarray | None:
    if pair.differs == "head":
        if site.kind != pair.first.site.kind:
            return None
        own = trace.view(pair.first.site, pair.first.head).values  # [T,S]
        real = [t for t, label in enumerate(trace.axis(site.spec.query_side).labels) if label != "<pad>"]
        pattern = trace.patterns[site][:, real]  # [H,T,S]
        return mean(row_distances(np.broadcast_to(own[real], pattern.shape), pattern, _same(len(real)), _same(own.shape[1])))
    if pair.differs == "step":
        if site.spec.query_side == "source":
            return None
        pattern = trace.patterns[site]
        one, other = (pattern[:, [side.step]] for side in (pair.first, pair.second))  # [H,1,S]
        return row_distances(one, other, _same(1), _same(pattern.shape[2]))[:, 0]
    return pair.aligned.distances(site)


def _same(count: int) -> Alignment:
    return Alignment(tuple((n, n) for n in range(count)), (True,) * count)


@dataclass(frozen=True)
class Largest:
    """The head at which both sides differ most; layer and head from 0."""

    site: Site
    head: int
    value: float


def largest(found: tuple[Grid, ...]) -> Largest | None:
    """Where the distance is largest; None where nothing can be compared."""
    best = None
    for grid in found:
        layer, head = np.unravel_index(np.nanargmax(grid.values), grid.values.shape)
        value = float(grid.values[layer, head])
        if best is None or value > best.value:
            best = Largest(Site(grid.kind, int(layer)), int(head), value)  # type: ignore[arg-type]
    return best


def views(pair: Pair) -> tuple[MapView, MapView]:
    """The two maps: of one head each, or, between two steps, their rows with all heads of the layer."""
    if pair.differs != "step":
        first, second = (side.analysis.trace.view(side.site, side.head) for side in (pair.first, pair.second))
        return first, second
    one, other = (_rows(side.analysis.trace, side.site, side.step) for side in (pair.first, pair.second))
    return one, other


def _rows(trace: Trace, site: Site, step: int) -> MapView:
    """Returns the rows of all heads of a layer at one step: values [H,S]."""
    heads = trace.patterns[site][:, step]  # [H,S]
    allowed = np.stack([trace.mask(site, head)[step] for head in range(len(heads))])
    return MapView(heads, allowed, tuple(map(site.head_name, range(len(heads)))), trace.keys(site))


def partners(pair: Pair, shown: tuple[MapView, MapView]) -> tuple[Alignment, Alignment]:
    """The partners among the rows and among the columns of the two maps."""
    if not pair.is_two_requests:
        return _same(len(shown[0].queries)), _same(len(shown[0].keys))
    one, other = pair.first.site, pair.second.site
    rows, keys = pair.aligned.queries(one), pair.aligned.keys(other)
    return rows or align(shown[0].queries, shown[1].queries), keys or align(shown[0].keys, shown[1].keys)


MEASURE = {  # what a head's number is
    "head": "total variation distance of its rows from the first head’s, on average",
    "step": "total variation distance of its rows at the two steps",
}
USUAL = "total variation distance of its rows, on average"


def maps_title(pair: Pair) -> str:
    """Returns the title of the two maps."""
    site = pair.first.site
    if pair.differs == "step":
        return f"{site.spec.name[:1].upper()}{site.spec.name[1:]}, layer {site.layer + 1}, all heads"
    if pair.differs == "head":
        return f"{site.spec.name[:1].upper()}{site.spec.name[1:]}, two heads"
    here, there = (side.site.head_name(side.head) for side in (pair.first, pair.second))
    return here if here == there else f"{here} with {there}"


def verdict(pair: Pair) -> str:
    """Returns the comparison of the two sides in one large line, as markup."""
    return f'<p class="lab-verdict" role="status">{html.escape(verdict_text(pair))}</p>'


def verdict_text(pair: Pair) -> str:
    """Returns the comparison of the two sides as plain text."""
    first, second = pair.first.analysis, pair.second.analysis
    if not pair.is_two_requests:
        return f"{pair.first.name[:1].upper()}{pair.first.name[1:]} beside {pair.second.name}"
    parts = _parting(pair)
    if parts is None:
        sums = [numbers.three_digits(each.log_prob) for each in (first, second)]
        if first.task.is_classifier:
            odds = [_at(side, 0) for side in (pair.first, pair.second)]
            return f"Both get the same label: {odds[0]} in “{pair.first.name}”, {odds[1]} in “{pair.second.name}”"
        read = "Both read the same target" if _is_given(pair) else "Both say the same"
        return f"{read}; summed {first.score_label} {sums[0]} and {sums[1]}"
    words = [_at(side, parts) for side in (pair.first, pair.second)]
    if first.task.is_classifier:
        return f"They part: {words[0]} in “{pair.first.name}”, {words[1]} in “{pair.second.name}”"
    return f"They part at step {parts + 1}: {words[0]} in “{pair.first.name}”, {words[1]} in “{pair.second.name}”"


def _is_given(pair: Pair) -> bool:
    return all(side.request.target is not None or side.request.mode == "given" for side in (pair.first, pair.second)) and (
        pair.first.request.target is not None or pair.differs == "edits"
    )


def _parting(pair: Pair) -> int | None:
    one, other = (side.analysis.trace.predicted_axis.labels for side in (pair.first, pair.second))
    return first_difference(one, other)


def _at(side: Side, step: int) -> str:
    trace = side.analysis.trace
    if step >= len(trace.predicted_axis):
        return "nothing more"
    return f"{trace.predicted_axis.labels[step]} {numbers.probability(math.exp(trace.token_log_probs[step]))}"


def tie(pair: Pair) -> str:
    """Where the translations part at what was a near-tie on the first side, or on the second: that; else empty."""
    step = _parting(pair) if pair.is_two_requests else None
    sentences = []
    for side in (pair.first, pair.second):
        if step is None or step >= len(side.analysis.trace.predicted_axis):
            continue
        if not (found := near_ties_of(side.analysis)[step]):
            continue
        piece = side.loaded.output_vocabulary.piece
        both = [f"{piece(each.id).removeprefix('·') or '·'} {numbers.probability(each.probability)}" for each in found]
        sentences.append(f"In “{side.name}” it was a near-tie: {' against '.join(both)}.")
    return " ".join(sentences)


def unlike(pair: Pair, found: Largest | None) -> tuple[str, str]:
    """Where the two sides differ most: what stands before the name of the head, and what behind it, with the number and what
    it measures. The second is empty where no head can be named."""
    if found is None:
        return "No row of the one has a partner in the other, so no head can be compared.", ""
    if found.value == 0:
        return "Every head looks at the same on both sides.", ""
    what = MEASURE.get(pair.differs, USUAL)
    lead = "Least like the first head:" if pair.differs == "head" else "Differs most:"
    return lead, f"{numbers.probability(found.value)} {what}"


def most_unlike(found: Largest | None) -> str:
    """Where the two sides differ most, in a few words; empty where no head can be named."""
    if not (found and found.value):
        return ""
    return f"Differs most: {found.site.head_name(found.head)}, {numbers.probability(found.value)}"


def partner_text(pair: Pair) -> str:
    """Returns tokens without a partner on the other side, and what differs between checkpoints; empty for neither."""
    if not pair.is_two_requests:
        return ""
    told = []
    for what, alignment, sides in (
        ("source", pair.aligned.source, [side.analysis.trace.source for side in (pair.first, pair.second)]),
        ("target", pair.aligned.predicted, [side.analysis.trace.predicted_axis for side in (pair.first, pair.second)]),
    ):
        if alignment is None or (what == "target" and pair.first.analysis.task.is_classifier):
            continue
        for side, axis, alone in zip((pair.first, pair.second), sides, alignment.unpaired, strict=True):
            if alone and axis is not None:
                shown = " ".join(axis.labels[i] for i in alone)
                told.append(f"of the {what} of “{side.name}”: {shown}")
    lacking = f"Without a partner on the other side, {'; '.join(told)}." if told else ""
    by_number = "Heads are compared by their numbers, which mean nothing from one training to another."
    if pair.differs != "checkpoint":
        return lacking
    return " ".join(filter(None, (describe_trainings(pair.first.loaded, pair.second.loaded), by_number, lacking)))
