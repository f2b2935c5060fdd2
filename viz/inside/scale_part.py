"""Why sqrt(d_k)? The effect of the division on random vectors and on the heads of this checkpoint."""

from __future__ import annotations

import html
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from model.export.csv_tables import Cell, Table
from model.io import numbers
from model.trace import Site
from viz import computations, theme
from viz.inside import one_head
from viz.inside.inside_figures import scaling_chart
from viz.kit import site_texts
from viz.kit.panel import Panel, Picture, where
from viz.page_context import PageContext
from viz.state import navigation, session

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from model.export.code import Code
    from model.readings.stages.scaling import Scaling
    from viz.computations import Call

PART = {"part": "scale"}
CHARTS = {
    "variance": ("Variance of a query’s scores", "Random vectors: d_k without the division, 1 with it; dotted: the theory."),
    "largest": (
        "Largest weight of its row",
        "Without the division, wide heads end up on a single key; dotted: an even row.",
    ),
    "gradient": ("Gradient through the softmax", "Frobenius norm of diag(p) − p pᵀ. Dotted: an even row."),
}
NUMBERS = {
    "variance": "variance",
    "largest": "largest weight",
    "entropy": "entropy, nats",
    "gradient": "Frobenius norm",
    "spectral": "spectral norm",
}
NORMS = {"gradient": "Frobenius", "spectral": "spectral"}
CODE = "scaling-off"
TITLE = "The same queries and keys, divided and not"


def _call(context: PageContext) -> Call:
    return computations.SCALING(one_head.site(context))


def _random(context: PageContext, own: Scaling) -> Scaling:
    """Returns the scaling of random vectors over as many keys as the heads have."""
    return computations.random_scaling(max(2, own.keys), context.loaded.config.head_dim)


def _figure(name: str, context: PageContext, own: Scaling) -> go.Figure:
    site, random = one_head.site(context), _random(context, own)
    return _chart(random, own, name, site, context.view.head, context.mode)


def _alt(name: str, context: PageContext, own: Scaling) -> str:
    told = compared(_random(context, own), own, name, one_head.site(context), context.view.head)
    return f"{CHARTS[name][0]} against d_k. {told}"


def _chart_text(name: str, context: PageContext, own: Scaling) -> str:
    title, how = CHARTS[name]
    return f'<h2 class="lab-label">{title}</h2>{site_texts.note_markup(how)}'


def _large_chart_text(name: str, context: PageContext, own: Scaling) -> str:
    title, how = CHARTS[name]
    return f'<h2 class="lab-large-title">{title}</h2>{site_texts.note_markup(how)}{_legend(context, own)}'


def _legend(context: PageContext, own: Scaling) -> str:
    """Returns the meaning of lines and dots, in words and in signs."""
    hue, page = theme.HUES[one_head.site(context).kind], theme.PALETTES[context.mode].page
    dots = "".join(
        f'<i style="border-color:{hue};background:{fill}"></i>{how}'
        for fill, how in ((hue, "divided"), (page, "not divided"))
    )
    framed = "" if context.view.head is None else ", the chosen one framed"
    return (
        '<p class="lab-note lab-signs"><b class="solid"></b>random vectors, divided by √dₖ <b class="dashed"></b>not'
        f"<span>{dots}: the {len(own.widths)} heads of this layer on this sentence{framed}</span></p>"
    )


def _numbers_text(context: PageContext, own: Scaling, is_large: bool = False) -> str:
    """Returns the table of numbers with the answer beside it, in lecture mode below the answer."""
    head, width, site = context.view.head, context.loaded.config.head_dim, one_head.site(context)
    numbers_of = table(_random(context, own), own, site, head, width)
    answer, about = measured(own, site, head), trained(own) if own.queries else ""
    if is_large:
        title = f'<h2 class="lab-large-title">{TITLE}</h2><p class="lab-large">{html.escape(answer)}</p>'
        return f"{title}{numbers_of}{site_texts.note_markup(about)}"
    return (
        f'<h2 class="lab-label lab-rule">{TITLE}</h2><div class="lab-two">{numbers_of}'
        f"<div>{site_texts.answer_markup(answer, about) if about else site_texts.note_markup(answer)}</div></div>"
    )


def _full_model(context: PageContext, own: Scaling) -> None:
    """Draws a button that removes the division from the full model, or the effect of that edit."""
    analysis, view = context.analysis, context.view
    if view.intervention.scaling:
        label = f"Leave it out in the whole model, and {analysis.task.action_label.lower()} again"
        st.button(label, key="scaling off", type="tertiary", on_click=_leave_out)
        return
    site_texts.note("The division is left out in the whole model, by the edit above: q and k come from that run.")
    if analysis.baseline is not None:
        site_texts.verdict(analysis)
        if view.mode == "again":
            site_texts.both_translations(analysis, context.loaded)


def _leave_out() -> None:
    session.change(mode="again")
    navigation.toggle_edit(CODE)


def _tables(context: PageContext, own: Scaling) -> tuple[Table, ...]:
    site = one_head.site(context)
    rows: list[tuple[Cell, ...]] = [
        (head + 1, how, *(float(getattr(values, field)[head]) for field in NUMBERS))
        for head in range(len(own.widths))
        for how, values in (("divided", own.divided), ("not divided", own.undivided))
    ]
    return (Table(f"scaling-{site.spec.code}-{site.layer + 1}", ("head", "scores", *NUMBERS), tuple(rows)),)


def _code(code: Code, context: PageContext, own: Scaling) -> None:
    code.add("divided, undivided = result.divided, result.undivided", "variance, largest, entropy, gradient, spectral: [H]")


def _chart(random: Scaling, own: Scaling, name: str, site: Site, chosen: int | None, mode: theme.Mode) -> go.Figure:
    ones, even = np.ones(len(random.widths)), f"even over {random.keys} keys"
    theory = {
        "variance": [(np.array(random.widths, dtype=float), "theory: d_k"), (ones, "theory: 1")],
        "largest": [(ones / random.keys, f"{even}: {numbers.probability(1 / random.keys)}")],
        "gradient": [(ones * random.even_gradient, f"{even}: {numbers.three_digits(random.even_gradient)}")],
    }
    return scaling_chart(
        random.widths,
        getattr(random.divided, name),
        getattr(random.undivided, name),
        own.widths[0],
        (getattr(own.divided, name), getattr(own.undivided, name)),
        chosen,
        site,
        mode,
        theory[name],
        logarithmic=name == "variance",
    )


def formatted(field: str, value: float) -> str:
    """Returns one of the `NUMBERS`; a weight has two decimals, if a query has keys to weigh."""
    return numbers.probability(value) if field == "largest" and np.isfinite(value) else numbers.three_digits(value)


def _cell(field: str, value: float) -> str:
    """Returns one of the `NUMBERS` as markup."""
    is_weight = field == "largest" and np.isfinite(value)
    return site_texts.probability_markup(value) if is_weight else numbers.three_digits(value)


def of_head(values: np.ndarray, head: int | None) -> float:
    """The number of a head, or the mean over heads where `head` is None; nan where no query sees two keys."""
    return float(values.mean() if head is None else values[head])


def compared(random: Scaling, own: Scaling, name: str, site: Site, chosen: int | None) -> str:
    """A chart in words."""
    at = random.widths.index(own.widths[0])
    pairs = [getattr(each, name) for each in (random.divided, random.undivided)]
    heads = [of_head(getattr(each, name), chosen) for each in (own.divided, own.undivided)]
    return (
        f"Random vectors at d_k {own.widths[0]}: {formatted(name, pairs[0][at])} divided, "
        f"{formatted(name, pairs[1][at])} not; "
        f"{site.head_name(chosen)}: {formatted(name, heads[0])} divided, {formatted(name, heads[1])} not."
    )


def measured(own: Scaling, site: Site, chosen: int | None) -> str:
    """Says what leaving the division out does to a head; two norms of the Jacobian, which need not agree."""
    if not own.queries:
        return "No query here sees two keys: a softmax over one key is 1, divided or not."
    before, after = (of_head(each.largest, chosen) for each in (own.divided, own.undivided))
    kept = [f"{_share(own, name, chosen)} of its {norm} norm" for name, norm in NORMS.items()]
    return (
        f"{site.head_name(chosen)}: without the division, the largest weight goes from {numbers.probability(before)} to "
        f"{numbers.probability(after)} (mean of {own.queries} queries). The softmax’s Jacobian has {' and '.join(kept)}."
    )


def _share(own: Scaling, name: str, chosen: int | None) -> str:
    """A norm without the division, as a share of the norm with it."""
    before, after = (of_head(getattr(each, name), chosen) for each in (own.divided, own.undivided))
    return f"{after / before if before > 0 else 1.0:.0%}"


def trained(own: Scaling) -> str:
    """Returns how a trained model differs, as a sentence."""
    values = own.divided.variance[np.isfinite(own.divided.variance)]
    low, high = numbers.three_digits(values.min()), numbers.three_digits(values.max())
    who = f"the scores of these {len(values)} heads have variances from {low} to {high}"
    if len(values) == 1:
        who = f"the scores of this head have a variance of {low}"
    return (
        f"A trained head’s q and k are not random: even divided, {who}, not 1. The division settles where training starts, "
        "not how sharply a head looks in the end."
    )


def table(random: Scaling, own: Scaling, site: Site, chosen: int | None, width: int) -> str:
    """The numbers with and without the division, as markup."""
    at = random.widths.index(width)
    rows = []
    for who, pick, pair in (
        (f"random, d_k {width}", lambda values: float(values[at]), (random.divided, random.undivided)),
        (site.head_name(chosen), lambda values: of_head(values, chosen), (own.divided, own.undivided)),
    ):
        for each, how in zip(pair, ("divided", "not divided"), strict=True):
            cells = "".join(f"<td>{_cell(field, pick(getattr(each, field)))}</td>" for field in NUMBERS)
            rows.append(f'<tr><th scope="row">{html.escape(who)}</th><td class="how">{how}</td>{cells}</tr>')
    head = "".join(f'<th scope="col">{text}</th>' for text in NUMBERS.values())
    return (
        '<div class="lab-scroll" tabindex="0" role="region" aria-label="Numbers"><table class="lab-numbers"><thead>'
        f"<tr><td></td><td></td>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _chart_panel(name: str, title: str) -> Panel:
    return Panel(
        f"inside.{name}",
        CHARTS[name][0],
        figure=partial(_figure, name),
        alt=partial(_alt, name),
        call=_call,
        text=partial(_chart_text, name),
        is_visible=where(**PART),
        pictures=(Picture(title, fields=PART, text=partial(_large_chart_text, name), height=500),),
        bar=one_head.draw_site_bar,
        reads=("kind", "layer", "head"),
    )


LEGEND = Panel("inside.legend", "Legend", call=_call, text=_legend, is_visible=where(**PART))
VARIANCE = _chart_panel("variance", "√dₖ: variance")
LARGEST = _chart_panel("largest", "√dₖ: largest weight")
GRADIENT = _chart_panel("gradient", "√dₖ: gradient")
SCALING_NUMBERS = Panel(
    "inside.scaling",
    TITLE,
    call=_call,
    text=_numbers_text,
    details=_full_model,
    tables=_tables,
    code=_code,
    is_visible=where(**PART),
    pictures=(Picture("√dₖ: numbers", fields=PART, text=partial(_numbers_text, is_large=True)),),
    bar=one_head.draw_site_bar,
)
