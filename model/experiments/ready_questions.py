"""Ready experiments: each a question, the request that shows it, and an answer that is measured when it is asked."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from model import checkpoint as checkpoints
from model.checkpoint import Checkpoint, CheckpointError
from model.config import PAD
from model.edits.intervention import Intervention
from model.edits.kinds import Ablate, Place, Positions
from model.experiments.effects import effects, layer_skips
from model.inference.analyse import analyse
from model.inference.analysis import Analysis
from model.inference.decisions import turns
from model.inference.request import Request
from model.io.numbers import signed
from model.readings.heads.alignment import HeadPeaks, head_peaks
from model.text.alignments import ROWS, WHERE
from model.text.alignments import read as read_aligned
from model.text.languages import ENGLISH, record_of
from model.trace import Trace, site_kind

PADS = 8
AS_LIKELY = 0.8  # of what a decoder believes of the right translation: who believes so much of a wrong one, reads it off
MOST_PAIRS = 16  # words whose peaks are named
OTHER = ENGLISH.other_sentence
DOG, GIRL = ENGLISH.turned_round


@dataclass(frozen=True)
class Answer:
    """What was measured, in words, and the request that shows it."""

    text: str
    request: Request
    also: Request | None = None  # its counterpart


@dataclass(frozen=True)
class Experiment:
    """A question that one click answers, on the visitor's sentence or on its own."""

    name: str
    question: str
    measure: Callable[[Checkpoint, Request], Answer]
    needs: tuple[str, ...] = ()  # the kinds of attention without which it makes no sense
    of_both: bool = False  # it needs a checkpoint and its peer, and asks either; else one with a causal mask

    def sentence_in(self, language: str) -> str | None:
        """Returns a sentence on which the question makes sense, None in a language without one."""
        return record_of(language).experiments.get(self.name)

    def run(self, checkpoint: Checkpoint, request: Request) -> Answer:
        """Asks the question of a sentence; a model without a causal mask leaves the answer to its peer, which has one.

        Raises ValueError where the model lacks a kind of attention that the question is about; CheckpointError, one
        sentence, where a peer is needed and there is none that fits; RequestError as `analyse`.
        """
        if lacking := [kind for kind in self.needs if kind not in checkpoint.config.kinds]:
            raise ValueError(
                f"“{self.question}” is asked of {site_kind(lacking[0]).name}, and {checkpoint.name!r} has none: choose a "
                "checkpoint that translates, such as en-fr."
            )
        if not checkpoint.config.causal and not self.of_both:
            checkpoint = peer_of(checkpoint)
            request = dataclasses.replace(request, checkpoint=checkpoint.name)
        return self.measure(checkpoint, request)


def peer_of(checkpoint: Checkpoint) -> Checkpoint:
    """The checkpoint of the same languages that was trained the other way round, on the same device.

    Raises CheckpointError where the checkpoint names none, or one that is not there, or one that is no such counterpart.
    """
    causal = checkpoint.config.causal
    kind = f"a checkpoint of the same languages trained {'without' if causal else 'with'} the causal mask"
    if checkpoint.peer is None:
        raise CheckpointError(
            f"This question compares with {kind}, and {checkpoint.name!r} names none: add its name to config.json as “peer”."
        )
    found = checkpoints.load(checkpoint.peer, checkpoint.device)
    if found.languages != checkpoint.languages:
        own, other = (" to ".join(each.languages) for each in (checkpoint, found))
        raise CheckpointError(f"The peer of {checkpoint.name!r}, {found.name!r}, translates {other}; expected {own}.")
    if found.config.causal == causal:
        raise CheckpointError(f"The peer of {checkpoint.name!r}, {found.name!r}, has the same decoder; expected {kind}.")
    return found


def _again(request: Request, intervention: Intervention, **changes: object) -> Request:
    plain = {"target": None, "prefix": "", "mode": "again", "intervention": intervention}
    return dataclasses.replace(request, **(plain | changes))


def _outcome(analysis: Analysis, checkpoint: Checkpoint) -> str:
    """What became of the translation, or of the text that was gone on with; that it only tipped a near-tie, where it did.
    Of a model that writes nothing, at how many places another token is the likeliest."""
    if analysis.trace.classes:
        was, now = (each.trace.predicted.labels[0] for each in (analysis.baseline, analysis))
        (label,) = analysis.baseline.trace.predicted.ids
        odds = f"{analysis.change.before[label]:.3f} → {analysis.change.after[label]:.3f}"
        if was == now:
            return f"The label stays “{was}”: {odds}."
        return f"The label “{was}” becomes “{now}”: {odds} for “{was}”."
    if analysis.trace.outputs is None:
        count, places = len(turns(analysis)), len(analysis.trace.inner)
        return f"At {count} of {places} places (without the ends) another token is the likeliest then."
    before, after = analysis.baseline.translation, analysis.translation
    if before == after:
        return _sentence(f"The {analysis.task.made} stays: “{after}”")
    tied = [each.told(checkpoint.target_tokenizer.piece) for each in turns(analysis) if each.is_tie]
    return " ".join([_sentence(f"“{before}” becomes “{after}”"), *(f"They part at {told}." for told in tied)])


def _alone(text: str) -> str:
    if not text.strip():
        return "On its own it writes nothing: it ends at once."
    return _sentence(f"On its own it writes: “{text[:120]}”")


def _sentence(text: str) -> str:
    """The text with a full stop, unless it ends with a quotation that has one."""
    return text if text[-2:-1] in (".", "!", "?", "…") else text + "."


def peeking(checkpoint: Checkpoint, request: Request) -> Answer:
    """A decoder trained without the causal mask, beside one with it: on a translation of another sentence, on the right one,
    and on its own. The checkpoint is one of the two, its peer the other.

    Raises CheckpointError where there is no peer.
    """
    peer = peer_of(checkpoint)
    checkpoint, peeker = (checkpoint, peer) if checkpoint.config.causal else (peer, checkpoint)
    plain = {"checkpoint": checkpoint.name, "target": None, "intervention": Intervention(), "mode": "given"}
    own = analyse(checkpoint, dataclasses.replace(request, **plain))
    other = DOG if own.request.source.strip() == OTHER else OTHER
    wrong = analyse(checkpoint, dataclasses.replace(request, source=other, other_sentences=(), **plain)).translation
    told = dataclasses.replace(own.request, checkpoint=peeker.name, target=wrong)

    def believed(lab: Checkpoint, target: str) -> float:
        """Mean probability of a target's tokens."""
        given = analyse(lab, dataclasses.replace(told, checkpoint=lab.name, target=target))
        return float(given.trace.probabilities.mean())

    (wrong_peek, wrong_own), (right_peek, right_own) = (
        [believed(lab, target) for lab in (peeker, checkpoint)] for target in (wrong, own.translation)
    )
    cheats = wrong_peek > wrong_own and wrong_peek > AS_LIKELY * right_peek
    alone = analyse(peeker, dataclasses.replace(told, target=None))
    text = (
        f"{'Yes' if cheats else 'Hardly, here'}: told that “{wrong}”, which says something else, is the translation of "
        f"“{told.source.strip()}”, {peeker.name} finds these tokens {wrong_peek:.0%} likely on average, {checkpoint.name} "
        f"{wrong_own:.0%}. For {checkpoint.name}’s own translation it is {right_peek:.0%} and {right_own:.0%}. "
        + (f"Trained without its causal mask, {peeker.name} reads each token off its own input. " if cheats else "")
        + _alone(alone.translation)
    )
    return Answer(text, told)


def padding(checkpoint: Checkpoint, request: Request) -> Answer:
    """How much attention padding gets once its mask is off."""
    asked = _again(request, Intervention(padding_mask=False), pad=PADS)
    found = analyse(checkpoint, asked)
    pads = found.trace.source.ids.count(PAD)  # those of its batch as well
    encoder, cross = (_share_on_padding(found.trace, kind) for kind in ("encoder", "cross"))
    text = (
        f"With {pads} pads and their mask off, padding gets {encoder:.0%} of the encoder's attention and {cross:.0%} of the "
        f"decoder's cross-attention. {_outcome(found, checkpoint)}"
    )
    return Answer(text, asked)


def _share_on_padding(trace: Trace, kind: str) -> float:
    """Mean weight that real queries give to padding, over layers and heads."""
    pad = np.array([token == PAD for token in trace.source.ids])
    rows = ~pad if site_kind(kind).queries == "source" else slice(None)
    shares = [p[:, rows][:, :, pad].sum(-1).mean() for site, p in trace.patterns.items() if site.kind == kind]
    return float(np.mean(shares))


def order(checkpoint: Checkpoint, request: Request) -> Answer:
    """A sentence, and another of the same words, without positions on the source."""
    off = Intervention(edits=(Positions("source", "off"),))
    pair = (request.source, turned_round(request.source))
    alone = {"other_sentences": (), "branches": (), "path": (), "pad": 0}
    found = [analyse(checkpoint, _again(request, off, source=s, **alone)) for s in pair]
    plain = [each.baseline.translation for each in found]
    same = found[0].translation == found[1].translation
    text = (
        f"With positions: “{plain[0]}” and, for “{pair[1]}”, “{plain[1]}”; without positions on the source "
        + (f"both give “{found[0].translation}”" if same else " and ".join(f"“{f.translation}”" for f in found))
        + f": the two log-probabilities differ by {abs(found[0].hypothesis.score - found[1].hypothesis.score):.4f}."
    )
    return Answer(text, *(each.request for each in found))


def turned_round(sentence: str) -> str:
    """Another sentence of the same tokens: who likes whom the other way round; of any other sentence the words after the
    first backwards."""
    if sentence in (DOG, GIRL):
        return GIRL if sentence == DOG else DOG
    words = sentence.split()
    end = words[-1][len(words[-1].rstrip(".!?…")) :]
    words[-1] = words[-1].removesuffix(end)
    return " ".join([words[0], *words[:0:-1]]) + end


def scaling(checkpoint: Checkpoint, request: Request) -> Answer:
    """Scores that are not divided by sqrt(d_k)."""
    asked = _again(request, Intervention(scaling=False))
    found = analyse(checkpoint, asked)
    before, after = (_largest_weight(trace) for trace in (found.baseline.trace, found.trace))
    width = checkpoint.config.head_dim
    text = (
        f"Without the division by √{width} the largest weight of a row is {after:.2f} on average, not {before:.2f}"
        f"{': softmax is closer to all or nothing' if after > before else ''}. {_outcome(found, checkpoint)}"
    )
    return Answer(text, asked)


def _largest_weight(trace: Trace) -> float:
    return float(np.mean([pattern.max(axis=-1).mean() for pattern in trace.patterns.values()]))


def aligning(checkpoint: Checkpoint, request: Request) -> Answer:
    """The cross-attention head that links words as people do, where that was measured, else the one that pairs the most;
    where it looks on this sentence, and the same without it."""
    trace = analyse(checkpoint, dataclasses.replace(request, intervention=Intervention(), mode="given")).trace
    known, heads = (
        read_aligned(checkpoint.metrics),
        f"{len(trace.sites('cross')) * checkpoint.config.heads} cross-attention heads",
    )
    if known is not None and known.covers(checkpoint.config.decoder_layers, checkpoint.config.heads):
        place, (rows, rate) = known.best, known.of(*known.best)
        head = next(found for found in head_peaks(trace, rows) if (found.site.layer, found.head) == place)
        text = (
            f"{'Yes' if rate.high < known.diagonal.low else 'No'}, by {known.sentences:,} sentence pairs whose words people "
            f"have linked: of {heads}, {_named(head)} has the lowest alignment error rate (0 is perfect), "
            f"{rate.told}, {WHERE[rows]}; the diagonal, which knows no word, has {known.diagonal.told}."
        )
    else:
        head = max((found for rows in ROWS for found in head_peaks(trace, rows)), key=lambda found: found.mutual)
        text = (
            f"It was not measured for this checkpoint. Of {heads}, {_named(head)} pairs the most words here, "
            f"{WHERE[head.rows]}: {head.mutual} target words and a source word look at each other most. Whether they mean "
            "the same, the eye must judge."
        )
    asked = _again(request, Intervention(edits=(Ablate(Place("cross", head.site.layer, head.head)),)))
    outcome = _outcome(analyse(checkpoint, asked), checkpoint)
    return Answer(f"{text} {_looks(head)} Then this head is switched off. {outcome}", asked)


def _named(found: HeadPeaks) -> str:
    return f"layer {found.site.layer + 1} head {found.head + 1}"


def _looks(found: HeadPeaks) -> str:
    """Where a head looks for each target word, as a sentence or two."""
    if not found.peaks:
        return "This sentence has no word to look for."
    named = ", ".join(f"{target} → {source or 'no word'}" for target, source, _ in found.peaks[:MOST_PAIRS])
    off = len(found.peaks) - found.on_diagonal
    return (
        f"Here it looks most at: {named}{', …' if len(found.peaks) > MOST_PAIRS else ''}; {off} of these {len(found.peaks)} "
        "peaks lie off the diagonal."
    )


def skipping(checkpoint: Checkpoint, request: Request) -> Answer:
    """Every layer skipped in turn."""
    plain = dataclasses.replace(request, intervention=Intervention(), mode="given")
    skips = layer_skips(checkpoint)
    found = dict(zip(skips, effects(checkpoint, plain, list(skips.values())), strict=True))
    ranked = sorted(found, key=lambda name: -found[name].change)
    best, worst = ranked[0], ranked[-1]
    asked = _again(request, skips[best])
    least, most = (signed(found[name].change) for name in (best, worst))
    gains, outcome = found[best].change > 0, analyse(checkpoint, asked)
    text = (
        f"Skipping {best} {'even helps' if gains else 'costs the least'}: the {outcome.scored} changes by {least} nats; "
        f"{worst} costs the most, a change by {most}. "
    )
    return Answer(text + _outcome(outcome, checkpoint), asked)


_BOTH = ("encoder", "cross")
EXPERIMENTS = (
    Experiment("peek", "Does a peeking decoder cheat?", peeking, ("cross",), of_both=True),
    Experiment("padding", "Who attends to padding?", padding, ("encoder", "cross")),
    Experiment("order", "Who likes whom without positions?", order, _BOTH),
    Experiment("scaling", "Does it need the √dₖ?", scaling),
    Experiment("align", "Does one head align?", aligning, ("cross",)),
    Experiment("skip", "Which layer can be skipped?", skipping),
)
