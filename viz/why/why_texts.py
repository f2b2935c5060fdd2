"""The sentences of the page Why, from the numbers of the view."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING

from model.inference.predictions import NEAR_TIE_TEXT, is_near_tie
from model.io import numbers
from model.text.sentences import BLANK_SIGN
from viz.kit import site_texts, terms
from viz.why import chosen_tokens

if TYPE_CHECKING:
    from model.readings.logits.direct_logits import DirectLogits, Writer
    from model.trace import Site, Trace
    from viz.page_context import PageContext
    from viz.why.logit_sum import Way


def answer(found: DirectLogits, pieces: tuple[str, str], log_probs: tuple[float, float]) -> str:
    """The difference and the two probabilities, as markup; `pieces` and `log_probs` of token and rival."""
    token, rival = (f'<span class="lab-mono">{html.escape(piece)}</span>' for piece in pieces)
    first, second = (site_texts.probability_markup(math.exp(each)) for each in log_probs)
    nats, logits = terms.term("nats"), terms.term("logit", "logits")
    difference = f"difference of {logits} <b>{numbers.signed(found.difference)}</b> {nats}"
    ratio = math.exp(min(abs(found.difference), 30.0))
    times = "over a million" if ratio > 1e6 else f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:,.0f}"
    likelier = token if found.difference >= 0 else rival
    return f'<p class="lab-why">{token} {first}, {rival} {second}: {likelier} is {times} times as likely ({difference}).</p>'


def no_blank(context: PageContext, found: DirectLogits) -> str:
    """Of a model that fills in, that its text has nothing to fill in, and what is compared instead: a sentence."""
    if not chosen_tokens.fills_in(context) or chosen_tokens.blanks(context):
        return ""
    here = f"Compared here: token {found.step + 1} and another one."
    return f"This text has no blank. Replace a word with {BLANK_SIGN}. {here}" if _has_blanks(context) else here


def which_blank(context: PageContext, found: DirectLogits) -> str:
    """Which of the blanks the choice is about: `Blank 1 of 2, token 7`; empty where there is none."""
    places = chosen_tokens.blanks(context)
    if found.step not in places:
        return ""
    return f"Blank {places.index(found.step) + 1} of {len(places)}, token {found.step + 1}"


def elsewhere(context: PageContext, asked: int | None, found: DirectLogits) -> str:
    """Of a step that was asked for and has no choice, which one is explained instead: a sentence, or nothing."""
    steps = len(context.analysis.trace.step_axis)
    if not chosen_tokens.fills_in(context) or asked is None or asked in chosen_tokens.stops(context) or asked >= steps:
        return ""
    what = "blank" if chosen_tokens.blanks(context) else "word of the text"
    return f"Token {asked + 1} is no {what}: token {found.step + 1}, the nearest one, is explained."


def _has_blanks(context: PageContext) -> bool:
    return context.loaded.source_tokenizer.mask is not None


def tie(trace: Trace, log_probs: tuple[float, float]) -> str:
    """Returns a sentence for two probabilities that nearly agree; empty for others."""
    near = NEAR_TIE_TEXT.replace("tokens", "labels") if trace.classes else NEAR_TIE_TEXT
    return f"This is {near}." if is_near_tie(*map(math.exp, log_probs)) else ""


def strongest(found: DirectLogits, trace: Trace, pair: tuple[str, str]) -> str:
    """Returns the part that speaks most for the token, and the one that speaks most for its rival, as a sentence."""
    named = [(writer, value) for writer, value in found.ranked if writer.kind in ("head", "feed-forward")]
    parts = []
    for name, sign in zip(map(_named, pair), (1, -1), strict=True):
        own = [(writer, value) for writer, value in named if value * sign > 0]
        if own:
            parts.append(_part(found, trace, *own[0], name))
    most = "; ".join(parts)
    return f"{site_texts.begin(most)}." if most else ""


def _named(piece: str) -> str:
    return f"“{piece.removeprefix('·') or '·'}”"


def _part(found: DirectLogits, trace: Trace, writer: Writer, value: float, name: str) -> str:
    """The head or feed-forward network that speaks most for a token, with what it wrote, and of a head by way of which."""
    if writer.site is None or writer.head is None:
        layer = (writer.layer or 0) + 1
        return f"the feed-forward network of layer {layer} speaks most for {name} ({numbers.signed(value)})"
    parts = found.tokens[writer.site][writer.head]
    way = f", by way of “{trace.keys(writer.site)[int(abs(parts).argmax())]}”" if parts.any() else ""
    return f"{writer.site.head_name(writer.head)} speaks most for {name} ({numbers.signed(value)}{way})"


def _times(difference: float, pair: tuple[str, str]) -> str:
    """Returns how many times as likely one token is as the other, as a sentence."""
    times = math.exp(min(abs(difference), 50))
    more, less = map(_named, pair if difference >= 0 else pair[::-1])
    if times < 1.05:
        return f"{more} and {less} are all but equally likely."
    return f"{more} is {f'{times:,.0f}' if times >= 10 else f'{times:.1f}'} times as likely as {less}."


def asked(pair: tuple[str, str]) -> str:
    """The question of the page, of this choice."""
    return f"Why {_named(pair[0])}, and not {_named(pair[1])}?"


def odds(difference: float, pair: tuple[str, str], log_probs: tuple[float, float]) -> str:
    """Returns the meaning of a difference of logits, as a sentence."""
    said = _times(difference, pair)
    return f"{said[:-1]}: a near-tie." if is_near_tie(*map(math.exp, log_probs)) else said


def without_it(how: str, before: float, after: float, pair: tuple[str, str]) -> str:
    """Says how the difference changes where a part is away and everything after it is recomputed: a sentence."""
    change = f"{numbers.signed(before)} becomes {numbers.signed(after)} nats"
    return f"{how}, nothing held: {change}, so {_times(after, pair)}"


def head_told(found: DirectLogits, trace: Trace, site: Site, head: int, pair: tuple[str, str]) -> str:
    """Returns what one head wrote, and the token through which most of it came, as a sentence."""
    value = found.head(site, head)
    parts = found.tokens[site][head]
    keys = trace.keys(site)[: len(parts)]
    most = int(abs(parts).argmax())
    way = "" if not parts.any() else f", the most by way of “{keys[most]}” ({numbers.signed(float(parts[most]))})"
    return f"{site.head_name(head)} wrote {numbers.signed(value)}, {_sense(value, pair)}{way}."


def part_told(name: str, value: float, pair: tuple[str, str], did: str = "wrote") -> str:
    """Returns what another part wrote, as a sentence."""
    return f"{site_texts.begin(name)} {did} {numbers.signed(value)}, {_sense(value, pair)}."


def _sense(value: float, pair: tuple[str, str]) -> str:
    if abs(value) < 0.0005:
        return f"neither for {_named(pair[0])} nor for {_named(pair[1])}"
    return f"for {_named(pair[0] if value > 0 else pair[1])}"


WHERE = {  # which heads bring what came by way of a token, and from whom it is hidden
    "source": ("the heads of cross-attention", "from every token, in the encoder and from the decoder"),
    "target": ("the heads of decoder self-attention", "from every token of the target"),
    "at once": ("all heads", "from the attention of every token"),
    "text": ("the heads of decoder self-attention", "from every token of the text"),
}
SMALLEST_CHANGE = 0.005  # nats
MUCH_MORE = 4  # times: a part that writes this much more than its removal changes says so


def describe_way(way: Way, before: float, after: float | None, pair: tuple[str, str]) -> str:
    """Returns what hiding a token does to the difference, and what heads wrote by way of it."""
    heads, whom = WHERE["at once" if way.at_once else "text" if way.is_alone else way.piece]
    wrote = f"By way of “{way.label}” {heads} wrote {numbers.signed(way.value)}, {_sense(way.value, pair)}."
    if after is None:
        return wrote
    return f"“{way.label}” hidden {whom}: {_change(before, after)} {wrote}{_contrast(way.value, before, after)}"


def describe_removal(how: str, wrote: str, value: float, before: float, after: float) -> str:
    """Returns what removing a part does to the difference, and `wrote`: the sentence about what it wrote, `value` nats."""
    return f"{how}: {_change(before, after)} {wrote}{_contrast(value, before, after)}"


def _change(before: float, after: float) -> str:
    if abs(after - before) < SMALLEST_CHANGE:
        return "the difference stays the same."
    return f"the difference changes by {numbers.signed(after - before)}, to {numbers.signed(after)}."


def _contrast(value: float, before: float, after: float) -> str:
    """Returns a sentence where a part writes much more or much less than its removal changes, or the opposite."""
    expected, change = -value, after - before
    if max(abs(expected), abs(change)) < SMALLEST_CHANGE:
        return ""
    if abs(expected) >= MUCH_MORE * abs(change):
        return " So little depends on what it wrote."
    if abs(change) >= MUCH_MORE * abs(expected):
        return " So most of its effect goes through other parts."
    return "" if expected * change > 0 else " So in all it acts the other way."
