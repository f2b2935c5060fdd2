"""The numbers of the page Positions, and the lines of Python that compute them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from model.config import SCHEMES
from model.export.code import Code
from model.export.csv_tables import Cell, Table, grid_table, numbered
from viz import computations
from viz.positions.cached_figures import Scheme, token_maps
from viz.positions.schemes import own_scheme, own_width, side_of
from viz.state.view import without_edits

if TYPE_CHECKING:
    from viz.page_context import PageContext


def tables(context: PageContext) -> tuple[Table, ...]:
    """The encodings, how alike they are by distance, and how alike the tokens of the sentence are."""
    scheme = _scheme(context)
    found = [] if scheme is None else _of_scheme(scheme)
    side = side_of(context.view)
    trace = context.analysis.trace
    if (trace.source if side == "source" else trace.inputs) is None:
        return tuple(found)
    tokens = computations.sentence_positions(without_edits(context.request), context.view.device, side)
    labels = numbered(tokens.labels)
    return (
        *found,
        *(grid_table(f"{side}-{name}", title, labels, labels, values) for name, title, values, _ in token_maps(tokens)),
    )


def _scheme(context: PageContext) -> Scheme | None:
    """What is measured of the positions that are shown; None where there is no learned table."""
    from model.readings.positions.sentence_positions import learned_checkpoint

    view, name = context.view, context.view.scheme or own_scheme(context.view)
    if not SCHEMES[name].has_table:
        return Scheme(name, view.pe_count, view.pe_shift, view.pe_width or _width(context, name), view.pe_base)
    learned = learned_checkpoint(view.checkpoint)
    where = {"checkpoint": learned, "device": view.device, "side": side_of(view)}
    return None if learned is None else Scheme(name, view.pe_count, view.pe_shift, **where)


def _width(context: PageContext, name: str) -> int:
    return own_width(dataclasses.replace(context.view, scheme=name))


def _of_scheme(scheme: Scheme) -> list[Table]:
    found = scheme.numbers()
    columns = [str(n) for n in range(found.values.shape[1])]
    table = grid_table(f"{scheme.name}-encodings", "position", map(str, range(len(found.values))), columns, found.values)
    rows: list[tuple[Cell, ...]] = [
        (distance, float(mean), float(least), float(most))
        for distance, (mean, least, most) in enumerate(zip(found.mean, found.minimum, found.maximum, strict=True))
    ]
    return [table, Table(f"{scheme.name}-by-distance", ("distance", "mean", "least", "most"), tuple(rows))]


def python(context: PageContext) -> str:
    """The same as Python."""
    code, scheme, view = (
        Code.of(without_edits(context.analysis.request), context.view.device),
        _scheme(context),
        context.view,
    )
    if scheme is not None and scheme.checkpoint:
        which = "checkpoint"
        if scheme.checkpoint != view.checkpoint:
            which = "learned"
            code.load(scheme.checkpoint, view.device, which)
        code.add(
            f"table = learned_table({which}, {scheme.side!r})",
            model__readings__positions__sentence_positions=("learned_table",),
        )
        longest = f"{which}.corpus_stats and {which}.corpus_stats.lengths[{scheme.side!r}].max_length"
        code.add(
            f"found = learned_numbers(table, {scheme.count}, {scheme.shift}, {longest})",
            model__readings__positions__position_numbers=("learned_numbers",),
        )
    elif scheme is not None:
        of = f"{scheme.name!r}, {scheme.count}, {scheme.width}, {scheme.base!r}, {scheme.shift}"
        code.add(
            f"found = scheme_numbers({of})",
            "how many, how wide, base, shift",
            model__readings__positions__position_numbers=("scheme_numbers",),
        )
    if scheme is not None:
        code.add("encodings, by_distance = found.values, found.mean")
    trace = context.analysis.trace
    if (trace.source if side_of(view) == "source" else trace.inputs) is None:
        return code.text
    code.add(
        f"tokens = sentence_positions(checkpoint, analysis, {side_of(view)!r})",
        "alone, positions and both: cosines",
        model__readings__positions__sentence_positions=("sentence_positions",),
    )
    return code.text
