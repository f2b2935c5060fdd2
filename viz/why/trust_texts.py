"""What the test of readings says in words, from the numbers of this very view."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from model import format
from model.readings.word_readings import READINGS, Reading
from model.text.trust import Trust
from viz.shared import terms

if TYPE_CHECKING:
    from model.experiments.faithfulness import Tested

CHANCE = 0.05  # of the random orders: where more of them are as good as the best reading, it may be luck
HOW = "Words are taken away in the order in which each reading ranks them, and in reverse. Tested on"
CARE = (
    "A word is taken away by masking it: no token may look at it any more, the others keep their places. (Deleting it from "
    "the text would move the others.) The model has hardly met such gaps in training, so random orders, which make the same "
    "gaps, are the floor: 0 on average. Occlusion takes words away itself: it knows some of the answers beforehand."
)


def verdict(found: Tested, what: str) -> str:
    """Which reading ranks the words best here, as markup; `what` is the token or the translation."""
    from model.experiments.faithfulness import NEAR

    best, chance = found.best, len(found.random_shares)
    label = READINGS[best].label
    if not found.is_told:
        said = "No reading can be told from another here"
        why = (
            f"All words together are worth {format.decimal(found.worth)} nats to {what}: without any of them it has a "
            f"log-probability of {format.decimal(found.without)}, with all of them {format.decimal(found.full)}. So there "
            "is hardly anything to rank words by."
        )
    elif found.as_good > CHANCE * chance:
        said = "No reading does clearly better than chance here"
        why = f"{found.as_good} of {chance} random orders are as good as the best, {label} ({_share(found, best)})."
    elif found.near:
        said = "No reading is clearly ahead here"
        others = _joined([f"{READINGS[name].label} ({_share(found, name)})" for name in found.near])
        if len(found.near) > 2:
            others = f"{len(found.near)} of the {len(found.shares) - 1} others"
        why = f"{label} ({_share(found, best)}) is the best, but by less than {NEAR:g} before {others}."
    else:
        second = list(found.shares)[1]
        said = f"{label} ranks the words best here"
        why = f"Its area is {_share(found, best)}; next comes {READINGS[second].label} with {_share(found, second)}."
    if found.is_told:
        few = f"{found.as_good} of {chance} random orders {'reaches' if found.as_good == 1 else 'reach'}"
        reached = few if found.as_good else "No random order reaches"
        reach = "" if found.as_good > CHANCE * chance else f" {reached} that."
        why = f"{why}{reach} 1 would be all that the words are worth, {format.decimal(found.worth)} nats, at the first one."
    told = terms.marked(why, "nats", "log-probability")
    return f'<p class="lab-verdict" role="status">{html.escape(said)}</p><p class="lab-note">{told}</p>'


def _share(found: Tested, name: str) -> str:
    return format.decimal(found.shares[name])


def dev_verdict(trust: Trust | None, scope: str, checkpoint: str) -> str:
    """Which reading deserves trust over many sentences, as a sentence or two."""
    if trust is None:
        return (
            "Over many sentences this has not been measured for this checkpoint: python -m model report faithfulness "
            f"--checkpoint {checkpoint} --data FILE does it."
        )
    shares, leader = trust.shares[scope], trust.leaders[scope]
    known = [name for name in READINGS if name in shares and name != leader]
    level = [name for name in known if shares[name].is_level]
    ahead = [name for name in known if shares[name].behind_high < 0]
    named = _label(leader)
    said = (
        f"Over {trust.sentences:,} dev sentences ({trust.tokens:,} tokens) {named} deserves the most trust of the readings "
    )
    said += f"that take nothing away: {format.decimal(shares[leader].share)}"
    if level:
        listed = _joined([f"{_label(name)} ({format.decimal(shares[name].share)})" for name in level])
        said += f", but chance may be all that parts it from {listed}"
    said += "."
    if ahead:
        listed = _joined([f"{_label(name)} ({format.decimal(shares[name].share)})" for name in ahead])
        said += f" {listed} {'is' if len(ahead) == 1 else 'are'} ahead of it."
    floor = shares["random"]
    worse = [name for name in known if shares[name].low <= floor.high]
    if worse:
        said += f" {_joined([_label(name) for name in worse])} {'is' if len(worse) == 1 else 'are'} no better than random."
    return said


def _label(name: str) -> str:
    return READINGS[name].label if name in READINGS else name


def _joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def curves_told(reading: Reading, what: str) -> str:
    """How the chart is read, as a sentence."""
    return (
        f"{reading.label}: {reading.meaning} The lower line should fall at once and the upper one stay: the log-probability "
        f"of {what} where words go from either end of this order. Grey: where random orders run; dotted: their mean."
    )


def taken(found: Tested, name: str, end: str) -> list[str]:
    """Which words are away at each point of a reading's curve that begins at its `first` or its `last` word."""
    from model.experiments.faithfulness import order

    ranked = [found.words.labels[word] for word in order(found.importance[name])]
    if end == "last":
        ranked = ranked[::-1]
    return [", ".join(ranked[:k]) or "nothing" for k in found.grid]


def curves_alt(found: Tested, reading: Reading) -> str:
    """A reading's curves in words."""
    curves = found.curves[reading.name]
    first, last = (", ".join(f"{v:.2f}" for v in values) for values in (curves.first, curves.last))
    return (
        f"Log-probability where {', '.join(map(str, found.grid))} of {len(found.words)} words are away. "
        f"{reading.label}, the most important first: {first}; the least important first: {last}."
    )
