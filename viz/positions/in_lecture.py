"""Positions in lecture mode: one picture over the whole page; pictures, schemes and the pair that is followed by key."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Sequence

import streamlit as st

from model.config import SCHEMES
from viz import computations
from viz.classroom import lecture
from viz.kit import site_texts
from viz.page_context import LecturePlaces, PageContext, Places
from viz.positions import cached_figures, position_texts, schemes, sentence_part
from viz.state import session
from viz.state.page_fields import MAX_PE_SHIFT
from viz.state.view import View, without_edits
from viz.theme import Mode

SIX = {
    "table": "Table",
    "curves": "Curves",
    "similarity": "Similarity",
    "distance": "By distance",
    "shift": "Shift",
    "residual": "Error",
}
HALL = 1.9  # how many times as large a chart is drawn
LEFT = 478  # px at 720 lines for a chart below its title and a sentence


def draw(context: PageContext) -> None:
    """What is shown stands in the bar, and the picture below it."""
    from model.readings.positions.sentence_positions import sides_of

    lecture.draw(context)
    sides = sides_of(context.analysis.trace)
    views = [*SIX.values(), "This sentence", *(f"{side.capitalize()} edited" for side in sides)]
    number = lecture.picture(context.view, len(views))
    _bar(context.places, context.view, number, views)
    with context.places.body:
        if number <= len(SIX):
            _of_scheme(context.view, context.mode, list(SIX)[number - 1], context.places)
        elif number == len(SIX) + 1:
            _sentence(context)
        else:
            _experiments(context, sides[number - len(SIX) - 2])


def without_sentence(view: View, places: Places, mode: Mode) -> None:
    """A scheme by itself needs no sentence."""
    number = lecture.picture(view, len(SIX))
    _bar(places, view, number, list(SIX.values()))
    with places.body:
        _of_scheme(view, mode, list(SIX)[number - 1], places)


def _bar(places: Places, view: View, number: int, views: Sequence[str]) -> None:
    """The picture and the scheme, each a button to the next one, and the keys of both."""
    count = len(views)
    offered, now = _schemes(view), view.scheme or schemes.own_scheme(view)
    following = offered[(offered.index(now) + 1) % len(offered)]
    lecture.add_key(lecture.PICTURE, "the next picture", lambda: _turn(count, 1), quiet=True)
    lecture.add_key(lecture.RIGHT, "the next picture", lambda: _turn(count, 1), quiet=True)
    lecture.add_key(lecture.LEFT, "the picture before", lambda: _turn(count, -1), quiet=True)
    lecture.add_key(lecture.KIND, "the next kind of positions", lambda: session.change(scheme=following), quiet=True)
    lecture.add_key(lecture.MORE, "shift by one more", lambda: _shift(1), quiet=True)
    lecture.add_key(lecture.LESS, "shift by one less", lambda: _shift(-1), quiet=True)
    if isinstance(places, LecturePlaces):
        with places.bar:
            turn = {"on_click": _turn, "args": (count, 1)}
            st.button(
                f"{views[number - 1]} {number}/{count}",
                key="hall_picture",
                help=f"The next picture ({lecture.PICTURE.key})",
                **turn,
            )
            choose = {"on_click": session.change, "kwargs": {"scheme": following}}
            help = f"The next kind of positions ({lecture.KIND.key})"
            st.button(now.capitalize(), key="hall_scheme", help=help, **choose)
            if number <= len(SIX):
                site_texts.write(f'<p class="lab-hall-fact">k = {view.pe_shift}, i = {view.pe_pair}</p>', inline=True)


def _schemes(view: View) -> list[str]:
    """As the page offers them."""
    own = schemes.own_scheme(view)
    return [name for name, made in SCHEMES.items() if not made.has_split_halves or name in (own, view.scheme)]


def _turn(count: int, by: int) -> None:
    session.change(large=(lecture.picture(session.current_view(), count) - 1 + by) % count + 1)


def _shift(by: int) -> None:
    session.change(pe_shift=max(0, min(MAX_PE_SHIFT, session.current_view().pe_shift + by)))


def _follow(pairs: int) -> None:
    """The next of so many pairs; after the last the first."""
    session.change(pe_pair=(min(session.current_view().pe_pair, pairs - 1) + 1) % pairs)


def _scheme(view: View) -> cached_figures.Scheme | None:
    """What is measured; None, and a sentence, where there is no learned table."""
    view = dataclasses.replace(view, scheme=view.scheme or schemes.own_scheme(view))
    return schemes.learned(view) if SCHEMES[view.scheme].has_table else schemes.of_formula(view)


def _of_scheme(view: View, mode: Mode, what: str, places: Places) -> None:
    view = dataclasses.replace(view, scheme=view.scheme or schemes.own_scheme(view))
    scheme = _scheme(view)
    if scheme is None:
        return
    found = scheme.numbers()
    width = found.values.shape[1]
    pair = schemes.followed(view, width)
    lecture.add_key(lecture.PAIR, "the next pair of dimensions", lambda: _follow(width // 2), quiet=True)
    with places.notes:
        for sentence, warn in position_texts.limits(view, found, scheme.checkpoint or view.scheme, None):
            if warn:
                site_texts.note(sentence, warn=True)
    title, reading = position_texts.readings(view, found, pair)[what]
    _titled(title, reading)
    if what not in ("shift", "residual") or len(found.residual):
        figure = cached_figures.scheme_figure(what, scheme, pair, mode, lecture.chart_height(LEFT, HALL))
        with lecture.chart_container(HALL):
            lecture.draw_chart(title, f"pe figure {what}", figure, f"{title}. {reading}")


def _titled(title: str, reading: str) -> None:
    site_texts.write(f'<h2 class="lab-large-title">{html.escape(title)}</h2>')
    site_texts.write(f'<p class="lab-large">{html.escape(reading)}</p>')


def _sentence(context: PageContext) -> None:
    """How alike the tokens are, without positions and with them: the first of the maps beside the last."""
    view, side = context.view, schemes.side_of(context.view)
    request = without_edits(context.request)
    found = computations.sentence_positions(request, view.device, side)
    told = position_texts.likeness(found, context.loaded.config.positions)
    site_texts.write(f'<p class="lab-large">{html.escape(told[-1])}</p>')
    maps = cached_figures.token_maps(found)
    with lecture.chart_container(HALL):
        for column, (name, title, values, _) in zip(st.columns(2, gap="small"), (maps[-3], maps[-1]), strict=True):
            with column:
                site_texts.write(f'<h3 class="lab-label">{title}</h3>')
                figure = cached_figures.token_figure(
                    request, view.device, side, name, context.mode, lecture.chart_height(LEFT - 60, HALL)
                )
                alt = position_texts.token_alt(title, found.labels, values)
                lecture.draw_chart(title, f"pe tokens {name}", figure, alt)


def _experiments(context: PageContext, side: str) -> None:
    """What the model makes of the text with a side's positions off, shuffled and shifted; made one after the other."""
    from model.readings.positions.sentence_positions import is_beyond, position_edits

    config = context.loaded.config
    edits = [edit for edit in position_edits(context.view.pe_shift, (side,)) if not is_beyond(edit, config)]
    made = [edit in context.view.intervention.edits for edit in edits]
    following = (max((n for n, is_made in enumerate(made) if is_made), default=-1) + 1) % len(edits)
    lecture.add_key(
        lecture.EXPERIMENT,
        "the next of these edits, on every page",
        lambda: sentence_part.apply(edits[following].code),
        quiet=True,
    )
    with st.container(key="hall_variants"):
        sentence_part.variants_part(context, context.view, side)
