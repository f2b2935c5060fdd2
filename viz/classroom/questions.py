"""What a class may be asked of a view: which token stands there, or which head links two words. The answer and all numbers
are those of the view's own pass.

Which head links two words of a map: what a class may be asked of heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from model.config import END
from model.decoding.sampling import NEVER_CHOSEN, likeliest
from model.edits.place import ordinal
from model.inference.decisions import is_near
from model.inference.source_reading import blank_places
from model.inference.source_reading import likeliest as likeliest_of
from model.io.numbers import probability
from model.readings.heads.head_maps import Pair, linking, pair_of_words
from model.readings.heads.patterns import is_punctuation, is_special, merged
from model.text import sentences
from model.trace import site_kind
from viz.classroom.question import NoQuestion, Question, rounded

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis
    from model.text.tokenizer import Tokenizer
    from model.trace import Trace
    from viz.state.view import View

LINKED = 0.1  # the least weight that is a link
RIVALS = 4  # heads that are options beside the best one
TOLD = 3  # near-ties that are told one by one
FOUND = "The heads for two tokens are on the screen, so there is nothing to bet on: take the search away first (x)."


def of_a_head(view: View, analysis: Analysis) -> Question:
    """Which head links two words of the map that is shown best; NoQuestion."""
    if view.find is not None:
        raise NoQuestion(FOUND)
    trace = analysis.trace
    pair = _pair(view, trace)
    weights = linking(trace, pair, view.merge)  # [N], layer by layer
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
        before="",
        gap="",
        after="",
        text=f"{site_kind(pair.kind).name.capitalize()}: {text[0].lower()}{text[1:]}",
        about=site_kind(pair.kind).name.capitalize(),
        options=names,
        model=tuple(rounded(min(1.0, float(weights[n]))) for n in shown),
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
    """The two words of the strongest link in the map that is shown, but for the largest weight, which its title names."""
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
    if view.merge:
        words = merged(weights[None], trace.axis(of.queries).words, trace.axis(of.keys).words)[0]
        rows, columns = (_ranks(trace.axis(name).words) for name in (of.queries, of.keys))
        named = (words == words.max())[np.ix_(rows, columns)]
    else:
        named = weights == weights.max()
    found = np.where(between & ~named, weights, -1.0)
    query, key = np.unravel_index(int(found.argmax()), found.shape)
    if found[query, key] < 0:
        raise NoQuestion("No two words here can be asked about: ask of another map, or of a longer sentence.")
    return Pair(view.kind, int(query), int(key))


def _ranks(words: Sequence[int]) -> list[int]:
    """The place of each token's word among the words of its axis."""
    places = {word: n for n, word in enumerate(dict.fromkeys(words))}
    return [places[word] for word in words]


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


LEAST, MOST = 4, 6  # options of a question about a token
UNLIKELY = 0.005  # below this a token is no option, where there are enough
LONGEST = 36  # characters of an option
CONTEXT = 140  # characters of what stands around the gap
GAP = "▁▁▁"
END_WORD = "(the end)"
ELIDED = ("'", "’")  # a word that ends so is written together with the next one


def question(view: View, analysis: Analysis, loaded: Checkpoint, of_heads: bool) -> Question:
    """The question that fits a view: `of_heads` where it shows heads, else about the token of its step; NoQuestion."""
    if of_heads:
        return of_a_head(view, analysis)
    if analysis.task.judges:
        return _of_a_label(analysis)
    return _of_a_step(view, analysis, loaded) if analysis.task.writes else _of_a_blank(view, analysis, loaded)


def _of_a_label(analysis: Analysis) -> Question:
    """Which label the text gets, of the likeliest few."""
    trace, row = analysis.trace, analysis.trace.log_probs[0]
    order = sorted(likeliest(row, MOST).tolist(), key=lambda label: trace.classes[label].casefold())
    (answer,), (said,) = trace.predicted.ids, trace.predicted.labels
    first, second = (_share(row, label) for label in map(int, likeliest(row, 2)))
    asks = "Which label does it get?"
    return Question(
        kind="next",
        asks=asks,
        before="",
        gap="",
        after="",
        text=asks,
        about=analysis.request.source,
        options=tuple(trace.classes[label][:LONGEST] for label in order),
        model=tuple(rounded(_share(row, label)) for label in order),
        answer=said[:LONGEST],
        gave=f"the model gave it {probability(_share(row, answer))}",
        note=f"A near-tie: {probability(first)} and {probability(second)}." if is_near(first, second) else "",
    )


# -- which token ---------------------------------------------------------------------------------------------------


def _of_a_step(view: View, analysis: Analysis, loaded: Checkpoint) -> Question:
    trace, tokenizer, step = analysis.trace, loaded.target_tokenizer, view.step - 1
    ids = trace.predicted.ids
    if step < analysis.begun:
        raise NoQuestion(f"This step reads your own text: what the model writes begins at step {analysis.begun + 1}.")
    before = "".join(tokenizer.segments(ids[:step]))
    said = before.split()
    asks = f"What comes after “{said[-1][-LONGEST:]}”?" if said else "What comes first?"
    about = analysis.request.source if analysis.task.reads else ""
    words = _words(tokenizer, trace.log_probs[step], ids[step], before)
    how = _how(analysis, step, words[ids[step]])
    around = (f"{before}{'' if before.endswith(ELIDED) else ' '}".lstrip(), "")
    return _of_tokens(tokenizer, asks, around, about, words, trace.log_probs[step], ids[step], how)


def _of_a_blank(view: View, analysis: Analysis, loaded: Checkpoint) -> Question:
    trace, tokenizer = analysis.trace, loaded.source_tokenizer
    places = blank_places(analysis, loaded)
    if not places:
        sign = "" if tokenizer.mask is None else f": type {sentences.SIGN} where a word is to be filled in"
        raise NoQuestion(f"There is no blank in this sentence{sign}.")
    number = min(range(len(places)), key=lambda n: abs(places[n] - (view.step - 1)))
    row = trace.log_probs[places[number]]
    answer = likeliest_of(analysis, [places[number]], tokenizer.mask)[places[number]]
    pieces = sentences.parts(" ".join(filter(None, (analysis.request.source, analysis.request.second))))
    around = None
    if len(pieces) == len(places) + 1:
        around = (sentences.SIGN.join(pieces[: number + 1]).lstrip(), sentences.SIGN.join(pieces[number + 1 :]).rstrip())
    words = _words(tokenizer, row, answer, "")
    return _of_tokens(tokenizer, "Which word stands in the blank?", around, "", words, row, answer, "")


def _of_tokens(
    tokenizer: Tokenizer,
    asks: str,
    around: tuple[str, str] | None,
    about: str,
    words: dict[int, str],
    log_probs: np.ndarray,
    answer: int,
    how: str,
) -> Question:
    """A question whose options are tokens, as words; `around` the gap stand two texts; log_probs [V] in nats."""
    order = sorted(words, key=lambda token: (words[token].casefold(), words[token]))
    given = {token: _share(log_probs, token) for token in order}
    before, after = _cut(*around) if around else ("", "")
    gap = GAP if around else ""
    return Question(
        kind="next",
        asks=asks,
        before=before,
        gap=gap,
        after=after,
        text=f"{asks} {before}{gap}{after}".strip(),
        about=about,
        options=tuple(words[token] for token in order),
        model=tuple(rounded(given[token]) for token in order),
        answer=words[answer],
        gave=f"the model gave it {probability(given[answer])}",
        note=" ".join(filter(None, [how, _clearly(tokenizer, words, log_probs, answer)])),
    )


def _share(log_probs: np.ndarray, token: int) -> float:
    return min(1.0, float(np.exp(log_probs[token])))


def _clearly(tokenizer: Tokenizer, words: dict[int, str], log_probs: np.ndarray, answer: int) -> str:
    """Which token was the likeliest of all, where it is not the answer; and whether another was in a near-tie with it."""
    first, second = map(int, likeliest(_possible(log_probs), 2))
    best, next_best = _share(log_probs, first), _share(log_probs, second)
    found = {token: words.get(token) or _word(tokenizer, token, "") for token in (first, second)}
    if found[first] == found[second]:  # one with a space before it, one without
        found = {token: tokenizer.piece(token) for token in found}
    told = [f"Its likeliest was “{found[first]}” with {probability(best)}."] if best > _share(log_probs, answer) else []
    if is_near(best, next_best):
        both = f"“{found[first]}” {probability(best)} and “{found[second]}” {probability(next_best)}"
        told.append(f"A near-tie: {both}.")
    return " ".join(told)


def _how(analysis: Analysis, step: int, word: str) -> str:
    """Why this token stands there, where it is not simply the likeliest one."""
    chosen, best = float(analysis.trace.token_log_probs[step]), float(_possible(analysis.trace.log_probs[step]).max())
    asked, branch = analysis.request, analysis.branch
    if analysis.how == "given target":
        return f"“{word}” is what the given {analysis.task.made} has." if chosen < best else ""
    if branch is not None and step < len(branch):
        return f"“{word}” is what this branch was given." if chosen < best else ""
    return f"“{word}” was drawn by chance." if asked.decoding.is_random else ""


def _possible(log_probs: np.ndarray) -> np.ndarray:
    """The log-probs [V] without the tokens that no text contains."""
    possible = log_probs.copy()
    possible[list(NEVER_CHOSEN)] = -np.inf
    return possible


def _words(tokenizer: Tokenizer, log_probs: np.ndarray, answer: int, before: str) -> dict[int, str]:
    """The likeliest tokens at a step and the one that stands there, each as another word; log_probs [V] in nats."""
    possible = _possible(log_probs)
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


def _cut(before: str, after: str) -> tuple[str, str]:
    """The words around a gap: the end of what stands before it, the beginning of what follows; the gap is never cut."""
    room = max(CONTEXT // 2, CONTEXT - len(after)), max(CONTEXT // 2, CONTEXT - len(before))
    if len(before) > room[0]:
        end = before[-room[0] :]
        before = f"… {end.partition(' ')[2].lstrip() or end}"
    if len(after) > room[1]:
        begin = after[: room[1]]
        after = f"{begin.rpartition(' ')[0].rstrip() or begin} …"
    return before, after
