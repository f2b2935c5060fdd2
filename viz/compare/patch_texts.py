"""What the part Patching says, from the numbers of this very pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from model import format
from model.edits.kinds import Edit, Labels, PatchZ
from model.inference.predictions import changed_words
from viz.shared import texts

if TYPE_CHECKING:
    from model.experiments.patching import Patching, Question
    from model.inference.analysis import Analysis
    from model.text.tokenizer import Tokenizer

NAMED = 4  # of several heads
WITHOUT = "Patching starts from both sentences without the edits above."


def names(question: Question, tokenizer: Tokenizer) -> tuple[str, str]:
    """The two tokens that are compared, as they are read."""
    first, second = (tokenizer.piece(token).removeprefix("·") or "·" for token in question.tokens)
    return first, second


def asked(question: Question, tokens: tuple[str, str], same: bool) -> str:
    """What is measured, and at which step; `same`: both sentences have one translation."""
    why = "where the sentences disagree the most, for both have the same translation" if same else "where the two part"
    return f"Measured at step {question.step + 1}, {why}: the logit of “{tokens[0]}” less that of “{tokens[1]}”."


def percent(share: float) -> str:
    """A share of the way in per cent; one that rounds to nothing has no sign."""
    shown = round(100 * share)
    return format.signed(shown, 0).replace("+", "") + "%" if shown else "0%"


def told(edit: Edit, labels: Labels) -> str:
    """A patch in words, without the whose."""
    text = edit.text(labels).replace("the other sentence’s residual stream", "").replace("the other sentence’s output", "")
    return text.strip(" :").replace(":  at", " at").replace(": at", " at")


def answer(found: Patching, tokens: tuple[str, str], labels: Labels) -> list[str]:
    """The way from one sentence to the other, what one head does of it, and where it goes in the encoder: sentences."""
    both = f"It is {format.signed(found.before)} here and {format.signed(found.other)} in the other sentence"
    if found.is_near:
        return [f"{both}: too near for shares of the way, so the cells show by how much it changes, in nats."]
    heads = [(edit, value) for edit, value in found.pieces if isinstance(edit, PatchZ)]
    best, value = max(heads, key=lambda each: found.share(each[1]))
    most = f"{told(best, labels)}, {percent(float(found.share(value)))} of the way"
    turning = sum(found.turns(each) for _, each in heads)
    sentences = [f"{both}."]
    if found.before < 0 or found.other >= 0:
        sentences.append(f"The choice is the same in both, so nothing turns it; the most that one head brings: {most}.")
    elif turning:
        which = "One head is enough" if turning == 1 else f"One head is enough: {turning} of {len(heads)} do it alone"
        sentences.append(f"{which} to turn “{tokens[0]}” into “{tokens[1]}”; the most comes from {most}.")
    elif found.few:
        edits, reached = found.few
        named = ", ".join(told(edit, labels) for edit in edits[:NAMED])
        more = f" and {len(edits) - NAMED} more" if len(edits) > NAMED else ""
        sentences.append(
            f"No head turns “{tokens[0]}” into “{tokens[1]}” alone; the most comes from {most}. Taken one after the other, "
            f"{len(edits)} of {len(heads)} together do, at {percent(float(found.share(reached)))}: {named}{more}."
        )
    return [*sentences, travels(found, labels)]


def travels(found: Patching, labels: Labels) -> str:
    """Which position of the encoder carries the most after each layer."""
    shares = np.nan_to_num(np.asarray(found.share(found.encoder)), nan=-np.inf)  # [L+1,S]
    stops = []
    for layers, row in enumerate(shares):
        at = int(row.argmax())
        where = f"after layer {layers}" if layers else "embedding"
        stops.append(f"“{labels.query('encoder', at)}” {percent(float(row[at]))} ({where})")
    return f"Where most of it stands in the encoder: {' → '.join(stops)}."


def compared(first: Analysis, second: Analysis, patched: Analysis | None, tokenizer: Tokenizer, code: str) -> str:
    """Three translations as markup, what is another than in the first marked."""
    own = first.trace.outputs.ids
    rows = [("This sentence", own, ()), ("The other", second.trace.outputs.ids, own)]
    rows.append(("Patched", () if patched is None else patched.trace.outputs.ids, own))
    lines = "".join(
        f"<span>{name}</span><p lang='{code}'>{_marked(ids, against, tokenizer)}</p>" for name, ids, against in rows
    )
    return f'<div class="lab-both lab-three">{lines}</div>'


def _marked(ids: Sequence[int], against: Sequence[int], tokenizer: Tokenizer) -> str:
    changed = changed_words(against, ids)[1] if against else [False] * len(ids)
    return texts.marked(tokenizer.segments(ids), changed, "is") or ("&nbsp;" if not ids else texts.EMPTY)


def effect(found: Patching, edits: Sequence[Edit], value: float, labels: Labels, is_other: bool, turned: bool) -> str:
    """What is put in, and what it does."""
    what = told(edits[0], labels) if len(edits) == 1 else f"{len(edits)} pieces"
    far = (
        f"{format.signed(value - found.before)} nats"
        if found.is_near
        else f"{percent(float(found.share(value)))} of the way"
    )
    said = (
        "the translation becomes the other’s"
        if is_other
        else "the translation changes"
        if turned
        else "the translation stays"
    )
    return f"Put in from the other sentence: {what}. {far[:1].upper()}{far[1:]}, to {format.signed(value)}; {said}."
