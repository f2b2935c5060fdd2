"""The numbers of the page Variants, and the lines of Python that read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from model.export.code import Code
from model.export.csv_tables import Table, map_table, site_code
from model.variants.record import Variants
from viz.variants import map_grid
from viz.variants.variant_parts import paired
from viz.variants.variant_texts import found

if TYPE_CHECKING:
    from viz.page_context import PageContext


def tables(context: PageContext) -> tuple[Table, ...]:
    """Of the part that is shown: designs and runs, the losses, the maps, the pairs of heads."""
    record = found().record
    return () if record is None else PARTS[context.view.of_variants](record, context)


def _scores(record: Variants, context: PageContext) -> tuple[Table, ...]:
    columns, rows = record.table()
    names = ("name", "seed", "bleu", "chrf", "dev_loss", "steps", "minutes")
    runs = [(each.name, *(getattr(run, name) for name in names[1:])) for each in record.variants for run in each.runs]
    return Table("variants", tuple(columns), tuple(map(tuple, rows))), Table("runs", names, tuple(runs))


def _curves(record: Variants, context: PageContext) -> tuple[Table, ...]:
    rows = [(each.name, run.seed, *point) for each in record.variants for run in each.runs for point in run.losses]
    return (Table("dev-losses", ("name", "seed", "step", "dev_loss"), tuple(rows)),)


def _maps(record: Variants, context: PageContext) -> tuple[Table, ...]:
    text = context.request.source
    sides = [map_grid.side(record, name, text, context.view) for name in map_grid.chosen(record, context.view)]
    return tuple(
        map_table(f"{side.name}-{site_code(side.site, side.head)}", seen)
        for side in sides
        if side.site is not None and (seen := side.map) is not None
    )


def _heads(record: Variants, context: PageContext) -> tuple[Table, ...]:
    if not record.same_heads:
        return ()
    own = record.same_heads[paired(record, context.view)]
    made = {"pairs": own.sites_table(), "roles": own.roles_table()}
    return tuple(Table(name, tuple(columns), tuple(map(tuple, rows))) for name, (columns, rows) in made.items())


PARTS = {"scores": _scores, "curves": _curves, "maps": _maps, "heads": _heads}


def python(context: PageContext) -> str:
    """The same as Python."""
    record, view = found().record, context.view
    code = Code.of(context.analysis.request, view.device)
    if record is None:
        return code.text
    if view.of_variants == "maps":
        for name in map_grid.chosen(record, view):
            own, folder = name.replace("-", "_"), map_grid.there(record)[name]
            code.load(folder, view.device, own)
            code.analyse(map_grid.request_of(context.request.source, folder), own, f"of_{own}")
        return code.text
    code.add("record = read(record_path())", model__variants__record=("record_path", "read"))
    code.add(LINES[view.of_variants])
    return code.text


LINES = {
    "scores": "columns, rows = record.table()",
    "curves": "losses = {(each.name, run.seed): run.losses for each in record.variants for run in each.runs}",
    "heads": "roles = {name: own.roles_table() for name, own in record.same_heads.items()}",
}
