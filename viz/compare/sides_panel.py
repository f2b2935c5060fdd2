"""The panel of both sides: their translations, the distance of each head, and the maps of one head."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from model.decoding.hypotheses import first_difference
from model.inference.predictions import Candidate
from model.inference.request import Request
from model.io import numbers
from model.readings.heads.trace_comparison import align, common_difference, common_rows
from model.trace import MapView
from viz import theme
from viz.classroom import lecture
from viz.compare import distance
from viz.compare.pair import Pair, Side, pair
from viz.compare.side_tables import tables_of
from viz.kit import mount, patterns, site_texts
from viz.kit.panel import FileOptions, Panel, Picture
from viz.page_context import PageContext
from viz.state import session
from viz.state.result_cache import cached, cached_figure

if TYPE_CHECKING:
    from collections.abc import Hashable

    from model.export.code import Code
    from viz.kit.mount import Event


def payload(pair: Pair, grids: tuple[distance.Grid, ...], mode: theme.Mode) -> dict[str, Any]:
    """Returns both translations, both maps, their difference and the distances of all heads."""
    views = distance.views(pair)
    kind = pair.first.site.kind
    chosen = pair.second if pair.differs == "head" else pair.first
    places = [(side.request, side.site, side.head) for side in (pair.first, pair.second)]
    return {
        "id": hashlib.sha256(repr((pair.differs, places)).encode()).hexdigest()[:16],
        "step": 1,
        "steps": len(pair.first.analysis.trace.predicted_axis),
        "names": [pair.first.name, pair.second.name],
        "second": pair.second.step + 1 if pair.differs == "step" else None,
        "noun": pair.first.analysis.task.output_noun,
        "single": not pair.is_two_requests,
        "tokens": tokens(pair),
        "follows": pair.differs != "step" and pair.first.site.spec.query_side == "target",
        "maps": _maps(pair, views),
        "difference": _difference(*views),
        "grids": [
            {
                "kind": each.kind,
                "title": theme.SITE_NAMES[each.kind],
                "values": [[_number(v) for v in row] for row in each.values],
                "means": [_number(v) for v in each.means],
                "scale": list(theme.scale(each.kind, mode)),
            }
            for each in grids
        ],
        "chosen": [chosen.site.kind, chosen.site.layer + 1, None if chosen.head is None else chosen.head + 1],
        "kind": kind,
        "title": distance.maps_title(pair),
        "scale": list(theme.scale(kind, mode)),
        "diverging": list(theme.diverging(mode)),
        "large": None,
        "most": _most(pair, distance.largest(grids)),
        "note": distance.partner_text(pair),
    }


def _most(pair: Pair, most: distance.Largest | None) -> dict[str, Any]:
    """Returns the head at which both sides differ most, with its place, counted from 1."""
    lead, measured = distance.unlike(pair, most)
    place = None
    if most is not None and measured:
        place = {"kind": most.site.kind, "layer": most.site.layer + 1, "head": most.head + 1}
    return {
        "lead": lead,
        "name": most.site.head_name(most.head) if most is not None else "",
        "measured": measured,
        "exact": float(most.value) if place else None,
        "place": place,
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(float(value), 5)


def _probability(log_prob: float) -> float:
    """To five digits, and never 0: what is that small is told from nothing."""
    return float(f"{np.exp(float(log_prob)):.5g}")


def tokens(pair: Pair) -> list[dict[str, Any]]:
    """Returns what both sides predict, column by column: for each token its step, its probability on both sides, and its
    rival where the two are a near-tie. The other side's probability is None where it has no such step."""
    ties = [site_texts.near_ties_of(side.analysis) for side in (pair.first, pair.second)]
    if not pair.is_two_requests:
        steps = range(len(pair.first.analysis.trace.predicted_axis))
        return [{"chips": [_chip(pair.first, t, ties[0][t], None)], "same": True} for t in steps]
    sides, found = ((pair.first, pair.second), (pair.second, pair.first)), []
    parting = first_difference(*(side.analysis.trace.predicted_axis.labels for side in (pair.first, pair.second)))
    for column, same in zip(pair.aligned.predicted.columns, pair.aligned.predicted.same, strict=True):
        chips: list[dict[str, Any] | None] = []
        for (side, other), step, there, near in zip(sides, column, reversed(column), ties, strict=True):
            if there is None and step == parting and step < len(other.analysis.trace.predicted_axis):
                there = step  # up to here both have said the same
            given = None if step is None or there is None else _given(side, step, other, there)
            chips.append(None if step is None else _chip(side, step, near[step], given))
        found.append({"chips": chips, "same": same})
    return found


def _given(side: Side, step: int, other: Side, there: int) -> float | None:
    """The probability that the other side gives to a token of this one, at a step of its own; None where it has no such
    token."""
    token = side.analysis.trace.predicted_axis.ids[step]
    row, tokenizer = other.analysis.trace.log_probs[there], other.loaded.output_vocabulary
    known = token < min(tokenizer.size, len(row)) and tokenizer.piece(token) == side.loaded.output_vocabulary.piece(token)
    return _probability(row[token]) if known else None


def _chip(side: Side, step: int, tie: tuple[Candidate, Candidate] | None, there: float | None) -> dict[str, Any]:
    trace, piece = side.analysis.trace, side.loaded.output_vocabulary.piece
    rival = tie and next((each for each in tie if each.id != trace.predicted_axis.ids[step]), None)
    return {
        "t": trace.predicted_axis.labels[step],
        "step": step + 1,
        "p": _probability(trace.token_log_probs[step]),
        "there": there,
        "rival": f"{piece(rival.id).removeprefix('·') or '·'} {numbers.probability(rival.probability)}" if rival else None,
    }


def _maps(pair: Pair, views: tuple[MapView, MapView]) -> list[dict[str, Any]]:
    """Both maps, with the partner of each row and column in the other; -1 where it has none."""
    first, second = views
    rows, columns = distance.partners(pair, views)
    made = []
    for n, (side, view) in enumerate(zip((pair.first, pair.second), (first, second), strict=True)):
        made.append(
            patterns.pattern(view, side.site.kind, side.name)
            | {
                "rows": _partners(rows.pairs, len(view.queries), n),
                "columns": _partners(columns.pairs, len(view.keys), n),
                "row": side.head if pair.differs == "step" else None,
            }
        )
    return made


def _partners(pairs: tuple[tuple[int, int], ...], count: int, side: int) -> list[int]:
    known = {pair[side]: pair[1 - side] for pair in pairs}
    return [known.get(n, -1) for n in range(count)]


def _difference(first: MapView, second: MapView) -> dict[str, Any] | None:
    """The difference of both maps where both axes' tokens agree, on the axes of the first, and what is left out of it."""
    found = common_difference(first, second)
    if found is None:
        return None
    rows, columns = common_rows(first, second), align(first.keys, second.keys).common
    return patterns.difference(found) | {
        "rows": [len(rows), len(first.queries)],
        "columns": [len(columns), len(first.keys)],
        "whole": (len(rows), len(columns)) == (len(first.queries), len(first.keys)),
    }


COMPONENT = mount.Component(
    __file__, '<div class="side-by-side"></div>', "side_by_side", ("total variation distance",), picture="Side by side"
)


def events(pair: Pair, grids: tuple[distance.Grid, ...]) -> dict[str, mount.Event]:
    """Returns the events: the step at which the visitor rests, and a clicked head."""
    shapes = {grid.kind: grid.values.shape for grid in grids}

    def read_place(record: Any) -> tuple[str, int, int | None] | None:
        if not isinstance(record, dict) or record.get("kind") not in shapes:
            return None
        place = mount.place_from_one(*shapes[record["kind"]])(record)
        return place and (record["kind"], *place)

    steps = len(pair.first.analysis.trace.predicted_axis)
    return {
        "step": (mount.from_one(steps), lambda step: session.change(step=step)),
        "place": (read_place, lambda *place: session.change(**fields_of_head(pair, *place))),
    }


def show_furthest(pair: Pair, grids: tuple[distance.Grid, ...]) -> None:
    """Shows the head at which both sides differ most. For callbacks."""
    most = distance.largest(grids)
    if most is not None:
        session.change(**fields_of_head(pair, most.site.kind, most.site.layer, most.head))


def fields_of_head(pair: Pair, kind: str, layer: int, head: int | None) -> dict[str, Any]:
    """Returns the fields of the view that show a head; for two heads, those of the second one."""
    if pair.differs == "head":
        return {"other_layer": layer, "other_head": None if head is None else head + 1}
    place = {"kind": kind, "layer": layer, "head": head}
    return place | {"other_layer": None, "other_head": 0} if pair.differs == "checkpoint" else place


PICTURES = {"Maps": "maps", "Difference": "difference", "Heads": "heads"}


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Both sides and the distance of each head."""

    pair: Pair
    grids: tuple[distance.Grid, ...]


def compare(context: PageContext) -> Comparison:
    """Returns the comparison of a view. Raises PairError or NotChosenError if there is no second side."""
    both = pair(context.view, context)
    if not context.is_shared:
        return Comparison(both, distance.grids(both))
    return Comparison(both, _grids(both.first.request, both.second.request, context.view.device, _places(both), both))


def _places(both: Pair) -> Hashable:
    """Returns what the numbers depend on besides the requests."""
    return both.differs, *((side.name, side.site, side.head) for side in (both.first, both.second)), _steps(both)


def _steps(both: Pair) -> tuple[int, ...]:
    return (both.first.step, both.second.step) if both.differs == "step" else ()


@cached(512, ignore=("both",))
def _grids(first: Request, second: Request, device: str, places: Hashable, both: Pair) -> tuple[distance.Grid, ...]:
    return distance.grids(both)


@partial(cached_figure, ignore=("result",))
def _data(
    first: Request, second: Request, device: str, places: Hashable, mode: theme.Mode, result: Comparison
) -> dict[str, Any]:
    return payload(result.pair, result.grids, mode)


def _payload(context: PageContext, result: Comparison) -> dict[str, Any]:
    both = result.pair
    requests = both.first.request, both.second.request
    if not context.is_shared:
        return payload(both, result.grids, context.mode)
    return _data(*requests, context.view.device, _places(both), context.mode, result)


def _events(context: PageContext, result: Comparison) -> dict[str, Event]:
    return events(result.pair, result.grids)


def _text(context: PageContext, result: Comparison) -> str:
    """Returns the verdict, a near-tie, and faults of the second side."""
    faults = "".join(site_texts.note_markup(fault, warn=True) for fault in result.pair.faults)
    return f"{faults}{distance.verdict(result.pair)}{site_texts.note_markup(distance.tie(result.pair))}"


def _large(name: str, context: PageContext, result: Comparison) -> dict[str, Any]:
    """Returns the texts of a large picture."""
    both = result.pair
    notes = " ".join(filter(None, (*both.faults, distance.tie(both) if name == "maps" else "")))
    most = notes or distance.most_unlike(distance.largest(result.grids))
    return {"large": {"picture": name, "answer": distance.verdict_text(both), "most": most}}


def _keys(context: PageContext, result: Comparison) -> None:
    furthest = partial(show_furthest, result.pair, result.grids)
    lecture.add_key(lecture.FURTHEST, "the head where both differ most", furthest, quiet=True)
    kinds = [grid.kind for grid in result.grids]
    if len(kinds) > 1 and context.view.differs != "head":
        lecture.add_key(lecture.KIND, "the next kind of attention", partial(_next_kind, kinds), quiet=True)


def _next_kind(kinds: list[str]) -> None:
    """Shows the next kind of attention that can be compared. For callbacks."""
    kind = session.current_view().kind
    session.change(kind=kinds[(kinds.index(kind) + 1) % len(kinds)] if kind in kinds else kinds[0])


def _code(code: Code, context: PageContext, result: Comparison) -> None:
    both, second = result.pair, "analysis"
    if both.is_two_requests:
        second, where = "other", "checkpoint"
        if both.second.request.checkpoint != both.first.request.checkpoint:
            where = "other_checkpoint"
            code.load(both.second.request.checkpoint, context.view.device, where)
        code.analyse(both.second.request, where, second)
    for name, of, side in (("first", "analysis", both.first), ("second", second, both.second)):
        if both.differs == "step":
            code.add(f"{name} = {of}.trace.patterns[{code.site(side.site)}][:, {side.step}]", "all heads, at a step from 0")
        else:
            code.add(f"{name} = {of}.trace.view({code.site(side.site)}, {side.head})", side.site.head_name(side.head))
    if both.differs != "step":
        code.add(
            "difference = common_difference(first, second)",
            "where both have the same tokens",
            model__readings__heads__trace_comparison=("common_difference",),
        )


SIDES = Panel(
    "compare.sides",
    "Side by side",
    COMPONENT,
    _payload,
    _events,
    compute=compare,
    text=_text,
    tables=lambda context, result: tables_of(result.pair, result.grids),
    code=_code,
    is_visible=lambda context: context.view.compared == "maps" and context.view.differs != "family",
    pictures=tuple(
        Picture(title, data=partial(_large, name), fields={"compared": "maps"}) for title, name in PICTURES.items()
    ),
    keys=_keys,
    file=FileOptions(remote_fields=lambda context: {"step": ()}),
    is_cached=False,  # the payload depends on the request of the second side: `_data` caches it
    follow=lambda context, result: {"step": context.view.step + 1},
)
