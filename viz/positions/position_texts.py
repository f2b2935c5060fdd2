"""What the page Positions says in words: formulas, how each figure is read, limits, and the sentence's numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from model.config import MAX_TOKENS, SCHEMES
from model.io import numbers
from model.trace import site_kind
from viz.state import uploads
from viz.state.view import View

if TYPE_CHECKING:
    from model.readings.positions.position_numbers import PositionNumbers
    from model.readings.positions.sentence_positions import SentencePositions
    from model.text.corpus_stats import Lengths

DRAWN = 3  # standard deviations: rows together that lie nearer than this to random ones show no training
EXACT = 1e-4  # below this a residual of float32 numbers is rounding
_SHOWN = 4  # repeated words that are told


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


def readings(name: str, shift: int, found: PositionNumbers, pair: int) -> dict[str, tuple[str, str]]:
    """Returns title and one sentence of each of the six charts of a scheme."""
    scheme = SCHEMES[name]
    if scheme.has_table:
        return _trained(found, shift, pair)
    if not scheme.embedding_effect:
        return _turning(found, shift, pair)
    waves = found.wavelengths is not None
    return _waves(found, shift, pair, scheme.has_split_halves) if waves else _added(found, shift, pair)


def _added(found: PositionNumbers, k: int, pair: int) -> dict[str, tuple[str, str]]:
    """Of vectors that a formula adds, whatever it is."""
    worst, spread = found.worst, numbers.scientific(found.spread, 3)
    return {
        "table": ("Table", f"Each row is a position, each column a dimension; pair {pair} is framed."),
        "curves": ("Curves of four pairs", "Even dimension solid, odd one dotted."),
        "distance": (
            "PE(p)·PE(p − d) by distance d",
            f"Mean and range over all pairs of positions: at one distance they differ by up to {spread}.",
        ),
        "similarity": ("PE(p)·PE(q)", "The stronger the colour, the more alike."),
        "shift": (
            "From p to p + k",
            f"Rings: PE(p) turned by the rotation R that fits best (least squares). Dots: PE(p + {k}).",
        ),
        "residual": (
            "max |R PE(p) − PE(p + k)|",
            f"The largest error over all dimensions, at each p: at most {numbers.scientific(worst)}, {_exact(worst)}.",
        ),
    }


def _trained(found: PositionNumbers, k: int, pair: int) -> dict[str, tuple[str, str]]:
    """Of a table that is trained."""
    rows, which = _measured(found)
    missing = f"No two of {rows}{which and f'{which},'} lie {k} apart: choose a smaller shift."
    shift = f"Rings: PE(p) turned by the rotation R that fits best (least squares). Dots: PE(p + {k}). Lines: the error."
    worst = numbers.scientific(found.worst)
    missed = f"At each p at most {worst}; in all, {found.relative:.0%} of the length is missed: {_exact(found.worst)}."
    table = f"Each row is a position, each column a dimension; pair {pair} is framed. No formula made it."
    spread = numbers.scientific(found.spread, 3)
    apart = f"Mean and range over pairs of {rows}{which}: at one distance they differ by up to {spread}."
    measured = len(found.residual) > 0
    return _added(found, k, pair) | {
        "table": ("Table", table),
        "curves": ("Curves of four pairs", "Even dimension solid, odd one dotted: no wavelength is built in."),
        "distance": ("PE(p)·PE(p − d) by distance d", apart),
        "similarity": ("PE(p)·PE(q)", "The stronger the colour, the more alike: along a diagonal it changes."),
        "shift": ("From p to p + k", shift if measured else missing),
        "residual": ("max |R PE(p) − PE(p + k)|", missed if measured else missing),
    }


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
    return f"A shift by {k} turns pair {pair} by {angle:,.4g}°{full}. Rings: R PE(p), dots: PE(p + {k})."


def _turning(found: PositionNumbers, k: int, pair: int) -> dict[str, tuple[str, str]]:
    """Of queries and keys that are turned."""
    turn, worst, spread = _turned_by(found, k, pair), found.worst, numbers.scientific(found.spread, 1)
    apart = f"Solid: equal vectors; dotted: random ones. At one distance, scores differ by at most {spread}."
    alike = "Each row is a query. The stronger the colour, the higher the score: along a diagonal it stays the same."
    return {
        "table": ("A vector of ones, turned", f"Each row is a position, each column a dimension; pair {pair} is framed."),
        "curves": ("Curves of four pairs", "Even dimension solid, odd one dotted: the larger i, the longer the wave."),
        "distance": ("q·k/√d_k by distance d", apart),
        "similarity": ("Scores of equal vectors", alike),
        "shift": ("From p to p + k", turn.replace("PE(p)", "x(p)").replace("PE(p +", "x(p +")),
        "residual": (
            "Query and key both k further on",
            f"The largest change of a score at each p, at most {numbers.scientific(worst, 1)}: {_exact(worst)}.",
        ),
    }


def _waves(found: PositionNumbers, k: int, pair: int, halves: bool) -> dict[str, tuple[str, str]]:
    """Of sines and cosines that are added."""
    worst = found.worst
    where = (
        "sines in the left half, cosines in the right, each from fast to slow"
        if halves
        else "fast waves left and slow ones right"
    )
    table = f"Each row is a position, each column a dimension, with {where}; pair {pair} is framed."
    apart = (
        f"All pairs of positions fall on one line, to within {numbers.scientific(found.spread, 1)}: only the "
        f"distance matters."
    )
    return {
        "table": ("Table", table),
        "curves": ("Curves of four pairs", "Sine solid, cosine dotted: from pair to pair the waves get longer."),
        "distance": ("PE(p)·PE(p − d) by distance d", apart),
        "similarity": ("PE(p)·PE(q)", "The stronger the colour, the more alike: along a diagonal it stays the same."),
        "shift": ("From p to p + k", _turned_by(found, k, pair)),
        "residual": (
            "max |R PE(p) − PE(p + k)|",
            f"The largest error over all dimensions, at each p: at most {numbers.scientific(worst, 1)}, {_exact(worst)}.",
        ),
    }


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
            "This scheme adds nothing to the embeddings, whose cosines are on the left. On the right is what it "
            "changes: the scores of the first layer (each row is a query; the mean over its heads)."
        )
    else:
        how = (
            "The cosine of every pair of tokens as they enter the first layer, from −1 (pink) through 0 to 1 (blue). "
            f"On average an embedding has a length of {embedding:.1f}, a position one of {position:.1f}."
        )
    pairs = []
    for i, j in found.repeated[:_SHOWN]:
        where = f"“{found.labels[i]}” ({i + 1} and {j + 1})"
        if found.both is not None:
            pairs.append(f"{where}: cosine {found.alone[i, j]:.3f} alone, {found.both[i, j]:.3f} with positions")
        else:
            rows = [float(abs(x[i] - x[j]).max()) for x in (found.scores_without, found.scores_with) if x is not None]
            pairs.append(f"{where}: their rows differ by {rows[0]:.2g} without positions, {rows[1]:.2g} with them")
    more = f" And {len(found.repeated) - _SHOWN} more." if len(found.repeated) > _SHOWN else ""
    return [how, *([f"Repeated: {'; '.join(pairs)}.{more}"] if pairs else [])]


ANEW = {  # what the variants show, by family
    "encoder-decoder": "The sentence, translated anew under each edit alone; words that the baseline does not have are "
    "boxed. The number is the change of the log-probability of the baseline’s translation, in nats. A click makes the edit "
    "on every page.",
    "decoder-only": "The text, gone on with anew under each edit alone; words that the baseline does not have are boxed. "
    "The number is the change of the log-probability of the baseline’s continuation, in nats. A click makes the edit on "
    "every page.",
    "encoder-only": "The sentence, read anew under each edit alone: the likeliest token at each place, boxed where the "
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
