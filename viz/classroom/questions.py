"""Questions to a class about a view: which token comes next, or which head links two words.

The answer and all numbers come from the view's own pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from model.config import END
from model.decoding.sampling import EXCLUDED_IDS, top_ids
from model.edits.place import ordinal
from model.inference import source_reading
from model.inference.predictions import is_near_tie
from model.inference.source_reading import blank_positions
from model.io.numbers import probability
from model.readings.heads.head_maps import Pair, is_punctuation, is_special, link_weights, merge_words, word_pair
from model.text import sentences
from model.trace import AttentionKind, Site, Trace, site_kind

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis
    from model.text.tokenizer import Tokenizer
    from viz.state.view import View


class NoQuestion(ValueError):
    """This view allows no question; the message says why."""


@dataclass(frozen=True, kw_only=True)
class QuestionDraft:
    """A question with the model's probability (or weight) of each option.

    `gave` describes the value of the right answer. `note` explains that answer if it is not simply the top one.
    """

    kind: str  # "next" or "head"
    asks: str  # short form of the question
    before: str = ""  # text before the gap
    gap: str = ""  # its sign
    after: str = ""
    text: str  # question and gap in one line
    about: str  # the source sentence, if the gap is not in it
    options: tuple[str, ...]  # in an order that does not reveal the answer
    model: tuple[float, ...]  # probability, or weight, of each
    answer: str
    gave: str
    note: str


def round_share(share: float) -> float:
    """Rounds a share to 6 significant digits, so that only 0 becomes 0."""
    return float(f"{share:.6g}")


LINKED = 0.1  # minimum weight of a link
RIVALS = 4  # heads offered in addition to the best one
MAX_NEAR_TIES = 3  # near-ties listed by name
SEARCH_ACTIVE = "The search already shows these heads. Clear it first."


def of_a_head(view: View, analysis: Analysis) -> QuestionDraft:
    """Asks which head links two words of the current map best; raises NoQuestion."""
    if view.find is not None:
        raise NoQuestion(SEARCH_ACTIVE)
    trace = analysis.trace
    pair = _pair(view, trace)
    weights = link_weights(trace, pair, view.merge)  # [N], layer by layer
    asks, key = _tokens(trace, pair, view.merge)
    order = np.argsort(-weights, kind="stable").tolist()
    best = order[0]
    near = [n for n in order[1:] if is_near_tie(float(weights[best]), float(weights[n]))]
    lower = [n for n in order[1:] if n not in near]
    link = f"“{asks}” to “{key}”"
    if weights[best] < LINKED:
        raise NoQuestion(f"No head links {link} (largest weight {probability(float(weights[best]))}). Choose another map.")
    if not lower:
        raise NoQuestion(f"All {len(order)} heads link {link} about equally well. Choose another map.")
    heads = len(trace.patterns[trace.sites(pair.kind)[0]])
    options = sorted([best, *_spread(lower, RIVALS)])
    text = f"Which head links {link}?"
    left = ", ".join(f"{_head(pair.kind, n, heads)} with {probability(float(weights[n]))}" for n in near[:MAX_NEAR_TIES])
    left += f" and {len(near) - MAX_NEAR_TIES} more" if len(near) > MAX_NEAR_TIES else ""
    return QuestionDraft(
        kind="head",
        asks=text,
        text=f"{site_kind(pair.kind).name.capitalize()}: {text[0].lower()}{text[1:]}",
        about=site_kind(pair.kind).name.capitalize(),
        options=tuple(_head(pair.kind, n, heads) for n in options),
        model=tuple(round_share(min(1.0, float(weights[n]))) for n in options),
        answer=_head(pair.kind, best, heads),
        gave=f"it puts {probability(float(weights[best]))} of “{asks}” on “{key}”",
        note=f"Near-ties, not offered: {left}." if near else "",
    )


def _head(kind: AttentionKind, number: int, heads: int) -> str:
    layer, head = divmod(number, heads)
    return Site(kind, layer).head_name(head)


def _spread(numbers: Sequence[int], count: int) -> list[int]:
    """Returns `count` of the numbers at even distances, first and last included."""
    if len(numbers) <= count:
        return list(numbers)
    return [numbers[round(n * (len(numbers) - 1) / (count - 1))] for n in range(count)]


def _pair(view: View, trace: Trace) -> Pair:
    """Returns the two words of the strongest link in the current map, without the maximum that its title names."""
    sites = trace.sites(view.kind)
    if not sites:
        raise NoQuestion(f"This checkpoint has no {site_kind(view.kind).name}.")
    maps, head = [trace.patterns[site] for site in view.sites_of(sites)], view.merged_head
    patterns = np.concatenate([each if head is None else each[[min(head, len(each) - 1)]] for each in maps])  # [N,T,S]
    combine, of = np.max if view.combine == "max" else np.mean, site_kind(view.kind)
    weights = combine(patterns, axis=0)  # [T,S]
    axes = [trace.axis(of.query_side), trace.axis(of.key_side)]
    plain = [np.array([not (is_special(each) or is_punctuation(each)) for each in axis.labels]) for axis in axes]
    between = np.outer(*plain) & (~np.eye(*weights.shape, dtype=bool) if of.is_self else True)
    if view.merge:
        words = combine(merge_words(patterns, *(axis.word_numbers for axis in axes)), axis=0)
        rows, columns = (_ranks(axis.word_numbers) for axis in axes)
        named = (words == words.max())[np.ix_(rows, columns)]
    else:
        named = weights == weights.max()
    links = np.where(between & ~named, weights, -1.0)
    query, key = np.unravel_index(int(links.argmax()), links.shape)
    if links[query, key] < 0:
        raise NoQuestion("This map has no two words for a question. Choose another map or a longer sentence.")
    return Pair(view.kind, int(query), int(key))


def _ranks(words: Sequence[int]) -> list[int]:
    """Returns the position of each token's word among the words of its axis."""
    places = {word: n for n, word in enumerate(dict.fromkeys(words))}
    return [places[word] for word in words]


def _tokens(trace: Trace, pair: Pair, merge: bool) -> tuple[str, str]:
    """Returns the labels of query and key, as tokens or words."""
    of = site_kind(pair.kind)
    axes, places = (trace.axis(of.query_side), trace.axis(of.key_side)), (pair.query, pair.key)
    if not merge:
        return _nth(axes[0].labels, places[0]), _nth(axes[1].labels, places[1])
    labels = []
    for axis, place in zip(axes, word_pair(trace, pair), strict=True):
        numbers = list(dict.fromkeys(axis.word_numbers))
        joined = ["".join(t for t, n in zip(axis.labels, axis.word_numbers, strict=True) if n == each) for each in numbers]
        labels.append(_nth(joined, place))
    return labels[0], labels[1]


def _nth(texts: Sequence[str], position: int) -> str:
    """Returns the text at a position; a repeated text gets its ordinal number."""
    number = list(texts[: position + 1]).count(texts[position])
    return f"{texts[position]} ({ordinal(number)})" if list(texts).count(texts[position]) > 1 else texts[position]


MIN_OPTIONS, MAX_OPTIONS = 4, 6  # options of a question about a token
UNLIKELY = 0.005  # minimum probability of an option, once there are `MIN_OPTIONS`
LONGEST = 36  # characters of an option
CONTEXT = 140  # characters around the gap
GAP = "▁▁▁"
END_WORD = "(the end)"
ELIDED = ("'", "’")  # no space follows a word with this ending


def question(view: View, analysis: Analysis, loaded: Checkpoint, of_heads: bool) -> QuestionDraft:
    """Returns a question about heads if `of_heads`, else about the token of the view's step; raises NoQuestion."""
    if of_heads:
        return of_a_head(view, analysis)
    if analysis.task.is_classifier:
        return _of_a_label(analysis)
    return _of_a_step(view, analysis, loaded) if analysis.task.has_decoder else _of_a_blank(view, analysis, loaded)


def _of_a_label(analysis: Analysis) -> QuestionDraft:
    """Asks which label the text gets, among the top labels."""
    trace, row = analysis.trace, analysis.trace.log_probs[0]
    order = sorted(top_ids(row, MAX_OPTIONS).tolist(), key=lambda label: trace.classes[label].casefold())
    (answer,), (label_text,) = trace.predicted_axis.ids, trace.predicted_axis.labels
    first, second = (_share(row, label) for label in map(int, top_ids(row, 2)))
    asks = "Which label does it get?"
    return QuestionDraft(
        kind="next",
        asks=asks,
        text=asks,
        about=analysis.request.source,
        options=tuple(trace.classes[label][:LONGEST] for label in order),
        model=tuple(round_share(_share(row, label)) for label in order),
        answer=label_text[:LONGEST],
        gave=f"the model gave it {probability(_share(row, answer))}",
        note=f"A near-tie: {probability(first)} and {probability(second)}." if is_near_tie(first, second) else "",
    )


# -- which token ---------------------------------------------------------------------------------------------------


def _of_a_step(view: View, analysis: Analysis, loaded: Checkpoint) -> QuestionDraft:
    trace, tokenizer, step = analysis.trace, loaded.target_tokenizer, view.step
    ids = trace.predicted_axis.ids
    if step < analysis.prompt_length:
        raise NoQuestion(f"This step reads your text. The model writes from step {analysis.prompt_length + 1} on.")
    before = "".join(tokenizer.segments(ids[:step]))
    previous = before.split()
    asks = f"What comes after “{previous[-1][-LONGEST:]}”?" if previous else "What comes first?"
    about = analysis.request.source if analysis.task.has_encoder else ""
    words = _words(tokenizer, trace.log_probs[step], ids[step], before)
    how = _selection_note(analysis, step, words[ids[step]])
    around = (f"{before}{'' if before.endswith(ELIDED) else ' '}".lstrip(), "")
    return _of_tokens(tokenizer, asks, around, about, words, trace.log_probs[step], ids[step], how)


def _of_a_blank(view: View, analysis: Analysis, loaded: Checkpoint) -> QuestionDraft:
    trace, tokenizer = analysis.trace, loaded.source_tokenizer
    places = blank_positions(analysis, loaded)
    if not places:
        hint = "" if tokenizer.mask is None else f" Replace a word with {sentences.BLANK_SIGN}."
        raise NoQuestion(f"This sentence has no blank.{hint}")
    number = min(range(len(places)), key=lambda n: abs(places[n] - view.step))
    row = trace.log_probs[places[number]]
    answer = source_reading.filled_ids(analysis, [places[number]], tokenizer.mask)[places[number]]
    pieces = sentences.texts_around_blanks(
        " ".join(filter(None, (analysis.request.source, analysis.request.second_sentence)))
    )
    around = None
    if len(pieces) == len(places) + 1:
        around = (
            sentences.BLANK_SIGN.join(pieces[: number + 1]).lstrip(),
            sentences.BLANK_SIGN.join(pieces[number + 1 :]).rstrip(),
        )
    words = _words(tokenizer, row, answer, "")
    return _of_tokens(tokenizer, "Which word fills the blank?", around, "", words, row, answer, "")


def _of_tokens(
    tokenizer: Tokenizer,
    asks: str,
    around: tuple[str, str] | None,
    about: str,
    words: dict[int, str],
    log_probs: np.ndarray,
    answer: int,
    how: str,
) -> QuestionDraft:
    """Returns a question whose options are tokens, as words.

    `around` holds the texts before and after the gap; `log_probs` [V] is in nats.
    """
    order = sorted(words, key=lambda token: (words[token].casefold(), words[token]))
    shares = {token: _share(log_probs, token) for token in order}
    before, after = _cut(*around) if around else ("", "")
    gap = GAP if around else ""
    return QuestionDraft(
        kind="next",
        asks=asks,
        before=before,
        gap=gap,
        after=after,
        text=f"{asks} {before}{gap}{after}".strip(),
        about=about,
        options=tuple(words[token] for token in order),
        model=tuple(round_share(shares[token]) for token in order),
        answer=words[answer],
        gave=f"the model gave it {probability(shares[answer])}",
        note=" ".join(filter(None, [how, _ranking_note(tokenizer, words, log_probs, answer)])),
    )


def _share(log_probs: np.ndarray, token: int) -> float:
    return min(1.0, float(np.exp(log_probs[token])))


def _ranking_note(tokenizer: Tokenizer, words: dict[int, str], log_probs: np.ndarray, answer: int) -> str:
    """Names the top token if it is not the answer, and a near-tie with the second one."""
    first, second = map(int, top_ids(_possible(log_probs), 2))
    best, next_best = _share(log_probs, first), _share(log_probs, second)
    names = {token: words.get(token) or _word(tokenizer, token, "") for token in (first, second)}
    if names[first] == names[second]:  # one with a leading space, one without
        names = {token: tokenizer.piece(token) for token in names}
    notes = []
    if best > _share(log_probs, answer):
        notes.append(f"Top token: “{names[first]}”, {probability(best)}.")
    if is_near_tie(best, next_best):
        both = f"“{names[first]}” {probability(best)} and “{names[second]}” {probability(next_best)}"
        notes.append(f"A near-tie: {both}.")
    return " ".join(notes)


def _selection_note(analysis: Analysis, step: int, word: str) -> str:
    """Explains the token of a step if it is not simply the top one."""
    chosen, best = float(analysis.trace.token_log_probs[step]), float(_possible(analysis.trace.log_probs[step]).max())
    request, branch = analysis.request, analysis.branch
    if analysis.decoding_label == "given target":
        return f"“{word}” is in the given {analysis.task.output_noun}." if chosen < best else ""
    if branch is not None and step < len(branch):
        return f"“{word}” was forced." if chosen < best else ""
    return f"“{word}” was sampled." if request.decoding.is_random else ""


def _possible(log_probs: np.ndarray) -> np.ndarray:
    """Returns the log-probs [V] with -inf for tokens that no text contains."""
    possible = log_probs.copy()
    possible[list(EXCLUDED_IDS)] = -np.inf
    return possible


def _words(tokenizer: Tokenizer, log_probs: np.ndarray, answer: int, before: str) -> dict[int, str]:
    """Returns the top tokens of a step and its answer, with different words; `log_probs` [V] is in nats."""
    possible = _possible(log_probs)
    words = {answer: _word(tokenizer, answer, before)}
    for token in map(int, top_ids(possible, 4 * MAX_OPTIONS)):
        many = len(words) >= MAX_OPTIONS or (len(words) >= MIN_OPTIONS and np.exp(possible[token]) < UNLIKELY)
        if many or not np.isfinite(possible[token]):
            break
        word = _word(tokenizer, token, before)
        if word not in words.values():
            words[token] = word
    return words


def _word(tokenizer: Tokenizer, token: int, before: str) -> str:
    """Returns a token without its leading space; an ellipsis marks one that continues a word."""
    if token == END:
        return END_WORD
    piece = tokenizer.piece(token)
    word = piece.removeprefix("·") or "(a space)"
    joins = not piece.startswith("·") and word[0].isalnum() and before[-1:].isalnum()
    return f"…{word}"[:LONGEST] if joins else word[:LONGEST]


def _cut(before: str, after: str) -> tuple[str, str]:
    """Cuts the texts before and after a gap to `CONTEXT` characters together, at words."""
    room = max(CONTEXT // 2, CONTEXT - len(after)), max(CONTEXT // 2, CONTEXT - len(before))
    if len(before) > room[0]:
        end = before[-room[0] :]
        before = f"… {end.partition(' ')[2].lstrip() or end}"
    if len(after) > room[1]:
        begin = after[: room[1]]
        after = f"{begin.rpartition(' ')[0].rstrip() or begin} …"
    return before, after
