"""Why in lecture mode: the question, one large picture of the sum, and what one part of it does, told in a line or two.

The readings of the source in lecture mode: the curves of one of them, or all of them in rows.

What becomes of a log-probability where more and more words are taken away, as one picture that fills the screen."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from model.readings.tokens.word_readings import READINGS
from model.text import sentences
from viz import theme
from viz.classroom import lecture
from viz.kit import mount, site_texts
from viz.page_context import LecturePlaces, PageContext
from viz.state import session
from viz.why import chosen_tokens, logit_sum, pieces, reading_texts, readings_part, rivals, token_contributions, why_texts

if TYPE_CHECKING:
    from model.readings.logits.direct_logits import DirectLogits, Writer
    from model.trace import Trace
    from viz.page_context import PageContext
    from viz.state.view import View
    from viz.why.readings_part import Test
    from viz.why.rivals import Choice
    from viz.why.token_contributions import Way

_COMPONENT = mount.Component(__file__, '<div class="curves"></div>', picture="Words taken away", name="curves")


def spread(chance: Sequence[np.ndarray]) -> list[list[float]]:
    """The lowest, the mean and the highest of random orders at each point; nothing where there are none."""
    if not chance:
        return []
    return [[round(float(v), 4) for v in of(chance, axis=0)] for of in (np.min, np.mean, np.max)]


def curves(data: dict[str, Any], key: str = "curves large") -> None:
    """Mounts the component."""
    _COMPONENT.mount(key, data)


READINGS_PICTURES = 2  # the curves of one, and all in rows


def draw_readings(context: PageContext, asked: Choice) -> None:
    """Which reading ranks the words best here, and the picture; another reading and the other picture by key."""
    view = context.view
    test = readings_part.tested(context, asked.rival)
    if test is None:
        return
    names = list(test.found.shares if test.found.is_conclusive else READINGS)
    lecture.add_walk_keys("the next reading", "the reading before", partial(_walk_readings, names, test.chosen))
    lecture.add_key(lecture.INNER, "one reading, all readings", _turn_readings, quiet=True)
    if lecture.picture(view, READINGS_PICTURES) == 1:
        curves(_payload(context, test))
        return
    steps = view.step, len(context.analysis.trace.predicted_axis)
    trust = context.loaded.faithfulness
    only, said = chosen_tokens.only(context), reading_texts.said(test.found)
    data = readings_part.payload(test.found, trust, test.scope, test.chosen, context.mode, steps, only, said)
    readings_part.ranking(data, readings_part.choose_reading, pieces.choose_step)


def _walk_readings(names: list[str], usual: str, by: int) -> None:
    """To the reading beside the one that is chosen now; called from callbacks."""
    readings_part.choose_reading(names[(names.index(session.current_view().reading or usual) + by) % len(names)])


def _turn_readings() -> None:
    session.change(large=lecture.picture(session.current_view(), READINGS_PICTURES) % READINGS_PICTURES + 1)


def _payload(context: PageContext, test: Test) -> dict[str, object]:
    found, name = test.found, test.chosen
    reading, own = READINGS[name], found.curves[name]
    importance = found.importance[name]
    top = max(float(abs(importance).max()), 1e-12)
    return {
        "said": reading_texts.said(found),
        "reading": f"{reading.label}{reading_texts.area(found, name)}",
        "meaning": reading.describe(found.kind),
        "words": [[word, round(float(v) / top, 4)] for word, v in zip(found.words.labels, importance, strict=True)],
        "grid": [int(k) for k in found.grid],
        "lines": [
            {"end": end, "values": [round(float(v), 4) for v in values], "taken": reading_texts.taken(found, name, end)}
            for end, values in (("first", own.first), ("last", own.last))
        ],
        "chance": spread([each for one in found.random for each in (one.first, one.last)]),
        "axis": f"log-probability of {test.what}",
        "scale": list(theme.diverging(context.mode)),
    }


PICTURES = ("Parts", "Heads", "Words")  # of the sum, in the order of the view's `large`
READING_KEYS = "Readings"
HINT = f"One part at a time, with {lecture.NEXT.key} and {lecture.PREVIOUS.key}: what becomes of the choice without it?"
NO_TEST = "The lab has no switch that takes this part away."
NOT_NOW = "Beside the edits that are made it cannot be taken away."


def draw(context: PageContext) -> None:
    """The rival and the picture are chosen in the bar; below it that picture, or the readings of the source."""
    places = context.places
    assert isinstance(places, LecturePlaces)
    lecture.draw(context)
    if not chosen_tokens.has_readings(context):
        context = dataclasses.replace(context, view=dataclasses.replace(context.view, why="sum"))
    with places.notes:
        asked = rivals.choice(context)
    with places.bar:
        _controls(context, asked)
    names = _pictures(context)
    if steps := chosen_tokens.only(context):
        lecture.limit_steps(steps, "blank" if chosen_tokens.blanks(context) else "token")
    lecture.add_key(lecture.PICTURE, ", ".join(names).lower(), lambda: _turn(len(names)), quiet=True)
    with places.body:
        if context.view.why == "readings":
            draw_readings(context, asked)
        else:
            _sum(context, asked)


def _controls(context: PageContext, asked: Choice) -> None:
    view = context.view
    with st.container(key="why_rival", horizontal=True, vertical_alignment="center", gap="small", width="content"):
        site_texts.label("and not")
        rivals.choose(context, asked.others, asked.rival)
    names = _pictures(context)
    st.segmented_control(
        "Picture",
        names,
        required=True,
        label_visibility="collapsed",
        **session.bind("why picture", "large", names[_picture(view) - 1], _number, _show),
    )
    if complaint := session.complaint("rival"):
        with context.places.notes:
            site_texts.note(complaint[1], warn=True)


def _pictures(context: PageContext) -> tuple[str, ...]:
    return (*PICTURES, READING_KEYS) if chosen_tokens.has_readings(context) else PICTURES


def _picture(view: View) -> int:
    """Which of the pictures is shown, from 1; the readings are the last."""
    return len(PICTURES) + 1 if view.why == "readings" else lecture.picture(view, len(PICTURES))


def _number(name: str) -> int:
    return (*PICTURES, READING_KEYS).index(name) + 1


def _show(number: int) -> None:
    """Another picture; called from callbacks."""
    readings = number > len(PICTURES)
    session.change(why="readings" if readings else "sum", large=1 if readings else number)


def _turn(count: int) -> None:
    """To the next of so many pictures, the readings after those of the sum; called from callbacks."""
    _show(_picture(session.current_view()) % count + 1)


def _sum(context: PageContext, asked: Choice) -> None:
    view, trace, found = context.view, context.analysis.trace, asked.found
    writer, way = pieces.chosen(view, found), token_contributions.chosen(view, found, trace)
    picture = _picture(view)
    order = _order(found, trace, picture)
    lecture.add_walk_keys("the next part", "the part before", partial(_walk, order, found, trace))
    before, after = _around(context, found.step)
    large = {
        "picture": picture,
        "step": view.step + 1,
        "asked": why_texts.asked(asked.pair),
        "before": before,
        "after": after,
        "pair": [piece.removeprefix("·") or "·" for piece in asked.pair],
        "p": [round(math.exp(each), 5) for each in asked.log_probs],
        "odds": why_texts.odds(found.difference, asked.pair, asked.log_probs),
        "told": _told(context, asked, writer, way),
    }
    data = logit_sum.payload(found, trace, writer, way, context.mode, chosen_tokens.only(context), large)
    logit_sum.difference(data, pieces.choose_head, pieces.choose_piece, token_contributions.choose, pieces.choose_step)


def _around(context: PageContext, step: int) -> tuple[str, str]:
    """What stands before a choice, and behind it: what has been written, the text around a blank, or all that is judged."""
    request, trace, tokenizer = context.request, context.analysis.trace, context.loaded.target_tokenizer
    if trace.classes:
        return request.source.strip(), ""
    if trace.outputs is not None:
        return tokenizer.decode(trace.outputs.ids[:step]), ""
    both, places = " ".join(filter(None, (request.source.strip(), request.second))), chosen_tokens.blanks(context)
    pieces = sentences.texts_around_blanks(both)
    if step in places and len(pieces) == len(places) + 1:
        number = places.index(step) + 1
        return sentences.BLANK_SIGN.join(pieces[:number]), sentences.BLANK_SIGN.join(pieces[number:])
    ids = trace.predicted_axis.ids
    return tokenizer.decode(ids[:step]), tokenizer.decode(ids[step + 1 :])


def _told(context: PageContext, asked: Choice, writer: Writer | None, way: Way | None) -> list[str]:
    """What the chosen part brought, and what becomes of the difference without it: two sentences; else what to do."""
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
    """What of a picture can be chosen, as the browser knows it: the parts that have bars, all heads, or the words."""
    if picture == 3:
        known = [(piece, token_contributions.parts(found, trace, piece)) for piece in token_contributions.KINDS]
        return [[piece, n] for piece, parts in known if parts for n in range(1, len(parts[0]) + 1)]
    writers = [writer for writer, _ in found.ranked]
    if picture == 1:
        return [key for writer in writers[: logit_sum.FEW] if (key := logit_sum.key(writer))]
    return [key for writer in writers if writer.kind == "head" and (key := logit_sum.key(writer))]


def _walk(order: list[list[Any]], found: DirectLogits, trace: Trace, by: int) -> None:
    """To the part beside the one that is chosen now, or the first; called from callbacks."""
    writer, way = (
        pieces.chosen(session.current_view(), found),
        token_contributions.chosen(session.current_view(), found, trace),
    )
    at = [way.piece, way.place + 1] if way else logit_sum.key(writer) if writer else None
    if not order:
        return
    piece, *place = order[(order.index(at) + by) % len(order)] if at in order else order[0]
    if piece == "head":
        kind, layer, head = place
        pieces.choose_head(kind, layer - 1, head - 1)
    elif piece in token_contributions.KINDS:
        token_contributions.choose(piece, place[0] - 1)
    else:
        pieces.choose_piece(piece, place[0] - 1 if place else 0)
