"""What every page does: it takes the view from the link, computes what it draws, says what is wrong, and writes the link.

What a visitor reads while others are served first."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import cache as cache_of_process
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from viz import cache, pages
from viz.classroom import lecture, present, room_panel
from viz.kit import controls, edit_list, site_texts
from viz.kit.page_context import Places, Shown
from viz.save import save, saved_files
from viz.state import navigation as visit
from viz.state import session, work_queue
from viz.state.view import View

if TYPE_CHECKING:
    from streamlit.navigation.page import Page as StreamlitPage

    from model.export.csv_tables import Table
    from model.inference.analyse import Analysis
    from model.trace import Trace


@contextmanager
def queue() -> Iterator[None]:
    """Says how many stand before, where something waits for its turn; a run whose visitor has left ends at that moment."""
    with st.container(key="queue"):
        place = st.empty()

    def told(before: int) -> None:
        with place:
            if before:
                site_texts.write(f'<p class="lab-note">Many are at work here: waiting, {before} before you.</p>')
            else:
                place.empty()

    with work_queue.hearing(told):
        yield


WIDTHS = (352, 508, 96)  # of title, sentence and link in the head of a page
UNFORESEEN = (
    "Something went wrong that the lab did not foresee ({}). What you typed is kept: try another checkpoint or sentence."
)


def title_row(view: View, page: pages.Page, widths: tuple[int, int, int] = WIDTHS) -> Places:
    """The head of a page whose sentence stands beside its title."""
    controls.title_row(view, page.title, page.question, widths)
    body = st.container()
    return Places(body, body)


def show(
    name: str,
    draw: Callable[[Shown], None],
    *,
    head: Callable[[View, pages.Page], Places] = title_row,
    compute: Callable[[cache.PageData], Any] = lambda page_data: None,
    steps_of: Callable[[Analysis], Trace] = lambda analysis: analysis.trace,
    look: Callable[[View, cache.PageData], View] = lambda view, page_data: view,
    without: Callable[[View, Places], None] = lambda view, places: None,
    tables: Callable[[Shown], tuple[Table, ...]] | None = None,
    python: Callable[[Shown], str] | None = None,
    in_lecture: Callable[[Shown], None] | None = None,
    of_sentence: Callable[[View], bool] = lambda view: True,
) -> None:
    """One run of the page of a name.

    `head` draws what stands there before anything is computed. `compute` finds what the page needs beside its data, and may
    raise ValueError as they do. `steps_of` has the steps that the view may look at, and `look` what it looks at where its
    link leaves that open. Where the sentence or the checkpoint fails, `without` draws what needs neither; else `draw` the
    page; in lecture mode `in_lecture`, which has a place for controls and one large thing, and the box of the visitor's
    sentence where what is shown is `of_sentence`. `tables` and `python` give the
    numbers of what is shown, and the lines that compute them, once they are asked for.
    """
    visit.leave()
    view, faults = session.open_view(name)
    lecture.begin()
    task = cache.task(view.checkpoint, view.device)
    if session.is_own_text():
        view = dataclasses.replace(view, source=controls.opening(view))
    if task.judges:
        session.spare(("step", "rival"))
    else:
        session.spare()
    panel = save.place()
    large = view.lecture and in_lecture is not None
    page = next(page for page in pages.of(task) if page.name == name)
    places = present.head(view, page, of_sentence(view)) if large else head(view, page)
    try:
        with places.body, site_texts.waiting():
            page_data = cache.page_data(view)
            analysis = page_data.analysis  # kept from here to the end of the run
            found = compute(page_data)
    except ValueError as fault:
        with places.notes:
            site_texts.sentence_notes((), faults)
        with places.body:
            site_texts.fault(site_texts.of_task(str(fault), task))
            controls.way_out(view)
            edit_list.rescue(view)
        without(view, places)
        save.fill(panel, view, None)
        session.settle(view)
        return
    steps = len(steps_of(analysis).places)
    session.fitted(page_data.view)  # not the step: it gives way to what is written of the text, whatever the checkpoint has
    view = look(page_data.view.within(steps), page_data)
    told = (*faults, *page_data.faults)
    shown = Shown(view, page_data, found, told, session.theme_mode(), places, tables, python)
    lecture.shown(shown, steps)
    room_panel.shown(shown)
    (in_lecture if large and in_lecture else draw)(shown)
    save.fill(panel, view, analysis, saved_files.offers(shown, name))
    session.settle(view)


def run(page: StreamlitPage, foot: Callable[[], None], sidebar: Callable[[], None]) -> None:
    """One run of a page with its foot, and then the sidebar, whatever becomes of the page: another checkpoint can be chosen.
    A fault that nobody foresaw is logged, and told in one sentence; where errors are shown it is raised."""
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
        session.settle(session.current())


def shows_errors() -> bool:
    """True for who works on the pages: an error stands on the page with its traceback."""
    return st.get_option("client.showErrorDetails") == "full"


@cache_of_process
def _pages(home: Path, declared: tuple[pages.Page, ...]) -> tuple[StreamlitPage, ...]:
    """All pages, whose files are looked for once."""
    first, *others = declared
    return (
        st.Page(home / first.file, title=first.title, url_path="", default=True),
        *(st.Page(home / page.file, title=page.title, url_path=page.name) for page in others),
    )


def navigation(home: Path) -> StreamlitPage:
    """The navigation over all pages, and the page of this run. An address that is none of theirs gets a page for one run,
    out of sight, which leads to the first."""
    task = cache.task(session.arriving(), session.current().device)
    found = [copy(page) for page in _pages(home, pages.of(task))]  # a run marks the page that it may call
    if (name := visit.lost()) and "/" not in name:
        back = partial(visit.lead_back, name)
        found.append(st.Page(back, title=name, url_path=name, visibility="hidden"))
    return st.navigation(found)
