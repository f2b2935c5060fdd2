"""Texts of the page What if: the effect of the edits, the history, and the scopes of a click."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from model.edits.intervention import Intervention
from model.inference.predictions import largest_edited_change
from model.io import numbers
from model.trace import Site
from viz import cache
from viz.kit import site_texts

if TYPE_CHECKING:
    from model.experiments.effects import HeadEffect
    from model.inference.analysis import Analysis
    from model.text.tokenizer import Tokenizer
    from viz.page_context import PageContext
    from viz.state.view import View


TIE = 0.01  # nats: two effects that differ by less are called nearly equal
MIN_COST = 0.005  # nats: a smaller cost is none


def costliest_head(effects: Sequence[HeadEffect], scored: str) -> tuple[str, HeadEffect | None]:
    """Returns a sentence about the head whose removal lowers the log-probability most, and its effect if it lowers it."""
    most, *others = sorted(effects, key=lambda each: each.change)
    if most.change > -MIN_COST:
        return f"No single head matters: without one, {scored} changes by {numbers.signed(most.change)} nats or more", None
    tied = [each for each in others if each.change - most.change < TIE]
    near = f", in a near-tie with {len(tied)} other head{'s' if len(tied) > 1 else ''}" if tied else ""
    name, change = most.site.head_name(most.head), numbers.signed(most.change)
    return f"{name} matters most{near}: without it, {scored} {change} nats", most


def verdict(context: PageContext) -> str:
    """Returns the effect of the edits with the strongest change; of a given target also that of decoding again."""
    analysis, again = context.analysis, decoded_again(context)
    texts = [site_texts.verdict_text(each) for each in ([analysis] if again in (None, analysis) else [again, analysis])]
    if not analysis.task.is_classifier and (strongest := site_texts.strongest_change(analysis)):
        is_sum = analysis.request.mode == "given"
        texts.insert(len(texts) - is_sum, strongest)
    return ". ".join(texts)


def summary(context: PageContext) -> str:
    """Returns the changed decisions and both translations as markup."""
    analysis, loaded = context.analysis, context.loaded
    base = analysis.baseline or analysis
    parts = [site_texts.note_markup(site_texts.changed_decisions_text(analysis, loaded.output_vocabulary))]
    if analysis.baseline is not None:
        if branch := branched(base, loaded.target_tokenizer):
            parts.append(site_texts.note_markup(f"The baseline is {branch}.", "baseline"))
        again = decoded_again(context)
        parts.append(site_texts.both_translations_markup(again or analysis, loaded, same_target=again is None))
    elif analysis.task.has_decoder:
        code = site_texts.language_code(loaded.languages[1])
        text = html.escape(base.translation) or site_texts.EMPTY
        parts.append(f'<p class="lab-translation" lang="{code}">{text}</p>')
    return "".join(parts)


def decoded_again(context: PageContext) -> Analysis | None:
    """Returns the analysis with the translation that the model writes under the edits.

    None if the target is given by the visitor, or if decoding again would be slow, since no causal mask allows no cache.
    """
    request = context.request
    if request.mode == "again" or not context.analysis.task.has_decoder:
        return context.analysis
    if request.target is not None or not request.intervention.causal_mask or not context.loaded.config.causal:
        return None
    try:
        return cache.analyse(dataclasses.replace(request, mode="again"), context.view.device)
    except ValueError:
        return None


def notes_of_sentence(context: PageContext) -> str:
    """Returns the faults of the link and the notes on the translation as markup."""
    analysis = context.analysis
    return site_texts.sentence_notes_markup(analysis.notes, context.faults, analysis.warning_sentences)


def notes(context: PageContext) -> str:
    """Returns a note on the mode, near-ties before any edit, and a layer that is missing, as markup."""
    view, analysis, loaded = context.view, context.analysis, context.loaded
    base = analysis.baseline or analysis
    parts = [
        mode_note(view, analysis, loaded.config.causal),
        site_texts.near_tie_text(base, loaded.output_vocabulary),
        "" if view.layer < loaded.config.layers[view.kind] else f"This checkpoint has no layer {view.layer + 1} here.",
    ]
    return site_texts.note_markup(" ".join(filter(None, parts)))


def branched(base: Analysis, tokenizer: Tokenizer) -> str:
    """Returns the branch of the baseline: `branched at step 11: elle`; empty without one."""
    if base.branch is None:
        return ""
    return f"branched at step {len(base.branch)}: {tokenizer.piece(base.branch[-1]).removeprefix('·') or '·'}"


def stepped(now: View, then: View) -> tuple[str, str]:
    """Returns what a step of the history changes: in a word or two (empty for edits), and as a tooltip."""
    found = []
    if then.checkpoint != now.checkpoint:
        found.append(("checkpoint", f"the checkpoint {then.checkpoint}"))
    if (then.source, then.sentence, then.split) != (now.source, now.sentence, now.split):
        found.append(("sentence", f"the sentence “{cut(then.source.strip())}”"))
    if then.target != now.target:
        found.append(("translation", "the given translation" if then.target else "the model’s own translation"))
    if (then.branches, then.path) != (now.branches, now.path):
        found.append(("branch", "the branches as they were"))
    edited = (then.intervention, then.pad) != (now.intervention, now.pad)
    if edited:
        found.append(("", "the edits as they were"))
    message = " and ".join(long for _, long in found) or "the earlier view"
    return (found[0][0] if found and not edited else ""), f"Brings back {message}"


def cut(text: str, most: int = 40) -> str:
    """Returns a text of at most `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def scopes(view: View) -> dict[str, str]:
    """Returns the scopes of a click on the mask with their texts."""
    name = Site(view.kind, view.layer).head_name(view.head)
    return {"all": "all layers", "layer": f"layer {view.layer + 1}", "head": name}


def mode_note(view: View, analysis: Analysis, causal: bool) -> str:
    """Returns what is unusual about a measurement of edits; `causal`: the model was trained with the causal mask."""
    if not analysis.task.has_decoder:
        return ""
    if view.target is not None and not view.intervention:
        return "The target is given and nothing is edited."
    if view.mode == "given" and not causal:
        return "The baseline’s tokens are fed in; trained without a causal mask, each step sees the token it should predict."
    if view.mode == "given" and not view.intervention.causal_mask:
        if view.intervention == Intervention(causal_mask=False) and (base := analysis.baseline):
            reason = site_texts.causal_reason(largest_edited_change(analysis), analysis.log_prob - base.log_prob)
            return f"Without the causal mask each step sees the tokens it should predict: {reason}."
        return "The baseline’s tokens are fed in; without the causal mask each step sees the tokens it should predict."
    return ""
