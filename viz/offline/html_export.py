"""Any page as one file: which pages can be taken along, and the file of a view.

Beside its `page.py` a page's folder may hold an `offline.py`, whose `TAKEN` says how."""

from __future__ import annotations

import dataclasses
from importlib import import_module
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from model.inference.request import Request
from model.io.files import shown
from model.task import TRANSLATES, Task
from model.trace import site_kind
from viz import pages
from viz.cache import PageData
from viz.kit.offline_parts import Taken
from viz.offline.document import document
from viz.state.links import parse
from viz.state.view import View

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis

NOT_SENT = "which is not sent along: look at the screen, or open it in the lab."


def names() -> tuple[str, ...]:
    """The pages that can be taken along, in the order of the navigation."""
    return tuple(page.name for page in pages.PAGES if (pages.ROOT / page.file).with_name("offline.py").exists())


def file_of(name: str, page_data: PageData, view: View | None = None) -> bytes:
    """One HTML file of a page by its name, of the view that it shows; where none is given, that of its data.

    Raises ValueError, one sentence, for a page that cannot be taken along, and where the view has nothing to show there.
    """
    page = page_of(name, page_data.analysis.task)
    return document(page, taken_of(page), page_data if view is None else dataclasses.replace(page_data, view=view))


def same_for(name: str, page_data: PageData) -> View:
    """The view without what can be chosen or led in its file: two views that are equal by it share one.

    Raises ValueError as `file_of`, and where the file shows another part of the page.
    """
    page = page_of(name, page_data.analysis.task)
    default, taken = View(), taken_of(page)
    if not taken.holds(page_data.view):
        raise ValueError(f"The lecture is at a part of “{page.title}”, {NOT_SENT}")
    page_data = dataclasses.replace(page_data, view=taken.look(page_data))
    view, free = page_data.view, set(taken.led(page_data))
    for choice in taken.choices(page_data):
        values = tuple(getattr(view, field) for field in choice.fields)
        if any(values == tuple(getattr(each, field) for field in choice.fields) for each in choice.views):
            free.update(choice.fields)
    return dataclasses.replace(view, **{field: getattr(default, field) for field in free})


def page_of(name: str, task: Task = TRANSLATES) -> pages.Page:
    """The page of a name that can be taken along, as it is called for a task; ValueError for another."""
    if name not in names():
        raise ValueError(f"There is no page {shown(name)} that makes a file; expected one of {', '.join(names())}.")
    return next(page for page in pages.of(task) if page.name == name)


def taken_of(page: pages.Page) -> Taken:
    """How a page that can be taken along is."""
    return import_module(_module(page)).TAKEN


def _module(page: pages.Page) -> str:
    return page.file.removesuffix("page.py").replace("/", ".") + "offline"


def view_of(request: Request, checkpoint: str, query: str = "", **changes: object) -> View:
    """The view that asks for a request; all else as the query of a link and the changes, fields of the view, say. A prefix
    stands in no view.

    Raises ValueError for a query that is none.
    """
    view, faults = parse(_read(query))
    if faults:
        raise ValueError(" ".join(faults))
    decoding, intervention = request.decoding, request.intervention
    masks = {"causal_mask": intervention.causal_mask, "padding_mask": intervention.padding_mask}
    chosen = {"strategy": decoding.strategy} | decoding.settings
    asked = {
        "source": " ".join((request.source, *request.other_sentences)),
        "second": request.second,
        "target": request.target,
        "branches": request.branches,
        "path": request.path,
        "pad": request.pad,
        "mode": request.mode,
        "edits": intervention,
        "checkpoint": checkpoint,
    }
    made = dataclasses.replace(view, **(asked | masks | chosen | changes))
    read = made.sentences == (request.source, *request.other_sentences)
    return made if read else dataclasses.replace(made, split=False)


def _read(query: str) -> dict[str, str]:
    return dict(parse_qsl(query.partition("?")[2] if "?" in query else query, keep_blank_values=True))


def page_data_of(loaded: Checkpoint, analysis: Analysis, view: View, first: int = 1) -> PageData:
    """What a page draws from, of an analysis that is at hand, fitted as on the page; ValueError, one sentence, for what
    is not there: a kind of attention, a layer, a head, or a step. `first`: from which number who asked counts these."""
    config = loaded.config
    layers, steps = max(config.encoder_layers, config.decoder_layers), len(analysis.trace.places)
    if view.kind not in config.kinds and view.kind != View.kind:  # the default is nobody's mistake, here and below
        there = " and ".join(site_kind(kind).name for kind in config.kinds)
        raise ValueError(f"There is no {site_kind(view.kind).name} here; this checkpoint has {there}.")
    for name, asked, default, count in (
        ("layer", view.layer, View.layer, layers),
        ("head", view.head, View.head, config.heads),
        ("step" if analysis.task.writes else "place", view.step, View.step, steps),
    ):
        if asked is not None and asked > count and asked != default:
            last = count - 1 + first
            raise ValueError(f"There is no {name} {asked - 1 + first}; expected one of {first} to {last}.")
    view, faults = view.fit(layers, config.heads, loaded.target_tokenizer.size, config.kinds)
    if faults:
        raise ValueError(" ".join(faults))
    return PageData(view, loaded, analysis.request, lambda: analysis, layers, (), ())
