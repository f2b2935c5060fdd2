"""The steps of a model that writes: the timeline, and the candidates of its step."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from model.export.csv_tables import Cell, Table, numbered
from model.inference.predictions import changed_words, token_changes
from model.io import numbers
from viz.decoding_steps import candidates, decoding_controls, decoding_texts, lecture_keys, timeline
from viz.kit import controls, patterns
from viz.kit.panel import FileOptions, Panel, Picture
from viz.kit.patterns import linking_head
from viz.page_context import PageContext
from viz.state import navigation, session
from viz.state.view import ROWS

if TYPE_CHECKING:
    from model.export.code import Code
    from viz.kit.mount import Event
    from viz.state.view import View

STEP = ("step", "reads", "writes", "probability", "log_probability")
TIMELINE_NAMES = ("translate.steps", "fill.places")  # panels that publish the step


def _payload(context: PageContext, result: Any) -> dict[str, Any]:
    view = context.view
    return timeline.payload(context.analysis, context.loaded, view.layer, view.head, context.mode)


def follow(context: PageContext, result: Any) -> dict[str, Any]:
    """Returns the values of the timeline that follow the view. Its frame is the picture to save, not the component."""
    view = context.view
    own = {"step": view.step + 1, "rows": view.rows, "guess": view.guess, "finding": controls.finding(context)}
    return {**own, "picture": ""}


def timeline_events(context: PageContext, result: Any) -> dict[str, Event]:
    """Returns the events of the timeline of any model."""
    trace, request = context.analysis.trace, context.request
    sizes = {
        "source": () if trace.source is None or trace.outputs is None else trace.source.labels,
        "target": trace.predicted_axis.labels,
        "size": trace.log_probs.shape[-1],
        "arrangements": timeline.ROWS,
    }
    return timeline.events(
        sizes,
        on_why=lambda kind, query, key: to_heads(request, kind, query, key),
        on_reason=to_the_reason,
        on_again=decoding_controls.draw_again,
    )


def to_heads(request: Any, kind: str, query: int, key: int) -> None:
    """Goes to the heads, ordered by how much they link two tokens. For callbacks."""
    find, step = (kind, query, key), {"step": query} if kind != "encoder" else {}
    session.change(find=find, **({"kind": kind} | step | linking_head(request, session.current_view(), find)))
    navigation.go_to("heads")


def to_the_reason(step: int, rival: int) -> None:
    """Goes to the comparison of a step's token with its rival. For callbacks."""
    session.change(step=step, rival=rival)
    navigation.go_to("why")


def lecture_data(context: PageContext, result: Any) -> dict[str, Any]:
    """Returns the values of the timeline in lecture mode: whether its steps are visible, and the effect of the edits."""
    return {"hall": {"steps": context.view.large == 1} | _changes(context)}


def _changes(context: PageContext) -> dict[str, Any]:
    """Returns `was`, the pieces of the translation without the edits, each with whether it is gone, and `changed`, for each
    token now whether it is new; or `told`, a sentence."""
    analysis = context.analysis
    if analysis.baseline is None:
        return {}
    before, after = analysis.baseline.trace, analysis.trace
    if analysis.request.mode == "given" or after.outputs is None:
        sums = (numbers.three_digits(each.log_prob) for each in (analysis.baseline, analysis))
        count, steps = len(token_changes(analysis)), len(before.scorable_rows)
        text = decoding_texts.given_change(analysis.score_label, *sums, count, steps)
        return {"told": f"{text[:1].upper()}{text[1:]}"}
    gone, new = changed_words(before.outputs.ids, after.outputs.ids)
    if not any(gone) and not any(new):
        return {"told": f"The {analysis.task.output_noun} does not change."}
    segments = context.loaded.target_tokenizer.segments(before.outputs.ids)
    return {"was": [list(pair) for pair in zip(segments, gone, strict=True)], "changed": list(new)}


def steps_table(context: PageContext) -> Table:
    """Returns the token of each step; without a decoder, the token at each position, and its sentence if there are two."""
    trace = context.analysis.trace
    reads = trace.predicted_axis if trace.inputs is None else trace.inputs
    names = patterns.NAMES if trace.has_two_sentences else ()
    rows = zip(reads.labels, trace.predicted_axis.labels, trace.probabilities, trace.token_log_probs, strict=True)
    cells = [(t, *row, *(names and (names[trace.source.sentence_numbers[t - 1]],))) for t, row in enumerate(rows, 1)]
    return Table("steps", (*STEP, *(("sentence",) if names else ())), tuple(cells))


def weights_table(context: PageContext) -> Table:
    """Returns the weights that the lines of the step draw: of the chosen head, and the mean over all heads."""
    trace, view = context.analysis.trace, context.view
    rows: list[tuple[Cell, ...]] = []
    for kind in (each for each in trace.kinds if trace.sites(each)[0].spec.query_side == "target"):
        sites = trace.sites(kind)
        site = sites[min(view.layer, len(sites) - 1)]
        own, mean = trace.view(site, view.head), np.mean([trace.patterns[each][:, view.step] for each in sites], (0, 1))
        cells = zip(numbered(own.keys), own.values[view.step], mean, own.allowed[view.step], strict=True)
        rows += [(kind, key, weight, other) for key, weight, other, allowed in cells if allowed]
    return Table(f"weights-step-{view.step + 1}", ("attention", "key", "weight", "mean_weight"), tuple(rows))


def add_step_code(code: Code, context: PageContext, result: Any) -> None:
    """Adds the probability of the token of each step."""
    code.add("probabilities = analysis.trace.probabilities", "of each step’s token")
    code.add("print(analysis.translation)")


def _candidates_payload(context: PageContext, result: Any) -> dict[str, Any]:
    loaded = context.loaded
    return candidates.payload(context.analysis, loaded.target_tokenizer, language=loaded.languages[1])


def candidate_sizes(context: PageContext) -> dict[str, Any]:
    """Returns the sizes that bound the events of the candidates."""
    trace = context.analysis.trace
    return {"rows": trace.log_probs, "size": trace.log_probs.shape[-1]}


def _candidates_events(context: PageContext, result: Any) -> dict[str, Event]:
    return candidates.events(
        candidate_sizes(context),
        on_branch=lambda step, token: decoding_controls.branch(context, step, token),
        on_word=lambda step, text: decoding_controls.word(context, step, text),
        on_reason=to_the_reason,
    )


def candidates_table(context: PageContext) -> Table:
    """Returns the candidates of the step; if tokens are sampled, with the probability of being drawn."""
    trace, step = context.analysis.trace, context.view.step
    controls, tokenizer, logs = (
        candidates.sampling_controls(context.analysis),
        context.loaded.target_tokenizer,
        trace.log_probs[step],
    )
    choices = candidates.choices_of(trace, step, trace.predicted_axis.ids[step], controls)
    rows: list[tuple[Cell, ...]] = []
    for place, token in enumerate(choices.ids[: candidates.SHOWN].tolist()):
        row = (place + 1, tokenizer.piece(token), token, trace.logit(step, token), logs[token], np.exp(logs[token]))
        drawn = (float(choices.probability[place]), bool(choices.is_candidate[place])) if controls else ()
        rows.append((*row, *drawn))
    columns = ("place", "candidate", "id", "logit", "log_probability", "probability")
    columns += ("drawn_with", "kept") if controls else ()
    return Table(f"candidates-step-{step + 1}", columns, tuple(rows))


def add_candidates_code(code: Code, context: PageContext, result: Any) -> None:
    """Adds the candidates of the step."""
    code.add(f"step = {context.view.step}", "from 0")
    line = f"best = candidates(analysis.trace.log_probs[[step]], {candidates.SHOWN})[0]"
    code.add(line, "ids and probabilities", model__inference__predictions=("candidates",))


def file_view(context: PageContext) -> View:
    """Returns the view of the HTML file, which always has the maps."""
    show = context.view.show
    return dataclasses.replace(context.view, guess=False, show=show if show in ("attention", "mask") else "attention")


def writes(context: PageContext) -> bool:
    """True if the model writes tokens one after the other."""
    return context.analysis.task.has_decoder


STEPS = Panel(
    TIMELINE_NAMES[0],
    "Steps of decoding",
    timeline.COMPONENT,
    _payload,
    timeline_events,
    reads=("layer", "head"),
    follow=follow,
    tables=lambda context, result: (steps_table(context), weights_table(context)),
    code=add_step_code,
    is_visible=writes,
    pictures=(Picture("Steps", ".timeline", lecture_data, others=("translate.candidates",), fields={"show": "attention"}),),
    bar=lecture_keys.draw_fact,
    keys=lecture_keys.add_step_keys,
    file=FileOptions(
        default_view=file_view,
        component_fields=("step", "rows"),
        remote_fields=lambda context: {"step": (), "guess": (False, True), "rows": ROWS},
    ),
)
CANDIDATES = Panel(
    "translate.candidates",
    "Top next tokens",
    candidates.COMPONENT,
    _candidates_payload,
    _candidates_events,
    reads=(),
    follow=lambda context, result: candidates.follow(context),
    tables=lambda context, result: (candidates_table(context),),
    code=add_candidates_code,
    is_visible=writes,
    pictures=(Picture("", data=lambda context, result: {"hall": True}),),
)
