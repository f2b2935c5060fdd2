"""The sum: a difference of two logits, split into everything that wrote it."""

from __future__ import annotations

import html
import math
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from model.export.csv_tables import Cell, Table
from model.text import sentences
from viz import computations
from viz.classroom import lecture
from viz.kit.panel import FileOptions, Panel, Picture, where
from viz.page_context import PageContext
from viz.state import session
from viz.why import chosen_tokens, logit_sum, pieces, why_texts

if TYPE_CHECKING:
    from model.export.code import Code
    from model.readings.logits.direct_logits import DirectLogits, Writer
    from model.trace import Trace
    from viz.computations import Call
    from viz.kit.mount import Event
    from viz.why.logit_sum import Way

PARTS, HEADS, WORDS = range(1, 4)  # the large pictures
HINT = f"{lecture.NEXT.key} and {lecture.PREVIOUS.key} choose a part. The text shows the choice without it."
NO_TEST = "No edit removes this part."
NOT_NOW = "This part cannot be removed together with the present edits."


def call(context: PageContext) -> Call:
    """Returns the attribution of the chosen token and its rival."""
    view = context.view
    return computations.DIRECT_LOGITS(*chosen_tokens.row_and_token(view, context), chosen_tokens.chosen(view, context))


def _selected(context: PageContext, found: DirectLogits) -> tuple[Writer | None, Way | None]:
    """Returns the selected part, and the selected token."""
    trace = context.analysis.trace
    return pieces.chosen(context.view, found), logit_sum.chosen(context.view, found, trace)


def _payload(context: PageContext, found: DirectLogits, large: dict[str, Any] | None = None) -> dict[str, Any]:
    writer, way = _selected(context, found)
    only = chosen_tokens.only(context)
    return logit_sum.payload(found, context.analysis.trace, writer, way, context.mode, only, large)


def _text(context: PageContext, found: DirectLogits, has_answer: bool = True) -> str:
    """Returns notes on the choice. Without the answer above it, also the ratio and the parts that speak most for each."""
    choice, trace = chosen_tokens.of(context, found), context.analysis.trace
    if has_answer:
        meaning = why_texts.tie(trace, choice.log_probs)
    else:
        odds = why_texts.odds(found.difference, choice.pair, choice.log_probs)
        meaning = f"{odds} {why_texts.strongest(found, trace, choice.pair)}".strip()
    notes = filter(None, (why_texts.no_blank(context, found), meaning))
    return "".join(f'<p class="lab-note">{html.escape(note)}</p>' for note in notes)


def _details(context: PageContext, found: DirectLogits) -> None:
    """Draws the selected part, its test, and links to pages about it, if a part is selected."""
    writer, way = _selected(context, found)
    pair = chosen_tokens.of(context, found).pair
    if not (writer or way):
        return
    with st.container(key="why_piece", gap=None):
        if way:
            pieces.draw_way(context, found, way, pair)
        elif writer:
            pieces.draw(context, found, writer, pair)


def _events(context: PageContext, found: DirectLogits) -> dict[str, Event]:
    return logit_sum.events(
        found,
        context.analysis.trace,
        on_head=pieces.choose_head,
        on_piece=pieces.choose_piece,
        on_way=logit_sum.choose,
        on_step=pieces.choose_step,
    )


def _tables(context: PageContext, found: DirectLogits) -> tuple[Table, ...]:
    """Returns all parts with the difference that they add up to, and the contribution of each token."""
    trace = context.analysis.trace
    label = logit_sum.read(found, trace)
    rows: list[tuple[Cell, ...]] = [(logit_sum.name(writer, label), value) for writer, value in found.ranked]
    rows += [("what the parts miss", found.remainder), ("difference of the logits", found.difference)]
    sides = {"encoder": trace.source, "cross": trace.source, "decoder": trace.inputs}
    tokens = [
        (kind, place, token, float(value))
        for kind, values in found.by_kind.items()
        if (side := sides.get(kind)) is not None
        for place, (token, value) in enumerate(zip(side.labels, values, strict=False), 1)
    ]
    return (
        Table(f"sum-step-{found.step + 1}", ("part", "nats"), tuple(rows)),
        Table(f"by-token-step-{found.step + 1}", ("attention", "position", "token", "nats"), tuple(tokens)),
    )


def _code(code: Code, context: PageContext, found: DirectLogits) -> None:
    code.add("parts = result.ranked", "writer and nats; they add up to result.difference")
    code.add("by_token = result.by_kind")


def bar(context: PageContext, result: Any) -> None:
    """Draws the choice of the rival in the bar of lecture mode."""
    choice = chosen_tokens.choice(context)
    with st.container(key="why_rival", horizontal=True, vertical_alignment="center", gap="small", width="content"):
        chosen_tokens.choose(context, choice.others, choice.rival)


def limit_steps(context: PageContext) -> None:
    """Limits the arrow keys to the steps that have a choice."""
    if steps := chosen_tokens.only(context):
        lecture.limit_steps(steps, "blank" if chosen_tokens.blanks(context) else "token")


def _keys(context: PageContext, found: DirectLogits) -> None:
    limit_steps(context)
    trace = context.analysis.trace
    order = _order(found, trace, min(context.view.large, WORDS))
    lecture.add_walk_keys("the next part", "the part before", partial(_walk, order, found, trace))


def _large(picture: int, context: PageContext, found: DirectLogits) -> dict[str, Any]:
    """Returns the payload of a large picture: the question, the probabilities, and the text about the selected part."""
    choice, (writer, way) = chosen_tokens.of(context, found), _selected(context, found)
    before, after = _around(context, found.step)
    large = {
        "picture": picture,
        "step": context.view.step + 1,
        "asked": why_texts.asked(choice.pair),
        "before": before,
        "after": after,
        "pair": [piece.removeprefix("·") or "·" for piece in choice.pair],
        "p": [round(math.exp(each), 5) for each in choice.log_probs],
        "odds": why_texts.odds(found.difference, choice.pair, choice.log_probs),
        "told": _told(context, choice, writer, way),
    }
    return _payload(context, found, large)


def _around(context: PageContext, step: int) -> tuple[str, str]:
    """Returns the text before and behind a choice: the written one, that around a blank, or all that is judged."""
    request, trace, tokenizer = context.request, context.analysis.trace, context.loaded.target_tokenizer
    if trace.classes:
        return request.source.strip(), ""
    if trace.outputs is not None:
        return tokenizer.decode(trace.outputs.ids[:step]), ""
    both, places = " ".join(filter(None, (request.source.strip(), request.second_sentence))), chosen_tokens.blanks(context)
    pieces = sentences.texts_around_blanks(both)
    if step in places and len(pieces) == len(places) + 1:
        number = places.index(step) + 1
        return sentences.BLANK_SIGN.join(pieces[:number]), sentences.BLANK_SIGN.join(pieces[number:])
    ids = trace.predicted_axis.ids
    return tokenizer.decode(ids[:step]), tokenizer.decode(ids[step + 1 :])


def _told(context: PageContext, asked: chosen_tokens.Choice, writer: Writer | None, way: Way | None) -> list[str]:
    """Returns what the chosen part brought and the difference without it, in two sentences; else what to do."""
    found, pair, trace = asked.found, asked.pair, context.analysis.trace
    if way:
        after = pieces.without(context, way.codes, found)
        said = f"By way of “{way.label}”"
        return [why_texts.part_told(said, way.value, pair, "came"), _tested("Hidden from every token", found, after, pair)]
    if not writer:
        return [HINT, ""]
    value = dict(zip(found.writers, map(float, found.values), strict=True))[writer]
    read = logit_sum.read(found, trace)
    if writer.kind == "head":
        assert writer.site is not None and writer.head is not None
        told = why_texts.head_told(found, trace, writer.site, writer.head, pair)
    else:
        told = why_texts.part_told(logit_sum.name(writer, read), value, pair)
    code = pieces.code_of(writer, trace)
    if not code:
        return [told, NO_TEST]
    return [told, _tested(pieces.IS_OFF[writer.kind], found, pieces.without(context, (code,), found), pair)]


def _tested(how: str, found: DirectLogits, after: float | None, pair: tuple[str, str]) -> str:
    return NOT_NOW if after is None else why_texts.without_it(how, found.difference, after, pair)


def _order(found: DirectLogits, trace: Trace, picture: int) -> list[list[Any]]:
    """Returns the parts of a picture that can be chosen, as the browser names them: those with bars, all heads, or words."""
    if picture == 3:
        known = [(piece, logit_sum.parts(found, trace, piece)) for piece in logit_sum.KINDS]
        return [[piece, n] for piece, parts in known if parts for n in range(1, len(parts[0]) + 1)]
    writers = [writer for writer, _ in found.ranked]
    if picture == 1:
        return [key for writer in writers[: logit_sum.FEW] if (key := logit_sum.key(writer))]
    return [key for writer in writers if writer.kind == "head" and (key := logit_sum.key(writer))]


def _walk(order: list[list[Any]], found: DirectLogits, trace: Trace, by: int) -> None:
    """To the part beside the one that is chosen now, or the first; called from callbacks."""
    writer, way = (pieces.chosen(session.current_view(), found), logit_sum.chosen(session.current_view(), found, trace))
    at = [way.piece, way.place + 1] if way else logit_sum.key(writer) if writer else None
    if not order:
        return
    piece, *place = order[(order.index(at) + by) % len(order)] if at in order else order[0]
    if piece == "head":
        kind, layer, head = place
        pieces.choose_head(kind, layer - 1, head - 1)
    elif piece in logit_sum.KINDS:
        logit_sum.choose(piece, place[0] - 1)
    else:
        pieces.choose_piece(piece, place[0] - 1 if place else 0)


SUM = Panel(
    "why.sum",
    "What wrote the difference",
    logit_sum.COMPONENT,
    _payload,
    _events,
    call=call,
    text=_text,
    details=_details,
    tables=_tables,
    code=_code,
    is_visible=where(why="sum"),
    pictures=(
        Picture("Parts", ".bars", partial(_large, PARTS), fields={"why": "sum"}),
        Picture("Heads", ".side .grids", partial(_large, HEADS), fields={"why": "sum"}),
        Picture("Words", ".side", partial(_large, WORDS), fields={"why": "sum"}),
    ),
    bar=bar,
    keys=_keys,
    file=FileOptions(
        default_view=lambda context: chosen_tokens.look(context.view, context), text=partial(_text, has_answer=False)
    ),
)
