"""The figures of the page Variants, of a record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from model.variants.declared import VARIANTS
from model.variants.record import Variants
from viz import theme
from viz.variants import figures, head_texts, pairs_figure, texts

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from model.variants.same_heads import SameHeads

ACROSS = {"speed": "target tokens a second, in training", "parameters": "parameters"}


def row_of(record: Variants, name: str, score: str) -> figures.Row:
    """A declared design, whether it has scores or not."""
    each = record.find(name)
    if each is None:
        return figures.Row(VARIANTS[name].title, (), (), note=texts.state_of(record, name))
    is_clear = texts.is_clear(record, each, score)
    values = tuple(getattr(run, score) for run in each.runs)
    return figures.Row(each.title, tuple(run.seed for run in each.runs), values, name == record.base, is_clear)


def scores(record: Variants, score: str, by: str, mode: theme.Mode, height: int = 0) -> go.Figure | None:
    """Scores by design, or over speed or parameters; None where no design has that number."""
    name, digits = (
        f"{texts.NAMES[score]} ({'lower' if texts.BETTER[score] < 0 else 'higher'} is better)",
        texts.digits(score),
    )
    if by == "design":
        rows = [row_of(record, each, score) for each in texts.names_of(record)]
        return figures.score_chart(rows, name, digits, mode, height)
    field = {"speed": "tokens_per_second", "parameters": "parameters"}[by]
    points = [
        figures.Point(row_of(record, each.name, score), getattr(each, field))
        for each in record.variants
        if getattr(each, field)
    ]
    return figures.over_chart(points, ACROSS[by], name, digits, mode, height or 320) if points else None


def losses(record: Variants, mode: theme.Mode, height: int = 0) -> go.Figure:
    """The dev losses of all runs, a panel for each declared design."""
    designs = []
    for name in texts.names_of(record):
        each = record.find(name)
        curves = [
            figures.Curve(run.seed, *(tuple(part) for part in zip(*run.losses, strict=True)))
            for run in (each.runs if each else ())
            if run.losses
        ]
        designs.append((each.title if each else VARIANTS[name].title, curves))
    return figures.loss_chart(designs, mode, height)


def matching(found: SameHeads, kind: str, mode: theme.Mode, height: int = 0) -> go.Figure:
    """The heads of a kind of attention, paired from each seed to the next."""
    own = head_texts.in_a_row(found, kind)
    links = [
        pairs_figure.Link(each.one, each.layer, head, partner, distance, each.random)
        for each in own
        for head, (partner, distance) in enumerate(zip(each.partners, each.distances, strict=True))
    ]
    layers, heads = max(each.layer for each in own) + 1, len(own[0].partners)
    return pairs_figure.matching_chart(found.checkpoints, layers, heads, links, kind, mode, height)
