"""What a model does with a text, and the words for it: declared once, for pages and notes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from .config import FAMILIES

_SCORED = {  # whose log-probability it is, in words, by `Task.scored_tokens`
    "target": "",
    "continuation": " of the continuation",
    "blanks": " of what was filled in",
    "text": " of the text’s tokens (without the ends)",
    "label": " of the label",
}


@dataclass(frozen=True)
class Task:
    """The words for what a model does. The first page is called after it."""

    family: str  # one of `FAMILIES`
    title: str  # of the first page
    question: str  # that it answers
    line: str  # what is to be seen there, in one line
    keys: str  # what the arrow keys do there
    verb: str  # on the button beside the text
    box: str  # what is to be typed
    text: str  # what that is, in a word
    made: str  # what comes of it, in a word
    doing: str  # while it is computed
    own: str  # on the button that lets the model do it
    needs: str = ""  # why what is made for two texts is not there: the model has one
    judges: bool = False  # it gives the whole text one of its labels

    @property
    def writes(self) -> bool:
        """Whether it chooses tokens one after the other."""
        return "decoder" in FAMILIES[self.family]

    def scored_tokens(self, has_blanks: bool = False) -> str:
        """Names the tokens whose log-probabilities are summed: `target`, `continuation`, `blanks`, `text` or `label`.

        A language model is scored on the continuation alone. The prompt is given, not generated: an edit may make it more
        probable and the generated text less, and the sum of both would hide that.
        """
        if self.judges:
            return "label"
        if self.writes:
            return "target" if self.reads else "continuation"
        return "blanks" if has_blanks else "text"

    def scored(self, has_blanks: bool = False) -> str:
        """Names the sum over the `scored_tokens`, in words."""
        return f"log-probability{_SCORED[self.scored_tokens(has_blanks)]}"

    @property
    def splits(self) -> bool:
        """Whether a text may be read sentence by sentence, as one batch."""
        return self.reads and self.writes

    @property
    def reads(self) -> bool:
        """Whether an encoder reads the text."""
        return "encoder" in FAMILIES[self.family]


TASKS: dict[str, Task] = {
    made.family: made
    for made in (
        Task(
            "encoder-decoder",
            "Translate",
            "What does it say, and why this word?",
            "A real Transformer that you can watch at work, one token at a time:",
            "to follow it.",
            "Translate",
            "Sentence to translate",
            "sentence",
            "translation",
            "Translating",
            "Let the model translate",
        ),
        Task(
            "decoder-only",
            "Continue",
            "How does it go on, and why with this word?",
            "A real Transformer that goes on with a text, one token at a time:",
            "to follow it.",
            "Continue",
            "Text to go on with",
            "text",
            "continuation",
            "Going on with the text",
            "Let the model go on",
            "this model has no encoder: it goes on with one text",
        ),
        Task(
            "encoder-only",
            "Fill in",
            "What stands in the blank, and why this word?",
            "A real Transformer that reads a whole sentence at once:",
            "to go from place to place.",
            "Fill in",
            "Sentence with a blank",
            "sentence",
            "sentence",
            "Reading",
            "Let the model fill it in",
            "this model has no decoder: it reads a sentence and writes none",
        ),
    )
}


TRANSLATES = TASKS["encoder-decoder"]
JUDGES = Task(  # an encoder whose config has labels
    "encoder-only",
    "Judge",
    "Which label does it get, and which words decide?",
    "A real Transformer that reads a whole text and gives it one label:",
    "to go from word to word.",
    "Judge",
    "Text to judge",
    "text",
    "label",
    "Reading",
    "Let the model judge",
    "this model has no decoder: it reads a text and gives it a label",
    judges=True,
)


def task_in(family: str, classes: Collection[str] = ()) -> Task:
    """The task of a model of a family with these labels, if it has any; KeyError for a family that there is not."""
    return JUDGES if classes else TASKS[family]


def task_of(kinds: Collection[str], classes: Collection[str] = ()) -> Task:
    """The task of a model by the kinds of attention and the labels that it has; ValueError where no family has just these
    kinds."""
    for family, own in FAMILIES.items():
        if set(own) == set(kinds):
            return task_in(family, classes)
    raise ValueError(f"no family has the kinds of attention {', '.join(kinds)}; expected those of {', '.join(FAMILIES)}")
