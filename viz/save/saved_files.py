"""What the server makes of a view: its numbers, the whole analysis, the page as one file, Python, and checks.

Files that the server makes of a view, beside the pictures that the browser draws: each is made when it is asked for.

What a saved picture says of itself: the lines under it, and the parts of its file's name."""

from __future__ import annotations

import logging
import re
import unicodedata
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from model.io import folders
from model.trace import SITE_KINDS
from model.workshop.training import run_listing
from viz import pages
from viz.offline import html_export
from viz.save.number_tables import (
    analysis_file,
    check_lines,
    kinds_of,
    zipped,
)
from viz.state import hosts, uploads

if TYPE_CHECKING:
    from collections.abc import Callable

    from model.inference.analyse import Analysis
    from viz.kit.page_context import Shown
    from viz.pages import Page
    from viz.state.view import View

NAMED_WORDS = 6  # of the sentence, in a file's name


@dataclass(frozen=True)
class Caption:
    """The lines under a picture, and what comes after the picture in its file's name."""

    lines: tuple[str, ...]
    names: tuple[str, ...]


def caption(view: View, page: Page, analysis: Analysis | None) -> Caption:
    """Of a view on a page; where nothing could be read of it, of what was asked."""
    source = analysis.request.source if analysis else view.source
    words = " ".join(source.split()[:NAMED_WORDS])
    checkpoint = uploads.shown(view.checkpoint)
    if analysis is None:
        return Caption((f"“{source}”", checkpoint), (checkpoint, words))
    if not page.of_a_sentence:
        whose = uploads.shown(view.run) if view.run else checkpoint
        return Caption((f"{page.title} of {whose}", page.question), (page.name, whose))
    facts = [checkpoint]
    names = [checkpoint]
    if page.of_a_head:
        site = f"{SITE_KINDS[view.kind].name}, " if page.of_a_kind else ""
        which = "mean over heads" if view.head is None else f"head {view.head}"
        facts.append(f"{site}layer {view.layer}, {which}")
        names += [
            *([view.kind] if page.of_a_kind else []),
            f"l{view.layer}",
            "mean" if view.head is None else f"h{view.head}",
        ]
    if page.of_a_step:
        steps = analysis.trace.places
        step = min(view.step, len(steps))
        at = "step" if analysis.task.writes else "place"
        facts.append(f"{at} {step} of {len(steps)}")
        names.append(f"{at}{step}")
    edits = analysis.request.intervention
    facts.append(f"edits: {edits.describe()}" if edits else "no edits")
    told = analysis.task.writes and not view.guess  # what is to be guessed stands in no picture either
    said = f"“{source}” → “{analysis.translation}”" if told else f"“{source}”"
    said += f" “{analysis.request.second}”" if analysis.request.second else ""
    return Caption((said, " · ".join(facts)), (*names, words))


NUMBERS, PAGE, COPIED = "Numbers", "Page", "Lines to copy"  # the groups in which they are offered
CHANGED = "This view has changed: ask again."
FAULT = "This could not be made ({}). Nothing was saved; what you typed is kept."


class File(NamedTuple):
    """A file as the browser saves it."""

    name: str
    mime: str
    content: bytes


@dataclass(frozen=True)
class Offer:
    """A file to be had: what its button says, and what makes it, which may raise ValueError with one sentence. `copied`: its
    text goes to the clipboard instead of a file."""

    label: str
    make: Callable[[], File]
    group: str = NUMBERS
    copied: bool = False


def listed(offers: Sequence[Offer]) -> list[dict[str, str]]:
    """What the panel shows of them."""
    return [{"group": offer.group, "label": offer.label} for offer in offers]


def made(offer: Offer, number: str) -> dict[str, Any]:
    """An offer's file for the browser, or one sentence that says why there is none; `number` tells it from all others."""
    try:
        file = offer.make()
    except (ValueError, OSError) as fault:
        return failed(getattr(fault, "strerror", None) or str(fault), number)
    except Exception as fault:
        logging.getLogger(__name__).exception("A file could not be made: %s", offer.label)
        return failed(FAULT.format(type(fault).__name__), number)
    encoded = b64encode(file.content).decode()
    return {"number": number, "name": file.name, "mime": file.mime, "bytes": encoded, "copied": offer.copied}


def failed(fault: str, number: str) -> dict[str, str]:
    """What is answered in place of a file: a sentence, with a large letter first and one full stop at its end."""
    told = fault.strip().rstrip(".") or "This could not be made"
    return {"number": number, "fault": f"{told[0].upper()}{told[1:]}."}


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
    if name in html_export.names():
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
    return File(f"{stem}.html", HTML, html_export.file_of(name, shown.page_data, shown.view))


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
    for name, place in (*folders.survey().places.items(), *run_listing.survey().items()):
        path = f"./{name}"
        for own in {repr(str(place)), repr(str(place.resolve()))}:
            if own in text:
                text = text.replace(own, repr(path))
                text = f"# {path!r} stands for a folder of the lab: name the path of your copy\n{text}"
    return text
