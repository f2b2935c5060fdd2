"""Heads of one design, paired from seed to seed. They need neither sentence nor checkpoint."""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from model.export.csv_tables import Table
from model.variants.record import Variants
from viz import theme
from viz.classroom import lecture
from viz.kit import button_groups, charts, site_texts
from viz.kit.panel import NotChosenError, Panel, Picture
from viz.page_context import PageContext
from viz.state.view import View
from viz.variants import head_texts, variant_figures
from viz.variants.score_panels import add_record, shows, title, verdict
from viz.variants.variant_maps import draw_kind_button, kind_choice, next_kind, title_of
from viz.variants.variant_texts import MAKE, RecordFile, names_of, read_record

if TYPE_CHECKING:
    from model.export.code import Code
    from model.variants.same_heads import SameHeads

UNPAIRED = f"The heads have not been paired yet: “{MAKE} --same-heads” does it, if a design has two seeds or more."
LEGEND = "A line is a pair, its number their distance. Thicker: nearer. Dotted: no nearer than any two."


def _design(record: Variants, view: View) -> str:
    """Returns the design with paired heads: that of the view, else the first one."""
    return view.returning if view.returning in record.same_heads else next(iter(record.same_heads))


def _heads(context: PageContext) -> SameHeads:
    record = read_record().record
    assert record is not None
    if not record.same_heads:
        raise NotChosenError(UNPAIRED)
    return record.same_heads[_design(record, context.view)]


def _draw_choices(context: PageContext, heads: SameHeads) -> None:
    """Draws the choices of design and kind of attention."""
    record = read_record().record
    assert record is not None
    names = {each: title_of(each) for each in names_of(record) if each in record.same_heads}
    design = button_groups.choice("Design", "returning", names, _design(record, context.view))
    button_groups.draw("variants.paired", [dataclasses.replace(design, follows=False), kind_choice(context.view)])


PAIRED = Panel(
    "variants.paired",
    "Paired heads",
    compute=_heads,
    controls=_draw_choices,
    text=lambda context, heads: verdict(head_texts.returns(heads), *head_texts.how_paired(heads)),
    is_visible=shows("heads"),
    is_independent=True,
)


# -- the chart ---------------------------------------------------------------------------------------------------------


@lru_cache(16)
def _chart_data(file: RecordFile, design: str, kind: str, mode: theme.Mode) -> dict[str, Any]:
    assert file.record is not None
    heads = file.record.same_heads[design]
    own = head_texts.in_a_row(heads, kind)
    links = [
        variant_figures.Link(each.one, each.layer, head, partner, distance, each.random)
        for each in own
        for head, (partner, distance) in enumerate(zip(each.partners, each.distances, strict=True))
    ]
    layers, count = max(each.layer for each in own) + 1, len(own[0].partners)
    figure = variant_figures.matching_chart(heads.checkpoints, layers, count, links, kind, mode)
    return charts.payload([charts.Chart("Heads paired from seed to seed", LEGEND, figure)])


def _payload(context: PageContext, heads: SameHeads) -> dict[str, Any]:
    file = read_record()
    assert file.record is not None
    return _chart_data(file, _design(file.record, context.view), context.view.beside_kind, context.mode)


def _tables(context: PageContext, heads: SameHeads) -> tuple[Table, ...]:
    made = {"pairs": heads.sites_table(), "roles": heads.roles_table()}
    return tuple(Table(name, tuple(columns), tuple(map(tuple, rows))) for name, (columns, rows) in made.items())


def _code(code: Code, context: PageContext, heads: SameHeads) -> None:
    add_record(code)
    code.add("roles = {name: own.roles_table() for name, own in record.same_heads.items()}")


def _has_pairs(context: PageContext) -> bool:
    return shows("heads")(context) and bool(read_record().record.same_heads)


PAIRS = Panel(
    "variants.pairs",
    "Heads paired from seed to seed",
    charts.COMPONENT,
    _payload,
    compute=_heads,
    tables=_tables,
    code=_code,
    is_visible=_has_pairs,
    pictures=(
        Picture(
            "Same heads?",
            data=lambda context, heads: {"large": 0},
            fields={"of_variants": "heads"},
            text=lambda context, heads: title(head_texts.returns(heads)),
            number=4,
        ),
    ),
    bar=draw_kind_button,
    keys=lambda context, heads: lecture.add_key(lecture.KIND, "the next kind of attention", next_kind, quiet=True),
    is_independent=True,
    is_cached=False,
)


# -- the tables --------------------------------------------------------------------------------------------------------


def _role_text(context: PageContext, heads: SameHeads) -> str:
    return (
        '<h3 class="lab-label">Paired heads against any two</h3>'
        + head_texts.sites_table(heads)
        + '<h3 class="lab-label">Roles here, and the best head of each seed (layer.head)</h3>'
        + head_texts.roles_table(heads, context.view.beside_kind)
        + site_texts.note_markup(head_texts.circles(heads))
    )


ROLES = Panel(
    "variants.roles", "Roles of paired heads", compute=_heads, text=_role_text, is_visible=_has_pairs, is_independent=True
)
