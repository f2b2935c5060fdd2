"""Panels: one record describes what a visitor looks at, and everything that shows or saves it is derived from the record.

A page module declares `LAYOUT`, its rows of panels. From it follow the page, lecture mode, the HTML file, the notebook
frame, the followers' page, CSV files, copied Python, prefetch and the list under *Save*.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from model.export.code import Code
from viz import computations, page_context, pages
from viz.kit.offline_parts import Choice, Part, Pick

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from model.export.csv_tables import Table
    from model.inference.analysis import Analysis
    from model.trace import Trace
    from viz.computations import Call
    from viz.kit.mount import Component, Event
    from viz.page_context import PageContext, Places
    from viz.state.view import View


@dataclass(frozen=True, eq=False)
class Picture:
    """A large picture of a panel in lecture mode, and the element that followers see.

    Fields:
        title: on its button, and in the list of keys; empty for a panel that only stands with the picture of another.
        selector: its element within the component, for the followers' page.
        data: returns values that replace those of the payload. The context's `large` is the number of the visible picture.
        others: names of the panels that stand with it, in the order of the page.
        fields: fields of the view that the picture sets, such as the part of the page.
        text: returns a line above the picture as markup (default: none, since components draw their own text).
        number: in the view's `large`, from 1 (default: its place among the pictures of the visible panels).
        height: of a figure on a screen of 720 lines, in px.
    """

    title: str
    selector: str = ""
    data: Callable[[PageContext, Any], Mapping[str, Any]] = lambda context, result: {}
    others: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    text: Callable[[PageContext, Any], str] | None = None
    number: int = 0
    height: int = 560


@dataclass(frozen=True, eq=False)
class FileOptions:
    """The choices and the states of the HTML file of a panel.

    Fields:
        default_view: returns the shown view if the page's own one has something missing.
        base: returns the view whose data other choices differ from.
        choices, picks: return the choices of the reader and their buttons.
        event_fields: fields that an event of the component also sets.
        component_fields: link fields that the component changes itself.
        remote_fields: fields that a lecturer can set remotely, with their values; no values: whole numbers.
        rounded: names of packed numbers with five decimals at most.
        text: returns the text of the file as markup (default: that of the panel).
    """

    default_view: Callable[[PageContext], View] = lambda context: context.view
    base: Callable[[View], View] = lambda view: view
    choices: Callable[[PageContext], tuple[Choice, ...]] = lambda context: ()
    picks: Callable[[PageContext], tuple[Pick, ...]] = lambda context: ()
    event_fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    component_fields: tuple[str, ...] = ()
    remote_fields: Callable[[PageContext], Mapping[str, tuple[Any, ...]]] = lambda context: {}
    rounded: frozenset[str] = frozenset()
    text: Callable[[PageContext, Any], str] | None = None


Constants = dict[Hashable, Mapping[str, Any]]  # values of panels that do not depend on the view, by what they depend on


class NotChosenError(ValueError):
    """The visitor has not chosen yet what a panel shows: a note, not a fault."""


def no_tables(context: PageContext, result: Any) -> tuple[Table, ...]:
    """Returns nothing: a panel without numbers."""
    return ()


def where(**fields: Any) -> Callable[[PageContext], bool]:
    """Returns a condition on a context: its view has these values."""
    return lambda context: all(getattr(context.view, name) == value for name, value in fields.items())


@dataclass(frozen=True, eq=False)
class Panel:
    """One thing a visitor looks at, with its controls. `result` in the fields is what `compute` returned.

    Fields:
        name: of link parameters, keys of widgets and tests, such as "why.sum".
        title: in the list under *Save*, and the heading of a figure.
        component: the JavaScript component that draws it; without one, `figure` draws it. Without both, it is a text.
        payload: returns the JSON values of the component for the context's view and mode.
        constant: returns further values, which depend only on the request, the mode and the fields of `constant_reads`.
        events: returns the events of the component with their checks and handlers.
        figure, alt: return a Plotly figure, and describe it to those who do not see it (default: `title`).
        call: returns the computation; the cache, the copied Python and prefetch follow from it.
        compute: returns the result (default: of `call`). Raises ValueError with one sentence.
        controls: draws widgets that change the view, above the text.
        text: returns the finding as markup: a label, a number or one short sentence.
        details: draws widgets below the text and above the component.
        tables, code: return the numbers as CSV tables, and add the lines of Python behind those of `call`.
        is_visible, is_on_page: True if the view shows the panel; False where another panel shows the same on the page.
        pictures: the large pictures of lecture mode (default: the component itself).
        bar, keys: draw controls in the bar of lecture mode, and add its keys.
        file: options of the HTML file; None: the file leaves the panel out.
        is_independent: True if it needs no checkpoint: also drawn after a fault, with view, mode and places as context.
        measured: returns, on a page, the part of a long result that is known. The rest waits until the panel is visible.
        is_cached: False for a payload that changes while request and view stay, such as that of a running training.
        reads: fields of the view that the payload depends on (default: all); it is made anew only for other values of them.
        depends_on: returns what else the payload depends on, such as texts of the visit.
        follow: returns small values that follow the view, such as the step. They replace those of the payload.
        seen_key: for a row that is computed once its place is visible: what must be seen again. The first panel decides.
    """

    name: str
    title: str
    component: Component | None = None
    payload: Callable[[PageContext, Any], Mapping[str, Any]] = lambda context, result: {}
    events: Callable[[PageContext, Any], Mapping[str, Event]] = lambda context, result: {}
    constant: Callable[[PageContext, Any], Mapping[str, Any]] | None = None
    constant_reads: tuple[str, ...] = ()
    figure: Callable[[PageContext, Any], go.Figure] | None = None
    alt: Callable[[PageContext, Any], str] | None = None
    call: Callable[[PageContext], Call] | None = None
    compute: Callable[[PageContext], Any] | None = None
    controls: Callable[[PageContext, Any], None] | None = None
    text: Callable[[PageContext, Any], str] | None = None
    details: Callable[[PageContext, Any], None] | None = None
    tables: Callable[[PageContext, Any], tuple[Table, ...]] = no_tables
    code: Callable[[Code, PageContext, Any], None] | None = None
    is_visible: Callable[[PageContext], bool] = lambda context: True
    is_on_page: Callable[[PageContext], bool] = lambda context: True
    pictures: tuple[Picture, ...] = ()
    bar: Callable[[PageContext, Any], None] | None = None
    keys: Callable[[PageContext, Any], None] | None = None
    file: FileOptions | None = FileOptions()
    is_independent: bool = False
    measured: Callable[[PageContext], Sequence[Any]] | None = None
    is_cached: bool = True
    reads: tuple[str, ...] | None = None
    depends_on: Callable[[PageContext], Hashable] = lambda context: None
    follow: Callable[[PageContext, Any], Mapping[str, Any]] = lambda context, result: {}
    seen_key: Callable[[PageContext], Hashable] | None = None

    @property
    def is_one_element(self) -> bool:
        """True if the component alone draws it."""
        return self.component is not None and not (self.controls or self.text or self.details)

    def result(self, context: PageContext, progress: Callable[[float], None] = lambda share: None) -> Any:
        """Returns the result, from the cache on a server. `progress` gets the share done of a long computation.

        Raises ValueError with one sentence.
        """
        if self.compute is not None:
            return self.compute(context)
        return None if self.call is None else computations.run(self.call(context), context, progress)

    def part(self, context: PageContext, result: Any, name: str = "", constants: Constants | None = None) -> Part:
        """Returns the component with its values, as a part of an HTML file (default name: that of the component).

        `constants` keeps the values of `constant` for other views of the same request.
        """
        assert self.component is not None
        known, more = {} if constants is None else constants, {}
        if self.constant is not None:
            key = (self, context.mode, *(getattr(context.view, each) for each in self.constant_reads))
            if key not in known:
                known[key] = self.constant(context, result)
            more = known[key]
        values = self.payload(context, result), self.follow(context, result)
        return self.component.part(name or self.component.name, {"picture": self.title}, more, *values)

    @cached_property
    def large_pictures(self) -> tuple[Picture, ...]:
        """Returns its pictures with a title."""
        pictures = self.pictures or (Picture(self.title if self.component or self.figure else ""),)
        return tuple(each for each in pictures if each.title)

    @property
    def has_code(self) -> bool:
        return self.call is not None or self.code is not None


@dataclass(frozen=True, eq=False)
class Layout:
    """The rows of panels of a page, and what is above them.

    Fields:
        rows: panels that stand next to each other, row by row; a tuple of panels is one column of a row.
        notes: draws faults, notes on the text and edits, above the controls (default: `button_groups.draw_notes`).
        controls: draws the controls of the page, above its panels.
        bar: draws controls in the bar of lecture mode and adds keys, also if no panel has a result.
        head: draws the head before anything is computed; None: title and sentence.
        steps_of: returns the trace whose steps the view may show.
        choose_view: fills what the link leaves open.
        has_sentence: True if lecture mode shows the box of the sentence.
        first_picture: the number of the large picture that a stop shows which is kept on the page.
    """

    rows: tuple[tuple[Panel | tuple[Panel, ...], ...], ...]
    controls: Callable[[PageContext], None] | None = None
    notes: Callable[[PageContext], None] | None = None
    bar: Callable[[PageContext], None] | None = None
    head: Callable[[View, pages.Page], Places] | None = None
    steps_of: Callable[[Analysis], Trace] = lambda analysis: analysis.trace
    choose_view: Callable[[View, PageContext], View] = lambda view, context: view
    has_sentence: Callable[[View], bool] = lambda view: True
    first_picture: int = 1

    @cached_property
    def columns(self) -> tuple[tuple[tuple[Panel, ...], ...], ...]:
        """The panels of each column of each row."""
        return tuple(tuple((each,) if isinstance(each, Panel) else each for each in row) for row in self.rows)

    @cached_property
    def panels(self) -> tuple[Panel, ...]:
        return tuple(panel for row in self.columns for column in row for panel in column)

    @cached_property
    def independent(self) -> Layout:
        """Returns the layout of the panels that need neither sentence nor checkpoint."""
        rows = (tuple(panel for column in row for panel in column if panel.is_independent) for row in self.columns)
        return dataclasses.replace(self, rows=tuple(filter(None, rows)), controls=None)

    def has_tables(self, context: PageContext) -> bool:
        """True if a visible panel has numbers."""
        return any(panel.tables is not no_tables for panel in self.visible(context))

    def visible(self, context: PageContext) -> tuple[Panel, ...]:
        """Returns the panels that the view shows, in the order of the page."""
        return tuple(panel for panel in self.panels if panel.is_visible(context))

    def in_file(self, context: PageContext) -> tuple[Panel, ...]:
        """Returns the panels of the HTML file."""
        return tuple(panel for panel in self.visible(context) if panel.file is not None and panel.component is not None)

    def without_session(self, context: PageContext) -> PageContext:
        """Returns the context at a view that exists, for a file or another thread: within the steps, with all defaults."""
        context = page_context.at_a_step(context, len(self.steps_of(context.analysis).step_axis))
        for panel in self.panels:
            if panel.file is not None and panel.is_visible(context):
                context = dataclasses.replace(context, view=panel.file.default_view(context))
        return context

    def results(self, context: PageContext, panels: Sequence[Panel]) -> dict[Panel, Any]:
        """Returns the results of the panels that have one. Raises the ValueError of the first panel if none has one."""
        results, faults = {}, []
        for panel in panels:
            try:
                results[panel] = panel.result(context)
            except ValueError as fault:
                faults.append(fault)
        if faults and not results:
            raise faults[0]
        return results

    def tables(self, context: PageContext) -> tuple[Table, ...]:
        """Returns the numbers of all visible panels."""
        panels = [panel for panel in self.visible(context) if panel.tables is not no_tables]
        every = self.results(context, panels).items()
        return tuple(table for panel, result in every for table in panel.tables(context, result))

    def python(self, context: PageContext) -> str:
        """Returns the lines of Python that compute the visible panels."""
        code = Code.of(context.analysis.request, context.view.device)
        last = None  # the call behind `result`
        panels = [panel for panel in self.visible(context) if panel.has_code]
        for panel, result in self.results(context, panels).items():
            if panel.call is not None and (call := panel.call(context)) != last:
                last = call
                call.add_to(code)
            if panel.code is not None:
                panel.code(code, context, result)
        return code.text


@cache
def layout_of(page: pages.Page) -> Layout:
    """Returns the layout that the module of a page declares."""
    return import_module(page.module).LAYOUT
