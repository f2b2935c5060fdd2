"""The panel of the switchboard: the mask as a clickable matrix, all heads as clickable grids; a click toggles an edit.

Also the panel of the leak test: does a masked position change anything?
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from model.edits.intervention import Intervention
from model.edits.kinds import Ablate, BlockCells, Place
from model.edits.place import format_number
from model.export.csv_tables import Table
from model.io import numbers
from model.task import task_of_kinds
from model.trace import Trace
from viz import computations, theme
from viz.kit import lazy, mount, patterns, site_texts
from viz.kit.button_groups import Button, ButtonGroup
from viz.kit.panel import Panel, Picture
from viz.page_context import PageContext
from viz.state import navigation, session
from viz.state.result_cache import kept_with
from viz.what_if import edit_controls, what_if_texts
from viz.what_if.edit_controls import NAMES

if TYPE_CHECKING:
    from model.experiments.effects import HeadEffect
    from model.experiments.leak_report import LeakReport
    from model.export.code import Code
    from viz.computations import Call
    from viz.kit.mount import Event

WIDTH = 294  # px that the matrix may take


def payload(
    trace: Trace, effects: Sequence[HeadEffect], place: Place, intervention: Intervention, mode: theme.Mode
) -> dict[str, Any]:
    """Returns the pattern of a place, the mean over its layers and heads, its blocked cells, and the effects of heads.

    `effects` has those measured so far.
    """
    measured = {(each.site, each.head): each for each in effects}
    every = [measured.get((each.site, each.head), each) for each in unmeasured(trace)]
    sites = [site for site in trace.patterns if place.covers_layer(*site)]
    values = np.mean([trace.patterns[site][place.heads].mean(axis=0) for site in sites], axis=0)  # [T,S]
    return {
        "queries": patterns.queries(trace, sites[0]),
        "keys": patterns.keys(trace, sites[0]),
        "values": np.round(values.astype(float), 4).tolist(),
        "allowed": np.any([trace.mask(site, place.head) for site in sites], axis=0).astype(int).tolist(),
        "blocked": blocked(values.shape, place, intervention).astype(int).tolist(),
        "block": {"code": BlockCells.code_pattern(place), "every": format_number(None)},
        "scale": list(theme.scale(place.kind, mode)),
        "width": WIDTH,
        "scored": task_of_kinds(trace.kinds, trace.classes).score_label(bool(trace.blank_positions)),
        "grids": grids(every, intervention),
        "diverging": list(theme.diverging(mode)),
        "large": False,
        "title": place_text(place),
        "kind": place.kind,
        "kinds": [[kind, theme.SITE_NAMES[kind]] for kind in trace.kinds],
    }


def place_text(place: Place) -> str:
    """Returns the layers and heads of a place in words."""
    if place.layer is not None and place.head is not None:
        return place.text
    return f"{NAMES[place.kind]}, {'all layers' if place.layer is None else f'layer {place.layer + 1}'}"


def blocked(shape: tuple[int, ...], place: Place, intervention: Intervention) -> np.ndarray:
    """Returns the cells that an edit blocks at some head of the place: bool [T,S]."""
    cells = np.zeros(shape, dtype=bool)
    for edit in intervention.edits:
        if isinstance(edit, BlockCells) and edit.place.overlaps(place):
            rows, columns = (slice(None) if n is None else slice(n, n + 1) for n in (edit.query, edit.key))
            cells[rows, columns] = True
    return cells


@kept_with
def unmeasured(trace: Trace) -> tuple[HeadEffect, ...]:
    """Returns every head of a trace without a measured effect."""
    from model.experiments.effects import HeadEffect

    sites = [site for kind in trace.kinds for site in trace.sites(kind)]
    return tuple(HeadEffect(site, head, math.nan) for site in sites for head in range(len(trace.patterns[site])))


def grids(effects: Sequence[HeadEffect], intervention: Intervention) -> list[dict[str, Any]]:
    """Returns for each kind of site the effects of its heads, [layers][heads], None before they are measured.

    `off` is True for heads that are off, or their mean, now.
    """
    ablated = [edit.place for edit in intervention.edits if isinstance(edit, Ablate)]
    result = []
    for kind, name in NAMES.items():
        own = [e for e in effects if e.site.kind == kind]
        if not own:
            continue
        rows: dict[int, list[HeadEffect]] = {}
        for effect in own:
            rows.setdefault(effect.site.layer, []).append(effect)
        places = [[Place(kind, layer, e.head) for e in row] for layer, row in rows.items()]
        result.append(
            {
                "kind": kind,
                "name": name,
                "title": theme.SITE_NAMES[kind],
                "layers": [Ablate(Place(kind, layer)).code for layer in rows],
                "codes": [[e.edit.code for e in row] for row in rows.values()],
                "changes": [[_rounded(e.change) for e in row] for row in rows.values()],
                "off": [[any(place.overlaps(a) for a in ablated) for place in row] for row in places],
            }
        )
    return result


def _rounded(change: float) -> float | None:
    return None if math.isnan(change) else round(change, 4)


COMPONENT = mount.Component(
    __file__, '<div class="switchboard"></div>', picture="Mask and heads", term_names=("attention weight",)
)


Effects = Sequence["HeadEffect"]


def calls(context: PageContext) -> list[Call]:
    """Returns the computation of each kind of heads."""
    return [computations.HEAD_EFFECTS(kind) for kind in context.analysis.trace.kinds]


def measure(context: PageContext) -> Effects:
    """Returns the effects known so far, kind by kind. Measures the next kind if the visitor has seen its place."""
    effects: tuple[HeadEffect, ...] = ()
    for call in calls(context):
        is_known, request = computations.is_known(call, context), computations.request_of(call, context)
        if not is_known and not lazy.is_seen(BOARD.name, call, request):
            break
        effects += computations.run(call, context)
    return effects


def _measured(context: PageContext) -> Effects:
    """Returns the effects known so far, and mounts the place whose look starts the next kind."""
    effects = measure(context)
    waiting = (call for call in calls(context) if not computations.is_known(call, context))
    if call := next(waiting, None):
        lazy.has_been_seen(BOARD.name, call, computations.request_of(call, context))
    return effects


def _payload(context: PageContext, effects: Effects) -> dict[str, Any]:
    view, analysis = context.view, context.analysis
    return payload(analysis.trace, effects, view.place, analysis.request.intervention, context.mode)


def _events(context: PageContext, effects: Effects) -> dict[str, Event]:
    kinds = mount.one_of(context.analysis.trace.kinds)
    return {"toggle": (mount.text, navigation.toggle_edit), "kind": (kinds, lambda kind: session.change(kind=kind))}


def _large(context: PageContext, effects: Effects) -> dict[str, Any]:
    """Returns the heads of the shown kind of attention alone."""
    grids = _payload(context, effects)["grids"]
    name = NAMES[context.view.kind]
    return {"large": True, "grids": [grid for grid in grids if grid["name"] == name], "kinds": []}


def _tables(context: PageContext, effects: Effects) -> tuple[Table, ...]:
    rows = tuple((e.site.kind, e.site.layer + 1, e.head + 1, e.change, e.scored_tokens) for e in effects)
    return (Table("heads-off", ("attention", "layer", "head", "change_of_log_probability", "scored_tokens"), rows),)


def _code(code: Code, context: PageContext, effects: Effects) -> None:
    code.add("costs = result")


BOARD = Panel(
    "what_if.board",
    "Mask and heads",
    COMPONENT,
    _payload,
    _events,
    call=lambda context: computations.HEAD_EFFECTS(),
    compute=lambda context: tuple(effect for call in calls(context) for effect in computations.run(call, context)),
    tables=_tables,
    code=_code,
    is_visible=lambda context: any(context.view.place.covers_layer(*site) for site in context.analysis.trace.patterns),
    pictures=(Picture("Switches", data=_large, text=edit_controls.verdict, number=3),),
    measured=_measured,
    reads=("kind", "layer", "head", "scope"),
)


def verdict(context: PageContext) -> ButtonGroup:
    """Returns the effect of the edits as a sentence; without edits the head that matters most, with its switch."""
    if context.analysis.baseline is not None:
        return ButtonGroup("Effect", {}, "verdict", is_label_hidden=True, note=what_if_texts.verdict(context))
    if not BOARD.is_visible(context):
        return ButtonGroup("Effect", {})
    try:
        effects = measure(context)
    except ValueError:  # the panel says why
        return ButtonGroup("Effect", {})
    count = len(unmeasured(context.analysis.trace))
    if len(effects) < count:
        text = f"Which head matters most? Measuring: {len(effects)} of {count} …"
        return ButtonGroup("Effect", {}, "verdict", is_label_hidden=True, note=text)
    task = context.analysis.task
    text, most = what_if_texts.costliest_head(effects, task.score_label(bool(context.analysis.trace.blank_positions)))
    buttons = {"switch off": Button("Switch it off", partial(navigation.toggle_edit, most.edit.code))} if most else {}
    return ButtonGroup("Effect", buttons, "verdict", is_label_hidden=True, note=text)


TESTS = {  # by family
    "encoder-decoder": "Changes each token that the decoder reads, then what stands in the padding, and watches every "
    "residual stream: nothing before a changed token may move, and padding may move no real token. A longer text in the "
    "batch and the key-value cache must change nothing.",
    "decoder-only": "Changes each token that the decoder reads, and watches every residual stream: nothing before a changed "
    "token may move. A longer text in the batch and the key-value cache must change nothing.",
    "encoder-only": "Changes what stands in the padding, and watches every residual stream: padding may move no real token. "
    "A longer "
    "text in the batch must change nothing. Later tokens may be seen: an encoder has no causal mask.",
}


def _draw(context: PageContext, result: None) -> None:
    """Draws the switch of the test, and its report if it is on."""
    if not st.toggle(
        "Test whether the masks are right, under the edits above", key="leak test", on_change=session.mark_user_event
    ):
        return
    site_texts.note(TESTS[context.analysis.task.family], "residual stream")
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
    named = [f"{site.head_name(head)} ({numbers.probability(weight)})" for site, head, weight in found[:6]]
    more = f" and {len(found) - 6} more" if len(found) > 6 else ""
    name = {"encoder": "encoder", "decoder": "decoder", "cross": "cross-attention"}[kind]
    said = f"all {len(found)} heads" if every else f"{'; '.join(named)}{more}"
    site_texts.note(f"What looks at {what}, in the {name}: {said}.", warn=True)


def _batch_and_cache(report: LeakReport) -> None:
    """Writes whether a padded batch and the key-value cache change the results, as far as they were measured."""
    if leaks := report.batch_leaks:
        stack, layer, _ = leaks[0]
        first = "in the logits" if stack == "logits" else f"at {stack} layer {layer + 1}"
        places = len({(name, i) for name, _, i in leaks if name != "logits"})
        what = f"{places} real tokens" if places else "the logits"
        site_texts.note(f"Padded batch: a longer sentence moves {what}, first {first}.", warn=True)
        if not report.leaks:
            _through(report, "decoder", "padding")
        if not report.padding_leaks:
            _through(report, "encoder", "padding")
            _through(report, "cross", "padding")
    elif any(report.batch_pads):
        site_texts.note("Padded batch: a longer sentence moves no real token.")
    if differences := report.cache_differences:
        way, step = differences[0]
        count, steps = len({step for _, step in differences}), len(report.labels)
        far = report.shift_by_cache[way][step]
        text = f"Cache: {count} of {steps} steps differ from one full pass. First: step {step + 1}, by {far:.1%}."
        site_texts.note(text, warn=True)
    elif report.shift_by_cache:
        site_texts.note(f"Cache: all {len(report.labels)} steps equal one full pass, up to rounding.")
    elif report.no_cache:
        site_texts.note(f"Cache: not measured, {report.no_cache}.")


def leak_report(report: LeakReport) -> None:
    """Writes what moved although it must not."""
    layers, steps = report.shift_by_changed_token.shape[:2]
    leaks = report.leaks
    if report.has_substitute_target:
        site_texts.note(f"The text is too short for the test: {steps - 1} other tokens stand in for it.")
    if not leaks:
        site_texts.note(f"No leak: changing any of {steps} tokens moves no token before it, at any of {layers} layers.")
    else:
        layer, j, i = min(leaks)
        site_texts.note(
            f"Leak: {len(leaks)} times an earlier token moves. First: changing “{report.labels[j]}” (token {j + 1}) "
            f"moves “{report.labels[i]}” (token {i + 1}) at decoder layer {layer + 1}, by "
            f"{report.shift_by_changed_token[layer, j, i]:.1%} of the largest entry.",
            warn=True,
        )
        _through(report, "decoder", "later tokens")
    if not report.padding_leaks:
        site_texts.note(f"No leak: what stands in {report.pads} pads moves no real token, in the encoder or the decoder.")
    else:
        stack, layer, _ = report.padding_leaks[0]
        places = len({(name, i) for name, _, i in report.padding_leaks})
        site_texts.note(f"Leak: padding moves {places} real tokens, first at {stack} layer {layer + 1}.", warn=True)
        _through(report, "encoder", "padding")
        _through(report, "cross", "padding")
    _batch_and_cache(report)
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


LEAKS = Panel("what_if.leaks", "Test of the masks", details=_draw, file=None)
