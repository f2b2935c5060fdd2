"""The figures of the page Variants, of a record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from model.variants.designs import VARIANTS
from model.variants.record import Variants
from viz import theme
from viz.variants import head_texts, variant_figures, variant_texts

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from model.variants.same_heads import SameHeads

ACROSS = {"speed": "target tokens a second, in training", "parameters": "parameters"}


def row_of(record: Variants, name: str, score: str) -> variant_figures.Row:
    """A declared design, whether it has scores or not."""
    each = record.find(name)
    if each is None:
        return variant_figures.Row(VARIANTS[name].title, (), (), note=variant_texts.state_of(record, name))
    is_clear = variant_texts.is_clear(record, each, score)
    values = tuple(getattr(run, score) for run in each.runs)
    return variant_figures.Row(each.title, tuple(run.seed for run in each.runs), values, name == record.base, is_clear)


def scores(record: Variants, score: str, by: str, mode: theme.Mode, height: int = 0) -> go.Figure | None:
    """Scores by design, or over speed or parameters; None where no design has that number."""
    name, digits = (
        f"{variant_texts.NAMES[score]} ({'lower' if variant_texts.BETTER[score] < 0 else 'higher'} is better)",
        variant_texts.digits(score),
    )
    if by == "design":
        rows = [row_of(record, each, score) for each in variant_texts.names_of(record)]
        return variant_figures.score_chart(rows, name, digits, mode, height)
    field = {"speed": "tokens_per_second", "parameters": "parameters"}[by]
    points = [
        variant_figures.Point(row_of(record, each.name, score), getattr(each, field))
        for each in record.variants
        if getattr(each, field)
    ]
    return variant_figures.over_chart(points, ACROSS[by], name, digits, mode, height or 320) if points else None


def losses(record: Variants, mode: theme.Mode, height: int = 0) -> go.Figure:
    """The dev losses of all runs, a panel for each declared design."""
    designs = []
    for name in variant_texts.names_of(record):
        each = record.find(name)
        curves = [
            variant_figures.Curve(run.seed, *(tuple(part) for part in zip(*run.losses, strict=True)))
            for run in (each.runs if each else ())
            if run.losses
        ]
        designs.append((each.title if each else VARIANTS[name].title, curves))
    return variant_figures.loss_chart(designs, mode, height)


def matching(found: SameHeads, kind: str, mode: theme.Mode, height: int = 0) -> go.Figure:
    """The heads of a kind of attention, paired from each seed to the next."""
    own = head_texts.in_a_row(found, kind)
    links = [
        variant_figures.Link(each.one, each.layer, head, partner, distance, each.random)
        for each in own
        for head, (partner, distance) in enumerate(zip(each.partners, each.distances, strict=True))
    ]
    layers, heads = max(each.layer for each in own) + 1, len(own[0].partners)
    return variant_figures.matching_chart(found.checkpoints, layers, heads, links, kind, mode, height)
