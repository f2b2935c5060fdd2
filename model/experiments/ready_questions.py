"""Ready experiments: each is a question with an answer that is measured on request."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import checkpoint as checkpoints
from ..checkpoint import Checkpoint, CheckpointError, describe_trainings
from ..config import PAD
from ..edits.intervention import Intervention
from ..edits.kinds import Ablate, Place, Positions
from ..inference.analyse import analyse
from ..inference.analysis import Analysis
from ..inference.predictions import token_changes
from ..inference.request import Request
from ..io.numbers import probability, signed, three_digits
from ..readings.heads.trace_comparison import HeadPeaks, head_peaks
from ..text.languages import ENGLISH, record_of
from ..text.measurements import ROW_TEXTS, ROWS, read_alignment
from ..trace import Trace, site_kind
from .effects import effects, layer_skips

PADS = 8
PEEKING_SHARE = 0.8  # a decoder that gives a wrong target this share of its probability of the right one reads its input
MAX_PAIRS = 16  # words whose peaks are listed
OTHER = ENGLISH.other_sentence
AGENT, SWAPPED = ENGLISH.swapped_roles


@dataclass(frozen=True)
class Answer:
    """The measured result as text, and the request that shows it."""

    text: str
    request: Request
    counterpart: Request | None = None  # the request to compare it with


@dataclass(frozen=True)
class Experiment:
    """A question that one click answers, on the visitor's sentence or on an example."""

    name: str
    question: str
    measure: Callable[[Checkpoint, Request], Answer]
    needs: tuple[str, ...] = ()  # kinds of attention that the question needs
    needs_peer: bool = False  # compares a checkpoint with its peer; False: runs on a causal one

    def sentence_in(self, language: str) -> str | None:
        """Returns an example sentence in a language; None for a language without one."""
        return record_of(language).experiments.get(self.name)

    def run(self, checkpoint: Checkpoint, request: Request) -> Answer:
        """Measures the answer on a sentence. A model without a causal mask leaves it to its peer, which has one.

        Raises ValueError where the model lacks a kind of attention, CheckpointError where no peer fits, and RequestError as
        `analyse`.
        """
        if lacking := [kind for kind in self.needs if kind not in checkpoint.config.kinds]:
            raise ValueError(
                f"“{self.question}” needs {site_kind(lacking[0]).name}, which {checkpoint.name!r} lacks. Choose a "
                "checkpoint that translates, such as en-fr."
            )
        if not checkpoint.config.causal and not self.needs_peer:
            checkpoint = peer_of(checkpoint)
            request = dataclasses.replace(request, checkpoint=checkpoint.name)
        return self.measure(checkpoint, request)


def peer_of(checkpoint: Checkpoint) -> Checkpoint:
    """Loads the checkpoint of the same languages with the opposite causal mask, on the same device.

    Raises CheckpointError where the checkpoint names no peer, the peer is missing, or it does not fit.
    """
    causal = checkpoint.config.causal
    kind = f"a checkpoint of the same languages trained {'without' if causal else 'with'} the causal mask"
    if checkpoint.peer is None:
        raise CheckpointError(
            f"This question compares with {kind}. {checkpoint.name!r} names none: add its name to config.json as “peer”."
        )
    peer = checkpoints.load(checkpoint.peer, checkpoint.device)
    if peer.languages != checkpoint.languages:
        own, other = (" to ".join(each.languages) for each in (checkpoint, peer))
        raise CheckpointError(f"The peer of {checkpoint.name!r}, {peer.name!r}, translates {other}; expected {own}.")
    if peer.config.causal == causal:
        raise CheckpointError(f"The peer of {checkpoint.name!r}, {peer.name!r}, has the same decoder; expected {kind}.")
    return peer


def _decode_again(request: Request, intervention: Intervention, **changes: object) -> Request:
    plain = {"target": None, "prefix": "", "mode": "again", "intervention": intervention}
    return dataclasses.replace(request, **(plain | changes))


def _describe_outcome(analysis: Analysis, checkpoint: Checkpoint) -> str:
    """Describes the effect on the translation, continuation or label, and the near-ties at which the texts part.

    A model that writes nothing is described by the number of positions with another top token.
    """
    if analysis.trace.classes:
        was, now = (each.trace.predicted_axis.labels[0] for each in (analysis.baseline, analysis))
        (label,) = analysis.baseline.trace.predicted_axis.ids
        change = analysis.probability_change
        odds = " → ".join(probability(float(each[label])) for each in (change.before, change.after))
        if was == now:
            return f"The label stays “{was}”: {odds}."
        return f"The label “{was}” becomes “{now}”: {odds} for “{was}”."
    if analysis.trace.outputs is None:
        count, places = len(token_changes(analysis)), len(analysis.trace.scorable_rows)
        return f"The top token changes at {count} of {places} positions (without the ends)."
    before, after = analysis.baseline.translation, analysis.translation
    if before == after:
        return _sentence(f"The {analysis.task.output_noun} stays: “{after}”")
    tied = [each.describe(checkpoint.target_tokenizer.piece) for each in token_changes(analysis) if each.is_tie]
    return " ".join([_sentence(f"“{before}” becomes “{after}”"), *(f"They part at {tie}." for tie in tied)])


def _describe_own_text(text: str) -> str:
    if not text.strip():
        return "On its own it writes nothing."
    return _sentence(f"On its own it writes: “{text[:120]}”")


def _sentence(text: str) -> str:
    """Returns the text with a full stop, unless it ends with a quotation that has one."""
    return text if text[-2:-1] in (".", "!", "?", "…") else text + "."


def peeking(checkpoint: Checkpoint, request: Request) -> Answer:
    """Compares a decoder trained without the causal mask with one trained with it.

    Both score the translation of another sentence and of the right one. The first also translates on its own. The checkpoint
    is one of the two, its peer the other. Raises CheckpointError where there is no peer.
    """
    peer = peer_of(checkpoint)
    checkpoint, peeker = (checkpoint, peer) if checkpoint.config.causal else (peer, checkpoint)
    plain = {"checkpoint": checkpoint.name, "target": None, "intervention": Intervention(), "mode": "given"}
    own = analyse(checkpoint, dataclasses.replace(request, **plain))
    other = AGENT if own.request.source.strip() == OTHER else OTHER
    wrong = analyse(checkpoint, dataclasses.replace(request, source=other, other_sentences=(), **plain)).translation
    wrong_request = dataclasses.replace(own.request, checkpoint=peeker.name, target=wrong)

    def believed(lab: Checkpoint, target: str) -> float:
        """Returns the mean probability of a target's tokens."""
        analysis = analyse(lab, dataclasses.replace(wrong_request, checkpoint=lab.name, target=target))
        return float(analysis.trace.probabilities.mean())

    (wrong_peek, wrong_own), (right_peek, right_own) = (
        [believed(lab, target) for lab in (peeker, checkpoint)] for target in (wrong, own.translation)
    )
    cheats = wrong_peek > wrong_own and wrong_peek > PEEKING_SHARE * right_peek
    alone = analyse(peeker, dataclasses.replace(wrong_request, target=None))
    text = (
        f"{'Yes' if cheats else 'Hardly, here'}. “{wrong}” is a wrong translation of “{wrong_request.source.strip()}”. "
        f"{peeker.name} gives its tokens a probability of {wrong_peek:.0%} on average, {checkpoint.name} {wrong_own:.0%}. "
        f"For {checkpoint.name}’s own translation it is {right_peek:.0%} and {right_own:.0%}. "
        + (f"Trained without the causal mask, {peeker.name} copies each token from its input. " if cheats else "")
        + f"{_describe_own_text(alone.translation)} {describe_trainings(checkpoint, peeker)}".strip()
    )
    return Answer(text, wrong_request)


def padding(checkpoint: Checkpoint, request: Request) -> Answer:
    """Measures how much attention padding gets with its mask off."""
    unmasked = _decode_again(request, Intervention(padding_mask=False), extra_padding=PADS)
    analysis = analyse(checkpoint, unmasked)
    pads = analysis.trace.source.ids.count(PAD)  # includes the padding of the batch
    encoder, cross = (_share_on_padding(analysis.trace, kind) for kind in ("encoder", "cross"))
    text = (
        f"With {pads} pads and the padding mask off, padding gets {encoder:.0%} of the encoder's attention and {cross:.0%} "
        f"of the decoder's cross-attention. {_describe_outcome(analysis, checkpoint)}"
    )
    return Answer(text, unmasked)


def _share_on_padding(trace: Trace, kind: str) -> float:
    """Returns the mean weight of real queries on padding, over layers and heads."""
    pad = np.array([token == PAD for token in trace.source.ids])
    rows = ~pad if site_kind(kind).query_side == "source" else slice(None)
    shares = [p[:, rows][:, :, pad].sum(-1).mean() for site, p in trace.patterns.items() if site.kind == kind]
    return float(np.mean(shares))


def order(checkpoint: Checkpoint, request: Request) -> Answer:
    """Compares a sentence with another of the same words, without positions on the source."""
    off = Intervention(edits=(Positions("source", "off"),))
    pair = (request.source, turned_round(request.source))
    alone = {"other_sentences": (), "branches": (), "path": (), "extra_padding": 0}
    analyses = [analyse(checkpoint, _decode_again(request, off, source=s, **alone)) for s in pair]
    plain = [each.baseline.translation for each in analyses]
    same = analyses[0].translation == analyses[1].translation
    apart = three_digits(abs(analyses[0].hypothesis.score - analyses[1].hypothesis.score))
    text = (
        f"With positions: “{plain[0]}” and, for “{pair[1]}”, “{plain[1]}”; without positions on the source "
        + (f"both give “{analyses[0].translation}”" if same else " and ".join(f"“{f.translation}”" for f in analyses))
        + f": the two log-probabilities differ by {apart}."
    )
    return Answer(text, *(each.request for each in analyses))


def turned_round(sentence: str) -> str:
    """Returns another sentence of the same tokens: for the example its counterpart, else the words after the first in
    reverse."""
    if sentence in (AGENT, SWAPPED):
        return SWAPPED if sentence == AGENT else AGENT
    words = sentence.split()
    end = words[-1][len(words[-1].rstrip(".!?…")) :]
    words[-1] = words[-1].removesuffix(end)
    return " ".join([words[0], *words[:0:-1]]) + end


def scaling(checkpoint: Checkpoint, request: Request) -> Answer:
    """Measures attention without the division of scores by sqrt(d_k)."""
    unscaled = _decode_again(request, Intervention(scaling=False))
    analysis = analyse(checkpoint, unscaled)
    before, after = (_largest_weight(trace) for trace in (analysis.baseline.trace, analysis.trace))
    width = checkpoint.config.head_dim
    text = (
        f"Without the division by √{width} the largest weight of a row is {probability(after)} on average, not "
        f"{probability(before)}"
        f"{': softmax is closer to all or nothing' if after > before else ''}. {_describe_outcome(analysis, checkpoint)}"
    )
    return Answer(text, unscaled)


def _largest_weight(trace: Trace) -> float:
    return float(np.mean([pattern.max(axis=-1).mean() for pattern in trace.patterns.values()]))


def aligning(checkpoint: Checkpoint, request: Request) -> Answer:
    """Names the cross-attention head that aligns words, and ablates it.

    It is the head with the lowest measured alignment error rate, else the one that pairs most words of this sentence.
    """
    trace = analyse(checkpoint, dataclasses.replace(request, intervention=Intervention(), mode="given")).trace
    known, heads = (
        read_alignment(checkpoint.metrics),
        f"{len(trace.sites('cross')) * checkpoint.config.heads} cross-attention heads",
    )
    if known is not None and known.covers(checkpoint.config.decoder_layers, checkpoint.config.heads):
        place, (rows, rate) = known.best_head, known.best_row(*known.best_head)
        head = next(head_peak for head_peak in head_peaks(trace, rows) if (head_peak.site.layer, head_peak.head) == place)
        text = (
            f"{'Yes' if rate.high < known.diagonal.low else 'No'}, by {known.sentences:,} sentence pairs aligned by "
            f"people: of {heads}, {head.site.head_name(head.head)} has the lowest alignment error rate (0 is perfect), "
            f"{rate.summary}, {ROW_TEXTS[rows]}. The diagonal, which ignores the words, has {known.diagonal.summary}."
        )
    else:
        head = max(
            (head_peak for rows in ROWS for head_peak in head_peaks(trace, rows)), key=lambda head_peak: head_peak.mutual
        )
        text = (
            f"This checkpoint has no such measurement. Of {heads}, {head.site.head_name(head.head)} pairs the most words "
            f"here, {ROW_TEXTS[head.rows]}: {head.mutual} target words and a source word attend most to each other. "
            "Check the meanings yourself."
        )
    ablated = _decode_again(request, Intervention(edits=(Ablate(Place("cross", head.site.layer, head.head)),)))
    outcome = _describe_outcome(analyse(checkpoint, ablated), checkpoint)
    return Answer(f"{text} {_describe_peaks(head)} With this head switched off: {outcome}", ablated)


def _describe_peaks(head: HeadPeaks) -> str:
    """Describes the source word that a head attends to most for each target word."""
    if not head.peaks:
        return "This sentence has no words to align."
    named = ", ".join(f"{target} → {source or 'no word'}" for target, source, _ in head.peaks[:MAX_PAIRS])
    off = len(head.peaks) - head.on_diagonal
    return (
        f"Here it attends most to: {named}{', …' if len(head.peaks) > MAX_PAIRS else ''}; {off} of these "
        f"{len(head.peaks)} peaks lie off the diagonal."
    )


def skipping(checkpoint: Checkpoint, request: Request) -> Answer:
    """Skips every layer in turn."""
    plain = dataclasses.replace(request, intervention=Intervention(), mode="given")
    skips = layer_skips(checkpoint)
    results = dict(zip(skips, effects(checkpoint, plain, list(skips.values())), strict=True))
    ranked = sorted(results, key=lambda name: -results[name].change)
    best, worst = ranked[0], ranked[-1]
    skipped = _decode_again(request, skips[best])
    gain, loss = (signed(results[name].change) for name in (best, worst))
    gains, outcome = results[best].change > 0, analyse(checkpoint, skipped)
    text = (
        f"Skipping {best} {'even helps' if gains else 'costs least'}: the {outcome.score_label} changes by {gain} nats. "
        f"Skipping {worst} costs most: {loss} nats. "
    )
    return Answer(text + _describe_outcome(outcome, checkpoint), skipped)


_BOTH = ("encoder", "cross")
EXPERIMENTS = (
    Experiment("peek", "Does a peeking decoder cheat?", peeking, ("cross",), needs_peer=True),
    Experiment("padding", "Who attends to padding?", padding, ("encoder", "cross")),
    Experiment("order", "Who likes whom without positions?", order, _BOTH),
    Experiment("scaling", "Does it need the √dₖ?", scaling),
    Experiment("align", "Does one head align?", aligning, ("cross",)),
    Experiment("skip", "Which layer can be skipped?", skipping),
)
