"""The numbers of the page Compare, and the lines of Python that compute them."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np

from model.edits.intervention import BASELINE
from model.export.code import Code
from model.export.csv_tables import Cell, Table, map_table, site_code
from model.readings.heads.trace_comparison import common_difference
from viz import computations
from viz.compare import distance
from viz.compare.pair import Pair, pair
from viz.compare.patching_part import SENTENCES
from viz.state.view import without_edits

if TYPE_CHECKING:
    from model.experiments.patching import Patching
    from model.inference.request import Request
    from viz.page_context import PageContext


def tables(context: PageContext) -> tuple[Table, ...]:
    """Both maps, their difference where tokens are the same, and how far all heads are apart; or what each patch does.

    Raises ValueError, as the page says it, where there are no two sides."""
    sides = pair(context.view, context)
    if context.view.compared == "patching" and sides.differs in SENTENCES:
        return (_patches(_patched(context, sides)),)
    first, second = distance.views(sides)
    names = [site_code(each.site, each.head) for each in (sides.first, sides.second)]
    found = [map_table(f"first-{names[0]}", first), map_table(f"second-{names[1]}", second)]
    if (change := common_difference(first, second)) is not None:
        found.append(map_table(f"difference-{names[0]}", change))
    rows: list[tuple[Cell, ...]] = [
        (grid.kind, layer + 1, head + 1, None if math.isnan(value) else float(value))
        for grid in distance.grids(sides)
        for (layer, head), value in np.ndenumerate(grid.values)
    ]
    return (*found, Table("distances", ("attention", "layer", "head", "distance"), tuple(rows)))


def _requests(sides: Pair) -> tuple[Request, Request]:
    return without_edits(sides.first.request), without_edits(sides.second.request)


def _step(context: PageContext) -> int | None:
    return context.view.patched_step


def _patched(context: PageContext, sides: Pair) -> Patching:
    return computations.patching(*_requests(sides), context.view.device, _step(context), lambda share: None)


def _patches(found: Patching) -> Table:
    """Every patch by its code, the difference of logits under it, and its share of the way, where there is one."""
    rows = [
        (edit.code, value, value - found.before, None if found.is_near else float(found.share(value)))
        for edit, value in found.patches
    ]
    whole = [
        ("nothing put in", found.before, 0.0, None),
        ("the other sentence", found.other, found.other - found.before, None),
    ]
    return Table("patches", ("patch", "difference_of_logits", "change", "share"), (*whole, *rows))


def python(context: PageContext) -> str:
    """The same as Python; ValueError as `tables`."""
    sides, view = pair(context.view, context), context.view
    if view.compared == "patching" and sides.differs in SENTENCES:
        return _patching_code(context, sides)
    code = Code.of(sides.first.request, view.device)
    second = "analysis"
    if sides.is_two_requests:
        second, where = "other", "checkpoint"
        if sides.second.request.checkpoint != sides.first.request.checkpoint:
            where = "other_checkpoint"
            code.load(sides.second.request.checkpoint, view.device, where)
        code.analyse(sides.second.request, where, second)
    for name, of, side in (("first", "analysis", sides.first), ("second", second, sides.second)):
        if sides.differs == "step":
            code.add(f"{name} = {of}.trace.patterns[{code.site(side.site)}][:, {side.step}]", "all heads, at a step from 0")
        else:
            head = "mean" if side.head is None else f"head {side.head + 1}"
            code.add(
                f"{name} = {of}.trace.view({code.site(side.site)}, {side.head})", f"layer {side.site.layer + 1}, {head}"
            )
    if sides.differs != "step":
        code.add(
            "difference = common_difference(first, second)",
            "where both have the same tokens",
            model__readings__heads__trace_comparison=("common_difference",),
        )
    return code.text


def _patching_code(context: PageContext, sides: Pair) -> str:
    first, second = _requests(sides)
    code = Code.of(first, context.view.device)
    code.analyse(second, into="other")
    code.uses(model__experiments__patching=("patching_request", "patch_all"))
    target = ", ".join(f"{name}.trace.outputs.ids" for name in ("analysis", "other"))
    code.add(
        f"question = patching_request(checkpoint, analysis.trace.source.ids, {second.source!r}, {target}, {_step(context)})",
        "the step from 0; None: where the translations part",
    )
    code.add("patched = patch_all(checkpoint, question)")
    code.add("pieces = {edit.code: difference for edit, difference in patched.patches}", "patched.before: nothing put in")
    edits = context.view.patched.edits or _patched(context, sides).best
    edited = dataclasses.replace(
        first, intervention=dataclasses.replace(BASELINE, donor=second.source, edits=edits), mode="again"
    )
    code.analyse(edited, into="chosen")
    return code.text
