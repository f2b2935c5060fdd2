"""The panel of both sides: their translations, the distance of each head, and the maps of one head."""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from model.export.csv_tables import Cell, Table, map_table, site_code
from model.inference.request import Request
from model.readings.heads.trace_comparison import common_difference
from viz import theme
from viz.classroom import lecture
from viz.compare import distance, side_by_side
from viz.compare.pair import Pair, pair
from viz.kit import site_texts
from viz.kit.panel import FileOptions, Panel, Picture
from viz.page_context import PageContext
from viz.state import session
from viz.state.result_cache import cached, cached_figure

if TYPE_CHECKING:
    from collections.abc import Hashable

    from model.export.code import Code
    from viz.kit.mount import Event

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
    return side_by_side.payload(result.pair, result.grids, mode)


def _payload(context: PageContext, result: Comparison) -> dict[str, Any]:
    both = result.pair
    requests = both.first.request, both.second.request
    if not context.is_shared:
        return side_by_side.payload(both, result.grids, context.mode)
    return _data(*requests, context.view.device, _places(both), context.mode, result)


def _events(context: PageContext, result: Comparison) -> dict[str, Event]:
    return side_by_side.events(result.pair, result.grids)


def _text(context: PageContext, result: Comparison) -> str:
    """Returns the verdict, a near-tie, and faults of the second side."""
    faults = "".join(site_texts.note_markup(fault, warn=True) for fault in result.pair.faults)
    return f"{faults}{distance.verdict(result.pair)}{site_texts.note_markup(distance.tie(result.pair))}"


def _large(name: str, context: PageContext, result: Comparison) -> dict[str, Any]:
    """Returns the texts of a large picture."""
    both = result.pair
    notes = " ".join(filter(None, (*both.faults, distance.tie(both) if name == "maps" else "")))
    most = notes or distance.most_unlike(distance.most(result.grids))
    return {"large": {"picture": name, "answer": distance.said(both), "most": most}}


def _keys(context: PageContext, result: Comparison) -> None:
    furthest = partial(side_by_side.show_furthest, result.pair, result.grids)
    lecture.add_key(lecture.FURTHEST, "the head where both differ most", furthest, quiet=True)
    kinds = [grid.kind for grid in result.grids]
    if len(kinds) > 1 and context.view.differs != "head":
        lecture.add_key(lecture.KIND, "the next kind of attention", partial(_next_kind, kinds), quiet=True)


def _next_kind(kinds: list[str]) -> None:
    """Shows the next kind of attention that can be compared. For callbacks."""
    kind = session.current_view().kind
    session.change(kind=kinds[(kinds.index(kind) + 1) % len(kinds)] if kind in kinds else kinds[0])


def _tables(context: PageContext, result: Comparison) -> tuple[Table, ...]:
    """Returns both maps, their difference where the tokens are equal, and the distances of all heads."""
    both = result.pair
    first, second = distance.views(both)
    names = [site_code(each.site, each.head) for each in (both.first, both.second)]
    tables = [map_table(f"first-{names[0]}", first), map_table(f"second-{names[1]}", second)]
    if (change := common_difference(first, second)) is not None:
        tables.append(map_table(f"difference-{names[0]}", change))
    rows: list[tuple[Cell, ...]] = [
        (grid.kind, layer + 1, head + 1, None if math.isnan(value) else float(value))
        for grid in result.grids
        for (layer, head), value in np.ndenumerate(grid.values)
    ]
    return (*tables, Table("distances", ("attention", "layer", "head", "distance"), tuple(rows)))


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
            head = "mean" if side.head is None else f"head {side.head + 1}"
            code.add(
                f"{name} = {of}.trace.view({code.site(side.site)}, {side.head})", f"layer {side.site.layer + 1}, {head}"
            )
    if both.differs != "step":
        code.add(
            "difference = common_difference(first, second)",
            "where both have the same tokens",
            model__readings__heads__trace_comparison=("common_difference",),
        )


SIDES = Panel(
    "compare.sides",
    "Side by side",
    side_by_side.COMPONENT,
    _payload,
    _events,
    compute=compare,
    text=_text,
    tables=_tables,
    code=_code,
    is_visible=lambda context: context.view.compared == "maps",
    pictures=tuple(
        Picture(title, data=partial(_large, name), fields={"compared": "maps"}) for title, name in PICTURES.items()
    ),
    keys=_keys,
    file=FileOptions(remote_fields=lambda context: {"step": ()}),
    is_cached=False,  # the payload depends on the request of the second side: `_data` caches it
    follow=lambda context, result: {"step": context.view.step + 1},
)
