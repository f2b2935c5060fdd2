"""The lessons, each declared once: a question, where it begins, what to do, and how the lab finds that it is solved."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from model.edits.intervention import Intervention
from model.edits.kinds import Ablate, Positions
from viz import pages
from viz.kit.examples import Reason, hidden
from viz.lessons import lesson_checks
from viz.lessons.lesson_checks import Check, Seen, Verdict
from viz.state.links import link, parse
from viz.state.view import View


@dataclass(frozen=True)
class Lesson:
    """A lesson. `start`: the parameters of the link at which it begins, beside those that follow from the other fields.
    `own`: whether it is about its own sentence alone; `given`: whether a translation may be given."""

    name: str
    question: str
    task: str  # one or two sentences
    page: str
    start: tuple[tuple[str, str], ...]
    check: Check
    checkpoint: str = "en-fr"
    own: bool = True
    given: bool = False
    touch: str = ""  # the task on a screen without keys, where it speaks of keys
    reasons: tuple[Reason, ...] = ()  # what was measured for a reason that the texts give

    @property
    def view(self) -> View:
        """Where it begins. Raises ValueError for a parameter that cannot be read."""
        begun = {**dict(self.start), "lesson": self.name, "checkpoint": self.checkpoint}
        view, faults = parse(begun)
        if faults:
            raise ValueError(f"The lesson {self.name!r} begins nowhere: {faults[0]}")
        return view

    @property
    def href(self) -> str:
        """The link to where it begins, from any page."""
        place = "" if self.page == pages.PAGES[0].name else self.page
        return f"./{place}?{urlencode(link(self.view))}"

    def verdict(self, seen: Seen) -> Verdict:
        """Whether what is shown solves it."""
        if seen.data.loaded.name != self.checkpoint:
            return Verdict(False, f"This lesson is about {self.checkpoint}; {seen.data.loaded.name} is on.")
        if self.own and seen.data.request.source.strip() != self.view.source:
            return Verdict(False, f"This lesson is about “{self.view.source}”: start over.")
        if seen.data.request.target is not None and not self.given:
            return Verdict(False, "A translation is given: let the model translate.")
        return self.check(seen)


def _starts(text: str, **more: str) -> tuple[tuple[str, str], ...]:
    return (("text", text), *more.items())


CAT = "The black cat is sleeping on the old chair."
RED = "She bought a red car."
TIRED = "The dog didn't cross the street because it was too tired."
TABLE = "We sold the table because it was too small."

LESSONS = (  # in the order in which they are taken
    Lesson(
        "unsure",
        "Where is it least sure of itself?",
        "Press → and watch the probabilities: stop at the step whose token is the least likely.",
        "translate",
        _starts("The children are eating an apple."),
        lesson_checks.least_sure,
        touch="Tap Play and watch the probabilities: stop at the step whose token is the least likely.",
    ),
    Lesson(
        "formula",
        "Where do scores become weights?",
        "Walk through the stages of one head, to the one that turns scores into weights that add up to 1.",
        "inside",
        _starts(CAT, part="stages", kind="encoder", layer="1", head="1", token="3", stage="1"),
        lesson_checks.at_softmax,
    ),
    Lesson(
        "heads",
        "Who reads “car” to write “une”?",
        "A car is feminine in French, so it is “une”, not “un”, and “voiture” is not written yet. Find a head of "
        "cross-attention that puts most of its weight on “car” at the step that writes “une”.",
        "heads",
        _starts(RED, kind="cross", layer="3", head="2", step="4"),
        lesson_checks.reads("car", "une"),
        reasons=(Reason(hidden(5), "une", 0.93, 0.08),),
    ),
    Lesson(
        "order",
        "Does it need to know the order?",
        "With Add edit, switch the positions of the source off. Who sleeps on what now?",
        "what-if",
        _starts(CAT, mode="again"),
        lesson_checks.changes(
            Positions, lambda edit: edit.side == "source", "one edit: the positions of the source, off, shuffled or shifted"
        ),
    ),
    Lesson(
        "mask",
        "What does the causal mask hide?",
        "Switch the causal mask off: the decoder sees words that it was never meant to see yet. How likely does it find "
        "the same translation now?",
        "translate",
        _starts(CAT),
        lesson_checks.less_likely(Intervention(causal_mask=False)),
    ),
    Lesson(
        "beam",
        "Can a wider search find a better translation?",
        "Token by token it writes “elle”, in a near-tie with “il”. Under Decoding choose Beam: is there a likelier "
        "translation?",
        "translate",
        _starts(TIRED, show="decoding"),
        lesson_checks.beats_greedy,
    ),
    Lesson(
        "ablation",
        "Which heads can it not spare?",
        "With Add edit, switch off all heads of one layer, then of another instead, until the translation changes. Which "
        "word gives way? Begin with cross-attention.",
        "what-if",
        _starts(CAT, mode="again"),
        lesson_checks.changes(
            Ablate,
            lambda edit: edit.place.layer is not None and edit.place.head is None,
            "one edit: all heads of one layer off",
        ),
    ),
    Lesson(
        "cell",
        "Which cell does “elle” need?",
        "The model writes “elle” for “it”. Make it write “il” by blocking a single cell.",
        "what-if",
        _starts(TABLE, mode="again", kind="cross", step="8"),
        lesson_checks.word_becomes("elle", "il"),
        reasons=(Reason("block_cross_8-6", "elle", 0.59, 0.09),),
    ),
    Lesson(
        "why",
        "Which head speaks most for “elle”?",
        "The difference between “elle” and “il” is a sum of parts. Find the head that speaks most for “elle”, and click it: "
        "what becomes of the difference without it?",
        "why",
        _starts(TABLE, step="8", head="mean"),
        lesson_checks.speaks_most("elle", "il"),
    ),
    Lesson(
        "scale",
        "Why divide by √dₖ?",
        "Leave the division out in the whole model, with the button under the table: what becomes of the largest weight?",
        "inside",
        _starts(CAT, part="scale", kind="encoder", layer="1", head="mean"),
        lesson_checks.sharper,
    ),
    Lesson(
        "peek",
        "Can a decoder cheat?",
        "This model was trained without the causal mask: its decoder saw the word that it had to guess. Under Yours, "
        "give it a French sentence that means something else. How likely does it find that?",
        "translate",
        _starts(RED, show="decoding", decode="yours"),
        lesson_checks.believes_anything,
        checkpoint="en-fr-peek",
        given=True,
    ),
    Lesson(
        "fails",
        "Where does it fail?",
        "It has read simple sentences only. Type one with a word that it can hardly have met, an animal from far away "
        "perhaps.",
        "translate",
        _starts("I saw a cat."),
        lesson_checks.hardly_known,
        own=False,
    ),
)


def find(name: str) -> Lesson | None:
    """The lesson of a name, or None."""
    return next((lesson for lesson in LESSONS if lesson.name == name), None)
