"""A scheme of positions: its controls, and one of six figures of its numbers. It needs neither sentence nor checkpoint."""

from __future__ import annotations

import html
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import streamlit as st

from model.config import MAX_TOKENS, SCHEMES
from model.export.csv_tables import Cell, Table, grid_table
from viz import theme
from viz.classroom import lecture
from viz.kit import button_groups, charts, controls, lazy, site_texts
from viz.kit.panel import FileOptions, Panel, Picture
from viz.page_context import PageContext
from viz.positions import position_figures, position_texts
from viz.positions.schemes import Scheme, own_scheme, scheme_of, side_choice, training_lengths, with_scheme
from viz.state import session
from viz.state.page_fields import MAX_PE_SHIFT, PE_FIGURES
from viz.state.result_cache import cached_figure
from viz.state.view import View

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from model.export.code import Code
    from model.readings.positions.position_numbers import PositionNumbers

CHARTS = dict(zip(PE_FIGURES, ("Table", "Curves", "Similarity", "Distance", "Shift", "Error"), strict=True))
MOVED_BY = {  # the sliders of each figure
    "table": ("pe_count", "pe_pair"),
    "curves": ("pe_count", "pe_pair"),
    "similarity": ("pe_count",),
    "distance": ("pe_count", "pe_shift"),
    "shift": ("pe_shift", "pe_pair"),
    "residual": ("pe_count", "pe_shift"),
}
STRIPS = 4
WIDTHS = (8, 16, 32, 64, 128, 256, 512, 1024)
BASES = (2.0, 10.0, 100.0, 1000.0, 10_000.0, 100_000.0, 1_000_000.0)
COUNTS = (8, 16, 32, 64, 128, 256, 512)


def _pair(view: View, width: int) -> int:
    """Returns the chosen pair of dimensions; the last one if the width has fewer."""
    return min(view.pe_pair, width // 2 - 1)


# -- charts ------------------------------------------------------------------------------------------------------------


def strips(pair: int, width: int) -> tuple[int, ...]:
    """Returns the pairs with curves: the chosen one, and others in the first half of the table, whose waves are short."""
    spread = [round(n * (width // 4) / (STRIPS - 1)) for n in range(STRIPS)]
    if pair not in spread:
        spread[min(range(STRIPS), key=lambda n: abs(spread[n] - pair))] = pair
    return tuple(sorted({i for i in spread if i < width // 2}))


def _figure(
    scheme: Scheme, figure: str, found: PositionNumbers, pair: int, mode: theme.Mode, height: int
) -> go.Figure | None:
    """Returns a figure; None for a shift without two positions that far apart."""
    halves = SCHEMES[scheme.name].has_split_halves
    ends = (MAX_TOKENS, position_figures.LIMIT) if scheme.longest is None else (scheme.longest, position_figures.UNSEEN)
    if found.seen is not None:
        trained = found.seen if found.seen > 1 else found.rows  # no line if no row differs from random ones
        ends = (trained, "hardly moved") if found.trained is None else (found.trained, position_figures.UNSEEN)
    if figure == "table":
        return position_figures.table_map(found.values, pair, mode, *ends, halves, height)
    if figure == "curves":
        pairs = strips(pair, found.values.shape[1])
        names = [position_texts.strip(i, found) for i in pairs]
        return position_figures.curves(found.values, pairs, pair, names, mode, halves, height)
    if figure == "similarity":
        return position_figures.similarity_map(found.similarity, mode, *ends, height)
    if figure == "distance":
        ranges = found.mean, found.minimum, found.maximum
        return position_figures.distance_chart(*ranges, scheme.shift, mode, found.random_mean, height)
    if not len(found.residual):
        return None
    if figure == "shift":
        moved = found.rotated, found.reached
        return position_figures.shift_chart(found.values, *moved, pair, scheme.shift, mode, halves, height)
    return position_figures.residual_chart(found.residual, mode, height)


@cached_figure
def _chart_data(scheme: Scheme, figure: str, pair: int, mode: theme.Mode, is_large: bool) -> dict[str, Any]:
    """Returns the data of a figure, with its answer."""
    found = scheme.numbers()
    title, answer, how = position_texts.reading(scheme.name, figure, scheme.shift, found, pair)
    height = position_figures.LARGE_HEIGHT if is_large else position_figures.HEIGHT
    drawn = _figure(scheme, figure, found, pair, mode, height)
    return charts.payload([charts.Chart(title, how, drawn)]) | {"answer": answer}


def figure_of(view: View) -> str:
    """Returns the name of the visible figure: that of the large picture in lecture mode, else that of the view."""
    number = view.large - 1 if view.lecture else len(CHARTS)
    return list(CHARTS)[number] if number < len(CHARTS) else view.pe_figure


def _payload(context: PageContext, scheme: Scheme | str) -> dict[str, Any]:
    if isinstance(scheme, str):
        return charts.payload(())
    pair = _pair(context.view, scheme.numbers().values.shape[1])
    return _chart_data(scheme, figure_of(context.view), pair, context.mode, context.view.lecture)


# -- controls and texts ------------------------------------------------------------------------------------------------


def _names(view: View) -> list[str]:
    """Returns the schemes to choose from."""
    shown = own_scheme(view), view.scheme
    return [name for name, scheme in SCHEMES.items() if not scheme.has_split_halves or name in shown]


def _controls(context: PageContext, scheme: Scheme | str) -> None:
    """Draws the choices of scheme, side and figure, and the sliders that move the figure; the others are in a popover."""
    view, own = with_scheme(context.view), own_scheme(context.view)
    names = {name: name.capitalize() + (" (this checkpoint)" if name == own else "") for name in _names(view)}
    groups = [button_groups.choice("Kind of positions", "scheme", names, view.scheme)]
    if SCHEMES[view.scheme].has_table:
        groups += side_choice(view)
    if isinstance(scheme, Scheme):
        groups.append(button_groups.choice("Figure", "pe_figure", CHARTS, view.pe_figure))
    button_groups.draw("positions.choices", groups)
    if isinstance(scheme, Scheme):
        _sliders(view, scheme)


def _limits(view: View, scheme: Scheme) -> list[tuple[str, bool]]:
    """Returns what is beyond the training and the table, each with True for a warning."""
    seen = training_lengths(view, scheme.checkpoint)
    return position_texts.limits(view, scheme.numbers(), scheme.checkpoint or view.scheme, seen)


def _sliders(view: View, scheme: Scheme) -> None:
    width = scheme.numbers().values.shape[1]
    name = "Width d_model" if SCHEMES[view.scheme].embedding_effect else "Head width d_k"
    formula = {"pe_width": (name, "pe width", WIDTHS, width), "pe_base": ("Base", "pe base", BASES, view.pe_base)}
    about = " ".join(text for text, warns in _limits(view, scheme) if not warns)
    sliders = {
        "pe_count": ("Positions", "pe count", COUNTS, view.pe_count, controls.plain_label(about)),
        "pe_shift": ("Shift k", "pe shift", range(MAX_PE_SHIFT + 1), view.pe_shift),
        "pe_pair": ("Dimension pair i", "pe pair", range(width // 2), _pair(view, width)),
        **({} if scheme.checkpoint else formula),
    }
    first = MOVED_BY[view.pe_figure]
    with st.container(key="pe_sliders", horizontal=True, gap="medium", vertical_alignment="bottom"):
        for field in first:
            _slider(field, *sliders.pop(field))
        named = ", ".join(label.lower().partition(" ")[0] for label, *_ in sliders.values())
        with lazy.popover(f"Options: {named}", "pe options") as is_open:
            if is_open:
                for field, options in sliders.items():
                    _slider(field, *options)


def _slider(field: str, label: str, key: str, options: Iterable[float], value: float, help: str | None = None) -> None:
    choices = sorted({*options, value})
    if len(choices) > 1:
        st.select_slider(label, options=choices, format_func=_number, help=help, **session.bind(key, field, value))


@lru_cache(1024)
def _number(value: float) -> str:
    return f"{value:,g}"


def _text(context: PageContext, scheme: Scheme | str) -> str:
    """Returns the answer of the figure, the formula, and warnings."""
    view = with_scheme(context.view)
    if isinstance(scheme, str):
        return f'{position_texts.formula(view.scheme)}<p class="lab-note warn">{html.escape(scheme)}</p>'
    warnings = "".join(site_texts.note_markup(text, warn=True) for text, warns in _limits(view, scheme) if warns)
    answer = html.escape(_payload(context, scheme)["answer"])
    return f'<p class="lab-note" role="status">{answer}</p>{position_texts.formula(view.scheme)}{warnings}'


def _large_text(context: PageContext, scheme: Scheme | str) -> str:
    if isinstance(scheme, str):
        return f'<p class="lab-note warn">{html.escape(scheme)}</p>'
    return f'<h2 class="lab-large-title">{html.escape(_payload(context, scheme)["answer"])}</h2>'


# -- lecture mode ------------------------------------------------------------------------------------------------------


def _next_scheme(view: View) -> str:
    view = with_scheme(view)
    names = _names(view)
    return names[(names.index(view.scheme) + 1) % len(names)]


def _bar(context: PageContext, scheme: Scheme | str) -> None:
    view = with_scheme(context.view)
    st.button(
        view.scheme.capitalize(),
        key="lecture scheme",
        help=f"The next kind of positions ({lecture.KIND.key})",
        on_click=session.change,
        kwargs={"scheme": _next_scheme(view)},
    )


def _keys(context: PageContext, scheme: Scheme | str) -> None:
    following = _next_scheme(context.view)
    lecture.add_key(lecture.KIND, "the next kind of positions", lambda: session.change(scheme=following), quiet=True)
    lecture.add_key(lecture.MORE, "shift by one more", lambda: _shift(1), quiet=True)
    lecture.add_key(lecture.LESS, "shift by one less", lambda: _shift(-1), quiet=True)
    if isinstance(scheme, Scheme):
        pairs = scheme.numbers().values.shape[1] // 2
        lecture.add_key(lecture.PAIR, "the next pair of dimensions", lambda: _next_pair(pairs), quiet=True)


def _shift(by: int) -> None:
    session.change(pe_shift=max(0, min(MAX_PE_SHIFT, session.current_view().pe_shift + by)))


def _next_pair(pairs: int) -> None:
    session.change(pe_pair=(min(session.current_view().pe_pair, pairs - 1) + 1) % pairs)


# -- numbers -----------------------------------------------------------------------------------------------------------


def _tables(context: PageContext, scheme: Scheme | str) -> tuple[Table, ...]:
    """Returns the encodings, and their similarity by distance."""
    if isinstance(scheme, str):
        return ()
    found = scheme.numbers()
    columns = [str(n) for n in range(found.values.shape[1])]
    table = grid_table(f"{scheme.name}-encodings", "position", map(str, range(len(found.values))), columns, found.values)
    rows: list[tuple[Cell, ...]] = [
        (distance, float(mean), float(low), float(high))
        for distance, (mean, low, high) in enumerate(zip(found.mean, found.minimum, found.maximum, strict=True))
    ]
    return table, Table(f"{scheme.name}-by-distance", ("distance", "mean", "least", "most"), tuple(rows))


def _code(code: Code, context: PageContext, scheme: Scheme | str) -> None:
    if isinstance(scheme, str):
        return
    module = "model__readings__positions__position_numbers"
    if scheme.checkpoint:
        name = "checkpoint"
        if scheme.checkpoint != context.view.checkpoint:
            name = "learned"
            code.load(scheme.checkpoint, context.view.device, name)
        code.add(
            f"table = learned_table({name}, {scheme.side!r})",
            model__readings__positions__sentence_positions=("learned_table",),
        )
        longest = f"{name}.corpus_stats and {name}.corpus_stats.lengths[{scheme.side!r}].max_length"
        line = f"numbers = learned_numbers(table, {scheme.count}, {scheme.shift}, {longest})"
        code.add(line, **{module: ("learned_numbers",)})
    else:
        arguments = f"{scheme.name!r}, {scheme.count}, {scheme.width}, {scheme.base!r}, {scheme.shift}"
        line = f"numbers = scheme_numbers({arguments})"
        code.add(line, "scheme, positions, width, base, shift", **{module: ("scheme_numbers",)})
    code.add("encodings, by_distance = numbers.values, numbers.mean")


SCHEME = Panel(
    "positions.scheme",
    "Positions",
    charts.COMPONENT,
    _payload,
    compute=lambda context: scheme_of(context.view),
    controls=_controls,
    text=_text,
    tables=_tables,
    code=_code,
    pictures=tuple(
        Picture(title, "", lambda context, scheme: {"large": 0}, (), {"pe_figure": name}, _large_text, number)
        for number, (name, title) in enumerate(CHARTS.items(), 1)
    ),
    bar=_bar,
    keys=_keys,
    file=FileOptions(),
    is_independent=True,
    is_cached=False,  # the table of another checkpoint may change; `_chart_data` is cached by the scheme
)
