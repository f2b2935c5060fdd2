"""Texts of several pages with their markup: headings, faults, notes, translations, and descriptions of maps."""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from model.inference.cautions import STEPWISE_NOTE
from model.inference.predictions import (
    NEAR_TIE_TEXT,
    Candidate,
    LargestChange,
    changed_words,
    hardly_changes,
    largest_edited_change,
    near_ties,
    token_changes,
    top_tokens,
)
from model.io import numbers
from model.text.languages import code_of
from viz import cache
from viz.kit import browser_store, terms
from viz.state import session
from viz.state.result_cache import kept_with
from viz.state.work_queue import report_start

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis
    from model.task import Task
    from model.text.sentences import ClassLabels
    from model.text.tokenizer import Tokenizer

EMPTY = '<span class="lab-note">(empty: it ends at once)</span>'
MAX_DECISIONS = 3  # changed decisions that are listed


@dataclass(frozen=True)
class _Markup:
    """Markup for Streamlit, which would look for a file named like a plain text."""

    text: str

    def _repr_html_(self) -> str:
        return self.text


def write(markup: str, inline: bool = False) -> None:
    """Writes markup. Typed text must be escaped by `html.escape`. `inline`: as wide as its text."""
    st.html(_Markup(markup), width="content" if inline else "stretch")


def label(text: str, *names: str, doubt: bool = False, title: str = "") -> None:
    """Writes a short text in a row of controls, with explained terms `names` and a tooltip `title`."""
    more = f' title="{html.escape(title)}"' if title else ""
    write(f'<span class="lab-note{" doubt" if doubt else ""}"{more}>{terms.marked(text, *names)}</span>', inline=True)


def heading(question: str) -> None:
    """Writes the question of a page, and the place of its next step, which `viz/frame/next_step.js` fills."""
    write(f'<header class="lab-head"><h1>{question}</h1><p class="lab-next"></p></header>')


def fault(sentence: str) -> None:
    """Writes an error message."""
    write(f'<div class="lab-fault" role="alert">{html.escape(sentence)}</div>')


def note(sentence: str, *names: str, warn: bool = False) -> None:
    """Writes a sentence in small type, with explained terms `names`."""
    write(note_markup(sentence, *names, warn=warn))


def begin(text: str) -> str:
    """Returns the beginning of a line with a capital letter; the name of a head, such as `cross 3.5`, stays as it is."""
    return text if re.match(r"(encoder|decoder|cross) \d", text) else f"{text[:1].upper()}{text[1:]}"


def note_markup(sentence: str, *names: str, warn: bool = False) -> str:
    """Returns a sentence in small type as markup, with explained terms `names`; nothing for an empty sentence."""
    return f'<p class="lab-note{" warn" if warn else ""}">{terms.marked(sentence, *names)}</p>' if sentence else ""


def answer_markup(sentence: str, how: str) -> str:
    """Returns the markup of an answer in one sentence, with a help mark that explains how to read the picture."""
    answer = f'<p class="lab-answer-line">{html.escape(sentence)}</p>' if sentence else ""
    return f'<div class="lab-answered">{answer}{terms.explained("How to read it", how)}</div>'


def probability_markup(value: float) -> str:
    """Returns a probability or a weight as markup, with its exact value as the tooltip."""
    return f'<span title="{numbers.exact_probability(value)}">{html.escape(numbers.probability(value))}</span>'


def language_code(name: str) -> str:
    """Returns the code of a language for screen readers; empty for an unknown name."""
    return code_of(name)


def both_translations(analysis: Analysis, checkpoint: Checkpoint) -> None:
    """Writes the baseline's and the edited translation; changed tokens are underlined above and boxed below."""
    write(both_translations_markup(analysis, checkpoint))


def both_translations_markup(analysis: Analysis, checkpoint: Checkpoint, same_target: bool = False) -> str:
    """Returns both translations as markup; with `same_target` the first one."""
    base, code = analysis.baseline or analysis, language_code(checkpoint.languages[1])
    ids = _output_ids(base), _output_ids(analysis)
    both = zip(ids, changed_words(*ids), ("was", "is"), strict=True)
    was, now = (marked(checkpoint.output_vocabulary.segments(i), changed, name) for i, changed, name in both)
    same = '<p class="lab-note">same tokens (given target); their probabilities are below</p>'
    return (
        f'<div class="lab-both"><span>Baseline</span><p lang="{code}">{was or EMPTY}</p><span>Edited</span>'
        + (same if same_target else f'<p lang="{code}">{now or EMPTY}</p>')
        + "</div>"
    )


def _output_ids(analysis: Analysis) -> tuple[int, ...]:
    """Returns the written tokens; of a model that writes nothing, the top token at each position, or the label."""
    trace = analysis.trace
    return top_tokens(trace) if trace.outputs is None else trace.outputs.ids


def marked(segments: Sequence[str], changed: Sequence[bool], name: str) -> str:
    """Returns pieces of a text as escaped markup, with each run of changed ones in a `mark` of a class."""
    parts = []
    for off, run in itertools.groupby(zip(segments, changed, strict=True), key=lambda pair: pair[1]):
        text = "".join(segment for segment, _ in run)
        bare = text.lstrip()
        space = text[: len(text) - len(bare)]
        parts.append(f'{space}<mark class="{name}">{html.escape(bare)}</mark>' if off and bare else html.escape(text))
    return "".join(parts).strip()


def change_alt(analysis: Analysis) -> str:
    what = "labels" if analysis.task.is_classifier else "target tokens" if analysis.task.has_decoder else "tokens"
    count, edits = len(analysis.probability_change.after), analysis.request.intervention.describe()
    return f"Probability of {count} {what} before and after: {edits}."


def signed(value: float) -> None:
    """Writes a change in nats, in the hue of a loss or a gain."""
    hue = "loss" if value < 0 else "gain"
    write(f'<b class="lab-number {hue}">{numbers.signed(value)}</b>', inline=True)


@kept_with
def near_ties_of(analysis: Analysis) -> tuple[tuple[Candidate, Candidate] | None, ...]:
    """Returns `near_ties` of the steps of an analysis."""
    return near_ties(analysis.trace.log_probs)


def near_tie_text(analysis: Analysis, tokenizer: Tokenizer | ClassLabels) -> str:
    """Returns a sentence about the steps with near-ties, or an empty text."""
    inner = analysis.trace.scorable_rows
    steps = [(n, tie) for n, tie in enumerate(near_ties_of(analysis), 1) if tie and n - 1 in inner]
    if not steps:
        return ""
    place = "step" if analysis.task.has_decoder else "token"
    listed = [
        ("" if analysis.task.is_classifier else f"{place} {n}, ")
        + " against ".join(
            f"{tokenizer.piece(c.id).removeprefix('·') or '·'} {numbers.probability(c.probability)}" for c in tie
        )
        for n, tie in steps[:MAX_DECISIONS]
    ]
    more = f" and {len(steps) - MAX_DECISIONS} more" if len(steps) > MAX_DECISIONS else ""
    which = "Near-tie" if len(steps) == 1 else "Near-ties"
    return f"{which} before any edit: {'; '.join(listed)}{more}."


def changed_decisions(analysis: Analysis, tokenizer: Tokenizer | ClassLabels) -> None:
    """Writes the decisions that the edits change, and which of them were near-ties."""
    if text := changed_decisions_text(analysis, tokenizer):
        note(text)


def changed_decisions_text(analysis: Analysis, tokenizer: Tokenizer | ClassLabels) -> str:
    """Returns the decisions that the edits change; empty for none."""
    decisions = token_changes(analysis)
    place = "Step" if analysis.task.has_decoder else "Position"
    where = "Label: " if analysis.task.is_classifier else f"{place} {{}}: "
    listed = [f"{where.format(each.step + 1)}{each.describe(tokenizer.piece)}." for each in decisions[:MAX_DECISIONS]]
    more = [f"And {len(decisions) - MAX_DECISIONS} more."] if len(decisions) > MAX_DECISIONS else []
    meant = (
        [f"({NEAR_TIE_TEXT[:1].upper()}{NEAR_TIE_TEXT[1:]}.)"]
        if any(each.is_tie for each in decisions[:MAX_DECISIONS])
        else []
    )
    return " ".join([*listed, *more, *meant])


def verdict(analysis: Analysis, unedited: str = "Nothing is edited") -> None:
    """Writes the effect of the edits in one large line; `unedited` without edits."""
    write(verdict_line(analysis, unedited))


def name_text(fault: str, task: Task) -> str:
    """Returns an error message with the task's word for the text."""
    begins = "The sentence "
    return f"The {task.input_noun} {fault.removeprefix(begins)}" if fault.startswith(begins) else fault


def verdict_line(analysis: Analysis, unedited: str = "Nothing is edited") -> str:
    """Returns the effect of the edits as markup."""
    return f'<p class="lab-verdict" role="status">{html.escape(verdict_text(analysis, unedited))}</p>'


def verdict_text(analysis: Analysis, unedited: str = "Nothing is edited") -> str:
    """Returns the effect of the edits as plain text."""
    base = analysis.baseline
    if base is None:
        text = unedited
        if count := analysis.request.extra_padding:
            text = f"{count} <pad> {'token is' if count == 1 else 'tokens are'} added and hidden by the padding mask"
    elif analysis.task.is_classifier:
        text = _label_verdict(analysis, base)
    elif analysis.request.mode == "given":
        before, after = (numbers.three_digits(a.log_prob) for a in (base, analysis))
        text = f"Summed {analysis.score_label} {before} → {after}"
    else:
        gone, new = map(sum, changed_words(base.trace.outputs.ids, analysis.trace.outputs.ids))
        text = (
            f"{gone} of {len(base.trace.outputs)} tokens {'changes' if gone == 1 else 'change'}"
            if gone
            else f"The {analysis.task.output_noun} does not change"
        )
        if new > gone:
            more = f"{new - gone} {'token is' if new - gone == 1 else 'tokens are'} added"
            text = f"{text}, {more}" if gone else more
        elif new < gone:
            text += f", {gone - new} of them removed" if new else ": all removed"
        if any(each.is_tie for each in token_changes(analysis)):
            text += " (a near-tie)"
    return text


def strongest_change(analysis: Analysis, is_markup: bool = False) -> str:
    """Returns what the edits change most: `parce was 0.89, now <0.01`; empty without edits."""
    base, change = analysis.baseline, largest_edited_change(analysis)
    if base is None:
        return ""
    is_same = _output_ids(base) == _output_ids(analysis)
    hardly = is_same and hardly_changes(change, analysis.log_prob - base.log_prob)
    text = describe_change(change, hardly, "was {}, now {}", is_markup)
    return f"{text[:1].upper()}{text[1:]}" if hardly else text


def describe_change(change: LargestChange | None, hardly: bool, form: str, is_markup: bool = False) -> str:
    """Returns the token that changes most, and its probabilities in `form`; `hardly` says that this is little.

    With `is_markup` the text is escaped, and the token is marked.
    """
    if change is None:
        return "probabilities hardly change" if hardly else ""
    before, after = (numbers.probability(each) for each in (change.before, change.after))
    if hardly and before == after:
        return "probabilities hardly change"
    label, values = change.label, form.format(before, after)
    if is_markup:
        label, values = f'<b class="lab-token">{html.escape(label)}</b>', html.escape(values)
    return f"probabilities hardly change ({label} {values})" if hardly else f"{label} {values}"


def causal_reason(change: LargestChange | None, total: float) -> str:
    """Returns why a decoder that was trained with the causal mask gets worse without it, or does not, as measured.

    `total` is the change of the summed log-probability of the given target, in nats.
    """
    if hardly_changes(change, total):
        return "it hardly changes, though it never trained this way"
    if total < 0:
        return "worse, since it never trained this way and never learned what to do with later tokens"
    return "better here, though it never trained this way"


def _label_verdict(analysis: Analysis, base: Analysis) -> str:
    """Returns the effect of the edits on the label of a text."""
    (label,), (was,), (now,) = (
        base.trace.predicted_axis.ids,
        base.trace.predicted_axis.labels,
        analysis.trace.predicted_axis.labels,
    )
    if was == now:
        change = analysis.probability_change
        before, after = (numbers.probability(float(each[label])) for each in (change.before, change.after))
        return f"The label stays “{was}”: {before} → {after}"
    tie = " (a near-tie)" if any(each.is_tie for each in token_changes(analysis)) else ""
    return f"The label changes: “{was}” → “{now}”{tie}"


def sentence_notes(notes: Sequence[str], faults: Sequence[str], cautions: Sequence[str] = ()) -> None:
    """Writes the faults of the link and the notes on the translation; see `sentence_notes_markup`."""
    if markup := sentence_notes_markup(notes, faults, cautions):
        write(markup)


def sentence_notes_markup(notes: Sequence[str], faults: Sequence[str], cautions: Sequence[str] = ()) -> str:
    """Returns the faults of the link and the notes on the translation as markup.

    Notes that are `cautions` fold under the first of them.
    """
    parts = []
    for sentence in (*faults, *(note for note in notes if note not in cautions)):
        warns = "" if sentence == STEPWISE_NOTE else " warn"
        parts.append(f'<p class="lab-note{warns}">{html.escape(sentence)}</p>')
    if cautions:
        verdict, *signs = map(html.escape, cautions)
        rest = "".join(f"<p>{sign}</p>" for sign in signs)
        parts.append(f'<details class="lab-note doubt"><summary>{verdict}</summary>{rest}</details>')
    return "".join(parts)


@contextmanager
def waiting() -> Iterator[None]:
    """Shows a spinner while something is computed."""
    with ExitStack() as stack:

        def show_spinner() -> None:
            view = session.current_view()
            doing = cache.task(view.checkpoint, view.device).progress_label
            what = doing if cache.is_ready() else "Loading the model, once. This takes a few seconds"
            with browser_store.place_over_page():
                stack.enter_context(st.spinner(what, show_time=True))

        with report_start(show_spinner):
            yield
