"""What a class may be asked of a view: which token stands there, or which head links two words. The answer and all numbers
are those of the view's own pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from model.config import END
from model.decoding.sampling import NEVER_CHOSEN, likeliest
from model.format import probability
from model.inference.decisions import is_near
from model.inference.reading import blank_places
from model.inference.reading import likeliest as likeliest_of
from model.text import blanks
from viz.shared.room.head_questions import of_a_head
from viz.shared.room.question import NoQuestion, Question, rounded

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis
    from model.text.tokenizer import Tokenizer
    from viz.view import View

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
        sign = "" if tokenizer.mask is None else f": type {blanks.SIGN} where a word is to be filled in"
        raise NoQuestion(f"There is no blank in this sentence{sign}.")
    number = min(range(len(places)), key=lambda n: abs(places[n] - (view.step - 1)))
    row = trace.log_probs[places[number]]
    answer = likeliest_of(analysis, [places[number]], tokenizer.mask)[places[number]]
    pieces = blanks.parts(" ".join(filter(None, (analysis.request.source, analysis.request.second))))
    around = None
    if len(pieces) == len(places) + 1:
        around = (blanks.SIGN.join(pieces[: number + 1]).lstrip(), blanks.SIGN.join(pieces[number + 1 :]).rstrip())
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
