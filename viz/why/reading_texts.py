"""The test of readings in words, from the numbers of this very view, and its chart.

The chart has the log-probability against the number of removed words, from either end of an order.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from model.io import numbers
from model.io.package_names import COMMAND
from model.readings.tokens.word_readings import READINGS, StepReading
from model.text.measurements import RANDOM, FaithfulnessShares, Share
from viz import theme
from viz.kit import terms
from viz.kit.chart_figures import Drawing

if TYPE_CHECKING:
    from model.experiments.faithfulness import FaithfulnessResult

FIRST, LAST = ENDS = ("the most important first", "the least important first")


def curves_chart(
    grid: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    chance: Sequence[np.ndarray],
    taken: tuple[Sequence[str], Sequence[str]],
    mode: theme.Mode,
    height: int,
) -> go.Figure:
    """Two lines over how many words are away, [K] log-probabilities in nats: `first` without the most important ones, `last`
    without the least important ones; behind them, what lies between the extremes of random orders, and their mean. `taken`
    tells for each line and point which words are away, read on hover.

    Raises ValueError where the lengths differ.
    """
    lengths = {len(grid), len(first), len(last), *map(len, chance), *map(len, taken)}
    if len(lengths) != 1:
        raise ValueError(f"a chart of {len(grid)} points with lines of {sorted(lengths)}; expected as many values as points")
    colours = theme.PALETTES[mode]
    drawing = Drawing()
    none = {"width": 0}
    if chance:
        low, high = np.min(chance, axis=0), np.max(chance, axis=0)
        drawing.add_scatter(x=grid, y=low, mode="lines", line=none, hoverinfo="skip", name="lowest random")
        drawing.add_scatter(
            x=grid, y=high, mode="lines", line=none, fill="tonexty", fillcolor=colours.mute, hoverinfo="skip", name="random"
        )
        line = {"width": 1.5, "color": colours.ink3, "dash": "dot"}
        told = {"hoverinfo": "text", "hovertext": "random orders, on average"}
        drawing.add_scatter(x=grid, y=np.mean(chance, axis=0), mode="lines", line=line, name="random mean", **told)
    for values, hue, end, words in zip((first, last), (colours.loss_ink, colours.gain_ink), ENDS, taken, strict=True):
        drawing.add_scatter(
            x=grid,
            y=values,
            mode="lines+markers",
            name=end,
            line={"color": hue, "width": 2.5},
            marker={"size": 6, "color": hue, "symbol": "circle" if values is first else "square"},
            hoverinfo="text",
            hovertext=[
                f"<b>{end}</b>, {k} of {grid[-1]} away<br>{html.escape(w, quote=False)}<br>log-probability {v:.3f}"
                for k, w, v in zip(grid, words, values, strict=True)
            ],
        )
    _axes(drawing, grid, np.concatenate([first, last, *chance]), colours)
    drawing.update_layout(theme.chart_layout(mode, height, l=52, t=10, r=12, b=46), plot_bgcolor="rgba(0,0,0,0)")
    return drawing.figure()


def _axes(drawing: Drawing, grid: np.ndarray, values: np.ndarray, colours: theme.Palette) -> None:
    font = {"size": 12, "color": colours.ink2, "family": theme.SANS}
    room = 0.12 * max(float(values.max() - values.min()), 0.1)
    drawing.update_xaxes(
        range=[-0.02 * grid[-1], 1.02 * grid[-1]],
        tickvals=grid,
        ticktext=[str(k) for k in grid],
        title={"text": "words away", "font": font, "standoff": 10},
        tickfont=font,
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    drawing.update_yaxes(
        range=[float(values.min()) - room, float(values.max()) + room],
        title={"text": "log-probability, nats", "font": font, "standoff": 6},
        nticks=6,
        tickfont=font,
        gridcolor=colours.line,
        zeroline=False,
        fixedrange=True,
    )


CHANCE = 0.05  # of the random orders: where more of them are as good as the best reading, it may be luck
HOW = "Words are taken away in each reading’s order, and in reverse; the area between the two curves is its measure."
CARE = (
    "A word is taken away by masking it: no token may look at it any more, the others keep their places. (Deleting it from "
    "the text would move the others.) The model has hardly met such gaps in training, so random orders, which make the same "
    "gaps, are the floor: 0 on average. Occlusion takes words away itself: it knows some of the answers beforehand."
)

NO_MANY = "Measured on this sentence only."


def verdict(found: FaithfulnessResult, what: str) -> str:
    """Which reading ranks the words best here, as markup; `what` is the token or the translation."""
    said, why = _verdict(found, what)
    told = terms.marked(why, "nats", "log-probability")
    return f'<p class="lab-verdict" role="status">{html.escape(said)}</p><p class="lab-note">{told}</p>'


def said(found: FaithfulnessResult) -> str:
    """The same in a few words."""
    return _verdict(found, "")[0]


def _verdict(found: FaithfulnessResult, what: str) -> tuple[str, str]:
    """The same, and why it is so."""
    from model.experiments.faithfulness import MIN_TOTAL_EFFECT, NEAR

    best, chance = found.best, len(found.random_shares)
    label = READINGS[best].label
    if not found.is_conclusive:
        said = "No reading can be told from another here"
        so = "So there is hardly anything to rank words by."
        if found.total_effect <= -MIN_TOTAL_EFFECT:
            so = "The words speak against it, so what this test ranks by is not there."
        why = (
            f"All words together are worth {numbers.three_digits(found.total_effect)} "
            f"nats to {what}: without any of them it has a "
            f"log-probability of {numbers.three_digits(found.without)}, with all of them "
            f"{numbers.three_digits(found.full)}. {so}"
        )
    elif found.random_as_good > CHANCE * chance:
        said = "No reading does clearly better than chance here"
        why = f"{found.random_as_good} of {chance} random orders are as good as the best, {label} ({_share(found, best)})."
    elif found.close_to_best:
        said = "No reading is clearly ahead here"
        others = _joined([f"{READINGS[name].label} ({_share(found, name)})" for name in found.close_to_best])
        if len(found.close_to_best) > 2:
            others = f"{len(found.close_to_best)} of the {len(found.shares) - 1} others"
        why = f"{label} ({_share(found, best)}) is the best, but by less than {NEAR:g} before {others}."
    else:
        second = list(found.shares)[1]
        said = f"{label} ranks the words best here"
        why = f"Its area is {_share(found, best)}; next comes {READINGS[second].label} with {_share(found, second)}."
    if found.is_conclusive:
        few = f"{found.random_as_good} of {chance} random orders {'reaches' if found.random_as_good == 1 else 'reach'}"
        reached = few if found.random_as_good else "No random order reaches"
        reach = "" if found.random_as_good > CHANCE * chance else f" {reached} that."
        effect = numbers.three_digits(found.total_effect)
        why = f"{why}{reach} 1: the first word alone has the effect of all words, {effect} nats"
        more = found.shares[best] > 1
        why += "; more than that is possible, for some words speak against it." if more else "."
    return said, why


def area(found: FaithfulnessResult, name: str) -> str:
    """The area of a reading, as it follows its name; nothing where no order can be told from another."""
    return f", area {_share(found, name)}" if found.is_conclusive else ""


def _share(found: FaithfulnessResult, name: str) -> str:
    return numbers.decimal(found.shares[name])


def dev_verdict(trust: FaithfulnessShares | None, scope: str, checkpoint: str) -> str:
    """Which reading deserves trust over many sentences, as a sentence or two."""
    from model.experiments.faithfulness import MIN_TOTAL_EFFECT

    if trust is None:
        return (
            f"This checkpoint has no measurement over many sentences. Run: {COMMAND} report faithfulness "
            f"--checkpoint {checkpoint} --data FILE"
        )
    over = f"Over {trust.sentences:,} dev sentences ({trust.tokens:,} tokens)"
    if trust.worth[scope] < MIN_TOTAL_EFFECT:
        return (
            f"{over} all words of a sentence are worth {numbers.three_digits(trust.worth[scope])} nats, on average, to what "
            "this checkpoint writes: hardly anything rests on them, and no reading can be told from another."
        )
    shares, leader, floor = trust.shares[scope], trust.leaders[scope], trust.shares[scope][RANDOM]
    known = [name for name in READINGS if name in shares and name != leader]
    named = f"{_label(leader)} ({numbers.decimal(shares[leader].share)})"
    said = [f"{over} {named} ranks the words best among the readings that take none away themselves"]
    if shares[leader].low <= floor.high:
        said = [f"{over} no reading that takes no word away itself does better than random orders, not even {named}"]
    if level := [name for name in known if shares[name].is_tied_with_leader]:
        said[0] += f"; {_listed(level, shares)} may be just as good"
    if ahead := [name for name in known if shares[name].behind_high < 0]:
        said.append(f"{_listed(ahead, shares)} {'is' if len(ahead) == 1 else 'are'} ahead of it")
    if worse := [name for name in known if shares[name].low <= floor.high and name not in ahead]:
        said.append(f"{_listed(worse, shares)} {'is' if len(worse) == 1 else 'are'} no better than random")
    return f"{'. '.join(said)}."


def _listed(names: list[str], shares: Mapping[str, Share]) -> str:
    return _joined([f"{_label(name)} ({_decimal(shares[name].share)})" for name in names])


def _decimal(value: float) -> str:
    """Two decimals; what rounds to nothing has no sign."""
    return numbers.decimal(value if abs(value) >= 0.005 else 0.0)


def _label(name: str) -> str:
    return READINGS[name].label if name in READINGS else name


def _joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


LEGEND = (
    '<p class="lab-note lab-curves">'
    f'<span class="first">● {FIRST}</span> <span class="last">■ {LAST}</span> '
    "<span>▒ random orders, ⋯ their mean</span></p>"
)


def curves_told(reading: StepReading, kind: str, what: str) -> str:
    """How the chart is read, as markup, with a key to its lines; attention of a kind brings the words."""
    said = (
        f"{reading.label}: {reading.describe(kind)} The chart follows the "
        f"log-probability of {what} as more and more words are "
        "taken away, from either end of this order. If the order is right, the first line falls at once, the second late."
    )
    return f'<p class="lab-note">{terms.marked(said, "log-probability")}</p>{LEGEND}'


def taken(found: FaithfulnessResult, name: str, end: str) -> list[str]:
    """Which words are away at each point of a reading's curve that begins at its `first` or its `last` word."""
    from model.experiments.faithfulness import ranked_words

    ranked = [found.words.labels[word] for word in ranked_words(found.importance[name])]
    if end == "last":
        ranked = ranked[::-1]
    return [", ".join(ranked[:k]) or "nothing" for k in found.grid]
