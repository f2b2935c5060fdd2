"""What a class may be asked of a view: which token comes next, or which head links two tokens. The answer and all numbers
are those of the view's own pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from model.config import END
from model.decoding.sampling import NEVER_CHOSEN, likeliest
from model.edits.place import ordinal
from model.format import probability
from model.inference.decisions import is_near
from model.readings.head_metrics import is_punctuation, is_special
from model.readings.head_pairs import Pair, linking, pair_of_words
from model.text import blanks
from model.trace import site_kind

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis
    from model.text.tokenizer import Tokenizer
    from model.trace import Trace
    from viz.view import View

LEAST, MOST = 4, 6  # options of a question about a token
UNLIKELY = 0.005  # below this a token is no option, where there are enough
LINKED = 0.1  # the least weight that is a link
RIVALS = 4  # heads that are options beside the best one
TOLD = 3  # near-ties that are told one by one
LONGEST = 36  # characters of an option
CONTEXT = 140  # characters of what stands before the gap
GAP = "▁▁▁"
END_WORD = "(the end)"
ELIDED = ("'", "’")  # a word that ends so is written together with the next one


class NoQuestion(ValueError):
    """There is nothing to ask of this view; one sentence says why."""


@dataclass(frozen=True)
class Question:
    """A question with what the model makes of each answer; `gave` says what it makes of the right one, `note` how that came
    about, where that is not plain."""

    kind: str  # "next" or "head"
    asks: str  # in a few words
    gap: str  # the text with a gap that is asked about, as `sign`; empty where there is none
    text: str  # both in one line, for who sees nothing else
    about: str  # the sentence that is worked on, where the gap is not in it
    options: tuple[str, ...]  # in an order that tells nothing
    model: tuple[float, ...]  # probability, or weight, of each
    answer: str
    gave: str
    note: str
    sign: str = GAP


def question(view: View, analysis: Analysis, loaded: Checkpoint, of_heads: bool) -> Question:
    """The question that fits a view: `of_heads` where it shows heads, else about the token of its step; NoQuestion."""
    if of_heads:
        return _of_a_head(view, analysis)
    return _of_a_step(view, analysis, loaded) if analysis.task.writes else _of_a_blank(view, analysis, loaded)


# -- which token ---------------------------------------------------------------------------------------------------


def _of_a_step(view: View, analysis: Analysis, loaded: Checkpoint) -> Question:
    trace, tokenizer, step = analysis.trace, loaded.target_tokenizer, view.step - 1
    ids = trace.predicted.ids
    if step < analysis.begun:
        raise NoQuestion(f"This step reads your own text: what the model writes begins at step {analysis.begun + 1}.")
    before = "".join(tokenizer.segments(ids[:step]))
    asks = "What comes next?" if before.strip() else "What comes first?"
    gap = f"{_end_of(before)}{'' if before.endswith(ELIDED) else ' '}{GAP}".strip()
    about = analysis.request.source if analysis.task.reads else ""
    words = _words(tokenizer, trace.log_probs[step], ids[step], before)
    how = _how(analysis, step, words[ids[step]])
    return _of_tokens(asks, gap, about, words, trace.log_probs[step], ids[step], how)


def _of_a_blank(view: View, analysis: Analysis, loaded: Checkpoint) -> Question:
    trace, tokenizer = analysis.trace, loaded.source_tokenizer
    places = [i for i, token in enumerate(trace.predicted.ids) if tokenizer.mask is not None and token == tokenizer.mask]
    if not places:
        sign = "" if tokenizer.mask is None else f": type {blanks.SIGN} where a word is to be filled in"
        raise NoQuestion(f"There is no blank in this sentence{sign}.")
    number = min(range(len(places)), key=lambda n: abs(places[n] - (view.step - 1)))
    row = trace.log_probs[places[number]]
    answer = int(row.argmax())
    pieces = blanks.parts(analysis.request.source)
    signs = [GAP if n == number else blanks.SIGN for n in range(len(pieces) - 1)]
    fits = len(signs) == len(places)
    gap = "".join(a + b for a, b in zip(pieces, [*signs, ""], strict=True)) if fits else ""
    words = _words(tokenizer, row, answer, "")
    return _of_tokens("Which word stands in the blank?", _end_of(gap), "", words, row, answer, "")


def _of_tokens(
    asks: str, gap: str, about: str, words: dict[int, str], log_probs: np.ndarray, answer: int, how: str
) -> Question:
    """A question whose options are tokens, as words; log_probs [V] in nats."""
    order = sorted(words, key=lambda token: (words[token].casefold(), words[token]))
    given = {token: min(1.0, float(np.exp(log_probs[token]))) for token in order}
    first, second = sorted(given, key=lambda token: -given[token])[:2]
    tie = ""
    if is_near(given[first], given[second]):
        both = (f"“{words[token]}” {probability(given[token])}" for token in (first, second))
        tie = f"A near-tie: {' and '.join(both)}."
    return Question(
        kind="next",
        asks=asks,
        gap=gap,
        text=f"{asks} {gap}".strip(),
        about=about,
        options=tuple(words[token] for token in order),
        model=tuple(_rounded(given[token]) for token in order),
        answer=words[answer],
        gave=f"the model gave it {probability(given[answer])}",
        note=" ".join(filter(None, [how, _likeliest(words, given, answer), tie])),
    )


def _rounded(share: float) -> float:
    """What is sent of a share: nothing that is not 0 becomes 0."""
    return float(f"{share:.6g}")


def _likeliest(words: dict[int, str], given: dict[int, float], answer: int) -> str:
    best = max(given, key=lambda token: given[token])
    return "" if given[best] == given[answer] else f"Its likeliest was “{words[best]}” with {probability(given[best])}."


def _how(analysis: Analysis, step: int, word: str) -> str:
    """Why this token stands there, where it is not simply the likeliest one."""
    chosen, best = float(analysis.trace.token_log_probs[step]), float(analysis.trace.log_probs[step].max())
    asked, branch = analysis.request, analysis.branch
    if analysis.how == "given target":
        return f"“{word}” is what the given {analysis.task.made} has." if chosen < best else ""
    if branch is not None and step < len(branch) and chosen < best:
        return f"“{word}” is what this branch was given."
    if asked.decoding.strategy == "sample":
        return f"“{word}” was drawn by chance."
    return ""


def _words(tokenizer: Tokenizer, log_probs: np.ndarray, answer: int, before: str) -> dict[int, str]:
    """The likeliest tokens at a step and the one that stands there, each as another word; log_probs [V] in nats."""
    possible = log_probs.copy()
    possible[list(NEVER_CHOSEN)] = -np.inf
    found = {answer: _word(tokenizer, answer, before)}
    for token in map(int, likeliest(possible, 4 * MOST)):
        many = len(found) >= MOST or (len(found) >= LEAST and np.exp(possible[token]) < UNLIKELY)
        if many or not np.isfinite(possible[token]):
            break
        word = _word(tokenizer, token, before)
        if word not in found.values():
            found[token] = word
    return found


def _word(tokenizer: Tokenizer, token: int, before: str) -> str:
    """A token as a class reads it: without the space before it; one that goes on with a word says so."""
    if token == END:
        return END_WORD
    piece = tokenizer.piece(token)
    word = piece.removeprefix("·") or "(a space)"
    joins = not piece.startswith("·") and word[0].isalnum() and before[-1:].isalnum()
    return f"…{word}"[:LONGEST] if joins else word[:LONGEST]


def _end_of(text: str) -> str:
    """The last words of a text."""
    if len(text) <= CONTEXT:
        return text
    return f"… {text[-CONTEXT:].partition(' ')[2] or text[-CONTEXT:]}"


# -- which head ----------------------------------------------------------------------------------------------------


def _of_a_head(view: View, analysis: Analysis) -> Question:
    trace = analysis.whole
    pair = _pair(view, trace)
    try:
        weights = linking(trace, pair, view.merge)  # [N], layer by layer
    except ValueError as fault:
        raise NoQuestion(str(fault)) from None
    asks, key = _tokens(trace, pair, view.merge)
    order = np.argsort(-weights, kind="stable").tolist()
    best = order[0]
    near = [n for n in order[1:] if is_near(float(weights[best]), float(weights[n]))]
    lower = [n for n in order[1:] if n not in near]
    link = f"“{asks}” to “{key}”"
    if weights[best] < LINKED:
        raise NoQuestion(f"No head links {link}: {probability(float(weights[best]))} is the most. Choose two other tokens.")
    if not lower:
        raise NoQuestion(f"All {len(order)} heads link {link} about equally well. Choose two other tokens.")
    heads = len(trace.patterns[trace.sites(pair.kind)[0]])
    shown = sorted([best, *_spread(lower, RIVALS)])
    names = tuple(_head(n, heads) for n in shown)
    text = f"Which head links {link}?"
    left = ", ".join(f"{_head(n, heads)} with {probability(float(weights[n]))}" for n in near[:TOLD])
    left += f" and {len(near) - TOLD} more" if len(near) > TOLD else ""
    return Question(
        kind="head",
        asks=text,
        gap="",
        text=f"{site_kind(pair.kind).name.capitalize()}: {text[0].lower()}{text[1:]}",
        about=site_kind(pair.kind).name.capitalize(),
        options=names,
        model=tuple(_rounded(min(1.0, float(weights[n]))) for n in shown),
        answer=_head(best, heads),
        gave=f"it puts {probability(float(weights[best]))} of “{asks}” on “{key}”",
        note=f"Near-ties with it, and no options here: {left}." if near else "",
    )


def _head(number: int, heads: int) -> str:
    layer, head = divmod(number, heads)
    return f"L{layer + 1} H{head + 1}"


def _spread(numbers: Sequence[int], count: int) -> list[int]:
    """Some of them, from the first to the last at even distances."""
    if len(numbers) <= count:
        return list(numbers)
    return [numbers[round(n * (len(numbers) - 1) / (count - 1))] for n in range(count)]


def _pair(view: View, trace: Trace) -> Pair:
    """The two tokens that are looked for, else those of the strongest link between two words of the map that is shown."""
    if view.find is not None:
        kind, query, key = view.find
        return Pair(kind, query - 1, key - 1)
    sites = trace.sites(view.kind)
    if not sites:
        raise NoQuestion(f"This checkpoint has no {site_kind(view.kind).name}.")
    chosen = sites if view.average else [sites[min(view.layer, len(sites)) - 1]]
    patterns = np.concatenate([trace.patterns[site] for site in chosen])  # [N,T,S]
    one = not view.average and view.head is not None
    weights = patterns[min(view.head, len(patterns)) - 1] if one else patterns.mean(axis=0)  # [T,S]
    of = site_kind(view.kind)
    sides = [trace.axis(of.queries).labels, trace.axis(of.keys).labels]
    plain = [np.array([not (is_special(each) or is_punctuation(each)) for each in side]) for side in sides]
    between = np.outer(*plain) & (~np.eye(*weights.shape, dtype=bool) if of.is_self else True)
    found = np.where(between if between.any() else True, weights, -1.0)
    query, key = np.unravel_index(int(found.argmax()), found.shape)
    return Pair(view.kind, int(query), int(key))


def _tokens(trace: Trace, pair: Pair, merge: bool) -> tuple[str, str]:
    """What asks and what answers, as they are read: tokens, or words."""
    of = site_kind(pair.kind)
    axes, places = (trace.axis(of.queries), trace.axis(of.keys)), (pair.query, pair.key)
    if not merge:
        return _nth(axes[0].labels, places[0]), _nth(axes[1].labels, places[1])
    found = []
    for axis, place in zip(axes, pair_of_words(trace, pair), strict=True):
        numbers = list(dict.fromkeys(axis.words))
        joined = ["".join(t for t, n in zip(axis.labels, axis.words, strict=True) if n == each) for each in numbers]
        found.append(_nth(joined, place))
    return found[0], found[1]


def _nth(texts: Sequence[str], at: int) -> str:
    """The text at a position; where it stands elsewhere too, with which of them this is."""
    number = list(texts[: at + 1]).count(texts[at])
    return f"{texts[at]} ({ordinal(number)})" if list(texts).count(texts[at]) > 1 else texts[at]
