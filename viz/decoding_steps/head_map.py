"""All heads of a kind of attention as thumbnails, and the chosen head large. In lecture mode and files the maps of all kinds
stand side by side instead (`pattern_maps`)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from model.trace import Site, Trace
from viz import theme
from viz.decoding_steps import pattern_maps
from viz.decoding_steps.timeline import SWITCHED_OFF, trace_name
from viz.kit import glosses, mount, patterns, thumbnails
from viz.kit.panel import Panel, Picture
from viz.page_context import PageContext
from viz.state import navigation, session
from viz.state.view import View

if TYPE_CHECKING:
    from model.experiments.effects import TargetPadding


ACTS = ("compute", "rollout")  # where the map leads; the static site blocks a link instead


def kind_of(view: View, trace: Trace) -> str:
    """Returns the kind of attention of the map: the view's, or the last one of a model without it."""
    return view.map_kind if view.map_kind in trace.kinds else trace.kinds[-1]


def _site(view: View, trace: Trace) -> Site:
    return view.site_of(trace.sites(kind_of(view, trace)))


def _thumbnails(context: PageContext, padded: TargetPadding | None) -> dict[str, Any]:
    analysis, kind = context.analysis, kind_of(context.view, context.analysis.trace)
    edits, heads = (
        analysis.request.intervention,
        [(site, head) for site in analysis.trace.sites(kind) for head in range(len(analysis.trace.patterns[site]))],
    )
    off = [number for number, (site, head) in enumerate(heads) if edits.is_off(site, head)]
    return {
        "id": f"{trace_name(analysis)} {kind} {context.mode}",
        "grids": [thumbnails.grid(analysis.trace, kind, context.mode) | {"off": off}],
        "kinds": [[each, theme.SITE_NAMES[each]] for each in analysis.trace.kinds],
    }


def _payload(context: PageContext, padded: TargetPadding | None) -> dict[str, Any]:
    analysis, view = context.analysis, context.view
    site = _site(view, analysis.trace)
    shown, former = pattern_maps.seen_map(analysis, padded, site, view.head)
    candidates = None
    if site.spec.query_side == "target":
        piece = context.loaded.output_vocabulary.piece
        candidates = patterns.top_candidates(analysis.trace.log_probs, piece, len(shown.queries))
    pattern = patterns.pattern(shown, site.kind, site.head_name(view.head), former=former, candidates=candidates)
    pattern["picture"] = f"{site.spec.name} map".capitalize()
    pattern["words"] = glosses.map_words(analysis.trace, site, context.loaded.languages[1])
    if not analysis.task.has_decoder:  # the steps are positions of the text
        pattern["follows"] = True
    number = None if view.head is None else view.head + 1
    is_off = analysis.request.intervention.is_off(site, view.head)
    return {
        "pattern": pattern,
        "chosen": {"kind": site.kind, "layer": site.layer + 1, "head": number, "off": SWITCHED_OFF if is_off else ""},
        "trace": None if analysis.task.is_classifier else trace_name(analysis),
        "step": view.step + 1,
        "together": False,
        "acts": ACTS,
    }


def _events(context: PageContext, padded: TargetPadding | None) -> dict[str, mount.Event]:
    trace = context.analysis.trace
    return {
        "kind": (mount.one_of(trace.kinds), lambda kind: session.change(map_kind=kind)),
        "choose": (partial(thumbnails.read_head, trace), _choose),
        "compute": (partial(_read_cell, trace, _site(context.view, trace)), _show_computation),
        "rollout": (mount.one_of(trace.kinds), _show_rollout),
    }


def _choose(kind: str, layer: int, head: int | None) -> None:
    session.change(map_kind=kind, layer=layer, head=head)


def _read_cell(trace: Trace, site: Site, event: Any) -> tuple[Site, int, int] | None:
    """Returns the site of a map, and a row and a column of it."""
    rows, columns = trace.patterns[site].shape[1:]
    query, key = mount.from_one(rows)(event["query"]), mount.from_one(columns)(event["key"])
    return None if query is None or key is None else (site, *query, *key)


def _show_computation(site: Site, query: int, key: int) -> None:
    """Goes to the stages that compute a weight."""
    asks = {"token": query} if site.spec.query_side == "source" else {"step": query}
    head = session.current_view().head or 0
    session.change(part="stages", stage=View.stage, kind=site.kind, layer=site.layer, head=head, key=key, **asks)
    navigation.go_to("inside")


def _show_rollout(kind: str) -> None:
    """Goes to the rollout of a kind of attention."""
    session.change(kind=kind, measure="rollout")
    navigation.go_to("heads")


HEAD_MAP = Panel(
    "translate.heads",
    "Attention of one head",
    mount.Component(__file__, '<div class="head-map"></div>', picture="Attention of one head"),
    _payload,
    _events,
    constant=_thumbnails,
    constant_reads=("map_kind",),
    reads=("layer", "head", "map_kind"),
    follow=lambda context, padded: {"step": context.view.step + 1},
    compute=pattern_maps.padding,
    is_visible=lambda context: context.view.show == "attention" and pattern_maps.shows_maps(context),
    is_on_page=lambda context: not context.view.lecture,
    pictures=(Picture(""),),
    file=None,
)
