"""The writers of a query by the writers of a key: a small matrix that adds up to a score; who asks and who answers.

Inside, why there: one score of one head, split over who wrote what asks and who wrote what answers.

What is said of one score and of who wrote it, from its numbers."""

from __future__ import annotations

import html
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from model.inference.request import Request
from model.io import numbers
from model.trace import SITE_KINDS, Site, Trace
from viz import cache, computations, theme
from viz.classroom import lecture
from viz.inside import one_head
from viz.kit import mount, sides, site_texts
from viz.page_context import PageContext
from viz.state import session
from viz.state.result_cache import cached_figure
from viz.state.view import View

if TYPE_CHECKING:
    from model.readings.logits.residual_writers import Writer
    from model.readings.logits.score_writers import ScoreWriters

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
        return f"{writer.site.spec.name}, layer {writer.site.layer + 1}, head {writer.head + 1}"
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
        f'<p class="lab-score">{asks} gives {answers} a score of <b>{numbers.decimal(found.score)}</b>. The part that '
        f"{how} it the most, <b>{numbers.with_sign(part)}</b>, is {own[0]} meeting {own[1]}.{_alone(found, part)}</p>"
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
        told.append(f"{_wrote(writers[at], label)} ({numbers.with_sign(float(sums[at]))})")
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
        return f"The mask hides this token from the query: the score is computed, then thrown away. {total}"
    assert found.mean is not None
    others = int(trace.mask(found.site, found.head)[found.query].sum())
    among = f"{numbers.with_sign(found.score - found.mean)} against the mean of the {others} scores of this query"
    if others == 1:
        among = "the only one that the mask leaves to this query"
    return f"Its weight is {found.weight:.3f}; the score, before mask and softmax, is {among}. {total} {_owes(found, trace)}"


def missed(found: ScoreWriters) -> str:
    """Where the parts do not add up, that they do not; else empty."""
    if abs(found.remainder) <= ROUNDING * max(1.0, abs(found.score)):
        return ""
    return (
        f"These parts miss {numbers.with_sign(found.remainder)} of the score: an edit has put something into the "
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
        "queries": sides.queries(trace, site),
        "keys": [
            {"label": label, "weight": round(float(weight), 3), "seen": bool(seen)}
            for label, weight, seen in islice(zip(sides.keys(trace, site), weights, allowed, strict=True), keys)
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
            short = f"L{site.layer + 1} h{writer.head + 1}"
        made.append(
            {
                "name": name(writer, label),
                "short": short,
                "hue": site.kind if site else "border" if writer.kind == "feed-forward" else None,
                "head": [site.kind, site.layer + 1, (writer.head or 0) + 1] if site else None,
            }
        )
    return made


_COMPONENT = mount.Component(__file__, '<div class="writers"></div>', picture="Who writes what is asked for and answered")


def writers(
    data: dict[str, Any],
    on_query: Callable[[int], None],
    on_key: Callable[[int], None],
    on_writer: Callable[[str, int, int, str], None],
    key: str = "writers",
) -> None:
    """Mounts the component. Before the next run `on_query` is called with the token or step that shall ask,
    `on_key` with the token that shall answer, `on_writer` with the kind of site, layer and head of a writer and the
    side that it is on, `asks` or `answers`."""
    heads = [each["head"] for side in ("rows", "columns") for each in data[side] if each["head"]]
    check = mount.fields(
        kind=mount.one_of(list(SITE_KINDS)),
        layer=mount.from_one(max((head[1] for head in heads), default=1)),
        head=mount.from_one(max((head[2] for head in heads), default=1)),
        side=mount.one_of(("asks", "answers")),
    )
    events = {
        "query": (mount.from_one(len(data["queries"])), on_query),
        "key": (mount.from_one(len(data["keys"])), on_key),
        "writer": (check, on_writer),
    }
    _COMPONENT.mount(key, data, events)


def draw(context: PageContext, view: View, mode: theme.Mode) -> None:
    """Which head, whose query and which key; the score in a sentence, and the writers of both."""
    site, head, query = one_head.chosen(context, view)
    found = _found(context, view, (site, head, query))
    trace = context.analysis.trace
    site_texts.write(answer(found, trace))
    site_texts.note(beside(found, trace, context.request.intervention.scaling), "score", "mask", "writer", "residual stream")
    if told := missed(found):
        site_texts.note(told, warn=True)
    _mounted(context, view, mode, found)


def large(context: PageContext) -> None:
    """The same over the whole page. Its keys are taken in the browser."""
    lecture.list_component_keys("→ ←, space, Home, End", "the token that asks")
    lecture.list_component_keys(lecture.WALK, "the next token that answers, the one before")
    view, context = context.view, context
    with context.places.notes:
        one_head.told(context, view)
        found = _found(context, view, one_head.place(context, view))
        if told := missed(found):
            site_texts.note(told, warn=True)
    site_texts.write(answer(found, context.analysis.trace))
    _mounted(context, view, context.mode, found, {"large": True})


def _found(context: PageContext, view: View, place: tuple[Site, int, int]) -> ScoreWriters:
    """The score of the key that the view asks for, or of the one looked at most, split over its writers."""
    trace, (site, head, query) = context.analysis.trace, place
    keys = context.analysis.key_count(site, query)
    if view.key is not None and view.key >= keys:
        site_texts.note(
            f"There is no token {view.key + 1} to look at: there are {keys}; the one looked at most is shown.", warn=True
        )
    is_there = view.key is not None and view.key < keys
    key = view.key if is_there else looked_at(trace, site, head, query)
    return computations.score_writers(context.request, view.device, site, head, query, key)


def _mounted(
    context: PageContext, view: View, mode: theme.Mode, found: ScoreWriters, more: dict[str, Any] | None = None
) -> None:
    site, head, query, key = found.site, found.head, found.query, found.key
    data = drawn(context.request, view.device, site, head, query, key, mode)
    writers(
        data | (more or {}),
        on_query=lambda number: session.change(**one_head.asking(site, number)),
        on_key=lambda number: session.change(key=number),
        on_writer=lambda kind, layer, number, side: session.change(**leads_to(query, key, side, kind, layer, number)),
    )


def leads_to(query: int, key: int, side: str, kind: str, layer: int, head: int) -> dict[str, Any]:
    """The fields of the view that show a writer of one side at the token where it wrote."""
    place = query if side == "asks" else key
    asks = one_head.asking(Site(kind, layer), place)  # type: ignore[arg-type]
    return {"kind": kind, "layer": layer, "head": head, "key": None, **asks}


def looked_at(trace: Trace, site: Site, head: int, query: int) -> int:
    """The key of the largest weight, from 0."""
    return int(np.argmax(trace.patterns[site][head, query]))


@cached_figure
def drawn(request: Request, device: str, site: Site, head: int, query: int, key: int, mode: theme.Mode) -> dict[str, Any]:
    """What the matrix needs; all numbers count from 0."""
    found = computations.score_writers(request, device, site, head, query, key)
    analysis = cache.analyse(request, device)
    return payload(found, analysis.trace, mode, analysis.key_count(site, query))
