"""The numbers of the page Heads, and the lines of Python that compute them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from model.export.code import Code
from model.export.csv_tables import Cell, Table, map_table, site_code
from model.readings.heads.head_maps import Pair, link_weights
from model.readings.heads.head_metrics import METRICS, applicable_metrics, head_metrics
from model.trace import MapView as TraceView
from model.trace import Site, Trace
from viz import computations
from viz.heads.all_heads import drawn_map

if TYPE_CHECKING:
    from viz.page_context import PageContext
    from viz.state.view import View


def tables(context: PageContext) -> tuple[Table, ...]:
    """The map of the head that is chosen, as it is drawn, and the numbers of all heads."""
    view, trace = context.view, context.analysis.trace
    kind = view.kind if view.kind in trace.kinds else trace.kinds[0]
    norms = computations.value_norms(context.analysis.request, view.device)
    drawn = drawn_map(trace, norms, view, kind)[0]
    own = map_table(
        f"{view.measure}-{_name(trace, view, kind)}", TraceView(drawn.values, drawn.allowed, drawn.queries, drawn.keys)
    )
    return own, _numbers(trace, view)


def _site(trace: Trace, view: View, kind: str) -> Site:
    """The one that is shown: a kind with fewer layers shows its last."""
    return view.site_of(trace.sites(kind))


def _head(view: View) -> int | None:
    return view.head


def _name(trace: Trace, view: View, kind: str) -> str:
    return f"{kind}-mean-of-all" if view.average else site_code(_site(trace, view, kind), _head(view))


def _numbers(trace: Trace, view: View) -> Table:
    """Every metric of every head, blank where it says nothing; the weight on the link that is looked for."""
    rows: list[tuple[Cell, ...]] = []
    names = [name for name, metric in METRICS.items() if trace.has_two_sentences or not metric.of_two]
    pair = None if view.find is None else Pair(*view.find)
    for kind in trace.kinds:
        sites = trace.sites(kind)
        real = [t for t, label in enumerate(trace.axis(sites[0].spec.query_side).labels) if label != "<pad>"]
        allowed, keys = np.any([trace.masks[site] for site in sites], axis=0), trace.keys(sites[0])
        told = applicable_metrics(allowed, keys, sites[0].spec.is_self, real)
        found = [head_metrics(trace.patterns[site], keys, real, trace.masks[site]) for site in sites]  # [H] of each metric
        weights = _linking(trace, pair, view.merge) if pair and pair.kind == kind else None
        for layer, values in enumerate(found):
            heads = len(trace.patterns[sites[layer]])
            for head in range(heads):
                numbers = (_cell(values[name][head]) if name in told else None for name in names)
                link = () if pair is None else (None if weights is None else float(weights[layer * heads + head]),)
                rows.append((kind, layer + 1, head + 1, *numbers, *link))
    columns = ("attention", "layer", "head", *names, *(("link",) if pair else ()))
    return Table("heads", columns, tuple(rows))


def _cell(value: float) -> Cell:
    return None if math.isnan(value) else float(value)


def _linking(trace: Trace, pair: Pair, merge: bool) -> np.ndarray | None:
    try:
        return link_weights(trace, pair, merge)
    except ValueError:  # a token that this sentence has not
        return None


def python(context: PageContext) -> str:
    """The same as Python."""
    view, trace = context.view, context.analysis.trace
    kind = view.kind if view.kind in trace.kinds else trace.kinds[0]
    code = Code.of(context.analysis.request, view.device)
    code.add("trace = analysis.trace")
    code.add("norms = value_norms(checkpoint, analysis)", model__readings__tokens__token_attribution=("value_norms",))
    site = _site(trace, view, kind)
    if view.average:
        code.add(
            f"values = mean_map(trace, norms, {kind!r}, {view.measure!r})", model__readings__heads__head_maps=("mean_map",)
        )
        code.add(f"allowed = np.any([trace.masks[site] for site in trace.sites({kind!r})], axis=0)", numpy=("np",))
    else:
        code.add(
            f"values = head_map(trace, norms, {code.site(site)}, {_head(view)}, {view.measure!r})",
            f"layer {site.layer + 1}, {'mean over heads' if view.head is None else f'head {view.head + 1}'}",
            model__readings__heads__head_maps=("head_map",),
        )
        code.add(f"allowed = trace.mask({code.site(site)}, {_head(view)})")
    if view.merge:
        code.add(
            f"queries, keys = trace.axis({site.spec.query_side!r}).word_numbers, "
            f"trace.axis({site.spec.key_side!r}).word_numbers"
        )
        code.add(
            "values = merge_words(values, queries, keys)",
            "pieces into words",
            model__readings__heads__head_maps=("merge_words",),
        )
    code.add("# of every head of a layer, by the name of the metric: [H]")
    code.uses(model__readings__heads__head_metrics=("head_metrics",))
    code.add("numbers = {")
    code.add("    site: head_metrics(")
    code.add("        trace.patterns[site],")
    code.add("        trace.keys(site),")
    code.add("        [t for t, label in enumerate(trace.axis(site.spec.query_side).labels) if label != '<pad>'],")
    code.add("        trace.masks[site],")
    code.add("    )")
    code.add("    for site in trace.patterns")
    code.add("}")
    return code.text
