"""Generation of the pairs: training data and contrast files."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from .lexicon import Lexicon, Noun
from .realization import realize_english, realize_french
from .sentence_frames import SentenceFrame, Words
from .word_choice import WordChoice

PRONOUN_SHARE = 0.5  # of the training pairs
SPLITS = ("seen", "unseen_words", "unseen_frames")
ATTEMPTS = 60


@dataclass(frozen=True)
class ContrastPair:
    """A sentence with its right translation, and with one in which the pronoun agrees with the other noun."""

    english: str
    right: str
    wrong: str
    noun: str
    other: str
    split: str

    def cells(self) -> tuple[str, ...]:
        return (self.english, self.right, self.wrong, self.noun, self.other, self.split)


def normalize(text: str) -> str:
    """Returns the text in lower case, without punctuation, to compare sentences."""
    return " ".join(re.findall(r"\w+", text.lower().replace("’", "'").replace("'", "")))


def contrast_rows(
    lexicon: Lexicon, frames: list[SentenceFrame], split: str, count: int, generator: random.Random, excluded: set[str]
) -> list[ContrastPair]:
    """Returns rows of a split, balanced over the gender of the right noun and over its place; fewer if words run out."""
    if split == "unseen_frames":
        chosen = [frame for frame in frames if frame.kind != "plain" and frame.is_held_out]
    else:
        chosen = [frame for frame in frames if frame.kind != "plain" and not frame.is_held_out and frame.second]
    choice, rows, known = WordChoice(lexicon, generator), [], set(excluded)
    for number in range(count):
        is_first, is_feminine = number % 2 == 0, number // 2 % 2 == 0
        for _ in range(ATTEMPTS * 4):
            frame = generator.choice(chosen)
            words = choice.draw(frame, split == "unseen_words", is_first, is_feminine)
            if words is None:
                continue
            row = _contrast_row(frame, words, lexicon, split, is_first, generator)
            if normalize(row.english) not in known:
                known.add(normalize(row.english))
                rows.append(row)
                break
    return rows


def _contrast_row(
    frame: SentenceFrame, words: Words, lexicon: Lexicon, split: str, is_first: bool, generator: random.Random
) -> ContrastPair:
    template, target = generator.choice(frame.templates)
    right, wrong = (realize_french(target, words, lexicon.conjugation, flipped) for flipped in (False, True))
    nouns = [words[key] for key in ("XY" if is_first else "YX")]
    named = [each.english_plural if frame.kind == "they" else each.english for each in nouns if isinstance(each, Noun)]
    return ContrastPair(realize_english(template, words), right, wrong, *named, split)


def training_pairs(
    lexicon: Lexicon, frames: list[SentenceFrame], count: int, generator: random.Random, excluded: set[str]
) -> list[tuple[str, str, str]]:
    """Returns distinct pairs English, French, name of the frame, without held words and frames; fewer if words run out."""
    choice, known = WordChoice(lexicon, generator), set(excluded)
    groups = [
        ([frame for frame in frames if frame.kind != "plain" and not frame.is_held_out], round(count * PRONOUN_SHARE)),
        (
            [frame for frame in frames if frame.kind == "plain" and not frame.is_held_out],
            count - round(count * PRONOUN_SHARE),
        ),
    ]
    pairs = []
    for chosen, wanted in groups:
        failures = dict.fromkeys((frame.name for frame in chosen), 0)
        made = 0
        while made < wanted and chosen:
            frame = generator.choice(chosen)
            pair = _training_pair(choice, frame, lexicon, generator)
            if pair is None or normalize(pair[0]) in known:
                failures[frame.name] += 1
                if failures[frame.name] > 20 * ATTEMPTS:  # the words of this frame are used up
                    chosen = [each for each in chosen if each is not frame]
                continue
            known.add(normalize(pair[0]))
            pairs.append((*pair, frame.name))
            made += 1
    generator.shuffle(pairs)
    return pairs


def _training_pair(
    choice: WordChoice, frame: SentenceFrame, lexicon: Lexicon, generator: random.Random
) -> tuple[str, str] | None:
    is_first = not frame.second or generator.random() < 0.5
    is_feminine = generator.random() < 0.5 if frame.kind != "plain" and generator.random() < 0.8 else None
    words = choice.draw(frame, False, is_first, is_feminine)
    if words is None:
        return None
    template, target = generator.choice(frame.templates)
    return realize_english(template, words), realize_french(target, words, lexicon.conjugation)
