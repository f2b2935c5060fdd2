"""Numbers of a view as files: tables, the complete analysis, and lines of checks."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from typing import TYPE_CHECKING

from model.export.csv_tables import Table
from model.trace import Site
from viz import cache, pages
from viz.page_context import PageContext

if TYPE_CHECKING:
    from model.inference.analysis import Analysis
    from model.inference.request import Request
    from viz.state.view import View


MAX_NAME = 80  # characters of a file's name


def _file_name(text: str) -> str:
    """Returns a file name of letters and digits, with dashes between."""
    plain = "".join(char if char.isalnum() else "-" for char in text)
    return "-".join(filter(None, plain.split("-")))[:MAX_NAME].strip("-") or "view"


def zipped(tables: Sequence[Table]) -> bytes:
    """Returns tables as CSV files in a zip, equal bytes for equal numbers. Raises ValueError without tables."""
    if not tables:
        raise ValueError("This picture has no numbers.")
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        for table in tables:
            entry = zipfile.ZipInfo(f"{_file_name(table.name)}.csv")  # with the fixed date 1980
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, table.csv())
    return raw.getvalue()


def analysis_file(request: Request, device: str, end: str) -> bytes:
    """Returns the complete analysis as `.npz` or `.json`. Raises ValueError if it is too large."""
    from model.export import analysis_files

    return analysis_files.FORMATS[end](cache.exported(request, device))


def kinds_of(view: View, analysis: Analysis, page: pages.Page) -> tuple[str, ...]:
    """Returns the kinds of attention of which a page shows a head."""
    if not page.has_head:
        return ()
    return (view.kind,) if page.has_kind else analysis.trace.kinds


def check_lines(context: PageContext, kinds: Sequence[str]) -> tuple[str, ...]:
    """Returns lines of a checks file for the view's layer and head of each kind of attention. All hold on the view."""
    from model.export.checks import view_checks

    view, analysis = context.view, context.analysis
    head = view.head
    places = []
    for kind in kinds:
        site = Site(kind, view.layer)  # type: ignore[arg-type]
        if site in analysis.trace.patterns:
            row = view.token if site.spec.query_side == "source" else view.step
            places.append((site, head, min(row, len(analysis.trace.queries(site)) - 1)))
    return view_checks(context.loaded, analysis, view.within(len(analysis.trace.step_axis)).step, places)


def change_table(analysis: Analysis) -> Table:
    """Returns the probability of each baseline token, or label, before and after the edits.

    Values after the first difference of the translations are blank.
    """
    change = analysis.probability_change
    rows = [
        (number + 1, label, before, change.after[number] if number < len(change.after) else None)
        for number, (label, before) in enumerate(zip(change.labels, change.before, strict=True))
    ]
    names = ("label", "name") if analysis.task.is_classifier else ("step", "token")
    return Table("change", (*names, "before", "after"), tuple(rows))
