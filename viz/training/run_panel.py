"""The run of a training: its state, notices, log and validations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from model.export.code import name_or_path
from model.export.csv_tables import Table
from model.workshop.training import run_listing
from model.workshop.training.history import Entry, History
from viz import cache
from viz.kit import site_texts
from viz.kit.panel import Panel
from viz.page_context import PageContext
from viz.state import uploads
from viz.training import histories
from viz.training.histories import OpenHistory

if TYPE_CHECKING:
    from model.export.code import Code


def ended(history: History) -> str:
    """Returns the last step of a run that is not in progress; empty after its last planned step, which the player shows."""
    progress = history.progress
    if history.is_running or progress is None or (history.is_over and progress.step == progress.total):
        return ""
    where = f"training step {progress.step:,}" + ("" if progress.total is None else f" of {progress.total:,}")
    if not history.is_over:
        return f"It stopped at {where}. The same command resumes it."
    is_early = progress.total is not None and progress.step < progress.total
    return f"It ended at {where}{', because the dev loss stopped falling' if is_early else ''}."


def draw_live(context: PageContext) -> None:
    """Draws the progress of a training that is running."""
    opened = histories.find_history(context)
    if opened is not None and opened.history.is_running:
        histories.sign(opened.name, opened.stamp)


def _text(context: PageContext, opened: OpenHistory) -> str:
    unusable = cache.read_recently(run_listing.unusable_folders)
    return "".join(map(site_texts.note_markup, (*unusable, ended(opened.history), *opened.history.notices)))


def _entries(name: str, entries: tuple[Entry, ...]) -> tuple[Table, ...]:
    columns = tuple(dict.fromkeys(key for entry in entries for key in entry))
    rows = tuple(tuple(entry.get(key) for key in columns) for entry in entries)
    return (Table(name, columns, rows),) if rows else ()


def _tables(context: PageContext, opened: OpenHistory) -> tuple[Table, ...]:
    """Returns the log and the validations."""
    history = opened.history
    return (*_entries("training-log", history.steps), *_entries("training-validations", history.validations))


def _code(code: Code, context: PageContext, opened: OpenHistory) -> None:
    name, place = opened.name, opened.place
    function = "load_run_history" if opened.is_run else "load_checkpoint_history"
    if not opened.is_run and name_or_path(name) == place.name:
        code.uses(model__io__folders=("SHIPPED",))
        where = f"SHIPPED / {place.name!r}"
    else:
        code.uses(pathlib=("Path",))
        where = f"Path({name if uploads.is_uploaded(name) else str(place)!r})"
    line = f"history = {function}({where}, {uploads.display_name(name)!r})"
    code.add(line, model__workshop__training__history=(function,))
    code.add("losses = [(entry['step'], entry['dev_loss']) for entry in history.validations]")


RUN = Panel(
    "training.run",
    "The run",
    compute=histories.open_history,
    text=_text,
    tables=_tables,
    code=_code,
    is_visible=lambda context: histories.find_history(context) is not None,
    is_independent=True,
)
