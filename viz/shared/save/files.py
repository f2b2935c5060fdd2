"""What the server makes of a view: its numbers, the whole analysis, the page as one file, Python, and checks."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from model import folders
from model.training import found_runs
from viz import hosts, pages, uploads
from viz.offline import take
from viz.shared.numbers import analysis_file, check_lines, kinds_of, zipped
from viz.shared.save.caption import caption
from viz.shared.save.offers import COPIED, PAGE, File, Offer

if TYPE_CHECKING:
    from collections.abc import Callable

    from viz.shared.shown import Shown

LONGEST = 80  # letters of a file's name without its end
CSV, ZIP, JSON, HTML, TEXT = "text/csv", "application/zip", "application/json", "text/html", "text/plain"


def offers(shown: Shown, name: str) -> tuple[Offer, ...]:
    """All that can be had of a view on the page of a name."""
    page = pages.find(name)
    stem = stem_of(caption(shown.view, page, shown.analysis).names)

    def analysis(end: str, mime: str) -> Callable[[], File]:
        return lambda: File(stem + end, mime, analysis_file(shown.analysis.request, shown.view.device, end))

    found = [] if shown.tables is None else [Offer("What is shown, as CSV", lambda: _csv(shown, stem))]
    found += [
        Offer("Whole analysis, npz", analysis(".npz", ZIP)),
        Offer("Whole analysis, JSON", analysis(".json", JSON)),
    ]
    if name in take.names():
        found.append(Offer("One HTML file, works offline", lambda: _html(shown, name, stem), PAGE))
    if python := shown.python:
        checkpoint = shown.view.checkpoint
        found.append(Offer("Python", lambda: _text(f"{stem}.py", _here(checkpoint, python(shown))), COPIED, True))
    found.append(Offer("Checks", lambda: _checks(shown, page, stem), COPIED, True))
    return tuple(found)


def stem_of(names: tuple[str, ...]) -> str:
    """The name of a file of some parts, without its end: small letters of ASCII and digits, with - between."""
    plain = unicodedata.normalize("NFKD", "-".join(("attention", *names)))
    kept = re.sub(r"[\u0300-\u036f'’]", "", plain).lower()
    return re.sub(r"[^a-z0-9]+", "-", kept).strip("-")[:LONGEST].strip("-")


def _csv(shown: Shown, stem: str) -> File:
    """One table as it is, several in a zip."""
    assert shown.tables is not None
    tables = shown.tables(shown)
    if len(tables) == 1:
        return File(f"{stem}.csv", CSV, tables[0].csv())
    return File(f"{stem}.zip", ZIP, zipped(tables))


def _html(shown: Shown, name: str, stem: str) -> File:
    return File(f"{stem}.html", HTML, take.file_of(name, shown.page_data, shown.view))


def _text(name: str, text: str) -> File:
    return File(name, TEXT, text.encode())


def _checks(shown: Shown, page: pages.Page, stem: str) -> File:
    lines = check_lines(shown.view, shown.page_data, kinds_of(shown.view, shown.analysis, page))
    return _text(f"{stem}.checks", "".join(f"{line}\n" for line in lines))


def _here(name: str, text: str) -> str:
    """The lines as they run elsewhere. An uploaded checkpoint is known to this session alone, elsewhere by the path of its
    folder. A lab that serves other machines does not tell them where its folders are."""
    if uploads.is_uploaded(name):
        path = f"./{uploads.shown(name).partition(' (zip')[0]}"
        text = f"# {path!r} stands for the folder that was uploaded: unpack its zip there, or name another path\n" + text
        text = text.replace(repr(name), repr(path))
    return _without_folders(text) if hosts.is_shared() else text


def _without_folders(text: str) -> str:
    """The lines with a path of the reader's own in place of each folder of the lab, which a comment explains."""
    for name, place in (*folders.survey().places.items(), *found_runs.survey().items()):
        path = f"./{name}"
        for own in {repr(str(place)), repr(str(place.resolve()))}:
            if own in text:
                text = text.replace(own, repr(path))
                text = f"# {path!r} stands for a folder of the lab: name the path of your copy\n{text}"
    return text
