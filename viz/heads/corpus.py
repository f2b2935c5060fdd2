"""One head over many sentences as values of the panel: its places, a distribution, words, similar heads, its effect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from model.io.numbers import probability, signed, three_digits
from model.readings.heads.corpus_roles import corpus_roles, format_share
from model.readings.heads.head_metrics import METRICS
from model.readings.heads.head_similarity import classical_scaling, groups, nearest
from model.text.head_statistics import BINS, HeadsOverCorpus, HeadStatistics
from model.trace import Site, site_kind
from viz import theme
from viz.heads import all_heads
from viz.heads.own_sentences import source_of
from viz.state.page_fields import EFFECT

if TYPE_CHECKING:
    from model.experiments.head_survey import MeasuredHeads
    from model.experiments.sweep import Sentence
    from model.text.measurements import AlignmentRates
    from model.text.route_heads import RouteHeads
    from viz.state.view import View

PLACES = all_heads.PLACES | {"word": "another word"}  # where the largest weight of a row is
CROSS_PLACES = PLACES | {"word": "a source word"}
EFFECT_LABEL = "Effect without the head"
GROUP = 0.25  # bits: heads whose mean divergence is lower form a group
SIMILAR = 4  # heads that are listed
RANKED = 20  # own sentences that are listed
ROWS_OF = {"written": "predicts", "read": "reads"}  # the rows of the stored alignment rates, by what names a row
CLAIM = "In Kobayashi et al. 2020 early layers align with the word read, late ones with the word to be written."
REASON = (
    "A likely reason: the query of an early layer knows the token just read and little more, so it looks for its source "
    "word. Later layers know more about the next token, so their query can look for the source word of that one."
)
SCORED = {
    "target": "the translation",
    "continuation": "the continuation",
    "all": "the text",
    "blanks": "the blanks",
    "text": "the text",
    "label": "the label",
}


@dataclass(frozen=True)
class Corpus:
    """The heads over a corpus, and what is known of the visitor's own sentences."""

    heads: HeadsOverCorpus
    routes: RouteHeads | None = None
    aligned: AlignmentRates | None = None
    sentences: Mapping[Sentence, int] = field(default_factory=dict)  # and the line of each, from 1
    measured: MeasuredHeads | None = None
    effect: np.ndarray | None = None  # [N], of the chosen head without it

    @property
    def rates(self) -> AlignmentRates | None:
        """The alignment rates, None beside the visitor's sentences or where they belong to a model of another size."""
        every = self.heads.of_kind("cross")
        if not every or self.aligned is None or self.sentences:
            return None
        size = 1 + max(each.layer for each in every), 1 + max(each.head for each in every)
        return self.aligned if self.aligned.covers(*size) else None

    def sentence(self, number: int) -> tuple[int, Sentence]:
        """Returns the line and the text of a sentence, by its number in `measured`."""
        text, line = list(self.sentences.items())[number - 1]
        return line, text


def place_of(view: View, heads: HeadsOverCorpus) -> tuple[str, int, int]:
    """Returns kind, layer and head that are shown: those of the view, or the nearest that exist."""
    kinds = list(heads.distances)
    kind = view.kind if view.kind in kinds else kinds[-1]
    every = heads.of_kind(kind)
    layers, count = 1 + max(each.layer for each in every), 1 + max(each.head for each in every)
    return kind, min(view.layer, layers - 1), min(view.head or 0, count - 1)


def roles(corpus: Corpus, head: HeadStatistics) -> list[list[str]]:
    """Returns the roles that a head has over the corpus: names and sentences with their number, interval and count."""
    routes = None if corpus.sentences else corpus.routes
    found = [[role.name, role.sentence] for role in corpus_roles(head, routes)]
    if head.site == "cross" and corpus.rates is not None:
        found.append(all_heads.alignment(corpus.rates, head.layer, head.head))
    return found


def _places(kind: str) -> dict[str, str]:
    return CROSS_PLACES if kind == "cross" else PLACES


def shown_metric(corpus: Corpus, view: View, head: HeadStatistics) -> str:
    """Returns the number whose distribution is drawn: that of the view, or another one where the head has no such number."""
    if view.over_metric == EFFECT and corpus.sentences:
        return EFFECT
    return view.over_metric if view.over_metric in head.metrics else "largest"


def answer(corpus: Corpus, head: HeadStatistics) -> str:
    """Returns one sentence on a head: where its largest weights are, and what happens without it."""
    name, share = max(head.places.items(), key=lambda each: each[1])
    begin = f"In {share:.0%} of the rows, the largest weight of {head.name} is on {_places(head.site)[name]}."
    if not share:
        begin = f"No row of {head.name} has two keys or more."
    if head.change is None:
        return begin
    change, what = head.change, SCORED.get(corpus.heads.summary.scored_tokens, "the text")
    begin = f"{begin} Without this head, the log-probability of {what} changes by {signed(change.value)} nats a sentence"
    if change.low is None or change.high is None:
        return f"{begin}."
    doubt = ": the interval contains 0" if change.low <= 0 <= change.high else ""
    return f"{begin} ({signed(change.low)} to {signed(change.high)}{doubt})."


def payload(corpus: Corpus, view: View) -> dict[str, Any]:
    """Returns the JSON values of the component for the chosen head."""
    heads = corpus.heads
    kind, layer, number = place_of(view, heads)
    head, every = heads.head(kind, layer, number), heads.of_kind(kind)
    index = every.index(head)
    distances = heads.distance_matrix(kind)
    points, kept = classical_scaling(distances)
    members = [group for group in groups(distances, GROUP) if len(group) > 1]
    summary = heads.summary
    are = "is" if summary.left_out == 1 else "are"
    left = f"; {summary.left_out:,} over the text limit {are} left out" if summary.left_out else ""
    count = "1 sentence" if summary.sentences == 1 else f"{summary.sentences:,} sentences"
    can_name = bool(head.written_pairs) or site_kind(kind).query_side == "target"
    rows = view.rows_named if can_name else "read"
    pairs = head.written_pairs if rows == "written" else head.read_pairs
    names = [[each.layer + 1, each.head + 1] for each in every]
    return {
        "kind": kind,
        "siteName": site_kind(kind).name,
        "kinds": [[each, theme.SITE_NAMES[each]] for each in heads.distances],
        "layer": layer + 1,
        "head": number + 1,
        "about": f"{count} ({summary.corpus}), {summary.tokens:,} tokens{left}",
        "answer": answer(corpus, head),
        "names": names,
        "points": np.round(points, 4).tolist(),
        "kept": round(kept, 3),
        "groups": [[names[n] for n in group] for group in members],
        "bound": GROUP,
        "similar": [[*names[n], round(value, 3)] for n, value in nearest(distances, index, SIMILAR)],
        "places": [[_places(kind)[name], round(share, 4)] for name, share in head.places.items() if share > 0],
        "metrics": [[name, METRICS[name].label] for name in METRICS if name in head.metrics]
        + ([[EFFECT, EFFECT_LABEL]] if corpus.sentences else []),
        "metric": _metric(corpus, view, head, every),
        "rows": rows if can_name else None,
        "pairs": [list(pair) for pair in pairs],
        "changed": None if head.changed is None else format_share(head.changed),
        "rank": _rank(heads, head),
        "roles": roles(corpus, head),
        "strongest": _strongest(corpus, view, head),
        "alignment": _alignment(corpus, layer, number, rows) if kind == "cross" else None,
    }


def _alignment(corpus: Corpus, layer: int, head: int, rows: str) -> dict[str, Any] | None:
    """Returns the mean alignment error rate of the heads of each layer: of the word written, and of the word read.

    Also the rate of the chosen head (from 0) with its interval, for the word that names a row, and what the rates show.
    """
    aligned = corpus.rates
    if aligned is None:
        return None
    by_layer = list(zip(aligned.rates["predicts"], aligned.rates["reads"], strict=True))
    means = [[round(float(np.mean([rate.error for rate in each])), 3) for each in pair] for pair in by_layer]
    rate = aligned.rates[ROWS_OF[rows]][layer][head].summary
    shown = {"reason": f"{CLAIM} {REASON}", "measured": _contrast(aligned, means)}
    return {"layers": means, "sentences": aligned.sentences, "rate": rate, **shown}


def _contrast(aligned: AlignmentRates, means: list[list[float]]) -> str:
    """Returns how many heads of the first and last layer align clearly better with the word read, or with that written."""
    texts, counts = [], []
    for n in dict.fromkeys((0, len(means) - 1)):
        pairs = list(zip(aligned.rates["reads"][n], aligned.rates["predicts"][n], strict=True))
        read, written = sum(r.high < w.low for r, w in pairs), sum(w.high < r.low for r, w in pairs)
        counts.append((2 * read > len(pairs), 2 * written > len(pairs)))
        texts.append(f"layer {n + 1}: {read} of {len(pairs)} heads better for the word read, {written} for the word written")
    is_shown = len(means) > 1 and counts[0][0] and counts[-1][1]
    begin = f"This checkpoint {'shows' if is_shown else 'does not show'} the contrast in most heads of both layers"
    return f"{begin} (95% intervals apart): {'; '.join(texts)}."


def _rank(heads: HeadsOverCorpus, head: HeadStatistics) -> list[int] | None:
    """Returns the place of a head by the size of its effect, and the number of heads."""
    if head.change is None:
        return None
    sizes = [abs(each.change.value) for each in heads.heads if each.change is not None]
    return [1 + sum(size > abs(head.change.value) for size in sizes), len(sizes)]


def _metric(corpus: Corpus, view: View, head: HeadStatistics, every: tuple[HeadStatistics, ...]) -> dict[str, Any] | None:
    """Returns the distribution of the chosen metric over the sentences; None where the head has no such number."""
    name = shown_metric(corpus, view, head)
    if name == EFFECT:
        return _effects(corpus)
    metric, of_head = METRICS[name], head.metrics.get(name)
    if of_head is None:
        return None
    low, high = corpus.heads.ranges[name]
    mean = of_head.mean

    def text(value: float | None) -> str:
        return "" if value is None else three_digits(value) if metric.unit else probability(value)

    return {
        "name": name,
        "label": metric.label,
        "unit": metric.unit,
        "meaning": metric.meaning,
        "counts": list(of_head.counts),
        "range": [low, high],
        "value": text(mean.value),
        "interval": "" if mean.low is None else f"{text(mean.low)} to {text(mean.high)}",
        "at": mean.value,
        "sentences": of_head.sentences,
        "others": [round(each.metrics[name].mean.value, 4) for each in every if name in each.metrics],
    }


def _effects(corpus: Corpus) -> dict[str, Any] | None:
    """Returns the distribution of the effect of a head on the visitor's own sentences."""
    from model.experiments.sweep import intervals

    if corpus.effect is None:
        return None
    changes = corpus.effect
    low, high = float(changes.min()), float(changes.max())
    counts, _ = np.histogram(changes, BINS, (low, high if high > low else low + 1e-6))
    mean, start, end = map(float, intervals(changes))
    return {
        "name": EFFECT,
        "label": EFFECT_LABEL,
        "unit": "nats",
        "meaning": "Change of the log-probability of the read tokens without this head, in nats a sentence",
        "counts": counts.tolist(),
        "range": [low, high if high > low else low + 1e-6],
        "value": signed(mean),
        "interval": "" if np.isnan(start) else f"{signed(start)} to {signed(end)}",
        "at": mean,
        "sentences": len(changes),
        "others": [],
    }


def values_of(corpus: Corpus, view: View, head: HeadStatistics) -> np.ndarray | None:
    """Returns the number of each of the visitor's own sentences that they are ranked by, [N]."""
    if corpus.measured is None:
        return None
    name = shown_metric(corpus, view, head)
    if name == EFFECT:
        return corpus.effect
    return corpus.measured.of_head(Site(head.site, head.layer), head.head, name)


def _strongest(corpus: Corpus, view: View, head: HeadStatistics) -> list[list[Any]]:
    """Returns the visitor's own sentences with the largest values: line from 1, text, and value.

    By effect the largest losses come first.
    """
    values = values_of(corpus, view, head)
    if values is None or corpus.measured is None:
        return []
    name = shown_metric(corpus, view, head)
    form = signed if name == EFFECT else three_digits if METRICS[name].unit else probability
    ranked = corpus.measured.ranked(values, RANKED, least_first=name == EFFECT)
    rows = ((*corpus.sentence(number), value) for number, value in ranked)
    return [[line, source_of(sentence), form(value)] for line, sentence, value in rows]
