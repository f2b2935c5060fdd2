"""The parts of the page Positions: its controls, the figures of a scheme, and what positions do to the sentence."""

from __future__ import annotations

import dataclasses
import html
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import streamlit as st

from model.config import FAMILIES, SCHEMES
from model.decoding.strategy import STRATEGIES, Decoding
from model.edits.kinds import Labels, Positions, parse
from model.trace import SITE_KINDS, site_kind
from viz import cache, experiments, readings, state, theme, uploads
from viz.page_fields import MAX_PE_SHIFT, MAX_PE_WIDTH
from viz.positions import texts as position_texts
from viz.positions.drawn import Scheme, scheme_figure, token_figure, token_maps
from viz.shared import controls, texts, wanted
from viz.view import View, unedited, with_intervention

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from model.inference.analysis import Analysis
    from model.inference.request import Request
    from model.readings.sentence_positions import Variant
    from model.text.seen import Lengths

WIDTHS = (8, 16, 32, 64, 128, 256, 512, 1024)
BASES = (2.0, 10.0, 100.0, 1000.0, 10_000.0, 100_000.0, 1_000_000.0)
COUNTS = (8, 16, 32, 64, 128, 256, 512)
REPEATED = "The dog sees the dog."
MAX_TRIED_WORK = 200  # paths of a beam times source tokens, of a translation that is made once for each edit


def side_of(view: View) -> str:
    """Whose tokens and whose learned table are shown: the source's, or the target's with the decoder."""
    own = FAMILIES[cache.task(view.checkpoint, view.device).family]
    return site_kind(view.kind if view.kind in own else own[0]).keys


def scheme_part(view: View, mode: theme.Mode) -> None:
    """A scheme of positions by itself: its controls, and six figures."""
    own = own_scheme(view)
    view = dataclasses.replace(view, scheme=view.scheme or own)
    trained = SCHEMES[view.scheme].trained
    with st.container(key="pe_scheme_row", horizontal=True, vertical_alignment="center", gap="small"):
        st.segmented_control(
            "Kind of positions",
            [name for name, made in SCHEMES.items() if not made.halves or name in (own, view.scheme)],
            required=True,
            format_func=lambda name: name.capitalize() + (" (this checkpoint)" if name == own else ""),
            label_visibility="collapsed",
            **state.bind("scheme", "scheme", view.scheme),
        )
        texts.write(position_texts.formula(view.scheme), inline=True)
        if trained:
            st.space("stretch")
            _side_pick("table side", view, "table of the")
    if trained:
        scheme = learned(view)
        if scheme is None:
            return
        _sliders(view, scheme.numbers().values.shape[1], learned=True)
        name = scheme.checkpoint
    else:
        scheme = of_formula(view)
        _sliders(view, scheme.width)
        name = view.scheme
    for sentence, warn in position_texts.limits(view, scheme.numbers(), name, _seen(view, scheme.checkpoint)):
        texts.note(sentence, warn=warn)
    _six(view, scheme, mode)


def of_formula(view: View) -> Scheme:
    """The positions of a formula, as the view asks for them."""
    known = {"longest": seen.longest} if (seen := _seen(view)) else {}
    return Scheme(view.scheme, view.pe_count, view.pe_shift, view.pe_width or own_width(view), view.pe_base, **known)


def own_scheme(view: View) -> str:
    """The checkpoint's own positions; the paper's where it cannot be read."""
    try:
        return cache.checkpoint(view.checkpoint, view.device).config.positions
    except ValueError:
        return next(iter(SCHEMES))


def own_width(view: View) -> int:
    """How wide the positions of a formula would be in the checkpoint: a head's width where they turn queries and keys, else
    d_model. That of the paper's base model, 64 or 512, where the checkpoint cannot be read."""
    turns = SCHEMES[view.scheme].turns
    try:
        config = cache.checkpoint(view.checkpoint, view.device).config
    except ValueError:
        return 64 if turns else 512
    width = config.head_dim if turns else config.d_model
    return max(2, min(MAX_PE_WIDTH, width - width % 2))


def _seen(view: View, learned: str = "") -> Lengths | None:
    """How long the training sentences were: of the side of the checkpoint whose table is shown, else of the longer side of
    the one that answers; None where it does not say so, or cannot be loaded."""
    try:
        seen = cache.checkpoint(learned or view.checkpoint, view.device).seen
    except ValueError:
        return None
    if seen is None:
        return None
    return seen.lengths[side_of(view)] if learned else max(seen.lengths.values(), key=lambda known: known.longest)


def learned(view: View) -> Scheme | None:
    """The learned table that is shown, once it is measured; None, and a sentence, where there is none."""
    from model.readings.sentence_positions import learned_checkpoint

    name = learned_checkpoint(view.checkpoint)
    if name is None:
        texts.note("No checkpoint here has learned positions; sinusoidal and rotary ones need none, they are formulas.")
        return None
    try:
        if name != view.checkpoint:
            cache.refresh(name)
        scheme = Scheme(view.scheme, view.pe_count, view.pe_shift, checkpoint=name, device=view.device, side=side_of(view))
        scheme.numbers()
    except ValueError as fault:
        texts.fault(str(fault))
        return None
    return scheme


def _side_pick(key: str, view: View, label: str = "") -> None:
    """Whose tokens, or whose table, after a label; nothing where the checkpoint has one side only."""
    own = FAMILIES[cache.task(view.checkpoint, view.device).family]
    kinds = {of.queries: kind for kind, of in SITE_KINDS.items() if of.is_self and kind in own}
    if len(kinds) == 1:  # there is nothing to choose
        return
    if label:
        texts.label(label)
    st.segmented_control(
        "Side",
        list(kinds),
        required=True,
        format_func=str.capitalize,
        label_visibility="collapsed",
        **state.bind(key, "kind", side_of(view), kinds.__getitem__),
    )


def _sliders(view: View, width: int, learned: bool = False) -> None:
    """Width and base of a formula (a learned table has its own width, and no base), number of positions, shift, and the
    pair of dimensions that is followed."""
    name = "Head width d_k" if SCHEMES[view.scheme].turns else "Width d_model"
    formula = (
        (name, "pe width", "pe_width", WIDTHS, width),
        ("Base", "pe base", "pe_base", BASES, view.pe_base),
    )
    sliders = (
        *(() if learned else formula),
        ("Positions", "pe count", "pe_count", COUNTS, view.pe_count),
        ("Shift k", "pe shift", "pe_shift", range(MAX_PE_SHIFT + 1), view.pe_shift),
        ("Pair of dimensions i", "pe pair", "pe_pair", range(width // 2), followed(view, width)),
    )
    with st.container(key="pe_sliders"):
        for place, (label, key, field, options, value) in zip(st.columns(5, gap="medium"), sliders, strict=False):
            choices = sorted({*options, value})
            if len(choices) > 1:
                with place:
                    st.select_slider(label, options=choices, format_func=_number, **state.bind(key, field, value))


def _number(value: float) -> str:
    return f"{value:,g}"


def followed(view: View, width: int) -> int:
    """The pair that is followed, or the last where the width has fewer."""
    return min(view.pe_pair, width // 2 - 1)


def _six(view: View, scheme: Scheme, mode: theme.Mode) -> None:
    found = scheme.numbers()
    pair = followed(view, found.values.shape[1])
    told = position_texts.readings(view, found, pair)
    with st.container(key="pe_grid"):
        for row in (("table", "curves", "distance"), ("similarity", "shift", "residual")):
            for column, what in zip(st.columns(3, gap="medium"), row, strict=True):
                title, reading = told[what]
                with column:
                    texts.write(f'<h2 class="lab-label">{html.escape(title)}</h2>')
                    texts.note(reading)
                    if what in ("shift", "residual") and not len(found.residual):
                        continue
                    _chart(title, f"pe figure {what}", scheme_figure(what, scheme, pair, mode), f"{title}. {reading}")


def _chart(title: str, key: str, figure: go.Figure, alt: str) -> None:
    st.plotly_chart(figure, theme=None, key=key, config=controls.picture(title), alt=alt)


# -- on this sentence -------------------------------------------------------------------------------------------------


def sentence_part(page_data: cache.PageData, view: View, mode: theme.Mode) -> None:
    """How alike the tokens of the sentence are, without positions and with them."""
    side = side_of(view)
    with st.container(key="pe_sentence_row", horizontal=True, vertical_alignment="center", gap="small"):
        texts.write('<h2 class="lab-label">On this sentence</h2>', inline=True)
        texts.label(f"{uploads.shown(page_data.loaded.name)}: {page_data.loaded.config.positions} positions")
        st.space("stretch")
        _side_pick("sentence side", view)
    request = unedited(page_data.request)
    found = readings.sentence_positions(request, view.device, side)
    for sentence in position_texts.likeness(found, page_data.loaded.config.positions):
        texts.note(sentence)
    if not found.repeated:
        with st.container(key="pe_repeat", horizontal=True, vertical_alignment="center", gap="small"):
            texts.label("No token occurs twice in this sentence.")
            if page_data.loaded.languages[0] in ("English", "source"):
                st.button(f"Try “{REPEATED}”", type="tertiary", on_click=state.change, kwargs={"source": REPEATED})
    with st.container(key="pe_tokens"):
        for column, (name, title, values, _) in zip(st.columns(3, gap="medium"), token_maps(found), strict=True):
            with column:
                texts.write(f'<h3 class="lab-label">{title}</h3>')
                alt = position_texts.token_alt(title, found.labels, values)
                _chart(title, f"pe tokens {name}", token_figure(request, view.device, side, name, mode), alt)


def variants_part(page_data: cache.PageData, view: View, side: str = "") -> None:
    """What the model makes of the text with positions off, shuffled and shifted, all or those of a side; a click makes the
    edit on every page."""
    texts.write('<h2 class="lab-label lab-rule">What if they were different?</h2>')
    task = page_data.analysis.task
    texts.note(position_texts.ANEW["judged" if task.judges else task.family])
    plain, narrowed = tried(unedited(page_data.request), page_data.analysis.source_length)
    for sentence in narrowed:
        texts.note(sentence)
    code = texts.language_code(page_data.loaded.languages[1])
    with st.container(key="pe_variants"):
        base = cache.analyse(plain, view.device)
        if not side:
            texts.ties(base, page_data.loaded.answers)
        said = base.translation.split() if task.writes else _likeliest(base, page_data)
        _row("Baseline", None, position_texts.said(said, (), code))
        for edit, found in _found(plain, view):
            if side in ("", edit.side):
                _variant(edit, found, view, code)


def _likeliest(base: Analysis, page_data: cache.PageData) -> tuple[str, ...]:
    """What a model that writes nothing says of each place, or the label that it gives."""
    return page_data.loaded.answers.pieces(base.trace.log_probs.argmax(-1).tolist())


def _found(plain: Request, view: View) -> Iterable[tuple[Positions, Variant | ValueError | None]]:
    """Each edit with what it does; with None until somebody looks."""
    from model.readings.sentence_positions import sides_of, variants

    asked = plain, view.device, view.pe_shift
    found = experiments.position_variants.known(*asked)
    if found is None and wanted.is_wanted("variants", *asked):
        with st.spinner(f"{cache.task(view.checkpoint, view.device).doing} under each edit"):
            found = experiments.position_variants(*asked)
    return found or ((edit, None) for edit in variants(view.pe_shift, sides_of(cache.analyse(plain, view.device).trace)))


def tried(request: Request, tokens: int) -> tuple[Request, list[str]]:
    """What is translated under each edit: the sentence alone, without branches, greedily where a beam over so many source
    tokens would take long; and a sentence for what is left out."""
    plain, asked = dataclasses.replace(request, other_sentences=(), branches=(), path=()), request.decoding
    told = ["The branches are left out here."] if request.branches else []
    if "width" in STRATEGIES[asked.strategy].controls and asked.width * tokens > MAX_TRIED_WORK:
        plain = dataclasses.replace(plain, decoding=Decoding())
        told += [f"A beam of {asked.width} over {tokens} source tokens would take long here: all are decoded greedily."]
    return plain, told


def _variant(edit: Positions, found: Variant | ValueError | None, view: View, code: str) -> None:
    if found is None:
        _row(edit.text(Labels()), math.nan, position_texts.AWAITED, edit, view)
        return
    if isinstance(found, ValueError):
        _row(edit.text(Labels()), None, position_texts.refused(str(found)), edit, view)
        return
    markup = position_texts.said(found.words, found.changed, code, found.tipped)
    _row(edit.text(Labels()), found.change, markup, edit, view)


def _row(name: str, change: float | None, markup: str, edit: Positions | None = None, view: View | None = None) -> None:
    left, middle, right = st.columns([230, 76, 720], vertical_alignment="center", gap="small")
    with left:
        if edit is None or view is None:
            texts.label(name)
        else:
            made = edit in view.edits.edits
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
            texts.signed(change)
    with right:
        texts.write(markup)


def apply(code: str) -> None:
    """Makes an edit of positions in place of another on its side, decoded again; or takes it back; from callbacks."""
    now, edit = state.current().intervention, parse(code)
    kept = tuple(e for e in now.edits if not (isinstance(e, Positions) and e.side == edit.side))
    added = () if edit in now.edits else (edit,)
    state.change(mode="again", **with_intervention(dataclasses.replace(now, edits=(*kept, *added))))
