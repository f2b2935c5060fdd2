"""The numbers of a view as files: its tables, the whole analysis, the lines of Python and those of checks."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from typing import TYPE_CHECKING

from model.export.csv_tables import Table
from model.trace import Site
from viz import cache, pages

if TYPE_CHECKING:
    from model.inference.analysis import Analysis
    from model.inference.request import Request
    from viz.state.view import View


MAX_NAME = 80  # characters of a file's name


def _file_name(text: str) -> str:
    """A text as the name of a file: letters and digits, with a dash for all between."""
    plain = "".join(char if char.isalnum() else "-" for char in text)
    return "-".join(filter(None, plain.split("-")))[:MAX_NAME].strip("-") or "view"


def zipped(tables: Sequence[Table]) -> bytes:
    """Tables as CSV files in one archive, the same bytes for the same numbers; ValueError where there is none."""
    if not tables:
        raise ValueError("There are no numbers in what is shown here.")
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        for table in tables:
            entry = zipfile.ZipInfo(f"{_file_name(table.name)}.csv")  # its time is that of no day: 1980
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, table.csv())
    return raw.getvalue()


def analysis_file(request: Request, device: str, end: str) -> bytes:
    """The whole analysis as a file that ends in `.npz` or `.json`; ValueError where it is too large for it."""
    from model.export import analysis_files

    return analysis_files.FORMATS[end](cache.exported(request, device))


def kinds_of(view: View, analysis: Analysis, page: pages.Page) -> tuple[str, ...]:
    """The kinds of attention of which a page shows a head."""
    if not page.of_a_head:
        return ()
    return (view.kind,) if page.of_a_kind else analysis.trace.kinds


def check_lines(view: View, page_data: cache.PageData, kinds: Sequence[str]) -> tuple[str, ...]:
    """The lines of a checks file that the view states, of the layer and head of each of some kinds of attention; each holds
    on the view."""
    from model.export.checks import lines

    analysis, head = page_data.analysis, None if view.head is None else view.head - 1
    places = []
    for kind in kinds:
        site = Site(kind, view.layer - 1)  # type: ignore[arg-type]
        if site in analysis.trace.patterns:
            row = view.token if site.of.queries == "source" else view.step
            places.append((site, head, min(row, len(analysis.trace.queries(site))) - 1))
    return lines(page_data.loaded, analysis, min(view.step, len(analysis.trace.places)) - 1, places)


def change_table(analysis: Analysis) -> Table:
    """The probability of each of the baseline's tokens, of a classifier of each label, before the edits and after them;
    blank from where the translations part. Without edits both are the same."""
    found = analysis.change
    rows = [
        (number + 1, label, before, found.after[number] if number < len(found.after) else None)
        for number, (label, before) in enumerate(zip(found.labels, found.before, strict=True))
    ]
    names = ("label", "name") if analysis.task.judges else ("step", "token")
    return Table("change", (*names, "before", "after"), tuple(rows))
