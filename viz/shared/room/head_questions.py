"""Which head links two words of a map: what a class may be asked of heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from model.edits.place import ordinal
from model.format import probability
from model.inference.decisions import is_near
from model.readings.head_pairs import Pair, linking, pair_of_words
from model.readings.patterns import is_punctuation, is_special, merged
from model.trace import site_kind
from viz.shared.room.question import NoQuestion, Question, rounded

if TYPE_CHECKING:
    from model.inference.analysis import Analysis
    from model.trace import Trace
    from viz.view import View

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
