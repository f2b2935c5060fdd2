"""What the pages say in words: headings, explanations, faults, and what changed."""

from __future__ import annotations

import html
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import streamlit as st

from model import format
from model.config import MAX_TOKENS
from model.inference.predictions import changed_words, kl_divergence, moves
from viz import cache, theme

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.experiments.leaks import LeakReport
    from model.inference.analyse import Analysis
    from model.text.tokenizer import Tokenizer
    from model.trace import Site, View

EMPTY = '<span class="lab-note">(empty: it ends at once)</span>'
MAP_NAMES = {"before": "Before", "after": "After", "difference": "After − before"}
LANGUAGE_CODES = {
    "Dutch": "nl",
    "English": "en",
    "French": "fr",
    "German": "de",
    "Italian": "it",
    "Portuguese": "pt",
    "Spanish": "es",
}


def write(markup: str, inline: bool = False) -> None:
    """Our own markup; whatever a visitor typed must have been escaped by `html.escape`. Inline: as wide as its text."""
    st.html(markup, width="content" if inline else "stretch")


def label(text: str) -> None:
    """A short text in a row of controls."""
    write(f'<span class="lab-note">{html.escape(text)}</span>', inline=True)


def heading(title: str, question: str) -> None:
    write(f'<header class="lab-head"><h1>{title}</h1><p>{question}</p></header>')


def fault(sentence: str) -> None:
    """One sentence that says what is wrong and what to do."""
    write(f'<div class="lab-fault" role="alert">{html.escape(sentence)}</div>')


def note(sentence: str, warn: bool = False) -> None:
    write(f'<p class="lab-note{" warn" if warn else ""}">{html.escape(sentence)}</p>')


def legend(theme_mode: theme.Mode) -> None:
    """The colour scales of the three kinds of site, from 0 to 1."""
    bars = "".join(
        f'<i style="background:linear-gradient(90deg,{",".join(theme.scale(kind, theme_mode, 9))})"></i>'
        for kind in theme.HUES
    )
    write(f'<div class="lab-legend" aria-label="Scale from 0 to 1">0<span>{bars}</span>1</div>', inline=True)


def language(name: str) -> None:
    """The heading of a sentence's side."""
    write(f'<h2 class="lab-label">{html.escape(name)}</h2>', inline=True)


def language_code(name: str) -> str:
    """The code of a language for screen readers, empty where the name is not known."""
    return LANGUAGE_CODES.get(name, "")


def both_translations(analysis: Analysis, checkpoint: Checkpoint, given: bool = False) -> None:
    """The baseline's and the edited translation; tokens that changed are underlined above and boxed below."""
    base, code = analysis.baseline or analysis, language_code(checkpoint.languages[1])
    ids = base.trace.outputs.ids, analysis.trace.outputs.ids
    both = zip(ids, changed_words(*ids), ("was", "is"), strict=True)
    was, now = (marked(checkpoint.target_tokenizer.segments(i), changed, name) for i, changed, name in both)
    same = '<p class="lab-note">the same tokens, given: their probabilities are below</p>'
    write(
        f'<div class="lab-both"><span>Baseline</span><p lang="{code}">{was or EMPTY}</p><span>Edited</span>'
        + (same if given else f'<p lang="{code}">{now or EMPTY}</p>')
        + "</div>"
    )


def marked(segments: Sequence[str], changed: Sequence[bool], name: str) -> str:
    """Pieces of a text as markup, each run of changed ones in a `mark` of a class; the text is escaped."""
    found = []
    for off, run in itertools.groupby(zip(segments, changed, strict=True), key=lambda pair: pair[1]):
        text = "".join(segment for segment, _ in run)
        bare = text.lstrip()
        space = text[: len(text) - len(bare)]
        found.append(f'{space}<mark class="{name}">{html.escape(bare)}</mark>' if off and bare else html.escape(text))
    return "".join(found).strip()


def pair(sentence: str, said: str, language: str, chosen: bool) -> None:
    """A sentence and its translation in one line."""
    name = "lab-pair chosen" if chosen else "lab-pair"
    code = language_code(language)
    write(f'<p class="{name}">{html.escape(sentence)} → <span lang="{code}">{html.escape(said)}</span></p>')


def translation(text: str, language: str) -> None:
    """A translation in a line of its own."""
    write(f'<p class="lab-translation" lang="{language_code(language)}">{html.escape(text) or EMPTY}</p>')


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
    write(f'<h2 class="lab-label lab-rule">With {html.escape(edits)}: {what}</h2>')
    note(f"{how} Probability of each token of the baseline, hollow before and filled after.")


def change_alt(analysis: Analysis) -> str:
    count = min(analysis.comparable, len((analysis.baseline or analysis).trace.outputs))
    return f"Probability of {count} target tokens before and after: {analysis.request.intervention.describe()}."


def site_title(kind: str, title: str | None = None) -> None:
    """A heading with the hue of a kind of site."""
    name = title or theme.SITE_NAMES[kind]
    write(f'<h3 class="lab-site"><i style="background:{theme.HUES[kind]}"></i>{name}</h3>', inline=title is not None)


def signed(value: float) -> None:
    """A change in nats, in the hue of a loss or a gain."""
    hue = "loss" if value < 0 else "gain"
    write(f'<b class="lab-number {hue}">{format.nats(value)}</b>', inline=True)


def measured(question: str, found: str) -> None:
    """A question and the answer that was measured."""
    write(f'<div class="lab-answer" role="status"><b>{html.escape(question)}</b> {html.escape(found)}</div>')


def verdict(analysis: Analysis) -> None:
    """What the edits did, in one large line."""
    base = analysis.baseline
    if base is None:
        said = "Nothing is edited"
    elif analysis.request.mode == "given":
        before, after = (format.decimal(a.trace.token_log_probs.sum()) for a in (base, analysis))
        said = f"Summed log-probability {before} → {after}"
    else:
        gone, new = map(sum, changed_words(base.trace.outputs.ids, analysis.trace.outputs.ids))
        said = f"{gone} of {len(base.trace.outputs)} tokens change" if gone else "The translation stays as it is"
        if new > gone:
            more = f"{new - gone} {'token is' if new - gone == 1 else 'tokens are'} added"
            said = f"{said}, {more}" if gone else more
        elif new < gone:
            said += f", {gone - new} of them to nothing" if new else ": to nothing"
    write(f'<p class="lab-verdict" role="status">{html.escape(said)}</p>')


def step_changes(analysis: Analysis, step: int, tokenizer: Tokenizer) -> None:
    """One step: KL(baseline || edited), and the candidates that gain and lose the most."""
    base = analysis.baseline
    trace = (base or analysis).trace
    pair = f"{trace.inputs.labels[step]} → {trace.outputs.labels[step]}"
    title = f'<h3 class="lab-label">Step {step + 1}, <span class="lab-mono">{html.escape(pair)}</span>'
    if base is None:
        write(f"{title}</h3>")
        note("Without an edit nothing gains and nothing loses.")
        return
    if step >= analysis.comparable:
        write(f"{title}</h3>")
        note("The prefixes differ here: no comparison.")
        return
    before, after = base.trace.log_probs[step], analysis.trace.log_probs[step]
    kl = float(kl_divergence(before[None], after[None])[0])
    columns = []
    for name, hue, rows in zip(("Gains", "Losses"), ("gain", "loss"), moves(before, after), strict=True):
        lines = "".join(
            f'<li><span class="lab-mono">{html.escape(tokenizer.piece(m.id))}</span>'
            f'<b class="{hue}">{m.before:.3f} → {m.after:.3f}</b></li>'
            for m in rows
            if abs(m.after - m.before) >= 0.0005
        )
        columns.append(f"<div><span>{name}</span><ul>{lines or '<li>none</li>'}</ul></div>")
    meant = "Kullback-Leibler divergence: how much the edited model disagrees with the unedited one about this token"
    write(
        f'{title} <small title="{meant}">KL(baseline || edited) {kl:.3f} nats</small></h3>'
        f'<div class="lab-moves">{"".join(columns)}</div>'
    )


def leak_report(report: LeakReport) -> None:
    """What moved although it must not, in words."""
    layers, steps = report.later.shape[:2]
    leaks = report.leaks
    if report.made_up:
        note(f"The translation is too short to test on: {steps - 1} other tokens stand in for it.")
    if not leaks:
        note(f"No leak: of {steps} tokens, changing a later one moves no earlier position, at any of {layers} layers.")
    else:
        layer, j, i = min(leaks)
        note(
            f"Leak: {len(leaks)} times an earlier position moves. First: changing “{report.labels[j]}” (position {j + 1}) "
            f"moves “{report.labels[i]}” (position {i + 1}) at decoder layer {layer + 1}, by "
            f"{report.later[layer, j, i]:.1%} of the largest entry.",
            warn=True,
        )
    if not report.padding_leaks:
        note(f"No leak: what stands in {report.pads} padded positions moves no real token, in the encoder or the decoder.")
    else:
        stack, layer, _ = report.padding_leaks[0]
        places = len({(name, i) for name, _, i in report.padding_leaks})
        note(f"Leak: padding moves {places} real positions, first at {stack} layer {layer + 1}.", warn=True)
    rows = [
        f"<tr><th>{html.escape(label)}</th>"
        + "".join(_moved(report.first_layer(j, i), i < j) for i in range(steps))
        + "</tr>"
        for j, label in enumerate(report.labels)
        if j
    ]
    head = "".join(f"<th><span>{html.escape(label)}</span></th>" for label in report.labels)
    write(
        '<details class="lab-details"><summary>Which position moves at which layer</summary>'
        "<p>A row: the token that was changed. A column: the position that moves, with the first layer at which it does; "
        "· does not move, a box must not.</p>"
        f'<div class="lab-scroll"><table><tr><td></td>{head}</tr>{"".join(rows)}</table></div></details>'
    )


def _moved(layer: int | None, forbidden: bool) -> str:
    shown = "·" if layer is None else layer + 1
    return f'<td class="{"bad" if layer is not None and forbidden else ""}">{shown}</td>'


def map_alt(seen: View, site: Site, head: int | None, show: str) -> str:
    """A map in words."""
    if show == "mask":
        return f"Mask of {site.kind} attention: {int(seen.allowed.sum())} of {seen.allowed.size} cells allowed."
    which = "mean over heads" if head is None else f"head {head + 1}"
    i, j = divmod(int(seen.values.argmax()), seen.values.shape[1])
    return (
        f"{site.kind} attention, layer {site.layer + 1}, {which}: {len(seen.queries)} queries by {len(seen.keys)} keys; the "
        f"largest weight, {seen.values[i, j]:.3f}, is {seen.queries[i]} looking at {seen.keys[j]}."
    )


def difference_alt(change: View) -> str:
    """A difference of two maps in words."""
    i, j = divmod(int(abs(change.values).argmax()), change.values.shape[1])
    return f"the largest change, {change.values[i, j]:+.3f}, is {change.queries[i]} looking at {change.keys[j]}."


def map_caption(analysis: Analysis, show: str) -> None:
    """How the maps are read."""
    if show == "mask":
        sentence = "Filled cells may attend, blank ones may not; the mask is the same in every layer and head."
    else:
        sentence = "A row asks, a column answers: each row shares out a weight of 1. Blank cells are forbidden by the mask."
    if analysis.steps:
        sentence += " Without the causal mask the prefix is computed anew at each step: these are the maps of the last."
    note(sentence)


def sentence_notes(notes: tuple[str, ...], faults: tuple[str, ...]) -> None:
    """Under the sentence: what was wrong with the link, and what to know of its translation."""
    for sentence in (*faults, *notes):
        note(sentence, warn=True)


def token_count(analysis: Analysis) -> None:
    """How long the sentence is, of how long it may be."""
    real = sum(label != "<pad>" for label in analysis.trace.source.labels)
    label(f"{real} of {MAX_TOKENS} tokens")


@contextmanager
def waiting() -> Iterator[None]:
    """Says what is going on while something takes its time."""
    what = "Translating" if cache.is_ready() else "Loading the model: this happens once, and takes a few seconds"
    with st.spinner(what, show_time=True):
        yield
