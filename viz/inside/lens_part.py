"""Logit lens: the prediction after each decoder layer, or each sub-layer, at each step."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from model.config import MAX_TOKENS
from model.export.csv_tables import Cell, Table
from model.io import numbers
from viz import computations
from viz.classroom import lecture
from viz.inside.inside_figures import lens_map
from viz.kit import button_groups, charts, controls, mount, site_texts, terms
from viz.kit.button_groups import ButtonGroup
from viz.kit.panel import Panel, Picture, where
from viz.page_context import PageContext
from viz.state import session

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from model.config import ModelConfig
    from model.export.code import Code
    from model.readings.logits.direct_logits import Lens
    from model.text.sentences import ClassLabels
    from model.text.tokenizer import Tokenizer
    from model.trace import Trace
    from viz.state.view import View

PART = {"part": "lens"}
SHOWN = 5
SMALL = 0.005  # a change of probability below this is not worth a line
MAX_STEPS = 10  # visible steps in lecture mode
STANDS = "the sentence contains it"
EMITTED = "it was given, drawn, or chosen by the beam"
HOW = {  # how the map is read, by the stack that predicts; row: layer or sub-layer
    "decoder": "Each column is a step. Each row is what the decoder would say if it ended after that {row}. Written: the "
    "likeliest token there, bold where it is the emitted one. Colour: the probability of the emitted token there. Click a "
    "cell to go to its step.",
    "encoder": "Each column is a token of the sentence. Each row is what the encoder would say of it if it ended after that "
    "{row}. Written: the likeliest token there, bold where it is the one in the sentence. Colour: the probability of the "
    "token in the sentence. Click a cell to go to its token.",
    "judged": "Each row is how the model would judge the text if it ended after that {row}: its residual streams there, "
    "pooled as at the end. Written: the likeliest label there, bold where it is the one that the text gets. Colour: the "
    "probability of the label that the text gets.",
}
ROWS = {"layer": "By layer", "sublayer": "By sub-layer"}  # of LENS_ROWS
PARTS = {"self": "self-attention", "cross": "cross-attention", "ff": "feed-forward"}  # of a layer


def _how(trace: Trace) -> str:
    return "judged" if trace.classes else "encoder" if trace.outputs is None else "decoder"


def _unit(trace: Trace) -> str:
    """Returns the name of what each layer predicts: a token, or a label."""
    return "label" if trace.classes else "token"


def _step(view: View, trace: Trace) -> int:
    """Returns the chosen column, from 0: a classified text has one."""
    return 0 if trace.classes else view.step


def _by_sublayer(context: PageContext) -> bool:
    return context.view.lens_rows == "sublayer"


def _lens(context: PageContext) -> Lens:
    return computations.lens(context.request, context.view.device, _by_sublayer(context))


def row_groups(context: PageContext) -> list[ButtonGroup]:
    """Returns the choice of the rows: layers or sub-layers."""
    return [button_groups.choice("Rows", "lens_rows", ROWS, context.view.lens_rows)]


def _bar(context: PageContext, lens: Lens) -> None:
    button_groups.draw("lens_rows", row_groups(context))


def _keys(context: PageContext, lens: Lens) -> None:
    lecture.add_key(lecture.INNER, "layers or sub-layers", _other_rows, quiet=True)


def _other_rows() -> None:
    """Shows the other rows. For callbacks."""
    session.change(lens_rows="layer" if session.current_view().lens_rows == "sublayer" else "sublayer")


def _figure(context: PageContext, lens: Lens) -> go.Figure:
    """Returns all layers at all steps; in lecture mode as many steps around the chosen one as are readable from afar."""
    trace, view = context.analysis.trace, context.view
    steps, step, says = trace.predicted_axis.labels, _step(view, trace), _says(lens, context.loaded.output_vocabulary)
    visible = window(len(steps), step) if view.lecture else None
    ticks = [f"{place.layer + 1} {PARTS[place.part]}" for place in lens.places]
    ticks = ["embedding", *ticks] if ticks else ticks
    return lens_map(lens.probability, says, lens.rank, row_names(lens), steps, step, context.mode, visible, ticks)


def _alt(context: PageContext, lens: Lens) -> str:
    trace, says = context.analysis.trace, _says(lens, context.loaded.output_vocabulary)
    rows = (f"{name}: {' '.join(row)}" for name, row in zip(row_names(lens), says, strict=True))
    place = "" if trace.classes else f" at {len(trace.predicted_axis)} steps"
    return f"Likeliest {_unit(trace)} after every {_row(lens)}{place}. {'; '.join(rows)}."


def _events(context: PageContext, lens: Lens) -> dict[str, mount.Event]:
    return {"column": (mount.integer(0, MAX_TOKENS - 1), lambda step: session.change(step=step))}


def _payload(context: PageContext, lens: Lens) -> dict[str, Any]:
    chart = charts.Chart("", "", _figure(context, lens))
    return charts.payload([chart], alt=_alt(context, lens), has_columns=True)


def _text(context: PageContext, lens: Lens) -> str:
    trace, config = context.analysis.trace, context.loaded.config
    echo = "" if trace.classes else _echo(lens, trace, config.tied_output)
    how = HOW[_how(trace)].format(row=_row(lens))
    how = " ".join(filter(None, (how, what_is_read(config, _row(lens)), care(config.final_norm, bool(trace.classes)), echo)))
    return site_texts.answer_markup(_verdict(context, lens), how)


def _verdict(context: PageContext, lens: Lens) -> str:
    """Returns the first layer from which the chosen token leads, as a sentence."""
    trace, step = context.analysis.trace, _step(context.view, context.analysis.trace)
    return settled(lens, step, trace.predicted_axis.labels[step], EMITTED if trace.outputs else STANDS, _unit(trace))


def _large_text(context: PageContext, lens: Lens) -> str:
    trace = context.analysis.trace
    steps = len(trace.predicted_axis)
    first, end = window(steps, _step(context.view, trace))
    some = "" if end - first == steps else f" Steps {first + 1} to {end} of {steps}."
    how = f"Written: what each {_row(lens)} would say. Colour: how probable it finds the {_unit(trace)} below.{some}"
    return f'{site_texts.note_markup(how)}<p class="lab-large">{html.escape(_verdict(context, lens))}</p>'


def _step_slider(context: PageContext, lens: Lens) -> None:
    controls.step_slider(context.view, context.analysis.trace.predicted_axis.labels)


def _step_text(context: PageContext, lens: Lens) -> str:
    """Returns the table of the chosen step."""
    trace, tokenizer = context.analysis.trace, context.loaded.output_vocabulary
    step, labels = _step(context.view, trace), trace.predicted_axis.labels
    pair = labels[step] if trace.inputs is None else f"{trace.inputs.labels[step]} → {labels[step]}"
    return terms.first_space(table(lens, step, row_names(lens), tokenizer, pair, _unit(trace)))


def _tables(context: PageContext, lens: Lens) -> tuple[Table, ...]:
    piece, labels = context.loaded.output_vocabulary.piece, context.analysis.trace.predicted_axis.labels
    places = [(place.layer + 1, PARTS[place.part]) for place in lens.places]
    first: list[tuple[Cell, ...]] = [(0, "embedding"), *places] if places else [(name,) for name in row_names(lens)]
    names = ("layer", "after") if places else ("after",)
    rows: list[tuple[Cell, ...]] = [
        (*place, step + 1, label, piece(int(lens.top[row, step])), lens.probability[row, step], int(lens.rank[row, step]))
        for row, place in enumerate(first)
        for step, label in enumerate(labels)
    ]
    name = "logit-lens-sublayers" if places else "logit-lens"
    return (Table(name, (*names, "step", "token", "likeliest", "probability", "rank"), tuple(rows)),)


def _code(code: Code, context: PageContext, lens: Lens) -> None:
    code.add(
        "probability, rank, top = result.probability, result.rank, result.top",
        f"[{'sub-layers' if lens.places else 'layers'} + 1, steps]",
    )


def window(steps: int, step: int) -> tuple[int, int]:
    """Returns the visible steps around one, from 0: the first, and the one behind the last."""
    first = min(step // MAX_STEPS * MAX_STEPS, max(0, steps - MAX_STEPS))
    return first, min(steps, first + MAX_STEPS)


def care(final_norm: bool, judges: bool = False) -> str:
    """Why early rows are to be read with care, as a sentence."""
    if judges:
        norm = "the last norm, " if final_norm else ""
        return f"Read early rows with care: {norm}the pooler and the classifier were trained for the last layer alone."
    what, them = ("the last norm and the projection were", "them") if final_norm else ("the projection was", "it")
    return f"Read early rows with care: {what} trained for the last layer; none before it learned to speak through {them}."


def what_is_read(config: ModelConfig, row: str) -> str:
    """Returns which residual stream a row reads, and the norms and products behind it, as a sentence."""
    own = "" if config.norm_first else f", behind {'its own norm' if row == 'sub-layer' else 'the last norm of that layer'}"
    head = "the projection"
    if config.classes:
        head = "the pooler and the classifier"
    elif config.output_transform:
        head = "the output layer and the projection"
    norm = f"the norm behind the last layer, then {head}" if config.final_norm else f"{head}, with no further norm"
    return f"Read: the residual stream after the {row}{own}. It goes through {norm}."


def _says(lens: Lens, tokenizer: Tokenizer | ClassLabels) -> list[list[str]]:
    """The likeliest token, or label, of every layer at every step."""
    return [[tokenizer.pieces([int(token)])[0] for token in row] for row in lens.top]


def row_names(lens: Lens) -> list[str]:
    """Returns the name of the place at which each row of the lens is read."""
    if lens.places:
        return ["embedding", *(f"layer {place.layer + 1}, after {PARTS[place.part]}" for place in lens.places)]
    return ["embedding", *(f"layer {n}" for n in range(1, len(lens.log_probs)))]


def _row(lens: Lens) -> str:
    """Returns what a row stands for."""
    return "sub-layer" if lens.places else "layer"


def settled(lens: Lens, step: int, label: str, why: str = EMITTED, unit: str = "token") -> str:
    """From which layer on the emitted token, or label, is the likeliest, as a sentence; `why` it may be there where it is
    not."""
    first = [rank == 1 for rank in lens.rank[:, step]]
    if not first[-1]:
        return f"“{label}” is not what the last {_row(lens)} finds likeliest: {why}."
    since = max((layer for layer, leads in enumerate(first) if not leads), default=-1) + 1
    places = [f"the {PARTS[place.part]} of layer {place.layer + 1}" for place in lens.places]
    names, last = ["the embedding", *(places or row_names(lens)[1:])], since == len(first) - 1
    before = [name for name, leads in zip(names[:since], first, strict=False) if leads]
    if before:
        where = f"after the last {_row(lens)}" if last else f"from {names[since]} on"
        return (
            f"“{label}” is the likeliest {unit} after {' and '.join(before)} already, is overtaken, and leads again {where}."
        )
    where = f"only after the last {_row(lens)}" if last else f"from {names[since]} on"
    return f"“{label}” is the likeliest {unit} {where}."


def _echo(lens: Lens, trace: Trace, tied: bool) -> str:
    """Returns how often the embedding predicts the token that was read, as with a tied table it should."""
    same = sum(int(said) == read for said, read in zip(lens.top[0], (trace.inputs or trace.predicted_axis).ids, strict=True))
    why = ", because the projection is the same table as the embedding" if tied and same > len(lens.ids) / 2 else ""
    noun, read = ("step", "just read") if trace.outputs else ("token", "that stands there")
    steps = f"1 {noun}" if len(lens.ids) == 1 else f"{len(lens.ids)} {noun}s"
    return f"Before the first layer, the likeliest token is the one {read} at {same} of {steps}{why}."


def table(
    lens: Lens, step: int, layers: list[str], tokenizer: Tokenizer | ClassLabels, pair: str, unit: str = "token"
) -> str:
    """Every layer at one step: its likeliest tokens, the emitted token's place, and what the layer changed; as markup."""
    emitted, change, entropy = lens.ids[step], lens.change(step), lens.entropy(step)
    rows = []
    count = min(SHOWN - bool(lens.places), lens.log_probs.shape[-1])  # names of sub-layers are longer
    for layer, name in enumerate(layers):
        likeliest = lens.best(layer, step, count)
        best = "".join(_candidate(tokenizer.piece(c.id), c.probability, c.id == emitted) for c in likeliest)
        own = float(lens.probability[layer, step])
        kl, moved = (numbers.three_digits(change[layer - 1]), _moves(lens, layer, step, tokenizer)) if layer else ("", "")
        rows.append(
            f'<tr><th scope="row">{name}</th>{best}<td class="n">{lens.rank[layer, step]:,}</td>'
            f'<td class="n">{site_texts.probability_markup(own)}</td>'
            f'<td class="n">{numbers.three_digits(entropy[layer])}</td>'
            f'<td class="n">{kl}</td><td class="moves">{moved}</td></tr>'
        )
    token = f'<span class="lab-mono">{html.escape(tokenizer.piece(emitted))}</span>'
    kl = f"Kullback-Leibler divergence of what is said after the {_row(lens)} from what was said before it, in nats"
    where = "Label" if unit == "label" else f"Step {step + 1}"
    return (
        f'<div class="lab-scroll" tabindex="0" role="region" aria-label="Layers at this step"><table class="lab-lens">'
        f'<caption>{where}, <span class="lab-mono">{html.escape(pair)}</span></caption>'
        f'<thead><tr><th scope="col">{"row" if lens.places else "after"}</th>'
        f'<th scope="colgroup" colspan="{count}">likeliest {unit}s</th>'
        f'<th scope="col" class="n">rank of {token}</th><th scope="col" class="n">its probability</th>'
        f'<th scope="col" class="n">entropy, nats</th><th scope="col" class="n" title="{kl}">KL, nats</th>'
        f'<th scope="col" class="moves">most gained, most lost</th></tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    )


def _candidate(piece: str, probability: float, emitted: bool) -> str:
    name = "token emitted" if emitted else "token"
    value = site_texts.probability_markup(probability)
    return (
        f'<td class="{name}"><div><span class="lab-mono">{html.escape(piece)}</span><small>{value}</small></div>'
        f'<i style="width:{100 * probability:.0f}%"></i></td>'
    )


def _moves(lens: Lens, layer: int, step: int, tokenizer: Tokenizer | ClassLabels) -> str:
    parts = []
    for hue, found in zip(("gain", "loss"), lens.moves(layer, step), strict=True):
        for move in found:
            if abs(move.after - move.before) < SMALL:
                continue
            token = html.escape(tokenizer.piece(move.id))
            change = numbers.signed(move.after - move.before)
            parts.append(f'<div><span class="lab-mono">{token}</span><b class="{hue}">{change}</b></div>')
    return "".join(parts) or "nothing"


LENS = Panel(
    "inside.lens",
    "Logit lens",
    charts.COMPONENT,
    _payload,
    _events,
    call=lambda context: (computations.SUBLAYER_LENS if _by_sublayer(context) else computations.LENS)(),
    compute=_lens,  # in a cache that counts bytes
    text=_text,
    tables=_tables,
    code=_code,
    is_visible=where(**PART),
    pictures=(Picture("Logit lens", ".chart", lambda context, lens: {"large": 0}, fields=PART, text=_large_text),),
    bar=_bar,
    keys=_keys,
    reads=("step", "lecture", "lens_rows"),
)
LENS_STEP = Panel(
    "inside.lens_step",
    "Layers at this step",
    compute=_lens,
    controls=_step_slider,
    text=_step_text,
    is_visible=where(**PART),
)
