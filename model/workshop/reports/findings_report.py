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
from ...io.numbers import MINUS, head_name
from ...io.package_names import COMMAND
from ...text.findings import ClaimResult, Findings
from ...text.head_statistics import HeadsOverCorpus
from ...text.measurements import AlignmentRates
from ...trace import Site
from .norm_alignment import NormComparison

PRUNED_SHARE = 38 / 48  # of encoder heads, in Voita et al. 2019
PRUNED_COST = 0.15  # BLEU
POSITIONAL = 0.9  # share of rows
SIGNIFICANT = 0.01  # p, in Michel et al. 2019
SEPARATOR = 0.3  # share of the weight from which a token is a sink (Gu et al. 2025)
PERMUTATIONS = 10_000
STORED = f"{COMMAND} report heads --store"
CLEAR = 0.05  # alignment error rate: smaller differences are near-ties


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

    def difference(self, texts: Sequence[str]) -> tuple[float, float, float, float]:
        """Returns the change of BLEU from the base, the ends of its 95% interval, and a two-sided p value."""
        score, samples = self.measure(texts)
        changes = samples - self.base_samples
        low, high = np.percentile(changes, INTERVAL)
        extreme = min((changes <= 0).sum(), (changes >= 0).sum())
        return score - self.base, float(low), float(high), min(1.0, 2 * (extreme + 1) / (len(changes) + 1))


def measure_findings(
    lab: Checkpoint,
    groups: Mapping[str, Sequence[str]],
    data: str,
    aligned: AlignmentRates | None,
    command: str,
    progress: Callable[[int], None] = lambda done: None,
    norms: NormComparison | None = None,
) -> Findings:
    """Tests every claim on the references of each source. Raises ValueError for a checkpoint without `heads.json`.

    The claims about alignment need `aligned` and `norms`; without them they are left out.
    """
    corpus = lab.head_statistics
    if lab.config.family != "encoder-decoder":
        raise ValueError(f"{lab.name} is {lab.config.family}; the claims are about encoder-decoders")
    if corpus is None or any(each.change is None for each in corpus.heads):
        raise ValueError(f"{lab.name} has no statistics of its heads; run report heads --store first")
    tested = conditions(lab, corpus)
    texts = translate_all(lab, list(groups), [BASELINE, *(each.edit for each in tested)], progress)
    bleu = PairedBleu(list(groups.values()))
    bleu.set_base([each[0] for each in texts])
    changes = {each.name: bleu.difference([row[n] for row in texts]) for n, each in enumerate(tested, 1)}
    found = [
        *_pruning(lab, changes, bleu.base, command),
        *_positional(corpus),
        *_single_heads(lab, changes, command),
        *_one_head(lab, changes, command),
        *_separators(corpus),
        *_layers(corpus),
        *([] if aligned is None else _alignment(aligned)),
        *([] if norms is None else _norms(norms, command)),
    ]
    return Findings(data, len(groups), tuple(found))


def _change(values: tuple[float, float, float, float]) -> str:
    return f"{values[0]:+.2f} BLEU ({values[1]:+.2f} to {values[2]:+.2f})".replace("-", MINUS)


def _pruning(
    lab: Checkpoint, changes: dict[str, tuple[float, float, float, float]], base: float, command: str
) -> Iterator[ClaimResult]:
    heads = lab.config.encoder_layers * lab.config.heads
    count = round(PRUNED_SHARE * heads)
    change = changes[f"{count} encoder heads off"]
    cheap = [n for n in pruned_counts(heads) if changes[f"{n} encoder heads off"][0] >= -PRUNED_COST]
    more = (
        f"Up to {max(cheap)} of them cost at most {PRUNED_COST} BLEU"
        if cheap
        else f"Even {pruned_counts(heads)[0]} cost more"
    )
    yield ClaimResult(
        "Voita et al. 2019",
        "38 of 48 encoder heads can be pruned at a cost of 0.15 BLEU (there the pruned model is trained further)",
        f"{count} of {heads} encoder heads off, those of least effect, without training: {_change(change)} from {base:.1f}. "
        f"{more}.",
        f"a loss of at most {PRUNED_COST} BLEU",
        change[0] >= -PRUNED_COST,
        command,
    )


def _positional(corpus: HeadsOverCorpus) -> Iterator[ClaimResult]:
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
        STORED,
    )


def _single_heads(
    lab: Checkpoint, changes: dict[str, tuple[float, float, float, float]], command: str
) -> Iterator[ClaimResult]:
    heads = [(site, head) for site, head in heads_of(lab) if site.kind == "encoder"]
    off = {site.head_name(head): changes[f"without {site.head_name(head)}"] for site, head in heads}
    significant = {name: change for name, change in off.items() if change[3] < SIGNIFICANT}
    worst = min(off, key=lambda name: off[name][0])
    yield ClaimResult(
        "Michel et al. 2019",
        "Few encoder heads matter alone: 8 of 96 change BLEU significantly (p < 0.01) when one is removed",
        f"{len(significant)} of {len(heads)} heads (paired bootstrap). The most, without {worst}: {_change(off[worst])}.",
        "fewer than half of the heads",
        2 * len(significant) < len(heads),
        command,
    )


def _one_head(lab: Checkpoint, changes: dict[str, tuple[float, float, float, float]], command: str) -> Iterator[ClaimResult]:
    layers = {
        f"{site.kind} {site.layer + 1}": (site, changes[f"one head in {site.kind} {site.layer + 1}"]) for site in sites(lab)
    }
    worst = min(layers, key=lambda name: layers[name][1][0])
    last = f"cross {lab.config.decoder_layers}"
    yield ClaimResult(
        "Michel et al. 2019",
        "With one head left in one layer, the last cross-attention layer loses most: 13.56 BLEU",
        f"The largest loss is in {worst}: {_change(layers[worst][1])}."
        if worst == last
        else f"The largest loss is in {worst}: {_change(layers[worst][1])}. In {last}: {_change(layers[last][1])}.",
        "the largest loss is in the last cross-attention layer",
        worst == last,
        command,
    )
    means = {
        kind: float(np.mean([change[0] for site, change in layers.values() if site.kind == kind]))
        for kind in ("encoder", "decoder", "cross")
    }
    text = ", ".join(f"{kind} {mean:+.2f}" for kind, mean in means.items()).replace("-", MINUS)
    yield ClaimResult(
        "Michel et al. 2019",
        "Encoder-decoder attention depends on several heads more than self-attention does",
        f"Mean change of BLEU with one head left in a layer: {text}.",
        "the mean loss of cross-attention is larger than both others",
        means["cross"] < min(means["encoder"], means["decoder"]),
        command,
    )


def _separators(corpus: HeadsOverCorpus) -> Iterator[ClaimResult]:
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
        STORED,
    )


def _layers(corpus: HeadsOverCorpus) -> Iterator[ClaimResult]:
    layers = np.array([each.layer for each in corpus.of_kind("encoder")])
    distances, upper = corpus.distance_matrix("encoder"), np.triu_indices(len(layers), 1)

    def gap(order: np.ndarray) -> tuple[float, float]:
        alike = (order[:, None] == order)[upper]
        return float(distances[upper][alike].mean()), float(distances[upper][~alike].mean())

    within, between = gap(layers)
    draw = np.random.default_rng(SEED)
    drawn = [gap(draw.permutation(layers)) for _ in range(PERMUTATIONS)]
    p = (1 + sum(other[0] - other[1] <= within - between for other in drawn)) / (1 + PERMUTATIONS)
    yield ClaimResult(
        "Clark et al. 2019",
        "Heads of the same layer are often similar (Jensen-Shannon divergence of their rows)",
        f"Encoder: mean divergence {within:.3f} bits within a layer, {between:.3f} between layers "
        f"(p = {p:.4f}, heads permuted over layers), over {corpus.summary.sentences:,} sentences.",
        "less within layers, p < 0.05",
        within < between and p < 0.05,
        STORED,
    )


def _alignment(aligned: AlignmentRates) -> Iterator[ClaimResult]:
    means = {
        name: [float(np.mean([rate.error for rate in layer])) for layer in rows] for name, rows in aligned.rates.items()
    }
    texts = [
        f"layer {n}: {read:.2f} read, {written:.2f} written"
        for n, (read, written) in enumerate(zip(means["reads"], means["predicts"], strict=True), 1)
    ]
    own = min(range(len(aligned.rates["reads"][0])), key=lambda head: aligned.rates["reads"][0][head].error)
    head, other = (aligned.rates[name][0][own] for name in ("reads", "predicts"))
    texts[-1] += f". Of layer 1, {head_name('cross', 0, own)} has {head.summary} read, {other.error:.2f} written"
    first, last = (means["reads"][n] - means["predicts"][n] for n in (0, -1))
    yield ClaimResult(
        "Kobayashi et al. 2020",
        "Early cross-attention layers align with the word just read, late ones with the word to be written",
        f"Mean alignment error rate of a layer's heads over {aligned.sentences:,} sentence pairs, by the word that names a "
        f"row: {'; '.join(texts)}.",
        f"in the first layer the word read is better by {CLEAR} or more, in the last one the word written",
        first <= -CLEAR and last >= CLEAR,
        f"{COMMAND} report alignment",
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
