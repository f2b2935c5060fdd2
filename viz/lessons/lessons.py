"""Lessons, each declared once: question, start, task and check. Also the strip of the current lesson.

Lesson 0 has no check: the page Lessons shows it, in `four_pictures.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlencode

import streamlit as st

from model.edits.intervention import Intervention
from model.edits.kinds import Ablate, Positions
from model.text.languages import ENGLISH
from viz import page_context, pages
from viz.examples import Reason, hidden
from viz.kit import mount
from viz.lessons import lesson_checks, training_lessons
from viz.lessons.lesson_checks import Check, Seen, Verdict
from viz.state import navigation, session
from viz.state.fields import fields
from viz.state.links import link, parse
from viz.state.view import OF_A_LECTURE, View


@dataclass(frozen=True)
class Lesson:
    """A lesson. `start` holds link parameters of its start that do not follow from other fields.

    `own`: only its own sentence counts. `given`: a given translation is allowed. `trains`: the check reads the trainings of
    the visit, whatever is shown.
    """

    name: str
    question: str
    task: str  # one or two sentences
    page: str
    start: tuple[tuple[str, str], ...]
    check: Check
    checkpoint: str = "en-fr"
    own: bool = True
    given: bool = False
    trains: bool = False
    touch: str = ""  # the task on a screen without keys, where it speaks of keys
    reasons: tuple[Reason, ...] = ()  # what was measured for a reason that the texts give

    @cached_property
    def view(self) -> View:
        """Returns the view at its start. Raises ValueError for an invalid parameter."""
        view, faults = parse({**dict(self.start), "lesson": self.name, "checkpoint": self.checkpoint})
        if faults:
            raise ValueError(f"The start of lesson {self.name!r} is invalid: {faults[0]}")
        return view

    @cached_property
    def href(self) -> str:
        """Returns the link to its start, from any page."""
        place = "" if self.page == pages.PAGES[0].name else self.page
        return f"./{place}?{urlencode(link(self.view))}"

    def verdict(self, seen: Seen) -> Verdict:
        """Returns the verdict on the current view."""
        if self.trains:
            return self.check(seen)
        if seen.data.loaded.name != self.checkpoint:
            return Verdict(False, f"This lesson needs {self.checkpoint}. The current checkpoint is {seen.data.loaded.name}.")
        if self.own and seen.data.request.source.strip() != self.view.source:
            return Verdict(False, f"This lesson needs “{self.view.source}”. Start over.")
        if seen.data.request.target is not None and not self.given:
            return Verdict(False, "The translation is given. Let the model translate.")
        return self.check(seen)


def _starts(text: str, **more: str) -> tuple[tuple[str, str], ...]:
    return (("text", text), *more.items())


def _trains(task: str, **more: str) -> tuple[tuple[str, str], ...]:
    return (("training", "train_one"), ("train_task", task), *more.items())


CAT = "The black cat is sleeping on the old chair."
RED = "She bought a red car."
APPLE = "The dog didn't eat the apple because it was too hard."
BOX = "The cat didn't fit in the box because it was too small."

ATTENTION = "attention"  # name of lesson 0 in links
LESSONS = (  # in the order in which they are taken
    Lesson(
        "unsure",
        "Where is the model least sure?",
        "Press → and watch the probabilities. Stop at the step with the lowest one.",
        "translate",
        _starts("The children are eating an apple.", step="1"),
        lesson_checks.least_sure,
        touch="Tap Play and watch the probabilities. Stop at the step with the lowest one.",
    ),
    Lesson(
        "formula",
        "Where do scores become weights?",
        "Go through the stages of one head. Find the stage that turns scores into weights with sum 1.",
        "inside",
        _starts(CAT, part="stages", kind="encoder", layer="1", head="1", token="3", stage="1"),
        lesson_checks.at_softmax,
    ),
    Lesson(
        "heads",
        "Who reads “car” to write “une”?",
        "“Voiture” is feminine, so the model writes “une” before it. Find a head of cross-attention that looks "
        "mostly at “car” when it writes “une”.",
        "heads",
        _starts(RED, kind="cross", layer="3", head="2", step="4"),
        lesson_checks.reads("car", "une"),
        reasons=(Reason(hidden(5), "une", 0.91, 0.11),),
    ),
    Lesson(
        "shift",
        "Read or written?",
        "A row of cross-attention reads one word and writes the next. Most heads align with the word written. Find the head "
        "whose alignment error rate is lower for the word read.",
        "heads",
        _starts(RED, over="corpus", kind="cross", layer="3", head="2"),
        lesson_checks.aligns_with_read,
        own=False,
    ),
    Lesson(
        "order",
        "Does word order matter?",
        "With Add edit, switch off the positions of the source. Who likes whom now?",
        "what-if",
        _starts(ENGLISH.swapped_roles[0], mode="again"),
        lesson_checks.changes(
            Positions, lambda edit: edit.side == "source", "one edit of the source positions (off, shuffled or shifted)"
        ),
    ),
    Lesson(
        "mask",
        "What does the causal mask hide?",
        "Switch off the causal mask, so that the decoder sees later words. How likely is the same translation now?",
        "translate",
        _starts(CAT),
        lesson_checks.less_likely(Intervention(causal_mask=False)),
    ),
    Lesson(
        "beam",
        "Can a wider search translate better?",
        "Greedy search begins with “Le dune”, a wrong article. Choose Beam under Decoding. Is its translation likelier?",
        "translate",
        _starts("The dune is behind the house.", show="decoding"),
        lesson_checks.beats_greedy,
    ),
    Lesson(
        "ablation",
        "Which heads matter?",
        "With Add edit, switch off all heads of one layer. Try other layers until the translation changes. "
        "Start with cross-attention.",
        "what-if",
        _starts(BOX, mode="again"),
        lesson_checks.changes(
            Ablate,
            lambda edit: edit.place.layer is not None and edit.place.head is None,
            "one edit that switches off all heads of one layer",
        ),
    ),
    Lesson(
        "cell",
        "Which link does “elle” need?",
        "The picture shows the links that carry “elle”. Predict which cut makes the model write “il”. Then click that link.",
        "why",
        _starts(APPLE, mode="again", step="11"),
        lesson_checks.word_becomes("elle", "il"),
        reasons=(Reason("block_cross_11-12", "elle", 0.86, 0.02),),
    ),
    Lesson(
        "why",
        "Which head favours “elle” most?",
        "The logit difference of “elle” and “il” is a sum of parts. Click the head with the largest part for “elle”. "
        "How large is the difference without it?",
        "why",
        _starts(APPLE, step="11", head="mean", why="sum"),
        lesson_checks.speaks_most("elle", "il"),
    ),
    Lesson(
        "scale",
        "Why divide by √dₖ?",
        "Click the button under the table to remove the division. How does the largest weight change?",
        "inside",
        _starts(CAT, part="scale", kind="encoder", layer="1", head="mean"),
        lesson_checks.sharper,
    ),
    Lesson(
        "peek",
        "Can a decoder cheat?",
        "This model was trained without the causal mask, so its decoder saw the answers. Under Yours, type a French "
        "sentence with another meaning. How likely is it to the model?",
        "translate",
        _starts(RED, show="decoding", decode="yours"),
        lesson_checks.believes_anything,
        checkpoint="en-fr-peek",
        given=True,
    ),
    Lesson(
        "fails",
        "Where does the model fail?",
        "The model has read only simple sentences. Type one with a rare word, such as an exotic animal.",
        "translate",
        _starts("I saw a cat."),
        lesson_checks.hardly_known,
        own=False,
    ),
    Lesson(
        "mirror",
        "How does it reverse?",
        "Predict, then train Reverse. Watch where each row of the map looks while the answers become right.",
        "training",
        _trains("reverse"),
        training_lessons.looks_back,
        trains=True,
    ),
    Lesson(
        "unordered",
        "What needs positions?",
        "Train Copy with “No positions”, then Sort digits with “No positions”. Which of them works?",
        "training",
        _trains("copy", train_positions="off"),
        training_lessons.order_is_needed,
        trains=True,
    ),
    Lesson(
        "cheating",
        "Why mask in training?",
        "Train Reverse with “No causal mask”. Compare the loss with the new answers.",
        "training",
        _trains("reverse", train_causal="off"),
        training_lessons.cheats,
        trains=True,
    ),
    Lesson(
        "carry",
        "Where is the carry?",
        "Train Add two numbers. The first digit is the carry: where does its row look?",
        "training",
        _trains("add", train_d="64", train_h="4"),
        training_lessons.reads_the_carry,
        trains=True,
    ),
    Lesson(
        "dates",
        "Can it read dates?",
        "Predict, then train Dates to ISO form. It reads five forms and writes one.",
        "training",
        _trains("dates"),
        training_lessons.learns("dates", "Dates to ISO form"),
        trains=True,
    ),
)


def find(name: str) -> Lesson | None:
    """Returns the lesson of a name, or None."""
    return next((lesson for lesson in LESSONS if lesson.name == name), None)


KEEPS = ("device", *(name for name in OF_A_LECTURE if name != "large"))  # fields that a lesson leaves as they are

_COMPONENT = mount.Component(__file__, '<section class="lesson-strip"></section>', name="lesson_strip")


def begin(name: str) -> None:
    """Goes to where a lesson begins; lesson 0 begins on the page Lessons. For callbacks.

    Raises ValueError for an unknown name.
    """
    if name == ATTENTION:
        session.change(lesson=name)
        return
    lesson = find(name)
    if lesson is None:
        raise ValueError(f"There is no lesson {name!r}; expected one of {', '.join(each.name for each in LESSONS)}.")
    start = lesson.view
    session.change(**{field: getattr(start, field) for field in fields(View) if field not in KEEPS})
    if navigation.current_page() != lesson.page:
        navigation.go_to(lesson.page)


def lesson_strip() -> None:
    """Mounts the strip at the foot of any page while a lesson is on, once the page is drawn."""
    view = session.current_view()
    if view.lesson in (None, ATTENTION):
        return
    lesson = find(view.lesson)
    with st.container(key="lesson"):
        if lesson is None:
            _mount(_unknown(view.lesson))
        else:
            _mount(describe(lesson, judge(lesson, view)))


def judge(lesson: Lesson, view: View) -> Verdict:
    """Returns whether the current view solves the lesson."""
    try:
        data = page_context.build(view)
    except ValueError:
        return Verdict(False, "There is no result yet.")
    return lesson.verdict(Seen(navigation.current_page(), data))


def describe(lesson: Lesson, verdict: Verdict) -> dict[str, object]:
    """Returns the script's values: the lesson, its neighbours and the verdict."""
    number = LESSONS.index(lesson)
    around = (LESSONS[number - 1] if number else None, *LESSONS[number + 1 : number + 2], None)
    previous, following = ({"name": e.name, "question": e.question, "href": e.href} if e else None for e in around[:2])
    other = session.current_view().checkpoint != lesson.checkpoint and not lesson.trains
    return {
        "name": lesson.name,
        "place": f"Lesson {number + 1} of {len(LESSONS)}",
        "question": lesson.question,
        "task": lesson.task,
        "touch": lesson.touch,
        "solved": verdict.solved,
        "said": verdict.said,
        "previous": previous,
        "next": following,
        "again": True,
        "large": session.current_view().lecture,
        "other": f"Switch to {lesson.checkpoint}" if other else "",
    }


def _unknown(name: str) -> dict[str, object]:
    shown = name if len(name) <= 40 else name[:40] + "..."
    ways = {"previous": None, "next": None, "again": False, "other": ""}
    said = {"question": f"There is no lesson “{shown}”. The page Lessons lists all.", "task": "", "said": ""}
    return {"name": "", "place": "", "solved": False} | said | ways


def _mount(data: dict[str, object]) -> None:
    lesson = find(str(data["name"]))
    events = {"begin": (mount.one_of([each.name for each in LESSONS]), begin), "leave": (mount.pressed, leave)}
    if lesson is not None:
        events["again"] = (mount.pressed, lambda: begin(lesson.name))
        events["other"] = (mount.pressed, lambda: session.change(checkpoint=lesson.checkpoint))
    _COMPONENT.mount("lesson_strip", data, events)


def leave() -> None:
    """Ends the lesson, and leaves all else as it is; called from callbacks."""
    session.change(lesson=None)
