"""Translate as a file: the timeline with its candidates, and the three maps of any layer and head."""

from __future__ import annotations

import dataclasses

from model.trace import KINDS, Site
from viz import theme
from viz.cache import PageData
from viz.offline.parts import Choice, Part, Pick, Taken
from viz.shared import file_maps
from viz.translate import candidates, timeline
from viz.view import View


def parts(page_data: PageData, found: None, view: View, mode: theme.Mode) -> tuple[Part, ...]:
    """The components of a view. Nothing leads to another page, and nothing is chosen anew."""
    analysis, loaded = page_data.analysis, page_data.loaded
    head = None if view.head is None else view.head - 1
    kinds = [kind for kind in KINDS if Site(kind, view.layer - 1) in analysis.whole.patterns]
    seen = [(kind, analysis.whole.view(Site(kind, view.layer - 1), head)) for kind in kinds]
    maps = [file_maps.one(theme.SITE_NAMES[kind], each, kind, mode, view.show == "mask") for kind, each in seen]
    drawn = file_maps.part(maps, view.step)
    if not {"decoder", "cross"} <= set(analysis.trace.kinds):
        return (drawn,)
    shown = timeline.payload(analysis, loaded, view.layer - 1, head, view.step, mode)
    silent = {"why": [each | {"asked": False, "to": None} for each in shown["why"]]}
    rows = candidates.payload(analysis, loaded.target_tokenizer, view.controls, shown["trace"])
    follow = {"step": shown["step"], "guess": False}
    steps = follow | {"rows": view.rows, "reasons": [None] * len(shown["target"])}
    return (
        timeline.COMPONENT.part(shown, silent, steps),
        candidates.COMPONENT.part(rows, follow, {"fault": ""}),
        drawn,
    )


def _choices(page_data: PageData) -> tuple[Choice, ...]:
    places = [(layer + 1, head) for layer in range(page_data.layers) for head in _heads(page_data)]
    views = [dataclasses.replace(page_data.view, layer=layer, head=head) for layer, head in places]
    return (Choice(("layer", "head"), {view: view for view in views}),)


def _heads(page_data: PageData) -> list[int | None]:
    return [None, *range(1, page_data.loaded.config.heads + 1)]


def _picks(page_data: PageData) -> tuple[Pick, ...]:
    layers = tuple((layer + 1, str(layer + 1)) for layer in range(page_data.layers))
    heads = tuple((head, "mean" if head is None else str(head)) for head in _heads(page_data))
    return Pick("layer", "Layer", layers, "file_maps"), Pick("head", "Head", heads, "file_maps")


TAKEN = Taken(parts, choices=_choices, picks=_picks, rounded=file_maps.ROUNDED)
