"""What a page draws, once it is known."""

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
    """Where a page says what is wrong, and where its body begins."""

    notes: DeltaGenerator
    body: DeltaGenerator


@dataclass(frozen=True)
class LecturePlaces(Places):
    """The same in lecture mode, with a place for a page's controls in the one line at the top."""

    bar: DeltaGenerator


@dataclass(frozen=True)
class Shown:
    """What a page draws, once it is known."""

    view: View  # fitted to its checkpoint, at a step that there is
    page_data: cache.PageData
    found: Any  # what the page computes beside it, or None
    faults: tuple[str, ...]  # of the link, and of what in the view does not fit, a sentence each
    mode: theme.Mode
    places: Places
    tables: Callable[[Shown], tuple[Table, ...]] | None = None  # the numbers of what is shown, once they are asked for
    python: Callable[[Shown], str] | None = None  # the lines that compute them; None where a page has none

    @property
    def analysis(self) -> Analysis:
        return self.page_data.analysis

    def notes(self) -> None:
        """What was wrong, what is to be known of the translation, and what is edited, each with a way to take it back."""
        site_texts.sentence_notes(self.analysis.notes, self.faults, self.analysis.cautions)
        edit_list.other_edits(self.view, self.analysis)
