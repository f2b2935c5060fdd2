"""Tests published claims about heads on an encoder-decoder: pruning, single heads, one head a layer, separators, alignment.

Each sentence is translated greedily under every condition in one batch. Nothing is trained again after pruning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sacrebleu.metrics import BLEU

from ...checkpoint import Checkpoint
from ...edits.intervention import BASELINE, Intervention
from ...edits.kinds import Ablate, Place
from ...experiments.effects import ROWS, sites, tokens_of
from ...experiments.sweep import INTERVAL, RESAMPLES, SEED, every_head, heads_of
from ...inference.request import Request
from ...inference.targets import decode_each_edit
from ...io.numbers import MINUS
from ...io.package_names import COMMAND
from ...text.findings import ClaimResult, Findings
from ...text.head_statistics import HeadsOverCorpus
from ...trace import Site
from .norm_alignment import NormComparison

PRUNED_SHARE = 38 / 48  # of encoder heads, in Voita et al. 2019
PRUNED_COST = 0.15  # BLEU
POSITIONAL = 0.9  # share of rows
SIGNIFICANT = 0.01  # p, in Michel et al. 2019
SEPARATOR = 0.3  # share of the weight from which a token is a sink (Gu et al. 2025)
PERMUTATIONS = 10_000
KINDS = ("encoder", "decoder", "cross")
CLEAR = 0.05  # alignment error rate: smaller differences are near-ties


@dataclass(frozen=True)
class BleuChange:
    """A change of BLEU from the base with its 95% interval and two-sided p value, and `samples` [R] of the bootstrap."""

    value: float
    low: float
    high: float
    p: float
    samples: np.ndarray

    @classmethod
    def of(cls, value: float, samples: np.ndarray) -> BleuChange:
        low, high = np.percentile(samples, INTERVAL)
        extreme = min((samples <= 0).sum(), (samples >= 0).sum())
        return cls(value, float(low), float(high), min(1.0, 2 * (extreme + 1) / (len(samples) + 1)), samples)

    @classmethod
    def mean(cls, changes: Sequence[BleuChange]) -> BleuChange:
        return cls.of(float(np.mean([each.value for each in changes])), np.mean([each.samples for each in changes], axis=0))

    def minus(self, other: BleuChange) -> BleuChange:
        """Returns the difference of two changes over the same samples."""
        return self.of(self.value - other.value, self.samples - other.samples)

    def __str__(self) -> str:
        return f"{self.value:+.2f} BLEU ({self.low:+.2f} to {self.high:+.2f})".replace("-", MINUS)


@dataclass(frozen=True)
class Condition:
    """A set of heads that are off."""

    name: str
    edit: Intervention


def without(heads: Sequence[tuple[Site, int]]) -> Intervention:
    """Returns the intervention that ablates all these heads."""
    return Intervention(edits=tuple(Ablate(Place(*site, head)) for site, head in heads))


def conditions(lab: Checkpoint, corpus: HeadsOverCorpus) -> list[Condition]:
    """Returns all conditions: each head off alone, all heads of a layer but the best, and pruned encoder heads."""
    size = {(each.site, each.layer, each.head): each.change.value if each.change else 0.0 for each in corpus.heads}
    heads = heads_of(lab)
    found = [
        Condition(f"without {site.head_name(head)}", edit) for (site, head), edit in zip(heads, every_head(lab), strict=True)
    ]
    for site in sites(lab):
        mine = sorted((each for each in heads if each[0] == site), key=lambda each: size[(*each[0], each[1])])
        found.append(Condition(f"one head in {site.kind} {site.layer + 1}", without(mine[1:])))  # the largest loss stays
    encoder = sorted((each for each in heads if each[0].kind == "encoder"), key=lambda each: abs(size[(*each[0], each[1])]))
    for count in sorted({*pruned_counts(len(encoder)), round(PRUNED_SHARE * len(encoder))}):
        found.append(Condition(f"{count} encoder heads off", without(encoder[:count])))
    return found


def pruned_counts(heads: int) -> list[int]:
    """Returns how many encoder heads are pruned at once: eighths of all."""
    return sorted({round(heads * n / 8) for n in range(1, 8)} - {0})


def translate_all(
    lab: Checkpoint, sources: Sequence[str], edits: Sequence[Intervention], progress: Callable[[int], None]
) -> list[list[str]]:
    """Returns the greedy translation of each source under each intervention, [N][C]."""
    texts = []
    for source in sources:
        request = Request(source)
        ids, _ = tokens_of(lab, request, ())
        mine: list[str] = []
        for first in range(0, len(edits), ROWS):
            trees = decode_each_edit(lab, request, ids or (), edits[first : first + ROWS])
            mine += [lab.target_tokenizer.decode(tree[0].ids) for tree in trees]
        texts.append(mine)
        progress(1)
    return texts


class PairedBleu:
    """BLEU of several systems over the same sentences, with differences from the first one over paired bootstrap samples."""

    def __init__(self, references: Sequence[Sequence[str]]) -> None:
        most = max(map(len, references))
        self._streams = [[each[n] if n < len(each) else None for each in references] for n in range(most)]
        self._bleu = BLEU(references=self._streams)
        draw = np.random.default_rng(SEED)
        self._weights = draw.multinomial(len(references), np.full(len(references), 1 / len(references)), RESAMPLES)  # [R,N]
        self.base, self.base_samples = 0.0, np.zeros(RESAMPLES)

    def measure(self, texts: Sequence[str]) -> tuple[float, np.ndarray]:
        """Returns BLEU, and BLEU of each bootstrap sample, [R]."""
        rows = np.array(self._bleu._extract_corpus_statistics(list(texts), None), dtype=np.float64)  # [N,2+2*4]
        samples = self._weights @ rows
        return self._score(rows.sum(0)), np.array([self._score(each) for each in samples])

    def _score(self, sums: np.ndarray) -> float:
        return self._bleu._compute_score_from_stats([round(each) for each in sums]).score

    def set_base(self, texts: Sequence[str]) -> None:
        self.base, self.base_samples = self.measure(texts)

    def difference(self, texts: Sequence[str]) -> BleuChange:
        """Returns the change of BLEU from the base."""
        score, samples = self.measure(texts)
        return BleuChange.of(score - self.base, samples - self.base_samples)


def measure_findings(
    lab: Checkpoint,
    groups: Mapping[str, Sequence[str]],
    data: str,
    command: str,
    data_name: str,
    progress: Callable[[int], None] = lambda done: None,
    norms: NormComparison | None = None,
) -> Findings:
    """Tests every claim on the references of each source. Raises ValueError for a checkpoint without `heads.json`.

    `command` repeats the test with the file `data_name`. Without `norms`, the claims about alignment are left out.
    """
    corpus = lab.head_statistics
    if lab.config.family != "encoder-decoder":
        raise ValueError(f"{lab.name} is {lab.config.family}; the claims are about encoder-decoders")
    if corpus is None or any(each.change is None for each in corpus.heads):
        raise ValueError(f"{lab.name} has no statistics of its heads; run report heads --data FILE --store first")
    tested = conditions(lab, corpus)
    texts = translate_all(lab, list(groups), [BASELINE, *(each.edit for each in tested)], progress)
    bleu = PairedBleu(list(groups.values()))
    bleu.set_base([each[0] for each in texts])
    changes = {each.name: bleu.difference([row[n] for row in texts]) for n, each in enumerate(tested, 1)}
    stored = f"{COMMAND} report heads --checkpoint {lab.name} --data {data_name} --store"
    found = [
        *_pruning(lab, changes, bleu.base, command),
        *_positional(corpus, stored),
        *_single_heads(lab, changes, command),
        *_one_head(lab, changes, command),
        *_separators(corpus, stored),
        *_layers(corpus, stored),
        *([] if norms is None else (*_alignment(norms, command), *_norms(norms, command))),
    ]
    return Findings(data, len(groups), tuple(found))


def _pruning(lab: Checkpoint, changes: dict[str, BleuChange], base: float, command: str) -> Iterator[ClaimResult]:
    heads = lab.config.encoder_layers * lab.config.heads
    count = round(PRUNED_SHARE * heads)
    change = changes[f"{count} encoder heads off"]
    cheap = [n for n in pruned_counts(heads) if changes[f"{n} encoder heads off"].value >= -PRUNED_COST]
    more = (
        f"Up to {max(cheap)} of them cost at most {PRUNED_COST} BLEU"
        if cheap
        else f"Even {pruned_counts(heads)[0]} cost more"
    )
    yield ClaimResult(
        "Voita et al. 2019",
        "38 of 48 encoder heads can be pruned at a cost of 0.15 BLEU (there the pruned model is trained further)",
        f"{count} of {heads} encoder heads off, those of least effect, without training: {change} from {base:.1f}. {more}.",
        f"a loss of at most {PRUNED_COST} BLEU",
        change.value >= -PRUNED_COST,
        command,
    )


def _positional(corpus: HeadsOverCorpus, command: str) -> Iterator[ClaimResult]:
    encoder, names = corpus.of_kind("encoder"), {"previous_peak": "previous", "next_peak": "next", "same_peak": "own"}
    best = max(
        (
            (each.metrics[name].mean, each.name, where)
            for each in encoder
            for name, where in names.items()
            if name in each.metrics
        )
    )
    count = sum(
        any(each.metrics[name].mean.value >= POSITIONAL for name in names if name in each.metrics) for each in encoder
    )
    mean, name, where = best
    interval = "" if mean.low is None else f" ({100 * mean.low:.0f} to {100 * (mean.high or 0):.0f})"
    yield ClaimResult(
        "Voita et al. 2019",
        "Some encoder heads are positional: their largest weight is on one neighbour in at least 90% of the rows",
        f"{count} of {len(encoder)} heads. Nearest is {name}: the {where} token in {mean.value:.0%}{interval} of its rows, "
        f"over {corpus.summary.sentences:,} sentences.",
        "at least one head",
        count > 0,
        command,
    )


def _single_heads(lab: Checkpoint, changes: dict[str, BleuChange], command: str) -> Iterator[ClaimResult]:
    heads = [(site, head) for site, head in heads_of(lab) if site.kind == "encoder"]
    off = {site.head_name(head): changes[f"without {site.head_name(head)}"] for site, head in heads}
    significant = {name: change for name, change in off.items() if change.p < SIGNIFICANT}
    worst = min(off, key=lambda name: off[name].value)
    yield ClaimResult(
        "Michel et al. 2019",
        "Few encoder heads matter alone: 8 of 96 change BLEU significantly (p < 0.01) when one is removed",
        f"{len(significant)} of {len(heads)} heads (paired bootstrap). The most, without {worst}: {off[worst]}.",
        "fewer than half of the heads",
        2 * len(significant) < len(heads),
        command,
    )


def _one_head(lab: Checkpoint, changes: dict[str, BleuChange], command: str) -> Iterator[ClaimResult]:
    layers = {f"{site.kind} {site.layer + 1}": changes[f"one head in {site.kind} {site.layer + 1}"] for site in sites(lab)}
    worst, second, *_ = sorted(layers, key=lambda name: layers[name].value)
    last = f"cross {lab.config.decoder_layers}"
    other = second if worst == last else last
    apart = layers[worst].minus(layers[other])
    yield ClaimResult(
        "Michel et al. 2019",
        "With one head left in one layer, the last cross-attention layer loses most: 13.56 BLEU",
        f"The largest loss is in {worst}: {layers[worst]}. In {other}: {layers[other]}; difference {apart}.",
        "the largest loss is in the last cross-attention layer, and the 95% interval of the difference is below 0",
        worst == last and apart.high < 0,
        command,
    )
    kinds = {kind: BleuChange.mean([each for name, each in layers.items() if name.startswith(kind)]) for kind in KINDS}
    nearest = min(kinds["encoder"], kinds["decoder"], key=lambda each: each.value)
    apart = kinds["cross"].minus(nearest)
    text = ", ".join(f"{kind} {mean}" for kind, mean in kinds.items())
    yield ClaimResult(
        "Michel et al. 2019",
        "Encoder-decoder attention depends on several heads more than self-attention does",
        f"Mean change with one head left in a layer: {text}; cross minus the larger loss of the others {apart}.",
        "the mean loss of cross-attention is larger than both others, and the 95% interval of the difference is below 0",
        apart.high < 0,
        command,
    )


def _separators(corpus: HeadsOverCorpus, command: str) -> Iterator[ClaimResult]:
    encoder = corpus.of_kind("encoder")
    on_end = {each.name: each.metrics["end"].mean for each in encoder}
    resting = [name for name, mean in on_end.items() if mean.value >= SEPARATOR]
    most = max(on_end, key=lambda name: on_end[name].value)
    mean = on_end[most]
    interval = "" if mean.low is None else f" ({100 * mean.low:.0f} to {100 * (mean.high or 0):.0f})"
    yield ClaimResult(
        "Clark et al. 2019",
        "Many heads of BERT rest on the separator [SEP]; here it is </s> in the encoder",
        f"{len(resting)} of {len(encoder)} encoder heads have at least {SEPARATOR:.0%} of their weight on </s>. "
        f"Most has {most}: {mean.value:.0%}{interval}, over {corpus.summary.sentences:,} sentences.",
        "at least a quarter of the heads",
        4 * len(resting) >= len(encoder),
        command,
    )


def _layers(corpus: HeadsOverCorpus, command: str) -> Iterator[ClaimResult]:
    layers = np.array([each.layer for each in corpus.of_kind("encoder")])
    distances, upper = corpus.distance_matrix("encoder"), np.triu_indices(len(layers), 1)

    def gap(order: np.ndarray) -> tuple[float, float]:
        alike = (order[:, None] == order)[upper]
        return float(distances[upper][alike].mean()), float(distances[upper][~alike].mean())

    within, between = gap(layers)
    draw = np.random.default_rng(SEED)
    drawn = np.array([np.subtract(*gap(draw.permutation(layers))) for _ in range(PERMUTATIONS)])
    change, (low, high) = within - between, np.percentile(drawn, INTERVAL)
    p = (1 + int((drawn <= change).sum())) / (1 + PERMUTATIONS)
    differences = f"{change:+.3f}, with heads permuted over layers {low:+.3f} to {high:+.3f} (95%)".replace("-", MINUS)
    yield ClaimResult(
        "Clark et al. 2019",
        "Heads of the same layer are often similar (Jensen-Shannon divergence of their rows)",
        f"Encoder: mean divergence {within:.3f} bits within a layer, {between:.3f} between layers; "
        f"difference {differences}, p = {p:.4f}, over {corpus.summary.sentences:,} sentences.",
        "less within layers, p < 0.05",
        change < 0 and p < 0.05,
        command,
    )


def _alignment(compared: NormComparison, command: str) -> Iterator[ClaimResult]:
    def interval(value: float, low: float, high: float, form: str = "") -> str:
        return f"{value:{form}.2f} ({low:{form}.2f} to {high:{form}.2f})".replace("-", MINUS)

    rows = zip(compared.head_means["reads"], compared.head_means["predicts"], compared.shifts, strict=True)
    texts = [
        f"layer {n}: {interval(*read)} read, {interval(*written)} written, difference {interval(*shift, '+')}"
        for n, (read, written, shift) in enumerate(rows, 1)
    ]
    first, last = compared.shifts[0], compared.shifts[-1]
    yield ClaimResult(
        "Kobayashi et al. 2020",
        "Early cross-attention layers align with the word just read, late ones with the word to be written",
        f"Mean alignment error rate of a layer's heads over {compared.sentences:,} sentence pairs, by the word that names a "
        f"row: {'; '.join(texts)}.",
        f"in the first layer the word read is better by {CLEAR} or more, in the last one the word written",
        first[0] <= -CLEAR and last[0] >= CLEAR and first[2] < 0 < last[1],
        command,
    )


def _norms(compared: NormComparison, command: str) -> Iterator[ClaimResult]:
    for name, verb, published in (("predicts", "written", "0.414 against 0.477"), ("reads", "read", "0.250 against 0.298")):
        (layer, weights), (other, norms) = (compared.layers[name][reading] for reading in ("weights", "norms"))
        change, low, high = compared.differences[name]
        difference = f"{change:+.3f} ({low:+.3f} to {high:+.3f})".replace("-", MINUS)
        yield ClaimResult(
            "Kobayashi et al. 2020",
            f"Norms of weighted values align with the word {verb} better than weights do: error rate {published}",
            f"Best layer, all heads together, over {compared.sentences:,} sentence pairs: norms {norms:.3f} "
            f"(layer {other + 1}), weights {weights:.3f} (layer {layer + 1}), difference {difference}.",
            "the difference is below 0, and so is its 95% interval",
            high < 0,
            command,
        )
