"""All heads as thumbnails, and one of them large: lines from token to token, its map, its numbers beside all others.

Hovering previews a head and sends nothing; a click chooses it. The thumbnails are sent once, with every order in which
they can stand: another order, or two tokens whose heads are looked for, sends numbers alone.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from model.export.token_labels import label_sentences
from model.inference.predictions import is_near_tie
from model.readings.heads.corpus_roles import corpus_roles, route_roles
from model.readings.heads.head_maps import (
    MAP_READINGS,
    Detail,
    Pair,
    agreement,
    detail,
    head_map,
    link_weights,
    maps_of_heads,
    mean_map,
    word_pair,
)
from model.readings.heads.head_metrics import (
    METRICS,
    Rows,
    applicable_metrics,
    metrics_of,
    order,
    order_label,
    ordered,
    orders,
)
from model.readings.heads.head_roles import match_roles
from model.trace import ATTENTION_KINDS, SITE_KINDS, Site, Trace, site_kind
from viz import theme
from viz.kit import mount, thumbnails

if TYPE_CHECKING:
    from model.text.head_statistics import HeadsOverCorpus
    from model.text.measurements import AlignmentRates
    from model.text.route_heads import RouteHeads
    from viz.state.view import View

TITLES = {kind: of.name[:1].upper() + of.name[1:] for kind, of in SITE_KINDS.items()}
TERMS = {"weights": "attention weight", "contribution": "contribution", "rollout": "rollout"}  # of the measures
PLACES = {  # of metrics whose value is a share of a head's weight
    "previous": "the previous token",
    "same": "the same token",
    "next": "the next token",
    "start": "<s>",
    "end": "</s>",
    "punctuation": "punctuation",
}
PAGE_LAYOUT = {  # pages outside of the lab have other values
    "hasInside": True,
    "isBeside": False,
    "isHeadFirst": False,
    "hideLabel": "Hide <s>, </s> and punctuation",
}
HALF = 0.5  # share of a head's weight that counts in the answer
IN_ANSWER = 2  # places that the answer names
TOLD = ("label", "unit", "meaning", "digits", "order")  # of a metric


def grids(
    trace: Trace,
    mode: theme.Mode,
    aligned: AlignmentRates | None = None,
    routes: RouteHeads | None = None,
    corpus: HeadsOverCorpus | None = None,
) -> list[dict[str, Any]]:
    """Returns for each kind of attention all its heads (`thumbnails.grid`) with their numbers.

    `numbers` by the names of those `METRICS` that differ between these heads; `orders`: their places in each order that
    does; `roles`: names and sentences of those that each head has, over a `corpus` where there is one. Known from many
    sentences are also how well a head of
    cross-attention aligns, and how often a head carries a route.
    """
    made = []
    for kind in ATTENTION_KINDS:
        sites = trace.sites(kind)
        if not sites:
            continue
        weights, allowed = thumbnails.stack(trace, kind)
        heads = len(trace.patterns[sites[0]])
        real = [t for t, label in enumerate(_rows(trace, kind)) if label != "<pad>"]
        keys = trace.keys(sites[0])
        told = applicable_metrics(allowed, keys, site_kind(kind).is_self, real)
        rows = Rows.of(weights, keys, None if len(real) == weights.shape[1] else real, allowed)
        numbers = metrics_of(rows, told)
        roles = match_roles(rows) if site_kind(kind).is_self else [[] for _ in weights]
        places = [divmod(n, heads) for n in range(len(weights))]
        roles = [[*route_roles(routes, kind, *place), *each] for place, each in zip(places, roles, strict=True)]
        if corpus is not None:
            roles = [corpus_roles(head, routes) for head in corpus.of_kind(kind)]
        told_of = [[[role.name, role.sentence] for role in each] for each in roles]
        if kind == "cross" and aligned is not None and aligned.covers(len(sites), heads):
            told_of = [[*told, alignment(aligned, *divmod(n, heads))] for n, told in enumerate(told_of)]
        more = {
            "title": TITLES[kind],
            "numbers": {name: [_number(value) for value in values] for name, values in numbers.items()},
            "orders": {
                by: ordered(METRICS[by], numbers[by]) if by in METRICS else order(weights, by)
                for by in orders()
                if by not in METRICS or by in told
            },
            "roles": told_of,
            "rolesFrom": "on this text" if corpus is None else f"over {corpus.summary.sentences:,} sentences",
        }
        made.append(thumbnails.grid(trace, kind, mode) | more)
    return made


def answer(made: Sequence[Mapping[str, Any]], names: Mapping[str, str] = PLACES) -> dict[str, str]:
    """Returns one sentence about all heads of `grids`, and how its numbers are computed. `names` are those of `PLACES`."""
    shares: dict[str, list[float]] = {
        name: [value for grid in made for value in grid["numbers"].get(name, ()) if value is not None] for name in names
    }
    counts = {name: sum(value >= HALF for value in values) for name, values in shares.items()}
    heads = sum(len(grid["places"]) for grid in made)
    most = sorted(filter(counts.get, counts), key=lambda name: -counts[name])[:IN_ANSWER]
    note = "The share of each head is the mean over the rows of this text that have such a token."
    if most:
        first, *others = (f"{counts[name]} {{}}on {names[name]}" for name in most)
        verb = "puts" if counts[most[0]] == 1 else "put"
        whose = "its" if counts[most[0]] == 1 else "their"
        parts = (first.format(f"{verb} at least half of {whose} weight "), *(each.format("") for each in others))
        return {"text": f"Of {heads} {'head' if heads == 1 else 'heads'}, {', '.join(parts)}.", "note": note}
    largest = max(((max(values), name) for name, values in shares.items() if values), default=None)
    if largest is None:
        return {"text": f"{heads} {'head' if heads == 1 else 'heads'}, and no token to look at.", "note": note}
    none = f"Of {heads} {'head' if heads == 1 else 'heads'}, none puts half of its weight on itself, a neighbour or a sign"
    return {"text": f"{none}: at most {min(largest[0], HALF - 0.006):.2f}, on {names[largest[1]]}.", "note": note}


def _number(value: float) -> float | None:
    """A number of a head, None where the head has no row with such a number."""
    return None if math.isnan(value) else round(float(value), 5)


def alignment(aligned: AlignmentRates, layer: int, head: int) -> list[str]:
    """Returns how well a head (from 0) aligns words, as a name and a sentence."""
    place, count = aligned.rank(layer, head)
    return [
        f"alignment error rate {aligned.best_row(layer, head)[1].error:.2f}, {place} of {count}",
        aligned.describe(layer, head),
    ]


def _rows(trace: Trace, kind: str) -> tuple[str, ...]:
    return trace.axis(site_kind(kind).query_side).labels


def drawn_map(
    trace: Trace, norms: Mapping[Site, np.ndarray], view: View, kind: str
) -> tuple[Detail, dict[str, np.ndarray], int, dict[str, float]]:
    """Returns the chosen map of a kind of site as it is drawn, the map in every measure, its layer from 1, and how far the
    measures agree."""
    sites = sorted(site for site in trace.patterns if site.kind == kind)
    site = view.site_of(sites)
    maps = {measure: _map(trace, norms, view, kind, site, measure) for measure in MAP_READINGS}  # [T,S], or [N,T,S] of heads
    allowed = np.any([trace.mask(each, view.merged_head) for each in view.sites_of(sites)], axis=0)
    how = (allowed, view.merge, view.hide, view.mass / 100)
    wanted = MAP_READINGS if view.merge else (view.measure,)
    drawn = {measure: detail(trace, kind, maps[measure], *how) for measure in wanted}
    flat = {measure: each.max(0) if each.ndim == 3 else each for measure, each in maps.items()}
    readings = {measure: (drawn[measure].values if view.merge else flat[measure]) for measure in MAP_READINGS}
    return drawn[view.measure], readings, site.layer + 1, agreement(flat, allowed)


def is_max(view: View, measure: str) -> bool:
    """True if the view shows the largest values of several heads in a measure. A rollout has combined the heads already."""
    return view.combine == "max" and (view.merges_layers or view.head is None) and measure != "rollout"


def _map(trace: Trace, norms: Mapping[Site, np.ndarray], view: View, kind: str, site: Site, measure: str) -> np.ndarray:
    if is_max(view, view.measure) and measure != "rollout":
        layer = None if view.merges_layers else site.layer
        return maps_of_heads(trace, norms, kind, layer, measure, view.merged_head)
    if view.merges_layers:
        return mean_map(trace, norms, kind, measure, view.merged_head)
    return head_map(trace, norms, site, view.head, measure)


def chosen(trace: Trace, norms: Mapping[Site, np.ndarray], view: View) -> dict[str, Any]:
    """Returns the map of the chosen head, or of several heads, as it is drawn. Without a layer it is merged over layers."""
    drawn, readings, layer, agreed = drawn_map(trace, norms, view, view.kind)
    firsts = _firsts(trace, view.kind, view.merge)
    return {
        "kind": view.kind,
        "layer": None if view.merges_layers else layer,
        "head": None if view.merged_head is None else view.merged_head + 1,
        "measure": view.measure,
        "combine": "max" if is_max(view, view.measure) else "mean",
        "term": None if is_max(view, view.measure) else TERMS[view.measure],  # of a map whose rows sum to one
        "readAs": view.measure
        + _largest(trace, view)
        + (_off(trace, norms, view) if view.measure == "contribution" else ""),
        **_drawn(drawn),
        "queries": _sided(drawn.queries, trace, view.kind, "queries", firsts),
        "keys": _sided(drawn.keys, trace, view.kind, "keys", firsts),
        "firsts": firsts,
        "row": None if site_kind(view.kind).query_side == "source" else drawn.rows[view.within(len(drawn.rows)).step],
        "rows": None if site_kind(view.kind).query_side == "source" else list(drawn.rows),
        "agreement": {name: None if np.isnan(value) else round(value, 3) for name, value in agreed.items()},
        "readings": {measure: mount.floats(each) for measure, each in readings.items()},
        "mass": view.mass,
        "merge": view.merge,
        "hide": view.hide,
        "byRow": view.by_row,
    }


def _largest(trace: Trace, view: View) -> str:
    """Returns what a map of largest values is; empty for other maps."""
    if not is_max(view, view.measure):
        return ""
    sites = trace.sites(view.kind)
    count = sum(len(trace.patterns[site]) if view.merged_head is None else 1 for site in view.sites_of(sites))
    return f"; each cell: the largest of {count} heads. Rows need not add up to 1"


def _off(trace: Trace, norms: Mapping[Site, np.ndarray], view: View) -> str:
    """Which of the heads that are shown are switched off, and so contribute nothing; empty where none is."""
    sites = sorted(site for site in trace.patterns if site.kind == view.kind)
    by_site = [norms[site].reshape(len(norms[site]), -1).any(axis=-1) for site in view.sites_of(sites)]
    on = np.concatenate([heads if view.merged_head is None else heads[[view.merged_head]] for heads in by_site])
    if view.head is not None and not view.merges_layers:
        return "" if on[0] else "; this head is switched off and contributes nothing"
    off = int((~on).sum())
    return (
        f"; {off} of {len(on)} heads {'is' if off == 1 else 'are'} switched off and count{'s' * (off == 1)} 0" if off else ""
    )


def _firsts(trace: Trace, kind: str, merge: bool) -> dict[str, list[int]]:
    """The first token of each row and of each column."""
    sides = {"queries": trace.axis(site_kind(kind).query_side), "keys": trace.axis(site_kind(kind).key_side)}
    return {
        name: [axis.word_numbers.index(word) for word in dict.fromkeys(axis.word_numbers)]
        if merge
        else list(range(len(axis)))
        for name, axis in sides.items()
    }


def _sided(labels: Sequence[str], trace: Trace, kind: str, name: str, firsts: dict[str, list[int]]) -> list[str]:
    """Labels with the sentence that each belongs to, where there are two."""
    of_source = getattr(site_kind(kind), {"queries": "query_side", "keys": "key_side"}[name]) == "source"
    return label_sentences(labels, trace.source if of_source else None, firsts[name])


def found(trace: Trace, view: View) -> dict[str, Any] | None:
    """The two tokens whose heads are looked for (`query`, `key`: from 0; `cell`: theirs in the map as it is drawn), the
    weight that each head gives, layer by layer, to five decimals, their order, and how many are in a near-tie with the
    first; why there is none; None where nothing is looked for."""
    if view.find is None:
        return None
    pair = Pair(*view.find)
    try:
        weights = link_weights(trace, pair, view.merge)
    except ValueError as fault:
        return {"fault": str(fault)}
    order = np.argsort(-weights, kind="stable").tolist()
    best = float(weights[order[0]])
    return {
        "kind": pair.kind,
        "order": order,
        "near": sum(is_near_tie(best, float(weights[n])) for n in order[1:]),
        "query": pair.query,
        "key": pair.key,
        "cell": list(word_pair(trace, pair)) if view.merge else [pair.query, pair.key],
        "weights": np.round(weights.astype(float), 5).tolist(),
    }


def together(trace: Trace, norms: Mapping[Site, np.ndarray], view: View) -> dict[str, Any]:
    """All kinds of site that there are, each at the chosen layer and head (or the last layer it has), for one picture:
    source tokens on the left, target rows on the right."""
    kinds = [kind for kind in ATTENTION_KINDS if any(site.kind == kind for site in trace.patterns)]
    drawn = {kind: drawn_map(trace, norms, view, kind)[0] for kind in kinds}
    maps = {kind: _drawn(each) for kind, each in drawn.items()}
    source = drawn["encoder"].keys if "encoder" in drawn else ()
    target = drawn.get("decoder")
    rows = list(target.rows) if target else None
    row = rows[view.within(len(rows)).step] if rows else None
    return {"maps": maps, "source": list(source), "target": list(target.queries) if target else [], "row": row, "rows": rows}


def _drawn(drawn: Detail) -> dict[str, Any]:
    return {
        "shape": list(drawn.values.shape),
        "values": mount.floats(drawn.values),
        "allowed": mount.cells(drawn.allowed),
        "kept": mount.cells(drawn.lines),
    }


def thumbnail_data(
    trace: Trace,
    mode: theme.Mode,
    aligned: AlignmentRates | None = None,
    routes: RouteHeads | None = None,
    corpus: HeadsOverCorpus | None = None,
) -> dict[str, Any]:
    """Returns what does not change with the choice of a head, with an `id` of its content."""
    made = grids(trace, mode, aligned, routes, corpus)
    name = hashlib.blake2b(mode.encode(), digest_size=12)
    name.update(repr([*METRICS]).encode())
    for grid in made:
        name.update(
            repr((grid["kind"], grid["queries"], grid["keys"], grid["places"], grid["orders"], grid["roles"])).encode()
        )
        name.update(grid["bytes"].encode())
    return {"id": name.hexdigest(), "grids": made, "answer": answer(made)}


def payload(trace: Trace, norms: Mapping[Site, np.ndarray], view: View, mode: theme.Mode) -> dict[str, Any]:
    """Returns what the browser needs besides the thumbnails, as JSON values."""
    return {
        **dict.fromkeys(("large", "sites", "by")),  # of lecture mode
        **PAGE_LAYOUT,
        "order": view.order,
        "orderings": [[by, order_label(by)] for by in dict.fromkeys((*orders(trace.has_two_sentences), view.order))],
        "step": view.step + 1,
        "find": found(trace, view),
        "chosen": chosen(trace, norms, view),
        "together": together(trace, norms, view) if view.together else None,
        "metrics": [{"name": name} | {field: getattr(each, field) for field in TOLD} for name, each in METRICS.items()],
    }


COMPONENT = mount.Component(__file__, '<div class="all-heads"></div>', term_names=tuple(TERMS.values()))
