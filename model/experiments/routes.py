"""Routes: the cells of attention that carry a choice between two tokens, found by cutting them.

The measure is the difference of two logits in one row: of the chosen token and of a rival. A cut blocks a cell before the
softmax, in all heads of all layers, so that the rest of its row shares the weight. It is the edit `BlockCells`. The effect
of a cut is the difference after it minus the difference before. Below 0, the cell supports the token.

A cut moves the weight of the cell to the rest of the row. So each link is also measured with its weight set to 0 after the
softmax, where nothing moves. A cell whose two effects have different signs is no link: the moved weight made the first one.

The search has two hops. The first cuts every cell of the rows that predict the token, the second the rows of the positions
that the strongest cells lead to: where did *it* get this from?

See path patching (Goldowsky-Dill et al. 2023) and attention knockout (Geva et al. 2023, arXiv:2304.14767).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..checkpoint import Checkpoint
from ..config import PAD
from ..edits.kinds import Place
from ..inference.analysis import Analysis
from ..readings.logits.direct_logits import check_choice
from ..trace import AttentionKind, Site, Trace
from .cell_cuts import Cell, CutRunner, ZeroCells

NEAR_TIE = 0.2  # nats: a smaller difference has no shares
MIN_SHARE = 0.05  # of the difference: a smaller effect is not a link
MIN_OF_STRONGEST = 0.15  # of the strongest effect
MAX_LINKS = 4  # of each hop
MAX_CELLS = 96  # cut in each hop: those with the largest weights
MAX_WORK = 6e10  # parameters times tokens of the second hop: a long text cuts fewer cells, at least `MIN_CELLS`
MIN_CELLS = 16
MIN_WEIGHT = 0.01  # a cell with less in every head is not cut
MIN_EXPLAINED = 0.5  # of the difference, by all links together; with less there is no short route
Progress = Callable[[float], None]


@dataclass(frozen=True)
class RouteLink:
    """A cell of a route. Effects are changes of the difference of logits, in nats."""

    cell: Cell
    hop: int  # 1: read by the row that predicts the token; 2: read by a position of the first hop
    effect: float  # cut in all layers
    zeroed: float  # weight set to 0 after the softmax, in all layers
    weight: float  # the largest of one head
    layers: tuple[float, ...]  # cut in one layer
    head: tuple[Site, int, float]  # the head with the strongest effect of its own in the strongest layer

    @property
    def differs(self) -> bool:
        """True where the effect depends on the method by more than a tenth."""
        return abs(self.effect - self.zeroed) > 0.1 * abs(self.effect)


@dataclass(frozen=True)
class Route:
    """The links that carry the choice of `token` against `rival` in a row (from 0). Differences of logits in nats."""

    row: int
    token: int
    rival: int
    difference: float
    links: tuple[RouteLink, ...]  # the strongest effect of each hop first
    cut_difference: float  # the difference with all links cut
    kept_difference: float  # the difference with all other cells of the rows of the links cut
    tested: int  # cells that were cut
    untested: int  # cells whose weight is below `MIN_WEIGHT` in every head, or beyond `MAX_CELLS`
    control: float | None  # the median size of the effects of the cells that were cut and are no links; None without any

    @property
    def is_near_tie(self) -> bool:
        return abs(self.difference) < NEAR_TIE

    @property
    def completeness(self) -> float | None:
        """The share of the difference that goes with all links; may exceed 1. None for a near-tie."""
        return None if self.is_near_tie else (self.difference - self.cut_difference) / self.difference

    @property
    def faithfulness(self) -> float | None:
        """The share of the difference that stays with these links alone; may exceed 1. None for a near-tie."""
        return None if self.is_near_tie else self.kept_difference / self.difference

    @property
    def explains(self) -> bool:
        """True where the links together carry at least half of the difference."""
        return bool(self.links) and self.completeness is not None and self.completeness >= MIN_EXPLAINED


def find_route(
    checkpoint: Checkpoint, analysis: Analysis, row: int, token: int, rival: int, progress: Progress = lambda share: None
) -> Route:
    """Searches the route of a choice in the baseline of an analysis. `progress` receives the share that is done.

    `row` is the step, the position of a blank, or 0 for a label; see `direct_logits`.

    Raises:
        ValueError: The row, token or rival does not exist, or both tokens are equal.
    """
    trace = (analysis.baseline or analysis).full_pass
    size = len(trace.classes) or checkpoint.output_vocabulary.size
    check_choice("step" if trace.outputs is not None else "row", row, len(trace.log_probs), token, rival, size)
    search = _Search(checkpoint, trace, row, token, rival)
    (difference,) = search.differences([()])
    rows = search.first_rows()
    first, left_out = search.candidates(rows, MAX_CELLS)
    effects = search.effects(first, difference)
    progress(0.2)
    threshold = _threshold(difference, effects)
    near = search.strongest(effects, threshold, difference)
    second, left_out_too = search.candidates([row for row in search.second_rows(near) if row not in rows], search.limit)
    reached = search.effects(second, difference)
    progress(0.6)
    far = search.strongest(reached, max(threshold, _threshold(difference, reached)), difference)
    links = search.links(near | far, effects | reached, set(near), difference)
    progress(0.9)
    chosen = {link.cell for link in links}
    others = [cell for cell in search.all_cells({(cell.kind, cell.query) for cell in chosen}) if cell not in chosen]
    cut, kept = search.differences([[cell.cut() for cell in chosen], [cell.cut() for cell in others]])
    progress(1.0)
    measured = effects | reached
    rest = [abs(effect) for cell, effect in measured.items() if cell not in chosen]
    control = float(np.median(rest)) if rest else None
    return Route(row, token, rival, difference, links, cut, kept, len(measured), left_out + left_out_too, control)


def cut_heads(checkpoint: Checkpoint, analysis: Analysis, route: Route, cell: Cell) -> np.ndarray:
    """Returns the effect of cutting a cell in each head alone, [L,H], in nats."""
    search = _Search(checkpoint, (analysis.baseline or analysis).full_pass, route.row, route.token, route.rival)
    layers, heads = search.layers[cell.kind], checkpoint.config.heads
    after = search.differences([[cell.cut(layer, head)] for layer in range(layers) for head in range(heads)])
    return np.array(after).reshape(layers, heads) - route.difference


def _threshold(difference: float, effects: dict[Cell, float]) -> float:
    """Returns the smallest effect of a link, in nats."""
    return max(MIN_SHARE * abs(difference), MIN_OF_STRONGEST * max(map(abs, effects.values()), default=0.0))


class _Search(CutRunner):
    """Searches the links of one choice."""

    def __init__(self, checkpoint: Checkpoint, trace: Trace, row: int, token: int, rival: int) -> None:
        super().__init__(checkpoint, trace, row, token, rival)
        self.layers = checkpoint.config.layers
        kinds = {site.kind for site in trace.patterns}
        self.weights = {  # [T,S]: the largest weight of any head and layer
            kind: np.max([trace.patterns[site].max(0) for site in trace.patterns if site.kind == kind], axis=0)
            for kind in kinds
        }

    @property
    def limit(self) -> int:
        """The number of cells to cut in the second hop."""
        tokens = len(self.source or ()) + len(self.target or ())
        return min(MAX_CELLS, max(MIN_CELLS, int(MAX_WORK / (tokens * self.checkpoint.model.parameter_count))))

    def first_rows(self) -> list[tuple[AttentionKind, int]]:
        """Returns the rows that predict the token: kinds of attention with a query."""
        if self.target is not None:
            return [(kind, self.row) for kind in ("cross", "decoder") if kind in self.layers]
        if self.trace.classes and self.checkpoint.config.pooling == "mean":
            return [("encoder", query) for query, token in enumerate(self.source) if token != PAD]
        return [("encoder", self.row)]

    def second_rows(self, cells: Iterable[Cell]) -> list[tuple[AttentionKind, int]]:
        """Returns the rows of the positions that cells lead to."""
        rows: list[tuple[AttentionKind, int]] = []
        for cell in cells:
            if cell.kind == "decoder":
                rows += [(kind, cell.key) for kind in ("cross", "decoder") if kind in self.layers]
            else:
                rows.append(("encoder", cell.key))
        return list(dict.fromkeys(rows))

    def all_cells(self, rows: Iterable[tuple[AttentionKind, int]]) -> list[Cell]:
        """Returns the cells of rows that may be attended to in some head; the mask leaves out padding."""
        cells = []
        for kind, query in rows:
            visible = np.any([self.trace.mask(site)[query] for site in self.trace.patterns if site.kind == kind], axis=0)
            cells += [Cell(kind, query, key) for key in np.flatnonzero(visible).tolist()]
        return cells

    def candidates(self, rows: Iterable[tuple[AttentionKind, int]], limit: int) -> tuple[list[Cell], int]:
        """Returns the cells of rows to cut, those with the largest weights, and the number of cells that are left out."""
        cells = self.all_cells(rows)
        heavy = [cell for cell in cells if self.weight(cell) >= MIN_WEIGHT]
        chosen = sorted(heavy, key=lambda cell: -self.weight(cell))[:limit]
        return chosen, len(cells) - len(chosen)

    def weight(self, cell: Cell) -> float:
        return float(self.weights[cell.kind][cell.query, cell.key])

    def effects(self, cells: Sequence[Cell], difference: float) -> dict[Cell, float]:
        """Returns the effect of cutting each cell."""
        after = self.differences([[cell.cut()] for cell in cells])
        return {cell: value - difference for cell, value in zip(cells, after, strict=True)}

    def strongest(self, effects: dict[Cell, float], threshold: float, difference: float) -> dict[Cell, float]:
        """Returns the cells with the strongest effects and the effect of setting their weight to 0, the strongest first.

        Leaves out cells whose two effects have different signs, or whose second one is below `MIN_SHARE`.
        """
        ranked = [cell for cell in sorted(effects, key=lambda cell: -abs(effects[cell])) if abs(effects[cell]) >= threshold]
        ranked = ranked[: 2 * MAX_LINKS]
        after = self.differences([[ZeroCells(Place(cell.kind), cell.query, cell.key)] for cell in ranked])
        zeroed = {cell: value - difference for cell, value in zip(ranked, after, strict=True)}
        agreeing = [
            cell for cell, value in zeroed.items() if value * effects[cell] > 0 and abs(value) >= MIN_SHARE * abs(difference)
        ]
        return {cell: zeroed[cell] for cell in agreeing[:MAX_LINKS]}

    def links(
        self, zeroed: dict[Cell, float], effects: dict[Cell, float], near: set[Cell], difference: float
    ) -> tuple[RouteLink, ...]:
        """Returns the links of cells, with the effects of single layers and of the heads of the strongest layer."""
        single = iter(self.differences([[cell.cut(n)] for cell in zeroed for n in range(self.layers[cell.kind])]))
        layers = {cell: tuple(next(single) - difference for _ in range(self.layers[cell.kind])) for cell in zeroed}
        strongest = {cell: int(np.abs(values).argmax()) for cell, values in layers.items()}
        heads = range(self.checkpoint.config.heads)
        each = iter(self.differences([[cell.cut(strongest[cell], head)] for cell in zeroed for head in heads]))
        links = []
        for cell, zero in zeroed.items():
            values = [next(each) - difference for _ in heads]
            head = int(np.abs(values).argmax())
            best = (Site(cell.kind, strongest[cell]), head, values[head])
            hop = 1 if cell in near else 2
            links.append(RouteLink(cell, hop, effects[cell], zero, self.weight(cell), layers[cell], best))
        return tuple(links)
