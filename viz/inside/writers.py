"""Why there: one score of one head, split into a matrix of the writers of its query by the writers of its key."""

from __future__ import annotations

import html
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from model.export.csv_tables import Table, grid_table, site_code
from model.io import numbers
from model.trace import SITE_KINDS, Site, Trace
from viz import computations, theme
from viz.classroom import lecture
from viz.inside import one_head
from viz.kit import mount, patterns, site_texts
from viz.kit.panel import FileOptions, Panel, Picture, where
from viz.page_context import PageContext
from viz.state import session

if TYPE_CHECKING:
    from model.export.code import Code
    from model.readings.logits.residual_writers import Writer
    from model.readings.logits.score_writers import ScoreWriters
    from viz.computations import Call

PART = {"part": "writers"}
OWN = "the head’s own bias"  # b_Q where it asks, b_K where it answers
SMALL = 0.5  # a score nearer to 0 has no shares worth telling
ENOUGH = 0.5  # of a score: a part below it is not the reason
ROUNDING = 1e-3  # of a score, or of one where it is less: what is missed beyond it no writer wrote


def labels(found: ScoreWriters, trace: Trace) -> tuple[str, str]:
    """The tokens at which the query and the key are made."""
    of = found.site.spec
    return trace.axis(of.query_side).labels[found.query], trace.axis(of.key_side).labels[found.key]


def name(writer: Writer, label: str) -> str:
    """What a writer is called; `label` is the token where it wrote."""
    if writer.site is not None and writer.head is not None:
        return writer.site.head_name(writer.head)
    if writer.kind == "patch":
        return f"what an edit put in {writer.place_name}"
    if writer.layer is not None:
        return f"feed-forward network, layer {writer.layer + 1}"
    named = {
        "token": f"embedding of “{label}”",
        "position": "its position",
        "segment": "its segment: first sentence or second",
    }
    return (named | {"bias": "biases", "own": OWN})[writer.kind]


def answer(found: ScoreWriters, trace: Trace) -> str:
    """The score and the pair of writers that gives most of it, as markup."""
    asks, answers = (f'<span class="lab-mono">{html.escape(label)}</span>' for label in labels(found, trace))
    asking, answering, part = found.largest
    how = "raises" if found.score >= 0 else "lowers"
    own = [html.escape(_wrote(writer, at)) for writer, at in zip((asking, answering), labels(found, trace), strict=True)]
    return (
        f'<p class="lab-score">{asks} gives {answers} a score of <b>{numbers.three_digits(found.score)}</b>. The part that '
        f"{how} it the most, <b>{numbers.signed(part)}</b>, is {own[0]} meeting {own[1]}.{_alone(found, part)}</p>"
    )


def _alone(found: ScoreWriters, part: float) -> str:
    """Where the largest part is a small one, that it does not explain the score; else empty."""
    share = part / found.score if abs(found.score) >= SMALL else 1.0
    return "" if share >= ENOUGH else f" That is {share:.0%} of it: no single part explains the score."


def _owes(found: ScoreWriters, trace: Trace) -> str:
    """What each side owes the most to, whatever it meets on the other: a sentence."""
    toward = 1 if found.score >= 0 else -1
    told = []
    for writers, sums, label in zip(
        (found.query_writers, found.key_writers),
        (found.values.sum(1), found.values.sum(0)),
        labels(found, trace),
        strict=True,
    ):
        at = int((toward * sums).argmax())
        told.append(f"{_wrote(writers[at], label)} ({numbers.signed(float(sums[at]))})")
    return (
        f"Over all that they meet, most of it comes from {told[0]} on the asking side, and {told[1]} on the answering side."
    )


def _wrote(writer: Writer, label: str) -> str:
    """A writer as what it wrote at a token."""
    if writer.kind == "head":
        return f"what {name(writer, label)} wrote at “{label}”"
    if writer.kind == "patch":
        return f"{name(writer, label)} at “{label}”"
    if writer.layer is not None:
        return f"what the feed-forward network of layer {writer.layer + 1} wrote at “{label}”"
    named = {"token": f"the embedding of “{label}”", "position": f"the position of “{label}”", "own": OWN}
    return (named | {"segment": f"the sentence that “{label}” is of, first or second"}).get(writer.kind, "biases")


def beside(found: ScoreWriters, trace: Trace, scaled: bool) -> str:
    """How the score stands among the others of its query, and what it is the sum of."""
    many = f"{len(found.query_writers)} × {len(found.key_writers)}"
    how = "" if scaled else " An edit leaves out the division by √dₖ, and so do these numbers."
    total = (
        f"It is the sum of {many} parts: each writer of the residual stream that asks, by each of the one that answers.{how}"
    )
    if not found.is_allowed:
        return total
    assert found.mean is not None
    others = int(trace.mask(found.site, found.head)[found.query].sum())
    among = f"{numbers.signed(found.score - found.mean)} against the mean of the {others} scores of this query"
    if others == 1:
        among = "the only one that the mask leaves to this query"
    weight = numbers.probability(found.weight)
    return f"Its weight is {weight}; the score, before mask and softmax, is {among}. {total} {_owes(found, trace)}"


def missed(found: ScoreWriters) -> str:
    """Where the parts do not add up, that they do not; else empty."""
    if abs(found.remainder) <= ROUNDING * max(1.0, abs(found.score)):
        return ""
    return (
        f"These parts miss {numbers.signed(found.remainder)} of the score: an edit has put something into the "
        f"stream that "
        "no writer of this sentence wrote."
    )


SHOWN = 7  # writers a side; the rest is one more
_SHORT = {"token": "embedding", "position": "position", "segment": "sentence", "bias": "biases", "own": "own bias"}


def payload(found: ScoreWriters, trace: Trace, mode: theme.Mode, keys: int | None = None) -> dict[str, Any]:
    """All that the browser needs, as JSON values; parts to five decimals; `keys`: how many the row's pass had."""
    site, folded = found.site, found.fold(SHOWN)
    asks, answers = labels(found, trace)
    weights = trace.patterns[site][found.head, found.query]
    allowed = trace.mask(site, found.head)[found.query]
    return {
        "kind": site.kind,
        "large": False,  # in a lecture
        "query": found.query + 1,
        "key": found.key + 1,
        "queries": patterns.queries(trace, site),
        "keys": [
            {"label": label, "weight": round(float(weight), 3), "seen": bool(seen)}
            for label, weight, seen in islice(zip(patterns.keys(trace, site), weights, allowed, strict=True), keys)
        ],
        "rows": _heads(folded.query_writers, len(found.query_writers), asks),
        "columns": _heads(folded.key_writers, len(found.key_writers), answers),
        "values": [[round(float(value), 5) for value in row] for row in folded.values],
        "largest": list(folded.largest),
        "score": round(found.score, 5),
        "remainder": numbers.scientific(found.remainder),
        "whole": not missed(found),
        "titles": [f"wrote what asks, at “{asks}”", f"wrote what answers, at “{answers}”"],
        "scale": list(theme.diverging(mode)),
    }


def _heads(writers: tuple[Writer | None, ...], count: int, label: str) -> list[dict[str, Any]]:
    """What stands beside the rows or above the columns."""
    others = count - sum(writer is not None for writer in writers)
    made = []
    for writer in writers:
        if writer is None:
            made.append({"name": f"the other {others}", "short": f"other {others}", "hue": None, "head": None})
            continue
        site = writer.site
        what = "patch" if writer.kind == "patch" else "FFN"
        short = _SHORT.get(writer.kind) or (f"{what} L{writer.layer + 1}" if writer.layer is not None else "")
        if site is not None and writer.head is not None:
            short = site.head_name(writer.head)
        made.append(
            {
                "name": name(writer, label),
                "short": short,
                "hue": site.kind if site else "border" if writer.kind == "feed-forward" else None,
                "head": [site.kind, site.layer + 1, (writer.head or 0) + 1] if site else None,
            }
        )
    return made


COMPONENT = mount.Component(__file__, '<div class="writers"></div>')


def call(context: PageContext) -> Call:
    """Returns the split of the score of the view's key, or of the key with the largest weight."""
    site, head, query = one_head.place(context)
    key = context.view.key
    if key is None or key >= context.analysis.key_count(site, query):
        key = int(np.argmax(context.analysis.trace.patterns[site][head, query]))
    return computations.SCORE_WRITERS(site, head, query, key)


def _payload(context: PageContext, found: ScoreWriters) -> dict[str, Any]:
    return payload(found, context.analysis.trace, context.mode, context.analysis.key_count(found.site, found.query))


def _events(context: PageContext, found: ScoreWriters) -> dict[str, mount.Event]:
    trace, (site, query, key) = context.analysis.trace, (found.site, found.query, found.key)
    sites = [writer.site for writer in (*found.query_writers, *found.key_writers) if writer.site]
    writer = mount.fields(
        kind=mount.one_of(list(SITE_KINDS)),
        layer=mount.from_one(1 + max((each.layer for each in sites), default=0)),
        head=mount.from_one(context.loaded.config.heads),
        side=mount.one_of(("asks", "answers")),
    )
    return {
        "query": (
            mount.from_one(len(trace.queries(site))),
            lambda number: session.change(**one_head.query_field(site, number)),
        ),
        "key": (mount.from_one(context.analysis.key_count(site, query)), lambda number: session.change(key=number)),
        "writer": (writer, lambda kind, layer, head, side: session.change(**leads_to(query, key, side, kind, layer, head))),
    }


def leads_to(query: int, key: int, side: str, kind: str, layer: int, head: int) -> dict[str, Any]:
    """Returns the fields of the view that show a writer of one side at the token where it wrote."""
    place = query if side == "asks" else key
    asks = one_head.query_field(Site(kind, layer), place)  # type: ignore[arg-type]
    return {"kind": kind, "layer": layer, "head": head, "key": None, **asks}


def _text(context: PageContext, found: ScoreWriters) -> str:
    trace, key = context.analysis.trace, context.view.key
    keys, scaled = context.analysis.key_count(found.site, found.query), context.request.intervention.scaling
    absent = (
        ""
        if key is None or key < keys
        else f"There is no token {key + 1} to look at: there are {keys}; the one looked at most is shown."
    )
    notes = site_texts.answer_markup("", beside(found, trace, scaled))
    hidden = "" if found.is_allowed else "The mask hides this token from the query: the score has no effect."
    warnings = (site_texts.note_markup(each, warn=True) for each in (hidden, absent, missed(found)))
    return "".join((answer(found, trace), notes, *warnings))


def _keys(context: PageContext, found: ScoreWriters) -> None:
    lecture.list_component_keys("→ ←, space, Home, End", "the token that asks")
    lecture.list_component_keys(lecture.WALK, "the next token that answers, the one before")


def _tables(context: PageContext, found: ScoreWriters) -> tuple[Table, ...]:
    asks, answers = labels(found, context.analysis.trace)
    rows = [name(writer, asks) for writer in found.query_writers]
    columns = [name(writer, answers) for writer in found.key_writers]
    return (grid_table(f"score-{site_code(found.site, found.head)}", "asks \\ answers", rows, columns, found.values),)


def _code(code: Code, context: PageContext, found: ScoreWriters) -> None:
    code.add("values = result.values", "result.query_writers by result.key_writers; they add up to result.score")


WRITERS = Panel(
    "inside.writers",
    "Who wrote a score",
    COMPONENT,
    _payload,
    _events,
    call=call,
    text=_text,
    tables=_tables,
    code=_code,
    is_visible=where(**PART),
    pictures=(
        Picture(
            "Why there?",
            "table",
            lambda context, found: {"large": True},
            fields=PART,
            text=lambda context, found: answer(found, context.analysis.trace),
        ),
    ),
    bar=one_head.draw_head_bar,
    keys=_keys,
    file=FileOptions(),
    reads=("kind", "layer", "head", "token", "step", "key"),
)
