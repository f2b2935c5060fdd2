"""What is said of one score and of who wrote it, from its numbers."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from model import format

if TYPE_CHECKING:
    from model.readings.score_writers import ScoreWriters
    from model.readings.writers import Writer
    from model.trace import Trace

OWN = "the head’s own bias"  # b_Q where it asks, b_K where it answers
SMALL = 0.5  # a score nearer to 0 has no shares worth telling
ENOUGH = 0.5  # of a score: a part below it is not the reason
ROUNDING = 1e-3  # of a score, or of one where it is less: what is missed beyond it no writer wrote


def labels(found: ScoreWriters, trace: Trace) -> tuple[str, str]:
    """The tokens at which the query and the key are made."""
    of = found.site.of
    return trace.axis(of.queries).labels[found.query], trace.axis(of.keys).labels[found.key]


def name(writer: Writer, label: str) -> str:
    """What a writer is called; `label` is the token where it wrote."""
    if writer.site is not None and writer.head is not None:
        return f"{writer.site.of.name}, layer {writer.site.layer + 1}, head {writer.head + 1}"
    if writer.kind == "patch":
        return f"what an edit put in {writer.placed}"
    if writer.layer is not None:
        return f"feed-forward network, layer {writer.layer + 1}"
    named = {
        "token": f"embedding of “{label}”",
        "position": "its position",
        "segment": "its segment: first sentence or second",
    }
    return (named | {"bias": "biases", "own": OWN})[writer.kind]


def answer(found: ScoreWriters, trace: Trace) -> str:
    """The score and the pair of writers that gives most of it, as markup."""
    asks, answers = (f'<span class="lab-mono">{html.escape(label)}</span>' for label in labels(found, trace))
    asking, answering, part = found.largest
    how = "raises" if found.score >= 0 else "lowers"
    own = [html.escape(_wrote(writer, at)) for writer, at in zip((asking, answering), labels(found, trace), strict=True)]
    return (
        f'<p class="lab-score">{asks} gives {answers} a score of <b>{format.decimal(found.score)}</b>. The part that '
        f"{how} it the most, <b>{format.signed(part)}</b>, is {own[0]} meeting {own[1]}.{_alone(found, part)}</p>"
    )


def _alone(found: ScoreWriters, part: float) -> str:
    """Where the largest part is a small one, that it does not explain the score; else empty."""
    share = part / found.score if abs(found.score) >= SMALL else 1.0
    return "" if share >= ENOUGH else f" That is {share:.0%} of it: no single part explains the score."


def _owes(found: ScoreWriters, trace: Trace) -> str:
    """What each side owes the most to, whatever it meets on the other: a sentence."""
    toward = 1 if found.score >= 0 else -1
    told = []
    for writers, sums, label in zip(
        (found.asks, found.answers), (found.values.sum(1), found.values.sum(0)), labels(found, trace), strict=True
    ):
        at = int((toward * sums).argmax())
        told.append(f"{_wrote(writers[at], label)} ({format.signed(float(sums[at]))})")
    return (
        f"Over all that they meet, most of it comes from {told[0]} on the asking side, and {told[1]} on the answering side."
    )


def _wrote(writer: Writer, label: str) -> str:
    """A writer as what it wrote at a token."""
    if writer.kind == "head":
        return f"what {name(writer, label)} wrote at “{label}”"
    if writer.kind == "patch":
        return f"{name(writer, label)} at “{label}”"
    if writer.layer is not None:
        return f"what the feed-forward network of layer {writer.layer + 1} wrote at “{label}”"
    named = {"token": f"the embedding of “{label}”", "position": f"the position of “{label}”", "own": OWN}
    return (named | {"segment": f"the sentence that “{label}” is of, first or second"}).get(writer.kind, "biases")


def beside(found: ScoreWriters, trace: Trace, scaled: bool) -> str:
    """How the score stands among the others of its query, and what it is the sum of."""
    many = f"{len(found.asks)} × {len(found.answers)}"
    how = "" if scaled else " An edit leaves out the division by √dₖ, and so do these numbers."
    total = (
        f"It is the sum of {many} parts: each writer of the residual stream that asks, by each of the one that answers.{how}"
    )
    if not found.seen:
        return f"The mask hides this token from the query: the score is computed, then thrown away. {total}"
    assert found.mean is not None
    others = int(trace.mask(found.site, found.head)[found.query].sum())
    among = f"{format.signed(found.score - found.mean)} against the mean of the {others} scores of this query"
    if others == 1:
        among = "the only one that the mask leaves to this query"
    return f"Its weight is {found.weight:.3f}; the score, before mask and softmax, is {among}. {total} {_owes(found, trace)}"


def missed(found: ScoreWriters) -> str:
    """Where the parts do not add up, that they do not; else empty."""
    if abs(found.remainder) <= ROUNDING * max(1.0, abs(found.score)):
        return ""
    return (
        f"These parts miss {format.signed(found.remainder)} of the score: an edit has put something into the stream that no "
        "writer of this sentence wrote."
    )
