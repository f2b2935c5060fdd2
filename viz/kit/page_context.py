"""The context of one run of a page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streamlit.delta_generator import DeltaGenerator

from viz import cache, theme
from viz.kit import edit_list, site_texts
from viz.state.view import View

if TYPE_CHECKING:
    from model.export.csv_tables import Table
    from model.inference.analyse import Analysis


@dataclass(frozen=True)
class Places:
    """The places of a page's notes and of its body."""

    notes: DeltaGenerator
    body: DeltaGenerator


@dataclass(frozen=True)
class LecturePlaces(Places):
    """The places in lecture mode, with a bar for controls at the top."""

    bar: DeltaGenerator


@dataclass(frozen=True)
class PageContext:
    """Everything that a page draws from: view, data, its own result, faults, theme and places."""

    view: View  # clamped to its checkpoint and steps
    page_data: cache.PageData
    result: Any  # the page's own result, or None
    faults: tuple[str, ...]  # a sentence for each fault of the link or the view
    mode: theme.Mode
    places: Places
    tables: Callable[[PageContext], tuple[Table, ...]] | None = None  # returns the numbers of the page, on request
    python: Callable[[PageContext], str] | None = None  # returns the code that computes them

    @property
    def analysis(self) -> Analysis:
        return self.page_data.analysis

    def notes(self) -> None:
        """Draws faults, notes on the translation, and the edits."""
        site_texts.sentence_notes(self.analysis.notes, self.faults, self.analysis.warning_sentences)
        edit_list.edit_bar(self.view, self.analysis)
