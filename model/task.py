"""The tasks of models and the words that pages and notes use for them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from .config import FAMILIES

_SCORE_SUFFIXES = {  # the scored tokens in words, by `Task.scored_tokens`
    "target": "",
    "continuation": " of the continuation",
    "all": " of all tokens",
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
    action_label: str  # on the button next to the text
    input_label: str  # label of the input
    input_noun: str  # noun for the input
    output_noun: str  # noun for the output
    progress_label: str  # progress label
    run_label: str  # on the button that runs the model
    unavailable_reason: str = ""  # reason why pages for a source and a target are not available
    is_classifier: bool = False  # the model gives the full text one label
    token_noun: str = "word"  # noun for what the model predicts, in questions and invitations
    part_noun: str = "word"  # noun for what stands between two spaces of a text

    @property
    def has_decoder(self) -> bool:
        """True where the model generates tokens one after the other."""
        return "decoder" in FAMILIES[self.family]

    def scored_tokens(self, has_blanks: bool = False, has_prompt: bool = True) -> str:
        """Returns the name of the scored tokens: `target`, `continuation`, `all`, `blanks`, `text` or `label`.

        A language model is scored on the continuation alone. The prompt is given, not generated: an edit may make it more
        probable and the generated text less, and the sum of both would hide that.
        """
        if self.is_classifier:
            return "label"
        if self.has_decoder:
            return "target" if self.has_encoder else "continuation" if has_prompt else "all"
        return "blanks" if has_blanks else "text"

    def score_label(self, has_blanks: bool = False, has_prompt: bool = True) -> str:
        """Returns the description of the summed log-probability of the `scored_tokens`."""
        return f"log-probability{_SCORE_SUFFIXES[self.scored_tokens(has_blanks, has_prompt)]}"

    @property
    def can_split(self) -> bool:
        """True where a text can be split into the sentences of one batch."""
        return self.has_encoder and self.has_decoder

    @property
    def has_encoder(self) -> bool:
        """True where an encoder reads the text."""
        return "encoder" in FAMILIES[self.family]


TASKS: dict[str, Task] = {
    task.family: task
    for task in (
        Task(
            "encoder-decoder",
            "Translate",
            "What does it say, and why this word?",
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
            "How does it go on, and why so?",
            "Continue",
            "Text to go on with",
            "text",
            "continuation",
            "Going on with the text",
            "Let the model go on",
            "this model has no encoder: it continues one text",
        ),
        Task(
            "encoder-only",
            "Fill in",
            "Which word fills the blank, and why?",
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


TRANSLATION = TASKS["encoder-decoder"]
CLASSIFICATION = Task(  # an encoder whose config has labels
    "encoder-only",
    "Judge",
    "Which label does it get, and which words decide?",
    "Judge",
    "Text to judge",
    "text",
    "label",
    "Reading",
    "Let the model judge",
    "this model has no decoder: it reads a text and gives it a label",
    is_classifier=True,
)

SYMBOLS = Task(  # an encoder-decoder whose texts are no sentences of a language: `LANGUAGES_OF_SYMBOLS`
    "encoder-decoder",
    "Write",
    "What does it write, and why this symbol?",
    "Write",
    "Input",
    "input",
    "output",
    "Writing",
    "Let the model write",
    token_noun="symbol",
    part_noun="part",
)
LANGUAGES_OF_SYMBOLS = ("Given", "Written")  # in the checkpoints of `train-small`


def task_of_family(family: str, classes: Collection[str] = (), languages: Sequence[str | None] = ()) -> Task:
    """Returns the task of a family with these labels and languages, if any. Raises KeyError for an unknown family."""
    task = CLASSIFICATION if classes else TASKS[family]
    return SYMBOLS if task is TRANSLATION and tuple(languages) == LANGUAGES_OF_SYMBOLS else task


def task_of_kinds(kinds: Collection[str], classes: Collection[str] = (), languages: Sequence[str] = ()) -> Task:
    """Returns the task of a model with these kinds of attention, labels and languages.

    Raises ValueError where no family has exactly these kinds.
    """
    for family, family_kinds in FAMILIES.items():
        if set(family_kinds) == set(kinds):
            return task_of_family(family, classes, languages)
    raise ValueError(f"no family has the kinds of attention {', '.join(kinds)}; expected those of {', '.join(FAMILIES)}")
