"""The numbers of the page Translate, and the lines of Python that compute them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from model.export.code import Code
from model.export.csv_tables import Cell, Table, map_table, site_code
from model.inference.source_reading import blank_positions
from model.trace import MapView, Site
from viz import computations
from viz.decoding_steps.candidates import SHOWN, choices_of
from viz.decoding_steps.pattern_maps import seen_map
from viz.judge import judge_tables
from viz.kit import sides
from viz.save.number_tables import change_table

if TYPE_CHECKING:
    from model.inference.analysis import Analysis
    from viz.page_context import PageContext

STEP = ("step", "reads", "writes", "probability", "log_probability")


def tables(context: PageContext) -> tuple[Table, ...]:
    """The maps of the layer, what every step wrote, the candidates of this one, and what the edits changed."""
    analysis = context.analysis
    head = _head(context)
    found = [
        map_table(f"{'mask' if context.view.show == 'mask' else 'attention'}-{site_code(site, head)}", seen, values)
        for site, seen in _maps(context).items()
        for values in [seen.allowed.astype(int) if context.view.show == "mask" else None]
    ]
    if analysis.task.is_classifier:
        return *found, *judge_tables.tables(context)
    found.append(_steps(context))
    if analysis.trace.outputs is not None or context.view.step in blank_positions(analysis, context.loaded):
        found.append(_candidates(context))
    if analysis.next_sentence_probability is not None:
        found.append(_follows(analysis))
    if shows_cache(context):
        found.append(_kept(context))
    if analysis.baseline is not None and analysis.trace.outputs is not None:
        found.append(change_table(analysis))
    return tuple(found)


def _head(context: PageContext) -> int | None:
    return context.view.head


def _maps(context: PageContext) -> dict[Site, MapView]:
    """Those of the layer, as they are drawn."""
    analysis, layer = context.analysis, context.view.layer
    there = [Site(kind, layer) for kind in analysis.trace.kinds if Site(kind, layer) in analysis.trace.patterns]
    return {site: seen_map(analysis, context.view.device, site, _head(context))[0] for site in there}


def _steps(context: PageContext) -> Table:
    """What every step wrote; of a model without a decoder, what stands at every token, and of two sentences in which."""
    trace = context.analysis.trace
    reads = trace.predicted_axis if trace.inputs is None else trace.inputs
    of = sides.NAMES if trace.has_two_sentences else ()
    rows = zip(reads.labels, trace.predicted_axis.labels, trace.probabilities, trace.token_log_probs, strict=True)
    found = [(t, *row, *(of and (of[trace.source.sentence_numbers[t - 1]],))) for t, row in enumerate(rows, 1)]
    return Table("steps", (*STEP, *(("sentence",) if of else ())), tuple(found))


def _follows(analysis: Analysis) -> Table:
    """Whether the second sentence follows the first, as it is, the other way round, and without the edits."""
    rows = [
        ("as shown", analysis.next_sentence_probability),
        ("the other way round, without edits", analysis.swapped_probability),
    ]
    rows += [("without the edits", analysis.baseline.next_sentence_probability)] if analysis.baseline else []
    return Table("second-follows-first", ("which", "probability"), tuple(rows))


def shows_cache(context: PageContext) -> bool:
    """Whether the key-value cache is context, and there is one."""
    from model.experiments.caching import can_cache

    return context.view.show == "cache" and can_cache(context.loaded, context.analysis)


def _kept(context: PageContext) -> Table:
    """What the key-value cache holds after every step, and the multiplications of the step with it and without."""
    found = computations.key_values(context.request, context.view.device)
    rows = zip(context.analysis.trace.inputs.labels, found.cached, found.uncached, strict=True)
    columns = ("step", "reads", "bytes_kept", "multiplications_with", "multiplications_without")
    made = ((t, reads, found.nbytes(t), with_, without) for t, (reads, with_, without) in enumerate(rows, 1))
    return Table("key-value-cache", columns, tuple(made))


def _candidates(context: PageContext) -> Table:
    """The candidates of the step; where tokens are drawn, the probability that each has there, and whether it was kept."""
    trace, step, controls = context.analysis.trace, context.view.step, context.view.controls
    tokenizer, logs = context.loaded.target_tokenizer, trace.log_probs[step]
    made = choices_of(logs, trace.predicted_axis.ids[step], controls)
    rows: list[tuple[Cell, ...]] = []
    for place, token in enumerate(made.ids[:SHOWN].tolist()):
        row = (place + 1, tokenizer.piece(token), token, trace.logit(step, token), logs[token], np.exp(logs[token]))
        drawn = (float(made.probability[place]), bool(made.is_candidate[place])) if controls else ()
        rows.append((*row, *drawn))
    columns = ("place", "candidate", "id", "logit", "log_probability", "probability")
    columns += ("drawn_with", "kept") if controls else ()
    return Table(f"candidates-step-{step + 1}", columns, tuple(rows))


def python(context: PageContext) -> str:
    """The same as Python."""
    analysis, view = context.analysis, context.view
    code = Code.of(analysis.request, view.device)
    code.add("trace = analysis.trace")
    padded = computations.target_padding(analysis.request, view.device)
    if padded is not None:  # the decoder's maps are shown with the padding of the batch
        code.add("padded = target_padding(checkpoint, analysis).trace", model__experiments__effects=("target_padding",))
    code.add("maps = {")
    for site in _maps(context):
        of = "padded" if padded is not None and site.spec.query_side == "target" else "trace"
        code.add(f"    {site.kind!r}: {of}.view({code.site(site)}, {_head(context)}),", _place(site, _head(context)))
    code.add("}")
    if analysis.task.is_classifier:
        return judge_tables.code(context, code)
    code.add("probabilities = analysis.trace.probabilities", "of each step’s token")
    code.add(f"step = {view.step}", "from 0")
    code.add(
        f"best = candidates(analysis.trace.log_probs[[step]], {SHOWN})[0]",
        "ids and probabilities",
        model__inference__predictions=("candidates",),
    )
    if analysis.baseline is not None:
        code.add("before = analysis.baseline.trace.probabilities")
        code.add("after = np.exp(analysis.baseline_token_log_probs)", "of the same tokens, under the edits", numpy=("np",))
    if analysis.next_sentence_probability is not None:
        code.add(
            "print(analysis.next_sentence_probability, analysis.swapped_probability)", "that B follows A; that A follows B"
        )
    if shows_cache(context):
        kept = "bytes after a step, from 1: kept.nbytes(step)"
        code.add("kept = cache_sizes(checkpoint, analysis)", kept, model__experiments__caching=("cache_sizes",))
    code.add("print(analysis.translation)")
    return code.text


def _place(site: Site, head: int | None) -> str:
    return f"layer {site.layer + 1}, {'mean over heads' if head is None else f'head {head + 1}'}"
