"""One run of a page: reads the view from the link, computes, draws, reports faults and writes the link."""

from __future__ import annotations

import dataclasses
import functools
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from viz import cache, page_context, pages
from viz.classroom import lecture, present, room_panel, talk_navigation
from viz.frame import panel_page, visit
from viz.kit import browser_store, button_groups, controls, site_texts
from viz.kit.panel import Layout, layout_of
from viz.page_context import Places
from viz.save import save, saved_files
from viz.state import navigation, session, work_queue
from viz.state.view import View

if TYPE_CHECKING:
    from streamlit.navigation.page import Page as StreamlitPage


@contextmanager
def queue() -> Iterator[None]:
    """Shows how many requests are ahead while this run waits; the run of a visitor who left ends there."""
    place = functools.cache(lambda: browser_store.place_over_page().empty())  # most runs do not wait

    def show_waiting(ahead: int) -> None:
        if not ahead:
            place().empty()
            return
        with place():
            count = "1 request is" if ahead == 1 else f"{ahead} requests are"
            site_texts.write(f'<p class="lab-note">Busy. {count} ahead of yours.</p>')

    with work_queue.report_waiting(show_waiting):
        yield


UNFORESEEN = "Unexpected error ({}). Your input is kept. Try another checkpoint or sentence."


def title_row(view: View, page: pages.Page) -> Places:
    """Draws the head of a page: question and sentence side by side."""
    controls.title_row(view, page.question)
    return Places()


def show(name: str, layout: Layout | None = None) -> None:
    """Runs the page of a name, by default from the layout that its module declares."""
    layout = layout or layout_of(pages.find(name))
    navigation.switch_page()
    view, faults = session.open_view(name)
    if talk_navigation.open_stop_of_link():
        navigation.switch_page()
        st.rerun()
    lecture.reset_keys()
    task = cache.task(view.checkpoint, view.device)
    if session.is_default_text():
        view = view.with_fields(source=controls.opening_text(view))
    if task.is_classifier:
        session.exempt(("step", "rival"))
    else:
        session.exempt()
    panel = save.mount_button()
    page = next(page for page in pages.for_task(task) if page.name == name)
    head = layout.head or title_row
    places = present.head(view, page, layout.has_sentence(view)) if view.lecture else head(view, page)
    try:
        with places.body, site_texts.waiting():
            context = page_context.build(view)
            analysis = context.analysis  # holds a reference until the end of the run
    except ValueError as fault:
        with places.notes:
            site_texts.sentence_notes((), faults)
        with places.body:
            if visit.is_awaited():
                site_texts.note("Looking for this checkpoint in your tab.")
            else:
                site_texts.fault(site_texts.name_text(str(fault), task))
            controls.recovery_buttons(view)
            button_groups.edits_after_fault(view)
        panel_page.draw_independent(layout, view, places)
        save.mount_panel(panel, view, None)
        session.write_link(view)
        return
    steps = len(layout.steps_of(analysis).step_axis)
    session.remember_clamped(context.view)  # without the step, which depends on the text
    view = layout.choose_view(context.view.within(steps), context)
    faults = (*faults, *context.faults)
    context = dataclasses.replace(context, view=view, faults=faults, mode=session.theme_mode(), places=places)
    lecture.set_facts(context, steps)
    room_panel.make_question(context)
    (panel_page.draw_lecture if view.lecture else panel_page.draw)(layout, context)
    save.mount_panel(panel, view, analysis, lambda: saved_files.offers(context, name, layout))
    session.write_link(view, context.opening_step)


def run(page: StreamlitPage, foot: Callable[[], None], sidebar: Callable[[], None]) -> None:
    """Runs a page, its foot and the sidebar. The sidebar also appears after a fault of the page.

    An unexpected exception is logged and shown as one sentence; in debug mode it is raised.
    """
    unforeseen = None
    try:
        with queue():
            page.run()
        foot()
    except BaseException as fault:
        panic = type(fault).__module__ == "pyo3_runtime"  # of the tokenizers' library
        if not (isinstance(fault, Exception) or panic):
            raise
        unforeseen = fault
    sidebar()
    if unforeseen is not None:
        if shows_errors():
            raise unforeseen
        logging.getLogger(__name__).error("A page could not be drawn", exc_info=unforeseen)
        site_texts.fault(UNFORESEEN.format(type(unforeseen).__name__))
        session.write_link(session.current_view())


def shows_errors() -> bool:
    """True in debug mode: the page shows tracebacks."""
    return st.get_option("client.showErrorDetails") == "full"


@functools.cache
def _pages(home: Path, declared: tuple[pages.Page, ...]) -> tuple[StreamlitPage, ...]:
    """Returns all pages; their files are looked up once."""
    first, *others = declared
    return (
        st.Page(home / first.file, title=first.title, url_path="", default=True),
        *(
            st.Page(home / page.file, title=page.title, url_path=page.name, visibility="visible" if page.group else "hidden")
            for page in others
        ),
    )


def draw_navigation(home: Path) -> StreamlitPage:
    """Draws the navigation and returns the page of this run. A hidden page handles an unknown address."""
    task = cache.task(session.incoming_checkpoint(), session.current_view().device)
    entries = [copy(page) for page in _pages(home, pages.for_task(task))]  # a run marks its page
    if (name := navigation.unknown_page_name()) and "/" not in name:
        back = partial(navigation.go_to_first_page, name)
        entries.append(st.Page(back, title=name, url_path=name, visibility="hidden"))
    return st.navigation(entries)
