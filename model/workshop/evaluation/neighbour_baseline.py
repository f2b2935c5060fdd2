"""Count baselines for masked words and for sentence pairs.

The baseline for a blank mixes nine distributions of the word between the same neighbours, from none to all four (two on
either side). The weights are a softmax over the selections that occur in training. Their logits depend on how often and how
variously a selection occurs. They minimise the loss on dev (deleted interpolation, Jelinek and Mercer 1980, with neighbours
on both sides).

Blanks are words of one token. A model and the counts choose among the same words, so their log-losses are comparable. The
baseline for pairs reads the words that two sentences share.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ...config import END, START
from ...network.context import teacher_forced_states
from ...network.transformer import EncoderOnly
from ...text.tokenizer import Tokenizer
from ..corpus.corpus import pad
from ..corpus.sentence_pairs import Row
from ..sharding import ordered_map

SHARE = 0.15  # of a sentence's words are blanks, at least one
BATCH_BLANKS = 64  # blanks per batch


class BlankVocabulary:
    """Words that may fill a blank: those with a space before them and those without, each with its number."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        texts = {
            token: tokenizer.token_bytes(token).decode("utf-8", errors="replace") for token in range(END + 1, tokenizer.size)
        }
        self.spaced = {token for token, text in texts.items() if text[:1] == " " and text[1:].isalpha()}
        self.first = {token for token, text in texts.items() if text.isalpha()}
        self.tokens = {False: sorted(self.spaced), True: sorted(self.first)}  # by whether they open a sentence
        self.number = {token: n for each in self.tokens.values() for n, token in enumerate(each)}

    def is_sentence_initial(self, token: int) -> bool:
        """Returns True for a word without a space before it."""
        return token in self.first


@dataclass(frozen=True)
class Blank:
    """Token of the word to predict, and its place: its sentence, and its index among the tokens and the words."""

    token: int
    sentence: int
    place: int
    word: int


def sample_blanks(
    sentences: Sequence[Sequence[int]], tokenizer: Tokenizer, choices: BlankVocabulary, key: str = ""
) -> list[Blank]:
    """Returns blanks of tokenized sentences, drawn from `key`; none where no word is one token."""
    result = []
    for number, ids in enumerate(sentences):
        rng = random.Random(f"{key}/{number}")
        words = tokenizer.words_with_positions(ids)
        known = [
            (places[0], word)
            for word, (_, places) in enumerate(words)
            if len(places) == 1 and ids[places[0]] in choices.number
        ]
        for place, word in sorted(rng.sample(known, min(len(known), max(1, round(SHARE * len(words)))))):
            result.append(Blank(ids[place], number, place, word))
    return result


@dataclass(frozen=True)
class ExampleScores:
    """Natural log-probability of the right answer for N examples, and whether it is the most probable answer."""

    log_probs: np.ndarray  # [N]
    right: np.ndarray  # bool [N]


@torch.inference_mode()
def score(
    model: EncoderOnly,
    tokenizer: Tokenizer,
    sentences: Sequence[Sequence[int]],
    blanks: Sequence[Blank],
    choices: BlankVocabulary,
    progress: Callable[[int], object] = lambda done: None,
) -> ExampleScores:
    """Scores a model on each blank. It reads the sentence alone, with `<mask>` in place of the word."""
    assert tokenizer.mask is not None, "there is a token for a blank"
    device, start = next(model.parameters()).device, [START] if model.config.source_start else []
    log_probs, right = np.empty(len(blanks)), np.empty(len(blanks), bool)
    order = sorted(range(len(blanks)), key=lambda n: len(sentences[blanks[n].sentence]))
    tables = {opens: torch.tensor(tokens, device=device) for opens, tokens in choices.tokens.items()}
    batches = [order[first : first + BATCH_BLANKS] for first in range(0, len(order), BATCH_BLANKS)]

    def measure(chosen: list[int]) -> list[tuple[float, bool]]:
        rows, places, results = [], [], []
        for n in chosen:
            row = [*start, *sentences[blanks[n].sentence], END]
            places.append(len(start) + blanks[n].place)
            row[places[-1]] = tokenizer.mask
            rows.append(row)
        hidden = teacher_forced_states(model, pad(rows).to(device), None)[torch.arange(len(rows)), places]  # [N,D]
        logits = model.project(hidden).double()  # [N,V]
        for n, row in zip(chosen, logits, strict=True):
            among = row[tables[choices.is_sentence_initial(blanks[n].token)]].log_softmax(-1)
            wanted = choices.number[blanks[n].token]
            results.append((float(among[wanted]), int(among.argmax()) == wanted))
        return results

    for chosen, results in zip(batches, ordered_map(measure, batches), strict=True):
        log_probs[chosen], right[chosen] = zip(*results, strict=True)
        progress(len(chosen))
    return ExampleScores(log_probs, right)


SELECTIONS = ((), (-1,), (1,), (-2, -1), (1, 2), (-1, 1), (-2, -1, 1), (-1, 1, 2), (-2, -1, 1, 2))
COUNT_LEVELS = 8  # of counts: 1, 2, 4, ...; each twice, for many or few different words
SMOOTHING = 0.5  # added to the count of each word without neighbours
WEIGHT_PENALTY = 1e-3  # weight of the squared logits, which regularises rare buckets
Key = tuple[int, bool, tuple[str, ...]]
Sentences = Sequence[Sequence[int]]


class NeighbourCounts:
    """Counts of the training sentences, for the neighbours of given blanks only."""

    def __init__(
        self, tokenizer: Tokenizer, choices: BlankVocabulary, train: Sentences, blanks: Sequence[tuple[Sentences, Blank]]
    ) -> None:
        self.tokenizer, self.choices = tokenizer, choices
        self._words: dict[tuple[int, int], list[str]] = {}
        self._texts: list[Sentences] = []  # texts whose words are cached
        self._counts: dict[Key, Counter[int]] = {
            key: Counter()
            for sentences, blank in blanks
            for key in self._keys(self._spelled(sentences, blank.sentence), blank)
        }
        for ids in train:
            spelled = tokenizer.words_with_positions(ids)
            words = [text for text, _ in spelled]
            for word, (_, places) in enumerate(spelled):
                if len(places) == 1 and (token := ids[places[0]]) in choices.number:
                    for key in self._keys(words, Blank(token, 0, places[0], word)):
                        if (own := self._counts.get(key)) is not None:
                            own[choices.number[token]] += 1

    def _spelled(self, sentences: Sentences, number: int) -> list[str]:
        which = next((n for n, each in enumerate(self._texts) if each is sentences), len(self._texts))
        if which == len(self._texts):
            self._texts.append(sentences)
        if (which, number) not in self._words:
            self._words[which, number] = [text for text, _ in self.tokenizer.words_with_positions(sentences[number])]
        return self._words[which, number]

    def _keys(self, words: Sequence[str], blank: Blank) -> Iterator[Key]:
        """Yields the neighbours of a blank by each selection. An empty word stands beyond the ends."""
        near = {
            offset: words[blank.word + offset] if 0 <= blank.word + offset < len(words) else "" for offset in (-2, -1, 1, 2)
        }
        for n, offsets in enumerate(SELECTIONS):
            yield n, self.choices.is_sentence_initial(blank.token), tuple(near[offset] for offset in offsets)

    def counts(self, sentences: Sentences, blank: Blank) -> list[Counter[int]]:
        """Returns the counts of words between the blank's neighbours, by each selection."""
        return [self._counts[key] for key in self._keys(self._spelled(sentences, blank.sentence), blank)]

    def choice_count(self, blank: Blank) -> int:
        """Returns the number of words that a blank may be."""
        return len(self.choices.tokens[self.choices.is_sentence_initial(blank.token)])


def _buckets(parts: Sequence[Counter[int]]) -> list[int]:
    """Returns the bucket of each selection; -1 for one that training lacks. Without neighbours there is always one."""
    return [_bucket(own, own.total()) if n else 0 for n, own in enumerate(parts)]


def _bucket(own: Counter[int], total: int) -> int:
    return 2 * min(COUNT_LEVELS - 1, int(math.log2(total))) + (2 * len(own) > total) if total else -1


class NeighbourBaseline:
    """Mixture of neighbour counts, tuned on blanks of dev."""

    def __init__(self, counted: NeighbourCounts, sentences: Sentences, dev: Sequence[Blank]) -> None:
        self.counted = counted
        counts = [counted.counts(sentences, blank) for blank in dev]
        rows = [[self._share(n, own, blank) for n, own in enumerate(each)] for each, blank in zip(counts, dev, strict=True)]
        shares, buckets = (
            torch.tensor(rows, dtype=torch.float64),
            torch.tensor([_buckets(parts) for parts in counts]),
        )  # [N,9]
        self.logits = torch.zeros(len(SELECTIONS), 2 * COUNT_LEVELS, dtype=torch.float64, requires_grad=True)
        search = torch.optim.LBFGS([self.logits], max_iter=60, tolerance_change=1e-7, line_search_fn="strong_wolfe")

        def loss() -> torch.Tensor:
            search.zero_grad()
            total = WEIGHT_PENALTY * self.logits.square().mean() - (self._weights(buckets) * shares).sum(-1).log().mean()
            total.backward()
            return total

        with torch.enable_grad():
            search.step(loss)
        self.logits.requires_grad_(False)

    def _share(self, selection: int, own: Counter[int], blank: Blank) -> float:
        """Returns the relative frequency of the right word. Without neighbours it is smoothed, so it is never 0."""
        count, total = own[self.counted.choices.number[blank.token]], own.total()
        if not selection:
            return (count + SMOOTHING) / (total + SMOOTHING * self.counted.choice_count(blank))
        return count / total if total else 0.0

    def _weights(self, buckets: torch.Tensor) -> torch.Tensor:
        """Returns weights [N,9] of the selections by their buckets [N,9]."""
        known = self.logits[torch.arange(len(SELECTIONS)), buckets.clamp(min=0)]  # [N,9]
        return known.masked_fill(buckets < 0, -torch.inf).log_softmax(-1).exp()

    def distribution(self, sentences: Sentences, blank: Blank) -> np.ndarray:
        """Returns the probability of every word that may fill the blank."""
        parts = self.counted.counts(sentences, blank)
        weights = self._weights(torch.tensor([_buckets(parts)]))[0].tolist()
        size, plain = self.counted.choice_count(blank), parts[0].total()
        probs = np.full(size, weights[0] * SMOOTHING / (plain + SMOOTHING * size))
        for n, (own, weight) in enumerate(zip(parts, weights, strict=True)):
            if own:
                total = own.total() if n else plain + SMOOTHING * size
                probs[np.fromiter(own, np.int64)] += weight / total * np.fromiter(own.values(), float)
        return probs

    def score(self, sentences: Sentences, blanks: Sequence[Blank]) -> ExampleScores:
        """Scores the baseline on each blank."""
        rows = [(self.distribution(sentences, blank), self.counted.choices.number[blank.token]) for blank in blanks]
        return ExampleScores(
            np.array([math.log(row[n]) for row, n in rows]), np.array([row.argmax() == n for row, n in rows])
        )


PUNCTUATION = ('"', "“", "”", "?", "!", ";", "_", ":")


class WordOverlap:
    """Features of sentence pairs. The rarity of a word comes from the training sentences."""

    def __init__(self, tokenizer: Tokenizer, train: Sequence[Sequence[int]]) -> None:
        self.tokenizer, self.sentences = tokenizer, len(train)
        self.seen = Counter(
            word for ids in train for word in {text.lower() for text, _ in tokenizer.words_with_positions(ids)}
        )

    def features(self, rows: Sequence[Row]) -> Tensor:
        """Returns features of pairs `<s>` a `</s>` b `</s>`, float64 [N,F]."""
        return torch.tensor([self._pair(row.ids) for row in rows], dtype=torch.float64)

    def _rarity(self, words: set[str]) -> float:
        return sum(math.log((self.sentences + 1) / (self.seen[word] + 1)) for word in words)

    def _pair(self, ids: list[int]) -> list[float]:
        middle = ids.index(END)
        a, b = (
            [text for text, _ in self.tokenizer.words_with_positions(own)] for own in (ids[1:middle], ids[middle + 1 : -1])
        )
        first, second = ({word.lower() for word in words if word[:1].isalnum()} for words in (a, b))
        names = [{word for word in words[1:] if word[:1].isupper() and word != "I"} for words in (a, b)]
        both, rarities = first & second, (self._rarity(first), self._rarity(second))
        common = [
            len(both),
            len(both) / max(1, len(first | second)),
            self._rarity(both),
            self._rarity(both) / max(1e-9, math.sqrt(rarities[0] * rarities[1])),
            max((self._rarity({word}) for word in both), default=0.0),
            len(names[0] & names[1]),
            bool(names[0]) * bool(names[1]),
        ]
        lengths = math.log(len(a) + 1), math.log(len(b) + 1)
        signs = [float(sign in "".join(words)) for sign in PUNCTUATION for words in (a, b)]
        pairs = [one * other for one, other in zip(signs[::2], signs[1::2], strict=True)]
        return [*map(float, common), *lengths, abs(lengths[0] - lengths[1]), lengths[0] * lengths[1], *signs, *pairs]


def standardize(train: Tensor, *others: Tensor) -> tuple[Tensor, ...]:
    """Scales features to mean 0 and deviation 1 of the first tensor."""
    mean, deviation = train.mean(0), train.std(0).clamp(min=1e-9)
    return tuple((each - mean) / deviation for each in (train, *others))
