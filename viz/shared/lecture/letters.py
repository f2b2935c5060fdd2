"""The keys that pages may take in a lecture, each with the one meaning that it has on every page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Letter:
    """A key by the name that a browser gives it, and what it means wherever it is taken."""

    key: str
    means: str


PICTURE = Letter("v", "the next picture of the page")
INNER = Letter("y", "another picture within this one")
NEXT = Letter("n", "the next of what is walked through")
PREVIOUS = Letter("p", "the one before")
KIND = Letter("k", "the next kind, of attention or of positions")
CAUSAL = Letter("m", "the causal mask")
PADDING = Letter("M", "the padding mask")
PREDICT = Letter("g", "predict first")
MODE = Letter("d", "the given target, or decoding again")
CHOSEN_BY = Letter("c", "how tokens are chosen")
AGAIN = Letter("C", "draw the tokens again")
ROWS = Letter("r", "how the rows of tokens stand")
SENTENCE = Letter("s", "the next sentence of the text")
SHOWS = Letter("t", "weights or masks")
WORDS = Letter("w", "pieces of words, or whole words")
ORDER = Letter("o", "the order of the heads")
EXPERIMENT = Letter("e", "the next experiment")
EARLIER = Letter("E", "the experiment before")
ANSWER = Letter("a", "what the answer speaks of, or its counterpart")
REACH = Letter("z", "how far a click reaches")
DIFFERS = Letter("x", "what differs")
FURTHEST = Letter("h", "the head where both differ most")
PAIR = Letter("i", "the next pair of dimensions")
MORE = Letter("+", "shift by one more")
LESS = Letter("-", "shift by one less")
RIGHT = Letter("ArrowRight", "one further")
LEFT = Letter("ArrowLeft", "one back")
LET_GO = Letter("Backspace", "let go of what is looked for")

EVERY = tuple(value for value in list(globals().values()) if isinstance(value, Letter))
WALK = f"{NEXT.key}, {PREVIOUS.key}"  # as a page tells that a component takes both
