"""Everything that depends on a language: codes, example texts, sentences to watch during training, probes.

A language is one record at the end of this file. Texts of a language pair are in the record of the source language, by the
name of the target language.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..io.folders import SHIPPED

NamedTexts = tuple[tuple[str, str], ...]  # name and text


@dataclass(frozen=True)
class Language:
    """The project's texts in a language; empty fields are not offered."""

    name: str
    first_sentence: str = ""  # the lab opens with it
    first_prompt: str = ""  # the same for a language model
    with_blanks: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # name: text, and a second text or ""
    repeated_token_example: str = ""  # a sentence in which a token occurs twice
    analogy: tuple[str, str, str, str] | tuple[()] = ()  # the first minus the second plus the third gives the fourth
    experiments: Mapping[str, str] = field(default_factory=dict)  # name of the experiment: its sentence
    other_sentence: str = ""  # on another subject than the experiments
    swapped_roles: tuple[str, str] | tuple[()] = ()  # agent and patient are swapped
    prompts: Path | None = None  # prompts for a language model
    classifier_texts: Path | None = None  # texts for a classifier
    examples: Mapping[str, Path] = field(default_factory=dict)  # language of the translation: sentences that teach
    probes: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)  # the same: sentences with right translations
    # Sentences to watch during training where no probe file is given.
    watched_prompts: NamedTexts = ()
    watched_blanks: NamedTexts = ()
    watched_judged: NamedTexts = ()
    address: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # a way to say you: its words

    @property
    def code(self) -> str:
        """The code in ISO 639-1."""
        return CODES[self.name]


# Codes in ISO 639-1 and 639-3, as in names of model folders, and the English name.
NAMES = (
    "af afr Afrikaans|sq sqi Albanian|ar ara Arabic|hy hye Armenian|az aze Azerbaijani|eu eus Basque|be bel Belarusian|"
    "bn ben Bengali|bg bul Bulgarian|ca cat Catalan|zh zho Chinese|hr hrv Croatian|cs ces Czech|da dan Danish|nl nld Dutch|"
    "en eng English|eo epo Esperanto|et est Estonian|fi fin Finnish|fr fra French|gl glg Galician|ka kat Georgian|"
    "de deu German|el ell Greek|ht hat Haitian|ha hau Hausa|he heb Hebrew|hi hin Hindi|hu hun Hungarian|is isl Icelandic|"
    "ig ibo Igbo|id ind Indonesian|ga gle Irish|it ita Italian|ja jpn Japanese|ko kor Korean|la lat Latin|lv lav Latvian|"
    "lt lit Lithuanian|mk mkd Macedonian|ms msa Malay|ml mal Malayalam|mt mlt Maltese|mr mar Marathi|no nor Norwegian|"
    "fa fas Persian|pl pol Polish|pt por Portuguese|ro ron Romanian|ru rus Russian|sr srp Serbian|sk slk Slovak|"
    "sl slv Slovenian|es spa Spanish|sw swa Swahili|sv swe Swedish|tl tgl Tagalog|th tha Thai|tr tur Turkish|"
    "uk ukr Ukrainian|ur urd Urdu|vi vie Vietnamese|cy cym Welsh|xh xho Xhosa|yo yor Yoruba|zu zul Zulu|jap Japanese"
)
BY_CODE = {code: line.split()[-1] for line in NAMES.split("|") for code in line.split()[:-1]}
CODES = {name: code for code, name in reversed(BY_CODE.items()) if len(code) == 2}

ENGLISH = Language(
    "English",
    first_sentence="The dog didn't eat the apple because it was too hard.",
    first_prompt="Once upon a time there was a",
    with_blanks={
        "one blank": ("The old man shook his ___ and said nothing.", ""),
        "two blanks": ("He shook his ___ and shut the ___ behind him.", ""),
        "does it follow?": ("There was a knock at the door.", "The old woman opened the ___ and looked out."),
    },
    repeated_token_example="The dog sees the dog.",
    analogy=("king", "man", "woman", "queen"),
    experiments={
        "peek": "My dog is afraid of my cat.",
        "padding": "I like this house because it is small.",
        "order": "The dog likes the girl.",
        "scaling": "The dog didn't cross the street because it was too shy.",
        "align": "She bought a red car.",
        "skip": "The children are playing in the garden.",
    },
    other_sentence="She is reading a book in the garden.",
    swapped_roles=("The dog likes the girl.", "The girl likes the dog."),
    prompts=SHIPPED / "prompts.txt",
    classifier_texts=SHIPPED / "judged.txt",
    examples={"French": SHIPPED / "examples.txt"},
    probes={"French": (SHIPPED / "probes.txt", SHIPPED / "probes-more.txt")},
    watched_prompts=(
        ("king", "Once upon a time there was a king who had three sons."),
        ("door", "He opened the door and went into the room."),
        ("river", "They walked along the river until the sun went down."),
        ("mother", "The little girl said to her mother that she was hungry."),
        ("letter", "She sat down at the table and wrote a long letter."),
        ("night", "It was a dark night and the wind was cold."),
        ("old man", "The old man looked at the young man and smiled."),
        ("horse", "He got on his horse and rode away as fast as he could."),
        ("question", "What do you want to do now?"),
        ("answer", "I do not know, said the boy."),
        ("not only", "There was not a single light in the house."),
        ("list", "He had a dog, a cat, and a bird, and the dog, the cat, and the bird were friends."),
    ),
    watched_blanks=(
        ("door", "He opened the [door] and went into the room."),
        ("king", "The king and the [queen] lived in a great castle."),
        ("her", "The girl took off [her] hat and sat down."),
        ("was", "It [was] a dark night and the wind was cold."),
        ("of", "She drank a cup [of] tea and went to bed."),
        ("and", "The old man [and] his wife had two sons."),
        ("not", "I do [not] know what you want."),
        ("horse", "He got on his [horse] and rode away."),
        ("to", "They wanted [to] go home before night."),
        ("him", "The boy called his dog and the dog came to [him]."),
        ("comma", "Yes[,] said the man, you are right."),
        ("were", "The children [were] playing in the garden."),
    ),
    watched_judged=(
        ("warm", "A warm and funny film that I enjoyed from beginning to end."),
        ("dull", "A dull and empty story that goes nowhere."),
        ("not bad", "This is not a bad film at all."),
        ("not good", "This is not a good film."),
        ("actors", "The actors are wonderful, but the story is a mess."),
        ("story", "The story is a mess, but the actors are wonderful."),
        ("never", "It never bores you for a moment."),
        ("bores", "It bores you from the first moment."),
        ("too long", "Far too long and far too loud."),
        ("tender", "Tender, clever and beautifully made."),
        ("waste", "A waste of time and of good actors."),
        ("surprise", "What a lovely surprise!"),
    ),
)
FRENCH = Language(
    "French",
    # Words in any case; t' stands before a vowel. *Le tien* and *le vôtre* are left out, because *tiens* is a verb as well.
    # An imperative alone, as *Viens !*, says neither. *Il s'est tu* and *sur ce ton* count, because the word alone does
    # not tell them apart.
    address={"tu": ("tu", "te", "t'", "toi", "ton", "ta", "tes"), "vous": ("vous", "votre", "vos")},
)
LANGUAGES = {known.name: known for known in (ENGLISH, FRENCH)}
PAIR = (ENGLISH.name, FRENCH.name)  # source and target of a translation model by default


def record_of(name: str | None) -> Language:
    """Returns the record of a language, an empty one where the project has no texts in it.

    None stands for a checkpoint that does not name its source language and counts as the first of `PAIR`.
    """
    return LANGUAGES[PAIR[0]] if name is None else LANGUAGES.get(name, Language(name))


def watched_texts(name: str, field: str) -> NamedTexts:
    """Returns a `watched_` field of a language, or that of the first of `PAIR` where it is empty."""
    return getattr(record_of(name), field) or getattr(record_of(None), field)


def code_of(name: str) -> str:
    """Returns the code of a language's English name, or an empty text."""
    return CODES.get(name, "")
