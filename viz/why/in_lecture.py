"""Why in lecture mode: the question, one large picture of the sum, and what one part of it does, told in a line or two."""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from model.text import blanks
from viz import state
from viz.shared import texts as shared_texts
from viz.shared.lecture import lecture, letters, notes
from viz.shared.shown import LecturePlaces, Shown
from viz.why import choice, large_readings, likely, pieces, rivals, texts, ways
from viz.why import sum as sums

if TYPE_CHECKING:
    from model.readings.direct_logits import DirectLogits, Writer
    from model.trace import Trace
    from viz.cache import PageData
    from viz.view import View
    from viz.why.choice import Choice
    from viz.why.ways import Way

PICTURES = ("Parts", "Heads", "Words")  # of the sum, in the order of the view's `large`
READING_KEYS = "Readings"
HINT = f"One part at a time, with {letters.NEXT.key} and {letters.PREVIOUS.key}: what becomes of the choice without it?"
NO_TEST = "The lab has no switch that takes this part away."
NOT_NOW = "Beside the edits that are made it cannot be taken away."


def draw(shown: Shown) -> None:
    """The rival and the picture are chosen in the bar; below it that picture, or the readings of the source."""
    places = shown.places
    assert isinstance(places, LecturePlaces)
    notes.draw(shown)
    if not likely.has_readings(shown.page_data):
        shown = dataclasses.replace(shown, view=dataclasses.replace(shown.view, why="sum"))
    with places.notes:
        asked = choice.choice(shown)
    with places.bar:
        _controls(shown, asked)
    names = _pictures(shown)
    if steps := likely.only(shown.page_data):
        lecture.only(steps, "blank" if likely.blanks(shown.page_data) else "token")
    lecture.key(letters.PICTURE, ", ".join(names).lower(), lambda: _turn(len(names)), quiet=True)
    with places.body:
        if shown.view.why == "readings":
            large_readings.draw_readings(shown, asked)
        else:
            _sum(shown, asked)


def _controls(shown: Shown, asked: Choice) -> None:
    view = shown.view
    with st.container(key="why_rival", horizontal=True, vertical_alignment="center", gap="small", width="content"):
        shared_texts.label("and not")
        rivals.choose(shown, asked.others, asked.rival)
    names = _pictures(shown)
    st.segmented_control(
        "Picture",
        names,
        required=True,
        label_visibility="collapsed",
        **state.bind("why picture", "large", names[_picture(view) - 1], _number, _show),
    )
    if complaint := state.complaint("rival"):
        with shown.places.notes:
            shared_texts.note(complaint[1], warn=True)


def _pictures(shown: Shown) -> tuple[str, ...]:
    return (*PICTURES, READING_KEYS) if likely.has_readings(shown.page_data) else PICTURES


def _picture(view: View) -> int:
    """Which of the pictures is shown, from 1; the readings are the last."""
    return len(PICTURES) + 1 if view.why == "readings" else lecture.picture(view, len(PICTURES))


def _number(name: str) -> int:
    return (*PICTURES, READING_KEYS).index(name) + 1


def _show(number: int) -> None:
    """Another picture; called from callbacks."""
    readings = number > len(PICTURES)
    state.change(why="readings" if readings else "sum", large=1 if readings else number)


def _turn(count: int) -> None:
    """To the next of so many pictures, the readings after those of the sum; called from callbacks."""
    _show(_picture(state.current()) % count + 1)


def _sum(shown: Shown, asked: Choice) -> None:
    view, trace, found = shown.view, shown.analysis.trace, asked.found
    writer, way = pieces.chosen(view, found), ways.chosen(view, found, trace)
    picture = _picture(view)
    order = _order(found, trace, picture)
    lecture.walk("the next part", "the part before", partial(_walk, order, found, trace))
    before, after = _around(shown.page_data, found.step)
    large = {
        "picture": picture,
        "step": view.step,
        "asked": texts.asked(asked.pair),
        "before": before,
        "after": after,
        "pair": [piece.removeprefix("·") or "·" for piece in asked.pair],
        "p": [round(math.exp(each), 5) for each in asked.log_probs],
        "odds": texts.odds(found.difference, asked.pair, asked.log_probs),
        "told": _told(shown, asked, writer, way),
    }
    data = sums.payload(found, trace, writer, way, shown.mode, likely.only(shown.page_data), large)
    sums.difference(data, pieces.choose_head, pieces.choose_piece, ways.choose, pieces.choose_step)


def _around(page_data: PageData, step: int) -> tuple[str, str]:
    """What stands before a choice, and behind it: what has been written, the text around a blank, or all that is judged."""
    request, trace, tokenizer = page_data.request, page_data.analysis.trace, page_data.loaded.target_tokenizer
    if trace.classes:
        return request.source.strip(), ""
    if trace.outputs is not None:
        return tokenizer.decode(trace.outputs.ids[:step]), ""
    both, places = " ".join(filter(None, (request.source.strip(), request.second))), likely.blanks(page_data)
    pieces = blanks.parts(both)
    if step in places and len(pieces) == len(places) + 1:
        number = places.index(step) + 1
        return blanks.SIGN.join(pieces[:number]), blanks.SIGN.join(pieces[number:])
    ids = trace.predicted.ids
    return tokenizer.decode(ids[:step]), tokenizer.decode(ids[step + 1 :])


def _told(shown: Shown, asked: Choice, writer: Writer | None, way: Way | None) -> list[str]:
    """What the chosen part brought, and what becomes of the difference without it: two sentences; else what to do."""
    found, pair, trace = asked.found, asked.pair, shown.analysis.trace
    if way:
        after = pieces.without(shown, way.codes, found)
        said = f"By way of “{way.label}”"
        return [texts.part_told(said, way.value, pair, "came"), _tested("Hidden from every token", found, after, pair)]
    if not writer:
        return [HINT, ""]
    value = dict(zip(found.writers, map(float, found.values), strict=True))[writer]
    read = sums.read(found, trace)
    if writer.kind == "head":
        assert writer.site is not None and writer.head is not None
        told = texts.head_told(found, trace, writer.site, writer.head, pair)
    else:
        told = texts.part_told(sums.name(writer, read), value, pair)
    code = pieces.code_of(writer, trace)
    if not code:
        return [told, NO_TEST]
    return [told, _tested(pieces.IS_OFF[writer.kind], found, pieces.without(shown, (code,), found), pair)]


def _tested(how: str, found: DirectLogits, after: float | None, pair: tuple[str, str]) -> str:
    return NOT_NOW if after is None else texts.without_it(how, found.difference, after, pair)


def _order(found: DirectLogits, trace: Trace, picture: int) -> list[list[Any]]:
    """What of a picture can be chosen, as the browser knows it: the parts that have bars, all heads, or the words."""
    if picture == 3:
        known = [(piece, ways.parts(found, trace, piece)) for piece in ways.KINDS]
        return [[piece, n] for piece, parts in known if parts for n in range(1, len(parts[0]) + 1)]
    writers = [writer for writer, _ in found.ranked]
    if picture == 1:
        return [key for writer in writers[: sums.FEW] if (key := sums.key(writer))]
    return [key for writer in writers if writer.kind == "head" and (key := sums.key(writer))]


def _walk(order: list[list[Any]], found: DirectLogits, trace: Trace, by: int) -> None:
    """To the part beside the one that is chosen now, or the first; called from callbacks."""
    writer, way = pieces.chosen(state.current(), found), ways.chosen(state.current(), found, trace)
    at = [way.piece, way.place + 1] if way else sums.key(writer) if writer else None
    if not order:
        return
    piece, *place = order[(order.index(at) + by) % len(order)] if at in order else order[0]
    if piece == "head":
        pieces.choose_head(*place)
    elif piece in ways.KINDS:
        ways.choose(piece, *place)
    else:
        pieces.choose_piece(piece, *(place or [1]))
