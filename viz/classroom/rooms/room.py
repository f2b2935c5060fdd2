"""A room: what its lecturer shows, and what its class bets. Nobody's name is in it."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import Any

LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"  # none that is read as another one
LENGTH = 6  # 31^6 codes: at 60 wrong ones a minute (`asking`) one of 200 rooms is found after weeks; it ends within hours
SILENCE = 6 * 3600  # s after which a room that nobody moved has ended
MAX_ADDRESS = 8000  # characters of a page's address
ADDRESS = re.compile(r"(/[!-\[\]-~]*?)(?:[?#][!-\[\]-~]*)?")  # in ASCII, without spaces and backslashes; first its path
SCHEMA = 2  # of a packed room: another one with each change of its fields
MAX_POINTER = 300
MAX_OPTIONS = 12
MAX_WORD = 40
MAX_VOTES = 1000  # on one question: twice as many as may follow
MAX_TOLD = 30  # different words among the votes that are told: the answers that were offered, and the most frequent others


def new_code() -> str:
    return "".join(secrets.choice(LETTERS) for _ in range(LENGTH))


def code_of(typed: str) -> str:
    """What somebody typed, as a code: in capitals, without spaces and dashes. ValueError where it cannot be one."""
    code = "".join(letter for letter in typed.upper() if letter not in " -")
    if len(code) != LENGTH or set(code) - set(LETTERS):
        raise ValueError(f"A room's code has {LENGTH} letters and digits, such as {LETTERS[-2]}{LETTERS[:5]}; look again.")
    return code


def new_secret() -> str:
    """What lets its holder move a room: 192 bits."""
    return secrets.token_urlsafe(24)


def sealed(secret: str) -> str:
    """What is kept of a secret: it opens nothing."""
    return hashlib.sha256(secret.encode()).hexdigest()


@dataclass(frozen=True)
class Question:
    """What the class bets on: one of some answers, or a word of one's own."""

    number: int
    kind: str  # "next": the token of a step; "head": the head that links two words
    text: str
    options: tuple[str, ...]
    model: tuple[float, ...]  # how probable each of them is to the model; nobody is told before the answer
    answer: str | None = None  # once it is revealed
    votes: dict[str, str] = field(default_factory=dict)  # by the random number of a browser
    over: bool = False  # nobody is shown it any more

    def told(self) -> dict[str, Any]:
        """What everybody may know. With the answer: `votes`, how many were for each word (those for what was offered are
        all there; a word without votes is not), and `others`, how many were for words that are not told. The sum of all is
        `voted`."""
        shown = {"number": self.number, "kind": self.kind, "text": self.text, "options": list(self.options)}
        shown |= {"voted": len(self.votes)}
        if self.answer is None:
            return shown
        counts = Counter(self.votes.values()).most_common()
        of_own = [word for word, _ in counts if word not in self.options][: MAX_TOLD - len(self.options)]
        votes = {word: count for word, count in counts if word in {*self.options, *of_own}}
        others = len(self.votes) - sum(votes.values())
        return shown | {"answer": self.answer, "votes": votes, "others": others, "model": list(self.model)}


@dataclass(frozen=True)
class Score:
    """How much of the class's votes, and of the model's probability, lay on the answers so far."""

    asked: int = 0
    people: float = 0.0
    model: float = 0.0


@dataclass(frozen=True)
class Room:
    """All that a room is. Times are seconds since 1970."""

    code: str
    seal: str  # of the lecturer's secret
    address: str  # path and query of the page that the lecturer is on
    moved: float
    version: int = 0  # grows with every change
    pointer: str = ""  # what the lecturer points at, in the words of the page
    blank: bool = False
    question: Question | None = None
    score: Score = Score()
    heard: float = 0.0  # when the lecturer's browser last gave a sign that was no move
    away: bool = False  # the lecturer is not connected

    def opens(self, secret: str) -> bool:
        """True for the lecturer's secret; takes as long for every other one."""
        return hmac.compare_digest(self.seal, sealed(secret))

    def ended(self, now: float) -> bool:
        return now - self.moved > SILENCE

    def hears(self, now: float) -> Room:
        """The room after a sign of its lecturer's browser. It is a change for its followers where the lecturer was away."""
        return replace(self, heard=now, away=False, version=self.version + self.away)

    def is_silent(self, since: float) -> bool:
        """True where the lecturer counts as connected, and neither moved nor gave a sign since a time."""
        return not self.away and max(self.moved, self.heard) <= since

    def misses(self, since: float) -> Room:
        """The room without its lecturer; the same room where it is not silent since then."""
        return replace(self, away=True, version=self.version + 1) if self.is_silent(since) else self

    def told(self, lecturer: bool = False) -> dict[str, Any]:
        """What its followers are sent, and its lecturer."""
        shown = {"version": self.version, "address": self.address, "pointer": self.pointer, "blank": self.blank}
        shown |= {"away": self.away}
        question = self.question.told() if self.question and not self.question.over else None
        return shown | {"question": question, "score": asdict(self.score)} | ({"lecturer": True} if lecturer else {})

    def shows(self, change: dict[str, Any], now: float) -> Room:
        """The room after its lecturer moved: `address`, `pointer` or `blank`, each if it is given. ValueError for others."""
        _known(change, {"address", "pointer", "blank"})
        address, pointer = change.get("address", self.address), change.get("pointer", self.pointer)
        if not _is_address(address):
            raise ValueError(f"address is no address of a page; expected one that begins with /, of {MAX_ADDRESS} at most.")
        if not _is_text(pointer, MAX_POINTER):
            raise ValueError(f"pointer is no valid text of at most {MAX_POINTER} characters.")
        if not isinstance(change.get("blank", False), bool):
            raise ValueError("blank is neither true nor false.")
        blank = change.get("blank", self.blank)
        return replace(self, address=address, pointer=pointer, blank=blank, version=self.version + 1, moved=now, away=False)

    def asks(self, kind: Any, text: Any, options: Any, model: Any, now: float) -> Room:
        """The room with a new question; ValueError where it is none."""
        if kind not in ("next", "head") or not _is_text(text, MAX_POINTER) or not text:
            raise ValueError(
                f"A question is of the kind next or head, and has a valid text of at most {MAX_POINTER} characters."
            )
        if not _are_words(options) or not 2 <= len(set(options)) == len(options) <= MAX_OPTIONS:
            raise ValueError(f"A question has 2 to {MAX_OPTIONS} different answers of at most {MAX_WORD} characters.")
        if not isinstance(model, list) or len(model) != len(options) or not all(map(_is_share, model)):
            raise ValueError("Every answer has a probability from 0 to 1.")
        number = self.question.number + 1 if self.question else 1
        asked = Question(number, kind, text, tuple(options), tuple(map(float, model)))
        return replace(self, question=asked, version=self.version + 1, moved=now, away=False)

    def votes(self, voter: Any, number: Any, word: Any) -> Room:
        """The room with somebody's vote, which may be changed until the answer is known; ValueError where it is none."""
        question = self.question
        if type(number) is not int:  # true is no number
            raise ValueError("number is no whole number; expected that of the question.")
        if question is None or question.over or question.number != number:
            raise ValueError("This question is over; wait for the next one.")
        if question.answer is not None:
            raise ValueError("The answer is known by now; wait for the next question.")
        if not _is_text(voter, 64) or len(voter) < 8:
            raise ValueError("The vote comes from no browser; load the page again.")
        if not _are_words([word]):
            raise ValueError(f"A vote is a word of at most {MAX_WORD} characters.")
        if voter not in question.votes and len(question.votes) >= MAX_VOTES:
            raise ValueError(f"{MAX_VOTES:,} have voted already, which is as many as a question takes.")
        kept = replace(question, votes=question.votes | {voter: word.strip()})
        return replace(self, question=kept, version=self.version + 1)

    def reveals(self, answer: Any, now: float) -> Room:
        """The room with its question answered, and the score with it."""
        question = self.question
        if question is None or question.over or question.answer is not None:
            raise ValueError("No question is open; ask one first.")
        if answer not in question.options:
            raise ValueError("The answer is none of those that were offered.")
        people = Counter(question.votes.values())[answer] / max(1, len(question.votes))
        model = question.model[question.options.index(answer)]
        score = Score(self.score.asked + 1, self.score.people + people, self.score.model + model)
        kept = replace(question, answer=answer)
        return replace(self, question=kept, score=score, version=self.version + 1, moved=now, away=False)

    def closes(self, now: float) -> Room:
        """The room after its lecturer has gone on: the question stands on nobody's screen, answered or not."""
        kept = self.question and replace(self.question, over=True)
        return replace(self, question=kept, version=self.version + 1, moved=now, away=False)

    def packed(self) -> str:
        return json.dumps(asdict(self) | {"schema": SCHEMA})

    @classmethod
    def unpacked(cls, text: str) -> Room:
        """Inverse of `packed`; ValueError for what another version of the lab packed."""
        values = json.loads(text)
        if not isinstance(values, dict) or values.pop("schema", None) != SCHEMA:
            raise ValueError("This room was kept by another version of the lab.")
        if question := values["question"]:
            question["options"], question["model"] = tuple(question["options"]), tuple(question["model"])
            values["question"] = Question(**question)
        return cls(**values | {"score": Score(**values["score"])})


def _known(change: dict[str, Any], names: set[str]) -> None:
    if unknown := sorted(set(change) - names):
        raise ValueError(f"{unknown[0][:40]!r} is unknown; expected {', '.join(sorted(names))}.")


def _is_address(value: Any) -> bool:
    """True for a path and query as a browser writes them: nothing in it leads to another site, or out of a line."""
    found = ADDRESS.fullmatch(value) if isinstance(value, str) and len(value) <= MAX_ADDRESS else None
    if found is None or "//" in found[1]:  # what begins with two is an address of another site, and /.// becomes it
        return False
    return not {".", ".."} & set(found[1].lower().replace("%2e", ".").split("/"))


def _is_text(value: Any, most: int) -> bool:
    """True for a text of bounded length that can be sent: half of a surrogate pair has no encoding."""
    return isinstance(value, str) and len(value) <= most and not any("\ud800" <= char <= "\udfff" for char in value)


def _are_words(values: Any) -> bool:
    return isinstance(values, list) and all(
        isinstance(value, str) and value.strip() and len(value) <= MAX_WORD and value.isprintable() for value in values
    )


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
