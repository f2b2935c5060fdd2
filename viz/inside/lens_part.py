"""Inside, logit lens: what would each decoder layer say at this step?"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import streamlit as st

from model.config import MAX_TOKENS
from model.inference.request import Request
from model.io import numbers
from viz import cache, computations, theme
from viz.classroom import lecture
from viz.inside.inside_figures import LABELS, lens_map
from viz.kit import controls, mount, site_texts, terms
from viz.page_context import PageContext
from viz.state import session
from viz.state.result_cache import cached_figure
from viz.state.view import View

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from model.readings.logits.logit_lens import Lens
    from model.text.sentences import ClassLabels
    from model.text.tokenizer import Tokenizer
    from model.trace import Trace

SHOWN = 5
SMALL = 0.005  # a change of probability below this is not worth a line
CLICKED = "lens map"
SEEN, HALL = 10, 1.7  # in a lecture: steps in sight, and how many times as large they are drawn
STANDS = "the sentence contains it"
EMITTED = "it was given, drawn, or chosen by the beam"
HOW = {  # how the map is read, by the stack that speaks
    "decoder": "Each column is a step; each row is what the decoder would say if it ended after that layer, by the logits "
    "of its residual stream there. Written: the layer’s likeliest token, bold where it is the one that was emitted. Colour: "
    "how probable the layer finds the emitted token, whatever is written. Click a cell to go to its step.",
    "encoder": "Each column is a place in the sentence; each row is what the encoder would say of it if it ended after that "
    "layer, by the logits of its residual stream there. Written: the layer’s likeliest token, bold where it is the one that "
    "stands there. Colour: how probable the layer finds the token that stands there. Click a cell to go to its place.",
    "judged": "Each row is how the model would judge the text if it ended after that layer: its residual streams there, "
    "pooled as at the end. Written: the layer’s likeliest label, bold where it is the one that the text gets. Colour: how "
    "probable the layer finds that label, whatever is written.",
}


def _how(trace: Trace) -> str:
    return "judged" if trace.classes else "encoder" if trace.outputs is None else "decoder"


def _unit(trace: Trace) -> str:
    """What each layer says: a token, or a label."""
    return "label" if trace.classes else "token"


def _step(view: View, trace: Trace) -> int:
    """The column that is looked at, from 0: a text that is judged has one."""
    return 0 if trace.classes else view.step


def draw(context: PageContext, view: View, mode: theme.Mode) -> None:
    """All layers at all steps, and the layers of the chosen step in full."""
    try:
        lens, trace = computations.lens(context.request, view.device), context.analysis.trace
    except ValueError as fault:
        site_texts.fault(str(fault))
        return
    tokenizer, step = context.loaded.output_vocabulary, _step(view, trace)
    layers = layer_names(len(lens.log_probs))
    site_texts.note(HOW[_how(trace)], *("decoder", "layer", "logit", "residual stream", "token"))
    says = _says(lens, tokenizer)
    figure = drawn(context.request, view.device, step, mode)
    with st.container(key="lens_map"):
        st.plotly_chart(
            figure,
            theme=None,
            key=CLICKED,
            on_select=_clicked,
            selection_mode="points",
            config=controls.chart_config("Logit lens"),
            alt=_alt(lens, trace, says),
        )
    labels = trace.predicted_axis.labels
    controls.step_slider(view, labels)
    pair = labels[step] if trace.inputs is None else f"{trace.inputs.labels[step]} → {labels[step]}"
    shown = table(lens, step, layers, tokenizer, pair, _unit(trace))
    site_texts.write(terms.first_space(shown))
    why = EMITTED if trace.outputs else STANDS
    echo = "" if trace.classes else _echo(lens, trace, context.loaded.config.tied_output)
    site_texts.note(f"{settled(lens, step, labels[step], why, _unit(trace))} {echo}".strip())
    site_texts.note(care(context.loaded.config.final_norm, bool(trace.classes)))


def large(context: PageContext) -> None:
    """As many steps around the chosen one as are read from afar, and what became of its token; steps are turned by key."""
    view, mode = context.view, context.mode
    try:
        lens, trace = computations.lens(context.request, view.device), context.analysis.trace
    except ValueError as fault:
        site_texts.fault(str(fault))
        return
    labels, step = trace.predicted_axis.labels, _step(view, trace)
    first, end = window(len(labels), step)
    why = EMITTED if trace.outputs else STANDS
    some = "" if end - first == len(labels) else f" Steps {first + 1} to {end} of {len(labels)}."
    site_texts.note(f"Written: what each layer would say. Colour: how probable it finds the {_unit(trace)} below.{some}")
    site_texts.write(f'<p class="lab-large">{html.escape(settled(lens, step, labels[step], why, _unit(trace)))}</p>')
    with lecture.chart_container(HALL):
        figure = drawn(context.request, view.device, step, mode, (first, end))
        alt = _alt(lens, trace, _says(lens, context.loaded.output_vocabulary))
        lecture.draw_chart("Logit lens", CLICKED, figure, alt, on_select=_clicked, selection_mode="points")


def window(steps: int, step: int) -> tuple[int, int]:
    """The steps that are in sight together with one, from 0 to before the last: all pages have as many."""
    first = min(step // SEEN * SEEN, max(0, steps - SEEN))
    return first, min(steps, first + SEEN)


@cached_figure
def drawn(request: Request, device: str, step: int, mode: theme.Mode, in_sight: tuple[int, int] | None = None) -> go.Figure:
    """All layers at all steps, one of which is chosen; steps count from 0. `in_sight`: in a lecture, which of them."""
    lens, steps = computations.lens(request, device), cache.analyse(request, device).trace.predicted_axis.labels
    says = _says(lens, cache.checkpoint(request.checkpoint, device).output_vocabulary)
    names = layer_names(len(says))
    if in_sight is None:
        return lens_map(lens.probability, says, lens.rank, names, steps, step, mode)
    row = (lecture.chart_height(560, HALL) - LABELS) // len(names)
    return lens_map(lens.probability, says, lens.rank, names, steps, step, mode, lecture.chart_width(HALL), row, in_sight)


def care(final_norm: bool, judges: bool = False) -> str:
    """Why early rows are to be read with care, as a sentence."""
    if judges:
        norm = "the last norm, " if final_norm else ""
        return f"Read early rows with care: {norm}the pooler and the classifier were trained for the last layer alone."
    what, them = ("the last norm and the projection were", "them") if final_norm else ("the projection was", "it")
    return f"Read early rows with care: {what} trained for the last layer; none before it learned to speak through {them}."


def _says(lens: Lens, tokenizer: Tokenizer | ClassLabels) -> list[list[str]]:
    """The likeliest token, or label, of every layer at every step."""
    return [[tokenizer.pieces([int(token)])[0] for token in row] for row in lens.top]


def layer_names(rows: int) -> list[str]:
    """What each row of the lens is read after."""
    return ["embedding", *(f"layer {n}" for n in range(1, rows))]


def settled(lens: Lens, step: int, label: str, why: str = EMITTED, unit: str = "token") -> str:
    """From which layer on the emitted token, or label, is the likeliest, as a sentence; `why` it may be there where it is
    not."""
    first = [rank == 1 for rank in lens.rank[:, step]]
    if not first[-1]:
        return f"“{label}” is not what the last layer finds likeliest: {why}."
    since = max((layer for layer, leads in enumerate(first) if not leads), default=-1) + 1
    names, last = layer_names(len(first)), since == len(first) - 1
    before = [
        f"the {name}" if name == "embedding" else name for name, leads in zip(names[:since], first, strict=False) if leads
    ]
    if before:
        where = "after the last layer" if last else f"from {names[since]} on"
        return (
            f"“{label}” is the likeliest {unit} after {' and '.join(before)} already, is overtaken, and leads again {where}."
        )
    where = "only after the last layer" if last else "from the embedding on" if since == 0 else f"from {names[since]} on"
    return f"“{label}” is the likeliest {unit} {where}."


def _echo(lens: Lens, trace: Trace, tied: bool) -> str:
    """How often the embedding just says what was read: with a tied table that is what it would do."""
    same = sum(int(said) == read for said, read in zip(lens.top[0], (trace.inputs or trace.predicted_axis).ids, strict=True))
    why = ", because the projection is the same table as the embedding" if tied and same > len(lens.ids) / 2 else ""
    noun, read = ("step", "just read") if trace.outputs else ("place", "that stands there")
    steps = f"1 {noun}" if len(lens.ids) == 1 else f"{len(lens.ids)} {noun}s"
    return f"Before the first layer, the likeliest token is the one {read} at {same} of {steps}{why}."


def table(
    lens: Lens, step: int, layers: list[str], tokenizer: Tokenizer | ClassLabels, pair: str, unit: str = "token"
) -> str:
    """Every layer at one step: its likeliest tokens, the emitted token's place, and what the layer changed; as markup."""
    emitted, change, entropy = lens.ids[step], lens.change(step), lens.entropy(step)
    rows = []
    for layer, name in enumerate(layers):
        likeliest = lens.best(layer, step, SHOWN)
        best = "".join(_candidate(tokenizer.piece(c.id), c.probability, c.id == emitted) for c in likeliest)
        kl, moved = (f"{change[layer - 1]:.2f}", _moves(lens, layer, step, tokenizer)) if layer else ("", "")
        rows.append(
            f'<tr><th scope="row">{name}</th>{best}<td class="n">{lens.rank[layer, step]:,}</td>'
            f'<td class="n">{lens.probability[layer, step]:.4f}</td><td class="n">{entropy[layer]:.2f}</td>'
            f'<td class="n">{kl}</td><td class="moves">{moved}</td></tr>'
        )
    token = f'<span class="lab-mono">{html.escape(tokenizer.piece(emitted))}</span>'
    kl = "Kullback-Leibler divergence of what is said after the layer from what was said before it, in nats"
    where, wide = "Label" if unit == "label" else f"Step {step + 1}", min(SHOWN, lens.log_probs.shape[-1])
    return (
        f'<div class="lab-scroll" tabindex="0" role="region" aria-label="Layers at this step"><table class="lab-lens">'
        f'<caption>{where}, <span class="lab-mono">{html.escape(pair)}</span></caption>'
        f'<thead><tr><th scope="col">after</th><th scope="colgroup" colspan="{wide}">likeliest {unit}s</th>'
        f'<th scope="col" class="n">rank of {token}</th><th scope="col" class="n">its probability</th>'
        f'<th scope="col" class="n">entropy, nats</th><th scope="col" class="n" title="{kl}">KL, nats</th>'
        f'<th scope="col" class="moves">most gained, most lost</th></tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    )


def _candidate(piece: str, probability: float, emitted: bool) -> str:
    name = "token emitted" if emitted else "token"
    return (
        f'<td class="{name}"><div><span class="lab-mono">{html.escape(piece)}</span><small>{probability:.2f}</small></div>'
        f'<i style="width:{100 * probability:.0f}%"></i></td>'
    )


def _moves(lens: Lens, layer: int, step: int, tokenizer: Tokenizer | ClassLabels) -> str:
    parts = []
    for hue, found in zip(("gain", "loss"), lens.moves(layer, step), strict=True):
        for move in found:
            if abs(move.after - move.before) < SMALL:
                continue
            token = html.escape(tokenizer.piece(move.id))
            change = numbers.with_sign(move.after - move.before)
            parts.append(f'<div><span class="lab-mono">{token}</span><b class="{hue}">{change}</b></div>')
    return "".join(parts) or "nothing"


def _alt(lens: Lens, trace: Trace, says: list[list[str]]) -> str:
    rows = (f"after {name}: {' '.join(row)}" for name, row in zip(layer_names(len(says)), says, strict=True))
    where = "" if trace.classes else f" at {len(trace.predicted_axis)} steps"
    return f"Likeliest {_unit(trace)} of every layer{where}. {'; '.join(rows)}."


def _clicked() -> None:
    step = mount.clicked_number(CLICKED, "x", 0, MAX_TOKENS - 1)
    if step is not None:
        session.change(step=step)
