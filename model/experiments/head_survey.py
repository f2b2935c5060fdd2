"""Measures every head over many sentences: its metrics, where its largest weights fall, the words it links, its effect.

Patterns need one pass a sentence. The effect of switching a head off needs one more, for each head.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..checkpoint import Checkpoint
from ..config import MAX_CHARACTERS, MAX_TOKENS
from ..edits.intervention import BASELINE, Intervention
from ..edits.kinds import Ablate, Place
from ..inference.passes import target_log_probs, teacher_force
from ..inference.request import Request
from ..inference.scores import Score
from ..readings.heads.head_metrics import Rows, applicable_metrics
from ..readings.heads.head_roles import MEASURES
from ..text.head_statistics import BINS, PLACES, CorpusSummary, HeadsOverCorpus, HeadStatistics, Mean, MetricStatistics
from ..trace import Site, Trace
from .effects import tokens_of
from .head_counts import KindCounts
from .sweep import Sentence, SentenceEffects, every_head, heads_of, intervals, sentence_effects

UNBOUNDED = ("entropy", "distance")  # metrics that are no shares
Ids = Sequence[int] | None


def pattern_sums(trace: Trace, lab: Checkpoint) -> tuple[np.ndarray, np.ndarray]:
    """Returns for each measure and head the sum over rows, and the number of rows: [M,E] each.

    A metric that does not apply to the site has no row: mask and tokens fix its value (see `applicable_metrics`).
    """
    sums, counts = [], []
    for site in dict.fromkeys(site for site, _ in heads_of(lab)):
        keys = trace.keys(site)
        total, number = Rows.of(trace.patterns[site], keys, mask=trace.masks[site]).sums(
            measure for _, measure in MEASURES.values()
        )
        names = applicable_metrics(trace.masks[site], keys, site.spec.is_self)
        applies = np.array([metric in names for metric, _ in MEASURES.values()])[:, None]  # [M,1]
        sums.append(total * applies)
        counts.append(number * applies)
    return np.concatenate(sums, axis=1), np.concatenate(counts, axis=1)


class HeadSurvey:
    """Gathers the traces of many sentences, one after the other."""

    def __init__(self, lab: Checkpoint) -> None:
        self.lab, self.heads = lab, heads_of(lab)
        kinds = Counter(site.kind for site, _ in self.heads)
        self._kinds = {kind: KindCounts.of(count) for kind, count in kinds.items()}

    def add(self, trace: Trace) -> None:
        for kind, survey in self._kinds.items():
            survey.add(trace, kind)

    def statistics(
        self, sums: np.ndarray, counts: np.ndarray, summary: CorpusSummary, effects: Sequence[np.ndarray] | None = None
    ) -> HeadsOverCorpus:
        """Returns the statistics of N sentences with the sums and counts of `pattern_sums`, [N,M,E] each.

        `effects` are change and change of output, [N,E] each.
        """
        number, size = len(sums), len(self.heads)
        means = sentence_means(sums, counts)
        each = intervals(sums.reshape(number, -1), counts.reshape(number, -1)).reshape(3, -1, size)  # [3,M,E]
        ranges = {}
        for m, name in enumerate(MEASURES):
            largest = np.nanmax(means[:, m], initial=0.0) if name in UNBOUNDED else 1.0
            ranges[name] = (0.0, float(largest) or 1.0)
        ended = None if effects is None else [intervals(values) for values in effects]  # [3,E] each
        heads, places = [], Counter[str]()
        for e, (site, head) in enumerate(self.heads):
            survey, place = self._kinds[site.kind], places[site.kind]
            places[site.kind] += 1
            metrics = {}
            for m, name in enumerate(MEASURES):
                if counts[:, m, e].any():
                    values = means[:, m, e]
                    bins, _ = np.histogram(values[~np.isnan(values)], BINS, ranges[name])
                    metrics[name] = MetricStatistics(_mean(each[:, m, e]), tuple(bins.tolist()))
            shares = survey.places[place] / max(1, survey.rows)
            read, written = (survey.pairs(name, place) for name in ("read", "written"))
            change, changed = (None, None) if ended is None else (_mean(values[:, e]) for values in ended)
            heads.append(
                HeadStatistics(
                    *site, head, metrics, dict(zip(PLACES, shares.tolist(), strict=True)), read, written, change, changed
                )
            )
        distances: dict[str, tuple[float, ...]] = {
            kind: tuple(
                (survey.divergence / max(1, survey.rows))[np.triu_indices(len(survey.places), 1)].clip(0, 1).tolist()
            )
            for kind, survey in self._kinds.items()
        }
        return HeadsOverCorpus(summary, ranges, distances, tuple(heads))


def _mean(values: np.ndarray) -> Mean:
    value, low, high = map(float, values)
    return Mean(value, None, None) if np.isnan(low) else Mean(value, low, high)


@dataclass(frozen=True)
class MeasuredHeads:
    """All heads over N sentences. `numbers` [N] count the given sentences from 1; `values` [N,M,E] are the means of each
    sentence, nan where a metric does not apply; `ids` are the source and target tokens that were read."""

    statistics: HeadsOverCorpus
    numbers: tuple[int, ...]
    values: np.ndarray = field(repr=False)
    heads: tuple[tuple[Site, int], ...] = field(repr=False)
    ids: tuple[tuple[Ids, Ids], ...] = field(repr=False)

    def of_head(self, site: Site, head: int, metric: str) -> np.ndarray:
        """Returns a metric of a head (from 0) in each sentence, [N]. Raises ValueError for an unknown metric or head."""
        if metric not in MEASURES:
            raise ValueError(f"There is no metric {metric!r}; expected one of {', '.join(MEASURES)}.")
        if (site, head) not in self.heads:
            place = f"head {head} in layer {site.layer} of {site.kind}, counted from 0"
            raise ValueError(f"This model has no {place}; expected one of its {len(self.heads)} heads.")
        return self.values[:, tuple(MEASURES).index(metric), self.heads.index((site, head))]

    def strongest(self, site: Site, head: int, metric: str, count: int = 10) -> list[tuple[int, float]]:
        """Returns the sentences with the largest values of a metric: their numbers, from 1, and the values."""
        return self.ranked(self.of_head(site, head, metric), count)

    def ranked(self, values: np.ndarray, count: int, least_first: bool = False) -> list[tuple[int, float]]:
        """Returns the sentences with the largest of some values [N], or the least: their numbers, from 1, and the values.

        Sentences without a value (nan) are left out.
        """
        order = np.argsort(values if least_first else -values, kind="stable")[: int((~np.isnan(values)).sum())]
        return [(self.numbers[n], float(values[n])) for n in order[:count]]


def is_within_limit(lab: Checkpoint, sentence: Sentence) -> bool:
    """True for a sentence that `measure_heads` measures; nothing is decoded."""
    return sentence_tokens(lab, sentence, ()) is not None


def sentence_tokens(lab: Checkpoint, sentence: Sentence, known: Ids = None) -> tuple[Ids, Ids] | None:
    """Returns the source and target ids that are read: a model's own translation, unless the target is given or `known`.

    A language model reads the text itself. None over the text limit, or if the vocabulary lacks a character.
    """
    source, target = (sentence, None) if isinstance(sentence, str) else sentence
    if len(source) > MAX_CHARACTERS or len(target or "") > MAX_CHARACTERS:
        return None
    if target is None and "encoder" not in lab.config.kinds:
        source, target = "", source
    try:
        return tokens_of(lab, Request(source, target=target), known if target is None else None)
    except ValueError:
        return None


def none_within_limit(lab: Checkpoint) -> str:
    """Returns the error message of sentences that are all over the text limit."""
    return f"No sentence is within the text limit of {text_limit(lab)}; expected at least one. Shorten the sentences."


def text_limit(lab: Checkpoint) -> str:
    """Returns the longest text with its unit, such as `128 tokens`."""
    return f"{lab.config.clamp_length(MAX_TOKENS)} tokens"


def measure_heads(
    checkpoint: Checkpoint,
    sentences: Sequence[Sentence],
    progress: Callable[[float], None] | None = None,
    effects: bool = False,
    name: str = "",
) -> MeasuredHeads:
    """Measures every head over sentences; those over the text limit are left out.

    Args:
        checkpoint: the checkpoint, as `load` returns it.
        sentences: sources, each read with the model's own greedy translation, or pairs of source and target. A language
            model reads the text itself.
        progress: receives the share of the sentences that is done.
        effects: also switches off every head in turn: about as many passes as the model has heads, for each sentence.
        name: of the corpus, in the result.

    Raises ValueError for one text instead of a list, and where no sentence is left.
    """
    if isinstance(sentences, str):
        raise ValueError("The sentences are one text; expected a list of texts, such as [text].")
    survey = HeadSurvey(checkpoint)
    sums: list[np.ndarray] = []
    counts: list[np.ndarray] = []
    numbers: list[int] = []
    read: list[tuple[Ids, Ids]] = []
    changes: list[SentenceEffects] = []
    score: Score | None = None if "encoder" in checkpoint.config.kinds else "all"
    for number, sentence in enumerate(sentences, 1):
        ids = sentence_tokens(checkpoint, sentence)
        effect = (
            sentence_effects(checkpoint, sentence, every_head(checkpoint), score) if effects and ids is not None else None
        )
        if ids is not None and (effect is not None or not effects):
            (trace,) = teacher_force(checkpoint, *ids, [BASELINE])
            survey.add(trace)
            total, rows = pattern_sums(trace, checkpoint)
            sums.append(total)
            counts.append(rows)
            numbers.append(number)
            read.append(ids)
            changes += [] if effect is None else [effect]
        if progress is not None:
            progress(number / len(sentences))
    if not numbers:
        raise ValueError(none_within_limit(checkpoint))
    both = (
        [np.array([getattr(each, which) for each in changes], dtype=float) for which in ("change", "changed")]
        if effects
        else None
    )
    tokens = sum(len(source or ()) if target is None else len(target) for source, target in read)
    scored = changes[0].scored_tokens if changes else ""
    summary = CorpusSummary("", "", name, scored, len(numbers), len(sentences) - len(numbers), tokens)
    values = sentence_means(np.array(sums), np.array(counts))
    statistics = survey.statistics(np.array(sums), np.array(counts), summary, both)
    return MeasuredHeads(statistics, tuple(numbers), values, tuple(survey.heads), tuple(read))


def sentence_means(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Returns the mean of each sentence from sums over rows and their counts, [N,M,E] each; nan without a row."""
    values: np.ndarray = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    values.flags.writeable = False
    return values


def effect_of_head(
    checkpoint: Checkpoint, measured: MeasuredHeads, site: Site, head: int, progress: Callable[[float], None] | None = None
) -> np.ndarray:
    """Switches one head off in each of N measured sentences. Returns the change of the log-probability in nats, [N].

    It is summed over the tokens that were read: the translation, the text of a language model, the scored tokens of a model
    that fills in, or the label.

    Args:
        checkpoint: the checkpoint that was measured.
        measured: the result of `measure_heads`.
        site: the site of the head.
        head: its number, from 0.
        progress: receives the share of the sentences that is done.
    """
    edit, changes = Intervention(edits=(Ablate(Place(*site, head)),)), []
    for source, target in measured.ids:
        before, after = target_log_probs(checkpoint, source, target, [BASELINE, edit]).sum(-1, dtype=np.float64)
        changes.append(after - before)
        if progress is not None:
            progress(len(changes) / len(measured.ids))
    return np.array(changes)
