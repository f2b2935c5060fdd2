"""The panel of the leak test: does a masked position change anything?"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import streamlit as st

from viz import computations
from viz.kit import site_texts
from viz.kit.panel import Panel
from viz.page_context import PageContext
from viz.state import session

if TYPE_CHECKING:
    from model.experiments.leaks import LeakReport

TESTS = {  # by family
    "encoder-decoder": "Changes each token that the decoder reads, then what stands in the padding, and watches every "
    "residual stream: nothing before a changed token may move, and padding may move no real token.",
    "decoder-only": "Changes each token that the decoder reads, and watches every residual stream: nothing before a changed "
    "token may move.",
    "encoder-only": "Changes what stands in the padding, and watches every residual stream: padding may move no real token. "
    "Later tokens may be seen: an encoder has no causal mask.",
}


def _draw(context: PageContext, result: None) -> None:
    """Draws the switch of the test, and its report if it is on."""
    test = site_texts.note_markup(TESTS[context.analysis.task.family], "residual stream")
    site_texts.write(f'<h2 class="lab-label lab-rule">Is the mask right?</h2>{test}')
    if not st.toggle("Test it, under the edits above", key="leak test", on_change=session.mark_user_event):
        return
    try:
        leak_report(computations.leak_test(context.request, context.view.device))
    except ValueError as fault:
        site_texts.fault(str(fault))


def _through(report: LeakReport, kind: str, what: str) -> None:
    """Writes the heads of a kind of attention that look at what they must not see, if there are any."""
    found = [(site, head, weight) for site, head, weight in report.heads if site.kind == kind]
    if not found:
        return
    every = len(found) == sum(len(weights) for site, weights in report.max_forbidden_weight.items() if site.kind == kind)
    named = [f"layer {site.layer + 1}, head {head + 1} ({weight:.2f})" for site, head, weight in found[:6]]
    more = f" and {len(found) - 6} more" if len(found) > 6 else ""
    name = {"encoder": "encoder", "decoder": "decoder", "cross": "cross-attention"}[kind]
    said = f"all {len(found)} heads" if every else f"{'; '.join(named)}{more}"
    site_texts.note(f"What looks at {what}, in the {name}: {said}.", warn=True)


def leak_report(report: LeakReport) -> None:
    """Writes what moved although it must not."""
    layers, steps = report.shift_by_changed_token.shape[:2]
    leaks = report.leaks
    if report.has_substitute_target:
        site_texts.note(f"The text is too short for the test: {steps - 1} other tokens stand in for it.")
    if not leaks:
        site_texts.note(f"No leak: changing any of {steps} tokens moves no position before it, at any of {layers} layers.")
    else:
        layer, j, i = min(leaks)
        site_texts.note(
            f"Leak: {len(leaks)} times an earlier position moves. First: changing “{report.labels[j]}” (position {j + 1}) "
            f"moves “{report.labels[i]}” (position {i + 1}) at decoder layer {layer + 1}, by "
            f"{report.shift_by_changed_token[layer, j, i]:.1%} of the largest entry.",
            warn=True,
        )
        _through(report, "decoder", "later tokens")
    if not report.padding_leaks:
        site_texts.note(
            f"No leak: what stands in {report.pads} padded positions moves no real token, in the encoder or the decoder."
        )
    else:
        stack, layer, _ = report.padding_leaks[0]
        places = len({(name, i) for name, _, i in report.padding_leaks})
        site_texts.note(f"Leak: padding moves {places} real positions, first at {stack} layer {layer + 1}.", warn=True)
        _through(report, "encoder", "padding")
        _through(report, "cross", "padding")
    rows = [
        f"<tr><th>{html.escape(label)}</th>"
        + "".join(_moved(report.first_layer(j, i), i < j) for i in range(steps))
        + "</tr>"
        for j, label in enumerate(report.labels)
        if j
    ]
    head = "".join(f"<th><span>{html.escape(label)}</span></th>" for label in report.labels)
    site_texts.write(
        '<details class="lab-details"><summary>Which position moves at which layer</summary>'
        "<p>A row: the token that was changed. A column: the position that moves, with the first layer at which it does; "
        "· does not move, a box must not.</p>"
        f'<div class="lab-scroll"><table><tr><td></td>{head}</tr>{"".join(rows)}</table></div></details>'
    )


def _moved(layer: int | None, forbidden: bool) -> str:
    shown = "·" if layer is None else layer + 1
    return f'<td class="{"bad" if layer is not None and forbidden else ""}">{shown}</td>'


LEAKS = Panel("what_if.leaks", "Is the mask right?", details=_draw, file=None)
