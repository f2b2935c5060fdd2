"""The numbers of the page Translate, and the lines of Python that compute them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from model.export.code import Code
from model.export.csv_tables import (
    Cell,
    Table,
    map_table,
    site_code,
)
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
    from viz.kit.page_context import PageContext

STEP = ("step", "reads", "writes", "probability", "log_probability")


def tables(shown: PageContext) -> tuple[Table, ...]:
    """The maps of the layer, what every step wrote, the candidates of this one, and what the edits changed."""
    analysis = shown.analysis
    head = _head(shown)
    found = [
        map_table(f"{'mask' if shown.view.show == 'mask' else 'attention'}-{site_code(site, head)}", seen, values)
        for site, seen in _maps(shown).items()
        for values in [seen.allowed.astype(int) if shown.view.show == "mask" else None]
    ]
    if analysis.task.is_classifier:
        return *found, *judge_tables.tables(shown)
    found.append(_steps(shown))
    if analysis.trace.outputs is not None or shown.view.step - 1 in blank_positions(analysis, shown.page_data.loaded):
        found.append(_candidates(shown))
    if analysis.next_sentence_probability is not None:
        found.append(_follows(analysis))
    if shows_cache(shown):
        found.append(_kept(shown))
    if analysis.baseline is not None and analysis.trace.outputs is not None:
        found.append(change_table(analysis))
    return tuple(found)


def _head(shown: PageContext) -> int | None:
    return None if shown.view.head is None else shown.view.head - 1


def _maps(shown: PageContext) -> dict[Site, MapView]:
    """Those of the layer, as they are drawn."""
    analysis, layer = shown.analysis, shown.view.layer - 1
    there = [Site(kind, layer) for kind in analysis.trace.kinds if Site(kind, layer) in analysis.trace.patterns]
    return {site: seen_map(analysis, shown.view.device, site, _head(shown))[0] for site in there}


def _steps(shown: PageContext) -> Table:
    """What every step wrote; of a model without a decoder, what stands at every token, and of two sentences in which."""
    trace = shown.analysis.trace
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


def shows_cache(shown: PageContext) -> bool:
    """Whether the key-value cache is shown, and there is one."""
    from model.experiments.caching import can_cache

    return shown.view.show == "cache" and can_cache(shown.page_data.loaded, shown.analysis)


def _kept(shown: PageContext) -> Table:
    """What the key-value cache holds after every step, and the multiplications of the step with it and without."""
    found = computations.key_values(shown.page_data.request, shown.view.device)
    rows = zip(shown.analysis.trace.inputs.labels, found.cached, found.uncached, strict=True)
    columns = ("step", "reads", "bytes_kept", "multiplications_with", "multiplications_without")
    made = ((t, reads, found.nbytes(t), with_, without) for t, (reads, with_, without) in enumerate(rows, 1))
    return Table("key-value-cache", columns, tuple(made))


def _candidates(shown: PageContext) -> Table:
    """The candidates of the step; where tokens are drawn, the probability that each has there, and whether it was kept."""
    trace, step, controls = shown.analysis.trace, shown.view.step - 1, shown.view.controls
    tokenizer, logs = shown.page_data.loaded.target_tokenizer, trace.log_probs[step]
    made = choices_of(logs, trace.predicted_axis.ids[step], controls)
    rows: list[tuple[Cell, ...]] = []
    for place, token in enumerate(made.ids[:SHOWN].tolist()):
        row = (place + 1, tokenizer.piece(token), token, trace.logit(step, token), logs[token], np.exp(logs[token]))
        drawn = (float(made.probability[place]), bool(made.is_candidate[place])) if controls else ()
        rows.append((*row, *drawn))
    columns = ("place", "candidate", "id", "logit", "log_probability", "probability")
    columns += ("drawn_with", "kept") if controls else ()
    return Table(f"candidates-step-{step + 1}", columns, tuple(rows))


def python(shown: PageContext) -> str:
    """The same as Python."""
    analysis, view = shown.analysis, shown.view
    code = Code.of(analysis.request, view.device)
    code.add("trace = analysis.trace")
    padded = computations.target_padding(analysis.request, view.device)
    if padded is not None:  # the decoder's maps are shown with the padding of the batch
        code.add("padded = target_padding(checkpoint, analysis).trace", model__experiments__effects=("target_padding",))
    code.add("maps = {")
    for site in _maps(shown):
        of = "padded" if padded is not None and site.spec.query_side == "target" else "trace"
        code.add(f"    {site.kind!r}: {of}.view({code.site(site)}, {_head(shown)}),", _place(site, _head(shown)))
    code.add("}")
    if analysis.task.is_classifier:
        return judge_tables.code(shown, code)
    code.add("probabilities = analysis.trace.probabilities", "of each step’s token")
    code.add(f"step = {view.step - 1}", "from 0")
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
    if shows_cache(shown):
        kept = "bytes after a step, from 1: kept.nbytes(step)"
        code.add("kept = cache_sizes(checkpoint, analysis)", kept, model__experiments__caching=("cache_sizes",))
    code.add("print(analysis.translation)")
    return code.text


def _place(site: Site, head: int | None) -> str:
    return f"layer {site.layer + 1}, {'mean over heads' if head is None else f'head {head + 1}'}"
