"""The panel of Heads over many sentences: a stored corpus, or the visitor's own sentences."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from model.export.csv_tables import Table
from model.readings.heads.head_metrics import METRICS
from model.text.measurements import read_alignment
from model.trace import Site
from viz.heads import corpus, own_sentences
from viz.heads.corpus import Corpus
from viz.kit import button_groups, lazy, mount
from viz.kit.button_groups import Button, ButtonGroup
from viz.kit.panel import NotChosenError, Panel, Picture, where
from viz.page_context import PageContext
from viz.state import session
from viz.state.page_fields import EFFECT, ROWS_NAMED, over_metrics
from viz.state.session_data import data, store_from_event

if TYPE_CHECKING:
    import numpy as np

    from model.experiments.head_survey import MeasuredHeads
    from model.experiments.sweep import Sentence
    from model.export.code import Code

COMPONENT = mount.Component(__file__, '<div class="corpus-view"></div>', name="corpus_view")
IS_OVER_CORPUS = where(heads_over="corpus")
PARTS = {"sentence": "This sentence", "corpus": "Many sentences", "claims": "Published claims"}
MISSING = (
    "This checkpoint has no statistics of its heads. Measure your own sentences above, or store statistics with "
    "`python -m model report heads --data FILE --store`."
)


def parts(context: PageContext) -> ButtonGroup:
    """Returns the choice of the part of the page."""
    return button_groups.choice("Part", "heads_over", PARTS, context.view.heads_over)


def draw_controls(context: PageContext) -> None:
    """Draws the choice of the corpus, and measures the visitor's own sentences."""
    own, stored = data().head_texts, context.loaded.head_statistics
    with st.container(key="corpus_controls", horizontal=True, vertical_alignment="center", gap="small"):
        groups = [parts(context)]
        if own.sentences and stored is not None:
            options = {True: own_sentences.label(context), False: stored.summary.corpus}
            groups.append(
                ButtonGroup(
                    "Corpus",
                    {
                        f"own {value}": Button(
                            text, partial(store_from_event, own, is_shown=value), is_on=own.is_shown == value
                        )
                        for value, text in options.items()
                    },
                    "choice",
                    True,
                    follows=True,
                )
            )
        button_groups.draw("heads.over", groups)
        with lazy.popover("Your own sentences", f"own sentences {own.tried}", width="content") as is_open:
            if is_open:
                own_sentences.draw(context)
    if sentences := tuple(own_sentences.of_session()):
        _measure_with_progress(context, sentences)


def _measure_with_progress(context: PageContext, sentences: tuple[Sentence, ...]) -> None:
    """Measures what is not known yet, with a bar. The panel says what is wrong with the sentences."""
    place = st.container(key="own_progress").empty()

    def report(share: float) -> None:
        place.progress(min(share, 1.0), f"{round(share * len(sentences)):,} of {len(sentences):,} sentences")

    with suppress(ValueError):
        _measure(context, sentences, report)
    place.empty()


def _measure(
    context: PageContext, sentences: tuple[Sentence, ...], report: own_sentences.Progress = lambda share: None
) -> tuple[MeasuredHeads, np.ndarray | None]:
    """Returns all heads over the visitor's sentences, and the effect of the chosen head if it is shown."""
    view = context.view
    measured = own_sentences.measured(view.checkpoint, view.device, sentences, report)
    if view.over_metric != EFFECT:
        return measured, None
    kind, layer, head = corpus.place_of(view, measured.statistics)
    return measured, own_sentences.effect(view.checkpoint, view.device, sentences, Site(kind, layer), head, report)


def compute(context: PageContext) -> Corpus:
    """Returns what is shown. Raises ValueError with one sentence."""
    loaded = context.loaded
    aligned, sentences = read_alignment(loaded.metrics), own_sentences.of_session()
    if not sentences:
        if loaded.head_statistics is None:
            raise NotChosenError(MISSING)
        return Corpus(loaded.head_statistics, loaded.route_heads, aligned)
    measured, effect = _measure(context, tuple(sentences))
    return Corpus(measured.statistics, loaded.route_heads, aligned, sentences, measured, effect)


# -- events ------------------------------------------------------------------------------------------------------------


def _events(context: PageContext, result: Corpus) -> dict[str, mount.Event]:
    return {
        "choose": (partial(_read_head, result), _choose),
        "kind": (mount.one_of(tuple(result.heads.distances)), lambda kind: session.change(kind=kind)),
        "metric": (mount.one_of(over_metrics()), lambda name: session.change(over_metric=name)),
        "rows": (mount.one_of(ROWS_NAMED), lambda name: session.change(rows_named=name)),
        "open": (mount.one_of(tuple(result.sentences.values())), partial(_open, result)),
    }


def _read_head(result: Corpus, event: Any) -> tuple[str, int, int] | None:
    kind, layer, head = event["kind"], event["layer"], event["head"]
    result.heads.head(kind, layer - 1, head - 1)  # ValueError for a head that does not exist
    return kind, layer - 1, head - 1


def _choose(kind: str, layer: int, head: int) -> None:
    session.change(kind=kind, layer=layer, head=head, average="none", find=None)


def _open(result: Corpus, line: int) -> None:
    """Shows the visitor's own sentence of a line, with the chosen head."""
    sentence = next(each for each, number in result.sentences.items() if number == line)
    source, target = (sentence, None) if isinstance(sentence, str) else sentence
    kind, layer, head = corpus.place_of(session.current_view(), result.heads)
    session.change(
        source=source, target=target, heads_over="sentence", kind=kind, layer=layer, head=head, average="none", step=None
    )


# -- numbers -----------------------------------------------------------------------------------------------------------


def _tables(context: PageContext, result: Corpus) -> tuple[Table, ...]:
    """Returns all heads over the corpus, the words of the chosen head, and the visitor's ranked sentences by line."""
    heads = result.heads
    names = [name for name in METRICS if any(name in head.metrics for head in heads.heads)]
    ends = ("", "_low", "_high")
    columns = ("attention", "layer", "head", *(f"largest_on_{place}" for place in corpus.PLACES))
    columns += tuple(f"{name}{end}" for name in (*names, "change_nats", "outputs_changed") for end in ends)
    rows = []
    for head in heads.heads:
        means = [head.metrics[name].mean if name in head.metrics else None for name in names]
        cells = [cell for mean in (*means, head.change, head.changed) for cell in (mean or (None,) * 3)]
        rows.append((head.site, head.layer + 1, head.head + 1, *(head.places[place] for place in corpus.PLACES), *cells))
    chosen = heads.head(*corpus.place_of(context.view, heads))
    pairs = tuple(
        (named, *pair) for named, each in (("read", chosen.read_pairs), ("written", chosen.written_pairs)) for pair in each
    )
    tables = [Table("heads-over-corpus", columns, tuple(rows))]
    tables.append(Table("word-pairs", ("row_is", "query", "key", "linked", "possible"), pairs))
    values = corpus.values_of(result, context.view, chosen)
    if values is not None and result.measured is not None:
        numbered = tuple(
            (result.sentence(n)[0], None if value != value else float(value))
            for n, value in zip(result.measured.numbers, values, strict=True)
        )
        tables.append(Table("your-sentences", ("line", corpus.shown_metric(result, context.view, chosen)), numbered))
    return tuple(tables)


def _code(code: Code, context: PageContext, result: Corpus) -> None:
    kind, layer, head = corpus.place_of(context.view, result.heads)
    if result.sentences:
        code.uses(pathlib=("Path",))
        code.add("sentences = Path('sentences.txt').read_text(encoding='utf-8').splitlines()", "one a line, each once")
        code.add("measured = measure_heads(checkpoint, sentences)", model=("measure_heads",))
        code.add("heads = measured.statistics")
        metric = corpus.shown_metric(result, context.view, result.heads.head(kind, layer, head))
        if metric == EFFECT:
            code.add(
                f"changes = effect_of_head(checkpoint, measured, {code.site(Site(kind, layer))}, {head})",
                "nats, of each sentence",
                model=("effect_of_head",),
            )
        else:
            code.add(f"strongest = measured.strongest({code.site(Site(kind, layer))}, {head}, {metric!r})", "number, value")
    else:
        code.add("heads = checkpoint.head_statistics")
    code.add(f"head = heads.head({kind!r}, {layer}, {head})", "layer and head from 0")


CORPUS = Panel(
    "heads.corpus",
    "One head over many sentences",
    COMPONENT,
    lambda context, result: corpus.payload(result, context.view) | {"large": False},
    _events,
    compute=compute,
    tables=_tables,
    code=_code,
    is_visible=IS_OVER_CORPUS,
    pictures=(Picture("Many sentences", data=lambda context, result: {"large": True}, fields={"heads_over": "corpus"}),),
    reads=("kind", "layer", "head", "over_metric", "rows_named"),
    depends_on=lambda context: tuple(own_sentences.of_session().items()),
)
