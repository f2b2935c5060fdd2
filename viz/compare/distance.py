"""How far the two sides are apart: every head's distance, and the two maps that are shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from model.readings.comparison import Alignment, align, mean, row_distances
from model.trace import Site, Trace, View

if TYPE_CHECKING:
    from viz.compare.pair import Pair


@dataclass(frozen=True)
class Grid:
    """The distance of every head of a kind of site, [layers][heads], from 0 (the same) to 1; NaN where there is none."""

    kind: str
    values: np.ndarray

    @property
    def means(self) -> np.ndarray:
        """The mean over the heads of each layer, [layers]."""
        return mean(self.values)


def grids(pair: Pair) -> tuple[Grid, ...]:
    """For each kind of site how far each head of the one side is from that of the other; between two heads of one pass how
    far each is from the first; between two steps the distance of their rows."""
    trace = pair.first.analysis.trace
    found = []
    for kind in trace.kinds:
        rows = [_distances(pair, trace, site) for site in trace.sites(kind)]
        if rows := [row for row in rows if row is not None]:
            heads = min(map(len, rows))
            found.append(Grid(kind, np.array([row[:heads] for row in rows])))
    return tuple(each for each in found if not np.isnan(each.values).all())


def _distances(pair: Pair, trace: Trace, site: Site) -> np.ndarray | None:
    if pair.differs == "head":
        if site.kind != pair.first.site.kind:
            return None
        own = trace.view(pair.first.site, pair.first.head).values  # [T,S]
        real = [t for t, label in enumerate(trace.axis(site.of.queries).labels) if label != "<pad>"]
        pattern = trace.patterns[site][:, real]  # [H,T,S]
        return mean(row_distances(np.broadcast_to(own[real], pattern.shape), pattern, _same(len(real)), _same(own.shape[1])))
    if pair.differs == "step":
        if site.of.queries == "source":
            return None
        pattern = trace.patterns[site]
        one, other = (pattern[:, [side.step]] for side in (pair.first, pair.second))  # [H,1,S]
        return row_distances(one, other, _same(1), _same(pattern.shape[2]))[:, 0]
    return pair.aligned.distances(site)


def _same(count: int) -> Alignment:
    return Alignment(tuple((n, n) for n in range(count)), (True,) * count)


@dataclass(frozen=True)
class Most:
    """The head at which both sides differ most; layer and head from 0."""

    site: Site
    head: int
    value: float


def most(found: tuple[Grid, ...]) -> Most | None:
    """Where the distance is largest; None where nothing can be compared."""
    best = None
    for grid in found:
        layer, head = np.unravel_index(np.nanargmax(grid.values), grid.values.shape)
        value = float(grid.values[layer, head])
        if best is None or value > best.value:
            best = Most(Site(grid.kind, int(layer)), int(head), value)  # type: ignore[arg-type]
    return best


def views(pair: Pair) -> tuple[View, View]:
    """The two maps: of one head each, or, between two steps, their rows with all heads of the layer."""
    if pair.differs != "step":
        first, second = (side.analysis.trace.view(side.site, side.head) for side in (pair.first, pair.second))
        return first, second
    one, other = (_rows(side.analysis.trace, side.site, side.step) for side in (pair.first, pair.second))
    return one, other


def _rows(trace: Trace, site: Site, step: int) -> View:
    """What every head of a layer looks at, at one step: values [H,S]."""
    heads = trace.patterns[site][:, step]  # [H,S]
    allowed = np.stack([trace.mask(site, head)[step] for head in range(len(heads))])
    return View(heads, allowed, tuple(f"head {head + 1}" for head in range(len(heads))), trace.keys(site))


def partners(pair: Pair, shown: tuple[View, View]) -> tuple[Alignment, Alignment]:
    """The partners among the rows and among the columns of the two maps."""
    if not pair.is_two_requests:
        return _same(len(shown[0].queries)), _same(len(shown[0].keys))
    one, other = pair.first.site, pair.second.site
    rows, keys = pair.aligned.queries(one), pair.aligned.keys(other)
    return rows or align(shown[0].queries, shown[1].queries), keys or align(shown[0].keys, shown[1].keys)
