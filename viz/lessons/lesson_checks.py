"""Checks of lessons: each takes the visitor's view and its results (`Seen`) and returns a `Verdict` with numbers."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from model.decoding.strategy import Decoding
from model.edits.intervention import BASELINE, Intervention
from model.edits.kinds import BlockCells, Edit
from model.io import numbers
from model.text.measurements import read_alignment
from viz import cache, computations
from viz.heads.corpus import REASON
from viz.inside.stages import stage_number
from viz.page_context import PageContext, query_of
from viz.state.view import without_edits

if TYPE_CHECKING:
    from model.inference.analysis import Analysis

LEAST_CHANGE = 0.5  # nats: minimum loss of a translation
MOST = 0.8  # minimum weight of a head, and minimum mean probability
DOUBTED = 0.5  # mean probability below which a decoder doubts a translation
LIKELY = 200  # top tokens of a step that are searched for a word
SAME = 1e-6  # probabilities closer than this count as equal


@dataclass(frozen=True)
class Seen:
    """The current page by name, and its data."""

    page: str
    data: PageContext

    @property
    def analysis(self) -> Analysis:
        return self.data.analysis

    @property
    def edits(self) -> Intervention:
        """The edits that apply here."""
        return self.data.request.intervention


@dataclass(frozen=True)
class Verdict:
    """Result of a check, with one sentence that contains the number."""

    solved: bool
    said: str


Check = Callable[[Seen], Verdict]


def least_sure(seen: Seen) -> Verdict:
    """Checks that the current step has the least likely token."""
    trace = seen.analysis.trace
    probabilities, step = trace.probabilities, seen.data.view.within(len(trace.outputs)).step
    probability = numbers.probability(probabilities[step])
    here = f"Step {step + 1} writes “{trace.outputs.labels[step]}” with probability {probability}"
    if probabilities[step] <= probabilities.min() + SAME:
        return Verdict(True, f"{here}, the lowest of {len(probabilities)} steps.")
    lower = int((probabilities < probabilities[step] - SAME).sum())
    return Verdict(False, f"{here}. {_count(lower, 'step is', 'steps are')} lower.")


def at_softmax(seen: Seen) -> Verdict:
    """Checks that the current stage of a head is the softmax."""
    view, trace = seen.data.view, seen.analysis.trace
    if seen.page != "inside" or view.part != "stages":
        return Verdict(False, "Go to the page Inside, One head.")
    site = view.site_of(seen.analysis.trace.sites(view.kind))
    query = min(query_of(view, trace, site), len(trace.queries(site)) - 1)
    unfolded = computations.run(computations.UNFOLD(site, view.head or 0, query), seen.data)
    stages, number = unfolded.stages, stage_number(view, unfolded) + 1
    if (name := stages[number - 1].name) != "softmax":
        first = [stage.name for stage in stages].index("softmax") + 1
        distance = _count(abs(first - number), "stage", "stages")
        if number > first:
            return Verdict(False, f"Stage {number} of {len(stages)}: you are past it. Go back {distance}.")
        return Verdict(False, f"Stage {number} of {len(stages)}: you are not there yet. Go on {distance}.")
    seen_row = trace.view(site, view.head or 0)
    row, best = seen_row.values[query], int(seen_row.values[query].argmax())
    total = f"Stage {number}, {name}: {len(row)} weights that add up to {row.sum():.2f}."
    return Verdict(True, f"{total} The largest is on “{seen_row.keys[best]}” ({numbers.probability(row[best])}).")


def reads(source: str, target: str) -> Check:
    """Returns a check: the chosen cross-attention head looks mostly at `source` while the model writes `target`."""

    def check(seen: Seen) -> Verdict:
        view, trace = seen.data.view, seen.analysis.trace
        outputs, keys = trace.predicted_axis.labels, trace.source.labels
        if target not in outputs or source not in keys:
            return Verdict(False, f"“{source}” or “{target}” is missing here. Start over.")
        if view.kind != "cross" or view.head is None:
            return Verdict(False, "Choose one head of cross-attention.")
        step = view.within(len(outputs)).step
        if outputs[step] != target:
            return Verdict(False, f"Step {step + 1} writes “{outputs[step]}”. Go to “{target}”.")
        site = view.site_of(trace.sites("cross"))
        row = trace.view(site, view.head).values[step]
        weight = float(row[keys.index(source)])
        result = (
            f"{site.head_name(view.head)}: weight {numbers.probability(weight)} on “{source}” when it writes “{target}”."
        )
        return Verdict(weight >= MOST, result if weight >= MOST else f"{result} Needed: {MOST} or more.")

    return check


def aligns_with_read(seen: Seen) -> Verdict:
    """Checks that the chosen cross-attention head aligns better with the word read than with the word written."""
    view, loaded = seen.data.view, seen.data.loaded
    rates = read_alignment(loaded.metrics)
    if rates is None:
        return Verdict(False, "The alignment of this checkpoint is not measured. Start over.")
    if view.kind != "cross" or view.head is None or view.merges_layers:
        return Verdict(False, "Choose one head of cross-attention.")
    layer = min(view.layer, loaded.config.decoder_layers - 1)
    read, written = (rates.rates[name][layer][view.head] for name in ("reads", "predicts"))
    name = numbers.head_name("cross", layer, view.head)
    said = f"{name}: alignment error rate {read.summary} for the word read, {written.summary} for the word written."
    is_better = read.high < written.low
    return Verdict(
        is_better, f"{said} {REASON}" if is_better else f"{said} Needed: lower for the word read, intervals apart."
    )


def speaks_most(target: str, against: str) -> Check:
    """Returns a check: on Why, the chosen head favours `target` over `against` most."""

    def check(seen: Seen) -> Verdict:
        view, trace = seen.data.view, seen.analysis.trace
        step = view.within(len(trace.outputs)).step
        if trace.outputs.labels[step] != target:
            return Verdict(False, f"Step {step + 1} writes “{trace.outputs.labels[step]}”. Go to “{target}”.")
        if seen.page != "why" or view.piece != "head" or view.head is None or view.kind == "encoder":
            return Verdict(False, "On the page Why, click a head in the bars or the grid.")
        row, token = trace.log_probs[step].copy(), trace.outputs.ids[step]
        row[token] = -np.inf
        fits = view.rival is not None and view.rival != token and view.rival < len(row)
        rival = view.rival if fits else int(row.argmax())
        other = seen.data.loaded.target_tokenizer.piece(rival).removeprefix("·")
        if other != against:
            return Verdict(False, f"Compared here: “{target}” and “{other}”. Choose “{against}” after “and not”.")
        parts = computations.result(seen.data.request, view.device, computations.DIRECT_LOGITS(step, token, rival))
        site = view.site_of(seen.analysis.trace.sites(view.kind))
        value, most = parts.head(site, view.head), max(parts.heads(kind).max() for kind in parts.by_kind)
        result = f"{site.head_name(view.head)}: {numbers.signed(value)} nats for “{target}” over “{other}”"
        solved = value >= most - SAME
        return Verdict(solved, f"{result}, the most of all heads." if solved else f"{result}. Another head has more.")

    return check


def less_likely(wanted: Intervention) -> Check:
    """Returns a check: only the wanted edit is on, and the same translation is less likely."""

    def check(seen: Seen) -> Verdict:
        base = seen.analysis.baseline
        if seen.edits == BASELINE or base is None:
            return Verdict(False, "There is no edit yet.")
        if seen.edits != wanted:
            return Verdict(False, f"Needed: only {wanted.describe()}. Here: {seen.edits.describe(seen.analysis.labels)}.")
        if seen.analysis.request.mode != "given":
            return Verdict(False, "Choose Given target, to compare the same translation.")
        before, after = base.log_prob, seen.analysis.log_prob
        result = f"Summed {base.score_label}: {numbers.three_digits(before)} → {numbers.three_digits(after)}."
        return Verdict(before - after >= LEAST_CHANGE, result if before > after else f"{result} Not less likely.")

    return check


def changes(kind: type[Edit], fits: Callable[[Edit], bool], wanted: str) -> Check:
    """Returns a check: one fitting edit changes the translation."""

    def check(seen: Seen) -> Verdict:
        fault = _not_single(seen, kind, fits, wanted)
        return Verdict(False, fault) if fault else _changed(seen.analysis)

    return check


def word_becomes(old: str, new: str) -> Check:
    """Returns a check: one blocked cell turns the word `old` into `new`."""

    def check(seen: Seen) -> Verdict:
        fault = _not_single(
            seen, BlockCells, lambda edit: edit.query is not None and edit.key is not None, "exactly one blocked cell"
        )
        if fault:
            return Verdict(False, fault)
        before, after = seen.analysis.baseline, seen.analysis
        if old not in _words(before.translation):
            return Verdict(False, f"The unedited translation has no “{old}”. Start over.")
        labels = [label.lower() for label in before.trace.predicted_axis.labels]
        step = labels.index(old) if old in labels else None
        probabilities = ""
        if step is not None and step < after.comparable_steps:
            probabilities = _probabilities(seen, step, (new, old)) + ": "
        solved = new in _words(after.translation) and old not in _words(after.translation)
        return Verdict(solved, f"{probabilities}“{after.translation}”")

    return check


def beats_greedy(seen: Seen) -> Verdict:
    """Checks that beam search finds a likelier translation than greedy search."""
    if seen.edits != BASELINE:
        return Verdict(False, "There is an edit. Undo it first.")
    if not seen.data.request.decoding.has_width or seen.analysis.request.target is not None:
        return Verdict(False, "Choose Beam under Decoding.")
    if seen.data.request.path or seen.data.request.branches:
        return Verdict(False, "This is not the best path. Go back to it.")
    plain = dataclasses.replace(without_edits(seen.data.request), decoding=Decoding())
    greedy = cache.analyse(plain, seen.data.view.device)
    sums = [each.log_prob for each in (seen.analysis, greedy)]
    width = seen.data.request.decoding.width
    result = f"Log-probability: beam of {width} {numbers.three_digits(sums[0])}, greedy {numbers.three_digits(sums[1])}."
    return Verdict(sums[0] > sums[1] + 0.01, result)


def sharper(seen: Seen) -> Verdict:
    """Checks that the only edit removes the division by sqrt(d_k)."""
    view = seen.data.view
    site = view.site_of(seen.analysis.trace.sites(view.kind))
    sizes = computations.result(without_edits(seen.data.request), view.device, computations.SCALING(site))
    before, after = (float(each.largest.mean()) for each in (sizes.divided, sizes.undivided))
    label = f"Mean largest weight ({site.spec.name}, layer {site.layer + 1})"
    if seen.edits != Intervention(scaling=False):
        return Verdict(False, f"{label}: {numbers.probability(before)} with the division.")
    return Verdict(after > before, f"{label}: {numbers.probability(before)} → {numbers.probability(after)}.")


def believes_anything(seen: Seen) -> Verdict:
    """Checks that the checkpoint finds a given translation likely, and its peer with a causal mask does not."""
    if seen.edits != BASELINE:
        return Verdict(False, "There is an edit. Undo it first.")
    if seen.data.request.target is None:
        alone = seen.analysis.translation
        return Verdict(False, f"Alone it writes {f'“{alone}”' if alone else 'nothing'}. Give it a translation.")
    peer = dataclasses.replace(without_edits(seen.data.request), checkpoint=seen.data.loaded.peer or "")
    try:
        other = cache.analyse(peer, seen.data.view.device)
    except ValueError as fault:
        return Verdict(False, str(fault))
    own, masked = (float(each.trace.probabilities.mean()) for each in (seen.analysis, other))
    result = f"Mean token probability: {own:.0%} here, {masked:.0%} with {peer.checkpoint}."
    if masked > DOUBTED:
        return Verdict(False, f"{result} Type a wrong translation.")
    return Verdict(own >= MOST, result if own < MOST else f"{result} It copies each token from its own input.")


def hardly_known(seen: Seen) -> Verdict:
    """Checks that the sentence has a word that was rare in training."""
    trace, rare = seen.analysis.trace, seen.analysis.rare_words
    worst = int(trace.probabilities.argmin())
    least = f"Lowest probability: “{trace.outputs.labels[worst]}” {numbers.probability(trace.probabilities[worst])}."
    if not rare:
        return Verdict(False, f"No word here was rare in training. {least}")
    words = ", ".join(f"“{word}”" for word in rare[:3])
    return Verdict(True, f"Rare in training: {words}. Translation: “{seen.analysis.translation}”. {least}")


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _probabilities(seen: Seen, step: int, words: Sequence[str]) -> str:
    """Returns the probabilities of words at a step: `il 0.61, elle 0.22`."""
    row = seen.analysis.trace.log_probs[step]
    likely = np.argsort(-row)[:LIKELY].tolist()
    by_word: dict[str, float] = {}
    for token, label in zip(likely, seen.data.loaded.target_tokenizer.pieces(likely), strict=True):
        by_word.setdefault(label.lower(), float(np.exp(row[token])))
    return ", ".join(f"{word} {numbers.probability(by_word.get(word, 0.0))}" for word in words)


def _not_single(seen: Seen, kind: type[Edit], fits: Callable[[Edit], bool], wanted: str) -> str:
    """Returns a message unless there is exactly one fitting edit."""
    edits = seen.edits
    if edits == BASELINE:
        return f"There is no edit yet. Needed: {wanted}."
    plain = edits == Intervention(edits=edits.edits)
    if not plain or len(edits.edits) != 1 or not isinstance(edits.edits[0], kind) or not fits(edits.edits[0]):
        return f"Needed: only {wanted}. Here: {edits.describe(seen.analysis.labels)}."
    if seen.analysis.request.mode != "again" or seen.analysis.baseline is None:
        return "Choose Decode again, to translate again with the edit."
    return ""


def _changed(analysis: Analysis) -> Verdict:
    """Checks that the translation changed, and names the first changed token."""
    base = analysis.baseline
    if analysis.trace.predicted_axis.ids == base.trace.predicted_axis.ids:
        least = float(np.exp(analysis.baseline_token_log_probs).min())
        return Verdict(False, f"The translation stays the same. Lowest token probability: {numbers.probability(least)}.")
    step = analysis.comparable_steps - 1
    was, now = (each.trace.predicted_axis.labels[step] for each in (base, analysis))
    found = float(np.exp(analysis.baseline_token_log_probs[step])), float(analysis.trace.probabilities[step])
    p = tuple(map(numbers.probability, found))
    return Verdict(True, f"“{was}” ({p[0]}) becomes “{now}” ({p[1]}): “{analysis.translation}”")
