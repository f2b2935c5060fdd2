"""The figures of the page Positions as they are drawn: of a scheme by itself, and of the tokens of a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from model.config import MAX_TOKENS, SCHEMES
from model.inference.request import Request
from viz import cache, computations, theme
from viz.kit import sides
from viz.positions import position_figures, position_texts
from viz.state.result_cache import cached_figure

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from model.readings.positions.position_numbers import PositionNumbers
    from model.readings.positions.sentence_positions import SentencePositions

STRIPS = 4


@dataclass(frozen=True)
class Scheme:
    """Which positions are measured. A learned table is that of a side of a checkpoint; it has its own width, and no base."""

    name: str
    count: int
    shift: int
    width: int = 0
    base: float = 0.0
    checkpoint: str = ""
    device: str = ""
    side: str = ""
    longest: int | None = None  # the longest training sentence, where that is known

    def numbers(self) -> PositionNumbers:
        if SCHEMES[self.name].has_table:
            return computations.learned_numbers(self.checkpoint, self.device, self.side, self.count, self.shift)
        return computations.position_numbers(self.name, self.count, self.width, self.base, self.shift)


def strips(pair: int, width: int) -> tuple[int, ...]:
    """The pairs whose curves are drawn: the one that is followed, and others spread over the first half of the table, whose
    waves are short enough to be seen."""
    spread = [round(n * (width // 4) / (STRIPS - 1)) for n in range(STRIPS)]
    if pair not in spread:
        spread[min(range(STRIPS), key=lambda n: abs(spread[n] - pair))] = pair
    return tuple(sorted({i for i in spread if i < width // 2}))


@cached_figure
def scheme_figure(
    what: str, scheme: Scheme, pair: int, mode: theme.Mode, height: int = position_figures.HEIGHT
) -> go.Figure:
    """One of the six figures of a scheme, by its name, with a pair of dimensions that is followed."""
    found, halves = scheme.numbers(), SCHEMES[scheme.name].has_split_halves
    ends = (MAX_TOKENS, position_figures.LIMIT) if scheme.longest is None else (scheme.longest, position_figures.UNSEEN)
    if found.seen is not None:
        told = found.seen if found.seen > 1 else found.rows  # where no row can be told from another, no line parts them
        ends = (told, "hardly moved") if found.trained is None else (found.trained, position_figures.UNSEEN)
    if what == "table":
        return position_figures.table_map(found.values, pair, mode, *ends, halves, height)
    if what == "curves":
        pairs = strips(pair, found.values.shape[1])
        names = [position_texts.strip(i, found) for i in pairs]
        return position_figures.curves(found.values, pairs, pair, names, mode, halves, height)
    if what == "distance":
        return position_figures.distance_chart(
            found.mean, found.minimum, found.maximum, scheme.shift, mode, found.random_mean, height
        )
    if what == "similarity":
        return position_figures.similarity_map(found.similarity, mode, *ends, height)
    if what == "shift":
        return position_figures.shift_chart(
            found.values, found.rotated, found.reached, pair, scheme.shift, mode, halves, height
        )
    if what == "residual":
        return position_figures.residual_chart(found.residual, mode, height)
    raise ValueError(f"There is no figure {what!r}; expected table, curves, distance, similarity, shift or residual.")


@cached_figure
def token_figure(
    request: Request, device: str, side: str, name: str, mode: theme.Mode, height: int = position_figures.TOKENS
) -> go.Figure:
    """One of the three maps of a sentence, by its name."""
    found = computations.sentence_positions(request, device, side)
    values, limit = next((values, limit) for key, _, values, limit in token_maps(found) if key == name)
    axis = cache.analyse(request, device).trace.source if side == "source" else None
    return position_figures.token_map(
        values, sides.label_sentences(found.labels, axis), found.repeated, mode, limit, height=height
    )


def token_maps(found: SentencePositions) -> list[tuple]:
    """Name, title, values and limit of the three maps of a sentence."""
    if found.both is not None:
        return [
            ("alone", "Embeddings alone", found.alone, 1.0),
            ("positions", "Positions alone", found.positions, 1.0),
            ("both", "Both, added", found.both, 1.0),
        ]
    most = float(max(abs(found.scores_without).max(), abs(found.scores_with).max()))
    return [
        ("alone", "Embeddings alone", found.alone, 1.0),
        ("without", "Scores of layer 1 without positions", found.scores_without, most),
        ("with", "Scores of layer 1 with positions", found.scores_with, most),
    ]
