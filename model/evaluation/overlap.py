"""What the words of two sentences alone tell of whether the second follows the first: what they have in common."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor

from model.config import END
from model.text.sentence_pairs import Row
from model.text.tokenizer import Tokenizer

SIGNS = ('"', "“", "”", "?", "!", ";", "_", ":")


class Overlap:
    """Features of pairs; how rare a word is was counted in the sentences of a training."""

    def __init__(self, tokenizer: Tokenizer, train: Sequence[Sequence[int]]) -> None:
        self.tokenizer, self.sentences = tokenizer, len(train)
        self.seen = Counter(word for ids in train for word in {text.lower() for text, _ in tokenizer.spelled(ids)})

    def features(self, rows: Sequence[Row]) -> Tensor:
        """Of pairs `<s>` a `</s>` b `</s>`, float64 [N,F]."""
        return torch.tensor([self._pair(row.ids) for row in rows], dtype=torch.float64)

    def _rarity(self, words: set[str]) -> float:
        return sum(math.log((self.sentences + 1) / (self.seen[word] + 1)) for word in words)

    def _pair(self, ids: list[int]) -> list[float]:
        middle = ids.index(END)
        a, b = ([text for text, _ in self.tokenizer.spelled(own)] for own in (ids[1:middle], ids[middle + 1 : -1]))
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
        signs = [float(sign in "".join(words)) for sign in SIGNS for words in (a, b)]
        pairs = [one * other for one, other in zip(signs[::2], signs[1::2], strict=True)]
        return [*map(float, common), *lengths, abs(lengths[0] - lengths[1]), lengths[0] * lengths[1], *signs, *pairs]


def standardised(train: Tensor, *others: Tensor) -> tuple[Tensor, ...]:
    """Features with the mean 0 and the deviation 1 that they have in the first."""
    mean, deviation = train.mean(0), train.std(0).clamp(min=1e-9)
    return tuple((each - mean) / deviation for each in (train, *others))
