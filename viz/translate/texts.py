"""What the page Translate says in words: how tokens are chosen, how surprising they are, what edits changed, its maps."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from model import format
from model.config import MAX_TOKENS
from model.decoding.strategy import strategy
from viz.shared import texts
from viz.view import YOURS, View

if TYPE_CHECKING:
    import numpy as np

    from model.inference.analysis import Analysis

FIELDS = {  # control: its name in a sentence, its label
    "width": ("beam's width", "Width"),
    "alpha": ("length penalty's alpha", "Length penalty α"),
    "top_k": ("top-k", "Top-k (0: all)"),
    "seed": ("seed", "Seed"),
}


def strategy_title(name: str) -> str:
    return "Yours" if name == YOURS else strategy(name).title


def strategy_note(name: str) -> str:
    """How a strategy chooses."""
    if name == YOURS:
        return "Yours: a translation that you give. It is read, not written: how surprised is the model?"
    return strategy(name).sentence


def unusable(control: str, typed: str, expected: str) -> str:
    """Why what was typed into a control cannot be used."""
    shown = f"“{typed.strip()[:40]}”" if typed.strip() else "empty"
    return f"The {FIELDS[control][0]} is {shown}; expected {expected}."


def drawn(temperature: float, top_k: int, top_p: float) -> str:
    """Under which controls the text was drawn, where they have moved since."""
    return f"The text was drawn at temperature {temperature:g}, top-k {top_k}, top-p {top_p:g}; draw again for the new ones."


def surprise(
    bits: np.ndarray, labels: Sequence[str], rather: Sequence[tuple[str, float] | None], sums: tuple[float, float]
) -> None:
    """How surprising a given translation is: summed, beside the model's own, and at its most surprising token."""
    worst = int(bits.argmax())
    given, own = map(format.decimal, sums)
    best = rather[worst]
    expected = f"it expected “{best[0]}” ({best[1]:.2f})" if best else "its first choice all the same"
    token = f'<b class="lab-token">{html.escape(labels[worst])}</b>'
    texts.write(
        f'<p class="lab-note">Summed log-probability <b>{given}</b>; the model\'s own translation has <b>{own}</b>. '
        f"Surprise {bits.mean():.2f} bits a token; most at step {worst + 1}, "
        f"{token} ({bits[worst]:.1f} bits): {html.escape(expected)}. "
        "Dark bars: another token was likelier, written above.</p>"
    )


def surprise_alt(bits: np.ndarray, labels: Sequence[str]) -> str:
    worst = int(bits.argmax())
    return f"Surprise of {len(bits)} tokens in bits; the most, {bits[worst]:.1f}, at {labels[worst]}."


def sentences(view: View, analysis: Analysis) -> str:
    """How many sentences the text is read as, and what that means for this one."""
    if not view.split:
        return "The text is read as one sentence."
    pads = sum(label == "<pad>" for label in analysis.trace.source.labels) - analysis.request.padding
    this = f"this one has {pads} padded positions at its end." if pads else "this one is the longest, without padding."
    return f"{len(view.sentences)} sentences, decoded as one batch: {this}"


def pair(sentence: str, said: str, language: str, chosen: bool) -> None:
    """A sentence and its translation in one line."""
    name = "lab-pair chosen" if chosen else "lab-pair"
    code = texts.language_code(language)
    texts.write(f'<p class="{name}">{html.escape(sentence)} → <span lang="{code}">{html.escape(said)}</span></p>')


def change_heading(analysis: Analysis) -> None:
    """What was edited, what came of it, and how the chart below is read."""
    base, edits = analysis.baseline, analysis.request.intervention.describe(analysis.labels)
    before, after = base.trace, analysis.trace
    if analysis.request.mode == "given":
        change = format.signed(after.token_log_probs.sum() - before.token_log_probs.sum())
        turned = int((before.log_probs.argmax(1) != after.log_probs.argmax(1)).sum())
        steps = len(before.outputs)
        what = f"log-probability changes by {change}; another token becomes likeliest at {turned} of {steps} steps"
        how = "One pass over the same target: what the model would have thought at each step."
    elif before.outputs.ids == after.outputs.ids:
        what, how = "the translation does not change", "Every token was chosen anew under the edits."
    else:
        what = f"the translations part at step {analysis.comparable}"
        how = "Every token was chosen anew under the edits; where the translations part, nothing can be compared any more."
    texts.write(f'<h2 class="lab-label lab-rule">With {html.escape(edits)}: {what}</h2>')
    texts.note(f"{how} Probability of each token of the baseline, hollow before and filled after.", "baseline")


def map_caption(analysis: Analysis, show: str) -> None:
    """How the maps are read."""
    if show == "mask":
        sentence = "Filled cells may attend, blank ones may not; the mask is the same in every layer and head."
    else:
        sentence = "A row asks, a column answers: each row shares out a weight of 1. Blank cells are forbidden by the mask."
    if analysis.steps:
        sentence += " Without the causal mask the prefix is computed anew at each step: these are the maps of the last."
    texts.note(sentence, "mask", "layer", "head")


def token_count(analysis: Analysis) -> None:
    """How long the sentence is, of how long it may be."""
    real = sum(label != "<pad>" for label in analysis.trace.source.labels)
    texts.label(f"{real} of {MAX_TOKENS} tokens", "token")
