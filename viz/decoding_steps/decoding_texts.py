"""Texts of the page Translate: strategies, surprise of tokens, effects of edits, descriptions of maps."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from model.config import MAX_TOKENS
from model.decoding.strategy import strategy
from model.inference.predictions import TokenChange, repeated_tail, token_changes
from model.io import numbers
from model.task import TRANSLATION
from viz.kit import site_texts, terms
from viz.state.view import YOURS, View

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


def strategy_note(name: str, made: str = TRANSLATION.output_noun) -> str:
    """Returns a description of a strategy."""
    if name == YOURS:
        return f"Yours: a {made} that you give. The model only reads it: how surprised is it?"
    return strategy(name).sentence


def came_to_an_end(analysis: Analysis) -> str:
    """Where the continuation of a text ended, and why, after "goes on for so many"."""
    size = len(analysis.trace.outputs)
    new = size - analysis.prompt_length
    branch = len(analysis.branch or ()) > analysis.prompt_length
    if analysis.hypothesis is None or analysis.hypothesis.is_finished:
        after = f"after {new - 1}" if new > 1 else "at once"
        return f"tokens at most{' from the branch on' * branch}: the model ended {after}, with </s>"
    if size == MAX_TOKENS:
        return f"tokens: stopped after {new}, the window of {MAX_TOKENS} is full"
    return f"tokens from the branch on: stopped after {new} in all" if branch else f"tokens: stopped after {new}"


def describe_loop(analysis: Analysis) -> str:
    """Returns why a text that is not sampled repeats itself at its end; empty if it does not."""
    ids = analysis.trace.outputs.ids[analysis.prompt_length :]
    repetition = None if analysis.request.decoding.is_random else repeated_tail(ids)
    if repetition is None:
        return ""
    size, count = repetition
    what = "the last token" if size == 1 else f"the last {size} tokens"
    return f"It repeats {what} {count} times: the likeliest continuation leads back to itself."


def unusable(control: str, typed: str, expected: str) -> str:
    """Why what was typed into a control cannot be used."""
    shown = f"“{typed.strip()[:40]}”" if typed.strip() else "empty"
    return f"The {FIELDS[control][0]} is {shown}; expected {expected}."


def surprise(
    bits: np.ndarray,
    labels: Sequence[str],
    rather: Sequence[tuple[str, float] | None],
    sums: tuple[float, float],
    made: str = TRANSLATION.output_noun,
    begun: int = 0,
    scored: str = "log-probability",
) -> str:
    """Returns the summed surprise of a given target, next to that of the model's own, and its most surprising token, as
    markup. The first `begun` tokens do not count."""
    worst = begun + int(bits[begun:].argmax())
    given, own = map(numbers.three_digits, sums)
    best = rather[worst]
    expected = f"it expected “{best[0]}” ({numbers.probability(best[1])})" if best else "still its first choice"
    token = f'<b class="lab-token">{html.escape(labels[worst])}</b>'
    return (
        f'<p class="lab-note">Summed {html.escape(scored)} <b>{given}</b>; the model\'s own {made} has <b>{own}</b>. '
        f"Surprise {numbers.three_digits(bits[begun:].mean())} bits a token; most at step {worst + 1}, "
        f"{token} ({numbers.three_digits(bits[worst])} bits): {html.escape(expected)}. "
        "Dark bars: another token was likelier; it is written above.</p>"
    )


def sentences(view: View, analysis: Analysis) -> str:
    """Returns the number of sentences of the text, and the padding that it means for this one."""
    if not view.split:
        return "The text is read as one sentence."
    pads = analysis.batch_padding
    count = "1 pad fills" if pads == 1 else f"{pads} pads fill"
    own = f"{count} this one up to the length of the longest."
    this = own if pads else "none is longer than this one, so it has no padding."
    return f"{len(view.sentences)} sentences, decoded as one batch: {this}"


def pair(sentence: str, said: str, language: str, chosen: bool) -> None:
    """A sentence and its translation in one line."""
    name = "lab-pair chosen" if chosen else "lab-pair"
    code = site_texts.language_code(language)
    site_texts.write(f'<p class="{name}">{html.escape(sentence)} → <span lang="{code}">{html.escape(said)}</span></p>')


def _likeliest(found: Sequence[TokenChange], steps: int) -> str:
    """At how many steps another token is the likeliest now, and how many of them were near-ties."""
    if not found:
        return "at every step the same token stays the likeliest"
    ties = sum(each.is_tie for each in found)
    were = "" if not ties else ", a near-tie before" if len(found) == 1 else f", {ties} of them near-ties before"
    return f"at {len(found)} of {steps} steps another token becomes the likeliest{were}"


def change_heading(analysis: Analysis) -> str:
    """Returns the edits, their effect and a description of the chart, as markup."""
    base, edits = analysis.baseline, analysis.request.intervention.describe(analysis.labels)
    before, after, made = base.trace, analysis.trace, analysis.task.output_noun
    if analysis.task.is_classifier:
        said = site_texts.verdict_text(analysis)
        what, how = f"{said[:1].lower()}{said[1:]}", "The text was read again under the edits."
    elif analysis.request.mode == "given" or not analysis.task.has_decoder:
        change = numbers.signed(analysis.log_prob - base.log_prob)
        what = (
            f"the {analysis.score_label} changes by {change} nats; "
            f"{_likeliest(token_changes(analysis), len(before.scorable_rows))}"
        )
        how = f"One pass over the same {made}: what the model thinks of each token now."
    elif before.outputs.ids == after.outputs.ids:
        what, how = f"the {made} does not change", "The model chose every token again under the edits."
    else:
        tie = ", a near-tie before" if any(each.is_tie for each in token_changes(analysis)) else ""
        what = f"the {made}s part at step {analysis.comparable_steps}{tie}"
        how = "The model chose every token again under the edits. After the first difference nothing is compared."
    heading = f'<h2 class="lab-label lab-rule">With {html.escape(edits)}: {html.escape(what)}</h2>'
    each = "each label" if analysis.task.is_classifier else "each of the baseline's tokens"
    each += ", in a blank of the one that it fills in" * bool(before.blank_positions)
    note = f"{how} The chart: the probability of {each}, hollow before, filled after."
    return f'{heading}<p class="lab-note">{terms.marked(note, "baseline")}</p>'


def given_change(scored: str, before: str, after: str, turned: int, steps: int) -> str:
    """Describes the effect of edits on a given text: what is `scored`, and the steps that would choose otherwise."""
    if turned:
        top = f"The most likely token changes at {turned} of {steps} steps."
    else:
        top = "The top token stays the same at every step."
    return f"{scored} {before} → {after}. {top}"


def map_caption(analysis: Analysis, has_blanks: bool, pads: int) -> str:
    """Returns a description of the maps of the masks as markup. `has_blanks`: the mask forbids cells; `pads`: see below."""
    differs = analysis.trace.head_masks or not analysis.trace.has_equal_masks
    scope = "not the same in all layers and heads" if differs else "the same in every layer and head"
    cells = "Blank cells are masked" if has_blanks else "No cell is masked"
    if has_blanks and analysis.row_note:
        cells += " or not written yet"
    return row_notes(analysis, pads, f"Each row shows where one token may look. {cells}. Masks: {scope}.")


def row_notes(analysis: Analysis, pads: int, lead: str = "") -> str:
    """Returns what is unusual about the rows of the maps as markup, behind `lead`; empty for neither.

    `pads` is the number of rows at the end that are padding of the batch.
    """
    rows = "The target's last row is" if pads == 1 else f"The target's last {pads} rows are"
    padding = f"{rows} padding of the batch. Their results are not used." if pads else ""
    text = " ".join(filter(None, (lead, padding, analysis.row_note)))
    return f'<p class="lab-note">{terms.marked(text, "mask", "layer", "head")}</p>' if text else ""
