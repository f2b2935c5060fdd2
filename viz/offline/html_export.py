"""Export of pages as one HTML file.

A page can be exported if its folder has an `offline.py` with `TAKEN`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from model.inference.request import Request
from model.io.files import short_repr
from model.task import TRANSLATION, Task
from viz import page_context, pages
from viz.kit.offline_parts import HtmlExport, Part
from viz.kit.panel import Layout, Panel, layout_of
from viz.offline.document import document
from viz.page_context import PageContext
from viz.state.links import parse
from viz.state.view import View
from viz.theme import Mode

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis

NOT_SENT = "It is only on the big screen, and in the lab."


def names() -> tuple[str, ...]:
    """Returns the names of pages that can be exported, in the order of the navigation."""
    return tuple(page.name for page in pages.PAGES if _is_exportable(page))


@cache
def _is_exportable(page: pages.Page) -> bool:
    if (pages.ROOT / page.file).with_name("offline.py").exists():
        return True
    layout = layout_of(page)
    return layout is not None and any(panel.file is not None and panel.component is not None for panel in layout.panels)


def file_of(name: str, context: PageContext, view: View | None = None) -> bytes:
    """Returns the HTML file of a page for a view (default: the view of its data).

    Raises ValueError for a page that cannot be exported, or a view without content there.
    """
    page = page_of(name, context.analysis.task)
    return document(page, export_of(page), context if view is None else dataclasses.replace(context, view=view))


def same_for(name: str, context: PageContext) -> View:
    """Returns the view without the fields that its file can change; views equal by it share one file.

    Raises ValueError like `file_of`, and if the file lacks this part of the page.
    """
    page = page_of(name, context.analysis.task)
    default, export = View(), export_of(page)
    layout = layout_of(page)
    if not (layout.in_file(context) if layout else export.can_show(context.view)):
        raise ValueError(f"The lecture shows a part of “{page.title}”. {NOT_SENT}")
    context = dataclasses.replace(context, view=export.default_view(context))
    view, free = context.view, set(export.remote_fields(context))
    for choice in export.choices(context):
        values = tuple(getattr(view, field) for field in choice.fields)
        if any(values == tuple(getattr(each, field) for field in choice.fields) for each in choice.views):
            free.update(choice.fields)
    return dataclasses.replace(view, **{field: getattr(default, field) for field in free})


def page_of(name: str, task: Task = TRANSLATION) -> pages.Page:
    """Returns the page of a name, with its title for a task; raises ValueError if it cannot be exported."""
    if name not in names():
        raise ValueError(f"Page {short_repr(name)} cannot be exported; expected one of {', '.join(names())}.")
    return next(page for page in pages.for_task(task) if page.name == name)


def export_of(page: pages.Page) -> HtmlExport:
    """Returns the export description of a page."""
    layout = layout_of(page)
    return import_module(_module(page)).TAKEN if layout is None else panel_export(layout)


@cache
def panel_export(layout: Layout) -> HtmlExport:
    """Returns the export description that follows from the panels of a page."""
    every = [panel for panel in layout.panels if panel.file is not None and panel.component is not None]
    options = [panel.file for panel in every if panel.file is not None]

    def result_of(context: PageContext) -> dict[Panel, Any]:
        return layout.results(context, layout.in_file(context))

    def parts(context: PageContext, results: dict[Panel, Any], view: View, mode: Mode) -> tuple[Part, ...]:
        context = dataclasses.replace(context, view=view, mode=mode, places=None)
        return tuple(panel.part(context, result) for panel, result in results.items())

    def base(view: View) -> View:
        for each in options:
            view = each.base(view)
        return view

    def notes(context: PageContext, results: dict[Panel, Any]) -> tuple[str, ...]:
        every = (((panel.file and panel.file.text) or panel.text, result) for panel, result in results.items())
        return tuple(text(context, result) for text, result in every if text is not None)

    def pictures(context: PageContext) -> tuple[tuple[str, str], ...]:
        return tuple(
            (panel.component.name, picture.selector)
            for panel in layout.in_file(context)
            if panel.component is not None
            for picture in panel.large_pictures
        )

    def joined(name: str) -> Callable[[PageContext], tuple[Any, ...]]:
        return lambda context: tuple(
            each for panel in layout.in_file(context) for each in getattr(panel.file, name)(context)
        )

    def remote_fields(context: PageContext) -> dict[str, tuple[Any, ...]]:
        every_panel = [panel.file for panel in layout.in_file(context) if panel.file is not None]
        return {name: values for each in every_panel for name, values in each.remote_fields(context).items()}

    return HtmlExport(
        parts,
        compute=result_of,
        default_view=lambda context: layout.without_session(context).view,
        base=base,
        notes=notes,
        choices=joined("choices"),
        picks=joined("picks"),
        extra_fields={event: values for each in options for event, values in each.event_fields.items()},
        component_fields=tuple(dict.fromkeys(name for each in options for name in each.component_fields)),
        remote_fields=remote_fields,
        lecture_pictures_of=pictures,
        rounded=frozenset().union(*(each.rounded for each in options)),
    )


def _module(page: pages.Page) -> str:
    return page.file.removesuffix("page.py").replace("/", ".") + "offline"


def make_view(request: Request, checkpoint: str, query: str = "", **changes: object) -> View:
    """Returns the view of a request; other fields come from a link's query and `changes`. A view has no prefix.

    Raises ValueError for an invalid query.
    """
    view, faults = parse(_read(query))
    if faults:
        raise ValueError(" ".join(faults))
    decoding = request.decoding
    chosen = {"strategy": decoding.strategy} | decoding.settings
    requested = {
        "source": " ".join((request.source, *request.other_sentences)),
        "second": request.second,
        "target": request.target,
        "branches": request.branches,
        "path": request.path,
        "pad": request.pad,
        "mode": request.mode,
        "intervention": request.intervention,
        "checkpoint": checkpoint,
    }
    view = dataclasses.replace(view, **(requested | chosen | changes))
    is_equal = view.sentences == (request.source, *request.other_sentences)
    return view if is_equal else dataclasses.replace(view, split=False)


def _read(query: str) -> dict[str, str]:
    return dict(parse_qsl(query.partition("?")[2] if "?" in query else query, keep_blank_values=True))


def make_context(loaded: Checkpoint, analysis: Analysis, view: View, first: int = 1) -> PageContext:
    """Returns the data of a page from an analysis. `first` is the first number in messages (0 or 1).

    Raises ValueError for a kind of attention, layer, head or step that does not exist.
    """
    step_name = "step" if analysis.task.has_decoder else "place"
    view, faults = page_context.fit(view, loaded, len(analysis.trace.step_axis), step_name, first)
    if faults:
        raise ValueError(" ".join(faults))
    return PageContext(view, loaded, analysis.request, lambda: analysis, is_shared=False)
