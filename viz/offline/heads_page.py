"""HTML page of the head report: its findings, a sortable table of all heads, and a thumbnail of each head.

`model.__main__` loads this module by name, because `model` must not import `viz`. The table is plain markup. The script
sorts it and draws the thumbnails.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from model.io.numbers import MINUS, decimal
from model.workshop.reports.constant_heads import CONSTANT
from model.workshop.reports.heads_report import NO_EFFECT
from model.workshop.reports.heads_summary import Finding, HeadsReport, label
from viz import theme
from viz.kit import thumbnails
from viz.offline.file_shell import html_file, json_bytes
from viz.theme import Mode

SCRIPT = Path(__file__).with_name("heads_page.js")
SHEET = "heads_page.css"
PLACES = 3  # decimals of a printed number; the markup holds all digits
TITLE, QUESTION = "Head report", "What does every head do over many sentences?"

Row = Mapping[str, Any]


@dataclass(frozen=True)
class TableColumn:
    """A column of the page: the number that it sorts by, its texts, and the column with its number of sentences.

    Fields:
        name: column of the table of heads with the number or the flag.
        title: text of its header.
        meaning: sentence under the table.
        count: column with the number of sentences; "" for a number without one.
        text: column with a text above the number.
        interval: columns of the interval are `interval` with `_low` and `_high`; "" for those of `name`.
        is_flag: the number is 0 or 1, printed as a word.
        order: "ascending" or "descending", the first order of a click.
    """

    name: str
    title: str
    meaning: str
    count: str = ""
    text: str = ""
    interval: str = ""
    is_flag: bool = False
    order: str = "descending"


COLUMNS = (
    TableColumn("rank", "Rank", "1 for the head whose effect is largest in size.", "sentences", order="ascending"),
    TableColumn(
        *("change_nats", "Effect, nats", "the change of the log-probability of a sentence with the head off, mean."),
        "sentences",
        order="ascending",
    ),
    TableColumn(
        *("translations_changed", "Output changed", "the share of sentences whose output changes with the head off."),
        "sentences",
    ),
    TableColumn(
        *("dead", "No effect", f"yes if the interval of the effect lies within {NO_EFFECT} nats and no output changes."),
        "sentences",
        is_flag=True,
    ),
    TableColumn(
        *("content_change", "Content change", "the share of a row’s weight that moves when the tokens swap places."),
        "content_change_sentences",
        order="ascending",
    ),
    TableColumn(
        *("constant", "Constant", f"yes if the interval of the content change ends below {CONSTANT}."),
        "content_change_sentences",
        is_flag=True,
    ),
    TableColumn(
        *("role_share", "Role", "the published role of the head, and the share behind it. Blank: no role was found."),
        "role_sentences",
        text="role",
        interval="role",
    ),
    TableColumn(
        "sink_share", "Sink", "the token with at least 0.3 of the weight, and its share. Blank: no sink.", text="sink"
    ),
    TableColumn("start", "On <s>", "the share of the weight on <s>. Blank: the head reads no <s>.", "start_sentences"),
    TableColumn("end", "On </s>", "the share of the weight on </s>. Blank: the head reads no </s>.", "end_sentences"),
)
_NEGATIVE = re.compile(r"(?<!\w)-(?=\d)")


def page_of_heads(report: HeadsReport) -> bytes:
    """Returns the page of a head report as one HTML file in UTF-8; equal reports give equal bytes."""
    trace = report.example.trace
    grids = []
    for kind in trace.kinds:
        weights, allowed = thumbnails.stack(trace, kind)
        grids.append(thumbnails.packed_grid(kind, len(trace.sites(kind)), weights, allowed, (), ()))
    scales = {mode: {kind: theme.scale(kind, mode) for kind in trace.kinds} for mode in get_args(Mode)}
    data = {"maps": json_bytes({"grids": grids, "scales": scales})}
    content = _findings(report.findings) + _table(report) + _foot(report)
    return html_file("report", f"{TITLE}: {report.name}", _head(report), {}, data, SCRIPT, content=content, sheet=SHEET)


def _head(report: HeadsReport) -> str:
    first, text = report.rows[0], html.escape
    facts = [
        f"Checkpoint <b>{text(report.name)}</b>",
        f"{len(report.rows)} heads",
        f"{first['sentences']:,} sentence{'' if first['sentences'] == 1 else 's'}",
        f"{first['tokens']:,} tokens (scored: {text(first['scored_tokens'])})",
    ]
    return f"""<header>
<div class="top">
<h1>{TITLE}</h1><p>{QUESTION}</p>
<button type="button" id="print" hidden>Print</button><button type="button" id="theme" hidden></button>
</div>
<p class="facts">{" · ".join(facts)}</p>
</header>
<p id="status" role="alert"></p>
<div class="stage">"""


def _findings(findings: Sequence[Finding]) -> str:
    """Returns the findings as paragraphs and lists. The first one repeats the facts of the header."""
    parts = []
    for finding in findings[1:]:
        sentence = html.escape(finding.sentence[:1].upper() + finding.sentence[1:])
        heads = [html.escape(_NEGATIVE.sub(MINUS, each)) for each in finding.heads]
        if finding.is_list:
            parts.append(f"<p>{sentence}:</p><ol>{''.join(f'<li>{each}</li>' for each in heads)}</ol>")
        else:
            listed = ", ".join(f"<span>{each}</span>" for each in heads)
            parts.append(f"<p>{sentence}{f': {listed}' if listed else ''}.</p>")
    return f'<section class="findings"><h2>Findings</h2>{"".join(parts)}</section>\n'


def _table(report: HeadsReport) -> str:
    heads = [_header("head", "Head", "ascending"), *(_header(each.name, each.title, each.order) for each in COLUMNS)]
    numbers: dict[str, int] = {}  # heads of a kind so far: the place in its thumbnails
    rows = []
    for order, row in enumerate(report.rows):
        kind, name = row["site"], html.escape(label(row))
        place = numbers.get(kind, 0)
        numbers[kind] = place + 1
        canvas = f'<canvas data-kind="{kind}" data-place="{place}" role="img" aria-label="Map of {name}"></canvas>'
        first = f'<th scope="row" data-sort="{order}">{canvas}<span class="{kind}">{name}</span></th>'
        cells = "".join(_cell(column, row) for column in COLUMNS)
        rows.append((row["rank"], f'<tr data-head="{name}">{first}{cells}</tr>'))
    body = "\n".join(markup for _, markup in sorted(rows))
    example = report.example
    text = "" if example.text is None else f" (“{html.escape(example.text)}”)"
    caption = (
        f"Each map is that of one sentence, line {example.line} of the data{text}. Rows are queries, columns are keys, and "
        "the colour is the weight from 0 to 1. All numbers are means over the sentences, with 95% intervals and n, the "
        "number of sentences. A number that does not apply is blank."
    )
    return (
        f'<section class="heads"><h2>All heads</h2><p id="caption">{caption}</p>\n'
        '<div class="scroll" tabindex="0" role="region" aria-label="Table of all heads"><table aria-describedby="caption">'
        f"<thead><tr>{''.join(heads)}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div></section>\n"
    )


def _header(name: str, title: str, order: str) -> str:
    sort = ' aria-sort="ascending"' if name == "rank" else ""
    return (
        f'<th scope="col"{sort} data-name="{name}" data-first="{order}">'
        f'<button type="button">{html.escape(title)}</button></th>'
    )


def _cell(column: TableColumn, row: Row) -> str:
    """Returns a cell with its number, interval and count; an empty cell where the number does not exist."""
    value = row[column.name]
    if value is None:
        return "<td></td>"
    word = ("yes" if value else "no") if column.is_flag else ""
    number = _number(column.name, value, word)
    lines = [f'<span data-column="{column.text}">{html.escape(row[column.text])}</span>'] if column.text else []
    lines.append(f"<b>{number}</b>")
    stem = column.interval or column.name
    low, high = (row.get(f"{stem}{ending}") for ending in ("_low", "_high"))
    if low is not None and high is not None:
        lines.append(f"<small>[{_number(f'{stem}_low', low)}, {_number(f'{stem}_high', high)}]</small>")
    count = _count_column(column, row)
    if count:
        lines.append(f"<small>n {_number(count, row[count])}</small>")
    return f'<td data-sort="{value!r}">{"".join(lines)}</td>'


def _count_column(column: TableColumn, row: Row) -> str:
    """Returns the column with the number of sentences. That of a sink is the count of its token."""
    if column.name == "sink_share":
        return "start_sentences" if row["sink"] == "<s>" else "end_sentences"
    return column.count


def _number(column: str, value: float, text: str = "") -> str:
    """Returns a number of the table, rounded on the page and with all digits in the markup."""
    text = text or (f"{value:,}" if isinstance(value, int) else decimal(value, PLACES))
    return f'<span data-column="{column}" data-value="{value!r}">{text}</span>'


def _foot(report: HeadsReport) -> str:
    meanings = "".join(
        f"<div><dt>{html.escape(each.title)}</dt><dd>{html.escape(each.meaning[:1].upper() + each.meaning[1:])}</dd></div>"
        for each in COLUMNS
    )
    first = report.rows[0]
    hashes = "".join(
        f"<p>{title} SHA-256 <code>{html.escape(str(first[name]))}</code></p>"
        for title, name in (("Checkpoint", "checkpoint_sha256"), ("Data", "data_sha256"))
    )
    return (
        f'<section class="columns"><h2>Columns</h2><dl>{meanings}</dl></section>\n'
        f"<footer>{hashes}<p>Saved from Attention Lab with <code>python -m model report heads</code>.</p></footer>\n"
    )
