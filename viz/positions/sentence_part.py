"""What positions do to the sentence: how alike its tokens are with them, and what the model makes of other ones."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import streamlit as st

from model.decoding.strategy import Decoding
from model.edits.kinds import Positions, TokenLabels, parse
from model.inference.decisions import top_tokens
from model.text.languages import record_of
from viz import cache, computations, theme
from viz.kit import controls, lazy, site_texts
from viz.page_context import PageContext
from viz.positions import position_texts
from viz.positions.cached_figures import token_figure, token_maps
from viz.positions.schemes import chart, side_of, side_pick
from viz.state import session, uploads
from viz.state.view import View, without_edits

if TYPE_CHECKING:
    from model.inference.analysis import Analysis
    from model.inference.request import Request
    from model.readings.positions.sentence_positions import Variant


MAX_TRIED_WORK = 200  # paths of a beam times source tokens, of a translation that is made once for each edit


def sentence_part(context: PageContext, view: View, mode: theme.Mode) -> None:
    """How alike the tokens of the sentence are, without positions and with them."""
    side = side_of(view)
    with st.container(key="pe_sentence_row", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.write('<h2 class="lab-label">On this sentence</h2>', inline=True)
        site_texts.label(f"{uploads.display_name(context.loaded.name)}: {context.loaded.config.positions} positions")
        st.space("stretch")
        side_pick("sentence side", view)
    request = without_edits(context.request)
    found = computations.sentence_positions(request, view.device, side)
    for sentence in position_texts.likeness(found, context.loaded.config.positions):
        site_texts.note(sentence)
    if not found.repeated:
        with st.container(key="pe_repeat", horizontal=True, vertical_alignment="center", gap="small"):
            site_texts.label("No token occurs twice in this sentence.")
            reads = context.loaded.languages[0]
            if repeated := record_of(None if reads == "source" else reads).repeated_token_example:
                st.button(f"Try “{repeated}”", type="tertiary", on_click=session.change, kwargs={"source": repeated})
    with st.container(key="pe_tokens"):
        for column, (name, title, values, _) in zip(st.columns(3, gap="medium"), token_maps(found), strict=True):
            with column:
                site_texts.write(f'<h3 class="lab-label">{title}</h3>')
                alt = position_texts.token_alt(title, found.labels, values)
                chart(title, f"pe tokens {name}", token_figure(request, view.device, side, name, mode), alt)


def variants_part(context: PageContext, view: View, side: str = "") -> None:
    """What the model makes of the text with positions off, shuffled and shifted, all or those of a side; a click makes the
    edit on every page."""
    site_texts.write('<h2 class="lab-label lab-rule">What if they were different?</h2>')
    task = context.analysis.task
    site_texts.note(position_texts.ANEW["judged" if task.is_classifier else task.family])
    plain, narrowed = tried(without_edits(context.request), context.analysis.source_length)
    for sentence in narrowed:
        site_texts.note(sentence)
    code = site_texts.language_code(context.loaded.languages[1])
    with st.container(key="pe_variants"):
        base = cache.analyse(plain, view.device)
        if not side:
            site_texts.near_tie_note(base, context.loaded.output_vocabulary)
        said = base.translation.split() if task.has_decoder else _likeliest(base, context)
        _row("Baseline", None, position_texts.said(said, (), code))
        for edit, found in _found(plain, view):
            if side in ("", edit.side):
                _variant(edit, found, view, code)


def _likeliest(base: Analysis, context: PageContext) -> tuple[str, ...]:
    """What a model that writes nothing says of each place, or the label that it gives."""
    return context.loaded.output_vocabulary.pieces(top_tokens(base.trace))


def _found(plain: Request, view: View) -> Iterable[tuple[Positions, Variant | ValueError | None]]:
    """Each edit with what it does; with None until somebody looks."""
    from model.readings.positions.sentence_positions import position_edits, sides_of

    asked = plain, view.device, view.pe_shift
    found = computations.position_variants.known(*asked)
    if found is None and lazy.has_been_seen("variants", *asked):
        with st.spinner(f"{cache.task(view.checkpoint, view.device).progress_label} under each edit"):
            found = computations.position_variants(*asked)
    return found or (
        (edit, None) for edit in position_edits(view.pe_shift, sides_of(cache.analyse(plain, view.device).trace))
    )


def tried(request: Request, tokens: int) -> tuple[Request, list[str]]:
    """What is translated under each edit: the sentence alone, without branches, greedily where a beam over so many source
    tokens would take long; and a sentence for what is left out."""
    plain, asked = dataclasses.replace(request, other_sentences=(), branches=(), path=()), request.decoding
    told = ["The branches are left out here."] if request.branches else []
    if asked.has_width and asked.width * tokens > MAX_TRIED_WORK:
        plain = dataclasses.replace(plain, decoding=Decoding())
        told += [f"A beam of {asked.width} over {tokens} source tokens would take long here: all are decoded greedily."]
    return plain, told


def _variant(edit: Positions, found: Variant | ValueError | None, view: View, code: str) -> None:
    from model.readings.positions.sentence_positions import is_beyond

    config = cache.checkpoint(view.checkpoint, view.device).config
    if is_beyond(edit, config):  # told before anybody looks
        found = ValueError(position_texts.beyond(edit.amount, config.max_positions))
    if found is None:
        _row(edit.text(TokenLabels()), math.nan, position_texts.AWAITED, edit, view)
        return
    if isinstance(found, ValueError):
        _row(edit.text(TokenLabels()), None, position_texts.refused(str(found)), edit, view)
        return
    markup = position_texts.said(found.words, found.changed, code, found.near_tie)
    _row(edit.text(TokenLabels()), found.change, markup, edit, view)


def _row(name: str, change: float | None, markup: str, edit: Positions | None = None, view: View | None = None) -> None:
    left, middle, right = st.columns([230, 76, 720], vertical_alignment="center", gap="small")
    with left:
        if edit is None or view is None:
            site_texts.label(name)
        else:
            made = edit in view.intervention.edits
            st.button(
                controls.plain_label(name[:1].upper() + name[1:]),
                key=f"variant {edit.code}",
                type="primary" if made else "secondary",
                help="Take this edit back" if made else None,
                disabled=change is None and not made,
                on_click=apply,
                args=(edit.code,),
                width="stretch",
            )
    with middle:
        if change is not None and math.isfinite(change):
            site_texts.signed(change)
    with right:
        site_texts.write(markup)


def apply(code: str) -> None:
    """Makes an edit of positions in place of another on its side, decoded again; or takes it back; from callbacks."""
    now, edit = session.current_view().intervention, parse(code)
    kept = tuple(e for e in now.edits if not (isinstance(e, Positions) and e.side == edit.side))
    added = () if edit in now.edits else (edit,)
    session.change(mode="again", intervention=dataclasses.replace(now, edits=(*kept, *added)))
