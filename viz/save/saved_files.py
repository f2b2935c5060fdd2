"""Files of a view made on request: tables, analysis, HTML, Python, checks; and the captions of saved pictures."""

from __future__ import annotations

import io
import logging
import re
import unicodedata
import zipfile
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from model.export.csv_tables import Table
from model.io import folders
from model.trace import Site, site_kind
from model.workshop.training import run_listing
from viz import cache, pages
from viz.offline import html_export
from viz.page_context import PageContext, query_of
from viz.state import hosts, uploads

if TYPE_CHECKING:
    from model.inference.analysis import Analysis
    from model.inference.request import Request
    from viz.kit.panel import Layout
    from viz.pages import Page
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


HOOKS_END = "-transformer-lens.npz"


def analysis_file(request: Request, device: str, end: str) -> bytes:
    """Returns the complete analysis as `.npz` or `.json`, or its maps by hook name. Raises ValueError if it is too large."""
    from model.export import analysis_files, hook_names

    return (hook_names.npz if end == HOOKS_END else analysis_files.FORMATS[end])(cache.exported(request, device))


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
            row = query_of(view, analysis.trace, site)
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
    return Table("change", (*names, "probability_before", "probability_after"), tuple(rows))


NAMED_WORDS = 6  # of the sentence, in a file's name


@dataclass(frozen=True)
class Caption:
    """The text under a picture, and the parts of its file name.

    Fields:
        title: the sentence.
        facts: the facts of the second line by name.
        has_several: True if the page draws several kinds of attention, so that most pictures draw fewer heads than the page.
    """

    title: str
    facts: dict[str, str]
    names: tuple[str, ...]
    has_several: bool = False


def caption(view: View, page: Page, analysis: Analysis | None) -> Caption:
    """Returns the caption of a view on a page; without an analysis, of its input."""
    source = analysis.request.source if analysis else view.source
    words = " ".join(source.split()[:NAMED_WORDS])
    checkpoint = uploads.display_name(view.checkpoint)
    if analysis is None:
        return Caption(f"“{source}”", {"checkpoint": checkpoint}, (checkpoint, words))
    if not page.has_sentence:
        whose = uploads.display_name(view.run) if view.run else checkpoint
        return Caption(f"{page.title} of {whose}", {"question": page.question}, (page.name, whose))
    facts, kinds = {"checkpoint": checkpoint}, (view.kind,) if page.has_kind else analysis.trace.kinds
    names = [checkpoint]
    if page.has_head:
        is_merged = page.name == "heads" and view.merges_layers
        how = view.combine if page.name == "heads" else "mean"  # on other pages several heads have their mean
        how = "rollout" if is_merged and view.measure == "rollout" else how
        facts["heads"] = _heads(view, kinds, is_merged).replace("mean", {"max": "maximum"}.get(how, how))
        names += [
            *([view.kind] if page.has_kind else []),
            _layers_part(view) if is_merged else f"l{view.layer + 1}",
            how if is_merged or view.head is None else f"h{view.head + 1}",
        ]
    if page.has_step:
        steps = analysis.trace.step_axis
        step = view.within(len(steps)).step + 1
        place = "step" if analysis.task.has_decoder else "token"
        facts["step"] = f"{place} {step} of {len(steps)}"
        names.append(f"{place}{step}")
    edits = analysis.request.intervention
    facts["edits"] = f"edits: {edits.describe()}" if edits else "no edits"
    title = f"“{source}”"
    if analysis.task.has_decoder and not view.guess:  # a picture must not reveal what is to be guessed
        title += f" → “{analysis.translation}”"
    if analysis.request.second_sentence:
        title += f" “{analysis.request.second_sentence}”"
    return Caption(title, facts, (*names, words), len(kinds) > 1)


def _heads(view: View, kinds: Sequence[Any], is_merged: bool) -> str:
    """Returns the names of the heads that a page shows, or of their mean."""
    if not is_merged:
        return view.head_names(kinds)
    over = "mean over layers and heads" if view.merged_head is None else f"head {view.merged_head + 1}, mean over layers"
    return f"{', '.join(site_kind(kind).name for kind in kinds)}, {over}"


def _layers_part(view: View) -> str:
    return "all" if view.merged_head is None else f"h{view.merged_head + 1}-layers"


NUMBERS, PAGE, COPIED = "Numbers", "Page", "Lines to copy"  # groups of offers
CHANGED = "This view has changed. Try again."
FAULT = "Saving failed ({}). Nothing was saved, and your input is kept."


class File(NamedTuple):
    """A file for the browser to save."""

    name: str
    mime: str
    content: bytes


@dataclass(frozen=True)
class Offer:
    """An offered file: the label of its button and the function that makes it, which may raise ValueError.

    The text of a `copied` offer goes to the clipboard.
    """

    label: str
    make: Callable[[], File]
    group: str = NUMBERS
    copied: bool = False


def offer_labels(offers: Sequence[Offer]) -> list[dict[str, str]]:
    """Returns groups and labels of offers for the panel."""
    return [{"group": offer.group, "label": offer.label} for offer in offers]


def make_file(offer: Offer, number: str) -> dict[str, Any]:
    """Returns an offer's file for the browser, or an error message; `number` identifies the answer."""
    try:
        file = offer.make()
    except (ValueError, OSError) as fault:
        return fault_answer(getattr(fault, "strerror", None) or str(fault), number)
    except Exception as fault:
        logging.getLogger(__name__).exception("A file could not be made: %s", offer.label)
        return fault_answer(FAULT.format(type(fault).__name__), number)
    encoded = b64encode(file.content).decode()
    return {"number": number, "name": file.name, "mime": file.mime, "bytes": encoded, "copied": offer.copied}


def fault_answer(fault: str, number: str) -> dict[str, str]:
    """Returns an error message in place of a file, with a capital first and a full stop."""
    sentence = fault.strip().rstrip(".") or "This could not be made"
    return {"number": number, "fault": f"{sentence[0].upper()}{sentence[1:]}."}


LONGEST = 80  # letters of a file's name without its end
CSV, ZIP, JSON, HTML, TEXT = "text/csv", "application/zip", "application/json", "text/html", "text/plain"


def offers(context: PageContext, name: str, layout: Layout) -> tuple[Offer, ...]:
    """Returns the offers of a page: what its visible panels have, and the analysis."""
    page = pages.find(name)
    stem = stem_of(caption(context.view, page, context.analysis).names)

    def analysis(end: str, mime: str) -> Callable[[], File]:
        return lambda: File(stem + end, mime, analysis_file(context.analysis.request, context.view.device, end))

    every = []
    if layout.has_tables(context):
        every.append(Offer("What is shown, as CSV", lambda: _csv(layout.tables(context), stem)))
    every += [
        Offer("Whole analysis, npz", analysis(".npz", ZIP)),
        Offer("Maps, npz with TransformerLens names", analysis(HOOKS_END, ZIP)),
        Offer("Whole analysis, JSON", analysis(".json", JSON)),
    ]
    if layout.in_file(context):
        every.append(Offer("One HTML file, works offline", lambda: _html(context, name, stem), PAGE))
    if any(panel.has_code for panel in layout.visible(context)):
        every.append(Offer("Python", lambda: _text(f"{stem}.py", _lines(context, layout)), COPIED, True))
    every.append(Offer("Checks", lambda: _checks(context, page, stem), COPIED, True))
    return tuple(every)


def _lines(context: PageContext, layout: Layout) -> str:
    return portable_lines(context.view.checkpoint, layout.python(context))


def stem_of(names: tuple[str, ...]) -> str:
    """Returns a file name without suffix: lower-case ASCII letters and digits, with - between."""
    plain = unicodedata.normalize("NFKD", "-".join(("attention", *names)))
    letters = re.sub(r"[\u0300-\u036f'’]", "", plain).lower()
    return re.sub(r"[^a-z0-9]+", "-", letters).strip("-")[:LONGEST].strip("-")


def _csv(tables: tuple[Table, ...], stem: str) -> File:
    """Returns one table as CSV, several as a zip."""
    if len(tables) == 1:
        return File(f"{stem}.csv", CSV, tables[0].csv())
    return File(f"{stem}.zip", ZIP, zipped(tables))


def _html(context: PageContext, name: str, stem: str) -> File:
    return File(f"{stem}.html", HTML, html_export.file_of(name, context))


def _text(name: str, text: str) -> File:
    return File(name, TEXT, text.encode())


def _checks(context: PageContext, page: pages.Page, stem: str) -> File:
    lines = check_lines(context, kinds_of(context.view, context.analysis, page))
    return _text(f"{stem}.checks", "".join(f"{line}\n" for line in lines))


def portable_lines(name: str, text: str) -> str:
    """Returns code that runs elsewhere: an uploaded checkpoint by a path, and no folders of a shared server."""
    if uploads.is_uploaded(name):
        path = f"./{uploads.display_name(name).partition(' (zip')[0]}"
        text = f"# {path!r} stands for the folder that was uploaded: unpack its zip there, or name another path\n" + text
        text = text.replace(repr(name), repr(path))
    return _without_folders(text) if hosts.is_shared() else text


def _without_folders(text: str) -> str:
    """Returns the code with a placeholder path, and a comment, for each folder of the lab."""
    for name, place in (*folders.list_checkpoints().folders.items(), *run_listing.find_runs().items()):
        path = f"./{name}"
        for own in {repr(str(place)), repr(str(place.resolve()))}:
            if own in text:
                text = text.replace(own, repr(path))
                text = f"# {path!r} stands for a folder of the lab: name the path of your copy\n{text}"
    return text
