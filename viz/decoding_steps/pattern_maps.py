"""The maps of one layer and head, and the effect of the edits."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from model.export.csv_tables import Table, map_table, site_code
from model.trace import Site
from viz import computations, theme
from viz.classroom import lecture
from viz.decoding_steps import decoding_controls, decoding_texts, lecture_keys
from viz.decoding_steps.steps import TIMELINE_NAMES
from viz.decoding_steps.timeline import trace_name
from viz.kit import glosses, patterns, site_texts
from viz.kit.chart_figures import change_chart
from viz.kit.offline_parts import Choice, Pick
from viz.kit.panel import FileOptions, Panel, Picture
from viz.page_context import PageContext
from viz.save.saved_files import change_table
from viz.state import session

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from model.experiments.effects import TargetPadding
    from model.export.code import Code
    from model.inference.analysis import Analysis
    from model.trace import MapView

CHART_HEIGHT = 210  # px
MAX_VIEWS = 80  # layers times heads in an HTML file; with more, the file has one layer


def padding(context: PageContext) -> TargetPadding | None:
    """Returns the target with the padding of its batch, or None."""
    return computations.run(computations.TARGET_PADDING(), context)


def seen_map(
    analysis: Analysis, padded: TargetPadding | None, site: Site, head: int | None
) -> tuple[MapView, np.ndarray | None]:
    """Returns a map, and its mask without the edits; with the padding that follows the target in its batch."""
    if padded is None or site.spec.query_side != "target":
        return patterns.label_map(analysis.trace.view(site, head), analysis.trace, site), analysis.baseline_mask(site, head)
    return padded.trace.view(site, head), None if analysis.baseline is None else padded.before.mask(site, head)


def _maps(context: PageContext, padded: TargetPadding | None) -> dict[Site, tuple[MapView, np.ndarray | None]]:
    """Returns the maps of the layer, and their masks without the edits."""
    analysis, layer = context.analysis, context.view.layer
    sites = [site for kind in analysis.trace.kinds if (site := Site(kind, layer)) in analysis.trace.patterns]
    return {site: seen_map(analysis, padded, site, context.view.head) for site in sites}


def _payload(context: PageContext, padded: TargetPadding | None) -> dict[str, Any]:
    analysis, is_mask = context.analysis, context.view.show == "mask"
    maps = []
    for site, (seen, former) in _maps(context, padded).items():
        candidates = None
        if site.spec.query_side == "target":
            piece = context.loaded.output_vocabulary.piece
            candidates = patterns.top_candidates(analysis.trace.log_probs, piece, len(seen.queries))
        title = theme.SITE_NAMES[site.kind]
        payload = patterns.pattern(seen, site.kind, title, masked=is_mask, former=former, candidates=candidates)
        payload["heads"] = site.head_name(context.view.head)
        payload["picture"] = f"{site.spec.name} {'mask' if is_mask else 'map'}".capitalize()
        payload["words"] = glosses.map_words(analysis.trace, site, context.loaded.languages[1])
        if not analysis.task.has_decoder:  # the steps are positions of the text
            payload["follows"] = True
        maps.append(payload)
    return patterns.map_data(maps, 0, context.mode, alike=True)


def _caption(context: PageContext, padded: TargetPadding | None) -> str:
    pads, view = padded.pads if padded else 0, context.view
    if view.show == "attention":  # the large map says the rest
        return decoding_texts.row_notes(context.analysis, pads)
    maps = _maps(context, padded)
    absent = [kind for kind in context.analysis.trace.kinds if Site(kind, view.layer) not in maps]
    names = " and ".join(theme.SITE_NAMES[kind].lower() for kind in absent)
    lacks = f'<p class="lab-note">This checkpoint has no layer {view.layer + 1} in {names}.</p>' if absent else ""
    if not maps:
        return lacks
    is_blank = any(not seen.allowed.all() for seen, _ in maps.values())
    return lacks + decoding_texts.map_caption(context.analysis, is_blank, pads)


def _large(context: PageContext, padded: TargetPadding | None) -> dict[str, Any]:
    """Returns the values of lecture mode; the maps follow the step of the timeline, if there is one."""
    analysis = context.analysis
    return {"large": True, "trace": None if analysis.task.is_classifier else trace_name(analysis)}


def _keys(context: PageContext, padded: TargetPadding | None) -> None:
    other = "attention" if context.view.show == "mask" else "mask"
    does = f"the maps show {'masks' if other == 'mask' else 'weights'}"
    lecture.add_key(lecture.SHOWS, does, lambda: session.change(show=other), quiet=True)
    lecture_keys.add_keys(context, padded)


def _tables(context: PageContext, padded: TargetPadding | None) -> tuple[Table, ...]:
    head, is_mask = context.view.head, context.view.show == "mask"
    name = "mask" if is_mask else "attention"
    return tuple(
        map_table(f"{name}-{site_code(site, head)}", seen, seen.allowed.astype(int) if is_mask else None)
        for site, (seen, _) in _maps(context, padded).items()
    )


def _code(code: Code, context: PageContext, padded: TargetPadding | None) -> None:
    head = context.view.head
    code.add("trace = analysis.trace")
    if padded is not None:  # the maps of the decoder have the padding of the batch
        code.add("padded = target_padding(checkpoint, analysis).trace", model__experiments__effects=("target_padding",))
    code.add("maps = {")
    for site in _maps(context, padded):
        name = "padded" if padded is not None and site.spec.query_side == "target" else "trace"
        code.add(f"    {site.kind!r}: {name}.view({code.site(site)}, {head}),", site.head_name(head))
    code.add("}")


def _heads(context: PageContext) -> list[int | None]:
    return [None, *range(context.loaded.config.heads)]


def _layers(context: PageContext) -> range:
    """Returns the layers that can be chosen in the file."""
    is_one = context.layers * len(_heads(context)) > MAX_VIEWS
    return range(context.view.layer, context.view.layer + 1) if is_one else range(context.layers)


def _choices(context: PageContext) -> tuple[Choice, ...]:
    places = [(layer, head) for layer in _layers(context) for head in _heads(context)]
    views = [dataclasses.replace(context.view, layer=layer, head=head) for layer, head in places]
    return (Choice(("layer", "head"), {view: view for view in views}),)


def _picks(context: PageContext) -> tuple[Pick, ...]:
    layers = tuple((layer + 1, str(layer + 1)) for layer in _layers(context))
    heads = tuple((None, "mean") if head is None else (head + 1, str(head + 1)) for head in _heads(context))
    if len(layers) < context.layers:
        label = f"Head of layer {context.view.layer + 1} of {context.layers}, the one that this file holds"
        return (Pick("head", label, heads, "file_maps"),)
    return Pick("layer", "Layer", layers, "file_maps"), Pick("head", "Head", heads, "file_maps")


def shows_maps(context: PageContext) -> bool:
    """True if the lower part of the page shows maps."""
    return context.view.show in ("attention", "mask") and not decoding_controls.hides_tokens(context)


MAPS = Panel(
    "translate.maps",
    "Maps of one head",
    patterns.COMPONENT,
    _payload,
    reads=("layer", "head", "show"),
    follow=lambda context, padded: {"step": context.view.step + 1},
    compute=padding,
    tables=_tables,
    code=_code,
    is_visible=shows_maps,
    is_on_page=lambda context: context.view.show == "mask",  # the page draws one map large, with all heads beside it
    pictures=(Picture("Maps", ".maps", _large, others=TIMELINE_NAMES, fields={"show": "attention"}),),
    bar=lecture_keys.draw_fact,
    keys=_keys,
    file=FileOptions(choices=_choices, picks=_picks, rounded=patterns.ROUNDED),
)
CAPTION = Panel("translate.caption", "How to read the maps", compute=padding, text=_caption, is_visible=shows_maps)


def _draw_changes(context: PageContext, result: Any) -> None:
    """Draws the changed decisions, and both translations if tokens were chosen again."""
    site_texts.changed_decisions(context.analysis, context.loaded.output_vocabulary)
    if context.analysis.request.mode == "again":
        site_texts.both_translations(context.analysis, context.loaded)


def _change_figure(context: PageContext, result: Any) -> go.Figure:
    change = context.analysis.probability_change
    return change_chart(change.labels, change.before, change.after, len(change.after), context.mode, CHART_HEIGHT)


def _change_code(code: Code, context: PageContext, result: Any) -> None:
    if context.analysis.task.is_classifier:
        return
    code.add("before = analysis.baseline.trace.probabilities")
    code.add("after = np.exp(analysis.baseline_token_log_probs)", "of the same tokens, under the edits", numpy=("np",))


CHANGE = Panel(
    "translate.change",
    "Probability of each token before and after",
    figure=_change_figure,
    alt=lambda context, result: site_texts.change_alt(context.analysis),
    reads=(),
    text=lambda context, result: decoding_texts.change_heading(context.analysis),
    details=_draw_changes,
    tables=lambda context, result: (change_table(context.analysis),),
    code=_change_code,
    is_visible=lambda context: context.analysis.baseline is not None and not decoding_controls.hides_tokens(context),
    pictures=(Picture(""),),
)
