"""The numbers of the page Training, and the lines of Python that read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from model.export.code import Code, name_or_path
from model.export.csv_tables import Table
from model.workshop.training.history import Entry
from viz.state import uploads
from viz.state.view import View, without_edits
from viz.training import histories, loss_curves, player, rates, training_parts

if TYPE_CHECKING:
    from viz.page_context import PageContext


def tables(context: PageContext) -> tuple[Table, ...]:
    """The log, the validations, the sentence at every step, the number of every head, and the learning rate."""
    view = context.view
    try:
        history, stamp = histories.history(histories.chosen(view))
    except ValueError:
        return ()
    found = [_entries("training-log", history.steps), _entries("training-validations", history.validations)]
    if recording := history.recording:
        number = training_parts.number(view, history)
        tokens, values = player.told(recording, number)
        written = [texts[number] for texts in recording.outputs] or [""] * len(recording.steps)
        columns = ("step", "written", *(f"p {n} {token}" for n, token in enumerate(tokens, 1)))
        rows = zip(recording.steps, written, values, strict=True)
        found.append(Table("training-sentence", columns, tuple((step, text, *map(float, p)) for step, text, p in rows)))
        found.append(_heads(view, history, stamp))
    found.append(rates.table(history))
    return tuple(table for table in found if table.rows)


def _entries(name: str, entries: tuple[Entry, ...]) -> Table:
    columns = tuple(dict.fromkeys(key for entry in entries for key in entry))
    return Table(name, columns or ("step",), tuple(tuple(entry.get(key) for key in columns) for entry in entries))


def _heads(view: View, history, stamp: histories.Stamp) -> Table:
    """A row for every head and step."""
    rows = []
    for kind in loss_curves.kinds_of(history, view.grown):
        values = histories.scores(histories.chosen(view), stamp, kind, view.grown)
        for (n, layer, head), value in np.ndenumerate(values):
            number = None if np.isnan(value) else float(value)
            rows.append((kind, layer + 1, head + 1, history.recording.steps[n], number))
    return Table("training-heads", ("kind", "layer", "head", "step", view.grown), tuple(rows))


def python(context: PageContext) -> str:
    """The same as Python."""
    code, view = Code.of(without_edits(context.analysis.request), context.view.device), context.view
    name = histories.chosen(view)
    place, is_run = histories.places().get(name, (None, False))
    if place is None:
        return code.text
    function = "load_run_history" if is_run else "load_checkpoint_history"
    if not is_run and name_or_path(name) == place.name:
        code.uses(model__io__folders=("SHIPPED",))
        where = f"SHIPPED / {place.name!r}"
    else:
        code.uses(pathlib=("Path",))
        where = f"Path({name if uploads.is_uploaded(name) else str(place)!r})"
    code.add(
        f"history = {function}({where}, {uploads.display_name(name)!r})", model__workshop__training__history=(function,)
    )
    code.add("losses = [(entry['step'], entry['dev_loss']) for entry in history.validations]")
    history, _ = histories.history(name)
    if history.recording is not None:
        kinds = loss_curves.kinds_of(history, view.grown)
        code.add(
            f"by_head = {{kind: head_scores(history.recording, kind, {view.grown!r}) for kind in {kinds!r}}}",
            "steps, layers, heads",
            model__workshop__training__recording=("head_scores",),
        )
    return code.text
