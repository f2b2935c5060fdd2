"""Findings of the table of heads as sentences with numbers, for the terminal and for the page of the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...checkpoint import Checkpoint
from ...edits.intervention import BASELINE
from ...inference.passes import teacher_force
from ...trace import Trace
from .constant_heads import CONSTANT
from .heads_report import NO_EFFECT, CorpusLine, line_tokens

LARGEST_LOSSES = 5

Row = dict[str, Any]


class Finding(NamedTuple):
    """One finding: a sentence, the heads that it lists, and whether each of them needs a line."""

    sentence: str
    heads: tuple[str, ...] = ()
    is_list: bool = False


@dataclass(frozen=True)
class ExampleMaps:
    """The maps of one sentence of the corpus: the number of its line, and its text where the report may hold texts."""

    trace: Trace
    line: int
    text: str | None


@dataclass(frozen=True)
class HeadsReport:
    """The table of heads as rows by column, its findings, and the maps of one sentence."""

    name: str
    rows: Sequence[Row]
    findings: Sequence[Finding]
    example: ExampleMaps


def measure_example(
    lab: Checkpoint, lines: Sequence[CorpusLine], measured: np.ndarray, is_reference: bool, with_text: bool
) -> ExampleMaps:
    """Returns the maps of the first sentence with the median number of scored tokens, of the `measured` rows [N,...]."""
    tokens = measured[:, 0]
    median = np.sort(tokens[tokens > 0])[((tokens > 0).sum() - 1) // 2]
    line = lines[int(np.argmax(tokens == median))]
    (trace,) = teacher_force(lab, *line_tokens(lab, line, is_reference), [BASELINE])
    return ExampleMaps(trace, line.number, line.text if with_text else None)


def table_rows(columns: Sequence[str], cells: Sequence[Sequence[Any]]) -> list[Row]:
    """Returns the rows of a table of heads as dicts by column."""
    return [dict(zip(columns, row, strict=True)) for row in cells]


def label(row: Row) -> str:
    """Returns the name of a head, counted from 1."""
    return f"{row['site']} {row['layer']}.{row['head']}"


def summarize(name: str, rows: Sequence[Row]) -> list[Finding]:
    """Returns the findings of a table of heads: its size, the largest losses, sinks, roles, and dead heads."""
    count, total, tokens = len(rows), rows[0]["sentences"], rows[0]["tokens"]
    plural = "" if total == 1 else "s"
    return [
        Finding(f"{name}: {count} heads over {total:,} sentence{plural}, {tokens:,} tokens"),
        _largest_losses(rows),
        _marked("rest on <s> or </s>, with the share of their weight", rows, "sink"),
        _marked("have a role, with its share and number of sentences", rows, "role"),
        _bounded(f"have no effect (interval within {NO_EFFECT} nats, no output changed)", rows, "dead"),
        _bounded(
            f"are constant (under {CONSTANT} of a row's weight moves when the tokens swap places, by the upper end of the "
            "interval)",
            rows,
            "constant",
        ),
    ]


def _largest_losses(rows: Sequence[Row]) -> Finding:
    lines = []
    for row in sorted(rows, key=lambda row: row["change_nats"])[:LARGEST_LOSSES]:
        low, high = row["change_nats_low"], row["change_nats_high"]
        interval = "" if low is None or high is None else f"  [{low:.3f}, {high:.3f}]"
        changed = f"output changed in {row['translations_changed']:.3f}"
        lines.append(f"{label(row):<16}{row['change_nats']:8.3f} nats{interval}  {changed}")
    sentence = (
        f"largest losses with one head off: change of the log-probability ({rows[0]['scored_tokens']}) of a sentence, "
        "its 95% interval over several sentences, and the share of sentences whose output changes"
    )
    return Finding(sentence, tuple(lines), is_list=True)


def _marked(what: str, rows: Sequence[Row], column: str) -> Finding:
    """Returns the heads with a value in a column, each with its share, and with its n where the table has one."""
    heads = tuple(
        f"{label(row)} {row[column]} {row[f'{column}_share']:.2f}"
        + (f" (n {row[f'{column}_sentences']})" if f"{column}_sentences" in row else "")
        for row in rows
        if row[column]
    )
    return Finding(f"{len(heads)} of {len(rows)} heads {what}", heads)


def _bounded(what: str, rows: Sequence[Row], column: str) -> Finding:
    """Returns the heads whose number lies within a bound. A column without values needs more sentences."""
    if all(row[column] is None for row in rows):
        return Finding(f"heads that {what}: not measured, which needs two sentences or more")
    heads = tuple(label(row) for row in rows if row[column])
    return Finding(f"{len(heads)} of {len(rows)} heads {what}", heads)
