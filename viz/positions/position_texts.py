"""What the page Positions says in words: formulas, how each figure is read, limits, and the sentence's numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from model.config import MAX_TOKENS, SCHEMES, Scheme
from model.io import numbers
from model.trace import site_kind
from viz.state import uploads
from viz.state.view import View

if TYPE_CHECKING:
    from model.readings.positions.position_numbers import PositionNumbers
    from model.readings.positions.sentence_positions import SentencePositions, Variant
    from model.task import Task
    from model.text.corpus_stats import Lengths

DRAWN = 3  # standard deviations: rows together that lie nearer than this to random ones show no training
EXACT = 1e-4  # below this a residual of float32 numbers is rounding
_SHOWN = 4  # repeated words that are listed
_QUOTED = 80  # characters of a quoted translation


def formula(scheme: str) -> str:
    """Returns the formula of a scheme as markup."""
    return f'<p class="lab-note lab-formula">{SCHEMES[scheme].formula}</p>'


def strip(pair: int, found: PositionNumbers) -> str:
    """The name of a pair's curves, with its wavelength where it has one."""
    if found.wavelengths is None:
        return f"i = {pair}"
    return f"i = {pair}, wavelength {_long(float(found.wavelengths[pair]))}"


def _long(value: float) -> str:
    return f"{value:,.2f}" if value < 100 else f"{value:,.0f}"


class Reading(NamedTuple):
    """A figure's title, its answer in one sentence with a number, and a short sentence about how to read it."""

    title: str
    answer: str
    how: str = ""


def reading(name: str, figure: str, shift: int, found: PositionNumbers, pair: int) -> Reading:
    """Returns the reading of a figure of a scheme."""
    scheme = SCHEMES[name]
    if figure in ("table", "curves", "similarity"):
        return {"table": _table, "curves": _curves, "similarity": _similarity}[figure](scheme, found, pair)
    if scheme.has_table:
        return _trained(figure, shift, found)
    if not scheme.embedding_effect:
        return _turning(figure, shift, found, pair)
    return _added(figure, shift, found, pair)


def _table(scheme: Scheme, found: PositionNumbers, pair: int) -> Reading:
    count, width = found.values.shape
    apart = numbers.scientific(_closest(found.values))
    order = "sines left, cosines right" if scheme.has_split_halves else "fast waves left"
    title = "Table" if scheme.embedding_effect or scheme.has_table else "A vector of ones, turned"
    how = f"Row: position. Column: dimension{f' ({order})' if _is_wave(scheme, found) else ''}. Framed: pair {pair}."
    return Reading(title, f"Each position has {width} numbers: the closest two of {count} rows are {apart} apart.", how)


def _is_wave(scheme: Scheme, found: PositionNumbers) -> bool:
    return found.wavelengths is not None and bool(scheme.embedding_effect)


def _closest(values: np.ndarray) -> float:
    """Returns the smallest distance of two rows [N,D]."""
    exact = values.astype(np.float64)
    squares = (exact * exact).sum(axis=1)
    distances = squares[:, None] + squares - 2 * exact @ exact.T  # [N,N]
    np.fill_diagonal(distances, np.inf)
    return math.sqrt(max(0.0, float(distances.min())))


def _curves(scheme: Scheme, found: PositionNumbers, pair: int) -> Reading:
    title, waves = "Curves of four pairs", found.wavelengths
    how = f"{'Sine solid, cosine' if _is_wave(scheme, found) else 'Even dimension solid, odd one'} dotted."
    if waves is None:
        low, high = (numbers.decimal(float(end)) for end in (found.values.min(), found.values.max()))
        return Reading(title, f"No wavelength is built in: the numbers range from {low} to {high}.", how)
    if len(waves) == 1:
        return Reading(title, f"One wave: it repeats after {_long(float(waves[0]))} positions.", how)
    first, last = (_long(float(waves[n])) for n in (0, -1))
    return Reading(title, f"The waves get longer from pair to pair: {first} to {last} positions.", how)


def _similarity(scheme: Scheme, found: PositionNumbers, pair: int) -> Reading:
    is_turned = not (scheme.embedding_effect or scheme.has_table)
    title, what = ("Scores of equal vectors", "The score") if is_turned else ("PE(p)·PE(q)", "PE(p)·PE(q)")
    own, near = (numbers.three_digits(float(found.mean[n])) for n in (0, 1))
    mean = ", on average" if found.spread >= EXACT else ""
    answer = f"{what} is {own} at the same position and {near} at the next{mean}."
    return Reading(title, answer, "Strong colour: alike.")


def _added(figure: str, k: int, found: PositionNumbers, pair: int) -> Reading:
    """Reads a figure of vectors that a formula adds; they are sines and cosines if they have wavelengths."""
    worst, waves = found.worst, found.wavelengths is not None
    if figure == "distance":
        spread = numbers.scientific(found.spread, 1 if waves else 3)
        same = f"Only the distance matters: all pairs at one distance agree to within {spread}."
        answer = same if waves else f"Pairs at one distance differ by up to {spread}."
        return Reading("PE(p)·PE(p − d) by distance d", answer, f"Mean and range over all pairs. Ring: shift {k}.")
    if figure == "shift":
        if waves:
            return Reading("From p to p + k", _turned_by(found, k, pair), f"Rings: R PE(p). Dots: PE(p + {k}).")
        return Reading("From p to p + k", _fitted(k, worst), FITTED.format(k))
    if not waves:
        return Reading("max |R PE(p) − PE(p + k)|", _fitted(k, worst), "R: the best rotation (least squares).")
    turns = f"A shift by {k} turns every pair by its own fixed angle"
    answer = f"{turns if worst < EXACT else 'No fixed turns are exact'}: largest error {numbers.scientific(worst, 1)}."
    return Reading("max |R PE(p) − PE(p + k)|", answer, "Over all dimensions, at each p.")


FITTED = "Rings: PE(p), turned by the best rotation R (least squares). Dots: PE(p + {})."


def _fitted(k: int, worst: float) -> str:
    return f"The best rotation for a shift by {k} misses by at most {numbers.scientific(worst)}: {_exact(worst)}."


def _trained(figure: str, k: int, found: PositionNumbers) -> Reading:
    """Reads a figure of a table that is trained."""
    rows, which = _measured(found)
    if figure == "distance":
        answer = f"Pairs at one distance differ by up to {numbers.scientific(found.spread, 3)}."
        how = f"Mean and range over pairs of {rows}{which}. Ring: shift {k}."
        return Reading("PE(p)·PE(p − d) by distance d", answer, how)
    title = "From p to p + k" if figure == "shift" else "max |R PE(p) − PE(p + k)|"
    if not len(found.residual):
        return Reading(title, f"No two of {rows}{which and f'{which},'} lie {k} apart: choose a smaller shift.")
    missed = f"The best rotation for a shift by {k} misses {found.relative:.0%} of the length: {_exact(found.worst)}."
    worst = f"R: the best rotation (least squares). At most {numbers.scientific(found.worst)}."
    return Reading(title, missed, f"{FITTED.format(k)} Lines: the error." if figure == "shift" else worst)


def _measured(found: PositionNumbers) -> tuple[str, str]:
    """The rows of a learned table that are measured, and what is known of them: a clause, or nothing."""
    if found.seen > 1:
        return f"the first {found.used} rows", ", which training moved plainly"
    if found.trained is not None:
        return f"the first {found.used} rows", ", which training reached"
    return f"the {'' if found.used == found.rows else 'first '}{found.used} rows", ""


def _turned_by(found: PositionNumbers, k: int, pair: int) -> str:
    angle = math.degrees(k * 2 * math.pi / float(found.wavelengths[pair])) if found.wavelengths is not None else 0.0
    full = f" = {angle % 360:.4g}°" if angle >= 360 else ""
    return f"A shift by {k} turns pair {pair} by {angle:,.4g}°{full}."


def _turning(figure: str, k: int, found: PositionNumbers, pair: int) -> Reading:
    """Reads a figure of queries and keys that are turned."""
    if figure == "distance":
        answer = f"Only the distance matters: scores at one distance agree to within {numbers.scientific(found.spread, 1)}."
        return Reading("q·k/√d_k by distance d", answer, f"Solid: equal vectors. Dotted: random ones. Ring: shift {k}.")
    if figure == "shift":
        return Reading("From p to p + k", _turned_by(found, k, pair), f"Rings: R x(p). Dots: x(p + {k}).")
    worst = f"at most {numbers.scientific(found.worst, 1)}, {_exact(found.worst)}"
    answer = f"Query and key both {k} further on: the score changes by {worst}."
    return Reading("Query and key both k further on", answer, "The largest change of a score at each p.")


def _exact(worst: float) -> str:
    return "exact but for rounding" if worst < EXACT else "no exact map"


def limits(view: View, found: PositionNumbers, name: str, seen: Lengths | None) -> list[tuple[str, bool]]:
    """What lies beyond the training and beyond the table; a sentence each, and whether it warns.

    `seen`: how long the training sentences were; None where that is not known.
    """
    count, whose = view.pe_count, uploads.display_name(view.checkpoint)
    if SCHEMES[view.scheme].has_table:
        drawn, width = found.values.shape
        side = site_kind(view.kind).key_side
        moved = (
            f"{uploads.display_name(name)}, {side}: rows of {width} numbers. {' '.join(filter(None, _reached(found, seen)))}"
        )
        ends = [(f"The table ends at position {drawn - 1}: a position beyond is refused.", True)] if drawn < count else []
        return [(moved, False), *ends]
    end = seen.max_length if seen else MAX_TOKENS
    far = (
        f" The shift by {view.pe_shift} leads out of the picture; the map holds there too." if view.pe_shift >= count else ""
    )
    if seen is None:
        unknown = f"{whose} has no record of its training lengths"
        dashed = f" The dashed line is the text limit, {end} tokens." if count > end else far
        return [(f"The formula has a value for every position. {unknown}.{dashed}", False)]
    if count > end:
        known = f"{whose}, counted training epoch: 99% of the sentences have at most {seen.usual_length} tokens"
        return [(f"{known}. The longest has {end} (dashed line).", False)]
    return [(f"No sentence of the counted training epoch was longer than {end} tokens.{far}", False)]


def _reached(found: PositionNumbers, seen: Lengths | None) -> list[str]:
    """Which rows of a learned table were trained, and which of them it shows, a sentence each."""
    alone, apart = found.seen, found.together
    plainly = (
        f"Rows 0 to {alone - 1} have plainly moved"
        if alone > 1
        else "No row alone can be told from one that was drawn at random"
    )
    if seen is None or found.trained is None:
        unknown = "How long its training texts were is not kept with this checkpoint."
        together = f", taken together, lie {_apart(apart[1])}." if alone < found.rows else ""
        if alone > 1:
            return [f"{plainly}.{together and f' Those beyond{together}'} {unknown}"]
        shown = f"all {found.rows}" if found.used == found.rows else f"the first {found.used} of {found.rows}"
        beyond = f"Rows 1 to {found.rows - 1}{together}" if together else ""
        return [f"Which rows training reached cannot be told from the table: {shown} are shown.", beyond, unknown]
    last = found.trained - 1
    told = [
        f"One epoch of training is counted: the longest of its {seen.sentences:,} sentences has {seen.max_length} tokens.",
        f"{plainly}.",
    ]
    if alone <= last:
        rows = f"row {last} lies" if alone == last else f"rows {alone} to {last} together lie"
        reached = dict.fromkeys((alone, last))
        which = " and ".join(f"{_sentences(sum(seen.histogram[row + 1 :]))} row {row}" for row in reached)
        told.append(f"{which[:1].upper()}{which[1:]}; {rows} {_apart(apart[0])}.")
    if found.trained < found.rows:
        drawn = ", as rows that are not trained do" if abs(apart[1]) < DRAWN else ""
        told.append(f"No sentence reaches rows {last + 1} to {found.rows - 1}; together they lie {_apart(apart[1])}{drawn}.")
    return told


def _sentences(count: int) -> str:
    """How many sentences reach a row."""
    return "1 sentence reaches" if count == 1 else f"{count:,} sentences reach"


def _apart(deviations: float) -> str:
    """How far rows stand out together."""
    return f"{abs(deviations):.1f} standard deviations from random ones"


def likeness(found: SentencePositions) -> list[str]:
    """Returns how to read the three maps, and the numbers of repeated words."""
    embedding, position = found.lengths
    if found.both is None:
        how = (
            "Left: cosines of the embeddings, to which this scheme adds nothing. Right: scores of layer 1 (mean over its "
            "heads), without and with positions."
        )
    else:
        how = (
            "Cosine of each pair of tokens, −1 (pink) to 1 (blue). "
            f"Mean length: embedding {embedding:.1f}, position {position:.1f}."
        )
    pairs = []
    for i, j in found.repeated[:_SHOWN]:
        where = f"“{found.labels[i]}” ({i + 1} and {j + 1})"
        if found.both is not None:
            alone, both = (numbers.decimal(each[i, j]) for each in (found.alone, found.both))
            pairs.append(f"{where}: cosine {alone} alone, {both} with positions")
        else:
            rows = [float(abs(x[i] - x[j]).max()) for x in (found.scores_without, found.scores_with) if x is not None]
            pairs.append(f"{where}: their rows differ by {rows[0]:.2g} without positions, {rows[1]:.2g} with them")
    more = f" And {len(found.repeated) - _SHOWN} more." if len(found.repeated) > _SHOWN else ""
    return [how, *([f"Repeated: {'; '.join(pairs)}.{more}"] if pairs else [])]


def describe_without(variant: Variant, task: Task) -> str:
    """Returns one sentence about a text without positions, with its number, and a near-tie."""
    words, new, change = " ".join(variant.words), sum(variant.changed), numbers.signed(variant.change)
    quoted = f"“{words if len(words) <= _QUOTED else words[: _QUOTED - 1] + '…'}”"
    if task.is_classifier:
        text = f"Without positions it says {quoted}. The label with positions changes by {change} nats."
    elif variant.same:
        text = f"Without positions it writes the same. The log-probability changes by {change} nats."
    elif task.has_decoder and not variant.words:
        text = f"Without positions it writes nothing. The log-probability changes by {change} nats."
    elif task.has_decoder:
        count = f"{new or 'no'} new {task.part_noun}{'' if new == 1 else 's'} of {len(variant.changed)}"
        text = f"Without positions it writes {quoted}, {count}."
    else:
        text = f"Without positions {new} of {len(variant.changed)} top tokens change."
    return f"{text} {variant.near_tie}".rstrip()


ANEW = {  # what the variants show, by family
    "encoder-decoder": "The sentence, translated anew under each edit alone; words that the baseline does not have are "
    "boxed. The number is the change of the log-probability of the baseline’s translation, in nats. A click makes the edit "
    "on every page.",
    "decoder-only": "The text, gone on with anew under each edit alone; words that the baseline does not have are boxed. "
    "The number is the change of the log-probability of the baseline’s continuation, in nats. A click makes the edit on "
    "every page.",
    "encoder-only": "The sentence, read anew under each edit alone: the likeliest token at each position, boxed where the "
    "baseline has another. The number is the change of the summed log-probability of what fills the blanks (without a "
    "blank, of the sentence’s own tokens), in nats. A click makes the edit on every page.",
    "judged": "The text, read anew under each edit alone: its label, boxed where it is another one. The number is the "
    "change of the log-probability of the baseline’s label, in nats. A click makes the edit on every page.",
}


def beyond(shift: int, rows: int) -> str:
    """Why a shift can be made of no sentence."""
    return f"the table ends at position {rows - 1}, so a shift by {shift} leads beyond it from every position."


def refused(fault: str) -> str:
    """Returns a sentence that says why an edit is impossible."""
    return f"Refused: {fault[:1].upper()}{fault[1:]}{'' if fault.endswith('.') else '.'}"
