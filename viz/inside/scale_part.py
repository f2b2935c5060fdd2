"""Inside, why √d_k? What the division does, to random vectors and to the heads of this checkpoint."""

from __future__ import annotations

import dataclasses
import html
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from model.config import ModelConfig
from model.inference.request import Request
from model.io import numbers
from model.trace import Site
from viz import cache, computations, theme
from viz.classroom import lecture
from viz.inside.inside_figures import HEIGHT, scaling_chart
from viz.kit import controls, site_texts
from viz.page_context import PageContext
from viz.state import navigation, session
from viz.state.result_cache import cached_figure
from viz.state.view import View

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from model.readings.stages.scaling import Scaling

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
VIEWS = (*CHARTS, "numbers")  # in a lecture, one at a time
HALL = 1.7  # how many times as large a chart is drawn there


def draw(context: PageContext, view: View, mode: theme.Mode) -> None:
    """Three charts against d_k, with this layer's heads in them, and their numbers."""
    config = context.loaded.config
    layers = config.layers[view.kind]
    site = view.site_of(context.analysis.trace.sites(view.kind))
    shown = dataclasses.replace(view, layer=site.layer)
    _picks(shown, layers, config)
    if view.layer >= layers:
        site_texts.note(f"There is no layer {view.layer + 1} here: layer {layers} is shown.", warn=True)
    own = computations.scaling(context.request, view.device, site)
    random = _random(own, config.head_dim)
    chosen = view.head
    _legend(shown, own, mode)
    for column, name in zip(st.columns(3, gap="medium"), CHARTS, strict=True):
        with column:
            title, how = CHARTS[name]
            site_texts.write(f'<h2 class="lab-label">{title}</h2>')
            site_texts.note(how)
            figure = drawn(context.request, view.device, site, chosen, name, mode)
            alt = f"{title} against d_k. {compared(random, own, name, chosen)}"
            st.plotly_chart(figure, theme=None, key=f"scaling-{name}", config=controls.chart_config(title), alt=alt)
    site_texts.write('<h2 class="lab-label lab-rule">The same queries and keys, divided and not</h2>')
    left, right = st.columns([600, 400], gap="medium")
    with left:
        site_texts.write(table(random, own, site, chosen, config.head_dim))
    with right:
        site_texts.write(f'<div class="lab-answer">{html.escape(measured(own, chosen))}</div>')
        if own.queries:
            site_texts.note(trained(own))
        _whole_model(context, view)


def large(context: PageContext) -> None:
    """One of the charts, or the numbers, over the whole page."""
    view, context = context.view, context
    site = view.site_of(context.analysis.trace.sites(view.kind))
    own, chosen = computations.scaling(context.request, view.device, site), view.head
    random = _random(own, context.loaded.config.head_dim)
    lecture.add_walk_keys("the next chart, then the numbers", "the one before", _walk)
    number = lecture.picture(view, len(VIEWS))
    if number > len(CHARTS):
        site_texts.write('<h2 class="lab-large-title">The same queries and keys, divided and not</h2>')
        site_texts.write(f'<p class="lab-large">{html.escape(measured(own, chosen))}</p>')
        site_texts.write(table(random, own, site, chosen, context.loaded.config.head_dim))
        if own.queries:
            site_texts.note(trained(own))
        return
    name = list(CHARTS)[number - 1]
    title, how = CHARTS[name]
    site_texts.write(f'<h2 class="lab-large-title">{title}</h2>')
    site_texts.note(how)
    _legend(dataclasses.replace(view, layer=site.layer), own, context.mode)
    with lecture.chart_container(HALL):
        figure = drawn(context.request, view.device, site, chosen, name, context.mode, lecture.chart_height(480, HALL))
        lecture.draw_chart(title, f"scaling-{name}", figure, f"{title} against d_k. {compared(random, own, name, chosen)}")


def _walk(by: int) -> None:
    session.change(large=(lecture.picture(session.current_view(), len(VIEWS)) - 1 + by) % len(VIEWS) + 1)


@cached_figure
def drawn(
    request: Request, device: str, site: Site, chosen: int | None, name: str, mode: theme.Mode, height: int = HEIGHT
) -> go.Figure:
    """One chart, by its name, with a head framed; it counts from 0."""
    own = computations.scaling(request, device, site)
    random = _random(own, cache.checkpoint(request.checkpoint, device).config.head_dim)
    return _chart(random, own, name, chosen, site.kind, mode, height)


def _random(own: Scaling, width: int) -> Scaling:
    """Random vectors over as many keys as the heads have."""
    return computations.random_scaling(max(2, own.keys), width)


def _picks(view: View, layers: int, config: ModelConfig) -> None:
    with st.container(key="scale_picks", horizontal=True, vertical_alignment="center", gap="small"):
        controls.kind_pick(view, config.kinds)
        controls.layer_pick(view, layers)
        controls.head_pick(view, config.heads)


def _legend(view: View, own: Scaling, mode: theme.Mode) -> None:
    """What lines and dots are, in words and in signs."""
    hue, page = theme.HUES[view.kind], theme.PALETTES[mode].page
    dots = "".join(
        f'<i style="border-color:{hue};background:{fill}"></i>{how}'
        for fill, how in ((hue, "divided"), (page, "not divided"))
    )
    framed = "" if view.head is None else ", the chosen one framed"
    site_texts.write(
        '<p class="lab-note lab-signs"><b class="solid"></b>random vectors, divided by √dₖ <b class="dashed"></b>not'
        f"<span>{dots}: the {len(own.widths)} heads of this layer on this sentence{framed}</span></p>"
    )


def _chart(
    random: Scaling, own: Scaling, name: str, chosen: int | None, kind: str, mode: theme.Mode, height: int
) -> go.Figure:
    ones = np.ones(len(random.widths))
    theory = {
        "variance": [(np.array(random.widths, dtype=float), "theory: d_k"), (ones, "theory: 1")],
        "largest": [(ones / random.keys, f"even over {random.keys} keys: {1 / random.keys:.3f}")],
        "gradient": [(ones * random.even_gradient, f"even over {random.keys} keys: {random.even_gradient:.3f}")],
    }
    return scaling_chart(
        random.widths,
        getattr(random.divided, name),
        getattr(random.undivided, name),
        own.widths[0],
        (getattr(own.divided, name), getattr(own.undivided, name)),
        chosen,
        kind,
        mode,
        theory[name],
        logarithmic=name == "variance",
        height=height,
    )


def of_head(values: np.ndarray, head: int | None) -> float:
    """The number of a head, or the mean over heads where `head` is None; nan where no query sees two keys."""
    return float(values.mean() if head is None else values[head])


def compared(random: Scaling, own: Scaling, name: str, chosen: int | None) -> str:
    """A chart in words."""
    at = random.widths.index(own.widths[0])
    pairs = [getattr(each, name) for each in (random.divided, random.undivided)]
    heads = [of_head(getattr(each, name), chosen) for each in (own.divided, own.undivided)]
    return (
        f"Random vectors at d_k {own.widths[0]}: {numbers.compact(pairs[0][at])} divided, "
        f"{numbers.compact(pairs[1][at])} not; "
        f"{_who(chosen)}: {numbers.compact(heads[0])} divided, {numbers.compact(heads[1])} not."
    )


def measured(own: Scaling, chosen: int | None) -> str:
    """Says what leaving the division out does to a head; two norms of the Jacobian, which need not agree."""
    if not own.queries:
        return "No query here sees two keys: a softmax over one key is 1, divided or not."
    before, after = (of_head(each.largest, chosen) for each in (own.divided, own.undivided))
    kept = [f"{_share(own, name, chosen)} of its {norm} norm" for name, norm in NORMS.items()]
    return (
        f"Without the division, {_possessive(chosen)} largest weight goes from {before:.2f} to {after:.2f} (mean of "
        f"{own.queries} queries). The softmax’s Jacobian has {' and '.join(kept)}."
    )


def _share(own: Scaling, name: str, chosen: int | None) -> str:
    """A norm without the division, as a share of the norm with it."""
    before, after = (of_head(getattr(each, name), chosen) for each in (own.divided, own.undivided))
    return f"{after / before if before > 0 else 1.0:.0%}"


def trained(own: Scaling) -> str:
    """What is different in a trained model, as a sentence."""
    values = own.divided.variance[np.isfinite(own.divided.variance)]
    low, high = numbers.compact(values.min()), numbers.compact(values.max())
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
    name = f"{theme.SITE_NAMES[site.kind]} L{site.layer + 1}, {'mean' if chosen is None else _who(chosen)}"
    rows = []
    for who, pick, pair in (
        (f"random, d_k {width}", lambda values: float(values[at]), (random.divided, random.undivided)),
        (name, lambda values: of_head(values, chosen), (own.divided, own.undivided)),
    ):
        for each, how in zip(pair, ("divided", "not divided"), strict=True):
            cells = "".join(f"<td>{numbers.compact(pick(getattr(each, field)))}</td>" for field in NUMBERS)
            rows.append(f'<tr><th scope="row">{html.escape(who)}</th><td class="how">{how}</td>{cells}</tr>')
    head = "".join(f'<th scope="col">{text}</th>' for text in NUMBERS.values())
    return (
        '<div class="lab-scroll" tabindex="0" role="region" aria-label="Numbers"><table class="lab-numbers"><thead>'
        f"<tr><td></td><td></td>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _whole_model(context: PageContext, view: View) -> None:
    """The same left out in the whole model: a way to try it, and what came of it."""
    if view.intervention.scaling:
        st.button(
            f"Leave it out in the whole model, and {context.analysis.task.action_label.lower()} again",
            key="scaling off",
            type="tertiary",
            on_click=_leave_out,
        )
        return
    site_texts.note("The division is left out in the whole model, by the edit above: q and k come from that run.")
    base = context.analysis.baseline
    if base is not None:
        how = "again" if view.mode == "again" else "given"
        site_texts.verdict(context.analysis)
        if how == "again":
            site_texts.both_translations(context.analysis, context.loaded)


def _leave_out() -> None:
    session.change(mode="again")
    navigation.toggle_edit(CODE)


def _who(head: int | None) -> str:
    return "mean over heads" if head is None else f"head {head + 1}"


def _possessive(head: int | None) -> str:
    return "the heads’ mean" if head is None else f"head {head + 1}’s"
