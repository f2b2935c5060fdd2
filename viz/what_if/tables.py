"""The numbers of the page What if, and the lines of Python that compute them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from model.export.code import Code
from model.export.csv_tables import Table, map_table, site_code
from model.trace import Site
from viz import computations
from viz.save.number_tables import change_table
from viz.state.view import without_edits

if TYPE_CHECKING:
    from viz.page_context import PageContext


def tables(context: PageContext) -> tuple[Table, ...]:
    """What the edits changed at each step, what each head costs when it is off, the maps of the head before and after."""
    found = [] if context.analysis.trace.outputs is None else [change_table(context.analysis)]
    return (*found, _costs(context), *_maps(context))


def _costs(context: PageContext) -> Table:
    """Without the edits: every head switched off alone."""
    effects = computations.head_effects(without_edits(context.request), context.view.device, lambda share: None)
    rows = tuple((e.site.kind, e.site.layer + 1, e.head + 1, e.change, e.scored_tokens) for e in effects)
    return Table("heads-off", ("attention", "layer", "head", "change_of_log_probability", "scored_tokens"), rows)


def _place(context: PageContext) -> tuple[Site, int | None] | None:
    """The site and the head that is shown, None where the checkpoint has no such layer here."""
    view = context.view
    site = Site(view.kind, view.layer)  # type: ignore[arg-type]
    return (site, view.head) if site in context.analysis.trace.patterns else None


def _maps(context: PageContext) -> list[Table]:
    place = _place(context)
    if place is None:
        return []
    base = context.analysis.baseline or context.analysis
    before, after = (each.trace.view(*place) for each in (base, context.analysis))
    name = site_code(*place)
    found = [map_table(f"before-{name}", before), map_table(f"after-{name}", after)]
    if (before.queries, before.keys) == (after.queries, after.keys):
        found.append(map_table(f"difference-{name}", after - before))
    return found


def python(context: PageContext) -> str:
    """The same as Python."""
    analysis, view = context.analysis, context.view
    code = Code.of(analysis.request, view.device)
    edited = analysis.baseline is not None
    code.add(f"baseline = analysis{'.baseline' if edited else ''}")
    if analysis.trace.outputs is not None:
        code.add("before = baseline.trace.probabilities")
        code.add("after = np.exp(analysis.baseline_token_log_probs)", "up to where the translations part", numpy=("np",))
    if place := _place(context):
        site, head = place
        code.add(f"site, head = {code.site(site)}, {head}", "both from 0; None: the mean")
        code.add("map_before, map_after = (each.trace.view(site, head) for each in (baseline, analysis))")
    plain = without_edits(analysis.request)
    alone = code.request(plain)
    code.add(f"costs = head_effects(checkpoint, {alone})", "every head off alone", model=("head_effects",))
    code.add("print(baseline.translation, analysis.translation, sep='\\n')")
    return code.text
