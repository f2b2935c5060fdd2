"""Heads that carry the route of a right token against a wrong one, counted over contrast sentences.

The choice is the first step at which the right and the wrong translation differ, under the right translation as given
target. A head carries the route of a sentence if cutting the strongest link in this head alone lowers the difference of
logits by at least `MIN_PART` of it. The strongest link is the one that supports the right token most. Sentences where the
model prefers the wrong token, or nearly so, have no such route. They are left out and counted.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from ...checkpoint import Checkpoint
from ...config import END
from ...experiments.routes import NEAR_TIE, Route, RouteLink, cut_heads, find_route
from ...inference.analyse import analyse
from ...inference.analysis import Analysis
from ...inference.request import Request
from ...io.numbers import wilson_interval
from ...text.route_heads import RouteHead, RouteHeads
from ...trace import Site
from ..evaluation.contrast import ContrastRow
from ..sharding import ordered_map

MIN_PART = 0.1  # of the difference of logits


def contrast_route(checkpoint: Checkpoint, row: ContrastRow) -> tuple[Analysis, Route]:
    """Returns the route of the right token against the wrong one, with the analysis of the right translation."""
    analysis = analyse(checkpoint, Request(row.english, target=row.right))
    right = analysis.trace.outputs.ids
    wrong = [*checkpoint.target_tokenizer.encode(row.wrong), END]
    step = next(n for n, (one, other) in enumerate(zip(right, wrong, strict=False)) if one != other)
    return analysis, find_route(checkpoint, analysis, step, right[step], wrong[step])


def carrying_heads(
    checkpoint: Checkpoint, analysis: Analysis, route: Route
) -> tuple[RouteLink | None, list[tuple[Site, int]]]:
    """Returns the link that supports the token most, and the heads that carry it; None and no head without such a link."""
    link = min(route.links, key=lambda link: link.effect, default=None)
    if link is None or link.effect >= 0:
        return None, []
    effects = cut_heads(checkpoint, analysis, route, link.cell)
    places = np.argwhere(effects <= -MIN_PART * route.difference).tolist()
    return link, [(Site(link.cell.kind, layer), head) for layer, head in places]


def _row_heads(checkpoint: Checkpoint, row: ContrastRow) -> tuple[int | None, list[tuple[Site, int]]] | None:
    """Returns the hop of the strongest link, None without one, and its heads; None for a row without a preference."""
    analysis, route = contrast_route(checkpoint, row)
    if route.difference < NEAR_TIE:
        return None
    link, heads = carrying_heads(checkpoint, analysis, route)
    return None if link is None else link.hop, heads


def measure_routes(
    checkpoint: Checkpoint,
    rows: Sequence[ContrastRow],
    data: str,
    sentences: int,
    seed: int,
    progress: Callable[[int], object] = lambda done: None,
) -> RouteHeads:
    """Counts the heads that carry the route over at most `sentences` rows, drawn with `seed`; `data` is the file's hash.

    Raises ValueError where the model has no encoder and decoder, a text exceeds the text limit, or no row has a route.
    """
    if checkpoint.config.kinds != ("encoder", "decoder", "cross"):
        raise ValueError(f"{checkpoint.name} is {checkpoint.config.family}; expected an encoder-decoder")
    for row in rows:
        row.check_lengths(checkpoint.source_tokenizer, checkpoint.target_tokenizer)
    counts: Counter[tuple[Site, int, int]] = Counter()
    measured = left_out = linked = 0
    shuffled = random.Random(seed).sample(list(rows), len(rows))
    for carriers in ordered_map(lambda row: _row_heads(checkpoint, row), shuffled):
        if carriers is None:
            left_out += 1
            continue
        hop, heads = carriers
        linked += hop is not None
        counts.update((site, head, hop) for site, head in heads if hop is not None)
        measured += 1
        progress(1)
        if measured == sentences:
            break
    if not measured:
        raise ValueError("the model prefers the right token in no sentence; expected at least one")
    totals: Counter[tuple[Site, int]] = Counter()
    for (site, head, _), count in counts.items():
        totals[site, head] += count
    heads = []
    for (site, head), count in totals.most_common():
        low, high = wilson_interval(count, measured)
        hop = max((1, 2), key=lambda hop: counts[site, head, hop])
        heads.append(RouteHead(site.kind, site.layer, head, hop, count / measured, low, high))
    return RouteHeads(measured, left_out, linked, seed, data, tuple(heads))
