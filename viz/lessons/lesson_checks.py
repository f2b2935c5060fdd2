"""Whether a lesson is solved: found in the visitor's own view and in what was computed for it, and told with its numbers.

A check is asked with `Seen` and answers with a `Verdict`; what a check needs of a lesson's sentence is given to it where the
lesson is declared.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from model.decoding.strategy import Decoding
from model.edits.intervention import BASELINE, Intervention
from model.edits.kinds import Block, Edit
from model.io import numbers as format
from model.trace import Site, site_kind
from viz import cache, computations
from viz.state.view import unedited

if TYPE_CHECKING:
    from model.inference.analysis import Analysis

LEAST_CHANGE = 0.5  # nats: below, a translation has hardly become less likely
MOST = 0.8  # of a head's weight
DOUBTED = 0.5  # mean probability: below, a decoder does not believe a translation
LIKELY = 200  # tokens of a step that are looked through for a word
SAME = 1e-6  # probabilities nearer than this are one


@dataclass(frozen=True)
class Seen:
    """The page that is shown, by its name, and what it shows."""

    page: str
    data: cache.PageData

    @property
    def analysis(self) -> Analysis:
        return self.data.analysis

    @property
    def edits(self) -> Intervention:
        """What is edited, as far as it can be made here."""
        return self.data.request.intervention


@dataclass(frozen=True)
class Verdict:
    """Solved or not, and the sentence with the number that shows it."""

    solved: bool
    said: str


Check = Callable[[Seen], Verdict]


def least_sure(seen: Seen) -> Verdict:
    """The step that is looked at is the one whose token is the least likely."""
    trace = seen.analysis.trace
    shown, step = trace.probabilities, min(seen.data.view.step, len(trace.outputs)) - 1
    here = f"Step {step + 1} writes “{trace.outputs.labels[step]}” with probability {shown[step]:.2f}"
    if shown[step] <= shown.min() + SAME:
        return Verdict(True, f"{here}, the lowest of {len(shown)} steps.")
    lower = int((shown < shown[step] - SAME).sum())
    return Verdict(False, f"{here}; {_count(lower, 'step is', 'steps are')} less sure.")


def at_softmax(seen: Seen) -> Verdict:
    """The stage of a head that is shown is the one in which scores become weights."""
    view, trace = seen.data.view, seen.analysis.trace
    if seen.page != "inside" or view.part != "stages":
        return Verdict(False, "The stages are on the page Inside, under One head.")
    site = Site(view.kind, min(view.layer, seen.data.loaded.config.layers[view.kind]) - 1)  # type: ignore[arg-type]
    asked = view.token if site_kind(view.kind).queries == "source" else view.step
    query = min(asked, len(trace.queries(site))) - 1
    stages = computations.unfold(seen.data.request, view.device, site, (view.head or 1) - 1, query).stages
    number = min(view.stage, len(stages))
    if (name := stages[number - 1].name) != "softmax":
        first = [stage.name for stage in stages].index("softmax") + 1
        return Verdict(False, f"Stage {number} of {len(stages)} comes {'before' if number < first else 'after'} it.")
    seen_row = trace.view(site, (view.head or 1) - 1)
    row, best = seen_row.values[query], int(seen_row.values[query].argmax())
    said = f"Stage {number}, {name}: {len(row)} weights that add up to {row.sum():.2f}; the largest, {row[best]:.2f}, is on"
    return Verdict(True, f"{said} “{seen_row.keys[best]}”.")


def reads(source: str, target: str) -> Check:
    """The cross-attention head that is chosen puts most of its weight on one token while another is written."""

    def check(seen: Seen) -> Verdict:
        view, trace = seen.data.view, seen.analysis.trace
        outputs, keys = trace.predicted.labels, trace.source.labels
        if target not in outputs or source not in keys:
            return Verdict(False, f"“{source}” and “{target}” are not both in this sentence: start over.")
        if view.kind != "cross" or view.head is None:
            return Verdict(False, "Choose one head of cross-attention.")
        step = min(view.step, len(outputs)) - 1
        if outputs[step] != target:
            return Verdict(False, f"Step {step + 1} writes “{outputs[step]}”: go to “{target}”.")
        layer = min(view.layer, seen.data.loaded.config.layers["cross"])
        row = trace.view(Site("cross", layer - 1), view.head - 1).values[step]
        weight = float(row[keys.index(source)])
        said = f"Layer {layer}, head {view.head} puts {weight:.2f} of its weight on “{source}” as it writes “{target}”"
        return Verdict(weight >= MOST, f"{said}." if weight >= MOST else f"{said}; at least {MOST} is wanted.")

    return check


def speaks_most(target: str, against: str) -> Check:
    """On the page Why, the head is chosen that speaks most for one token against another one."""

    def check(seen: Seen) -> Verdict:
        view, trace = seen.data.view, seen.analysis.trace
        step = min(view.step, len(trace.outputs)) - 1
        if trace.outputs.labels[step] != target:
            return Verdict(False, f"Step {step + 1} writes “{trace.outputs.labels[step]}”: go to “{target}”.")
        if seen.page != "why" or view.piece != "head" or view.head is None or view.kind == "encoder":
            return Verdict(False, "Click a head on the page Why: in the bars, or in the grid.")
        row, token = trace.log_probs[step].copy(), trace.outputs.ids[step]
        row[token] = -np.inf
        fits = view.rival is not None and view.rival != token and view.rival < len(row)
        rival = view.rival if fits else int(row.argmax())
        other = seen.data.loaded.target_tokenizer.piece(rival).removeprefix("·")
        if other != against:
            return Verdict(False, f"Here “{target}” stands against “{other}”: choose “{against}” after “and not”.")
        parts = computations.direct_logits(seen.data.request, view.device, step, token, rival)
        site = Site(view.kind, min(view.layer, seen.data.loaded.config.layers[view.kind]) - 1)  # type: ignore[arg-type]
        value, most = parts.head(site, view.head - 1), max(parts.heads(kind).max() for kind in parts.by_kind)
        said = (
            f"Layer {site.layer + 1}, head {view.head} writes {format.signed(value)} nats for “{target}” against “{other}”"
        )
        solved = value >= most - SAME
        return Verdict(solved, f"{said}, the most of all heads." if solved else f"{said}; another head writes more.")

    return check


def less_likely(wanted: Intervention) -> Check:
    """Exactly one part of the mechanism is switched off, and the same translation is less likely by it."""

    def check(seen: Seen) -> Verdict:
        base = seen.analysis.baseline
        if seen.edits == BASELINE or base is None:
            return Verdict(False, "Nothing is edited yet.")
        if seen.edits != wanted:
            return Verdict(False, f"Wanted alone: {wanted.describe()}. Here: {seen.edits.describe(seen.analysis.labels)}.")
        if seen.analysis.request.mode != "given":
            return Verdict(False, "Choose Given target: the same translation is compared.")
        before, after = base.log_prob, seen.analysis.log_prob
        said = f"Summed {base.scored} {format.decimal(before)} → {format.decimal(after)}"
        return Verdict(before - after >= LEAST_CHANGE, f"{said}." if before > after else f"{said}: no less likely.")

    return check


def changes(kind: type[Edit], fits: Callable[[Edit], bool], wanted: str) -> Check:
    """A single edit of a kind, which fits, makes the model write another translation."""

    def check(seen: Seen) -> Verdict:
        fault = _not_single(seen, kind, fits, wanted)
        return Verdict(False, fault) if fault else _changed(seen.analysis)

    return check


def word_becomes(old: str, new: str) -> Check:
    """A single blocked cell turns one word of the translation into another."""

    def check(seen: Seen) -> Verdict:
        fault = _not_single(
            seen, Block, lambda edit: edit.query is not None and edit.key is not None, "exactly one blocked cell"
        )
        if fault:
            return Verdict(False, fault)
        before, after = seen.analysis.baseline, seen.analysis
        if old not in _words(before.translation):
            return Verdict(False, f"The unedited translation has no “{old}”: start over.")
        labels = [label.lower() for label in before.trace.predicted.labels]
        step = labels.index(old) if old in labels else None
        numbers = ""
        if step is not None and step < after.comparable:
            numbers = _probabilities(seen, step, (new, old)) + ": "
        solved = new in _words(after.translation) and old not in _words(after.translation)
        return Verdict(solved, f"{numbers}“{after.translation}”")

    return check


def beats_greedy(seen: Seen) -> Verdict:
    """Beam search has found a translation that is likelier than the greedy one."""
    if seen.edits != BASELINE:
        return Verdict(False, "Something is edited: take it back first.")
    if not seen.data.request.decoding.has_width or seen.analysis.request.target is not None:
        return Verdict(False, "Choose Beam under Decoding.")
    if seen.data.request.path or seen.data.request.branches:
        return Verdict(False, "Another path than the best is shown: go back to the best.")
    plain = dataclasses.replace(unedited(seen.data.request), decoding=Decoding())
    greedy = cache.analyse(plain, seen.data.view.device)
    sums = [each.log_prob for each in (seen.analysis, greedy)]
    width = seen.data.request.decoding.width
    said = f"Beam of {width}: log-probability {format.decimal(sums[0])}, greedy {format.decimal(sums[1])}"
    return Verdict(sums[0] > sums[1] + 0.01, f"{said}.")


def sharper(seen: Seen) -> Verdict:
    """The division by sqrt(d_k) is left out in the whole model, alone."""
    view = seen.data.view
    site = Site(view.kind, min(view.layer, seen.data.loaded.config.layers[view.kind]) - 1)  # type: ignore[arg-type]
    found = computations.scaling(unedited(seen.data.request), view.device, site)
    before, after = (float(each.largest.mean()) for each in (found.divided, found.undivided))
    which = f"The heads’ mean largest weight ({site.of.name}, layer {site.layer + 1})"
    if seen.edits != Intervention(scaling=False):
        return Verdict(False, f"{which} is {before:.2f} with the division.")
    return Verdict(after > before, f"{which} goes from {before:.2f} to {after:.2f}.")


def believes_anything(seen: Seen) -> Verdict:
    """A translation is given which the checkpoint finds likely, and its peer, trained with the causal mask, does not."""
    if seen.edits != BASELINE:
        return Verdict(False, "Something is edited: take it back first.")
    if seen.data.request.target is None:
        alone = seen.analysis.translation
        return Verdict(False, f"On its own it writes {f'“{alone}”' if alone else 'nothing'}. Give it a translation.")
    peer = dataclasses.replace(unedited(seen.data.request), checkpoint=seen.data.loaded.peer or "")
    try:
        other = cache.analyse(peer, seen.data.view.device)
    except ValueError as fault:
        return Verdict(False, str(fault))
    own, masked = (float(each.trace.probabilities.mean()) for each in (seen.analysis, other))
    said = f"It finds the tokens of “{seen.data.request.target}” {own:.0%} likely on average, {peer.checkpoint} {masked:.0%}"
    if masked > DOUBTED:
        return Verdict(False, f"{said}: give it one that is wrong.")
    return Verdict(own >= MOST, f"{said}." if own < MOST else f"{said}: it reads each token off its own input.")


def hardly_known(seen: Seen) -> Verdict:
    """The sentence has a word that the model was hardly trained on."""
    trace, rare = seen.analysis.trace, seen.analysis.rare_words
    worst = int(trace.probabilities.argmin())
    least = f"least sure of “{trace.outputs.labels[worst]}”, {trace.probabilities[worst]:.2f}"
    if not rare:
        return Verdict(False, f"It was trained on every word of this one; {least}.")
    told = ", ".join(f"“{word}”" for word in rare[:3])
    return Verdict(True, f"Hardly trained on {told}: “{seen.analysis.translation}”, {least}.")


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _probabilities(seen: Seen, step: int, words: Sequence[str]) -> str:
    """What each of some words would have got at a step: `il 0.61, elle 0.22`."""
    row = seen.analysis.trace.log_probs[step]
    likely = np.argsort(-row)[:LIKELY].tolist()
    found: dict[str, float] = {}
    for token, label in zip(likely, seen.data.loaded.target_tokenizer.pieces(likely), strict=True):
        found.setdefault(label.lower(), float(np.exp(row[token])))
    return ", ".join(f"{word} {found.get(word, 0.0):.2f}" for word in words)


def _not_single(seen: Seen, kind: type[Edit], fits: Callable[[Edit], bool], wanted: str) -> str:
    """Why the edits are no single one that fits; empty where they are."""
    edits = seen.edits
    if edits == BASELINE:
        return f"Nothing is edited yet; wanted is {wanted}."
    plain = edits == Intervention(edits=edits.edits)
    if not plain or len(edits.edits) != 1 or not isinstance(edits.edits[0], kind) or not fits(edits.edits[0]):
        return f"Wanted is {wanted} alone. Here: {edits.describe(seen.analysis.labels)}."
    if seen.analysis.request.mode != "again" or seen.analysis.baseline is None:
        return "Choose Decode again: the tokens are chosen anew under the edit."
    return ""


def _changed(analysis: Analysis) -> Verdict:
    """Whether another translation is written, with the first token that is another."""
    base = analysis.baseline
    if analysis.trace.predicted.ids == base.trace.predicted.ids:
        least = float(np.exp(analysis.baseline_token_log_probs).min())
        return Verdict(False, f"The translation stays: each of its tokens keeps a probability of {least:.2f} or more.")
    step = analysis.comparable - 1
    was, now = (each.trace.predicted.labels[step] for each in (base, analysis))
    p = float(np.exp(analysis.baseline_token_log_probs[step])), float(analysis.trace.probabilities[step])
    return Verdict(True, f"“{was}” {p[0]:.2f} gives way to “{now}” {p[1]:.2f}: “{analysis.translation}”")
