"""What the pages say in words: headings, explanations, faults, and what changed."""

from __future__ import annotations

import html
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import streamlit as st

from model.config import MAX_TOKENS
from viz import cache, theme

if TYPE_CHECKING:
    from model.inference import Analysis
    from model.trace import Site, View

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


def both_translations(
    words: tuple[list[str], list[str]], changed: tuple[tuple[bool, ...], tuple[bool, ...]], language: str
) -> None:
    """The baseline's and the edited translation, what changed underlined above and boxed below."""

    def marked(side: int, name: str) -> str:
        pairs = zip(words[side], changed[side], strict=True)
        return " ".join(f'<mark class="{name}">{html.escape(word)}</mark>' if c else html.escape(word) for word, c in pairs)

    code = language_code(language)
    write(
        '<div class="lab-both">'
        f'<span>Baseline</span><p lang="{code}">{marked(0, "was")}</p>'
        f'<span>Edited</span><p lang="{code}">{marked(1, "is")}</p></div>'
    )


def change_heading(analysis: Analysis) -> None:
    """What was edited, what came of it, and how the chart below is read."""
    base, edits = analysis.baseline, analysis.request.intervention.describe()
    before, after = base.trace, analysis.trace
    if analysis.request.mode == "given":
        change = f"{after.token_log_probs.sum() - before.token_log_probs.sum():+.2f}".replace("-", "−")
        turned = int((before.log_probs.argmax(1) != after.log_probs.argmax(1)).sum())
        steps = len(before.outputs)
        what = f"log-probability changes by {change}; another token becomes likeliest at {turned} of {steps} steps"
        how = "One pass over the same target: what the model would have thought at each step."
    elif before.outputs.ids == after.outputs.ids:
        what, how = "the translation does not change", "Every token was chosen anew under the edits."
    else:
        what = f"the translations part at step {analysis.comparable}"
        how = "Every token was chosen anew under the edits; where the translations part, nothing can be compared any more."
    write(f'<h2 class="lab-label lab-rule">With {edits}: {what}</h2>')
    note(f"{how} Probability of each token of the baseline, hollow before and filled after.")


def change_alt(analysis: Analysis) -> str:
    count = min(analysis.comparable, len(analysis.baseline.trace.outputs))
    return f"Probability of {count} target tokens before and after: {analysis.request.intervention.describe()}."


def site_title(kind: str) -> None:
    write(f'<h3 class="lab-site"><i style="background:{theme.HUES[kind]}"></i>{theme.SITE_NAMES[kind]}</h3>')


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
