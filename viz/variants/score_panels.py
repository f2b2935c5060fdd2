"""Scores and dev losses of the variants. They need neither sentence nor checkpoint."""

from __future__ import annotations

import html
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from model.export.csv_tables import Table
from model.variants.designs import VARIANTS
from model.variants.record import SCORES as DIGITS
from model.variants.record import Variants
from viz import theme
from viz.classroom import lecture
from viz.kit import button_groups, charts, differences, site_texts, terms
from viz.kit.button_groups import ButtonGroup
from viz.kit.panel import FileOptions, Panel, Picture
from viz.page_context import PageContext
from viz.state import session
from viz.variants import variant_figures, variant_texts
from viz.variants.variant_texts import MAKE, NAMES, NONE, RecordFile, read_record

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from model.export.code import Code

TITLES = {"scores": "Scores", "curves": "Learning", "maps": "One sentence", "heads": "Same heads?"}  # of the parts
BY = {"design": "By design", "speed": "Over speed", "parameters": "Over parameters"}
ACROSS = {"speed": "target tokens a second, in training", "parameters": "parameters"}
NO_SPEED = f"The speed was not measured yet: “{MAKE} --speed” measures it for all in turn."
ABOUT_LOSSES = "Dev loss in nats per token over the training steps, on one scale. A dash per seed; faint: the other designs."


def shows(*parts: str) -> Callable[[PageContext], bool]:
    """Returns a condition on a context: there is a record, and the view shows one of these parts of the page."""
    return lambda context: context.view.of_variants in parts and read_record().record is not None


def verdict(sentence: str, sample: str = "", about: str = "") -> str:
    """Returns the markup of a finding, with its sample, whose tooltip says how it was measured."""
    help = f" <small>{terms.explained(sample, about)}</small>" if sample else ""
    return f'<p class="lab-verdict" role="status">{html.escape(sentence)}{help}</p>'


def title(sentence: str) -> str:
    """Returns the markup of a heading of lecture mode."""
    return f'<h2 class="lab-large-title">{html.escape(sentence)}</h2>'


def add_record(code: Code) -> None:
    """Adds the line of Python that reads the record."""
    code.add("record = read(record_path())", model__variants__record=("record_path", "read"))


# -- choices -----------------------------------------------------------------------------------------------------------


def _score_choice(context: PageContext) -> ButtonGroup:
    options = {each: NAMES[each] for each in DIGITS}
    return button_groups.choice("Score", "variants_score", options, context.view.variants_score)


def _draw_parts(context: PageContext, result: None) -> None:
    """Draws what differs, as on Compare, the choice of the part, and the options of the scores."""
    view = context.view
    groups = [differences.choice(view, "variants"), button_groups.choice("Part", "of_variants", TITLES, view.of_variants)]
    if shows("scores")(context):
        axis = button_groups.choice("Drawn over", "variants_by", BY, view.variants_by)
        options = {**_score_choice(context).buttons, **axis.buttons}
        groups.append(ButtonGroup("Options: score, axis", options, "menu", follows=True))
    button_groups.draw("variants.parts", groups)


PARTS = Panel("variants.part", "Part", controls=_draw_parts, is_independent=True)


# -- no record ---------------------------------------------------------------------------------------------------------


def _missing(context: PageContext, result: None) -> str:
    fault = read_record().fault
    if fault == NONE:
        return f'<p class="lab-variants-none">{html.escape(fault)}</p>'
    return f'<div class="lab-fault" role="alert">{html.escape(fault)}</div>'


NO_RECORD = Panel(
    "variants.none",
    "Variants",
    text=_missing,
    is_visible=lambda context: read_record().record is None,
    pictures=(Picture("Variants", text=_missing),),
    is_independent=True,
)


# -- scores ------------------------------------------------------------------------------------------------------------


def row_of(record: Variants, name: str, score: str) -> variant_figures.Row:
    """Returns a declared design with its scores, if it has any."""
    each = record.find(name)
    if each is None:
        return variant_figures.Row(VARIANTS[name].title, (), (), note=variant_texts.state_of(record, name))
    is_clear = variant_texts.is_clear(record, each, score)
    values = tuple(getattr(run, score) for run in each.runs)
    return variant_figures.Row(each.title, tuple(run.seed for run in each.runs), values, name == record.base, is_clear)


def _score_figure(record: Variants, score: str, by: str, mode: theme.Mode) -> go.Figure | None:
    """Returns the scores by design, or over speed or parameters; None if no design has that number."""
    better = "lower" if variant_texts.BETTER[score] < 0 else "higher"
    name, digits = f"{NAMES[score]} ({better} is better)", variant_texts.digits(score)
    if by == "design":
        rows = [row_of(record, each, score) for each in variant_texts.names_of(record)]
        return variant_figures.score_chart(rows, name, digits, mode)
    field = {"speed": "tokens_per_second", "parameters": "parameters"}[by]
    points = [
        variant_figures.Point(row_of(record, each.name, score), getattr(each, field))
        for each in record.variants
        if getattr(each, field)
    ]
    return variant_figures.over_chart(points, ACROSS[by], name, digits, mode) if points else None


@lru_cache(32)
def _score_data(file: RecordFile, score: str, by: str, mode: theme.Mode) -> dict[str, Any]:
    assert file.record is not None
    figure = _score_figure(file.record, score, by, mode)
    note = NO_SPEED if figure is None else ""
    return charts.payload([charts.Chart(f"{NAMES[score]}, {BY[by].lower()}", note, figure)])


@lru_cache(32)
def _score_texts(file: RecordFile, score: str) -> tuple[str, str]:
    """Returns the finding about a score, and the table of all designs, as markup."""
    assert file.record is not None
    record = file.record
    sample, about = variant_texts.seeds(record), variant_texts.honest(record, score)
    return verdict(variant_texts.verdict(record, score), sample, about), variant_texts.table(record, score)


def _file_text(context: PageContext, result: None) -> str:
    """Returns the finding of an HTML file, which has no tooltips."""
    record, score = read_record().record, context.view.variants_score
    assert record is not None
    sample = f"{variant_texts.seeds(record)}: {variant_texts.honest(record, score)}"
    return verdict(variant_texts.verdict(record, score)) + site_texts.note_markup(sample)


def _next_score() -> None:
    """Shows the next score. For callbacks."""
    names = list(DIGITS)
    session.change(variants_score=names[(names.index(session.current_view().variants_score) + 1) % len(names)])


def _score_tables(context: PageContext, result: None) -> tuple[Table, ...]:
    record = read_record().record
    assert record is not None
    columns, rows = record.table()
    names = ("name", "seed", "bleu", "chrf", "dev_loss", "steps", "minutes")
    runs = [(each.name, *(getattr(run, name) for name in names[1:])) for each in record.variants for run in each.runs]
    return Table("variants", tuple(columns), tuple(map(tuple, rows))), Table("runs", names, tuple(runs))


def _score_code(code: Code, context: PageContext, result: None) -> None:
    add_record(code)
    code.add("columns, rows = record.table()")


SCORES = Panel(
    "variants.scores",
    "Scores of the variants",
    charts.COMPONENT,
    lambda context, result: _score_data(read_record(), context.view.variants_score, context.view.variants_by, context.mode),
    text=lambda context, result: _score_texts(read_record(), context.view.variants_score)[0],
    tables=_score_tables,
    code=_score_code,
    is_visible=shows("scores"),
    pictures=(
        Picture(
            "Scores",
            data=lambda context, result: {"large": 0},
            fields={"of_variants": "scores"},
            text=lambda context, result: title(variant_texts.verdict(read_record().record, context.view.variants_score)),
            number=1,
        ),
    ),
    bar=lambda context, result: button_groups.draw("variants.score", [_score_choice(context)]),
    keys=lambda context, result: lecture.add_key(lecture.INNER, "BLEU, chrF or dev loss", _next_score, quiet=True),
    file=FileOptions(text=_file_text),
    is_independent=True,
    is_cached=False,  # the record may change
)
DESIGNS = Panel(
    "variants.designs",
    "Table of the designs",
    text=lambda context, result: _score_texts(read_record(), context.view.variants_score)[1],
    is_visible=shows("scores"),
    is_independent=True,
)


# -- dev losses --------------------------------------------------------------------------------------------------------


@lru_cache(4)
def _loss_data(file: RecordFile, mode: theme.Mode) -> dict[str, Any]:
    """Returns a chart of the dev losses for each declared design."""
    record, designs = file.record, []
    assert record is not None
    for name in variant_texts.names_of(record):
        each = record.find(name)
        curves = [
            variant_figures.Curve(run.seed, *(tuple(part) for part in zip(*run.losses, strict=True)))
            for run in (each.runs if each else ())
            if run.losses
        ]
        designs.append((each.title if each else VARIANTS[name].title, curves))
    made = [charts.Chart(name, "", figure) for name, figure in variant_figures.loss_charts(designs, mode)]
    return charts.payload(made, columns=variant_figures.COLUMNS)


def _losses(context: PageContext, result: None) -> str:
    record = read_record().record
    assert record is not None
    return verdict(variant_texts.curves_said(record)) + site_texts.note_markup(ABOUT_LOSSES)


def _loss_tables(context: PageContext, result: None) -> tuple[Table, ...]:
    record = read_record().record
    assert record is not None
    rows = [(each.name, run.seed, *point) for each in record.variants for run in each.runs for point in run.losses]
    return (Table("dev-losses", ("name", "seed", "step", "dev_loss"), tuple(rows)),)


def _loss_code(code: Code, context: PageContext, result: None) -> None:
    add_record(code)
    code.add("losses = {(each.name, run.seed): run.losses for each in record.variants for run in each.runs}")


LOSSES = Panel(
    "variants.losses",
    "Dev loss of the variants",
    charts.COMPONENT,
    lambda context, result: _loss_data(read_record(), context.mode),
    text=_losses,
    tables=_loss_tables,
    code=_loss_code,
    is_visible=shows("curves"),
    pictures=(
        Picture(
            "Learning",
            data=lambda context, result: {"large": charts.ALL},
            fields={"of_variants": "curves"},
            text=lambda context, result: title(variant_texts.curves_said(read_record().record)),
            number=2,
        ),
    ),
    is_independent=True,
    is_cached=False,
)


def _budget(context: PageContext, result: None) -> str:
    """Returns the data of the runs, and which runs are missing."""
    record = read_record().record
    assert record is not None
    missing = variant_texts.lacking(record)
    return site_texts.note_markup(variant_texts.budget(record)) + site_texts.note_markup(missing, warn=True)


BUDGET = Panel("variants.budget", "Runs", text=_budget, is_visible=shows("scores", "curves"), is_independent=True)
