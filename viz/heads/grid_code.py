"""The Python lines of the page Heads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from viz.heads import all_heads

if TYPE_CHECKING:
    import numpy as np

    from model.export.code import Code
    from model.trace import Site
    from viz.page_context import PageContext


def add_code(code: Code, context: PageContext, norms: Mapping[Site, np.ndarray]) -> None:
    """Adds the lines that compute the map of the chosen head, or of several heads, and the numbers of all heads."""
    view, trace = context.view, context.analysis.trace
    kind = view.kind if view.kind in trace.kinds else trace.kinds[0]
    code.add("trace = analysis.trace")
    code.add("norms = result")
    site = view.site_of(trace.sites(kind))
    of_head = f", head={view.merged_head}" if view.merges_layers and view.merged_head is not None else ""
    is_max = all_heads.is_max(view, view.measure)
    if is_max:
        layer = None if view.merges_layers else site.layer
        code.add(
            f"maps = maps_of_heads(trace, norms, {kind!r}, {layer}, {view.measure!r}{of_head})",
            "[maps, queries, keys]",
            model__readings__heads__head_maps=("maps_of_heads",),
        )
        code.add("values = maps.max(0)", "rows need not add up to 1")
    elif view.merges_layers:
        code.add(
            f"values = mean_map(trace, norms, {kind!r}, {view.measure!r}{of_head})",
            model__readings__heads__head_maps=("mean_map",),
        )
    else:
        code.add(
            f"values = head_map(trace, norms, {code.site(site)}, {view.head}, {view.measure!r})",
            site.head_name(view.head),
            model__readings__heads__head_maps=("head_map",),
        )
    if view.merges_layers:
        masks = f"[trace.mask(site, {view.merged_head}) for site in trace.sites({kind!r})]"
        code.add(f"allowed = np.any({masks}, axis=0)", numpy=("np",))
    else:
        code.add(f"allowed = trace.mask({code.site(site)}, {view.head})")
    if view.merge:
        code.add(
            f"queries, keys = trace.axis({site.spec.query_side!r}).word_numbers, "
            f"trace.axis({site.spec.key_side!r}).word_numbers"
        )
        code.add(
            "values = merge_words(maps, queries, keys).max(0)" if is_max else "values = merge_words(values, queries, keys)",
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
