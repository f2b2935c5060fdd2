"""Room: the lecturer's current view and the questions to the class. It stores no names."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from viz.classroom.rooms.presenter_commands import check_screen, fresh_commands, newest, with_command
from viz.classroom.rooms.room_question import MAX_VOTES, STEPS, RoomQuestion, Vote, is_text, new_question, unpack_question

LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"  # no letters that look alike
LENGTH = 6  # 31^6 codes: at 60 wrong attempts a minute, finding one of 200 rooms takes weeks; rooms last hours
SILENCE = 6 * 3600  # s without a move after which a room has ended
MAX_ADDRESS = 8000  # characters of a page's address
ADDRESS = re.compile(r"(/[!-\[\]-~]*?)(?:[?#][!-\[\]-~]*)?")  # ASCII without spaces and backslashes; group 1 is the path
SCHEMA = 4  # version of a packed room; changes with its fields
MAX_POINTER = 300
MAX_PAST = 50  # earlier questions of a room


def new_code() -> str:
    return "".join(secrets.choice(LETTERS) for _ in range(LENGTH))


def code_of(typed: str) -> str:
    """Returns typed text as a code: in capitals, without spaces and dashes. Raises ValueError."""
    code = "".join(letter for letter in typed.upper() if letter not in " -")
    if len(code) != LENGTH or set(code) - set(LETTERS):
        raise ValueError(f"A room's code has {LENGTH} letters and digits, such as {LETTERS[-2]}{LETTERS[:5]}. Check it.")
    return code


def new_secret() -> str:
    """Returns a lecturer's secret with 192 random bits."""
    return secrets.token_urlsafe(24)


def sealed(secret: str) -> str:
    """Returns the hash of a secret, which is stored instead of it."""
    return hashlib.sha256(secret.encode()).hexdigest()


@dataclass(frozen=True)
class Score:
    """Number of questions so far, with the class's share of votes and the model's probability on their answers (sums)."""

    questions: int = 0
    people: float = 0.0
    model: float = 0.0

    def to_json(self) -> dict[str, Any]:
        return {"asked": self.questions, "people": self.people, "model": self.model}


@dataclass(frozen=True)
class Room:
    """State of a room. Times are seconds since 1970."""

    code: str
    seal: str  # hash of the lecturer's secret
    address: str  # path and query of the lecturer's page
    moved: float
    version: int = 0  # grows with every change
    pointer: str = ""  # name of the thing under the lecturer's pointer
    blank: bool = False
    question: RoomQuestion | None = None
    past: tuple[str, ...] = ()  # earlier questions, packed
    score: Score = Score()
    heard: float = 0.0  # time of the last sign of the lecturer's browser that was not a move
    away: bool = False  # the lecturer is not connected
    screen: dict[str, Any] | None = None  # private: the state of the lecturer's screen, with notes
    commands: tuple[dict[str, Any], ...] = ()  # private: of the presenter view, for the screen; the newest last

    def opens(self, secret: str) -> bool:
        """Returns True for the lecturer's secret, in constant time."""
        return hmac.compare_digest(self.seal, sealed(secret))

    def ended(self, now: float) -> bool:
        return now - self.moved > SILENCE

    def hears(self, now: float) -> Room:
        """Returns the room after a sign of the lecturer's browser; a new version if the lecturer was away."""
        return replace(self, heard=now, away=False, version=self.version + self.away)

    def is_silent(self, since: float) -> bool:
        """Returns True if a connected lecturer neither moved nor gave a sign since a time."""
        return not self.away and max(self.moved, self.heard) <= since

    def misses(self, since: float) -> Room:
        """Returns the room with its lecturer away; unchanged if the lecturer is not silent."""
        return replace(self, away=True, version=self.version + 1) if self.is_silent(since) else self

    def describe(self, lecturer: bool = False) -> dict[str, Any]:
        """Returns the values that followers and the lecturer receive."""
        values = {"version": self.version, "address": self.address, "pointer": self.pointer, "blank": self.blank}
        values |= {"away": self.away, "since": round(max(self.moved, self.heard)) if self.away else None}
        question = self.question.describe() if self.question and not self.question.over else None
        return values | {"question": question, "score": self.score.to_json()} | ({"lecturer": True} if lecturer else {})

    def describe_for_screen(self, now: float) -> dict[str, Any]:
        """Returns the values that the lecturer's page receives: also the commands that are still fresh."""
        return self.describe() | {"newest": newest(self.commands), "commands": fresh_commands(self.commands, now)}

    def describe_for_presenter(self, now: float) -> dict[str, Any]:
        """Returns the values that a presenter view receives: also the lecturer's screen, with notes."""
        return self.describe() | {"newest": newest(self.commands), "screen": self.screen}

    def takes_screen(self, values: dict[str, Any]) -> Room:
        """Returns the room with a new `state` of the lecturer's screen, in the same version; raises ValueError."""
        return replace(self, screen=check_screen(values.get("state")))

    def takes_command(self, values: dict[str, Any], now: float) -> Room:
        """Returns the room with a command of a presenter view, in the same version; raises ValueError.

        Only the lecturer's page shows that the lecturer is there, so `moved` and `heard` stay.
        """
        _check_names(values, {"action", "stop", "text"})
        return replace(self, commands=with_command(self.commands, values, now))

    def is_private_change(self, before: Room) -> bool:
        """Returns True if only the lecturer's screen and presenter view receive what is new."""
        return self.version == before.version and (self.screen, self.commands) != (before.screen, before.commands)

    def shows(self, change: dict[str, Any], now: float) -> Room:
        """Returns the room with another `address`, `pointer` or `blank`; raises ValueError for anything else.

        A page that repeats what is shown makes no new version.
        """
        _check_names(change, {"address", "pointer", "blank"})
        address, pointer = change.get("address", self.address), change.get("pointer", self.pointer)
        if not _is_address(address):
            raise ValueError(f"address is not the address of a page; expected /… with at most {MAX_ADDRESS} characters.")
        if not is_text(pointer, MAX_POINTER):
            raise ValueError(f"pointer is not a valid text of at most {MAX_POINTER} characters.")
        if not isinstance(change.get("blank", False), bool):
            raise ValueError("blank is neither true nor false.")
        shown = replace(self, address=address, pointer=pointer, blank=change.get("blank", self.blank), away=False)
        return replace(shown, version=self.version + (shown != self), moved=now)

    def asks(self, kind: Any, text: Any, options: Any, model: Any, now: float, columns: Any = 0, again: Any = None) -> Room:
        """Returns the room with a new question, or another round of the question `again`; raises ValueError."""
        number = self.question.number + 1 if self.question else 1
        question = new_question(kind, text, options, model, columns, number, now)
        past = (*self.past, self.question.packed())[-MAX_PAST:] if self.question else self.past
        if again is not None:
            earlier = [unpack_question(each) for each in past]
            first = next((each["first"] for each in earlier if each["number"] == again), None)
            rounds = [each for each in earlier if each["first"] == first]
            if (
                type(again) is not int
                or first is None
                or any((each["kind"], each["text"]) != (kind, text) for each in rounds)
            ):
                raise ValueError("again is not the number of an earlier round of this question.")
            counts = dict(Counter(word for word, *_ in rounds[-1]["votes"]))
            question = replace(question, first=first, round=rounds[-1]["round"] + 1, before=counts)
        return replace(self, question=question, past=past, version=self.version + 1, moved=now, away=False)

    def votes(self, voter: Any, number: Any, word: Any, sure: Any, now: float) -> Room:
        """Returns the room with a vote, which may change until the answer is revealed; raises ValueError."""
        question = self.question
        if type(number) is not int:  # True is no number
            raise ValueError("number is not a whole number; expected the number of the question.")
        if question is None or question.over or question.number != number:
            raise ValueError("This question is over. Wait for the next one.")
        if question.answer is not None:
            raise ValueError("The answer is already shown. Wait for the next question.")
        if not is_text(voter, 64) or len(voter) < 8:
            raise ValueError("The vote has no browser number. Reload the page.")
        word = question.check_word(word)
        if type(sure) is not int or not 1 <= sure <= STEPS:
            raise ValueError(
                f"The vote does not say how sure you are; expected a number from 1 to {STEPS}. Reload the page."
            )
        if voter not in question.votes and len(question.votes) >= MAX_VOTES:
            raise ValueError(f"This question has reached its limit of {MAX_VOTES:,} votes.")
        vote = Vote(word, sure, round(max(0.0, now - question.opened), 1))
        question = replace(question, votes=question.votes | {voter: vote})
        return replace(self, question=question, version=self.version + 1)

    def reveals(self, answer: Any, now: float) -> Room:
        """Returns the room with its question answered and the new score; raises ValueError.

        The score counts each computed question once, at the first answer.
        """
        question = self.question
        if question is None or question.over or question.answer is not None:
            raise ValueError("No question is open. Ask one first.")
        answer = question.check_answer(answer)
        score = self.score
        if question.model and not self._is_known(question.first):
            people = Counter(vote.word for vote in question.votes.values())[answer] / max(1, len(question.votes))
            model = question.model[question.options.index(answer)]
            score = Score(score.questions + 1, score.people + people, score.model + model)
        question = replace(question, answer=answer)
        return replace(self, question=question, score=score, version=self.version + 1, moved=now, away=False)

    def _is_known(self, first: int) -> bool:
        """Returns True if an earlier round of a question was revealed."""
        return any(each["first"] == first and each["answer"] for each in map(unpack_question, self.past))

    def closes(self, now: float) -> Room:
        """Returns the room with its question closed, answered or not."""
        question = self.question and replace(self.question, over=True)
        return replace(self, question=question, version=self.version + 1, moved=now, away=False)

    def packed(self) -> str:
        values = vars(self) | {"question": self.question and vars(self.question), "score": self.score.to_json()}
        return json.dumps(values | {"schema": SCHEMA})

    @classmethod
    def unpacked(cls, text: str) -> Room:
        """Returns the room of a packed text; raises ValueError for another version."""
        values = json.loads(text)
        if not isinstance(values, dict) or values.pop("schema", None) != SCHEMA:
            raise ValueError("This room is from another version of the lab.")
        if question := values["question"]:
            question["options"], question["model"] = tuple(question["options"]), tuple(question["model"])
            question["votes"] = {voter: Vote(*vote) for voter, vote in question["votes"].items()}
            values["question"] = RoomQuestion(**question)
        values |= {"past": tuple(values["past"]), "commands": tuple(values["commands"])}
        return cls(**values | {"score": Score(*(values["score"][name] for name in ("asked", "people", "model")))})


def _check_names(change: dict[str, Any], names: set[str]) -> None:
    if unknown := sorted(set(change) - names):
        raise ValueError(f"{unknown[0][:40]!r} is unknown; expected {', '.join(sorted(names))}.")


def _is_address(value: Any) -> bool:
    """Returns True for a path and query on this site, as a browser writes them."""
    match = ADDRESS.fullmatch(value) if isinstance(value, str) and len(value) <= MAX_ADDRESS else None
    if match is None or "//" in match[1]:  # // leads to another site, and browsers turn /.// into it
        return False
    return not {".", ".."} & set(match[1].lower().replace("%2e", ".").split("/"))
