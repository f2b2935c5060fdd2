"""What every page does: it takes the view from the link, computes what it draws, says what is wrong, and writes the link."""

from __future__ import annotations

import logging
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cache as cache_of_process
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from viz import cache, pages, state, theme
from viz.shared import controls, edit_list, texts, waiting
from viz.shared.save import save
from viz.shared.save.offers import EVERYWHERE
from viz.view import View

if TYPE_CHECKING:
    from streamlit.navigation.page import Page as StreamlitPage

    from model.inference.analyse import Analysis
    from model.trace import Trace
    from viz.shared.save.offers import Offer

WIDTHS = (352, 508, 96)  # of title, sentence and link in the head of a page
UNFORESEEN = (
    "Something went wrong that the lab did not foresee ({}). What you typed is kept: try another checkpoint or sentence."
)


@dataclass(frozen=True)
class Places:
    """Where a page says what is wrong, and where its body begins."""

    notes: DeltaGenerator
    body: DeltaGenerator


@dataclass(frozen=True)
class Shown:
    """What a page draws, once it is known."""

    view: View  # fitted to its checkpoint, at a step that there is
    page_data: cache.PageData
    found: Any  # what the page computes beside it, or None
    faults: tuple[str, ...]  # of the link, and of what in the view does not fit, a sentence each
    mode: theme.Mode
    places: Places

    @property
    def analysis(self) -> Analysis:
        return self.page_data.analysis

    def notes(self) -> None:
        """What was wrong, what is to be known of the translation, and what is edited, each with a way to take it back."""
        texts.sentence_notes(self.analysis.notes, self.faults, self.analysis.cautions)
        edit_list.other_edits(self.view, self.analysis)


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
    offers: Callable[[Shown], tuple[Offer, ...]] = lambda shown: (),
) -> None:
    """One run of the page of a name.

    `head` draws what stands there before anything is computed. `compute` finds what the page needs beside its data, and may
    raise ValueError as they do. `steps_of` has the steps that the view may look at, and `look` what it looks at where its
    link leaves that open. `offers` are the files that the server makes of the page, beside those of every page
    (`save.offers.EVERYWHERE`). Where the sentence or the checkpoint fails, `without` draws what needs neither; else
    `draw` the page.
    """
    state.leave()
    view, faults = state.open_view(name)
    panel = save.place()
    places = head(view, pages.find(name))
    try:
        with places.body, texts.waiting():
            page_data = cache.page_data(view)
            found = compute(page_data)
    except ValueError as fault:
        with places.notes:
            texts.sentence_notes((), faults)
        with places.body:
            texts.fault(str(fault))
            controls.way_out(view)
            edit_list.rescue(view)
        without(view, places)
        save.fill(panel, view, None)
        state.settle(view)
        return
    view = look(page_data.view.within(len(steps_of(page_data.analysis).predicted)), page_data)
    shown = Shown(view, page_data, found, (*faults, *page_data.faults), state.theme_mode(), places)
    draw(shown)
    everywhere = (offer for offered in EVERYWHERE for offer in offered(shown))
    save.fill(panel, view, shown.analysis, (*offers(shown), *everywhere))
    state.settle(view)


def run(page: StreamlitPage, foot: Callable[[], None], sidebar: Callable[[], None]) -> None:
    """One run of a page with its foot, and then the sidebar, whatever becomes of the page: another checkpoint can be chosen.
    A fault that nobody foresaw is logged, and told in one sentence; where errors are shown it is raised."""
    unforeseen = None
    try:
        with waiting.queue():
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
        texts.fault(UNFORESEEN.format(type(unforeseen).__name__))
        state.settle(state.current())


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
    found = [copy(page) for page in _pages(home, tuple(pages.PAGES))]  # a run marks the page that it may call
    if (name := state.lost()) and "/" not in name:
        back = partial(state.lead_back, name)
        found.append(st.Page(back, title=name, url_path=name, visibility="hidden"))
    return st.navigation(found)
