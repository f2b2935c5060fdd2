"""The tasks of models and the words that pages and notes use for them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from .config import FAMILIES

_SCORED = {  # the scored tokens in words, by `Task.scored_tokens`
    "target": "",
    "continuation": " of the continuation",
    "blanks": " of what was filled in",
    "text": " of the text’s tokens (without the ends)",
    "label": " of the label",
}


@dataclass(frozen=True)
class Task:
    """The words for the task of a model. The first page has its title."""

    family: str  # one of `FAMILIES`
    title: str  # of the first page
    question: str  # that the page answers
    line: str  # the content of the page, in one line
    keys: str  # effect of the arrow keys
    verb: str  # on the button next to the text
    box: str  # label of the input
    text: str  # noun for the input
    made: str  # noun for the output
    doing: str  # progress label
    own: str  # on the button that runs the model
    needs: str = ""  # reason why pages for a source and a target are not available
    judges: bool = False  # the model gives the full text one label

    @property
    def writes(self) -> bool:
        """True where the model generates tokens one after the other."""
        return "decoder" in FAMILIES[self.family]

    def scored_tokens(self, has_blanks: bool = False) -> str:
        """Returns the name of the scored tokens: `target`, `continuation`, `blanks`, `text` or `label`.

        A language model is scored on the continuation alone. The prompt is given, not generated: an edit may make it more
        probable and the generated text less, and the sum of both would hide that.
        """
        if self.judges:
            return "label"
        if self.writes:
            return "target" if self.reads else "continuation"
        return "blanks" if has_blanks else "text"

    def scored(self, has_blanks: bool = False) -> str:
        """Returns the description of the summed log-probability of the `scored_tokens`."""
        return f"log-probability{_SCORED[self.scored_tokens(has_blanks)]}"

    @property
    def splits(self) -> bool:
        """True where a text can be split into the sentences of one batch."""
        return self.reads and self.writes

    @property
    def reads(self) -> bool:
        """True where an encoder reads the text."""
        return "encoder" in FAMILIES[self.family]


TASKS: dict[str, Task] = {
    task.family: task
    for task in (
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
    """Returns the task of a family with these labels, if any. Raises KeyError for an unknown family."""
    return JUDGES if classes else TASKS[family]


def task_of(kinds: Collection[str], classes: Collection[str] = ()) -> Task:
    """Returns the task of a model with these kinds of attention and labels.

    Raises ValueError where no family has exactly these kinds.
    """
    for family, own in FAMILIES.items():
        if set(own) == set(kinds):
            return task_in(family, classes)
    raise ValueError(f"no family has the kinds of attention {', '.join(kinds)}; expected those of {', '.join(FAMILIES)}")
