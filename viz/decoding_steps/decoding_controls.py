"""Controls of decoding: strategy, branches, a translation of the visitor's own, several sentences."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from model.config import MAX_TOKENS
from model.decoding.strategy import MAX_SEED, STRATEGIES
from model.inference.predictions import better_candidates
from viz import cache
from viz.decoding_steps import decoding_texts
from viz.kit import controls, site_texts
from viz.kit.chart_figures import surprise_chart
from viz.kit.panel import Panel, Picture
from viz.state import session
from viz.state.fields import fields
from viz.state.session_data import data
from viz.state.values import MAX_BRANCH_TOKENS, MAX_BRANCHES
from viz.state.view import MAX_TEMPERATURE, YOURS, View, strategies

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from model.inference.analysis import Analysis
    from viz.page_context import PageContext

SURPRISE_HEIGHT = 176  # px
MORE = (10, 20, 40, 80, MAX_TOKENS)  # tokens that a text may get; the last: as many as there is room for


def _draw_strategy(context: PageContext, result: Any) -> None:
    """Draws the choice of the strategy, and its controls."""
    view, task = context.view, context.analysis.task
    chosen = YOURS if view.target is not None else view.strategy
    site_texts.write('<h2 class="lab-label">How tokens are chosen</h2>')
    st.segmented_control(
        "Strategy",
        strategies(),
        required=True,
        format_func=decoding_texts.strategy_title,
        label_visibility="collapsed",
        **session.bind("strategy", "strategy", chosen, write=_choose),
    )
    with st.container(key="strategy_controls", gap="xsmall"):
        names = () if chosen == YOURS else STRATEGIES[chosen].controls
        draws = chosen != YOURS and STRATEGIES[chosen].is_random
        if draws:
            st.button("Draw again", key="draw", width="stretch", on_click=draw_again, help="Draws with the next seed")
            _inputs(view, names)
        site_texts.note(decoding_texts.strategy_note(chosen, task.output_noun), "token", "beam", "log-probability")
        if not draws:
            _inputs(view, names)


def _choose(name: str) -> None:
    now = session.current_view()
    if name == YOURS:
        whose, target = data().own_target or (None, None)
        session.change(strategy=name, target=target if whose == _whose(now) else None, branches=(), step=View.step)
    else:
        _put_aside(now)
        session.change(strategy=name, target=None, **({"step": View.step} if now.target is not None else {}))


def _whose(view: View) -> tuple:
    """Returns the fields that a translation belongs to."""
    return view.checkpoint, view.source, view.sentence, view.split


def _put_aside(view: View) -> None:
    """Keeps a given translation for when its sentence is looked at again."""
    if view.target is not None:
        data().own_target = _whose(view), view.target


def _fields(*names: str, view: View) -> None:
    for column, name in zip(st.columns(len(names), gap="small"), names, strict=True):
        with column:
            complaint = session.complaint(name)
            shown = complaint[0] if complaint else f"{getattr(view, name):g}"
            st.text_input(decoding_texts.FIELDS[name][1], **session.bind(f"field {name}", name, shown, _reader(name)))
    for name in names:
        if complaint := session.complaint(name):
            site_texts.note(f"{complaint[1]} The picture keeps {getattr(view, name):g}.", warn=True)


def _reader(name: str) -> Callable[[str], Any]:
    def read(typed: str) -> Any:
        try:
            return fields(View)[name].value.read(typed.strip().replace(",", "."))
        except ValueError as expected:
            raise ValueError(decoding_texts.unusable(name, typed, str(expected))) from None

    return read


def _inputs(view: View, names: Sequence[str]) -> None:
    """One input for each control of the strategy."""
    if "temperature" in names:
        bound = session.bind("temperature", "temperature", float(view.temperature))
        st.slider("Temperature", 0.0, MAX_TEMPERATURE, step=0.05, **bound)
    if "top_p" in names:
        st.slider("Top-p", 0.01, 1.0, step=0.01, **session.bind("top_p", "top_p", float(view.top_p)))
    if written := [name for name in names if name in decoding_texts.FIELDS]:
        _fields(*written, view=view)


def draw_again() -> None:
    """Takes the next seed; called from callbacks."""
    session.change(seed=next_seed(session.current_view()))


def next_seed(view: View) -> int:
    return (view.seed + 1) % (MAX_SEED + 1)


def more(view: View, analysis: Analysis) -> None:
    """Draws the choice of the number of new tokens, and the end of the text."""
    if view.target is not None:
        return
    numbers = sorted({*MORE, view.more})
    with st.container(key="more_row", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.label("goes on for")
        st.segmented_control(
            "New tokens",
            numbers,
            required=True,
            format_func=lambda n: "all" if n == MAX_TOKENS else str(n),
            label_visibility="collapsed",
            **session.bind("more pick", "more", view.more),
        )
        site_texts.label(decoding_texts.came_to_an_end(analysis))
        if reason := decoding_texts.describe_loop(analysis):
            site_texts.label(reason)
            st.button("Sample instead", key="sample instead", type="tertiary", on_click=_choose, args=("sample",))


def _draw_guessing(context: PageContext, result: Any) -> None:
    """Draws the reason why other panels are absent, and the way back."""
    site_texts.note("Maps, tree and masks would give the next tokens away. They come back when you stop guessing.")
    st.button("Stop guessing", key="stop_guessing", on_click=session.change, kwargs={"guess": False})


def _draw_own_target(context: PageContext, result: Any) -> None:
    """Draws the branches, or the box for a target of the visitor's own."""
    view, task = context.view, context.analysis.task
    branch_chips(view, context)
    if view.target is None and view.strategy != YOURS:
        return
    complaint = session.complaint("target")
    shown = complaint[0] if complaint else view.target or ""
    with st.container(key="own_row", horizontal=True, gap=None):
        st.text_input(
            f"Your {task.output_noun}",
            placeholder=f"Paste or type a {task.output_noun}, and press Enter",
            label_visibility="collapsed",
            **session.bind("target", "target", shown, _target),
        )
        st.button("Read it", key="read_target", on_click=session.mark_user_event)
    if complaint:
        site_texts.note(complaint[1], warn=True)
    elif view.target is None:
        site_texts.note("Until you give one, the page shows the model's own.")


def _target(typed: str) -> str:
    if not typed.strip():
        raise ValueError("It is empty; expected a text.")
    return typed


def branch_chips(view: View, context: PageContext) -> None:
    """Every branch with its way back."""
    if not view.branches or view.target is not None:
        return
    tokenizer = context.loaded.target_tokenizer
    with st.container(key="branches", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.label("Branches")
        for branch in view.branches:
            before, here = tokenizer.decode(branch[:-1]), tokenizer.piece(branch[-1]).strip("·")
            name = controls.plain_label(f"…{before[-16:]} → {here}" if before else f"→ {here}")
            rest = tuple(b for b in view.branches if b != branch)
            change = {"branches": rest, "path": ()}
            st.button(
                f"{name} ×", key=f"branch {branch}", help="Take this branch back", on_click=session.change, kwargs=change
            )
        back = {"branches": (), "path": ()}
        st.button("Back to the original", key="unbranch", type="tertiary", on_click=session.change, kwargs=back)


def branch(context: PageContext, step: int, token: int) -> None:
    """Goes on from the text before `step` with another token; called from a callback."""
    _add(context, (*context.analysis.trace.outputs.ids[:step], token), step)


def word(context: PageContext, step: int, typed: str) -> None:
    """Continues with a typed word, whose pieces are forced one by one. For callbacks."""
    from model.inference.targets import append_word

    try:
        path = append_word(context.loaded.target_tokenizer, context.analysis.trace.outputs.ids[:step], typed)
    except ValueError as fault:
        session.set_complaint("word", typed, str(fault))
    else:
        _add(context, path, step)


def _add(context: PageContext, path: tuple[int, ...], step: int) -> None:
    now = session.current_view()
    branches = tuple(b for b in now.branches if b != path)
    if len(branches) == MAX_BRANCHES:
        session.set_complaint("word", "", f"There are {MAX_BRANCHES} branches already; take one back first.")
        return
    if sum(map(len, (*branches, path))) > MAX_BRANCH_TOKENS:
        session.set_complaint("word", "", f"The branches have {MAX_BRANCH_TOKENS} tokens and more; take one back first.")
        return
    given = {"target": None, "strategy": View.strategy} if now.target is not None or now.strategy == YOURS else {}
    _put_aside(now)
    session.change(branches=(*branches, path), path=(), step=step, **given)


def sentences(view: View, context: PageContext, language: str) -> None:
    """The sentences of the text with their translations; a click chooses the one that is looked at."""
    found = view.sentences
    if len(found) < 2 and view.split:
        return
    chosen = min(view.sentence, len(found) - 1)
    with st.container(key="sentences", gap=None):
        if view.split:
            others = iter(context.analysis.other_translations)
            for number, sentence in enumerate(found):
                said = context.analysis.translation if number == chosen else next(others)
                with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                    st.button(
                        f"{number + 1}",
                        key=f"sentence {number + 1}",
                        type="primary" if number == chosen else "secondary",
                        help="Look at this sentence",
                        on_click=session.change,
                        kwargs={"sentence": number},
                    )
                    decoding_texts.pair(sentence, "…" if view.guess else said, language, number == chosen)
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            site_texts.label(decoding_texts.sentences(view, context.analysis))
            other = "Read as one sentence" if view.split else "Split into sentences"
            st.button(other, key="split", type="tertiary", on_click=session.change, kwargs={"split": not view.split})


def hides_tokens(context: PageContext) -> bool:
    """True while the visitor guesses the next tokens, which other panels would show."""
    return context.view.guess and context.analysis.task.has_decoder


def shows_decoding(context: PageContext) -> bool:
    """True if the lower part of the page shows how tokens are chosen."""
    return context.view.show == "decoding" and not hides_tokens(context)


GUESSING = Panel("translate.guessing", "Guessing", controls=_draw_guessing, is_visible=hides_tokens)
OWN_TARGET = Panel("translate.target", "Your own target", controls=_draw_own_target, is_visible=shows_decoding)
STRATEGY = Panel("translate.strategy", "How tokens are chosen", controls=_draw_strategy, is_visible=shows_decoding)


def _bits(context: PageContext) -> np.ndarray:
    return -context.analysis.trace.token_log_probs / np.log(2)


def _expected(context: PageContext) -> list[tuple[str, float] | None]:
    """Returns for each step the more probable token and its probability, or None."""
    trace, tokenizer = context.analysis.trace, context.loaded.target_tokenizer
    better = better_candidates(trace.log_probs, trace.outputs.ids)
    return [each and (tokenizer.piece(each.id).removeprefix("·") or "·", each.probability) for each in better]


def _text(context: PageContext, result: Any) -> str:
    analysis = context.analysis
    own = cache.analyse(dataclasses.replace(context.request, target=None), context.view.device)
    return decoding_texts.surprise(
        _bits(context),
        analysis.trace.outputs.labels,
        _expected(context),
        (analysis.log_prob, own.log_prob),
        analysis.task.output_noun,
        analysis.prompt_length,
        analysis.score_label,
    )


def _figure(context: PageContext, result: Any) -> go.Figure:
    labels = context.analysis.trace.outputs.labels
    return surprise_chart(labels, _bits(context), _expected(context), context.mode, SURPRISE_HEIGHT)


SURPRISE = Panel(
    "translate.surprise",
    "Surprise of each token",
    figure=_figure,
    reads=(),
    text=_text,
    is_visible=lambda context: context.view.target is not None and shows_decoding(context),
    pictures=(Picture(""),),
)
