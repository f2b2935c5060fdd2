"""What is translated of a file of pairs: its distinct sentences, the long ones alone, or several of them as one text."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from model.text.corpus import by_source

MOST_JOINED = 10  # sentences in one text


@dataclass(frozen=True)
class Inputs:
    """Which inputs are made of the pairs of a file; ValueError for what cannot be.

    Of the distinct sentences those of `at_least` words (what spaces set apart), of these the first `limit`. With `join`
    random ones of them stand one behind the other with a space between, at least and at most so many in a text. Which ones
    follows from the sentences and `seed` alone; none stands twice, and what is left over is not used.
    """

    at_least: int = 1
    limit: int | None = None
    join: tuple[int, int] | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise ValueError(f"--limit is {self.limit}; expected at least 1")
        if self.at_least < 1:
            raise ValueError(f"--at-least is {self.at_least}; expected at least 1 word")
        if self.join and not 2 <= self.join[0] <= self.join[1] <= MOST_JOINED:
            least, most = self.join
            raise ValueError(f"--join is {least}-{most}; expected as 3-5 or 4, with 2 to {MOST_JOINED} sentences in a text")
        if self.seed < 0:
            raise ValueError(f"--seed is {self.seed}; expected at least 0")

    def of(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, list[str]]]:
        """Each input with its references: all targets of a sentence; of a joined text one, the first targets joined.

        Raises ValueError where nothing is left.
        """
        found = [each for each in by_source(pairs).items() if len(each[0].split()) >= self.at_least][: self.limit]
        if not found:
            raise ValueError(f"no sentence has {self.at_least} words; give a smaller --at-least")
        if not self.join:
            return found
        least, most = self.join
        draw, made = random.Random(f"join/{least}-{most}/{self.seed}"), []
        draw.shuffle(found)
        while len(found) >= least:
            parts = [found.pop() for _ in range(min(draw.randint(least, most), len(found)))]
            made.append((" ".join(source for source, _ in parts), [" ".join(targets[0] for _, targets in parts)]))
        if not made:
            raise ValueError(f"there are {len(found)} sentences; expected at least {least}, to join as many")
        return made

    def to_dict(self) -> dict[str, int | list[int]]:
        """What differs from all sentences one by one, for metrics.json."""
        told: dict[str, int | list[int]] = {"at_least": self.at_least} if self.at_least > 1 else {}
        told |= {} if self.limit is None else {"limit": self.limit}
        return told | ({"join": list(self.join), "join_seed": self.seed} if self.join else {})
