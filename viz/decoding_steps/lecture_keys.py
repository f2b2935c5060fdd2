"""The keys of the first page in lecture mode, and the line of the bar that names layer and head."""

from __future__ import annotations

from typing import Any

from model.decoding.strategy import STRATEGIES
from model.inference.source_reading import blank_positions
from viz.classroom import lecture
from viz.decoding_steps import decoding_controls, decoding_texts, timeline
from viz.kit import site_texts
from viz.page_context import PageContext
from viz.state import session


def draw_fact(context: PageContext, result: Any, more: str = "") -> None:
    """Draws layer and head in the bar, and `more` as markup behind them."""
    name = context.view.head_names(context.analysis.trace.kinds)
    site_texts.write(f'<p class="lab-hall-fact">{name}{more}</p>', inline=True)


def add_keys(context: PageContext, result: Any) -> None:
    """Adds the keys of all pictures of the page. Each text says what the key does now."""
    view, analysis, task = context.view, context.analysis, context.analysis.task
    if task.has_decoder:
        _add_decoding_keys(context)
    elif not task.is_classifier and blank_positions(analysis, context.loaded):
        does = "show the words" if view.guess else "guess first"
        lecture.add_key(lecture.PREDICT, does, _toggle_guess, quiet=True)
    if view.split and (count := len(view.sentences)) > 1:
        number = (view.sentence + 1) % count
        does = f"sentence {number + 1} of {count}"
        lecture.add_key(lecture.SENTENCE, does, lambda: session.change(sentence=number), quiet=True)


def add_step_keys(context: PageContext, result: Any) -> None:
    """Adds the keys of the picture with the steps and their candidates."""
    task = context.analysis.task
    takes = "choose another candidate, and go on with it" if task.has_decoder else "choose a candidate for a blank"
    lecture.list_component_keys("↑ ↓, Enter", takes)
    lecture.list_component_keys("space", "play the steps, and stop")
    add_keys(context, result)


def _add_decoding_keys(context: PageContext) -> None:
    view, key, change = context.view, lecture.add_key, session.change
    key(lecture.PREDICT, "show the candidates" if view.guess else "predict first", _toggle_guess, quiet=True)
    mode = "again" if view.mode == "given" else "given"
    how = "decode again" if mode == "again" else f"keep the {context.analysis.task.output_noun} as given"
    key(lecture.MODE, f"{how} under the edits", lambda: change(mode=mode))
    rows = _next(tuple(timeline.ROWS), view.rows)
    key(lecture.ROWS, f"rows: {timeline.ROWS[rows][0].lower()}", lambda: change(rows=rows), quiet=True)
    if view.target is not None:
        return
    if view.is_random:
        does = f"draw again, with seed {decoding_controls.next_seed(view)}"
        key(lecture.AGAIN, does, decoding_controls.draw_again, quiet=True)
    chosen = _next(tuple(STRATEGIES), view.strategy)
    title = decoding_texts.strategy_title(chosen).lower()
    key(lecture.CHOSEN_BY, f"tokens chosen by: {title}", lambda: _choose_strategy(chosen, title), quiet=True)


def _choose_strategy(name: str, title: str) -> str:
    session.change(strategy=name)
    return f"Tokens are chosen by {title}. {lecture.TREE.key} shows the tree of paths."


def _toggle_guess() -> None:
    session.change(guess=not session.current_view().guess)


def _next(names: tuple[str, ...], current: str) -> str:
    return names[(names.index(current) + 1) % len(names)] if current in names else names[0]
