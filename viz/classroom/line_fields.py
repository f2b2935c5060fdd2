"""Numbers in the lines of a talk: fields such as `{probability of il}`, filled from the tables of the stop's own view.

A field is the name of a column, then the row's token after `of`, then for a map the column's token after `on`:
`{probability of il}`, `{weight of it on apple}`, `{difference}`. `{translation}` and the other names of `TEXTS` are texts.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from model.export.csv_tables import Cell, Table
from model.io import numbers
from model.trace import Site
from viz import page_context, pages
from viz.kit.panel import layout_of, no_tables
from viz.page_context import PageContext
from viz.state.result_cache import cached
from viz.state.view import View

FIELD = re.compile(r"\{([^{}]*)\}")
UNFILLED = "…"
UNPAIRED = "A field needs both braces, such as {probability of il}."
PARTS = re.compile(r"(?P<number>.+?)(?: of (?P<row>.+?)(?: on (?P<column>.+))?)?")
SHARES = ("probability", "weight", "share", "largest")  # numbers from 0 to 1, with two decimals
MAX_LISTED = 4  # other rows that a message names
MAPS = {"weights": "weight", "before": "weight before", "after": "weight after", "difference": "difference"}
MAPS |= {"first": "first weight", "second": "second weight"}  # what a map's table is called, by the begin of its name
TYPED = re.compile(r"(?<![\w.])[<>−+-]?\d*\.\d+")  # a decimal that is typed, not filled
HEADS = re.compile(r"\b(?:encoder|decoder|cross) \d+\.\d+")

TEXTS: dict[str, Callable[[PageContext], str]] = {
    "translation": lambda context: context.analysis.translation,
    "translation before": lambda context: _before(context).translation,
    "token": lambda context: context.analysis.trace.predicted_axis.labels[context.view.step],
    "token before": lambda context: _before(context).trace.predicted_axis.labels[context.view.step],
    "head": lambda context: Site(context.view.kind, context.view.layer).head_name(context.view.head),
    "log-probability": lambda context: numbers.three_digits(context.analysis.log_prob),
    "log-probability before": lambda context: numbers.three_digits(_before(context).log_prob),
}


class FieldError(ValueError):
    """A field that the view does not have; the message is one sentence."""


class Filled(NamedTuple):
    """A line with its numbers, and a sentence for each field that its view does not have."""

    text: str
    faults: tuple[str, ...] = ()


def fill(page: pages.Page, view: View, line: str) -> Filled:
    """Returns the line with each field filled; `…` where the view does not have it.

    The numbers are those of the page at this view, computed as the page does.
    """
    faults = (UNPAIRED,) if set("{}") & set(FIELD.sub("", line)) else ()
    if not FIELD.search(line):
        return Filled(line, faults)
    try:
        context = layout_of(page).without_session(page_context.build(dataclasses.replace(view, lecture=True)))
    except ValueError as fault:
        return Filled(blank(line), (str(fault), *faults))
    found = _filled(page.name, context.request, context.view, line, page, context)
    return found._replace(faults=(*found.faults, *faults))


def blank(line: str) -> str:
    """Returns the line with `…` for each field, without a computation."""
    return FIELD.sub(UNFILLED, line)


@cached(256, ignore=("page", "context"))
def _filled(name: str, request: Any, view: View, line: str, page: pages.Page, context: PageContext) -> Filled:
    faults: list[str] = []

    def one(match: re.Match[str]) -> str:
        try:
            return resolve(page, context, match[1])
        except ValueError as fault:
            faults.append(str(fault))
            return UNFILLED

    return Filled(FIELD.sub(one, line), tuple(faults))


def warning(line: str) -> str:
    """Returns a sentence where a line has typed decimals, which do not follow the model; else an empty text."""
    found = TYPED.search(HEADS.sub("", FIELD.sub("", line)))
    if not found:
        return ""
    return f"{found[0]} stays as typed. A field such as {{probability of il}} follows the model."


def resolve(page: pages.Page, context: PageContext, field: str) -> str:
    """Returns the text of a field on a page. Raises FieldError."""
    name = " ".join(field.split())
    if name in TEXTS:
        return TEXTS[name](context)
    found = {_format(_number_of(name), value): None for value in _cells(page, context, name)}
    if len(found) > 1:
        listed = ", ".join(list(found)[:MAX_LISTED])
        raise FieldError(f"{{{name}}} is not one number here: {listed}. Write the token with its position, such as “3 the”.")
    return next(iter(found))


def number(page: pages.Page, context: PageContext, field: str) -> float:
    """Returns the number of a field on a page. Raises FieldError for a text, and where the view does not have one number."""
    name = " ".join(field.split())
    resolve(page, context, name)
    value = None if name in TEXTS else _cells(page, context, name)[0]
    if value is None or not _is_number(value):
        raise FieldError(f"{{{name}}} is no number.")
    return float(value)


def number_names(page: pages.Page, context: PageContext) -> Iterator[str]:
    """Yields names of numbers that the tables of a view have; some of them may mean several cells."""
    for table in _tables(page, context):
        begin, names = table.name.split("-")[0], [_plain(name) for name in table.columns]
        if begin in MAPS and table.columns[0] == "query":
            for cells in _at_step(list(table.rows), context.view)[:1]:
                row = str(cells[0]).split(" → ")[-1]
                yield from (f"{MAPS[begin]} of {_token(row)} on {_token(column)}" for column in table.columns[1:])
        elif len(names) == 2:
            yield from (_plain(str(cells[0])) for cells in table.rows)
        else:
            numbers_of = (
                [name for name, cell in zip(names, table.rows[0], strict=True) if _is_number(cell)] if table.rows else []
            )
            tokens = [next((cell for cell in reversed(cells) if isinstance(cell, str)), "") for cells in table.rows]
            wanted = [name for name in numbers_of if any(word in name for word in SHARES)]
            yield from (f"{name} of {_token(token)}" for token in dict.fromkeys(filter(None, tokens)) for name in wanted)


def _token(label: str) -> str:
    return re.sub(r"^\d+ (?=\S)", "", label).lstrip("·")


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, int | float | np.number) and not isinstance(cell, bool)


def _number_of(name: str) -> str:
    parts = PARTS.fullmatch(name)
    return parts["number"] if parts else name


def _cells(page: pages.Page, context: PageContext, name: str) -> list[Cell]:
    """Returns the cells that a field means, of the first table that has some. Raises FieldError if none has."""
    parts = PARTS.fullmatch(name)
    if parts is not None:
        for table in _tables(page, context):
            if found := list(_values(table, parts["number"], parts["row"], parts["column"], context.view)):
                return found
    raise FieldError(f"This view has no number {{{name}}}; it has, for example, {_examples(page, context)}.")


def _before(context: PageContext) -> Any:
    if context.analysis.baseline is None:
        raise FieldError("This view has no edits, so nothing was there “before”.")
    return context.analysis.baseline


def _tables(page: pages.Page, context: PageContext) -> Iterator[Table]:
    """Yields the tables of the visible panels, without those of long measurements."""
    for panel in layout_of(page).visible(context):
        if panel.tables is no_tables or panel.measured is not None:
            continue
        try:
            yield from panel.tables(context, panel.result(context))
        except ValueError:  # the panel shows it
            continue


def _values(table: Table, number: str, row: str | None, column: str | None, view: View) -> Iterator[Cell]:
    """Yields the cells of a table that a field can mean."""
    names = [_plain(name) for name in table.columns]
    if row is None:
        if len(names) == 2:  # a list of named numbers
            yield from (cells[1] for cells in table.rows if _plain(str(cells[0])) == _plain(number))
        elif _plain(number) in names and len(table.rows) == 1:
            yield table.rows[0][names.index(_plain(number))]
    elif _plain(number) in names:
        at = names.index(_plain(number))
        labels = [row] if column is None else [row, column]
        columns = [n for n, name in enumerate(names) if name != "reads"]  # a step has the name of the token that it writes
        rows = [cells for cells in table.rows if all(any(_is(cells[n], label) for n in columns) for label in labels)]
        if "step" in names:
            own = [cells for cells in rows if cells[names.index("step")] == view.step + 1]
            rows = own or (rows if table.name == "change" else [])  # What if shows all steps
        yield from (cells[at] for cells in rows)
    elif column is not None and MAPS.get(table.name.split("-")[0]) == number:
        for n, label in enumerate(table.columns[1:], 1):
            if _is(label, column):
                yield from (cells[n] for cells in _at_step([c for c in table.rows if _is(c[0], row)], view))
    elif column is None and table.columns[:2] == ("row", "1") and table.name.endswith(f"-{number}"):
        yield from (cells[-1] for cells in table.rows if _is(cells[0], row))  # a stage: its result is the last number


def _at_step(rows: list[tuple[Cell, ...]], view: View) -> list[tuple[Cell, ...]]:
    """Returns the row of the view's step or token among rows of the same token, or all of them."""
    chosen = {view.step + 1, -1 if view.token is None else view.token + 1}
    own = [cells for cells in rows if str(cells[0]).split(" ")[0] in map(str, chosen)]
    return own if len(rows) > 1 and own else rows


def _plain(name: str) -> str:
    return name.replace("_", " ").replace("-", " ").lower()


def _is(cell: Cell, label: str) -> bool:
    """Returns True if a cell is a token: with or without its position, a space mark, or the token that a row reads."""
    if not isinstance(cell, str):
        return False
    token = re.sub(r"^\d+ (?=\S)", "", cell)
    return label in {cell, token, token.lstrip("·"), *token.split(" → ")}


def _format(number: str, value: Cell) -> str:
    if value is None:
        return "hidden by the mask"
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | np.integer):
        return f"{int(value):,}"
    if "cosine" in number:
        return numbers.decimal(float(value))
    is_share = any(word in number for word in SHARES)
    return numbers.probability(float(value)) if is_share else numbers.three_digits(float(value))


def _examples(page: pages.Page, context: PageContext) -> str:
    """Returns some fields that the view has."""
    found = ["{token}"] if context.analysis.trace.outputs is not None else []
    for table in _tables(page, context):
        begin, row = table.name.split("-")[0], table.rows[0] if table.rows else ()
        if begin in MAPS and table.columns[0] == "query" and row:
            number, token = MAPS[begin], re.sub(r"^\d+ (?=\S)", "", table.columns[1])
            found.append(f"{{{number} of {re.sub(r'^[0-9]+ ', '', str(row[0])).split(' → ')[-1]} on {token}}}")
        elif row and (probabilities := [_plain(each) for each in table.columns if each.startswith("probability")]):
            token = next((cell for cell in reversed(row) if isinstance(cell, str)), "")
            found.append(f"{{{probabilities[-1]} of {token.lstrip('·')}}}")
        if len(found) >= MAX_LISTED:
            break
    return ", ".join(dict.fromkeys(found)) or "none"
