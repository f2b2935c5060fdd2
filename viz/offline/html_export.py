"""Export of pages as one HTML file. A page can be exported if one of its panels has a component and options of the file."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from model.inference.request import Request
from model.io.files import short_repr
from model.task import TRANSLATION, Task
from viz import page_context, pages
from viz.kit.panel import layout_of
from viz.offline.document import document
from viz.offline.layout_export import HtmlExport
from viz.page_context import PageContext
from viz.state.links import parse
from viz.state.view import View

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis

NOT_SENT = "It is only on the big screen, and in the lab."


def names() -> tuple[str, ...]:
    """Returns the names of pages that can be exported, in the order of the navigation."""
    return tuple(page.name for page in pages.PAGES if _is_exportable(page))


@cache
def _is_exportable(page: pages.Page) -> bool:
    return any(panel.file is not None and panel.component is not None for panel in layout_of(page).panels)


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
    if not layout_of(page).in_file(context):
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
    """Returns the export of a page."""
    return _export(layout_of(page))


_export = cache(HtmlExport)


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
        "second": request.second_sentence,
        "target": request.target,
        "branches": request.branches,
        "path": request.path,
        "pad": request.extra_padding,
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
    step_name = "step" if analysis.task.has_decoder else "token"
    view, faults = page_context.fit(view, loaded, len(analysis.trace.step_axis), step_name, first)
    if faults:
        raise ValueError(" ".join(faults))
    return PageContext(view, loaded, analysis.request, lambda: analysis, is_shared=False)
