"""What the page Compare says, from the numbers of this very pair."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING

from model import format
from model.inference.decisions import near_ties
from model.inference.predictions import first_difference
from viz.compare.distance import Most

if TYPE_CHECKING:
    from model.trace import Site
    from viz.compare.pair import Pair, Side

MEASURE = {  # what a head's number is
    "head": "total variation distance of its rows from the first head’s, on average",
    "step": "total variation distance of its rows at the two steps",
}
USUAL = "total variation distance of its rows, on average"


def place(site: Site, head: int | None) -> str:
    """A head in words; it counts from 0."""
    return f"{site.of.name}, layer {site.layer + 1}, {'mean of the heads' if head is None else f'head {head + 1}'}"


def maps_title(pair: Pair) -> str:
    """What the two maps are."""
    site, head = pair.first.site, pair.first.head
    name = f"{site.of.name[:1].upper()}{site.of.name[1:]}, layer {site.layer + 1}"
    if pair.differs == "step":
        return f"{name}, all heads"
    if pair.differs == "head":
        return f"{site.of.name[:1].upper()}{site.of.name[1:]}, two heads"
    here, there = (_where(side) for side in (pair.first, pair.second))
    title = f"{name}, {'mean of the heads' if head is None else f'head {head + 1}'}"
    return title if here == there else f"{title} with {there}"


def _where(side: Side) -> str:
    return f"layer {side.site.layer + 1}, {'mean of the heads' if side.head is None else f'head {side.head + 1}'}"


def verdict(pair: Pair) -> str:
    """What the two sides say, in one large line, as markup."""
    return f'<p class="lab-verdict" role="status">{html.escape(said(pair))}</p>'


def said(pair: Pair) -> str:
    """The same as plain text."""
    first, second = pair.first.analysis, pair.second.analysis
    if not pair.is_two_requests:
        return f"{pair.first.name[:1].upper()}{pair.first.name[1:]} beside {pair.second.name}"
    parts = _parting(pair)
    if parts is None:
        sums = [format.decimal(each.log_prob) for each in (first, second)]
        if first.task.judges:
            odds = [_at(side, 0) for side in (pair.first, pair.second)]
            return f"Both get the same label: {odds[0]} in “{pair.first.name}”, {odds[1]} in “{pair.second.name}”"
        read = "Both read the same target" if _is_given(pair) else "Both say the same"
        return f"{read}; summed {first.scored} {sums[0]} and {sums[1]}"
    words = [_at(side, parts) for side in (pair.first, pair.second)]
    if first.task.judges:
        return f"They part: {words[0]} in “{pair.first.name}”, {words[1]} in “{pair.second.name}”"
    return f"They part at step {parts + 1}: {words[0]} in “{pair.first.name}”, {words[1]} in “{pair.second.name}”"


def _is_given(pair: Pair) -> bool:
    return all(side.request.target is not None or side.request.mode == "given" for side in (pair.first, pair.second)) and (
        pair.first.request.target is not None or pair.differs == "edits"
    )


def _parting(pair: Pair) -> int | None:
    one, other = (side.analysis.trace.predicted.labels for side in (pair.first, pair.second))
    return first_difference(one, other)


def _at(side: Side, step: int) -> str:
    trace = side.analysis.trace
    if step >= len(trace.predicted):
        return "nothing more"
    return f"{trace.predicted.labels[step]} {math.exp(trace.token_log_probs[step]):.3f}"


def tie(pair: Pair) -> str:
    """Where the translations part at what was a near-tie on the first side, or on the second: that; else empty."""
    step = _parting(pair) if pair.is_two_requests else None
    told = []
    for side in (pair.first, pair.second):
        trace = side.analysis.trace
        if step is None or step >= len(trace.predicted) or not (found := near_ties(trace.log_probs[step : step + 1])[0]):
            continue
        both = [f"{side.loaded.answers.piece(each.id).removeprefix('·') or '·'} {each.probability:.3f}" for each in found]
        told.append(f"In “{side.name}” it was a near-tie: {' against '.join(both)}.")
    return " ".join(told)


def unlike(pair: Pair, found: Most | None) -> tuple[str, str]:
    """Where the two sides differ most: what stands before the name of the head, and what behind it, with the number and what
    it measures. The second is empty where no head can be named."""
    if found is None:
        return "No row of the one has a partner in the other, so no head can be compared.", ""
    if found.value == 0:
        return "Every head looks at the same on both sides.", ""
    what = MEASURE.get(pair.differs, USUAL)
    lead = "Furthest from the first head:" if pair.differs == "head" else "Furthest apart:"
    return lead, f"{found.value:.2f} {what}. Strong colour: far apart. Click a head for its maps."


def most_unlike(found: Most | None) -> str:
    """Where the two sides differ most, in a few words; empty where no head can be named."""
    return f"Furthest apart: {place(found.site, found.head)}, {found.value:.2f}" if found and found.value else ""


def partner_text(pair: Pair) -> str:
    """What has no partner on the other side, and what makes heads partners; empty where all is plain."""
    if not pair.is_two_requests:
        return ""
    told = []
    for what, alignment, sides in (
        ("source", pair.aligned.source, [side.analysis.trace.source for side in (pair.first, pair.second)]),
        ("target", pair.aligned.predicted, [side.analysis.trace.predicted for side in (pair.first, pair.second)]),
    ):
        if alignment is None or (what == "target" and pair.first.analysis.task.judges):
            continue
        for side, axis, alone in zip((pair.first, pair.second), sides, alignment.alone, strict=True):
            if alone and axis is not None:
                shown = " ".join(axis.labels[i] for i in alone)
                told.append(f"of the {what} of “{side.name}”: {shown}")
    lacking = f"Without a partner on the other side, {'; '.join(told)}." if told else ""
    by_number = "Heads are compared by their numbers, which mean nothing from one training to another."
    return f"{by_number} {lacking}".strip() if pair.differs == "checkpoint" else lacking
