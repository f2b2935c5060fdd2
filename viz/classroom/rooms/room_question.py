"""Question of a room: its kinds, its votes, and the result of the class. It stores no names."""

from __future__ import annotations

import base64
import itertools
import json
import math
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

COMPUTED = ("next", "head")  # the model has an answer: the token of a step, or the head that links two words
OWN_KINDS = ("choice", "token", "grid", "number")  # of the lecturer: `grid` asks for a head, layer by layer
MAX_TEXT = 300  # characters of a question
MAX_OPTIONS = {"next": 12, "head": 12, "choice": 8, "token": 200, "grid": 600}
MAX_WORD = 40
MAX_CHOICE = 80  # characters of a typed option
MAX_VOTES = 1000  # on one question: twice the limit of followers
MAX_WORDS_LISTED = 30  # different words in the result: all options and the most frequent other words
JOINER = "\u200d"  # between the signs of one emoji
STEPS = 3  # of confidence: 1 not sure, 2 fairly sure, 3 sure
MAX_NUMBERS = 8  # different numbers listed one by one; more are grouped


class Vote(NamedTuple):
    """Answer of one browser."""

    word: str
    sure: int  # from 1 to `STEPS`
    seconds: float  # since the question opened


@dataclass(frozen=True)
class RoomQuestion:
    """Question to the class. `next` also accepts words that are no option."""

    number: int
    kind: str
    text: str
    options: tuple[str, ...]
    model: tuple[float, ...]  # probability of each option, hidden until the answer; empty for a question of the lecturer
    opened: float = 0.0  # s since 1970
    columns: int = 0  # heads of a layer in a grid
    first: int = 0  # number of its first round
    round: int = 1
    before: dict[str, int] | None = None  # counts of the round before
    answer: str | None = None  # after it is revealed; empty if there is no right answer
    votes: dict[str, Vote] = field(default_factory=dict)  # by the random number of a browser
    over: bool = False  # closed: no longer on any screen

    def describe(self) -> dict[str, Any]:
        """Returns the public values. After the answer they include `votes` by word and `others`, the votes for words
        that are not listed. Options are always listed if they have votes. The sum is `voted`."""
        values = {"number": self.number, "kind": self.kind, "text": self.text, "options": list(self.options)}
        values |= {"voted": len(self.votes), "columns": self.columns, "round": self.round}
        if self.answer is None:
            return values
        counts = Counter(vote.word for vote in self.votes.values())
        values |= {"answer": self.answer, "model": list(self.model), "sure": self._calibration()}
        values |= {"before": None if self.before is None else self._listed(self.before), **self._listed(counts)}
        if self.kind == "number":
            values |= {"rows": grouped_numbers(counts, self.before or {}, self.answer), "votes": {}, "others": 0}
        return values

    def _listed(self, counts: Mapping[str, int]) -> dict[str, Any]:
        """Returns the number of votes, the votes by word, and those for words that are not listed."""
        ordered = sorted(counts.items(), key=lambda each: -each[1])
        own = [word for word, _ in ordered if word not in self.options][: max(0, MAX_WORDS_LISTED - len(self.options))]
        votes = {word: count for word, count in ordered if word in {*self.options, *own}}
        voted = sum(counts.values())
        return {"voted": voted, "votes": votes, "others": voted - sum(votes.values())}

    def _calibration(self) -> list[list[int]]:
        """Returns the votes and the right votes of each step of confidence."""
        steps = [[vote for vote in self.votes.values() if vote.sure == step] for step in range(1, STEPS + 1)]
        return [[len(votes), sum(is_right(self.kind, vote.word, self.answer) for vote in votes)] for votes in steps]

    def check_answer(self, answer: Any) -> str:
        """Returns a right answer as it is compared; empty for none. Raises ValueError."""
        if answer == "" and self.kind in OWN_KINDS:
            return ""
        if self.kind == "number":
            return number_text(answer, as_typed=True)
        if answer not in self.options:
            raise ValueError("The answer is not one of the options.")
        return str(answer)

    def check_word(self, word: Any) -> str:
        """Returns a voted word as it is stored; raises ValueError."""
        if self.kind == "number":
            return number_text(word)
        if self.kind in OWN_KINDS:
            if not isinstance(word, str) or word not in self.options:
                raise ValueError("The vote is not one of the options. Reload the page.")
            return word
        if not are_words([word]):
            raise ValueError(f"A vote is a word of at most {MAX_WORD} characters.")
        return str(word.strip())

    def packed(self) -> str:
        """Returns a closed question as a short text, without the numbers of the browsers; see `unpack_question`."""
        values = {name: getattr(self, name) for name in ("number", "first", "round", "kind", "text", "answer")}
        text = json.dumps(values | {"votes": list(self.votes.values())})
        return base64.b64encode(zlib.compress(text.encode())).decode()


def unpack_question(packed: str) -> dict[str, Any]:
    """Returns the values of a closed question, with its votes as lists of word, confidence and seconds."""
    values: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(packed)))
    return values


def new_question(kind: Any, text: Any, options: Any, model: Any, columns: Any, number: int, now: float) -> RoomQuestion:
    """Returns a checked question; raises ValueError."""
    if kind not in (*COMPUTED, *OWN_KINDS) or not is_text(text, MAX_TEXT) or not text.strip():
        kinds = ", ".join((*COMPUTED, *OWN_KINDS))
        raise ValueError(f"A question needs one of the kinds {kinds}, and a text of at most {MAX_TEXT} characters.")
    options, model, columns = [] if options is None else options, model or [], columns or 0
    if kind == "number":
        if options != [] or model != []:
            raise ValueError("A question for a number has no options.")
    else:
        most, longest = MAX_OPTIONS[kind], MAX_CHOICE if kind == "choice" else MAX_WORD
        if not are_words(options, longest) or not 2 <= len(set(options)) == len(options) <= most:
            raise ValueError(f"A question needs 2 to {most} different options of at most {longest} characters.")
    has_model = isinstance(model, list) and len(model) == len(options) and all(map(_is_share, model))
    if (kind in COMPUTED or model) and not has_model:
        raise ValueError("Each option needs a probability from 0 to 1.")
    if type(columns) is not int or columns < 0 or (kind == "grid") != bool(columns) or (columns and len(options) % columns):
        raise ValueError("A grid of heads needs the same number of columns in each row.")
    return RoomQuestion(number, kind, text, tuple(options), tuple(map(float, model)), now, columns, number)


def is_right(kind: str, word: str, answer: str | None) -> bool:
    """Returns True for a right answer; a number is right if it rounds to the answer as typed."""
    if not answer or kind != "number":
        return bool(answer) and word == answer
    digits = len(answer.partition(".")[2])
    return abs(float(word) - float(answer)) <= 0.5 * 10.0**-digits + 1e-12 * abs(float(answer))


def number_text(value: Any, as_typed: bool = False) -> str:
    """Returns a typed number in one form, 12 significant digits; `as_typed` preserves its decimals. Raises ValueError."""
    text = value.strip().replace(",", ".").replace("−", "-") if isinstance(value, str) and len(value) <= MAX_WORD else ""
    try:
        number = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or abs(number) > 1e15:
        raise ValueError("The answer is not a number. Write it with digits, such as 12 or 0.58.")
    decimals = len(text.partition(".")[2])
    if as_typed and set(text) <= set("0123456789.-+") and decimals <= 12:
        return f"{number:.{decimals}f}"
    return f"{number + 0.0:.12g}"


def grouped_numbers(counts: Mapping[str, int], before: Mapping[str, int], answer: str) -> list[list[Any]]:
    """Returns label, votes, right votes, votes of the round before, and True if it holds the answer; of each number, or of
    groups of equal width."""
    extra = [float(answer)] if answer else []
    values = sorted([*(float(word) for each in (counts, before) for word in Counter(each).elements()), *extra])
    if len(distinct := sorted(set(values))) <= MAX_NUMBERS:
        groups = [(f"{value:.12g}", value, math.nextafter(value, math.inf)) for value in distinct]
    else:
        edges = _edges(values) or _edges(distinct)
        groups = [(f"below {edges[0]:.12g}", -math.inf, edges[0])]
        groups += [(f"{low:.12g} to below {high:.12g}", low, high) for low, high in itertools.pairwise(edges)]
        groups += [(f"{edges[-1]:.12g} or more", edges[-1], math.inf)]
    rows = []
    for label, low, high in groups:
        now, then = ({word: n for word, n in each.items() if low <= float(word) < high} for each in (counts, before))
        right = sum(n for word, n in now.items() if is_right("number", word, answer))
        holds = bool(answer) and low <= float(answer) < high
        if now or then or holds:
            rows.append([label, sum(now.values()), right, sum(then.values()), holds])
    return rows


def _edges(values: Sequence[float]) -> list[float]:
    """Returns round edges between the 5% and the 95% of sorted values, at most `MAX_NUMBERS`; none if these are equal."""
    low, high = values[len(values) // 20], values[-1 - len(values) // 20]
    if low == high:
        return []
    width = (high - low) / (MAX_NUMBERS - 2)
    scale = 10.0 ** math.floor(math.log10(width))
    step = next(scale * factor for factor in (1, 2, 5, 10) if scale * factor >= width)
    start = math.floor(low / step)
    return [float(f"{(start + n) * step:.12g}") for n in range(MAX_NUMBERS) if (start + n - 1) * step < high]


def is_text(value: Any, max_length: int) -> bool:
    """Returns True for a text of bounded length without lone surrogates, which have no encoding."""
    return isinstance(value, str) and len(value) <= max_length and not any("\ud800" <= char <= "\udfff" for char in value)


def are_words(values: Any, longest: int = MAX_WORD) -> bool:
    """Returns True for a list of printable words of bounded length; signs may be joined, as in emoji."""
    return isinstance(values, list) and all(
        isinstance(value, str) and value.strip() and len(value) <= longest and value.replace(JOINER, "").isprintable()
        for value in values
    )


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
