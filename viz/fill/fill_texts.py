"""What the page of a model that fills in says in words: of the blanks, of a word that is asked for, of two sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from model.inference.predictions import is_near_tie
from model.inference.source_reading import blank_positions, source_ids
from model.io.numbers import probability
from model.readings.heads.head_maps import is_punctuation
from model.text import sentences

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis
    from model.inference.request import Request

SIGNS = f"{sentences.BLANK_SIGN} (three or more underscores), {' or '.join(sentences.MASKS)}"
ALONE = (
    "{} blanks are predicted at once, from one reading: none knows what another is filled with. Fill one, and all is read "
    "again."
)
SEEN = "Each token is seen as it is predicted: no probability of the sentence."
NO_BLANK = f"There is no blank: type {SIGNS} where a word is to be filled in. {SEEN}"
NEAR = 0.1  # two probabilities less apart hardly tell which of two sentences comes first
UNKNOWN = "How often that is right has not been measured for this checkpoint."


def doubt(analysis: Analysis, loaded: Checkpoint) -> dict[str, Any]:
    """What is to be known of the reading: the first in one line, the others behind it."""
    first, *others = of_blanks(analysis, loaded)
    if analysis.next_sentence_probability is not None and analysis.swapped_probability is not None:
        others = [*follows(analysis), follows_measured(loaded.metrics), first, *others]
        first = _in_short(analysis, loaded.metrics)
    return {"verdict": first, "signs": others, "meant": "", "head": "About this reading"}


def of_blanks(analysis: Analysis, loaded: Checkpoint) -> list[str]:
    """How many blanks there are and how they are told, a sentence each; how to type one, where there is none."""
    if loaded.source_tokenizer.mask is None:
        return [f"No token for a blank here. {SEEN}"]
    count = len(blank_positions(analysis, loaded))
    if not count:
        return [NO_BLANK]
    many = ALONE.format("Both" if count == 2 else f"All {count}")
    told = ["One blank: its token is predicted from all the others."] if count == 1 else [many]
    inside = next(filter(None, map(_inside, (analysis.request.source, analysis.request.second_sentence))), "")
    if inside:
        told.append(f"A blank stands inside a word, {inside}: one token is predicted there, and joined as it stands.")
    return told


def _inside(text: str) -> str:
    """A word with a blank in it; empty where there is none."""
    for word in text.split():
        found = sentences.BLANK.search(word)
        if found and (word[: found.start()][-1:].isalnum() or word[found.end() :][:1].isalnum()):
            return word if len(word) <= 40 else f"{word[:39]}…"
    return ""


def follows(analysis: Analysis) -> list[str]:
    """Whether the second sentence follows the first, as the model says; nothing of one sentence."""
    found, turned = analysis.next_sentence_probability, analysis.swapped_probability
    if found is None or turned is None:
        return []
    tie = " A near-tie." if is_near_tie(found, 1 - found) else ""
    was = (
        ""
        if analysis.baseline is None
        else f" (without the edits {probability(analysis.baseline.next_sentence_probability)})"
    )
    return [
        f"B follows A: {probability(found)}{was}; {_swapped(analysis)}.{tie} "
        "These are two separate readings: the two numbers need not add up to 1."
    ]


def _swapped(analysis: Analysis) -> str:
    """What the model says of the two sentences swapped, which is read without edits; in words where this is not clearly less
    than what it says of them as they are."""
    own, turned = (analysis.baseline or analysis).next_sentence_probability, analysis.swapped_probability
    said = f"with A and B swapped{'' if analysis.baseline is None else ', without the edits'}: {probability(turned)}"
    near = ", but within 0.1" * (abs(turned - own) < NEAR)
    if probability(turned) == probability(own):
        return f"{said} (as likely)"
    if turned > own:
        return f"{said} (likelier{near})"
    return f"{said} (less likely{near})" if near else said


def _in_short(analysis: Analysis, metrics: Mapping[str, Any]) -> str:
    """The same in one line, with how often it is right."""
    found, known = analysis.next_sentence_probability, right(metrics)
    tie = ", a near-tie" * is_near_tie(found, 1 - found)
    return f"B follows A: {probability(found)}{tie}; {_swapped(analysis)}. {known[:1].upper()}{known[1:]}."


def right(metrics: Mapping[str, Any]) -> str:
    """How often a verdict on two sentences is right, beside chance, in a few words."""
    share, where = _right(metrics)
    return "not measured" if share is None else f"right in {share:.1%} of {where} pairs (chance: 50%)"


def _right(metrics: Mapping[str, Any]) -> tuple[float | None, str]:
    """The share of pairs at which such a verdict was right, where that was measured, and on which."""
    for name, field, where in (("test", "follows", "held-out"), ("dev", "pairs_right", "dev")):
        part = metrics.get(name)
        found = part.get(field) if isinstance(part, dict) else None
        share = found.get("accuracy") if isinstance(found, dict) else found
        if _is_share(share):
            return share, where
    return None, ""


def follows_measured(metrics: Mapping[str, Any]) -> str:
    """How often such a verdict was right where that was measured, beside what words in common tell; else that it is not
    known."""
    share, where = _right(metrics)
    if share is None:
        return UNKNOWN
    if where == "dev":
        return f"On the text that it was chosen by it is right in {share:.1%} of the pairs; chance is 50%."
    found = metrics["test"]["follows"]
    rival = found.get("overlap") if isinstance(found, dict) else None
    rival = rival.get("accuracy") if isinstance(rival, dict) else None
    other = f"; words in common alone: {rival:.1%}" if _is_share(rival) else ""
    return f"On held-out text it is right in {share:.1%} of the pairs{other}; chance is 50%."


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and 0 <= value <= 1


def put(request: Request, number: int, word: str) -> tuple[str, str]:
    """Both texts of a request with a word in the place of a blank, which counts from 0 over both; ValueError."""
    own = len(sentences.texts_around_blanks(request.source)) - 1
    if number < own or not request.second_sentence:
        return sentences.fill_blank(request.source, number, word), request.second_sentence
    return request.source, sentences.fill_blank(request.second_sentence, number - own, word)


def asked(word: str, analysis: Analysis, loaded: Checkpoint) -> dict[int, str]:
    """By the place of each blank: how likely a word is there, or that it has several pieces, a sentence."""
    request, old, told = analysis.request, list(analysis.trace.predicted_axis.ids), {}
    if sentences.BLANK.search(word):
        return dict.fromkeys(blank_positions(analysis, loaded), "That is a blank itself: type a word.")
    for number, place in enumerate(blank_positions(analysis, loaded)):
        new = source_ids(loaded, *put(request, number, word))
        pieces = len(new) - (len([token for token in old if token]) - 1)
        if pieces != 1:
            cut = " + ".join(loaded.source_tokenizer.pieces(new[place : place + max(1, pieces)]))
            told[place] = f"“{word}” has {pieces} pieces here ({cut}), and a blank is one token."
            continue
        if new[:place] != old[:place]:
            told[place] = f"“{word}” changes how the text before it is cut into tokens, so it is no token of this blank."
            continue
        row = analysis.trace.log_probs[place]
        rank = int((row > row[new[place]]).sum()) + 1
        told[place] = f"“{word}”: {probability(math.exp(row[new[place]]))}, number {rank:,} of {len(row):,} tokens."
    return told


def kinds(analysis: Analysis, loaded: Checkpoint, place: int, tokens: Sequence[int]) -> dict[int, str]:
    """Of the tokens that may stand in a blank those that are no word of their own, each with what it is."""
    tokenizer, ids = loaded.source_tokenizer, analysis.trace.predicted_axis.ids
    control = {*range(3), *filter(None, [tokenizer.mask])}
    before = b"" if not place or ids[place - 1] in control else tokenizer.token_bytes(ids[place - 1])
    after = b"" if place + 1 >= len(ids) or ids[place + 1] in control else tokenizer.token_bytes(ids[place + 1])
    joins, goes_on = _text(before)[-1:].isalnum(), _text(after)[:1].isalnum()
    found = {}
    for token in tokens:
        text = _text(tokenizer.token_bytes(token))
        if token in control:
            found[token] = "a control token: it has no text"
        elif text[:1].isalnum() and joins:
            found[token] = "a piece: it goes on with the word before it"
        elif text[-1:].isalnum() and goes_on:
            found[token] = "a piece: the word goes on behind it"
        elif "\ufffd" in text:
            found[token] = "a byte: a part of a character"
        elif is_punctuation(text.strip()):
            found[token] = "punctuation"
    return found


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", errors="replace")
