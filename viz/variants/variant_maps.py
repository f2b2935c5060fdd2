"""The visitor's sentence in several variants: their translations, and one map of each."""

from __future__ import annotations

import dataclasses
import html
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from model.export.csv_tables import Table, map_table, site_code
from model.inference.request import Request
from model.io.folders import list_checkpoints
from model.trace import SITE_KINDS, Site, site_kind
from model.trace import MapView as TraceView
from model.variants.designs import VARIANTS
from model.variants.record import Variants, record_path
from viz import cache, theme
from viz.classroom import lecture
from viz.kit import button_groups, controls, patterns, site_texts
from viz.kit.button_groups import Button, ButtonGroup
from viz.kit.panel import NotChosenError, Panel, Picture
from viz.page_context import PageContext
from viz.state import session
from viz.state.page_fields import MAX_SIDE_BY_SIDE
from viz.state.view import View
from viz.variants.score_panels import shows
from viz.variants.variant_texts import SHIP, names_of, read_record

if TYPE_CHECKING:
    from model.export.code import Code
    from model.inference.analysis import Analysis

FEW = 3  # variants if the view names none and all would be too many
NUMBER = 3  # of the large picture
NO_WEIGHTS = f"No variant’s weights are in this lab: “{SHIP}” puts those of one seed each beside the record."
ONE_SEED = "Each is one training with one seed: heads of the same number need not do the same."


@dataclass(frozen=True)
class Side:
    """A variant: its translation and one map, or the sentence that says which of them is missing."""

    name: str
    title: str
    folder: str
    heads: int = 0
    analysis: Analysis | None = None
    site: Site | None = None
    head: int | None = None  # from 0; None: the mean
    fault: str = ""

    @property
    def map(self) -> TraceView | None:
        if self.analysis is None or self.site is None:
            return None
        return self.analysis.trace.view(self.site, self.head)


def title_of(name: str) -> str:
    """Returns the title of a design."""
    return VARIANTS[name].title if name in VARIANTS else name


def available(record: Variants) -> dict[str, str]:
    """Returns the checkpoint of each design whose weights are beside the record, by the design's name.

    A checkpoint of the same name in another folder does not count.
    """
    path = cache.read_recently(record_path)
    home = path and path.parent.resolve()
    known = {path.resolve(): name for name, path in cache.read_recently(list_checkpoints).folders.items()} if home else {}
    paths = {name: home / record.shipped[name] for name in names_of(record) if home and name in record.shipped}
    return {name: known[path] for name, path in paths.items() if path in known}


def chosen(record: Variants, view: View) -> tuple[str, ...]:
    """Returns the designs with maps, in their declared order; by default all that are available, or the first few."""
    names = tuple(available(record))
    usual = names if len(names) <= MAX_SIDE_BY_SIDE else names[:FEW]
    return tuple(name for name in names if name in view.side_by_side) or usual


def request_of(text: str, checkpoint: str) -> Request:
    """Returns the request to a variant: the sentence alone, decoded greedily."""
    return Request(source=text, checkpoint=checkpoint)


def side(record: Variants, name: str, text: str, view: View) -> Side:
    """Returns a variant on a sentence, at the kind of attention, layer and head of the view."""
    folder = available(record)[name]
    made = Side(name, title_of(name), folder)
    try:
        cache.refresh(folder)
        analysis = cache.analyse(request_of(text, folder), view.device)
    except ValueError as fault:
        return dataclasses.replace(made, fault=str(fault))
    heads = next(len(pattern) for pattern in analysis.trace.patterns.values())
    made = dataclasses.replace(made, heads=heads, analysis=analysis)
    site, head = Site(view.beside_kind, view.beside_layer), view.beside_head
    if site not in analysis.trace.patterns:
        fault = f"It has no {site_kind(view.beside_kind).name} in layer {view.beside_layer + 1}."
        return dataclasses.replace(made, fault=fault)
    if head is not None and head >= heads:
        which = "one head" if heads == 1 else f"{heads} heads"
        return dataclasses.replace(made, fault=f"It has {which}, so there is no head {head + 1}.")
    return dataclasses.replace(made, site=site, head=head)


def _sides(context: PageContext) -> list[Side]:
    record = read_record().record
    assert record is not None
    if not available(record):
        raise NotChosenError(NO_WEIGHTS)
    return [side(record, name, context.request.source, context.view) for name in chosen(record, context.view)]


# -- choices -----------------------------------------------------------------------------------------------------------


def kind_choice(view: View) -> ButtonGroup:
    """Returns the choice of the kind of attention."""
    return button_groups.choice(
        "Attention", "beside_kind", {each: theme.SITE_NAMES[each] for each in SITE_KINDS}, view.beside_kind
    )


def draw_kind_button(context: PageContext, result: Any) -> None:
    """Draws one button for the kind of attention in the bar of lecture mode, which has no room for three."""
    help = f"The next kind of attention ({lecture.KIND.key})"
    button = Button(theme.SITE_NAMES[context.view.beside_kind], next_kind, help)
    button_groups.draw("variants.kind", [ButtonGroup("Attention", {"variants_kind": button}, is_label_hidden=True)])


def next_kind() -> None:
    """Shows the next kind of attention. For callbacks."""
    kinds = list(SITE_KINDS)
    session.change(beside_kind=kinds[(kinds.index(session.current_view().beside_kind) + 1) % len(kinds)])


def toggled(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    """Returns the chosen variants after a click on one, in their declared order. The last of too many goes."""
    if name in names:
        return tuple(each for each in names if each != name)
    stay = names[: MAX_SIDE_BY_SIDE - 1]
    return tuple(each for each in VARIANTS if each in (*stay, name))


def _draw_choices(context: PageContext, sides: list[Side]) -> None:
    """Draws the choices of variants, kind of attention, layer and head."""
    view, record = context.view, read_record().record
    assert record is not None
    names = tuple(each.name for each in sides)
    every = {
        f"beside {name}": Button(
            title_of(name), partial(session.change, side_by_side=toggled(names, name)), is_on=name in names
        )
        for name in available(record)
    }
    limit = f"up to {MAX_SIDE_BY_SIDE}" if len(every) > MAX_SIDE_BY_SIDE else ""
    layers = [len(each.analysis.trace.sites(view.beside_kind)) for each in sides if each.analysis]
    heads = sorted({*range(max((each.heads for each in sides), default=1)), view.beside_head or 0})
    head_options = {None: controls.MEAN, **{n: str(n + 1) for n in heads}}
    layer_options = {n: str(n + 1) for n in sorted({*range(max(layers, default=1)), view.beside_layer})}
    groups = [
        ButtonGroup("Variants", every, is_label_hidden=True, note=limit),
        dataclasses.replace(kind_choice(view), follows=False),
        button_groups.choice("layer", "beside_layer", layer_options, view.beside_layer, is_label_hidden=False),
        button_groups.choice("head", "beside_head", head_options, view.beside_head, is_label_hidden=False),
    ]
    button_groups.draw("variants.choices", groups)


# -- the panel ---------------------------------------------------------------------------------------------------------


def _place(view: View) -> str:
    return Site(view.beside_kind, view.beside_layer).head_name(view.beside_head)


def _payload(context: PageContext, sides: list[Side]) -> dict[str, Any]:
    maps = [
        patterns.pattern(each.map, each.site.kind, _place(context.view)) | {"follows": False}
        for each in sides
        if each.site is not None and each.map is not None
    ]
    return patterns.map_data(maps, 0, context.mode, alike=True)


def _translations(sides: list[Side]) -> str:
    """Returns the name of each variant, its translation, and what is to be known of them, as markup."""
    cells = []
    for each in sides:
        code = site_texts.language_code(cache.declared_languages(each.folder)[1] or "")
        written = html.escape(each.analysis.translation) if each.analysis else ""
        known = each.analysis
        notes = [note for note in known.notes if note not in known.warning_sentences] if known else []
        cells.append(
            f'<div><h3 class="lab-label">{html.escape(each.title)}</h3>'
            f'<p class="lab-beside" lang="{code}" tabindex="0">{written or (site_texts.EMPTY if known else "")}</p>'
            f"{''.join(map(site_texts.note_markup, [*notes, each.fault]))}</div>"
        )
    return f'<div class="lab-variants">{"".join(cells)}</div>'


def _text(context: PageContext, sides: list[Side]) -> str:
    view, record = context.view, read_record().record
    assert record is not None
    known = available(record)
    missing = [title_of(name) for name in view.side_by_side if name not in known]
    absent = [title_of(name) for name in names_of(record) if name not in known]
    unedited = " Your edits are not made here." if view.intervention else ""
    return (
        (
            site_texts.note_markup(f"The link names variants that are not in this lab: {', '.join(missing)}.", warn=True)
            if missing
            else ""
        )
        + site_texts.note_markup(ONE_SEED + unedited + (f" Not in this lab: {', '.join(absent)}." if absent else ""))
        + _translations(sides)
    )


def _add_keys(context: PageContext, sides: list[Side]) -> None:
    heads = max([1, *(each.heads for each in sides)])

    def walk(by: int) -> None:
        session.change(beside_head=((session.current_view().beside_head or 0) + by) % heads)

    lecture.add_key(lecture.KIND, "the next kind of attention", next_kind, quiet=True)
    lecture.add_walk_keys("the next head", "the head before it", walk)


def _tables(context: PageContext, sides: list[Side]) -> tuple[Table, ...]:
    return tuple(
        map_table(f"{each.name}-{site_code(each.site, each.head)}", each.map)
        for each in sides
        if each.site is not None and each.map is not None
    )


def _code(code: Code, context: PageContext, sides: list[Side]) -> None:
    for each in sides:
        name = each.name.replace("-", "_")
        code.load(each.folder, context.view.device, name)
        code.analyse(request_of(context.request.source, each.folder), name, f"of_{name}")


def shows_maps(view: View) -> bool:
    """True if lecture mode shows the maps of the sentence."""
    return view.large == NUMBER


MAPS = Panel(
    "variants.maps",
    "One sentence in several variants",
    patterns.COMPONENT,
    _payload,
    compute=_sides,
    controls=_draw_choices,
    text=_text,
    tables=_tables,
    code=_code,
    is_visible=shows("maps"),
    pictures=(
        Picture(
            "One sentence",
            data=lambda context, sides: {"large": True},
            fields={"of_variants": "maps"},
            text=lambda context, sides: _translations(sides),
            number=NUMBER,
        ),
    ),
    bar=draw_kind_button,
    keys=_add_keys,
)
