"""The panel of Heads with published claims about heads, and what the checkpoint gives for each."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from model.export.csv_tables import Table
from model.text.findings import ClaimResult, Findings
from viz.kit.panel import NotChosenError, Panel, where
from viz.page_context import PageContext

if TYPE_CHECKING:
    from model.export.code import Code

COLUMNS = ("source", "claim", "result", "reproduced if", "verdict", "command")
MISSING = (
    "No published claims were tested on this checkpoint. For an encoder-decoder: "
    "`python -m model report heads --data FILE --store`, then `python -m model report findings --data FILE`."
)


def compute(context: PageContext) -> Findings:
    """Returns the stored results. Raises NotChosenError where the checkpoint has none."""
    if context.loaded.findings is None:
        raise NotChosenError(MISSING)
    return context.loaded.findings


def verdict(finding: ClaimResult) -> str:
    return "reproduced" if finding.is_reproduced else "not reproduced"


def _text(context: PageContext, result: Findings) -> str:
    """Returns the claims as a table."""
    good = sum(each.is_reproduced for each in result.findings)
    begin = (
        f'<p class="lab-answer-line">{good} of {len(result.findings)} published claims are reproduced on this model. '
        f"BLEU is measured on {result.sentences:,} sentences.</p>"
    )
    rows = "".join(_row(each) for each in result.findings)
    head = "<tr><th>Claim</th><th>This model</th><th>Verdict</th></tr>"
    return f'{begin}<div class="lab-scroll lab-claims"><table>{head}{rows}</table></div>'


def _row(each: ClaimResult) -> str:
    claim, result, bar, source, command = (
        html.escape(text) for text in (each.claim, each.result, each.bar, each.source, each.command)
    )
    kind = "yes" if each.is_reproduced else "no"
    return (
        f"<tr><td><b>{source}</b><br>{claim}</td><td>{result}<br><small>{command}</small></td>"
        f'<td class="{kind}"><b>{verdict(each)}</b><br><small>Bar: {bar}</small></td></tr>'
    )


def _tables(context: PageContext, result: Findings) -> tuple[Table, ...]:
    rows = tuple((each.source, each.claim, each.result, each.bar, verdict(each), each.command) for each in result.findings)
    return (Table("published-claims", COLUMNS, rows),)


def _code(code: Code, context: PageContext, result: Findings) -> None:
    code.add("for finding in checkpoint.findings.findings:")
    code.add("    print(finding.claim, finding.result, finding.is_reproduced)")


CLAIMS = Panel(
    "heads.claims",
    "Published claims",
    compute=compute,
    text=_text,
    tables=_tables,
    code=_code,
    is_visible=where(heads_over="claims"),
)
