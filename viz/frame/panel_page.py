"""A page of panels: draws its rows, and in lecture mode one large picture."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import streamlit as st

from viz import computations, page_context
from viz.classroom import hall_keys, lecture
from viz.kit import button_groups, controls, lazy, site_texts
from viz.kit.panel import Layout, NotChosenError, Panel, Picture
from viz.page_context import LecturePlaces, PageContext, Places
from viz.state import session
from viz.state.result_cache import cached_figure
from viz.state.view import View

if TYPE_CHECKING:
    from model.inference.request import Request
    from viz.theme import Mode

CHART_SCALE = 1.9  # enlargement of a chart in lecture mode, as in the stylesheet
_AT_FIRST_STEP = View(step=0)
MAX_PICTURE_BUTTONS = 5  # more pictures have one button, which shows the next one


def draw(layout: Layout, context: PageContext) -> None:
    """Draws the controls of the page and its visible panels, row by row."""
    faults: set[str] = set()  # two panels of one computation have one fault
    with context.places.body:
        if context.has_checkpoint:
            (layout.notes or button_groups.draw_notes)(context)
        if layout.controls is not None:
            layout.controls(context)
        for row in layout.columns:
            visible = ([each for each in column if each.is_visible(context) and each.is_on_page(context)] for column in row)
            columns = list(filter(None, visible))
            first = columns[0][0] if columns else None
            if first and first.seen_key and not lazy.has_been_seen(first.name, first.seen_key(context)):
                return  # what is further below is not visible either
            with contextlib.ExitStack() as stack:
                places = [contextlib.nullcontext()] * len(columns)
                if len(columns) > 1 and all(len(column) == 1 and column[0].is_one_element for column in columns):
                    stack.enter_context(st.container(key=f"row {columns[0][0].name}", horizontal=True))
                elif len(columns) > 1:
                    places = st.columns(len(columns))
                for place, column in zip(places, columns, strict=True):
                    with place:
                        for panel in column:
                            draw_panel(panel, context, faults)


def draw_independent(layout: Layout, view: View, places: Places) -> None:
    """Draws the panels that need neither sentence nor checkpoint, after a fault."""
    context = page_context.without_checkpoint(view, session.theme_mode(), places)
    if not layout.independent.rows:
        return
    if isinstance(places, LecturePlaces):
        draw_lecture(layout.independent, context)
    else:
        draw(layout.independent, context)


def draw_panel(panel: Panel, context: PageContext, faults: set[str]) -> None:
    """Draws controls, text, details and component of a panel, or the sentence that says why it has no result.

    A sentence in `faults` is not repeated; a new one is added.
    """
    try:
        result = _result(panel, context)
    except ValueError as fault:
        if str(fault) not in faults:
            _draw_fault(fault)
        faults.add(str(fault))
        return
    if panel.controls is not None:
        panel.controls(context, result)
    if panel.text is not None and (text := panel.text(context, result)):
        site_texts.write(text)
    if panel.details is not None:
        panel.details(context, result)
    _mount(panel, context, result)


def _draw_fault(fault: ValueError) -> None:
    if isinstance(fault, NotChosenError):
        site_texts.note(str(fault))
    else:
        site_texts.fault(str(fault))


class LargePicture(NamedTuple):
    """A picture of lecture mode, its panel, and its number in the view's `large`, from 1."""

    panel: Panel
    picture: Picture
    number: int


def pictures(layout: Layout, context: PageContext) -> list[LargePicture]:
    """Returns all large pictures of a page. A picture of another part of the page sets the fields of that part."""
    every = []
    for panel in layout.panels:
        for picture in panel.large_pictures:
            at = dataclasses.replace(context, view=context.view.with_fields(**picture.fields))
            visible = [(own, each) for own in layout.visible(at) for each in own.large_pictures]
            if (panel, picture) in visible:
                every.append(LargePicture(panel, picture, picture.number or visible.index((panel, picture)) + 1))
    is_one_part = len({each.number for each in every}) == len(every)
    return sorted(every, key=lambda each: each.number) if is_one_part else every


def draw_lecture(layout: Layout, context: PageContext) -> None:
    """Draws one large picture, its controls in the bar and its keys."""
    assert isinstance(context.places, LecturePlaces)
    if context.has_checkpoint:
        lecture.draw(context)
    if layout.bar is not None:
        with context.places.bar:
            layout.bar(context)
    every = pictures(layout, context)
    if not every:
        return
    visible = [each for each in every if each.panel.is_visible(context)]
    numbers = (each for each in (*visible, *every) if each.number == context.view.large)
    current = next(numbers, (*visible, *every)[0])
    panel, picture = current.panel, current.picture
    fields = {} if current in visible else picture.fields
    context = dataclasses.replace(context, view=context.view.with_fields(**(fields | {"large": current.number})))
    drawn = [each for each in layout.visible(context) if each is panel or each.name in picture.others]
    results: dict[str, Any] = {}
    with context.places.body:
        try:
            results = {each.name: _result(each, context) for each in drawn}
        except ValueError as fault:
            _draw_fault(fault)
    with context.places.bar:
        if results and panel.bar is not None:
            panel.bar(context, results[panel.name])
        if len(every) > 1:
            _picture_buttons(every, every.index(current))
    if len(every) > 1:
        names = ", ".join(each.picture.title for each in every).lower()
        following = every[(every.index(current) + 1) % len(every)]
        lecture.add_key(lecture.PICTURE, f"the picture: {names}", lambda: _choose(following), quiet=True)
    if not results:
        return
    if panel.keys is not None:
        panel.keys(context, results[panel.name])
    if context.has_checkpoint:
        hall_keys.add_keys(context)
    with context.places.body:
        if picture.text is not None and (text := picture.text(context, results[panel.name])):
            site_texts.write(text)
        for each in drawn:
            _mount(each, context, results[each.name], picture if each is panel else each.pictures[0])


def _picture_buttons(every: list[LargePicture], current: int) -> None:
    if len(every) > MAX_PICTURE_BUTTONS:
        help, following = f"The next picture ({lecture.PICTURE.key})", every[(current + 1) % len(every)]
        title = every[current].picture.title
        st.button(title, key="next_picture", help=help, on_click=_choose, args=(following,))
        return
    st.segmented_control(
        "Picture",
        range(len(every)),
        required=True,
        format_func=lambda number: every[number].picture.title,
        label_visibility="collapsed",
        **session.bind("picture", "large", current, write=lambda number: _choose(every[number])),
    )


def _choose(each: LargePicture) -> None:
    """Shows a picture. For callbacks."""
    session.change(**each.picture.fields, large=each.number)


def _result(panel: Panel, context: PageContext) -> Any:
    """Returns the result of a panel; a bar shows the progress of a long computation."""
    if panel.measured is not None:
        return panel.measured(context)
    call = panel.call(context) if panel.call is not None and panel.compute is None else None
    if call is None or not call.reading.has_progress:
        return panel.result(context)
    place = functools.cache(st.empty)  # most runs compute nothing
    try:
        return computations.run(call, context, lambda share: place().progress(min(share, 1.0), panel.title))
    finally:
        if place.cache_info().currsize:
            place().empty()


def _mount(panel: Panel, context: PageContext, result: Any, picture: Picture | None = None) -> None:
    if panel.component is not None:
        large = dict(picture.data(context, result)) if picture else {}
        key = panel.name if picture is None else f"{panel.name} large"
        overrides = {"picture": panel.title, **panel.follow(context, result), **large}
        panel.component.mount(key, make_data(panel, context, result), panel.events(context, result), overrides=overrides)
    elif panel.figure is not None:
        figure = _figure(panel, context, result)
        alt = panel.alt(context, result) if panel.alt else panel.title
        key = panel.name if picture is None else f"{panel.name} large"
        if picture is None:
            st.plotly_chart(figure, theme=None, key=key, config=controls.chart_config(panel.title), alt=alt)
            return
        height = lecture.chart_height(picture.height, CHART_SCALE, context.view)
        size = {"width": lecture.chart_width(CHART_SCALE), "height": height, "meta": {"height": height}}
        large = type(figure)(figure).update_layout(**size)
        with lecture.chart_container():
            lecture.draw_chart(panel.title, key, large, alt)


def make_data(panel: Panel, context: PageContext, result: Any) -> list[Mapping[str, Any]]:
    """Returns the values of a component: those that do not depend on the view, if there are any, and the payload."""
    request, mode, constant = context.request, context.mode, panel.constant
    key = panel.depends_on(context)
    context = _reduced(panel, context)
    if not panel.is_cached:
        return [*([constant(context, result)] if constant else []), panel.payload(context, result)]
    more = []
    if constant is not None:
        view = _view_of(context.view, panel.constant_reads) if panel.constant_reads else None
        more = [_cached(f"{panel.name} constant", request, view, mode, None, lambda: dict(constant(context, result)))]
    name = f"{panel.name} {len(result)}" if panel.measured is not None else panel.name
    return [*more, _cached(name, request, context.view, mode, key, lambda: dict(panel.payload(context, result)))]


def _reduced(panel: Panel, context: PageContext) -> PageContext:
    """Returns the context with the fields of the view that the panel reads; the other fields have their defaults."""
    if panel.reads is None:
        return context
    return dataclasses.replace(context, view=_view_of(context.view, panel.reads))


def _view_of(view: View, names: Sequence[str]) -> View:
    """Returns the view with these fields and the device; the other fields have their defaults, the step is the first."""
    return _AT_FIRST_STEP.with_fields(**{name: getattr(view, name) for name in ("device", *names)})


def _figure(panel: Panel, context: PageContext, result: Any) -> Any:
    assert panel.figure is not None
    figure, key, context = panel.figure, panel.depends_on(context), _reduced(panel, context)
    if not panel.is_cached:
        return figure(context, result)
    return _cached(panel.name, context.request, context.view, context.mode, key, lambda: figure(context, result))


@partial(cached_figure, ignore=("make",))
def _cached(
    name: str, request: Request, view: View | None, mode: Mode, depends_on: Hashable, make: Callable[[], Any]
) -> Any:
    return make()
