"""The numbers of the page Inside, part by part, and the lines of Python that compute them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from model.experiments.length_runs import shipped_run
from model.export.code import Code
from model.export.csv_tables import Cell, Table, grid_table, site_code
from model.readings.stages.blueprint import blueprint
from model.readings.stages.model_sizes import PRESETS, parameters
from model.trace import Site
from viz import computations
from viz.inside import length_part
from viz.inside.embeddings_part import looked_up, tokenizer_of
from viz.inside.lens_part import layer_names
from viz.inside.scale_part import NUMBERS
from viz.inside.sizes import architecture, asked
from viz.inside.writers import labels, looked_at, name

if TYPE_CHECKING:
    from viz.page_context import PageContext


def _place(context: PageContext) -> tuple[Site, int, int]:
    """Site, head and query of the view, from 0, as near to what it asks for as there is."""
    view, trace = context.view, context.analysis.trace
    sites = trace.sites(view.kind if view.kind in trace.kinds else trace.kinds[0])
    site = view.site_of(sites)
    asked = view.token if site.spec.query_side == "source" else view.step
    return site, view.head or 0, min(asked, len(trace.queries(site)) - 1)


def _ask(context: PageContext) -> Code:
    return Code.of(context.analysis.request, context.view.device)


# -- one head ----------------------------------------------------------------------------------------------------------


def _stages(context: PageContext) -> tuple[Table, ...]:
    """All stages; the first columns name the stage and its row, for each of them has numbers of its own width."""
    site, head, query = _place(context)
    found = computations.unfold(context.analysis.request, context.view.device, site, head, query)
    made = []
    for number, stage in enumerate(found.stages, 1):
        for each in stage.tables:
            columns = ("row", *(str(n) for n in range(1, each.values.shape[1] + 1)))
            rows = tuple((row, *values) for row, values in zip(each.rows, each.values, strict=True))
            rows += () if each.foot is None else ((each.foot_name, *each.foot),)
            made.append(Table(f"{number:02}-{stage.name}-{_plain(each.name)}", columns, rows))
    return tuple(made)


def _plain(text: str) -> str:
    """A name as it may stand in that of a file."""
    return "".join(char if char.isalnum() else "-" for char in text).strip("-")


def _stages_code(context: PageContext) -> Code:
    site, head, query = _place(context)
    code = _ask(context)
    code.add(
        f"unfolded = unfold(checkpoint, analysis, {code.site(site)}, {head}, {query})",
        f"layer {site.layer + 1}, head {head + 1}, “{context.analysis.trace.queries(site)[query]}”".replace("\n", " "),
        model__readings__stages__unfold=("unfold",),
    )
    code.add("stages = {stage.name: {table.name: table.values for table in stage.tables} for stage in unfolded.stages}")
    return code


# -- why there ---------------------------------------------------------------------------------------------------------


def _asked(context: PageContext) -> tuple[Site, int, int, int]:
    site, head, query = _place(context)
    analysis, key = context.analysis, context.view.key
    if key is None or key >= analysis.key_count(site, query):
        key = looked_at(analysis.trace, site, head, query)
    return site, head, query, key


def _writers(context: PageContext) -> tuple[Table, ...]:
    found = computations.score_writers(context.analysis.request, context.view.device, *_asked(context))
    asks, answers = labels(found, context.analysis.trace)
    rows, columns = (
        [name(w, label) for w in each] for each, label in ((found.query_writers, asks), (found.key_writers, answers))
    )
    return (grid_table(f"score-{site_code(found.site, found.head)}", "asks \\ answers", rows, columns, found.values),)


def _writers_code(context: PageContext) -> Code:
    site, *at = _asked(context)
    code = _ask(context)
    code.add(
        f"found = score_writers(checkpoint, analysis, {code.site(site)}, {', '.join(map(str, at))})",
        "head, query and key, from 0",
        model__readings__logits__score_writers=("score_writers",),
    )
    code.add("values = found.values", "found.asks by found.answers; they add up to found.score")
    return code


# -- the map -----------------------------------------------------------------------------------------------------------


def _map(context: PageContext) -> tuple[Table, ...]:
    trace = context.analysis.trace
    blocks = blueprint(context.loaded, max(1, len(trace.source or ())), max(1, len(trace.inputs or ())))
    rows = tuple(
        (block.key, block.kind, block.name, None if block.layer is None else block.layer + 1, block.parameters)
        for block in blocks
    )
    blocks_table = Table("blocks", ("key", "kind", "name", "layer", "parameters"), rows)
    try:
        found = parameters(architecture(context.view, context.loaded))
    except ValueError:  # sizes that do not go together, as the page says
        return (blocks_table,)
    return blocks_table, Table("sizes", ("part", "parameters"), tuple(found.items()))


def _map_code(context: PageContext) -> Code:
    code = _ask(context)
    code.add("trace = analysis.trace")
    code.add(
        "blocks = blueprint(checkpoint, max(1, len(trace.source or ())), max(1, len(trace.inputs or ())))",
        model__readings__stages__blueprint=("blueprint",),
    )
    code.add("each = {block.key: block.parameters for block in blocks}")
    preset, sizes = context.view.size in PRESETS, asked(context.view)
    of = f"PRESETS[{context.view.size!r}].architecture" if preset else "of_config(checkpoint.config)"
    changed = f".resized({', '.join(f'{name}={value}' for name, value in sizes.items())})" if sizes else ""
    code.add(
        f"sizes = parameters({of}{changed})",
        model__readings__stages__model_sizes=("PRESETS" if preset else "of_config", "parameters"),
    )
    return code


# -- why sqrt(d_k) -----------------------------------------------------------------------------------------------------


def _scale(context: PageContext) -> tuple[Table, ...]:
    site, _, _ = _place(context)
    found = computations.scaling(context.analysis.request, context.view.device, site)
    rows: list[tuple[Cell, ...]] = [
        (head + 1, how, *(float(getattr(numbers, field)[head]) for field in NUMBERS))
        for head in range(len(found.widths))
        for how, numbers in (("divided", found.divided), ("not divided", found.undivided))
    ]
    return (Table(f"scaling-{site.spec.code}-{site.layer + 1}", ("head", "scores", *NUMBERS), tuple(rows)),)


def _scale_code(context: PageContext) -> Code:
    site, _, _ = _place(context)
    code = _ask(context)
    code.add(
        f"found = site_scaling(checkpoint, analysis, {code.site(site)})", model__readings__stages__scaling=("site_scaling",)
    )
    code.add("divided, undivided = found.divided, found.undivided", "variance, largest, entropy, gradient, spectral: [H]")
    return code


# -- length ------------------------------------------------------------------------------------------------------------


def _length(context: PageContext) -> tuple[Table, ...]:
    """What was measured, and the patterns of the head."""
    site, head, _ = _place(context)
    rows: list[tuple[Cell, ...]] = []
    for source, run in (("stored", shipped_run()), ("here", length_part.own())):
        for way, curve in run.curves.items() if run else ():
            rows += [(source, way, p.length, p.seconds, p.bytes, p.off) for p in curve.points]
    measured = Table("lengths", ("run", "way", "tokens", "seconds", "bytes", "off"), tuple(rows))
    found = computations.other_patterns(context.analysis.request, context.view.device, site, context.view.near_width)
    of = site_code(site, head)
    asks, keys = (getattr(context.analysis.trace, side)(site) for side in ("queries", "keys"))
    maps = {"linear": found.linear.values} | ({} if found.window is None else {"window": found.window.values})
    return measured, *(grid_table(f"{how}-{of}", "query \\ key", asks, keys, v[head]) for how, v in maps.items())


def _length_code(context: PageContext) -> Code:
    site, head, _ = _place(context)
    code = _ask(context)
    code.add(
        f"found = other_patterns(checkpoint, analysis, {code.site(site)}, {context.view.near_width})",
        "of all heads, and a window of that width",
        model__readings__stages__layer_inputs=("other_patterns",),
    )
    code.add(f"linear = found.linear.values[{head}]")
    if site.spec.is_self:
        code.add(f"window = found.window.values[{head}]")
    code.add(
        "run = shipped_run()",
        "time and memory; `measure(Limits())` measures anew",
        model__experiments__length_runs=("shipped_run",),
    )
    return code


# -- the logit lens ----------------------------------------------------------------------------------------------------


def _lens(context: PageContext) -> tuple[Table, ...]:
    found = computations.lens(context.analysis.request, context.view.device)
    tokenizer, outputs = context.loaded.output_vocabulary, context.analysis.trace.predicted_axis.labels
    rows: list[tuple[Cell, ...]] = []
    for layer, after in enumerate(layer_names(len(found.log_probs))):
        for step, label in enumerate(outputs):
            said = tokenizer.piece(int(found.top[layer, step]))
            numbers = (found.probability[layer, step], int(found.rank[layer, step]))
            rows.append((after, step + 1, label, said, *numbers))
    return (Table("logit-lens", ("after", "step", "token", "likeliest", "probability", "rank"), tuple(rows)),)


def _lens_code(context: PageContext) -> Code:
    code = _ask(context)
    code.add("found = lens(checkpoint, analysis)", model__readings__logits__logit_lens=("lens",))
    code.add("probability, rank, top = found.probability, found.rank, found.top", "[layers + 1, steps]")
    return code


# -- tokens and embeddings ---------------------------------------------------------------------------------------------


def _tokens(context: PageContext) -> tuple[Table, ...]:
    trace = context.analysis.trace
    sides = {"source": trace.source, "target": trace.outputs}
    rows: list[tuple[Cell, ...]] = []
    for side, axis in sides.items():
        if axis is not None:
            each = enumerate(zip(axis.labels, axis.ids, axis.word_numbers, strict=True), 1)
            rows += [(side, place, label, token, word) for place, (label, token, word) in each]
    return (Table("tokens", ("side", "position", "token", "id", "word"), tuple(rows)),)


def _tokens_code(context: PageContext) -> Code:
    code = _ask(context)
    sides = {"source": context.analysis.trace.source, "target": context.analysis.trace.outputs}
    there = [f"analysis.trace.{'source' if side == 'source' else 'outputs'}" for side, axis in sides.items() if axis]
    code.add(f"ids = [token for axis in ({', '.join(there)},) for token in axis.ids]")
    return code


def _embeddings(context: PageContext) -> tuple[Table, ...]:
    loaded, device, rows = context.loaded, context.view.device, []
    for side, token in looked_up(context.view, loaded, context.analysis.trace).items():
        tokenizer = tokenizer_of(loaded, side)
        for language, near in computations.neighbours(context.view.checkpoint, device, token, side).items():
            rows += [
                (tokenizer.piece(token), language, place, tokenizer.piece(each.id), each.id, each.cosine, each.count)
                for place, each in enumerate(near, 1)
            ]
    return (Table("neighbours", ("token", "language", "place", "neighbour", "id", "cosine", "seen"), tuple(rows)),)


def _embeddings_code(context: PageContext) -> Code:
    code = Code()
    code.load(context.view.checkpoint, context.view.device)
    found = looked_up(context.view, context.loaded, context.analysis.trace)
    code.add(
        f"found = [nearest(checkpoint, token, side) for side, token in {list(found.items())!r}]",
        "by language",
        model__readings__tokens__neighbours=("nearest",),
    )
    code.add("cosines = [each.cosine for lists in found for near in lists.values() for each in near]")
    return code


OF_PART: dict[str, tuple[Callable[[PageContext], tuple[Table, ...]], Callable[[PageContext], Code]]] = {
    "stages": (_stages, _stages_code),
    "writers": (_writers, _writers_code),
    "map": (_map, _map_code),
    "scale": (_scale, _scale_code),
    "length": (_length, _length_code),
    "lens": (_lens, _lens_code),
    "tokens": (_tokens, _tokens_code),
    "embeddings": (_embeddings, _embeddings_code),
}


def tables(context: PageContext) -> tuple[Table, ...]:
    """Those of the part that is shown."""
    return OF_PART[context.view.part][0](context)


def python(context: PageContext) -> str:
    """The same as Python."""
    return OF_PART[context.view.part][1](context).text
